// SPDX-License-Identifier: MIT
//
// Building an op call by hand, for tests of validation: add operands and parameters, then validate.
#ifndef TESTS_IR_CALL_H
#define TESTS_IR_CALL_H

#include "ir/op.h"
#include "ir/support.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum { CALL_OPERANDS = 40, CALL_PARAMS = 16 };

typedef struct call {
    qrn_op_call c;
    qrn_tensor in_t[CALL_OPERANDS], out_t[CALL_OPERANDS], param_t[CALL_PARAMS];
    const qrn_tensor *in[CALL_OPERANDS], *out[CALL_OPERANDS];
    qrn_shape in_shape[CALL_OPERANDS], out_shape[CALL_OPERANDS];
    qrn_param params[CALL_PARAMS];
} call;

static inline void call_begin(call *k, const char *op) {
    memset(k, 0, sizeof *k);
    k->c = (qrn_op_call){.graph = "g",
                         .node = "n",
                         .op = qrn_op_find(op),
                         .in = k->in,
                         .out = k->out,
                         .params = k->params,
                         .in_shape = k->in_shape,
                         .out_shape = k->out_shape};
    assert(k->c.op);
}

static inline qrn_tensor call_tensor(qrn_dtype t, qrn_role role, uint32_t rank,
                                     const uint32_t *dims) {
    qrn_tensor r = {.dtype = t, .role = (uint8_t)role, .shape.rank = rank};
    for (uint32_t i = 0; i < rank && i < QRN_MAX_RANK; i++)
        r.shape.dims[i] = dims[i];
    return r;
}

static inline qrn_tensor *call_in(call *k, qrn_dtype t, uint32_t rank, const uint32_t *dims) {
    uint32_t i = k->c.n_in++;
    k->in_t[i] = call_tensor(t, QRN_ROLE_NATIVE, rank, dims);
    k->in[i] = &k->in_t[i];
    return &k->in_t[i];
}

static inline qrn_tensor *call_out(call *k, qrn_dtype t, uint32_t rank, const uint32_t *dims) {
    uint32_t i = k->c.n_out++;
    k->out_t[i] = call_tensor(t, QRN_ROLE_NATIVE, rank, dims);
    k->out[i] = &k->out_t[i];
    return &k->out_t[i];
}

#define DIMS(...)                                                                                  \
    (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), (const uint32_t[]) {   \
        __VA_ARGS__                                                                                \
    }
#define SCALAR_DIMS 0, NULL

static inline void call_absent_in(call *k) { k->c.n_in++; }

static inline qrn_param *call_param(call *k, const char *name) {
    qrn_param *p = &k->params[qrn_op_param_index(k->c.op, name)];
    p->present = true;
    return p;
}

static inline void call_u32(call *k, const char *name, uint32_t v) {
    qrn_param *p = call_param(k, name);
    p->dtype = QRN_DTYPE_U32;
    p->value.u = v;
}

static inline void call_i32(call *k, const char *name, int32_t v) {
    qrn_param *p = call_param(k, name);
    p->dtype = QRN_DTYPE_I32;
    p->value.i = v;
}

static inline void call_f32(call *k, const char *name, float v) {
    qrn_param *p = call_param(k, name);
    p->dtype = QRN_DTYPE_F32;
    p->value.f = (double)v;
}

static inline void call_b8(call *k, const char *name, bool v) {
    qrn_param *p = call_param(k, name);
    p->dtype = QRN_DTYPE_B8;
    p->value.u = v;
}

// A static tensor parameter of 4-byte elements; data may be NULL.
static inline qrn_tensor *call_tensor_param(call *k, const char *name, qrn_dtype t,
                                            const void *data, uint32_t rank, const uint32_t *dims) {
    qrn_param *p = call_param(k, name);
    qrn_tensor *tensor = &k->param_t[p - k->params];
    *tensor = call_tensor(t, QRN_ROLE_STATIC, rank, dims);
    tensor->data = data;
    tensor->size_bytes = 4;
    for (uint32_t i = 0; i < rank; i++)
        tensor->size_bytes *= dims[i];
    p->is_tensor = true;
    p->tensor = tensor;
    return tensor;
}

// Validates with the declared shapes.
static inline qrn_status call_validate(call *k) {
    for (uint32_t i = 0; i < k->c.n_in; i++)
        k->in_shape[i] = k->in[i] ? k->in[i]->shape : (qrn_shape){0};
    for (uint32_t i = 0; i < k->c.n_out; i++)
        k->out_shape[i] = k->out[i] ? k->out[i]->shape : (qrn_shape){0};
    qrn_message_clear();
    return qrn_op_validate(&k->c);
}

#endif
