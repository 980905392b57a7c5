// SPDX-License-Identifier: MIT
//
// Small graphs for tests; see build.h.
#include "build.h"

Qnn_BackendHandle_t backend;
Qnn_ContextHandle_t context;
static size_t live_before;

int build_setup(void **state) {
    (void)state;
    fault_reset();
    live_before = qrn_alloc_live();
    backend = context = NULL;
    return QnnBackend_create(NULL, NULL, &backend) != QNN_SUCCESS ||
           QnnContext_create(backend, NULL, NULL, &context) != QNN_SUCCESS;
}

int build_teardown(void **state) {
    (void)state;
    qrn_alloc_fail_at(0, false);
    fault_reset();
    if (context && QnnContext_free(context, NULL) != QNN_SUCCESS)
        return 1;
    if (QnnBackend_free(backend) != QNN_SUCCESS)
        return 1;
    if (qrn_alloc_live() != live_before)
        print_error("%zu allocations are left\n", qrn_alloc_live() - live_before);
    return qrn_alloc_live() != live_before;
}

Qnn_ContextHandle_t stale_context(void) {
    Qnn_ContextHandle_t c = NULL;
    OK(QnnContext_create(backend, NULL, NULL, &c));
    OK(QnnContext_free(c, NULL));
    return c;
}

Qnn_Tensor_t describe(const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype, uint32_t rank,
                      uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = dtype;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

Qnn_Tensor_t describe_static(const char *name, Qnn_DataType_t dtype, uint32_t rank, uint32_t *dims,
                             const void *data, uint32_t size_bytes) {
    Qnn_Tensor_t t = describe(name, QNN_TENSOR_TYPE_STATIC, dtype, rank, dims);
    t.v1.clientBuf.data = (void *)data;
    t.v1.clientBuf.dataSize = size_bytes;
    return t;
}

Qnn_OpConfig_t op(const char *name, const char *type, Qnn_Tensor_t *in, uint32_t n_in,
                  Qnn_Tensor_t *out, uint32_t n_out) {
    Qnn_OpConfig_t o = QNN_OPCONFIG_INIT;
    o.v1.name = name;
    o.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    o.v1.typeName = type;
    o.v1.inputTensors = in;
    o.v1.numOfInputs = n_in;
    o.v1.outputTensors = out;
    o.v1.numOfOutputs = n_out;
    return o;
}

void relu_build(relu_graph *g, const char *name, uint32_t n) {
    OK(QnnGraph_create(context, name, NULL, &g->handle));
    g->dims[0] = n;
    g->x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, g->dims);
    g->y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, g->dims);
    OK(QnnTensor_createGraphTensor(g->handle, &g->x));
    OK(QnnTensor_createGraphTensor(g->handle, &g->y));
    OK(QnnGraph_addNode(g->handle, op("relu", QNN_OP_RELU, &g->x, 1, &g->y, 1)));
}

void relu_finalized(relu_graph *g, const char *name, uint32_t n) {
    relu_build(g, name, n);
    OK(QnnGraph_finalize(g->handle, NULL, NULL));
}

void relu_bind(relu_graph *g, float *x, float *y) {
    g->x.v1.clientBuf.data = x;
    g->y.v1.clientBuf.data = y;
    g->x.v1.clientBuf.dataSize = g->y.v1.clientBuf.dataSize = g->dims[0] * sizeof(float);
}

qrn_api_graph *graph_object(Qnn_GraphHandle_t h) { return qrn_handle_get(QRN_KIND_GRAPH, h); }

qrn_tensor *tensor_object(uint32_t id) {
    const qrn_api_context *c = qrn_handle_get(QRN_KIND_CONTEXT, context);
    return id && id <= c->own->n_tensors ? c->own->tensors[id - 1] : NULL;
}

Qnn_SignalHandle_t make_signal(QnnSignal_Config_t option) {
    const QnnSignal_Config_t *list[] = {&option, NULL};
    Qnn_SignalHandle_t s;
    OK(QnnSignal_create(backend, list, &s));
    return s;
}
