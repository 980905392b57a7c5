// SPDX-License-Identifier: MIT
//
// Options and properties of contexts on the HTP: which call accepts which option, and what options
// exclude. test_htp_loaded.c and test_htp_switch.c show what they do.
#include "htp_switch.h"

enum { SM8350 = 30, SM8550 = 43, SM8650 = 57, SM8750 = 69, SM8850 = 87 };

// Calls that take options of contexts: two of the last three in a list of contexts, for one of them
// and for all.
enum { CREATE, BINARY, MEMBER, GROUP, SET, N_CALLS };

static binary prepared; // for one chip
static uint32_t prepared_for = UINT32_MAX;

static const binary *binary_for(uint32_t soc) {
    if (prepared_for != soc) {
        free(prepared.data);
        prepared = make_binary(soc);
        prepared_for = soc;
    }
    return &prepared;
}

static int teardown(void **state) {
    (void)state;
    free(prepared.data);
    return 0;
}

static Qnn_ErrorHandle_t set_options(const htp_world *w, Qnn_ContextHandle_t c,
                                     const QnnHtpContext_CustomConfig_t *custom, size_t n) {
    QnnContext_Config_t entry[HTP_OPTIONS_MAX];
    const QnnContext_Config_t *list[HTP_OPTIONS_MAX + 1] = {0};
    for (size_t i = 0; i < n; i++) {
        entry[i] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                         .customConfig = (void *)&custom[i]};
        list[i] = &entry[i];
    }
    return w->qnn.contextSetConfig(c, list);
}

// What a call answers to options; whatever it makes is freed. A member has the first option alone.
static Qnn_ErrorHandle_t offer(uint32_t soc, int call, const QnnHtpContext_CustomConfig_t *custom,
                               size_t n) {
    const binary *b = binary_for(soc);
    htp_world w = no_context(soc);
    note made[2] = {{0}};
    Qnn_ErrorHandle_t code = QNN_SUCCESS;
    if (call == CREATE || call == SET)
        code = context_with(&w, custom, call == SET ? 0 : n, &made[0].context);
    else if (call == BINARY)
        code = load_with(&w, b, custom, n, NULL, &made[0].context);
    else
        code = load_two(&w, b, call == GROUP ? custom : NULL, call == GROUP ? n : 0,
                        call == MEMBER ? custom : NULL, made);
    if (call == SET && code == QNN_SUCCESS)
        code = set_options(&w, made[0].context, custom, n);
    for (int i = 0; i < 2; i++)
        if (made[i].context)
            HTP_OK(w.qnn.contextFree(made[i].context, NULL));
    htp_end(&w);
    return code;
}

// The calls that are marked accept the options, the others do not.
static void accepted_by(uint32_t soc, const QnnHtpContext_CustomConfig_t *custom, size_t n,
                        const bool ok[N_CALLS]) {
    for (int call = 0; call < N_CALLS; call++) {
        Qnn_ErrorHandle_t code = offer(soc, call, custom, n);
        if (QNN_GET_ERROR_CODE(code) != (ok[call]      ? QNN_SUCCESS
                                         : call == SET ? QNN_CONTEXT_ERROR_INVALID_ARGUMENT
                                                       : QNN_CONTEXT_ERROR_INVALID_CONFIG))
            fail_msg("option %d in call %d: %u", (int)custom->option, call,
                     (unsigned)QNN_GET_ERROR_CODE(code));
    }
}

// --- the table

#define FLAG(name, ...)                                                                            \
    {                                                                                              \
        QNN_HTP_CONTEXT_CONFIG_OPTION_##name, { __VA_ARGS__ }                                      \
    }

static void htp_ctx_01_ctx_04_ctx_06_ctx_07_ctx_08_ctx_11_ctx_13_ctx_16_ctx_18_flags(void **state) {
    (void)state;
    static const struct {
        QnnHtpContext_ConfigOption_t option;
        bool ok[N_CALLS];
    } cases[] = {
        FLAG(WEIGHT_SHARING_ENABLED, 1, 1, 1, 1, 0),
        FLAG(DSP_MEMORY_PROFILING_ENABLED, 1, 1, 1, 0, 1),
        FLAG(IO_MEM_ESTIMATION, 0, 1, 1, 0, 0),
        FLAG(PREPARE_ONLY, 1, 0, 0, 0, 0),
        FLAG(INIT_ACCELERATION, 0, 1, 1, 0, 0),
        FLAG(SKIP_VALIDATION_ON_BINARY_SECTION, 0, 1, 1, 0, 0),
        FLAG(USE_EXTENDED_UDMA, 1, 1, 1, 0, 0),
        FLAG(LORA_WEIGHT_SHARING_ENABLED, 1, 0, 0, 0, 0),
        FLAG(REFERENCE_WEIGHT_SHARING_ENABLED, 1, 0, 0, 0, 0),
        FLAG(GRAPH_SPLITTING_ENABLED, 1, 0, 0, 0, 0),
        FLAG(GRAPH_SPLITTING_CONFIGS, 1, 0, 0, 0, 0),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        QnnHtpContext_CustomConfig_t on = {cases[i].option, {.weightSharingEnabled = true}};
        accepted_by(SM8850, &on, 1, cases[i].ok);
    }
}

static void flags_that_are_false_ask_for_nothing(void **state) {
    (void)state;
    const QnnHtpContext_CustomConfig_t off[] = {
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = false),
        CONTEXT_OPTION(USE_EXTENDED_UDMA, .useExtendedUdma = false),
        CONTEXT_OPTION(PREPARE_ONLY, .isPrepareOnly = false),
        CONTEXT_OPTION(GRAPH_SPLITTING_ENABLED, .graphSplittingEnabled = false),
    };
    HTP_OK(offer(SM8350, CREATE, off, 4)); // has none of it
    HTP_OK(offer(SM8350, BINARY, off, 4));
}

static void htp_ctx_03_ctx_15_ctx_17_ctx_19_numbers(void **state) {
    (void)state;
    QnnHtpContext_CustomConfig_t all[] = {
        CONTEXT_OPTION(FILE_READ_MEMORY_BUDGET, .fileReadMemoryBudgetInMb = 25),
        CONTEXT_OPTION(REUSED_IO_LIMIT, .reusedIoLimitMb = 1ull << 40),
        CONTEXT_OPTION(CONCURRENT_DESERIALIZATION_EXTRA_SIZE,
                       .concurrentDeserializationExtraSizeKB = 102399),
        CONTEXT_OPTION(CONCURRENT_DESERIALIZATION_PATCH, .concurrentDeserializationPatchFd = 7)};
    for (size_t i = 0; i < 4; i++)
        accepted_by(SM8650, &all[i], 1, (const bool[]){0, 1, 1, i == 1, 0});
    all[2].concurrentDeserializationExtraSizeKB = 102401; // cut to the largest
    HTP_OK(offer(SM8650, BINARY, &all[2], 1));
    all[3].concurrentDeserializationPatchFd = -1;
    HTP_FAILS(offer(SM8650, BINARY, &all[3], 1), QNN_CONTEXT_ERROR_INVALID_CONFIG);
}

static void newer_options_are_checked(void **state) {
    (void)state;
    QnnHtpContext_CustomConfig_t loading =
        CONTEXT_OPTION(PARALLEL_WEIGHT_LOADING,
                       .parallelWeightLoading = {QNN_HTP_PARALLEL_WEIGHT_LOADING_MODE_OFF, 64});
    HTP_OK(offer(SM8650, BINARY, &loading, 1));
    loading.parallelWeightLoading.mode = (QnnHtpContext_ParallelWeightLoadingMode_t)3;
    HTP_FAILS(offer(SM8650, BINARY, &loading, 1), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    QnnHtpContext_LoraPreloadGroup_t group = {NULL, 1};
    QnnHtpContext_LoraPreloadBufferGroups_t groups = {&group, 1};
    QnnHtpContext_CustomConfig_t preload =
        CONTEXT_OPTION(LORA_PRELOAD_BUFFER_GROUPS, .loraPreloadBufferGroups = &groups);
    HTP_FAILS(offer(SM8650, BINARY, &preload, 1), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    group.numGraphs = 0;
    HTP_OK(offer(SM8650, BINARY, &preload, 1));
    preload.loraPreloadBufferGroups = NULL;
    HTP_FAILS(offer(SM8650, BINARY, &preload, 1), QNN_CONTEXT_ERROR_INVALID_CONFIG);
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

static void register_in(bool concurrent) {
    const binary *b = binary_for(SM8850);
    htp_world w = no_context(SM8850);
    Qnn_ContextHandle_t first = NULL, second = NULL, third = NULL, plain = NULL;
    QnnHtpContext_CustomConfig_t x = group_of(concurrent, NULL, 4096);
    accepted_by(SM8850, &x, 1, (const bool[]){0, 1, 0, 0, 0});
#define JOINS(c, kind, handle, size, code)                                                         \
    do {                                                                                           \
        x = group_of(kind, handle, size);                                                          \
        HTP_FAILS(load_with(&w, b, &x, 1, NULL, &c), code);                                        \
    } while (0)
    const Qnn_ErrorHandle_t no = QNN_CONTEXT_ERROR_INVALID_CONFIG;
    HTP_OK(load_with(&w, b, NULL, 0, NULL, &plain));
    JOINS(first, concurrent, NULL, 0, no);
    JOINS(first, concurrent, plain, 4096, no); // it is in no group
    JOINS(first, concurrent, NULL, 4096, QNN_SUCCESS);
    JOINS(second, concurrent, &w, 4096, no);     // no handle
    JOINS(second, !concurrent, first, 4096, no); // a group of the other kind
    JOINS(second, concurrent, first, 0, QNN_SUCCESS);
    HTP_OK(w.qnn.contextFree(first, NULL));
    JOINS(third, concurrent, first, 0, no); // the group is there, but its first context is gone
#undef JOINS
    HTP_OK(w.qnn.contextFree(second, NULL));
    HTP_OK(w.qnn.contextFree(plain, NULL));
    htp_end(&w);
}

static void htp_ctx_02_ctx_12_ctx_22_groups_by_registration(void **state) {
    (void)state;
    register_in(false);
    register_in(true);
    QnnHtpContext_CustomConfig_t x = group_of(true, NULL, 4096);
    HTP_FAILS(offer(SM8750, BINARY, &x, 1), QNN_COMMON_ERROR_NOT_SUPPORTED);
}

static Qnn_ErrorHandle_t set_priority(const htp_world *w, Qnn_ContextHandle_t c, Qnn_Priority_t p) {
    QnnContext_Config_t x = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = p};
    const QnnContext_Config_t *list[] = {&x, NULL};
    return w->qnn.contextSetConfig(c, list);
}

// Loads into a concurrent group with a priority.
static Qnn_ErrorHandle_t join_with(const htp_world *w, void *first, Qnn_Priority_t priority,
                                   Qnn_ContextHandle_t *c) {
    QnnHtpContext_CustomConfig_t x = group_of(true, first, 4096);
    QnnContext_Config_t group = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &x},
                        p = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = priority};
    const QnnContext_Config_t *list[] = {&p, &group, NULL};
    const binary *b = binary_for(SM8850);
    return w->qnn.contextCreateFromBinary(w->backend, w->device, list, b->data, b->size, c, NULL);
}

static void htp_ctx_25_pri_05_concurrent_groups_freeze_priorities(void **state) {
    (void)state;
    binary_for(SM8850);
    htp_world w = no_context(SM8850);
    Qnn_ContextHandle_t a = NULL, b = NULL;
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(join_with(&w, NULL, QNN_PRIORITY_NORMAL, &a));
    HTP_FAILS(join_with(&w, a, QNN_PRIORITY_HIGH, &b), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_OK(join_with(&w, a, QNN_PRIORITY_NORMAL, &b));
    HTP_FAILS(set_priority(&w, b, QNN_PRIORITY_HIGH), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    HTP_OK(set_priority(&w, b, QNN_PRIORITY_NORMAL)); // no change
    QnnGraph_Config_t low = {.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                             .priority = QNN_PRIORITY_LOW};
    const QnnGraph_Config_t *list[] = {&low, NULL};
    HTP_OK(w.qnn.graphRetrieve(a, "A", &g));
    HTP_FAILS(w.qnn.graphSetConfig(g, list), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    HTP_OK(w.qnn.contextFree(b, NULL));
    HTP_OK(w.qnn.contextFree(a, NULL));
    htp_end(&w);
}

// Graphs that may run beside others belong to no group (their spill-fill: test_htp_loaded.c).
static void htp_pge_02_parallel_graphs_are_in_no_group(void **state) {
    (void)state;
    htp_world w = no_context(SM8850);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    QnnHtpGraph_CustomConfig_t parallel =
        GRAPH_OPTION(PARALLEL_GRAPH_EXECUTION_CONFIG,
                     .parallelGraphExecutionConfig = {
                         .concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED,
                         .vtcmConfig = {.sizeInBytes = 3u << 20, .sizeTotalInBytes = 7u << 20}});
    graph_list l;
    add_graph_of(&w, 0, 0, graph_options(&l, &parallel, 1));
    binary b = save(&w);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        QnnHtpContext_CustomConfig_t x = group_of(concurrent, NULL, 1 << 20);
        HTP_FAILS(load_with(&w, &b, &x, 1, NULL, &w.context), QNN_COMMON_ERROR_NOT_SUPPORTED);
    }
    HTP_OK(load_with(&w, &b, NULL, 0, NULL, &w.context));
    htp_end(&w);
    free(b.data);
}

// --- lists of contexts that share

static QnnHtpContext_CustomConfig_t share(bool on) {
    return CONTEXT_OPTION(SHARE_RESOURCES, .shareResources = on);
}
static QnnHtpContext_CustomConfig_t share_type(int type) {
    return CONTEXT_OPTION(SHARE_RESOURCES_OPTIMIZATION_TYPE,
                          .shareResOptType = (QnnHtpContext_ShareResourcesOptimizationType_t)type);
}

static Qnn_ErrorHandle_t offer_sharing(uint32_t soc, bool on, int type) {
    QnnHtpContext_CustomConfig_t list[] = {share(on), share_type(type)};
    return offer(soc, GROUP, list, 2);
}

static void htp_ctx_05_ctx_10_ctx_29_sharing_belongs_to_lists(void **state) {
    (void)state;
    QnnHtpContext_CustomConfig_t all[] = {share(true), share(false), share_type(1)};
    for (size_t i = 0; i < 3; i++)
        accepted_by(SM8850, &all[i], 1, (const bool[]){0, 0, 0, 1, 0});
}

static void htp_ctx_30_kinds_of_sharing(void **state) {
    (void)state;
    const Qnn_ErrorHandle_t ok = QNN_SUCCESS, no = QNN_COMMON_ERROR_NOT_SUPPORTED;
    const struct {
        uint32_t soc;
        Qnn_ErrorHandle_t of[3];
    } rows[] = {{SM8350, {no, ok, no}}, {SM8650, {ok, ok, no}}, {SM8850, {ok, ok, ok}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int type = 0; type < 3; type++) {
            HTP_FAILS(offer_sharing(rows[i].soc, true, type), rows[i].of[type]);
            HTP_OK(offer_sharing(rows[i].soc, false, type)); // then it is ignored
        }
    HTP_FAILS(offer_sharing(SM8850, false, 3), QNN_CONTEXT_ERROR_INVALID_CONFIG);
}

// Of a list whose members are persistent and have a hint, or not.
static Qnn_ErrorHandle_t switch_and_share(bool persistent, uint64_t hint, bool sharing) {
    const binary *b = binary_for(SM8650);
    htp_world w = no_context(SM8650);
    QnnHtpContext_CustomConfig_t x = share(sharing);
    QnnContext_Config_t group = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &x},
                        a = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                             .isPersistentBinary = persistent},
                        c = {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                             .memoryLimitHint = hint};
    const QnnContext_Config_t *list[] = {&group, NULL}, *own[] = {&a, &c, NULL};
    note made = {0};
    QnnContext_Params_t one = {QNN_CONTEXT_PARAMS_VERSION_1,
                               {.v1 = {own, b->data, b->size, NULL, notify, &made}}};
    const QnnContext_Params_t *params[] = {&one, NULL};
    Qnn_ErrorHandle_t code =
        w.qnn.contextCreateFromBinaryListAsync(w.backend, w.device, params, list, NULL);
    assert_int_equal(made.status, code);
    if (made.context)
        HTP_OK(w.qnn.contextFree(made.context, NULL));
    htp_end(&w);
    return code;
}

static void htp_ctx_31_gsw_05_mgs_06_sharing_excludes_switching(void **state) {
    (void)state;
    HTP_OK(switch_and_share(true, 0, true)); // no hint: no switching
    HTP_OK(switch_and_share(false, 1, true));
    HTP_OK(switch_and_share(true, 1, false));
    HTP_FAILS(switch_and_share(true, 1, true), QNN_CONTEXT_ERROR_INVALID_CONFIG);
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
        HTP_FAILS(w->qnn.contextSetConfig(c, list), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
        HTP_OK(w->qnn.contextFree(c, NULL));
    }
    return code;
}

static void htp_asy_01_queue_depth_up_to_300_at_creation(void **state) {
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
        cmocka_unit_test(htp_ctx_01_ctx_04_ctx_06_ctx_07_ctx_08_ctx_11_ctx_13_ctx_16_ctx_18_flags),
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
        cmocka_unit_test(htp_pge_02_parallel_graphs_are_in_no_group),
        cmocka_unit_test(htp_ctx_05_ctx_10_ctx_29_sharing_belongs_to_lists),
        cmocka_unit_test(htp_ctx_30_kinds_of_sharing),
        cmocka_unit_test(htp_ctx_31_gsw_05_mgs_06_sharing_excludes_switching),
        cmocka_unit_test(htp_asy_01_queue_depth_up_to_300_at_creation),
        cmocka_unit_test(htp_ctx_35_properties),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
