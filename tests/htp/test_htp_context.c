// SPDX-License-Identifier: MIT
//
// Options and properties of contexts on the HTP. Where an option belongs to a call that needs a
// binary, the hook is asked directly with the phase of that call; test_htp_groups.c and
// test_htp_switch.c load binaries.
#include "htp_inside.h"

#include "backend/htp/device/group.h"
#include "backend/htp/device/properties.h"

enum { SM8350 = 30, SM8550 = 43, SM8650 = 57, SM8750 = 69, SM8850 = 87 };

// A list with one option in a phase, on a context that has been made.
static qrn_status offer(const htp_world *w, qrn_config_phase phase,
                        QnnHtpContext_CustomConfig_t x) {
    const void *list[] = {&x};
    return qrn_htp_context_config(context_object(w->context), phase, list, 1);
}

static qrn_htp_context_options *taken(const htp_world *w) {
    return &qrn_htp_context_of(context_object(w->context))->options;
}

// --- the table: each flag, when it is allowed, and where it goes

typedef struct flag_case {
    QnnHtpContext_ConfigOption_t option;
    size_t field;
    bool ok[5]; // CREATE, BINARY, MEMBER, GROUP, SET
} flag_case;

#define FLAG(name, field, ...)                                                                     \
    {                                                                                              \
        QNN_HTP_CONTEXT_CONFIG_OPTION_##name, offsetof(qrn_htp_context_options, field), {          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void check_flag(uint32_t soc, const flag_case *f) {
    htp_world w = htp_begin(soc);
    for (int phase = QRN_CONFIG_CREATE; phase <= QRN_CONFIG_SET; phase++) {
        QnnHtpContext_CustomConfig_t x = {f->option, {.weightSharingEnabled = true}};
        bool *field = (bool *)((char *)taken(&w) + f->field);
        assert_false(*field);
        if (f->option == QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED)
            taken(&w)->lora_weight_sharing = true; // it comes with that
        assert_int_equal(offer(&w, (qrn_config_phase)phase, x),
                         f->ok[phase] ? QRN_OK : QRN_E_CONFIG);
        assert_int_equal(*field, f->ok[phase]);
        *field = false;
    }
    htp_end(&w);
}

static void htp_ctx_01_ctx_04_ctx_06_ctx_07_ctx_08_ctx_09_ctx_11_ctx_13_ctx_14_ctx_16_ctx_18_flags(
    void **s) {
    (void)s;
    static const flag_case cases[] = {
        FLAG(DSP_MEMORY_PROFILING_ENABLED, dsp_memory_profiling, 1, 1, 1, 0, 1),
        FLAG(IO_MEM_ESTIMATION, io_mem_estimation, 0, 1, 1, 0, 0),
        FLAG(PREPARE_ONLY, prepare_only, 1, 0, 0, 0, 0),
        FLAG(INIT_ACCELERATION, init_acceleration, 0, 1, 1, 0, 0),
        FLAG(SKIP_VALIDATION_ON_BINARY_SECTION, skip_section_validation, 0, 1, 1, 0, 0),
        FLAG(USE_EXTENDED_UDMA, extended_udma, 1, 1, 1, 0, 0),
        FLAG(LORA_WEIGHT_SHARING_ENABLED, lora_weight_sharing, 1, 0, 0, 0, 0),
        FLAG(LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED, lora_ram_preload, 1, 0, 0, 0, 0),
        FLAG(REFERENCE_WEIGHT_SHARING_ENABLED, reference_weight_sharing, 1, 0, 0, 0, 0),
        FLAG(GRAPH_SPLITTING_ENABLED, graph_splitting, 1, 0, 0, 0, 0),
        FLAG(GRAPH_SPLITTING_CONFIGS, graph_splitting, 1, 0, 0, 0, 0),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_flag(SM8850, &cases[i]);
    htp_world w = htp_begin(SM8850); // one that matters to who prepares, and is accepted by loading
    QnnHtpContext_CustomConfig_t on =
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true);
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, on), QRN_OK);
    assert_int_equal(offer(&w, QRN_CONFIG_MEMBER, on), QRN_OK);
    assert_int_equal(offer(&w, QRN_CONFIG_GROUP, on), QRN_OK);
    assert_int_equal(offer(&w, QRN_CONFIG_SET, on), QRN_E_CONFIG);
    assert_false(taken(&w)->weight_sharing);
    assert_int_equal(offer(&w, QRN_CONFIG_CREATE, on), QRN_OK);
    assert_true(taken(&w)->weight_sharing);
    htp_end(&w);
}

static void flags_that_are_false_ask_for_nothing(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8350); // has none of it
    const QnnHtpContext_CustomConfig_t off[] = {
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = false),
        CONTEXT_OPTION(USE_EXTENDED_UDMA, .useExtendedUdma = false),
        CONTEXT_OPTION(PREPARE_ONLY, .isPrepareOnly = false),
        CONTEXT_OPTION(GRAPH_SPLITTING_ENABLED, .graphSplittingEnabled = false),
    };
    Qnn_ContextHandle_t c = NULL;
    HTP_OK(context_with(&w, off, 4, &c));
    HTP_OK(w.qnn.contextFree(c, NULL));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(offer(&w, QRN_CONFIG_BINARY, off[i]), QRN_OK);
    htp_end(&w);
}

static void htp_ctx_03_ctx_15_ctx_17_ctx_19_numbers(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    QnnHtpContext_CustomConfig_t budget =
        CONTEXT_OPTION(FILE_READ_MEMORY_BUDGET, .fileReadMemoryBudgetInMb = 25);
    QnnHtpContext_CustomConfig_t limit =
        CONTEXT_OPTION(REUSED_IO_LIMIT, .reusedIoLimitMb = 1ull << 40);
    QnnHtpContext_CustomConfig_t extra = CONTEXT_OPTION(
        CONCURRENT_DESERIALIZATION_EXTRA_SIZE, .concurrentDeserializationExtraSizeKB = 102399);
    QnnHtpContext_CustomConfig_t patch =
        CONTEXT_OPTION(CONCURRENT_DESERIALIZATION_PATCH, .concurrentDeserializationPatchFd = 7);
    assert_int_equal(taken(&w)->deserialize_patch_fd, -1);
    const QnnHtpContext_CustomConfig_t all[] = {budget, limit, extra, patch};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(offer(&w, QRN_CONFIG_CREATE, all[i]), QRN_E_CONFIG);
        assert_int_equal(offer(&w, QRN_CONFIG_SET, all[i]), QRN_E_CONFIG);
        assert_int_equal(offer(&w, QRN_CONFIG_GROUP, all[i]), i == 1 ? QRN_OK : QRN_E_CONFIG);
        assert_int_equal(offer(&w, QRN_CONFIG_BINARY, all[i]), QRN_OK);
        assert_int_equal(offer(&w, QRN_CONFIG_MEMBER, all[i]), QRN_OK);
    }
    assert_int_equal(taken(&w)->read_budget_mb, 25);
    assert_true(taken(&w)->reused_io_limit_mb == 1ull << 40);
    assert_int_equal(taken(&w)->deserialize_extra_kb, 102399);
    assert_int_equal(taken(&w)->deserialize_patch_fd, 7);
    extra.concurrentDeserializationExtraSizeKB = 102401;
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, extra), QRN_OK);
    assert_int_equal(taken(&w)->deserialize_extra_kb, 102400);
    patch.concurrentDeserializationPatchFd = -1;
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, patch), QRN_E_CONFIG);
    htp_end(&w);
}

static void newer_options_are_checked(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    QnnHtpContext_CustomConfig_t loading =
        CONTEXT_OPTION(PARALLEL_WEIGHT_LOADING,
                       .parallelWeightLoading = {QNN_HTP_PARALLEL_WEIGHT_LOADING_MODE_OFF, 64});
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, loading), QRN_OK);
    assert_int_equal(taken(&w)->weight_loading, 2);
    assert_int_equal(taken(&w)->weight_loading_mb, 64);
    loading.parallelWeightLoading.mode = (QnnHtpContext_ParallelWeightLoadingMode_t)3;
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, loading), QRN_E_CONFIG);
    QnnHtpContext_LoraPreloadGroup_t group = {NULL, 1};
    QnnHtpContext_LoraPreloadBufferGroups_t groups = {&group, 1};
    QnnHtpContext_CustomConfig_t preload =
        CONTEXT_OPTION(LORA_PRELOAD_BUFFER_GROUPS, .loraPreloadBufferGroups = &groups);
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, preload), QRN_E_CONFIG);
    group.numGraphs = 0;
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, preload), QRN_OK);
    preload.loraPreloadBufferGroups = NULL;
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, preload), QRN_E_CONFIG);
    htp_end(&w);
}

static void htp_ctx_20_weight_sharing_needs_v73(void **state) {
    (void)state;
    static const struct {
        uint32_t soc;
        Qnn_ErrorHandle_t code;
    } rows[] = {
        {SM8350, QNN_COMMON_ERROR_NOT_SUPPORTED},
        {SM8550, QNN_SUCCESS},
        {SM8850, QNN_SUCCESS},
        {0, QNN_SUCCESS}, // no chip was asked for: clients share weights without naming one
    };
    QnnHtpContext_CustomConfig_t on =
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        htp_world w = htp_begin(rows[i].soc);
        Qnn_ContextHandle_t c = NULL;
        HTP_FAILS(context_with(&w, &on, 1, &c), rows[i].code);
        if (c)
            HTP_OK(w.qnn.contextFree(c, NULL));
        htp_end(&w);
    }
}

static void htp_ctx_34_extended_udma_needs_v81(void **state) {
    (void)state;
    QnnHtpContext_CustomConfig_t on = CONTEXT_OPTION(USE_EXTENDED_UDMA, .useExtendedUdma = true);
    static const uint32_t without[] = {0, SM8350, SM8650, SM8750};
    for (size_t i = 0; i < 4; i++) {
        htp_world w = htp_begin(without[i]);
        Qnn_ContextHandle_t c = NULL;
        HTP_FAILS(context_with(&w, &on, 1, &c), QNN_COMMON_ERROR_NOT_SUPPORTED);
        htp_end(&w);
    }
}

static void htp_ctx_14_preload_comes_with_sharing(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    const QnnHtpContext_CustomConfig_t both[] = {
        CONTEXT_OPTION(LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED,
                       .loraWeightSharingRamPreloadEnabled = true),
        CONTEXT_OPTION(LORA_WEIGHT_SHARING_ENABLED, .loraWeightSharingEnabled = true)};
    Qnn_ContextHandle_t c = NULL;
    HTP_FAILS(context_with(&w, both, 1, &c), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_OK(context_with(&w, both, 2, &c));
    HTP_OK(w.qnn.contextFree(c, NULL));
    htp_end(&w);
}

static void htp_ctx_36_unknown_options_get_one_warning(void **state) {
    (void)state;
    warnings seen = {0};
    htp_world w = htp_warned(SM8650, &seen);
    static const int unknown[] = {0, 14, 15, 24, 26, 999, 0x7FFFFFFF};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        QnnHtpContext_CustomConfig_t x = {(QnnHtpContext_ConfigOption_t)unknown[i], {false}};
        Qnn_ContextHandle_t c = NULL;
        char number[16];
        snprintf(number, sizeof number, "option %d ", unknown[i]);
        HTP_OK(context_with(&w, &x, 1, &c));
        assert_int_equal(seen.n, i + 1);
        assert_non_null(strstr(seen.last, number));
        HTP_OK(w.qnn.contextFree(c, NULL));
    }
    htp_warned_end(&w);
}

static void htp_ctx_28_prepare_only_contexts_do_not_execute(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    QnnHtpContext_CustomConfig_t only = CONTEXT_OPTION(PREPARE_ONLY, .isPrepareOnly = true);
    Qnn_ContextHandle_t c = NULL;
    HTP_OK(context_with(&w, &only, 1, &c));
    htp_relu r;
    htp_relu_graph(&w.qnn, c, "r", NULL, 1, &r);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    uint8_t x[8] = {0}, y[8];
    htp_buffer(&r.x, x, sizeof x);
    htp_buffer(&r.y, y, sizeof y);
    HTP_FAILS(w.qnn.graphExecute(r.graph, &r.x, 1, &r.y, 1, NULL, NULL),
              QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    HTP_OK(w.qnn.contextFree(c, NULL));
    htp_end(&w);
}

// --- groups by registration

static QnnHtpContext_CustomConfig_t group_of(bool concurrent, void *first, uint64_t size) {
    QnnHtpContext_CustomConfig_t x =
        CONTEXT_OPTION(REGISTER_MULTI_CONTEXTS, .groupRegistration = {first, size});
    if (concurrent)
        x.option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING;
    return x;
}

static Qnn_ContextHandle_t more(const htp_world *w) {
    Qnn_ContextHandle_t c = NULL;
    HTP_OK(w->qnn.contextCreate(w->backend, w->device, NULL, &c));
    return c;
}

static void register_in(bool concurrent) {
    htp_world a = htp_begin(SM8850), b = a, c = a;
    b.context = more(&a);
    c.context = more(&a);
    static const qrn_config_phase wrong[] = {QRN_CONFIG_CREATE, QRN_CONFIG_MEMBER, QRN_CONFIG_GROUP,
                                             QRN_CONFIG_SET};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(offer(&a, wrong[i], group_of(concurrent, NULL, 4096)), QRN_E_CONFIG);
    assert_int_equal(offer(&a, QRN_CONFIG_BINARY, group_of(concurrent, NULL, 0)), QRN_E_CONFIG);
    assert_int_equal(offer(&a, QRN_CONFIG_BINARY, group_of(concurrent, b.context, 4096)),
                     QRN_E_CONFIG); // it is in no group
    assert_int_equal(offer(&a, QRN_CONFIG_BINARY, group_of(concurrent, NULL, 4096)), QRN_OK);
    assert_int_equal(offer(&b, QRN_CONFIG_BINARY, group_of(concurrent, &a, 4096)), QRN_E_CONFIG);
    assert_int_equal(offer(&b, QRN_CONFIG_BINARY, group_of(!concurrent, a.context, 4096)),
                     QRN_E_CONFIG); // a group of the other kind
    assert_int_equal(offer(&b, QRN_CONFIG_BINARY, group_of(concurrent, a.context, 0)), QRN_OK);
    const qrn_htp_group *g = qrn_htp_context_of(context_object(a.context))->group;
    assert_ptr_equal(qrn_htp_context_of(context_object(b.context))->group, g);
    assert_int_equal(g->spill_bytes, 4096); // the first one's
    assert_int_equal(g->n_members, 2);
    assert_int_equal(g->backup_bytes, concurrent ? 8u << 20 : 0u);
    assert_int_equal(offer(&b, QRN_CONFIG_BINARY, group_of(concurrent, a.context, 0)),
                     QRN_E_CONFIG); // in a group already
    HTP_OK(a.qnn.contextFree(a.context, NULL));
    assert_int_equal(g->n_members, 1); // the others keep the group
    assert_int_equal(offer(&c, QRN_CONFIG_BINARY, group_of(concurrent, a.context, 0)),
                     QRN_E_CONFIG); // but its first context is gone
    HTP_OK(a.qnn.contextFree(b.context, NULL));
    a.context = c.context;
    htp_end(&a);
}

static void htp_ctx_02_ctx_12_ctx_22_groups_by_registration(void **state) {
    (void)state;
    register_in(false);
    register_in(true);
    htp_world w = htp_begin(SM8750);
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, group_of(true, NULL, 4096)), QRN_E_UNSUPPORTED);
    htp_end(&w);
}

static Qnn_ErrorHandle_t set_priority(const htp_world *w, Qnn_Priority_t p) {
    QnnContext_Config_t x = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = p};
    const QnnContext_Config_t *list[] = {&x, NULL};
    return w->qnn.contextSetConfig(w->context, list);
}

static void htp_ctx_25_pri_05_concurrent_groups_freeze_priorities(void **state) {
    (void)state;
    htp_world a = htp_begin(SM8850), b = a;
    b.context = more(&a);
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(a.qnn.graphCreate(a.context, "g", NULL, &g));
    assert_int_equal(offer(&a, QRN_CONFIG_BINARY, group_of(true, NULL, 4096)), QRN_OK);
    HTP_OK(set_priority(&b, QNN_PRIORITY_HIGH));
    assert_int_equal(offer(&b, QRN_CONFIG_BINARY, group_of(true, a.context, 0)), QRN_E_CONFIG);
    HTP_OK(set_priority(&b, QNN_PRIORITY_NORMAL));
    assert_int_equal(offer(&b, QRN_CONFIG_BINARY, group_of(true, a.context, 0)), QRN_OK);
    HTP_FAILS(set_priority(&b, QNN_PRIORITY_HIGH), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    HTP_OK(set_priority(&b, QNN_PRIORITY_NORMAL)); // no change
    QnnGraph_Config_t low = {.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                             .priority = QNN_PRIORITY_LOW};
    const QnnGraph_Config_t *list[] = {&low, NULL};
    HTP_FAILS(a.qnn.graphSetConfig(g, list), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    HTP_OK(a.qnn.contextFree(b.context, NULL));
    htp_end(&a);
}

static void htp_ctx_23_ctx_24_dlbc_06_pge_02_graphs_fit_their_group(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8850);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    qrn_api_context *c = context_object(w.context);
    qrn_htp_graph *g = qrn_htp_graph_of(qrn_handle_get(QRN_KIND_GRAPH, r.graph));
    assert_int_equal(offer(&w, QRN_CONFIG_BINARY, group_of(false, NULL, 4096)), QRN_OK);
    g->sizes.live_bytes = (4u << 20) + 4096; // as if it were that large: 4 MB of VTCM and the group
    assert_int_equal(qrn_htp_group_check_graphs(c), QRN_OK);
    g->sizes.live_bytes += 1;
    assert_int_equal(qrn_htp_group_check_graphs(c), QRN_E_CONFIG);
    g->sizes.live_bytes = 0;
    g->options.dlbc = true;
    assert_int_equal(qrn_htp_group_check_graphs(c), QRN_E_CONFIG);
    g->options.dlbc = false;
    g->options.concurrency = 1;
    assert_int_equal(qrn_htp_group_check_graphs(c), QRN_E_UNSUPPORTED);
    htp_end(&w);
}

// --- lists of contexts that share

static QnnHtpContext_CustomConfig_t share(bool on) {
    return CONTEXT_OPTION(SHARE_RESOURCES, .shareResources = on);
}
static QnnHtpContext_CustomConfig_t share_type(int type) {
    return CONTEXT_OPTION(SHARE_RESOURCES_OPTIMIZATION_TYPE,
                          .shareResOptType = (QnnHtpContext_ShareResourcesOptimizationType_t)type);
}

static qrn_status offer_sharing(const htp_world *w, bool on, int type) {
    QnnHtpContext_CustomConfig_t a = share(on), b = share_type(type);
    const void *list[] = {&a, &b};
    qrn_api_context *c = context_object(w->context);
    qrn_status s = qrn_htp_context_config(c, QRN_CONFIG_GROUP, list, 2);
    qrn_htp_group_leave(c);
    return s;
}

static void htp_ctx_05_ctx_10_ctx_29_sharing_belongs_to_lists(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8850);
    static const qrn_config_phase others[] = {QRN_CONFIG_CREATE, QRN_CONFIG_BINARY,
                                              QRN_CONFIG_MEMBER, QRN_CONFIG_SET};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(offer(&w, others[i], share(true)), QRN_E_CONFIG);
        assert_int_equal(offer(&w, others[i], share(false)), QRN_E_CONFIG);
        assert_int_equal(offer(&w, others[i], share_type(1)), QRN_E_CONFIG);
    }
    assert_int_equal(offer(&w, QRN_CONFIG_GROUP, share(true)), QRN_OK);
    assert_int_equal(taken(&w)->share_type, 0); // the default
    htp_end(&w);
}

static void htp_ctx_30_kinds_of_sharing(void **state) {
    (void)state;
    static const struct {
        uint32_t soc;
        qrn_status of[3];
    } rows[] = {
        {SM8350, {QRN_E_UNSUPPORTED, QRN_OK, QRN_E_UNSUPPORTED}},
        {SM8650, {QRN_OK, QRN_OK, QRN_E_UNSUPPORTED}},
        {SM8850, {QRN_OK, QRN_OK, QRN_OK}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int type = 0; type < 3; type++) {
            htp_world w = htp_begin(rows[i].soc);
            assert_int_equal(offer_sharing(&w, true, type), rows[i].of[type]);
            assert_int_equal(offer_sharing(&w, false, type), QRN_OK); // then it is ignored
            htp_end(&w);
        }
    }
    htp_world w = htp_begin(SM8850);
    assert_int_equal(offer_sharing(&w, false, 3), QRN_E_CONFIG);
    htp_end(&w);
}

static void htp_ctx_31_gsw_05_mgs_06_sharing_excludes_switching(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    qrn_api_context *c = context_object(w.context);
    c->persistent_binary = true;
    assert_int_equal(offer_sharing(&w, true, 1), QRN_OK); // no hint: no switching
    c->memory_limit_mb = 1;
    assert_int_equal(offer_sharing(&w, true, 1), QRN_E_CONFIG);
    assert_int_equal(offer_sharing(&w, false, 1), QRN_OK);
    c->persistent_binary = false;
    assert_int_equal(offer_sharing(&w, true, 1), QRN_OK);
    htp_end(&w);
}

// --- generic options

static Qnn_ErrorHandle_t with_queue(const htp_world *w, uint32_t depth) {
    QnnContext_Config_t x = {
        .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
        .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC,
                               {.depth = depth}}};
    const QnnContext_Config_t *list[] = {&x, NULL};
    Qnn_ContextHandle_t c = NULL;
    Qnn_ErrorHandle_t code = w->qnn.contextCreate(w->backend, w->device, list, &c);
    if (code == QNN_SUCCESS) {
        assert_int_equal(context_object(c)->queue_depth, depth);
        HTP_FAILS(w->qnn.contextSetConfig(c, list), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
        HTP_OK(w->qnn.contextFree(c, NULL));
    }
    return code;
}

static void htp_asy_01_ctx_37_queue_depth_up_to_300_at_creation(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    HTP_OK(with_queue(&w, 1));
    HTP_OK(with_queue(&w, 300));
    HTP_FAILS(with_queue(&w, 301), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_FAILS(with_queue(&w, 0), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    htp_end(&w);
}

// --- properties

static uint64_t property(const htp_world *w, QnnHtpContext_GetPropertyOption_t option) {
    QnnHtpContext_CustomProperty_t custom = {option, {0}};
    QnnContext_Property_t p = {.option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM,
                               .customProperty = &custom};
    QnnContext_Property_t *list[] = {&p, NULL};
    HTP_OK(w->qnn.contextGetProperty(w->context, list));
    return custom.bufferStartAlignment;
}

static Qnn_ErrorHandle_t bad_property(const htp_world *w, int option, bool null) {
    QnnHtpContext_CustomProperty_t custom = {(QnnHtpContext_GetPropertyOption_t)option, {0}};
    QnnContext_Property_t p = {.option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM,
                               .customProperty = null ? NULL : &custom};
    QnnContext_Property_t *list[] = {&p, NULL};
    return w->qnn.contextGetProperty(w->context, list);
}

// x -> a -> b -> y, each [1, mb << 20] of 8 bits: a and b live at the same time.
static void chain(const htp_world *w, const char *name, uint32_t mb) {
    uint32_t dims[] = {mb, 1u << 20};
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w->qnn.graphCreate(w->context, name, NULL, &g));
    static const char *const names[] = {"x", "a", "b", "y"};
    Qnn_Tensor_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = htp_tensor(names[i],
                          i == 0   ? QNN_TENSOR_TYPE_APP_WRITE
                          : i == 3 ? QNN_TENSOR_TYPE_APP_READ
                                   : QNN_TENSOR_TYPE_NATIVE,
                          QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        htp_encode(&t[i], 0.1f * (float)(i + 1), -128); // other scales, so that nothing is in place
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    for (int i = 0; i < 3; i++)
        HTP_OK(w->qnn.graphAddNode(g, htp_op(names[i], "Relu", &t[i], 1, &t[i + 1], 1)));
    HTP_OK(w->qnn.graphFinalize(g, NULL, NULL));
}

static void htp_ctx_35_properties(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    assert_int_equal(property(&w, QNN_HTP_CONTEXT_GET_PROP_BUFFER_START_ALIGNMENT), 4096);
    assert_int_equal(property(&w, QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE), 8 << 20);
    assert_int_equal(property(&w, QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE), 0);
    assert_int_equal(property(&w, QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE), 0);
    chain(&w, "small", 2); // 2 + 2 MB fit into the 4 MB that are the default
    assert_int_equal(property(&w, QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE), 0);
    chain(&w, "large", 3); // 3 + 3 MB do not
    chain(&w, "other", 2);
    assert_int_equal(property(&w, QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE), 2 << 20);
    static const int bad[] = {0, 4, 5, 7, 8, 0x7FFFFFFF};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        HTP_FAILS(bad_property(&w, bad[i], false), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(bad_property(&w, 1, true), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            htp_ctx_01_ctx_04_ctx_06_ctx_07_ctx_08_ctx_09_ctx_11_ctx_13_ctx_14_ctx_16_ctx_18_flags),
        cmocka_unit_test(flags_that_are_false_ask_for_nothing),
        cmocka_unit_test(htp_ctx_03_ctx_15_ctx_17_ctx_19_numbers),
        cmocka_unit_test(newer_options_are_checked),
        cmocka_unit_test(htp_ctx_20_weight_sharing_needs_v73),
        cmocka_unit_test(htp_ctx_34_extended_udma_needs_v81),
        cmocka_unit_test(htp_ctx_14_preload_comes_with_sharing),
        cmocka_unit_test(htp_ctx_36_unknown_options_get_one_warning),
        cmocka_unit_test(htp_ctx_28_prepare_only_contexts_do_not_execute),
        cmocka_unit_test(htp_ctx_02_ctx_12_ctx_22_groups_by_registration),
        cmocka_unit_test(htp_ctx_25_pri_05_concurrent_groups_freeze_priorities),
        cmocka_unit_test(htp_ctx_23_ctx_24_dlbc_06_pge_02_graphs_fit_their_group),
        cmocka_unit_test(htp_ctx_05_ctx_10_ctx_29_sharing_belongs_to_lists),
        cmocka_unit_test(htp_ctx_30_kinds_of_sharing),
        cmocka_unit_test(htp_ctx_31_gsw_05_mgs_06_sharing_excludes_switching),
        cmocka_unit_test(htp_asy_01_ctx_37_queue_depth_up_to_300_at_creation),
        cmocka_unit_test(htp_ctx_35_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
