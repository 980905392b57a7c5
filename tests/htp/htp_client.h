// SPDX-License-Identifier: MIT
//
// What every test of the HTP backend needs: the function table, a backend, a device for a chip, a
// context, and one small quantized graph. cmocka asserts.
#ifndef QRN_TESTS_HTP_CLIENT_H
#define QRN_TESTS_HTP_CLIENT_H

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "../client/qnn_client.h"

typedef qnn_table htp_table;

#define HTP_OK(expr) assert_int_equal((expr), QNN_SUCCESS)
#define HTP_FAILS(expr, code) assert_int_equal(QNN_GET_ERROR_CODE(expr), (code))

static inline htp_table htp_open(void) {
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    HTP_OK(QnnInterface_getProviders(&list, &n));
    assert_int_equal(n, 1);
    return list[0]->QNN_INTERFACE_VER_NAME;
}

// One backend, device and context; device and context are NULL until they are made.
typedef struct htp_world {
    htp_table qnn;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
} htp_world;

// A device for a chip; soc 0: without any option.
static inline Qnn_DeviceHandle_t htp_device(const htp_table *qnn, uint32_t soc) {
    QnnHtpDevice_CustomConfig_t custom = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                          .socModel = soc};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &custom};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    Qnn_DeviceHandle_t device = NULL;
    HTP_OK(qnn->deviceCreate(NULL, soc ? configs : NULL, &device));
    return device;
}

static inline htp_world htp_begin(uint32_t soc) {
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    w.device = htp_device(&w.qnn, soc);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    return w;
}

static inline void htp_end(htp_world *w) {
    if (w->context)
        HTP_OK(w->qnn.contextFree(w->context, NULL));
    if (w->device)
        HTP_OK(w->qnn.deviceFree(w->device));
    if (w->backend)
        HTP_OK(w->qnn.backendFree(w->backend));
    *w = (htp_world){0};
}

static inline Qnn_Tensor_t htp_tensor(const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                                      uint32_t rank, uint32_t *dims) {
    return describe(name, type, dtype, rank, dims);
}

static inline void htp_encode(Qnn_Tensor_t *t, float scale, int32_t offset) {
    t->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t->v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, offset};
}

static inline Qnn_OpConfig_t htp_op(const char *name, const char *type, Qnn_Tensor_t *in,
                                    uint32_t n_in, Qnn_Tensor_t *out, uint32_t n_out) {
    return op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, type, in, n_in, out, n_out);
}

static inline void htp_buffer(Qnn_Tensor_t *t, void *data, size_t bytes) {
    set_buffer(t, data, bytes);
}

// y = relu(x) on [n, 8] 8-bit codes, scale 0.1, offset -128 on both sides: codes below 128 become
// 128. Not finalized.
#define HTP_RELU_WIDTH 8u
typedef struct htp_relu {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    uint32_t dims[2];
} htp_relu;

static inline void htp_relu_graph(const htp_table *qnn, Qnn_ContextHandle_t c, const char *name,
                                  const QnnGraph_Config_t **configs, uint32_t n, htp_relu *r) {
    r->dims[0] = n;
    r->dims[1] = HTP_RELU_WIDTH;
    HTP_OK(qnn->graphCreate(c, name, configs, &r->graph));
    r->x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 2, r->dims);
    r->y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, r->dims);
    htp_encode(&r->x, 0.1f, -128);
    htp_encode(&r->y, 0.1f, -128);
    HTP_OK(qnn->tensorCreateGraphTensor(r->graph, &r->x));
    HTP_OK(qnn->tensorCreateGraphTensor(r->graph, &r->y));
    HTP_OK(qnn->graphAddNode(r->graph, htp_op("relu", "Relu", &r->x, 1, &r->y, 1)));
}

// Runs it and compares with the definition.
static inline void htp_relu_run(const htp_table *qnn, htp_relu *r) {
    uint8_t x[64], y[64];
    uint32_t n = r->dims[0] * HTP_RELU_WIDTH;
    assert_true(n <= sizeof x);
    for (uint32_t i = 0; i < n; i++)
        x[i] = (uint8_t)(37 * i + 5);
    memset(y, 0, sizeof y);
    htp_buffer(&r->x, x, n);
    htp_buffer(&r->y, y, n);
    HTP_OK(qnn->graphExecute(r->graph, &r->x, 1, &r->y, 1, NULL, NULL));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(y[i], x[i] < 128 ? 128 : x[i]);
}

#endif
