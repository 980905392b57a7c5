// SPDX-License-Identifier: MIT
//
// A binary of four graphs A to D for tests of loaded contexts: y = relu(x + b), [ROWS, COLUMNS] of
// 8-bit codes with scale 0.1 and offset -128 everywhere, b a constant that differs from graph to
// graph. By the definition y = clamp(x + b - 128, 128, 255), exactly.
#ifndef QRN_TESTS_HTP_SWITCH_H
#define QRN_TESTS_HTP_SWITCH_H

#include "htp_options.h"

#include "backend/htp/device/session.h"
#include "backend/htp/device/switch.h"

#include <stdlib.h>

#define N_GRAPHS 4u
#define ROWS 256u // large enough for constants to count as weights
#define COLUMNS 64u
#define CODES (ROWS * COLUMNS)

typedef struct binary {
    unsigned char *data; // aligned, so that it can be used in place
    uint64_t size;
} binary;

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

// A backend and a device; no context.
static inline htp_world no_context(uint32_t soc) {
    htp_world w = htp_begin(soc);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
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
    const qrn_api_graph *g = qrn_handle_get(QRN_KIND_GRAPH, handle);
    assert_int_equal(g->n_io, 2);
    uint32_t dims[] = {batch * ROWS, COLUMNS};
    Qnn_Tensor_t t[2];
    for (uint32_t i = 0; i < 2; i++) {
        t[i] = htp_tensor(g->io[i].tensor->name,
                          i ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE,
                          QNN_DATATYPE_UFIXED_POINT_8, 2, dims);
        t[i].v1.id = g->io[i].tensor->id;
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

static inline qrn_htp_session_info session_info(const htp_world *w) {
    qrn_htp_session_info info;
    assert_true(qrn_htp_session_get(context_object(w->context), &info));
    return info;
}

#endif
