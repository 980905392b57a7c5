// SPDX-License-Identifier: MIT
//
// Loaded contexts: options that came with the binary, groups that share buffers, lists of contexts,
// room in the accelerator's address space, and what profiles tell of it.
#include "htp_describe.h"
#include "htp_room.h"

enum { SM8550 = 43, SM8650 = 57, SM8850 = 87 };

#define MB (1u << 20)

static htp_world load(uint32_t soc, const binary *b) {
    htp_world w = no_context(soc);
    HTP_OK(load_with(&w, b, NULL, 0, NULL, &w.context));
    return w;
}

// --- what a binary keeps

static void htp_opt_03_vtcm_07_hvx_02_options_are_in_the_binary(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    QnnHtpGraph_CustomConfig_t custom[] = {
        OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, 3.0f),
        GRAPH_OPTION(VTCM_SIZE_IN_MB, .vtcmSizeInMB = 2),
        GRAPH_OPTION(NUM_HVX_THREADS, .numHvxThreads = 3),
        OPTIMIZATION(ENABLE_DLBC, 1.0f),
    };
    graph_list l;
    add_graph_of(&w, 0, 0, graph_options(&l, custom, 4));
    add_graph_of(&w, 1, 1, NULL);
    binary b = save(&w);
    htp_end(&w);
    described d = describe_bytes(b.data, b.size);
    assert_int_equal(d.n_graphs, 2);
    const QnnHtpSystemContext_GraphBlobInfoV1_t *asked = &d.graphs[0].v1, *plain = &d.graphs[1].v1;
    assert_int_equal(asked->optimizationLevel, 3);
    assert_int_equal(asked->vtcmSize, 2);
    assert_int_equal(asked->numHvxThreads, 3);
    assert_int_equal(asked->htpDlbc, 1);
    assert_int_equal(plain->optimizationLevel, 2);
    assert_int_equal(plain->vtcmSize, 4);
    assert_int_equal(plain->numHvxThreads, 4); // written, though nobody asked
    assert_int_equal(plain->htpDlbc, 0);
    w = load(SM8650, &b);
    run_graph(&w, 0);
    run_graph(&w, 1);
    htp_end(&w);
    free(b.data);
}

static void htp_ctx_07_ctx_28_what_was_prepared_only_runs_once_loaded(void **state) {
    (void)state;
    htp_world w = no_context(SM8650);
    QnnHtpContext_CustomConfig_t only = CONTEXT_OPTION(PREPARE_ONLY, .isPrepareOnly = true);
    HTP_OK(context_with(&w, &only, 1, &w.context));
    add_graph_of(&w, 0, 0, NULL);
    binary b = save(&w);
    htp_end(&w);
    w = load(SM8650, &b);
    run_graph(&w, 0);
    htp_end(&w);
    free(b.data);
}

static void htp_ctx_37_generic_options_of_a_loaded_context(void **state) {
    (void)state;
    binary b = make_binary(SM8650);
    htp_world w = no_context(SM8650);
    const char *enable[] = {"B", "A", NULL}, *retain[] = {"A", NULL};
    const QnnContext_Config_t options[] = {
        {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH},
        {.option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
         .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC,
                                {.depth = 7}}},
        {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = enable},
        {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 9},
        {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1},
        {.option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
         .binaryCompatibilityType = QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT},
        {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = 1},
        {.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER, .graphRetentionOrder = retain},
    };
    const QnnContext_Config_t *list[9] = {0};
    for (int i = 0; i < 8; i++)
        list[i] = &options[i];
    logged[0] = '\0';
    HTP_OK(
        w.qnn.contextCreateFromBinary(w.backend, w.device, list, b.data, b.size, &w.context, NULL));
    assert_string_equal(log_switched().there, ""); // deferred
    HTP_OK(w.qnn.contextFinalize(w.context, NULL));
    assert_string_equal(log_switched().there, "A"); // retained
    uint8_t y[CODES];
    for (uint32_t i = 2; i < N_GRAPHS; i++)
        HTP_FAILS(run_code(&w, i, y), QNN_GRAPH_ERROR_DISABLED);
    run_graph(&w, 1);
    htp_end(&w);
    free(b.data);
}

static void htp_ctx_01_ctx_21_shared_weights_are_there_with_any_graph(void **state) {
    (void)state;
    uint64_t size[2], one[2];
    for (uint32_t same = 0; same < 2; same++) {
        htp_world w = no_context(SM8650);
        QnnHtpContext_CustomConfig_t on =
            CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true);
        HTP_OK(context_with(&w, &on, 1, &w.context));
        add_graph_of(&w, 0, 0, NULL);
        add_graph_of(&w, 1, same ? 0 : 1, NULL);
        binary b = save(&w);
        htp_end(&w);
        size[same] = b.size;
        w = no_context(SM8650);
        const char *enable[] = {"A", NULL};
        QnnContext_Config_t x = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS,
                                 .enableGraphs = enable};
        const QnnContext_Config_t *list[] = {&x, NULL};
        HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, list, b.data, b.size, &w.context,
                                             NULL));
        one[same] = log_place().bytes;
        uint64_t shared = describe_bytes(b.data, b.size).graphs[0].v2.sharedWeightsSize;
        if (same)
            assert_true(shared >= CODES);
        else
            assert_int_equal(shared, 0);
        run_graph(&w, 0);
        htp_end(&w);
        free(b.data);
    }
    assert_true(size[1] <= size[0]);
    assert_true(one[1] >= one[0]); // the common part is mapped for the one graph, too
}

// --- reading in pieces

// y = x * w with w of 3 MB, for a binary that takes several reads.
static binary large_binary(void) {
    htp_world w = htp_begin(SM8650);
    enum { WIDE = 1024, DEEP = 3072 };
    uint32_t xd[] = {1, DEEP}, wd[] = {WIDE, DEEP}, yd[] = {1, WIDE};
    uint8_t *weights = malloc((size_t)WIDE * DEEP);
    for (uint32_t i = 0; i < WIDE * DEEP; i++)
        weights[i] = (uint8_t)(i * 2654435761u >> 24);
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w.qnn.graphCreate(w.context, "A", NULL, &g));
    Qnn_Tensor_t t[] = {
        htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 2, xd),
        htp_tensor("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UFIXED_POINT_8, 2, wd),
        htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, yd)};
    htp_buffer(&t[1], weights, (size_t)WIDE * DEEP);
    for (int i = 0; i < 3; i++) {
        htp_encode(&t[i], 0.1f, -128);
        HTP_OK(w.qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    HTP_OK(w.qnn.graphAddNode(g, htp_op("fc", "FullyConnected", t, 2, &t[2], 1)));
    HTP_OK(w.qnn.graphFinalize(g, NULL, NULL));
    binary b = save(&w);
    htp_end(&w);
    free(weights);
    return b;
}

static void htp_ctx_03_ctx_26_a_file_is_read_in_pieces(void **state) {
    (void)state;
    binary b = large_binary();
    assert_true(b.size > 3 * MB);
    htp_world w = no_context(SM8650);
    for (uint64_t budget = 0; budget < 6; budget++) { // the last ones are larger than the file
        QnnHtpContext_CustomConfig_t x =
            CONTEXT_OPTION(FILE_READ_MEMORY_BUDGET, .fileReadMemoryBudgetInMb = budget);
        HTP_OK(load_with(&w, &b, &x, 1, NULL, &w.context));
        uint64_t want = budget ? (b.size + budget * MB - 1) / (budget * MB) : 1;
        uint64_t reads = 0;
        assert_true(log_number("binary: reads ", &reads));
        assert_int_equal(reads, want);
        HTP_OK(w.qnn.contextFree(w.context, NULL));
    }
    w.context = NULL;
    htp_end(&w);
    free(b.data);
}

// --- groups

// a and b of 3 MB each live at the same time: 2 MB more than the 4 MB of VTCM.
static void spilling_graph(const htp_world *w, const QnnGraph_Config_t **list) {
    uint32_t dims[] = {3, MB};
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w->qnn.graphCreate(w->context, "A", list, &g));
    static const char *const names[] = {"x", "a", "b", "y"};
    Qnn_Tensor_t t[4];
    for (int i = 0; i < 4; i++) {
        t[i] = htp_tensor(names[i],
                          i == 0   ? QNN_TENSOR_TYPE_APP_WRITE
                          : i == 3 ? QNN_TENSOR_TYPE_APP_READ
                                   : QNN_TENSOR_TYPE_NATIVE,
                          QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        htp_encode(&t[i], 0.1f * (float)(i + 1), -128);
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    for (int i = 0; i < 3; i++)
        HTP_OK(w->qnn.graphAddNode(g, htp_op(names[i], "Relu", &t[i], 1, &t[i + 1], 1)));
    HTP_OK(w->qnn.graphFinalize(g, NULL, NULL));
}

static binary spilling_binary(uint32_t soc, const QnnGraph_Config_t **list) {
    htp_world w = htp_begin(soc);
    spilling_graph(&w, list);
    binary b = save(&w);
    htp_end(&w);
    return b;
}

static QnnHtpContext_CustomConfig_t group_of(bool concurrent, void *first, uint64_t size) {
    QnnHtpContext_CustomConfig_t x =
        CONTEXT_OPTION(REGISTER_MULTI_CONTEXTS, .groupRegistration = {first, size});
    if (concurrent)
        x.option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING;
    return x;
}

static void htp_ctx_02_ctx_22_ctx_23_groups_of_loaded_contexts(void **state) {
    (void)state;
    binary b = spilling_binary(SM8850, NULL);
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        htp_world w = no_context(SM8850);
        Qnn_ContextHandle_t first = NULL, second = NULL;
        QnnHtpContext_CustomConfig_t x = group_of(concurrent, NULL, 2 * MB - 1);
        HTP_FAILS(load_with(&w, &b, &x, 1, NULL, &first), QNN_CONTEXT_ERROR_INVALID_CONFIG);
        x = group_of(concurrent, NULL, 2 * MB);
        HTP_OK(load_with(&w, &b, &x, 1, NULL, &first));
        uint64_t with = log_place().bytes;
        x = group_of(concurrent, first, 0);
        HTP_OK(load_with(&w, &b, &x, 1, NULL, &second));
        uint64_t without = log_place().bytes; // one buffer for both
        assert_int_equal(with - without, concurrent ? 2 * MB + 8 * MB : 2 * MB);
        x = group_of(concurrent, (void *)(uintptr_t)12345, 0);
        Qnn_ContextHandle_t third = NULL;
        HTP_FAILS(load_with(&w, &b, &x, 1, NULL, &third), QNN_CONTEXT_ERROR_INVALID_CONFIG);
        HTP_OK(w.qnn.contextFree(first, NULL));
        w.context = second;
        htp_end(&w);
    }
    filler f;
    fill_begin(&f, SM8850, &b); // finds all sessions empty
    fill_end(&f);
    free(b.data);
}

static void htp_ctx_24_ctx_25_dlbc_06_graphs_that_do_not_fit_a_group(void **state) {
    (void)state;
    QnnHtpGraph_CustomConfig_t dlbc = OPTIMIZATION(ENABLE_DLBC, 1.0f);
    graph_list l;
    binary compressed = spilling_binary(SM8850, graph_options(&l, &dlbc, 1));
    QnnGraph_Config_t low = {.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                             .priority = QNN_PRIORITY_LOW};
    const QnnGraph_Config_t *list[] = {&low, NULL};
    binary other = spilling_binary(SM8850, list);
    htp_world w = no_context(SM8850);
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        QnnHtpContext_CustomConfig_t x = group_of(concurrent, NULL, 4 * MB);
        Qnn_ContextHandle_t c = NULL;
        HTP_FAILS(load_with(&w, &compressed, &x, 1, NULL, &c), QNN_CONTEXT_ERROR_INVALID_CONFIG);
        HTP_FAILS(load_with(&w, &other, &x, 1, NULL, &c),
                  concurrent ? QNN_CONTEXT_ERROR_INVALID_CONFIG : QNN_SUCCESS);
        if (c)
            HTP_OK(w.qnn.contextFree(c, NULL));
    }
    htp_end(&w);
    free(compressed.data);
    free(other.data);
}

// --- lists

// Bytes of the contexts that were placed since the log was last looked at.
static uint64_t listed_bytes(void) {
    static const char key[] = "context: session ";
    uint64_t sum = 0;
    for (const char *at = strstr(logged, key); at; at = strstr(at + 1, key)) {
        unsigned long long bytes = 0;
        assert_int_equal(sscanf(at, "context: session %*u, %llu bytes", &bytes), 1);
        sum += bytes;
    }
    logged[0] = '\0';
    return sum;
}

static void htp_ctx_05_ctx_10_lst_06_a_list_shares_resources(void **state) {
    (void)state;
    binary b = spilling_binary(SM8650, NULL);
    htp_world w = load(SM8650, &b);
    uint64_t alone = log_place().bytes; // without a group there is no shared buffer
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    listed_bytes();
    const QnnHtpContext_CustomConfig_t client[] = {
        // as a well-known client sends them
        CONTEXT_OPTION(SHARE_RESOURCES, .shareResources = true),
        CONTEXT_OPTION(SHARE_RESOURCES_OPTIMIZATION_TYPE,
                       .shareResOptType = SEQUENTIAL_WITHOUT_VA_OPTIMIZATION),
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true)};
    note n[2] = {{0}}, other[2] = {{0}};
    const uint64_t spill = 2 * MB; // of the one buffer that two contexts share
    HTP_OK(load_two(&w, &b, client, 3, NULL, n));
    assert_int_equal(listed_bytes(), 2 * alone + spill);
    HTP_OK(load_two(&w, &b, client, 3, NULL, other)); // has its own
    assert_int_equal(listed_bytes(), 2 * alone + spill);
    for (int i = 0; i < 2; i++) {
        HTP_OK(w.qnn.contextFree(n[i].context, NULL));
        HTP_OK(w.qnn.contextFree(other[i].context, NULL));
    }
    w.context = NULL;
    htp_end(&w);
    free(b.data);
}

static void htp_ctx_32_a_batch_regrows_the_shared_buffer(void **state) {
    (void)state;
    binary b = make_binary(SM8650);
    htp_world w = no_context(SM8650);
    QnnHtpContext_CustomConfig_t share = CONTEXT_OPTION(SHARE_RESOURCES, .shareResources = true);
    note n[2] = {{0}};
    HTP_OK(load_two(&w, &b, &share, 1, NULL, n));
    w.context = n[1].context;
    uint8_t y[2 * CODES];
    HTP_OK(run_batch(&w, 0, 1, y));
    assert_null(strstr(logged, "allocates the buffer"));
    HTP_OK(run_batch(&w, 0, 2, y));
    assert_non_null(strstr(logged, "execution of 2 times the batch: an accelerator allocates the "
                                   "buffer"));
    assert_true(is_right(0, y) && is_right(0, y + CODES));
    HTP_OK(w.qnn.contextFree(n[0].context, NULL));
    htp_end(&w);
    free(b.data);
}

static void htp_lst_05_ctx_29_lists_take_no_registrations(void **state) {
    (void)state;
    binary b = spilling_binary(SM8850, NULL);
    htp_world w = no_context(SM8850);
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        QnnHtpContext_CustomConfig_t x = group_of(concurrent, NULL, 4 * MB);
        note n[2] = {{0}};
        HTP_FAILS(load_two(&w, &b, &x, 1, NULL, n), QNN_CONTEXT_ERROR_INVALID_CONFIG);
        assert_int_equal(n[0].status, QNN_CONTEXT_ERROR_INVALID_CONFIG);
        assert_int_equal(n[1].status, QNN_CONTEXT_ERROR_INVALID_CONFIG);
        HTP_FAILS(load_two(&w, &b, NULL, 0, &x, n), QNN_CONTEXT_ERROR_INVALID_CONFIG);
        assert_int_equal(n[0].status, QNN_SUCCESS); // the one that did not ask
        assert_int_equal(n[1].status, QNN_CONTEXT_ERROR_INVALID_CONFIG);
        HTP_OK(w.qnn.contextFree(n[0].context, NULL));
    }
    QnnHtpContext_CustomConfig_t mine = CONTEXT_OPTION(SHARE_RESOURCES, .shareResources = true);
    note n[2] = {{0}};
    HTP_FAILS(load_two(&w, &b, NULL, 0, &mine, n), QNN_CONTEXT_ERROR_INVALID_CONFIG);
    assert_int_equal(n[1].status, QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_OK(w.qnn.contextFree(n[0].context, NULL));
    htp_end(&w);
    free(b.data);
}

// --- room for I/O

static Qnn_MemHandle_t map_io(const htp_world *w) { return take_bytes(w, w->context, CODES); }

static void htp_ctx_06_ctx_27_mpd_04_mpd_06_io_is_mapped_beside_its_context(void **state) {
    (void)state;
    binary b = make_binary(SM8650); // four graphs with two tensors each
    filler f;
    fill_begin(&f, SM8650, &b);
    htp_world w = no_context(SM8650);
    uint64_t bytes = f.own_bytes;
    Qnn_MemHandle_t h[8];
    // Just the context fits, and its I/O does not.
    leave_bytes(&f, bytes);
    HTP_OK(load_with(&w, &b, NULL, 0, NULL, &w.context));
    assert_int_equal(log_place().bytes, bytes);
    assert_int_equal(log_place().io_bytes, 0);
    assert_null(map_io(&w));
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    // With estimation that room is not enough for the context; with room for eight tensors it is,
    // and nobody can take it from them.
    QnnHtpContext_CustomConfig_t on = CONTEXT_OPTION(IO_MEM_ESTIMATION, .ioMemEstimation = true);
    HTP_FAILS(load_with(&w, &b, &on, 1, NULL, &w.context), QNN_COMMON_ERROR_MEM_ALLOC);
    leave_bytes(&f, bytes + 8 * CODES);
    HTP_OK(load_with(&w, &b, &on, 1, NULL, &w.context));
    assert_int_equal(log_place().io_bytes, 8 * CODES);
    for (int i = 0; i < 8; i++) {
        h[i] = map_io(&w);
        assert_non_null(h[i]);
    }
    assert_null(map_io(&w));
    HTP_OK(w.qnn.memDeRegister(h, 1));
    assert_non_null(map_io(&w));
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    fill_end(&f);
    htp_end(&w);
    free(b.data);
}

// --- sessions

static uint32_t session_after_load(const htp_world *w, const binary *b, bool estimate,
                                   Qnn_ContextHandle_t *c) {
    QnnHtpContext_CustomConfig_t on = CONTEXT_OPTION(IO_MEM_ESTIMATION, .ioMemEstimation = true);
    HTP_OK(load_with(w, b, &on, estimate ? 1 : 0, NULL, c));
    return log_place().session;
}

// Five contexts of equal size where the fourth one is the last that fits session 0 (MPD-T4 to T6).
static void five_contexts(const uint32_t sessions[5], bool estimate, bool dummy, bool io_fits) {
    binary b = make_binary(SM8650);
    htp_world w = no_context(SM8650);
    Qnn_ContextHandle_t c[5], large;
    Qnn_MemHandle_t fill, extra = NULL;
    HTP_OK(load_with(&w, &b, NULL, 0, NULL, &large)); // session 0 is full but for four of them
    uint64_t own = log_place().bytes;
    fill = take_bytes(&w, large, SESSION_BYTES - 5 * own - own / 2);
    assert_non_null(fill);
    for (int i = 0; i < 5; i++) {
        if (dummy && i == 3)
            extra = take_bytes(&w, large, own);
        assert_int_equal(session_after_load(&w, &b, estimate, &c[i]), sessions[i]);
    }
    if (extra)
        HTP_OK(w.qnn.memDeRegister(&extra, 1));
    const uint64_t io = 8 * CODES; // what estimation sets aside
    assert_true(io > own / 2 && io <= own);
    assert_int_equal(take_bytes(&w, c[0], io) != NULL, io_fits);
    assert_non_null(take_bytes(&w, c[4], io)); // session 1 has room
    for (int i = 0; i < 5; i++)
        HTP_OK(w.qnn.contextFree(c[i], NULL));
    HTP_OK(w.qnn.contextFree(large, NULL));
    htp_end(&w);
    free(b.data);
}

static void htp_mpd_02_contexts_go_to_the_first_session_with_room(void **state) {
    (void)state;
    five_contexts((const uint32_t[]){0, 0, 0, 0, 1}, false, false, false);
}

static void htp_mpd_07_estimation_or_a_dummy_buffer_keeps_room_for_io(void **state) {
    (void)state;
    five_contexts((const uint32_t[]){0, 0, 1, 1, 1}, true, false, true);
    five_contexts((const uint32_t[]){0, 0, 0, 1, 1}, false, true, true);
}

static void htp_mpd_01_mpd_02_mpd_03_mpd_08_four_sessions_of_3750_mb(void **state) {
    (void)state;
    binary b = make_binary(SM8650);
    filler f;
    fill_begin(&f, SM8650, &b); // four sessions, each full to the byte
    htp_world w = no_context(SM8650);
    HTP_FAILS(load_with(&w, &b, NULL, 0, NULL, &w.context), QNN_COMMON_ERROR_MEM_ALLOC);
    leave_bytes(&f, f.own_bytes - 1); // never split: all sessions together would have room
    HTP_FAILS(load_with(&w, &b, NULL, 0, NULL, &w.context), QNN_COMMON_ERROR_MEM_ALLOC);
    leave_bytes(&f, f.own_bytes);
    HTP_OK(load_with(&w, &b, NULL, 0, NULL, &w.context));
    assert_int_equal(log_place().session, 0);
    htp_end(&w);
    fill_end(&f);
    free(b.data);
}

// --- several cores

static htp_world cores_world(uint32_t n) {
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    w.device = device_of_cores(&w.qnn, n);
    return w;
}

static void htp_mlc_01_mlc_02_cores_are_fixed_at_prepare(void **state) {
    (void)state;
    htp_world w = cores_world(2);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    QnnHtpGraph_CustomConfig_t two = GRAPH_OPTION(NUM_CORES, .numCores = 2);
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 3)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    graph_list l;
    add_graph_of(&w, 0, 0, graph_options(&l, &two, 1));
    binary b = save(&w);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    // It runs where the cores are, but neither switched nor in a group.
    QnnHtpContext_CustomConfig_t group = group_of(false, NULL, MB);
    HTP_FAILS(load_with(&w, &b, &group, 1, NULL, &w.context), QNN_COMMON_ERROR_NOT_SUPPORTED);
    QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                      .isPersistentBinary = 1},
                        hint = {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                                .memoryLimitHint = 1};
    const QnnContext_Config_t *list[] = {&persistent, &hint, NULL};
    HTP_FAILS(
        w.qnn.contextCreateFromBinary(w.backend, w.device, list, b.data, b.size, &w.context, NULL),
        QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(load_with(&w, &b, NULL, 0, NULL, &w.context));
    run_graph(&w, 0);
    QnnDevice_Infrastructure_t given = NULL; // one power config for each core
    HTP_OK(w.qnn.deviceGetInfrastructure(&given));
    QnnHtpDevice_PerfInfrastructure_t perf = ((QnnHtpDevice_Infrastructure_t *)given)->perfInfra;
    uint32_t id[3] = {0};
    for (uint32_t core = 0; core < 2; core++)
        HTP_OK(perf.createPowerConfigId(0, core, &id[core]));
    assert_int_not_equal(id[0], id[1]);
    HTP_FAILS(perf.createPowerConfigId(0, 2, &id[2]),
              QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT);
    for (uint32_t core = 0; core < 2; core++)
        HTP_OK(perf.destroyPowerConfigId(id[core]));
    htp_end(&w);
    w = cores_world(1);
    HTP_FAILS(load_with(&w, &b, NULL, 0, NULL, &w.context), QNN_CONTEXT_ERROR_BINARY_CONFIGURATION);
    htp_end(&w);
    free(b.data);
}

// --- the heap in profiles

static uint32_t count_events(const htp_world *w, Qnn_ProfileHandle_t p, const char *name) {
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0, found = 0;
    HTP_OK(w->qnn.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        HTP_OK(w->qnn.profileGetEventData(ids[i], &e));
        if (strcmp(e.identifier, name) == 0) {
            assert_int_equal(e.unit, QNN_PROFILE_EVENTUNIT_BYTES);
            assert_int_equal(e.value, 0); // nothing else is loaded
            found++;
        }
    }
    return found;
}

static void htp_prf_20_ctx_04_heap_events_of_the_first_and_the_last(void **state) {
    (void)state;
    static const char before[] = "DSP:before_context_created", after[] = "DSP:after_context_freed";
    binary b = make_binary(SM8650);
    htp_world w = no_context(SM8650);
    Qnn_ProfileHandle_t p = NULL;
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    QnnHtpContext_CustomConfig_t on =
        CONTEXT_OPTION(DSP_MEMORY_PROFILING_ENABLED, .dspMemoryProfilingEnabled = true);
    Qnn_ContextHandle_t a = NULL, c = NULL, d = NULL;
    HTP_OK(load_with(&w, &b, &on, 1, p, &a));
    assert_int_equal(count_events(&w, p, before), 1);
    HTP_OK(load_with(&w, &b, NULL, 0, p, &c)); // without the option: nothing
    assert_int_equal(count_events(&w, p, before), 0);
    HTP_OK(load_with(&w, &b, &on, 1, p, &d)); // not the first
    assert_int_equal(count_events(&w, p, before), 0);
    HTP_OK(w.qnn.contextFree(a, p));
    assert_int_equal(count_events(&w, p, after), 0);
    HTP_OK(w.qnn.contextFree(d, NULL)); // the last one so far, and nobody looked
    QnnContext_Config_t entry = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &on};
    const QnnContext_Config_t *list[] = {&entry, NULL};
    HTP_OK(w.qnn.contextSetConfig(c, list)); // switched on later
    HTP_OK(w.qnn.contextFree(c, p));
    assert_int_equal(count_events(&w, p, after), 1);
    HTP_OK(w.qnn.profileFree(p));
    htp_end(&w);
    free(b.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_opt_03_vtcm_07_hvx_02_options_are_in_the_binary),
        cmocka_unit_test(htp_ctx_07_ctx_28_what_was_prepared_only_runs_once_loaded),
        cmocka_unit_test(htp_ctx_37_generic_options_of_a_loaded_context),
        cmocka_unit_test(htp_ctx_01_ctx_21_shared_weights_are_there_with_any_graph),
        cmocka_unit_test(htp_ctx_03_ctx_26_a_file_is_read_in_pieces),
        cmocka_unit_test(htp_ctx_02_ctx_22_ctx_23_groups_of_loaded_contexts),
        cmocka_unit_test(htp_ctx_24_ctx_25_dlbc_06_graphs_that_do_not_fit_a_group),
        cmocka_unit_test(htp_ctx_05_ctx_10_lst_06_a_list_shares_resources),
        cmocka_unit_test(htp_ctx_32_a_batch_regrows_the_shared_buffer),
        cmocka_unit_test(htp_lst_05_ctx_29_lists_take_no_registrations),
        cmocka_unit_test(htp_ctx_06_ctx_27_mpd_04_mpd_06_io_is_mapped_beside_its_context),
        cmocka_unit_test(htp_mpd_02_contexts_go_to_the_first_session_with_room),
        cmocka_unit_test(htp_mpd_07_estimation_or_a_dummy_buffer_keeps_room_for_io),
        cmocka_unit_test(htp_mpd_01_mpd_02_mpd_03_mpd_08_four_sessions_of_3750_mb),
        cmocka_unit_test(htp_mlc_01_mlc_02_cores_are_fixed_at_prepare),
        cmocka_unit_test(htp_prf_20_ctx_04_heap_events_of_the_first_and_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
