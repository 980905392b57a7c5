// SPDX-License-Identifier: MIT
//
// A 3x3 convolution on 8-bit codes that is large enough for Winograd's method: its results are the
// exact ones, in the graph that was built and in the one that is loaded from its binary, which
// holds the matrices.
#include "binary_model.h"
#include "htp_quant.h"

#include "core/own.h"
#include "runtime/exec.h"

#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define S8 QNN_DATATYPE_SFIXED_POINT_8

#define SIDE 25u
#define CIN 33u
#define COUT 40u
#define Y_BYTES (SIDE * SIDE * COUT)

static int64_t x_codes[SIDE * SIDE * CIN], w_codes[9 * CIN * COUT], y_codes[Y_BYTES];

static operand x = {U8, 0.031f, -113, 4, {1, SIDE, SIDE, CIN}, x_codes, NULL};
static operand w = {S8, 0.011f, 0, 4, {3, 3, CIN, COUT}, w_codes, NULL};
static operand y = {U8, 0.41f, -90, 4, {1, SIDE, SIDE, COUT}, y_codes, NULL};

static void fill(operand *o) {
    static uint32_t state = 1;
    for (size_t i = 0; i < count_of(o); i++) {
        state = state * 1664525u + 1013904223u;
        o->codes[i] = lowest(o->type) + (int64_t)(state >> 24);
    }
}

// The code of result i; its sum is exact.
static int64_t expected(size_t i) {
    int64_t row = (int64_t)(i / COUT / SIDE), col = (int64_t)(i / COUT % SIDE), sum = 0;
    for (int64_t tap = 0; tap < 9; tap++) {
        int64_t r = row + tap / 3 - 1, c = col + tap % 3 - 1;
        if (r < 0 || c < 0 || r >= SIDE || c >= SIDE)
            continue;
        for (size_t k = 0; k < CIN; k++)
            sum += (x_codes[(size_t)(r * SIDE + c) * CIN + k] + x.offset) *
                   w_codes[((size_t)tap * CIN + k) * COUT + i % COUT];
    }
    return code_of(&y, (double)sum * ((double)x.scale * (double)w.scale));
}

static const qrn_plan *plan_of(Qnn_GraphHandle_t handle) {
    const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, handle);
    return qrn_runner_plan(g->runner);
}

// The matrices of the one step; NULL: it has none.
static const void *matrices(Qnn_GraphHandle_t handle) {
    const qrn_plan *p = plan_of(handle);
    assert_int_equal(p->n_steps, 1);
    assert_int_equal(p->steps[0].n_in, 6);
    uint32_t v = p->steps[0].in[5];
    return v == UINT32_MAX ? NULL : p->values[v].view.data;
}

static void run(htp_world *world, Qnn_GraphHandle_t g, Qnn_Tensor_t *in, Qnn_Tensor_t *out) {
    static uint8_t bytes[Y_BYTES];
    memset(bytes, 0, sizeof bytes);
    htp_buffer(out, bytes, sizeof bytes);
    HTP_OK(world->qnn.graphExecute(g, in, 1, out, 1, NULL, NULL));
    codes_from(&y, bytes);
    for (size_t i = 0; i < Y_BYTES; i++)
        assert_int_equal(y_codes[i], expected(i));
}

static void large_convolutions_are_exact(void **state) {
    (void)state;
    fill(&x);
    fill(&w);
    one_node d = {.op = "Conv2d", .in = {&x, &w}, .n_in = 2, .statics = 2, .out = &y, .n_lists = 2};
    d.lists[0] = (list_param){"stride", 1, {2}, {1, 1}};
    d.lists[1] = (list_param){"pad_amount", 2, {2, 2}, {1, 1, 1, 1}};
    htp_world world = htp_begin(0);
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t in[NODE_OPERANDS], out;
    void *data[NODE_OPERANDS];
    HTP_OK(world.qnn.graphCreate(world.context, "g", NULL, &g));
    HTP_OK(build_node(&world.qnn, g, &d, in, data, &out));
    HTP_OK(world.qnn.graphFinalize(g, NULL, NULL));
    assert_non_null(matrices(g));
    run(&world, g, in, &out);
    blob b = blob_of(&world.qnn, world.context);
    htp_end(&world);
    world = htp_bare(0);
    QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                      .isPersistentBinary = 1};
    const QnnContext_Config_t *configs[] = {&persistent, NULL};
    HTP_OK(world.qnn.contextCreateFromBinary(world.backend, world.device, configs, b.data, b.size,
                                             &world.context, NULL));
    HTP_OK(world.qnn.graphRetrieve(world.context, "g", &g));
    const uint8_t *at = matrices(g);
    assert_true(at >= b.data && at < b.data + b.size);
    run(&world, g, in, &out);
    htp_end(&world);
    free(b.data);
    test_free(data[0]);
    test_free(data[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_convolutions_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
