// SPDX-License-Identifier: MIT
//
// The HTP backend with QUERN_HTP=online,restricted (set by ctest, read when the program is loaded):
// graphs are prepared as on a phone, and priorities above NORMAL are refused.
#include "htp_describe.h"
#include "htp_options.h"

enum { SM8650 = 57 };

static void htp_dlbc_04_compression_is_for_offline_prepare(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_DLBC, 1.0f)), QNN_GRAPH_ERROR_CREATE_FAILED);
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 1.0f)),
              QNN_GRAPH_ERROR_CREATE_FAILED);
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_DLBC, 0.0f)));
    htp_end(&w);
}

static void htp_ctx_20_ctx_33_sharing_is_for_offline_prepare(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    const QnnHtpContext_CustomConfig_t on[] = {
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true),
        CONTEXT_OPTION(LORA_WEIGHT_SHARING_ENABLED, .loraWeightSharingEnabled = true),
        CONTEXT_OPTION(GRAPH_SPLITTING_ENABLED, .graphSplittingEnabled = true),
    };
    Qnn_ContextHandle_t c = NULL;
    for (size_t i = 0; i < sizeof on / sizeof *on; i++)
        HTP_FAILS(context_with(&w, &on[i], 1, &c), QNN_COMMON_ERROR_NOT_SUPPORTED);
    QnnHtpContext_CustomConfig_t off =
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = false);
    HTP_OK(context_with(&w, &off, 1, &c));
    HTP_OK(w.qnn.contextFree(c, NULL));
    htp_end(&w);
}

// A chip of QUERN_SOCS that has another number of units than the offline default.
static void htp_hvx_02_online_default_is_all_units(void **state) {
    (void)state;
    htp_world w = htp_begin(9057);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    assert_int_equal(describe_context(&w).graphs[0].v1.numHvxThreads, 6);
    htp_end(&w);
}

static void htp_pri_04_high_priorities_can_be_restricted(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    static const struct {
        Qnn_Priority_t priority;
        Qnn_ErrorHandle_t code;
    } rows[] = {
        {QNN_PRIORITY_LOW, QNN_SUCCESS},
        {QNN_PRIORITY_NORMAL, QNN_SUCCESS},
        {QNN_PRIORITY_NORMAL_HIGH, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED},
        {QNN_PRIORITY_CRITICAL_PLUS, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED},
    };
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        QnnGraph_Config_t one = {.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                                 .priority = rows[i].priority};
        QnnContext_Config_t all = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                   .priority = rows[i].priority};
        const QnnGraph_Config_t *list[] = {&one, NULL};
        const QnnContext_Config_t *every[] = {&all, NULL};
        HTP_FAILS(w.qnn.graphSetConfig(g, list), rows[i].code);
        HTP_FAILS(w.qnn.contextSetConfig(w.context, every), rows[i].code);
        Qnn_ContextHandle_t c = NULL;
        HTP_FAILS(w.qnn.contextCreate(w.backend, w.device, every, &c), rows[i].code);
        if (c)
            HTP_OK(w.qnn.contextFree(c, NULL));
    }
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_dlbc_04_compression_is_for_offline_prepare),
        cmocka_unit_test(htp_ctx_20_ctx_33_sharing_is_for_offline_prepare),
        cmocka_unit_test(htp_hvx_02_online_default_is_all_units),
        cmocka_unit_test(htp_pri_04_high_priorities_can_be_restricted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
