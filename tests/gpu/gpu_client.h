// SPDX-License-Identifier: MIT
//
// What every test of the GPU backend needs: the function table, a backend, a context, a small
// graph, and the log. cmocka asserts. Programs begin with gpu_tests(), which skips them where there
// is no OpenCL device.
#ifndef QRN_TESTS_GPU_CLIENT_H
#define QRN_TESTS_GPU_CLIENT_H

#include "../client/qnn_client.h"
#include "GPU/QnnGpuBackend.h"
#include "GPU/QnnGpuContext.h"
#include "GPU/QnnGpuGraph.h"
#include "opencl/loader.h"

typedef qnn_table gpu_table;

#define GPU_OK(expr) assert_int_equal((expr), QNN_SUCCESS)
#define GPU_FAILS(expr, code) assert_int_equal(QNN_GET_ERROR_CODE(expr), (code))

static inline gpu_table gpu_open(void) {
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    GPU_OK(QnnInterface_getProviders(&list, &n));
    assert_int_equal(n, 1);
    return list[0]->QNN_INTERFACE_VER_NAME;
}

// --- the log: all lines of the test so far, for strstr

static char gpu_lines[1 << 18];

static inline void gpu_log_line(const char *fmt, QnnLog_Level_t level, uint64_t ns, va_list args) {
    char line[2048];
    (void)level;
    (void)ns;
    vsnprintf(line, sizeof line, fmt, args);
    size_t used = strlen(gpu_lines);
    snprintf(gpu_lines + used, sizeof gpu_lines - used, "%s\n", line);
}

#define GPU_LOGGED(text) assert_non_null(strstr(gpu_lines, (text)))
#define GPU_NOT_LOGGED(text) assert_null(strstr(gpu_lines, (text)))

// --- one backend with a log, and a context

typedef struct gpu_world {
    gpu_table qnn;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
} gpu_world;

static inline gpu_world gpu_begin(void) {
    gpu_world w = {.qnn = gpu_open()};
    gpu_lines[0] = 0;
    GPU_OK(w.qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_DEBUG, &w.log));
    GPU_OK(w.qnn.backendCreate(w.log, NULL, &w.backend));
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    return w;
}

static inline void gpu_end(gpu_world *w) {
    if (w->context)
        GPU_OK(w->qnn.contextFree(w->context, NULL));
    GPU_OK(w->qnn.backendFree(w->backend));
    GPU_OK(w->qnn.logFree(w->log));
    *w = (gpu_world){0};
}

// --- a graph: y = relu(x + w), w = -2, -1, 0, 1 ...

#define GPU_N 8u

typedef struct gpu_graph {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, w, sum, y;
    uint32_t dims[1];
    float weights[GPU_N];
} gpu_graph;

static inline Qnn_Tensor_t gpu_tensor(const gpu_world *w, Qnn_GraphHandle_t g, const char *name,
                                      Qnn_TensorType_t type, uint32_t *dims) {
    return tensor(&w->qnn, g, name, type, 1, dims);
}

static inline void gpu_graph_build(const gpu_world *w, gpu_graph *g, const char *name,
                                   const QnnGraph_Config_t **config) {
    GPU_OK(w->qnn.graphCreate(w->context, name, config, &g->graph));
    g->dims[0] = GPU_N;
    for (uint32_t i = 0; i < GPU_N; i++)
        g->weights[i] = (float)i - 2.0f;
    g->x = gpu_tensor(w, g->graph, "x", QNN_TENSOR_TYPE_APP_WRITE, g->dims);
    g->w = describe("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, g->dims);
    set_buffer(&g->w, g->weights, sizeof g->weights);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g->graph, &g->w));
    g->sum = gpu_tensor(w, g->graph, "sum", QNN_TENSOR_TYPE_NATIVE, g->dims);
    g->y = gpu_tensor(w, g->graph, "y", QNN_TENSOR_TYPE_APP_READ, g->dims);
    Qnn_Tensor_t in[] = {g->x, g->w};
    GPU_OK(w->qnn.graphAddNode(g->graph, op_config("add", QNN_OP_PACKAGE_NAME_QTI_AISW,
                                                   "ElementWiseAdd", in, 2, &g->sum, 1)));
    node(&w->qnn, g->graph, "relu", "Relu", &g->sum, &g->y);
}

static inline void gpu_graph_make(const gpu_world *w, gpu_graph *g, const char *name,
                                  const QnnGraph_Config_t **config) {
    gpu_graph_build(w, g, name, config);
    GPU_OK(w->qnn.graphFinalize(g->graph, NULL, NULL));
}

// Executes with x[i] = i * scale; what execute returns, and y in `out`.
static inline Qnn_ErrorHandle_t gpu_graph_try(const gpu_world *w, gpu_graph *g, float scale,
                                              float *out, Qnn_ProfileHandle_t profile) {
    float x[GPU_N];
    for (uint32_t i = 0; i < GPU_N; i++)
        x[i] = (float)i * scale;
    Qnn_Tensor_t in = g->x, y = g->y;
    set_buffer(&in, x, sizeof x);
    set_buffer(&y, out, GPU_N * sizeof *out);
    return w->qnn.graphExecute(g->graph, &in, 1, &y, 1, profile, NULL);
}

static inline void gpu_graph_check(const gpu_world *w, gpu_graph *g, float scale) {
    float out[GPU_N];
    GPU_OK(gpu_graph_try(w, g, scale, out, NULL));
    for (uint32_t i = 0; i < GPU_N; i++) {
        float sum = (float)i * scale + (float)i - 2.0f;
        assert_float_equal(out[i], sum > 0 ? sum : 0, 1e-6);
    }
}

// --- programs

// 77 (skipped) without an OpenCL device, else what the tests return.
static inline int gpu_run_tests(const char *name, const struct CMUnitTest *tests, size_t n) {
    gpu_table qnn = gpu_open();
    Qnn_BackendHandle_t backend;
    Qnn_ErrorHandle_t e = qnn.backendCreate(NULL, NULL, &backend);
    if (QNN_GET_ERROR_CODE(e) == QNN_BACKEND_ERROR_CANNOT_INITIALIZE) {
        printf("SKIP: no OpenCL device (install pocl-opencl-icd)\n");
        return 77;
    }
    if (e == QNN_SUCCESS)
        qnn.backendFree(backend);
    return _cmocka_run_group_tests(name, tests, n, NULL, NULL);
}
#define gpu_tests(tests) gpu_run_tests(#tests, tests, sizeof tests / sizeof tests[0])

// --- two graphs of a context: a writes t = relu(x), a context tensor, b reads it: y = -t

typedef struct gpu_pair {
    Qnn_GraphHandle_t a, b;
    Qnn_Tensor_t x, t, y;
    uint32_t dims[1];
} gpu_pair;

// `config` is for graph a. Tensors point into the pair.
static inline void gpu_pair_make(const gpu_world *w, gpu_pair *p,
                                 const QnnGraph_Config_t **config) {
    p->dims[0] = 4;
    p->t = describe("t", QNN_TENSOR_TYPE_APP_READWRITE, QNN_DATATYPE_FLOAT_32, 1, p->dims);
    GPU_OK(w->qnn.tensorCreateContextTensor(w->context, &p->t));
    GPU_OK(w->qnn.graphCreate(w->context, "a", config, &p->a));
    GPU_OK(w->qnn.graphCreate(w->context, "b", NULL, &p->b));
    p->x = gpu_tensor(w, p->a, "x", QNN_TENSOR_TYPE_APP_WRITE, p->dims);
    p->y = gpu_tensor(w, p->b, "y", QNN_TENSOR_TYPE_APP_READ, p->dims);
    node(&w->qnn, p->a, "relu", "Relu", &p->x, &p->t);
    node(&w->qnn, p->b, "neg", "ElementWiseNeg", &p->t, &p->y);
    GPU_OK(w->qnn.graphFinalize(p->a, NULL, NULL));
    GPU_OK(w->qnn.graphFinalize(p->b, NULL, NULL));
}

#endif
