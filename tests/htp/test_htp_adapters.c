// SPDX-License-Identifier: MIT
//
// Contexts whose graphs share the place of their adapters (LORA_WEIGHT_SHARING_ENABLED): what room
// they take, that an adapter must be there before they run, and that it stays with graph switching.
#include "binary_model.h"
#include "htp_describe.h"
#include "htp_log.h"

#define OTHER_SEED 99u
#define ADAPTER_BYTES (NET_OUT_BYTES * NET_DEPTH)

static const char *const names[2] = {"first", "second"};

// Two networks of one context, each with its own updateable weights, prepared with options.
static htp_world prepare(bool sharing, bool preload, const uint32_t seeds[2], net m[2]) {
    htp_world w = htp_bare(0);
    QnnHtpContext_CustomConfig_t custom[2] = {
        {QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_ENABLED,
         {.loraWeightSharingEnabled = sharing}},
        {QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED,
         {.loraWeightSharingRamPreloadEnabled = preload}}};
    QnnContext_Config_t a = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                             .customConfig = &custom[0]},
                        b = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                             .customConfig = &custom[1]};
    const QnnContext_Config_t *list[] = {&a, &b, NULL};
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, list, &w.context));
    for (int i = 0; i < 2; i++) {
        m[i] = (net){.updateable = true, .seed = seeds[i]};
        net_build(&w.qnn, w.context, names[i], NULL, &m[i]);
        HTP_OK(w.qnn.graphFinalize(m[i].graph, NULL, NULL));
    }
    return w;
}

static blob section_of(const htp_world *w, Qnn_GraphHandle_t g) {
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w->qnn.contextGetBinarySectionSize(w->context, g, QNN_CONTEXT_SECTION_UPDATABLE, &size));
    blob b = blob_alloc(size);
    QnnContext_Buffer_t buffer = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {b.data, size}}};
    HTP_OK(w->qnn.contextGetBinarySection(w->context, g, QNN_CONTEXT_SECTION_UPDATABLE, &buffer,
                                          &written, NULL, NULL));
    return b;
}

static void apply(const htp_world *w, Qnn_GraphHandle_t g, const blob *b) {
    QnnContext_Buffer_t buffer = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {b->data, b->size}}};
    HTP_OK(w->qnn.contextApplyBinarySection(w->context, g, QNN_CONTEXT_SECTION_UPDATABLE, &buffer,
                                            NULL, NULL));
}

static Qnn_LogHandle_t log_handle; // one for the program

static htp_world load(const blob *b, bool switching) {
    htp_world w = {.qnn = htp_open()};
    if (!log_handle)
        log_handle = log_begin(&w.qnn);
    logged[0] = '\0';
    HTP_OK(w.qnn.backendCreate(log_handle, NULL, &w.backend));
    w.device = htp_device(&w.qnn, 0);
    QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                      .isPersistentBinary = 1},
                        hint = {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                                .memoryLimitHint = 1};
    const QnnContext_Config_t *list[] = {&persistent, &hint, NULL};
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, switching ? list : NULL, b->data,
                                         b->size, &w.context, NULL));
    return w;
}

static Qnn_ErrorHandle_t run(const htp_world *w, net *m, uint8_t out[NET_OUT_BYTES]) {
    uint8_t in[NET_IN_BYTES];
    net_fill(in, sizeof in, 3);
    htp_buffer(&m->x, in, sizeof in);
    htp_buffer(&m->y, out, NET_OUT_BYTES);
    return w->qnn.graphExecute(m->graph, &m->x, 1, &m->y, 1, NULL, NULL);
}

static uint64_t loaded_bytes(bool sharing, bool preload) {
    const uint32_t seeds[2] = {1, 2};
    net m[2];
    htp_world w = prepare(sharing, preload, seeds, m);
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    w = load(&b, false);
    htp_end(&w);
    free(b.data);
    return log_place().bytes;
}

static void htp_ctx_13_ctx_14_one_place_for_all_adapters(void **state) {
    (void)state;
    uint64_t own = loaded_bytes(false, false);
    assert_int_equal(own - loaded_bytes(true, false), ADAPTER_BYTES); // one instead of two
    assert_int_equal(loaded_bytes(true, true), own);                  // each keeps its own
}

static void htp_ctx_33_an_adapter_comes_before_execution(void **state) {
    (void)state;
    const uint32_t seeds[2] = {0, 0}, others[2] = {OTHER_SEED, OTHER_SEED + 1};
    net m[2];
    uint8_t want[2][NET_OUT_BYTES], out[NET_OUT_BYTES];
    blob sections[2];
    htp_world w = prepare(true, false, others, m);
    for (int i = 0; i < 2; i++) {
        net_run(&w.qnn, &m[i], want[i]); // the preparer may run what it has
        sections[i] = section_of(&w, m[i].graph);
    }
    assert_memory_not_equal(want[0], want[1], NET_OUT_BYTES);
    htp_end(&w);
    w = prepare(true, false, seeds, m);
    blob b = blob_of(&w.qnn, w.context);
    described d = describe_bytes(b.data, b.size);
    htp_end(&w);
    for (int switching = 0; switching < 2; switching++) {
        w = load(&b, switching);
        for (int i = 0; i < 2; i++) {
            m[i] = net_of(&w.qnn, w.context, names[i]);
            m[i].x.v1.id = d.graphs[i].input;
            m[i].y.v1.id = d.graphs[i].output;
        }
        HTP_FAILS(run(&w, &m[0], out), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
        apply(&w, m[0].graph, &sections[0]);
        HTP_FAILS(run(&w, &m[1], out), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
        apply(&w, m[1].graph, &sections[1]);
        for (int k = 0; k < 6; k++) { // switched away and back: the adapters are still there
            HTP_OK(run(&w, &m[k % 2], out));
            assert_memory_equal(out, want[k % 2], NET_OUT_BYTES);
        }
        assert_int_equal(strstr(logged, "graph 'second': unloaded") != NULL, switching);
        htp_end(&w);
    }
    free(b.data);
    free(sections[0].data);
    free(sections[1].data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_ctx_13_ctx_14_one_place_for_all_adapters),
        cmocka_unit_test(htp_ctx_33_an_adapter_comes_before_execution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
