// SPDX-License-Identifier: MIT
//
// A binary of four graphs A to D for tests of loaded contexts: y = relu(x + b), [ROWS, COLUMNS] of
// 8-bit codes with scale 0.1 and offset -128 everywhere, b a constant that differs from graph to
// graph. By the definition y = clamp(x + b - 128, 128, 255), exactly.
#ifndef QRN_TESTS_HTP_SWITCH_H
#define QRN_TESTS_HTP_SWITCH_H

#include "htp_log.h"
#include "htp_options.h"

#include <stdlib.h>

#define N_GRAPHS 4u
#define ROWS 256u // large enough for constants to count as weights
#define COLUMNS 64u
#define CODES (ROWS * COLUMNS)

typedef struct binary {
    unsigned char *data; // aligned, so that it can be used in place
    uint64_t size;
} binary;

static uint32_t io_ids[N_GRAPHS][2]; // of x and y, as the library gave them; binaries keep them

static inline const char *graph_name(uint32_t i) {
    static const char *const names[] = {"A", "B", "C", "D"};
    return names[i];
}

static inline uint8_t addend(uint32_t graph, uint32_t i) {
    return (uint8_t)(90u + 20u * graph + i % 13u);
}

// Graph `which` with the constant of graph `constant`.
static inline void add_graph_of(const htp_world *w, uint32_t which, uint32_t constant,
                                const QnnGraph_Config_t **list) {
    uint32_t dims[] = {ROWS, COLUMNS};
    uint8_t b[CODES];
    Qnn_GraphHandle_t g = NULL;
    for (uint32_t i = 0; i < CODES; i++)
        b[i] = addend(constant, i);
    HTP_OK(w->qnn.graphCreate(w->context, graph_name(which), list, &g));
    static const char *const names[] = {"x", "b", "t", "y"};
    static const Qnn_TensorType_t types[] = {QNN_TENSOR_TYPE_APP_WRITE, QNN_TENSOR_TYPE_STATIC,
                                             QNN_TENSOR_TYPE_NATIVE, QNN_TENSOR_TYPE_APP_READ};
    Qnn_Tensor_t t[4];
    for (uint32_t i = 0; i < 4; i++) {
        t[i] = htp_tensor(names[i], types[i], QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        htp_encode(&t[i], 0.1f, -128);
        if (i == 1)
            htp_buffer(&t[i], b, sizeof b);
        HTP_OK(w->qnn.tensorCreateGraphTensor(g, &t[i]));
    }
    HTP_OK(w->qnn.graphAddNode(g, htp_op("add", "ElementWiseAdd", t, 2, &t[2], 1)));
    HTP_OK(w->qnn.graphAddNode(g, htp_op("relu", "Relu", &t[2], 1, &t[3], 1)));
    HTP_OK(w->qnn.graphFinalize(g, NULL, NULL));
    io_ids[which][0] = t[0].v1.id;
    io_ids[which][1] = t[3].v1.id;
}

static inline binary save(const htp_world *w) {
    binary b = {0};
    Qnn_ContextBinarySize_t written = 0;
    HTP_OK(w->qnn.contextGetBinarySize(w->context, &b.size));
    b.data = aligned_alloc(4096, (b.size + 4095) / 4096 * 4096);
    assert_non_null(b.data);
    HTP_OK(w->qnn.contextGetBinary(w->context, b.data, b.size, &written));
    assert_true(written <= b.size);
    b.size = written;
    return b;
}

// The four graphs for a chip.
static inline binary make_binary(uint32_t soc) {
    htp_world w = htp_begin(soc);
    for (uint32_t i = 0; i < N_GRAPHS; i++)
        add_graph_of(&w, i, i, NULL);
    binary b = save(&w);
    htp_end(&w);
    return b;
}

// A backend with a log, and a device; no context.
static inline htp_world no_context(uint32_t soc) {
    static Qnn_LogHandle_t log; // one for the program
    htp_world w = {.qnn = htp_open()};
    if (!log)
        log = log_begin(&w.qnn);
    HTP_OK(w.qnn.backendCreate(log, NULL, &w.backend));
    w.device = htp_device(&w.qnn, soc);
    return w;
}

// Runs one graph on `batch` times the rows; y has room for as many.
static inline Qnn_ErrorHandle_t run_batch(const htp_world *w, uint32_t which, uint32_t batch,
                                          uint8_t *y) {
    uint8_t x[2 * CODES];
    assert_true(batch <= 2);
    for (uint32_t i = 0; i < batch * CODES; i++)
        x[i] = (uint8_t)(i % CODES * 7u);
    Qnn_GraphHandle_t handle = NULL;
    HTP_OK(w->qnn.graphRetrieve(w->context, graph_name(which), &handle));
    uint32_t dims[] = {batch * ROWS, COLUMNS};
    Qnn_Tensor_t t[2];
    for (uint32_t i = 0; i < 2; i++) {
        t[i] = htp_tensor(i ? "y" : "x", i ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE,
                          QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        t[i].v1.id = io_ids[which][i];
        htp_buffer(&t[i], i ? y : x, batch * CODES);
    }
    return w->qnn.graphExecute(handle, &t[0], 1, &t[1], 1, NULL, NULL);
}

static inline Qnn_ErrorHandle_t run_code(const htp_world *w, uint32_t which, uint8_t *y) {
    return run_batch(w, which, 1, y);
}

// Is it what the definition says?
static inline bool is_right(uint32_t which, const uint8_t *y) {
    bool right = true;
    for (uint32_t i = 0; i < CODES; i++) {
        int want = (int)(uint8_t)(i * 7u) + addend(which, i) - 128;
        want = want < 128 ? 128 : want > 255 ? 255 : want;
        right &= y[i] == want;
    }
    return right;
}

static inline void run_graph(const htp_world *w, uint32_t which) {
    uint8_t y[CODES] = {0};
    HTP_OK(run_code(w, which, y));
    assert_true(is_right(which, y));
}

// --- loading with options

// Loads with custom options; a context that is there is kept.
static inline Qnn_ErrorHandle_t load_with(const htp_world *w, const binary *b,
                                          const QnnHtpContext_CustomConfig_t *custom, size_t n,
                                          Qnn_ProfileHandle_t profile, Qnn_ContextHandle_t *c) {
    QnnContext_Config_t entry[HTP_OPTIONS_MAX];
    const QnnContext_Config_t *list[HTP_OPTIONS_MAX + 1] = {0};
    for (size_t i = 0; i < n; i++) {
        entry[i] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                         .customConfig = (void *)&custom[i]};
        list[i] = &entry[i];
    }
    return w->qnn.contextCreateFromBinary(w->backend, w->device, list, b->data, b->size, c,
                                          profile);
}

typedef struct note {
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t status;
} note;

static inline void notify(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, const char *name,
                          QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                          Qnn_ErrorHandle_t status) {
    (void)g, (void)name;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        *(note *)param = (note){c, status};
}

// Two contexts of one binary, with options of the list and of the second member.
static inline Qnn_ErrorHandle_t load_two(const htp_world *w, const binary *b,
                                         const QnnHtpContext_CustomConfig_t *group, size_t n,
                                         const QnnHtpContext_CustomConfig_t *member,
                                         note notes[2]) {
    QnnContext_Config_t entry[HTP_OPTIONS_MAX],
        own = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = (void *)member};
    const QnnContext_Config_t *list[HTP_OPTIONS_MAX + 1] = {0}, *second[] = {&own, NULL};
    for (size_t i = 0; i < n; i++) {
        entry[i] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                         .customConfig = (void *)&group[i]};
        list[i] = &entry[i];
    }
    QnnContext_Params_t a = {QNN_CONTEXT_PARAMS_VERSION_1,
                             {.v1 = {NULL, b->data, b->size, NULL, notify, &notes[0]}}},
                        c = {QNN_CONTEXT_PARAMS_VERSION_1,
                             {.v1 = {member ? second : NULL, b->data, b->size, NULL, notify,
                                     &notes[1]}}};
    const QnnContext_Params_t *params[] = {&a, &c, NULL};
    return w->qnn.contextCreateFromBinaryListAsync(w->backend, w->device, params, list, NULL);
}

// --- loading with switching

// What a client asks for; NULL and 0: not.
typedef struct wish {
    bool persistent;
    uint64_t hint_mb;
    const char **enable, **retain;
} wish;

static inline Qnn_ErrorHandle_t load_switching(htp_world *w, const binary *b, const wish *x) {
    QnnContext_Config_t options[] = {
        {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = x->persistent},
        {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = x->hint_mb},
        {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = x->enable},
        {.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER, .graphRetentionOrder = x->retain},
    };
    const QnnContext_Config_t *list[5] = {&options[0], &options[1]};
    size_t n = 2;
    if (x->enable)
        list[n++] = &options[2];
    if (x->retain)
        list[n++] = &options[3];
    logged[0] = '\0';
    return w->qnn.contextCreateFromBinary(w->backend, w->device, list, b->data, b->size,
                                          &w->context, NULL);
}

// How often the log says so of graphs since the context was loaded, and which are there now.
typedef struct switched {
    uint32_t n_loads, n_unloads;
    char there[N_GRAPHS + 1];
} switched;

static inline switched log_switched(void) {
    switched s = {0};
    bool loaded[N_GRAPHS] = {0};
    for (const char *at = strstr(logged, "graph '"); at; at = strstr(at + 1, "graph '")) {
        uint32_t which = (uint32_t)(at[7] - 'A');
        bool in = strncmp(at + 8, "': loaded", 9) == 0;
        if (which >= N_GRAPHS || (!in && strncmp(at + 8, "': unloaded", 11) != 0))
            continue;
        *(in ? &s.n_loads : &s.n_unloads) += 1;
        loaded[which] = in;
    }
    for (uint32_t i = 0, n = 0; i < N_GRAPHS; i++)
        if (loaded[i])
            s.there[n++] = graph_name(i)[0];
    return s;
}

#endif
