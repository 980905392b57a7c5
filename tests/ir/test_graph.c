// SPDX-License-Identifier: MIT
//
// Graphs: connection rules when nodes are added, growth, subgraphs, parameters by name, shapes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ir/graph.h"

typedef struct fixture {
    qrn_graph g;
    qrn_tensor t[8];
    qrn_node n[4];
    qrn_tensor *in[4][2], *out[4][2];
} fixture;

static fixture f;

static int set_up(void **state) {
    (void)state;
    memset(&f, 0, sizeof f);
    f.g.name = "g";
    f.g.arena = qrn_arena_create();
    static char names[8][16];
    for (int i = 0; i < 8; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        f.t[i] = (qrn_tensor){.name = names[i], .role = QRN_ROLE_NATIVE};
    }
    f.t[0].role = QRN_ROLE_INPUT;
    return f.g.arena ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    qrn_arena_destroy(f.g.arena);
    return 0;
}

// Node i reads `in` and writes `out`.
static qrn_status add(int i, qrn_tensor *in, qrn_tensor *out) {
    static const char *const names[4] = {"n0", "n1", "n2", "n3"};
    f.in[i][0] = in;
    f.out[i][0] = out;
    f.n[i] = (qrn_node){.name = names[i],
                        .type = "Relu",
                        .op = qrn_op_find("Relu"),
                        .n_in = 1,
                        .n_out = 1,
                        .in = f.in[i],
                        .out = f.out[i]};
    qrn_message_clear();
    return qrn_graph_add_node(&f.g, &f.n[i]);
}

static void nodes_are_kept_in_order_with_their_producers(void **state) {
    (void)state;
    assert_int_equal(add(0, &f.t[0], &f.t[1]), QRN_OK);
    assert_int_equal(add(1, &f.t[1], &f.t[2]), QRN_OK);
    assert_int_equal(f.g.n_nodes, 2);
    assert_ptr_equal(f.g.nodes[1], &f.n[1]);
    assert_int_equal(f.n[1].index, 1);
    assert_ptr_equal(f.t[2].producer, &f.n[1]);
    assert_ptr_equal(f.n[1].graph, &f.g);
}

static void an_input_without_producer_is_refused(void **state) {
    (void)state;
    assert_int_equal(add(0, &f.t[3], &f.t[1]), QRN_E_UNCONNECTED);
    assert_string_equal(qrn_message(), "graph 'g' node 'n0' (Relu): input 0 (tensor 't3') is "
                                       "written by no node added so far");
    assert_int_equal(f.g.n_nodes, 0);
    assert_null(f.t[1].producer);
    f.t[3].role = QRN_ROLE_STATIC;
    assert_int_equal(add(0, &f.t[3], &f.t[1]), QRN_OK);
    assert_int_equal(add(1, NULL, &f.t[2]), QRN_OK); // an absent optional input
}

static void a_node_cannot_read_what_it_writes(void **state) {
    (void)state;
    assert_int_equal(add(0, &f.t[1], &f.t[1]), QRN_E_UNCONNECTED);
}

static void a_tensor_is_written_once_and_only_by_ops(void **state) {
    (void)state;
    assert_int_equal(add(0, &f.t[0], &f.t[1]), QRN_OK);
    assert_int_equal(add(1, &f.t[0], &f.t[1]), QRN_E_OP_CONFIG);
    assert_string_equal(qrn_message(), "graph 'g' node 'n1' (Relu): output 0 (tensor 't1') is "
                                       "written by node 'n0' already");
    assert_int_equal(add(1, &f.t[1], &f.t[0]), QRN_E_OP_CONFIG);
    f.t[2].role = QRN_ROLE_STATIC;
    assert_int_equal(add(1, &f.t[1], &f.t[2]), QRN_E_OP_CONFIG);
    assert_string_equal(qrn_message(), "graph 'g' node 'n1' (Relu): output 0 (tensor 't2') is a "
                                       "tensor that no op may write");
    f.t[3].role = QRN_ROLE_OUTPUT;
    assert_int_equal(add(1, &f.t[1], &f.t[3]), QRN_OK);
    assert_int_equal(add(2, &f.t[3], &f.t[4]), QRN_OK); // application-read tensors may be read on
}

static void two_outputs_are_two_tensors(void **state) {
    (void)state;
    f.in[0][0] = &f.t[0];
    f.out[0][0] = f.out[0][1] = &f.t[1];
    f.n[0] = (qrn_node){
        .name = "n0", .type = "TopK", .n_in = 1, .n_out = 2, .in = f.in[0], .out = f.out[0]};
    assert_int_equal(qrn_graph_add_node(&f.g, &f.n[0]), QRN_E_OP_CONFIG);
    assert_string_equal(qrn_message(),
                        "graph 'g' node 'n0' (TopK): tensor 't1' is both output 0 and 1");
}

static void lists_grow_and_report_lack_of_memory(void **state) {
    (void)state;
    static qrn_tensor many[5000];
    for (int i = 0; i < 5000; i++)
        assert_int_equal(qrn_graph_add_tensor(&f.g, &many[i]), QRN_OK);
    assert_int_equal(f.g.n_tensors, 5000);
    for (int i = 0; i < 5000; i++)
        assert_ptr_equal(f.g.tensors[i], &many[i]);
    assert_ptr_equal(many[4999].graph, &f.g);
    // Until the next doubling there is room, so fill up first.
    static qrn_tensor more[8192];
    uint32_t room = f.g.cap_tensors - f.g.n_tensors;
    for (uint32_t i = 0; i < room; i++)
        assert_int_equal(qrn_graph_add_tensor(&f.g, &more[i]), QRN_OK);
    qrn_alloc_fail_at(1, true);
    qrn_status s = QRN_OK;
    uint32_t before = f.g.n_tensors;
    if (f.g.n_tensors == f.g.cap_tensors)
        s = qrn_graph_add_tensor(&f.g, &more[room]);
    qrn_alloc_fail_at(0, false);
    assert_int_equal(s, QRN_E_MEM);
    assert_int_equal(f.g.n_tensors, before);
}

static void subgraphs_are_found_by_name(void **state) {
    (void)state;
    qrn_graph a = {.name = "then"}, b = {.name = "else"}, again = {.name = "then"};
    assert_int_equal(qrn_graph_add_subgraph(&f.g, &a), QRN_OK);
    assert_int_equal(qrn_graph_add_subgraph(&f.g, &b), QRN_OK);
    assert_ptr_equal(qrn_graph_find_subgraph(&f.g, "else"), &b);
    assert_ptr_equal(b.parent, &f.g);
    assert_null(qrn_graph_find_subgraph(&f.g, "other"));
    assert_int_equal(qrn_graph_add_subgraph(&f.g, &again), QRN_E_NAME);
}

static void parameters_are_read_by_name(void **state) {
    (void)state;
    static const int32_t axes[3] = {1, -2, 3};
    static const float w[2] = {0.5f, 2.0f};
    qrn_tensor ints = {.dtype = QRN_DTYPE_I32, .shape = {1, {3}}, .data = axes};
    qrn_tensor floats = {.dtype = QRN_DTYPE_F32, .shape = {1, {2}}, .data = w};
    const char *names[] = {"axes", "weights", "k", "absent", "flag"};
    qrn_param params[] = {
        {.present = true, .is_tensor = true, .tensor = &ints},
        {.present = true, .is_tensor = true, .tensor = &floats},
        {.present = true, .dtype = QRN_DTYPE_I32, .value.i = -7},
        {.present = false, .dtype = QRN_DTYPE_U32, .value.u = 9},
        {.present = true, .dtype = QRN_DTYPE_B8, .value.u = 2},
    };
    qrn_node n = {.params = params, .param_names = names, .n_params = 5};
    int32_t i[4] = {0};
    float x[4] = {0};
    uint32_t u[2] = {0};
    assert_int_equal(qrn_node_i32s(&n, "axes", i, 4), 3);
    assert_int_equal(i[1], -2);
    assert_int_equal(qrn_node_u32s(&n, "axes", u, 1), 1); // no more than asked for
    assert_int_equal(u[1], 0);
    assert_int_equal(qrn_node_f32s(&n, "weights", x, 4), 2);
    assert_true(x[1] == 2.0f);
    assert_int_equal(qrn_node_f32s(&n, "axes", x, 4), 0);
    assert_int_equal(qrn_node_i32(&n, "k", 0), -7);
    assert_true(qrn_node_f32(&n, "k", 0) == -7.0f);
    assert_int_equal(qrn_node_u32(&n, "absent", 4), 4);
    assert_int_equal(qrn_node_u32(&n, "nothing", 4), 4);
    assert_int_equal(qrn_node_u32(&n, "axes", 4), 4); // a tensor is not a scalar
    assert_true(qrn_node_bool(&n, "flag", false));
    assert_null(qrn_node_param(&n, "absent"));
}

static void a_call_shows_the_declared_shapes(void **state) {
    (void)state;
    f.t[0].shape = (qrn_shape){2, {3, 4}};
    f.t[1].shape = (qrn_shape){1, {12}};
    assert_int_equal(add(0, &f.t[0], &f.t[1]), QRN_OK);
    qrn_shape in[1], out[1];
    qrn_op_call c = qrn_node_call(&f.n[0], in, out);
    assert_true(qrn_shape_equal(&c.in_shape[0], &f.t[0].shape));
    assert_true(qrn_shape_equal(&c.out_shape[0], &f.t[1].shape));
    assert_string_equal(c.graph, "g");
    assert_string_equal(c.node, "n0");
    assert_ptr_equal(c.in[0], &f.t[0]);
}

static void shapes_count_compare_and_print(void **state) {
    (void)state;
    size_t n;
    char buf[64], tiny[6];
    qrn_shape scalar = {0}, s = {4, {1, 224, 224, 3}};
    assert_true(qrn_shape_count(&s, &n));
    assert_int_equal(n, 150528);
    assert_true(qrn_shape_count(&scalar, &n));
    assert_int_equal(n, 1);
    assert_false(qrn_shape_count(&(qrn_shape){3, {UINT32_MAX, UINT32_MAX, 2}}, &n));
    assert_string_equal(qrn_shape_text(&s, buf, sizeof buf), "[1,224,224,3]");
    assert_string_equal(qrn_shape_text(&scalar, buf, sizeof buf), "[]");
    assert_true(strlen(qrn_shape_text(&s, tiny, sizeof tiny)) < sizeof tiny);
    assert_false(qrn_shape_equal(&s, &(qrn_shape){3, {1, 224, 224}}));
    assert_false(qrn_shape_equal(&s, &(qrn_shape){4, {1, 224, 224, 4}}));
}

static void broadcasting_aligns_at_the_last_dimension(void **state) {
    (void)state;
    qrn_shape r;
    assert_true(qrn_shape_broadcast(&(qrn_shape){3, {2, 1, 3}}, &(qrn_shape){2, {4, 1}}, &r));
    assert_true(qrn_shape_equal(&r, &(qrn_shape){3, {2, 4, 3}}));
    assert_true(qrn_shape_broadcast(&(qrn_shape){0}, &(qrn_shape){1, {5}}, &r));
    assert_true(qrn_shape_equal(&r, &(qrn_shape){1, {5}}));
    assert_false(qrn_shape_broadcast(&(qrn_shape){1, {2}}, &(qrn_shape){1, {3}}, &r));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nodes_are_kept_in_order_with_their_producers),
        TEST(an_input_without_producer_is_refused),
        TEST(a_node_cannot_read_what_it_writes),
        TEST(a_tensor_is_written_once_and_only_by_ops),
        TEST(two_outputs_are_two_tensors),
        TEST(lists_grow_and_report_lack_of_memory),
        TEST(subgraphs_are_found_by_name),
        TEST(parameters_are_read_by_name),
        TEST(a_call_shows_the_declared_shapes),
        TEST(shapes_count_compare_and_print),
        TEST(broadcasting_aligns_at_the_last_dimension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
