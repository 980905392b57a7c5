// SPDX-License-Identifier: MIT
//
// Small quantized graphs for the tests of the HTP's numbers: operands with encodings, a graph of a
// few nodes, a run. On top of htp_client.h.
#ifndef QRN_TESTS_HTP_QUANT_H
#define QRN_TESTS_HTP_QUANT_H

#include "htp_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// One operand: codes as 64-bit numbers, whatever the type.
typedef struct operand {
    Qnn_DataType_t type;
    float scale; // 0: no encoding
    int32_t offset;
    uint32_t rank, dims[5];
    int64_t *codes; // [count] in, or out
    float *reals;   // instead of codes, for floats
} operand;

static inline size_t count_of(const operand *o) {
    size_t n = 1;
    for (uint32_t i = 0; i < o->rank; i++)
        n *= o->dims[i];
    return n;
}

static inline unsigned bits_of(Qnn_DataType_t t) {
    return (t & 0xff) == 0x16 ? 16 : (t & 0xff) == 0x32 ? 32 : 8;
}
static inline bool is_signed_type(Qnn_DataType_t t) {
    return t == QNN_DATATYPE_SFIXED_POINT_8 || t == QNN_DATATYPE_SFIXED_POINT_16 ||
           t == QNN_DATATYPE_SFIXED_POINT_32 || t == QNN_DATATYPE_INT_32;
}
static inline int64_t lowest(Qnn_DataType_t t) {
    return is_signed_type(t) ? -((int64_t)1 << (bits_of(t) - 1)) : 0;
}
static inline int64_t highest(Qnn_DataType_t t) {
    return lowest(t) + ((int64_t)1 << bits_of(t)) - 1;
}

// Real value of a code, and the code of a real value: ties half up, clamped.
static inline double real_of(const operand *o, int64_t code) {
    return (double)o->scale * (double)(code + o->offset);
}
static inline int64_t code_of(const operand *o, double real) {
    double t = floor(real / (double)o->scale + 0.5) - (double)o->offset;
    if (t < (double)lowest(o->type))
        return lowest(o->type);
    return t > (double)highest(o->type) ? highest(o->type) : (int64_t)t;
}

static inline void *bytes_of(const operand *o, size_t *size) {
    size_t n = count_of(o), elem = bits_of(o->type) / 8;
    *size = n * elem;
    unsigned char *b = test_malloc(*size);
    for (size_t i = 0; i < n; i++)
        memcpy(b + i * elem, o->reals ? (const void *)&o->reals[i] : &o->codes[i], elem);
    return b;
}

static inline void codes_from(operand *o, const void *bytes) {
    size_t elem = bits_of(o->type) / 8;
    for (size_t i = 0; i < count_of(o); i++) {
        uint64_t u = 0;
        memcpy(&u, (const char *)bytes + i * elem, elem);
        o->codes[i] = is_signed_type(o->type) ? (int64_t)(u << (64 - 8 * elem)) >> (64 - 8 * elem)
                                              : (int64_t)u;
    }
}

static inline Qnn_Tensor_t tensor_of(const operand *o, const char *name, Qnn_TensorType_t role) {
    Qnn_Tensor_t t = htp_tensor(name, role, o->type, o->rank, (uint32_t *)(uintptr_t)o->dims);
    if (o->scale != 0.0f)
        htp_encode(&t, o->scale, o->offset);
    return t;
}

#define NODE_OPERANDS 4

// A parameter with several numbers.
typedef struct list_param {
    const char *name;
    uint32_t rank, dims[2], values[8];
} list_param;

// y = op(x...): inputs whose bit in `statics` is set are static. Returns the error of the first
// call that fails.
typedef struct one_node {
    const char *op;
    operand *in[NODE_OPERANDS];
    uint32_t n_in, statics;
    operand *out;
    Qnn_Param_t params[4]; // scalars
    uint32_t n_params;
    list_param lists[4];
    uint32_t n_lists;
} one_node;

// The node's lists as parameters: static tensors of the graph.
static inline uint32_t make_params(const htp_table *qnn, Qnn_GraphHandle_t g, const one_node *d,
                                   Qnn_Param_t *params) {
    uint32_t n = d->n_params;
    memcpy(params, d->params, n * sizeof *params);
    for (uint32_t i = 0; i < d->n_lists; i++) {
        const list_param *l = &d->lists[i];
        Qnn_Tensor_t t = htp_tensor(l->name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, l->rank,
                                    (uint32_t *)(uintptr_t)l->dims);
        size_t count = l->rank == 2 ? (size_t)l->dims[0] * l->dims[1] : l->dims[0];
        htp_buffer(&t, (void *)(uintptr_t)l->values, count * sizeof(uint32_t));
        HTP_OK(qnn->tensorCreateGraphTensor(g, &t));
        params[n] = (Qnn_Param_t){.paramType = QNN_PARAMTYPE_TENSOR, .name = l->name};
        params[n++].tensorParam = t;
    }
    return n;
}

static inline Qnn_ErrorHandle_t build_node(const htp_table *qnn, Qnn_GraphHandle_t g,
                                           const one_node *d, Qnn_Tensor_t *in, void **data,
                                           Qnn_Tensor_t *out) {
    static const char *const names[] = {"in0", "in1", "in2", "in3"};
    for (uint32_t i = 0; i < d->n_in; i++) {
        bool is_static = d->statics & (1u << i);
        size_t size;
        in[i] = tensor_of(d->in[i], names[i],
                          is_static ? QNN_TENSOR_TYPE_STATIC : QNN_TENSOR_TYPE_APP_WRITE);
        data[i] = bytes_of(d->in[i], &size);
        if (is_static)
            htp_buffer(&in[i], data[i], size);
        HTP_OK(qnn->tensorCreateGraphTensor(g, &in[i]));
        htp_buffer(&in[i], data[i], size);
    }
    *out = tensor_of(d->out, "out", QNN_TENSOR_TYPE_APP_READ);
    HTP_OK(qnn->tensorCreateGraphTensor(g, out));
    Qnn_OpConfig_t op = htp_op("node", d->op, in, d->n_in, out, 1);
    Qnn_Param_t params[8];
    op.v1.numOfParams = make_params(qnn, g, d, params);
    op.v1.params = params;
    return qnn->graphAddNode(g, op);
}

static inline Qnn_ErrorHandle_t run_node(htp_world *w, const one_node *d) {
    static unsigned number; // graphs of a context have names of their own
    char name[32];
    Qnn_GraphHandle_t g;
    Qnn_Tensor_t in[NODE_OPERANDS], inputs[NODE_OPERANDS], out;
    void *data[NODE_OPERANDS] = {NULL};
    uint32_t n = 0;
    snprintf(name, sizeof name, "g%u", number++);
    HTP_OK(w->qnn.graphCreate(w->context, name, NULL, &g));
    Qnn_ErrorHandle_t e = build_node(&w->qnn, g, d, in, data, &out);
    if (e == QNN_SUCCESS) {
        size_t size = count_of(d->out) * bits_of(d->out->type) / 8;
        void *y = test_malloc(size);
        htp_buffer(&out, y, size);
        for (uint32_t i = 0; i < d->n_in; i++)
            if (!(d->statics & (1u << i)))
                inputs[n++] = in[i];
        HTP_OK(w->qnn.graphFinalize(g, NULL, NULL));
        HTP_OK(w->qnn.graphExecute(g, inputs, n, &out, 1, NULL, NULL));
        codes_from(d->out, y);
        test_free(y);
    }
    for (uint32_t i = 0; i < d->n_in; i++)
        test_free(data[i]);
    return e;
}

static inline Qnn_Param_t scalar_u32(const char *name, uint32_t v) {
    Qnn_Param_t p = {.paramType = QNN_PARAMTYPE_SCALAR, .name = name};
    p.scalarParam.dataType = QNN_DATATYPE_UINT_32;
    p.scalarParam.uint32Value = v;
    return p;
}

static inline Qnn_Param_t scalar_f32(const char *name, float v) {
    Qnn_Param_t p = {.paramType = QNN_PARAMTYPE_SCALAR, .name = name};
    p.scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
    p.scalarParam.floatValue = v;
    return p;
}

#endif
