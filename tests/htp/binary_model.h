// SPDX-License-Identifier: MIT
//
// A small quantized network for tests of context binaries: convolution, Relu, fully connected
// layer, with weights that are packed, data that is not, parameters in tensors, encodings per
// tensor and per channel. And the bytes of a context as a binary.
#ifndef QRN_TESTS_HTP_BINARY_MODEL_H
#define QRN_TESTS_HTP_BINARY_MODEL_H

#include "htp_client.h"

#include <stdlib.h>

#define NET_IN_BYTES (6u * 6 * 8)
#define NET_CHANNELS 48u
#define NET_DEPTH (6u * 6 * NET_CHANNELS)
#define NET_OUT_BYTES 16u

typedef struct net {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y, dense; // application tensors; weights of the fully connected layer
    bool updateable;          // make those weights updateable
    uint32_t seed;            // of the weights of the fully connected layer; 0: as all others
} net;

static uint32_t net_x_dims[] = {1, 6, 6, 8}, net_y_dims[] = {1, NET_OUT_BYTES};
static uint32_t net_dense_dims[] = {NET_OUT_BYTES, NET_DEPTH};

static inline void net_fill(void *data, size_t n, uint32_t seed) {
    uint8_t *p = data;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (uint8_t)(seed >> 24);
    }
}

static inline Qnn_Tensor_t net_add(const htp_table *qnn, Qnn_GraphHandle_t g, Qnn_Tensor_t t) {
    HTP_OK(qnn->tensorCreateGraphTensor(g, &t));
    return t;
}

static inline Qnn_Tensor_t net_static(const char *name, Qnn_DataType_t type, uint32_t rank,
                                      uint32_t *dims, void *data, size_t bytes) {
    Qnn_Tensor_t t = htp_tensor(name, QNN_TENSOR_TYPE_STATIC, type, rank, dims);
    htp_buffer(&t, data, bytes);
    return t;
}

static inline Qnn_Tensor_t net_words(const htp_table *qnn, Qnn_GraphHandle_t g, const char *name,
                                     uint32_t rank, uint32_t *dims, uint32_t *data, size_t n) {
    return net_add(qnn, g, net_static(name, QNN_DATATYPE_UINT_32, rank, dims, data, n * 4));
}

static inline void net_conv(const htp_table *qnn, net *m, Qnn_Tensor_t *mid) {
    static Qnn_ScaleOffset_t scales[NET_CHANNELS];
    static uint8_t weights[3 * 3 * 8 * NET_CHANNELS];
    static int32_t biases[NET_CHANNELS];
    uint32_t w_dims[] = {3, 3, 8, NET_CHANNELS}, b_dims[] = {NET_CHANNELS};
    uint32_t two[] = {2}, four[] = {2, 2}, stride[] = {1, 1}, pad[] = {1, 1, 1, 1};
    net_fill(weights, sizeof weights, 7);
    for (uint32_t i = 0; i < NET_CHANNELS; i++) {
        scales[i] = (Qnn_ScaleOffset_t){0.002f + 0.0001f * (float)i, 0};
        biases[i] = 91 * (int32_t)i - 2000;
    }
    Qnn_Tensor_t in[3] = {m->x};
    in[1] = net_static("conv_w", QNN_DATATYPE_SFIXED_POINT_8, 4, w_dims, weights, sizeof weights);
    in[1].v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    in[1].v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    in[1].v1.quantizeParams.axisScaleOffsetEncoding =
        (Qnn_AxisScaleOffset_t){3, NET_CHANNELS, scales};
    in[1] = net_add(qnn, m->graph, in[1]);
    in[2] = net_static("conv_b", QNN_DATATYPE_SFIXED_POINT_32, 1, b_dims, biases, sizeof biases);
    htp_encode(&in[2], 0.0f, 0);
    in[2] = net_add(qnn, m->graph, in[2]);
    Qnn_Param_t params[2] = {QNN_PARAM_INIT, QNN_PARAM_INIT};
    params[0].name = "stride";
    params[1].name = "pad_amount";
    params[0].paramType = params[1].paramType = QNN_PARAMTYPE_TENSOR;
    params[0].tensorParam = net_words(qnn, m->graph, "stride", 1, two, stride, 2);
    params[1].tensorParam = net_words(qnn, m->graph, "pad", 2, four, pad, 4);
    Qnn_OpConfig_t op = htp_op("conv", "Conv2d", in, 3, mid, 1);
    op.v1.numOfParams = 2;
    op.v1.params = params;
    HTP_OK(qnn->graphAddNode(m->graph, op));
}

static inline void net_fully_connected(const htp_table *qnn, net *m, const Qnn_Tensor_t *mid) {
    static uint8_t weights[NET_OUT_BYTES * NET_DEPTH];
    net_fill(weights, sizeof weights, m->seed ? m->seed : 11);
    m->dense = net_static("dense_w", QNN_DATATYPE_UFIXED_POINT_8, 2, net_dense_dims, weights,
                          sizeof weights);
    if (m->updateable)
        m->dense.v1.type = QNN_TENSOR_TYPE_UPDATEABLE_STATIC;
    htp_encode(&m->dense, 0.003f, -127);
    m->dense = net_add(qnn, m->graph, m->dense);
    Qnn_Tensor_t in[2] = {*mid, m->dense};
    HTP_OK(qnn->graphAddNode(m->graph, htp_op("dense", "FullyConnected", in, 2, &m->y, 1)));
}

// Builds the graph; not finalized.
static inline void net_build(const htp_table *qnn, Qnn_ContextHandle_t c, const char *name,
                             const QnnGraph_Config_t **configs, net *m) {
    uint32_t mid_dims[] = {1, 6, 6, NET_CHANNELS};
    HTP_OK(qnn->graphCreate(c, name, configs, &m->graph));
    Qnn_Tensor_t t[3];
    m->x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 4, net_x_dims);
    m->y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, net_y_dims);
    t[0] = htp_tensor("mid", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 4, mid_dims);
    t[1] = htp_tensor("act", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 4, mid_dims);
    htp_encode(&m->x, 0.02f, -128);
    htp_encode(&m->y, 0.9f, -120);
    htp_encode(&t[0], 0.05f, -100);
    htp_encode(&t[1], 0.05f, -100);
    m->x = net_add(qnn, m->graph, m->x);
    m->y = net_add(qnn, m->graph, m->y);
    t[0] = net_add(qnn, m->graph, t[0]);
    t[1] = net_add(qnn, m->graph, t[1]);
    net_conv(qnn, m, &t[0]);
    HTP_OK(qnn->graphAddNode(m->graph, htp_op("relu", "Relu", &t[0], 1, &t[1], 1)));
    net_fully_connected(qnn, m, &t[1]);
}

// Runs it on a fixed input.
static inline void net_run(const htp_table *qnn, net *m, uint8_t out[NET_OUT_BYTES]) {
    uint8_t in[NET_IN_BYTES];
    net_fill(in, sizeof in, 3);
    memset(out, 0xAA, NET_OUT_BYTES);
    htp_buffer(&m->x, in, sizeof in);
    htp_buffer(&m->y, out, NET_OUT_BYTES);
    HTP_OK(qnn->graphExecute(m->graph, &m->x, 1, &m->y, 1, NULL, NULL));
}

// A context's binary, in memory aligned to 64 bytes; to be freed.
typedef struct blob {
    uint8_t *data;
    uint64_t size;
} blob;

static inline blob blob_alloc(uint64_t size) {
    blob b = {aligned_alloc(64, (size + 127) / 64 * 64), size};
    assert_non_null(b.data);
    return b;
}

static inline blob blob_of(const htp_table *qnn, Qnn_ContextHandle_t c) {
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(qnn->contextGetBinarySize(c, &size));
    blob b = blob_alloc(size);
    memset(b.data, 0x5A, size);
    HTP_OK(qnn->contextGetBinary(c, b.data, size, &written));
    assert_int_equal(written, size);
    return b;
}

// The binary of a context with one finalized network, and what it computes.
static inline blob blob_of_net(uint32_t soc, const char *name, uint8_t out[NET_OUT_BYTES]) {
    htp_world w = htp_begin(soc);
    net m = {0};
    net_build(&w.qnn, w.context, name, NULL, &m);
    HTP_OK(w.qnn.graphFinalize(m.graph, NULL, NULL));
    net_run(&w.qnn, &m, out);
    blob b = blob_of(&w.qnn, w.context);
    htp_end(&w);
    return b;
}

// A world without a context.
static inline htp_world htp_bare(uint32_t soc) {
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    w.device = htp_device(&w.qnn, soc);
    return w;
}

// The network of a loaded context; tensors have the ids that they had.
static inline net net_around(Qnn_GraphHandle_t graph) {
    net m = {.graph = graph};
    m.x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 4, net_x_dims);
    m.y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, net_y_dims);
    htp_encode(&m.x, 0.02f, -128);
    htp_encode(&m.y, 0.9f, -120);
    m.x.v1.id = 1;
    m.y.v1.id = 2;
    return m;
}

static inline net net_of(const htp_table *qnn, Qnn_ContextHandle_t c, const char *name) {
    Qnn_GraphHandle_t graph = NULL;
    HTP_OK(qnn->graphRetrieve(c, name, &graph));
    return net_around(graph);
}

// Loads with up to two options; NULL: none.
static inline Qnn_ErrorHandle_t blob_load(htp_world *w, const QnnContext_Config_t *a,
                                          const QnnContext_Config_t *b, const blob *from) {
    const QnnContext_Config_t *list[] = {a ? a : b, a ? b : NULL, NULL};
    return w->qnn.contextCreateFromBinary(w->backend, w->device, list, from->data, from->size,
                                          &w->context, NULL);
}

#endif
