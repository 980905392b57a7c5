// SPDX-License-Identifier: MIT
//
// Small graphs in few words, for tests of numbers: tensors by index, data beside them.
#ifndef QRN_TESTS_HTP_NET_H
#define QRN_TESTS_HTP_NET_H

#include "htp_client.h"

#define NET_TENSORS 16

typedef struct net {
    htp_world *w;
    Qnn_GraphHandle_t graph;
    uint32_t n, n_nodes;
    Qnn_Tensor_t tensors[NET_TENSORS];
    uint32_t dims[NET_TENSORS][4];
    char names[NET_TENSORS][8];
    void *data[NET_TENSORS];
    size_t bytes[NET_TENSORS];
} net;

static inline net net_begin(htp_world *w, const char *name, const QnnGraph_Config_t **configs) {
    net n = {.w = w};
    HTP_OK(w->qnn.graphCreate(w->context, name, configs, &n.graph));
    return n;
}

static inline size_t net_element(Qnn_DataType_t type) {
    switch (type & 0xff) {
    case 0x08:
        return 1;
    case 0x16:
    case 0x26:
        return 2;
    default:
        return 4;
    }
}

// A tensor with its data: of application inputs and constants what is in it, of outputs where it
// goes. scale 0: no encoding.
static inline uint32_t net_add(net *n, Qnn_TensorType_t type, Qnn_DataType_t dtype, uint32_t rank,
                               const uint32_t *dims, float scale, int32_t offset, void *data) {
    uint32_t i = n->n++;
    assert_true(i < NET_TENSORS);
    n->names[i][0] = 't';
    n->names[i][1] = (char)('a' + i);
    n->data[i] = data;
    n->bytes[i] = net_element(dtype);
    for (uint32_t d = 0; d < rank; d++)
        n->bytes[i] *= n->dims[i][d] = dims[d];
    n->tensors[i] = htp_tensor(n->names[i], type, dtype, rank, n->dims[i]);
    if (scale != 0)
        htp_encode(&n->tensors[i], scale, offset);
    if (type == QNN_TENSOR_TYPE_STATIC)
        htp_buffer(&n->tensors[i], data, n->bytes[i]);
    HTP_OK(n->w->qnn.tensorCreateGraphTensor(n->graph, &n->tensors[i]));
    return i;
}

static inline Qnn_Param_t net_u32(const char *name, uint32_t value) {
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_SCALAR;
    p.name = name;
    p.scalarParam.dataType = QNN_DATATYPE_UINT_32;
    p.scalarParam.uint32Value = value;
    return p;
}

// A tensor parameter: values of a list of rows of `cols` entries; cols 0: a plain list.
static inline Qnn_Param_t net_list(net *n, const char *name, uint32_t count, uint32_t cols,
                                   uint32_t *values) {
    uint32_t dims[2] = {cols ? count / cols : count, cols};
    uint32_t t =
        net_add(n, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, cols ? 2 : 1, dims, 0, 0, values);
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = n->tensors[t];
    return p;
}

// Operands as lists that end with -1.
static inline Qnn_ErrorHandle_t net_try(net *n, const char *type, const int *in, const int *out,
                                        Qnn_Param_t *params, uint32_t n_params, bool validate) {
    static char names[NET_TENSORS][8];
    Qnn_Tensor_t ins[NET_TENSORS], outs[NET_TENSORS];
    uint32_t n_in = 0, n_out = 0;
    for (; in[n_in] >= 0; n_in++)
        ins[n_in] = n->tensors[in[n_in]];
    for (; out[n_out] >= 0; n_out++)
        outs[n_out] = n->tensors[out[n_out]];
    char *name = names[n->n_nodes++ % NET_TENSORS];
    name[0] = 'n';
    name[1] = (char)('a' + n->n_nodes);
    Qnn_OpConfig_t op = htp_op(name, type, ins, n_in, outs, n_out);
    op.v1.numOfParams = n_params;
    op.v1.params = params;
    return QNN_GET_ERROR_CODE(validate ? n->w->qnn.backendValidateOpConfig(n->w->backend, op)
                                       : n->w->qnn.graphAddNode(n->graph, op));
}

#define NET_NODE(n, type, in, out) assert_int_equal(net_try(n, type, in, out, NULL, 0, false), 0)
#define NET_LIST(...) ((const int[]){__VA_ARGS__, -1})

// Executes with the data given; NaN-like garbage stands in the outputs before.
static inline void net_run(net *n) {
    Qnn_Tensor_t in[NET_TENSORS], out[NET_TENSORS];
    uint32_t n_in = 0, n_out = 0;
    for (uint32_t i = 0; i < n->n; i++) {
        Qnn_Tensor_t t = n->tensors[i];
        htp_buffer(&t, n->data[i], n->bytes[i]);
        if (t.v1.type == QNN_TENSOR_TYPE_APP_WRITE)
            in[n_in++] = t;
        if (t.v1.type == QNN_TENSOR_TYPE_APP_READ) {
            memset(n->data[i], 0xff, n->bytes[i]);
            out[n_out++] = t;
        }
    }
    HTP_OK(n->w->qnn.graphExecute(n->graph, in, n_in, out, n_out, NULL, NULL));
}

static inline void net_finish(net *n) {
    HTP_OK(n->w->qnn.graphFinalize(n->graph, NULL, NULL));
    net_run(n);
}

#endif
