// SPDX-License-Identifier: MIT
//
// Context binaries from inside: what they hold, and what is used where it lies.
#include "binary_model.h"

#include "backend/htp/htp.h"
#include "binary/binary.h"
#include "binary/options.h"
#include "core/own.h"

#include <sys/mman.h>

static const QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                               .isPersistentBinary = 1};

static qrn_htp_graph *internals(Qnn_GraphHandle_t g) {
    return qrn_htp_graph_of(qrn_handle_get(QRN_KIND_GRAPH, g));
}

static bool is_inside(const blob *b, const void *p) {
    const uint8_t *at = p;
    return at >= b->data && at < b->data + b->size;
}

// A persistent binary is used where it lies: every packed constant of the plan is in the file.
static void weights_of_a_persistent_binary_are_not_copied(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES];
    blob b = blob_of_net(0, "net", made);
    htp_world w = htp_bare(0);
    HTP_OK(blob_load(&w, &persistent, NULL, &b));
    net m = net_of(&w.qnn, w.context, "net");
    const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, m.graph);
    const qrn_plan *p = qrn_runner_plan(g->runner);
    assert_int_equal(p->n_packings, 4); // weights and sums of two layers
    for (uint32_t i = 0; i < p->n_packings; i++)
        assert_true(is_inside(&b, p->packings[i].dst));
    assert_true(p->const_bytes < 4096); // scales alone
    htp_end(&w);
    free(b.data);
}

// Their pages cannot be read while the file is loaded, nothing of the file can be written at all.
static void weights_are_not_read_while_loading(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES], loaded[NET_OUT_BYTES];
    blob b = blob_of_net(0, "net", made);
    qrn_bin_weights at;
    assert_int_equal(qrn_bin_find_weights(b.data, b.size, &at), QRN_OK);
    assert_true(at.weights_bytes > 0);
    blob file = {mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                 b.size};
    assert_ptr_not_equal(file.data, MAP_FAILED);
    memcpy(file.data, b.data, b.size);
    assert_int_equal(mprotect(file.data, b.size, PROT_READ), 0);
    assert_int_equal(mprotect(file.data + at.weights_offset, at.weights_bytes, PROT_NONE), 0);
    htp_world w = htp_bare(0);
    HTP_OK(blob_load(&w, &persistent, NULL, &file));
    assert_int_equal(mprotect(file.data + at.weights_offset, at.weights_bytes, PROT_READ), 0);
    net m = net_of(&w.qnn, w.context, "net");
    net_run(&w.qnn, &m, loaded);
    assert_memory_equal(made, loaded, sizeof made);
    htp_end(&w);
    munmap(file.data, file.size);
    free(b.data);
}

static void htp_bin_01_holds_ops_constants_options_and_tensors(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    net m = {0};
    net_build(&w.qnn, w.context, "net", NULL, &m);
    internals(m.graph)->options.level = 3;
    internals(m.graph)->options.hmx_hz = 1.5f;
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    qrn_bin *bin = NULL;
    assert_int_equal(qrn_bin_open(b.data, b.size, true, &bin), QRN_OK);
    assert_int_equal(bin->soc_id, 43);
    assert_int_equal(bin->arch, 73);
    assert_int_equal(bin->backend_id, 6);
    assert_int_equal(bin->n_graphs, 1);
    const qrn_bin_graph *g = &bin->graphs[0];
    assert_string_equal(g->name, "net");
    const char *ops[] = {"Conv2d", "Relu", "FullyConnected"};
    assert_int_equal(g->n_nodes, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(g->nodes[i].type, ops[i]);
    assert_int_equal(g->nodes[0].n_params, 2);
    const uint32_t pads[] = {1, 1, 1, 1};
    assert_string_equal(g->nodes[0].param_names[0], "stride");
    assert_string_equal(g->nodes[0].param_names[1], "pad_amount");
    assert_memory_equal(g->nodes[0].params[1].tensor->data, pads, sizeof pads);
    assert_int_equal(g->n_tensors, 9);
    assert_string_equal(g->tensors[0]->name, "x");
    assert_int_equal(g->tensors[0]->quant.offset, -128);
    assert_int_equal(g->tensors[4]->quant.n_groups, NET_CHANNELS); // conv_w
    assert_true(g->tensors[4]->quant.scales[3] == 0.002f + 0.0001f * 3.0f);
    assert_null(g->tensors[4]->data); // only as the kernels read it
    assert_int_equal(g->packed.n, 4);
    assert_int_equal(g->packed.items[0].packing, QRN_PACKING_DENSE8);
    assert_int_equal(qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_LEVEL), 3);
    float hz = 1.5f;
    uint32_t bits;
    memcpy(&bits, &hz, sizeof bits);
    assert_int_equal(qrn_bin_option_get(g->options, g->n_options, QRN_BIN_GRAPH_HMX_HZ), bits);
    assert_int_equal(g->io_bytes, NET_IN_BYTES + NET_OUT_BYTES);
    qrn_bin_close(bin);
    w = htp_bare(43);
    HTP_OK(blob_load(&w, NULL, NULL, &b));
    m = net_of(&w.qnn, w.context, "net");
    assert_int_equal(internals(m.graph)->options.level, 3);
    assert_true(internals(m.graph)->options.hmx_hz == 1.5f);
    htp_end(&w);
    free(b.data);
}

// The schedule of a network that is made with two options; `known`: whether it has one.
static qd_schedule schedule_with(uint32_t soc, const QnnHtpGraph_CustomConfig_t *a,
                                 const QnnHtpGraph_CustomConfig_t *b, bool *known, blob *out) {
    htp_world w = htp_begin(soc);
    QnnGraph_Config_t custom[2] = {{.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM},
                                   {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM}};
    custom[0].customConfig = (QnnGraph_CustomConfig_t)a;
    custom[1].customConfig = (QnnGraph_CustomConfig_t)b;
    const QnnGraph_Config_t *list[] = {a ? &custom[0] : NULL, b ? &custom[1] : NULL, NULL};
    net m = {0};
    net_build(&w.qnn, w.context, "net", list, &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    *out = blob_of(&w.qnn, w.context);
    htp_end(&w);
    qrn_bin *bin = NULL;
    assert_int_equal(qrn_bin_open(out->data, out->size, true, &bin), QRN_OK);
    *known = bin->graphs[0].schedule != NULL;
    qd_schedule s = *known ? *bin->graphs[0].schedule : (qd_schedule){0};
    if (*known) {
        assert_int_equal(s.n_slots, 2); // the activation belongs to the convolution
        assert_string_equal(s.slots[0].name, "conv");
        assert_string_equal(s.slots[1].name, "dense");
        for (uint32_t i = 0; i < s.n_tiles; i++)
            assert_true(s.tiles[i].offset + s.tiles[i].bytes <= s.vtcm_bytes);
    }
    qrn_bin_close(bin);
    return s; // numbers alone: its lists are gone
}

static void schedules_are_stored_for_chips_and_follow_the_options(void **state) {
    (void)state;
    bool known;
    blob b[4];
    schedule_with(0, NULL, NULL, &known, &b[0]);
    assert_false(known); // no chip
    qd_schedule all = schedule_with(43, NULL, NULL, &known, &b[1]);
    assert_true(known);
    assert_int_equal(all.soc, 43);
    assert_int_equal(all.precision, QD_W8A8);
    assert_int_equal(all.vtcm_bytes, 4 << 20); // HTP-VTCM-01
    assert_int_equal(all.hvx_threads, 4);
    assert_int_equal(all.marks, 0);
    const QnnHtpGraph_CustomConfig_t two = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS,
                                            .numHvxThreads = 2};
    const QnnHtpGraph_CustomConfig_t small = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE,
                                              .vtcmSizeInMB = 2};
    qd_schedule less = schedule_with(43, &two, &small, &known, &b[2]);
    assert_true(known);
    assert_int_equal(less.vtcm_bytes, 2 << 20);
    assert_int_equal(less.hvx_threads, 2);
    assert_int_equal(less.marks, QD_MARK_THREADS);
    assert_true(less.us == all.us); // both steps are the matrix unit's
    assert_int_equal(b[0].size < b[1].size, true);
    free(b[0].data);
    qd_schedule lent = schedule_with(42, NULL, NULL, &known, &b[0]); // SM8475: SM8450 was measured
    assert_true(known);
    assert_int_equal(lent.soc, 36);
    assert_int_equal(lent.marks, QD_MARK_CHIP);
    schedule_with(43, &two, &small, &known, &b[3]); // the same again
    assert_int_equal(b[2].size, b[3].size);
    assert_memory_equal(b[2].data, b[3].data, b[3].size);
    for (int i = 0; i < 4; i++)
        free(b[i].data);
}

static void constants_of_several_graphs_are_stored_once(void **state) {
    (void)state;
    uint8_t made[NET_OUT_BYTES], loaded[NET_OUT_BYTES];
    blob one = blob_of_net(0, "a", made);
    htp_world w = htp_begin(0);
    const char *names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        net m = {0};
        net_build(&w.qnn, w.context, names[i], NULL, &m);
        HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    }
    blob three = blob_of(&w.qnn, w.context);
    htp_end(&w);
    qrn_bin *bin = NULL;
    assert_int_equal(qrn_bin_open(three.data, three.size, true, &bin), QRN_OK);
    assert_int_equal(bin->weights_bytes, 0);
    assert_true(bin->shared_bytes > NET_DEPTH * NET_OUT_BYTES);
    assert_ptr_equal(bin->graphs[0].packed.items[0].data, bin->graphs[2].packed.items[0].data);
    assert_int_equal(bin->graphs[1].shared_bytes, bin->graphs[1].const_bytes);
    qrn_bin_close(bin);
    assert_true(three.size < one.size + 2 * 4096 + 3 * 4096); // two more graph sections
    const char *enabled[] = {"c", NULL};
    const QnnContext_Config_t only = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS,
                                      .enableGraphs = enabled};
    w = htp_bare(0);
    HTP_OK(blob_load(&w, &only, NULL, &three));
    net m = net_of(&w.qnn, w.context, "c");
    m.x.v1.id = 1 + 2 * 9; // ids count through all graphs, nine tensors each
    m.y.v1.id = 2 + 2 * 9;
    net_run(&w.qnn, &m, loaded);
    assert_memory_equal(made, loaded, sizeof made);
    m = net_of(&w.qnn, w.context, "a");
    HTP_FAILS(w.qnn.graphExecute(m.graph, &m.x, 1, &m.y, 1, NULL, NULL), QNN_GRAPH_ERROR_DISABLED);
    htp_end(&w);
    free(one.data);
    free(three.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_a_persistent_binary_are_not_copied),
        cmocka_unit_test(weights_are_not_read_while_loading),
        cmocka_unit_test(htp_bin_01_holds_ops_constants_options_and_tensors),
        cmocka_unit_test(schedules_are_stored_for_chips_and_follow_the_options),
        cmocka_unit_test(constants_of_several_graphs_are_stored_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
