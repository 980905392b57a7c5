// SPDX-License-Identifier: MIT
//
// Parameter values: scalars of any numeric type, static tensors of 32-bit elements. Also the two
// families of accessors by name, for rules and for lowering.
#include "ir/param.h"

#include "ir/graph.h"

#include <assert.h>
#include <string.h>

typedef enum number_kind { NUMBER_NONE, NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_FLOAT } number_kind;

static number_kind kind_of(const qrn_param *p) {
    if (!p || !p->present || p->is_tensor)
        return NUMBER_NONE;
    switch ((qrn_dtype_class)qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_FLOAT:
        return NUMBER_FLOAT;
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        return NUMBER_SIGNED;
    case QRN_CLASS_UINT:
    case QRN_CLASS_UFIXED:
    case QRN_CLASS_BOOL:
        return NUMBER_UNSIGNED;
    case QRN_CLASS_STRING:
        break;
    }
    return NUMBER_NONE;
}

uint32_t qrn_param_u32(const qrn_param *p, uint32_t fallback) {
    switch (kind_of(p)) {
    case NUMBER_SIGNED:
        return (uint32_t)p->value.i;
    case NUMBER_UNSIGNED:
        return (uint32_t)p->value.u;
    default:
        return fallback;
    }
}

int32_t qrn_param_i32(const qrn_param *p, int32_t fallback) {
    switch (kind_of(p)) {
    case NUMBER_SIGNED:
        return (int32_t)p->value.i;
    case NUMBER_UNSIGNED:
        return (int32_t)p->value.u;
    default:
        return fallback;
    }
}

float qrn_param_f32(const qrn_param *p, float fallback) {
    switch (kind_of(p)) {
    case NUMBER_SIGNED:
        return (float)p->value.i;
    case NUMBER_UNSIGNED:
        return (float)p->value.u;
    case NUMBER_FLOAT:
        return (float)p->value.f;
    default:
        return fallback;
    }
}

bool qrn_param_bool(const qrn_param *p, bool fallback) {
    switch (kind_of(p)) {
    case NUMBER_SIGNED:
        return p->value.i != 0;
    case NUMBER_UNSIGNED:
        return p->value.u != 0;
    default:
        return fallback;
    }
}

static const void *tensor_data(const qrn_param *p, bool want_float, size_t *count) {
    *count = 0;
    if (!p || !p->present || !p->is_tensor || !p->tensor || !p->tensor->data)
        return NULL;
    qrn_dtype t = p->tensor->dtype;
    bool fits = want_float ? t == QRN_DTYPE_F32 : t == QRN_DTYPE_U32 || t == QRN_DTYPE_I32;
    size_t n;
    if (!fits || !qrn_shape_count(&p->tensor->shape, &n))
        return NULL;
    *count = n;
    return p->tensor->data;
}

const void *qrn_param_ints(const qrn_param *p, size_t *count) {
    return tensor_data(p, false, count);
}

const float *qrn_param_floats(const qrn_param *p, size_t *count) {
    return tensor_data(p, true, count);
}

uint32_t qrn_op_param_index(const qrn_op_def *op, const char *name) {
    uint32_t i = 0;
    while (i < op->n_params && strcmp(op->params[i].name, name) != 0)
        i++;
    assert(i < op->n_params);
    return i;
}

const qrn_param *qrn_op_param(const qrn_op_call *c, const char *name) {
    static const qrn_param absent;
    uint32_t i = qrn_op_param_index(c->op, name);
    return i < c->op->n_params ? &c->params[i] : &absent;
}

uint32_t qrn_op_u32(const qrn_op_call *c, const char *name, uint32_t fallback) {
    return qrn_param_u32(qrn_op_param(c, name), fallback);
}

int32_t qrn_op_i32(const qrn_op_call *c, const char *name, int32_t fallback) {
    return qrn_param_i32(qrn_op_param(c, name), fallback);
}

float qrn_op_f32(const qrn_op_call *c, const char *name, float fallback) {
    return qrn_param_f32(qrn_op_param(c, name), fallback);
}

bool qrn_op_bool(const qrn_op_call *c, const char *name, bool fallback) {
    return qrn_param_bool(qrn_op_param(c, name), fallback);
}

const uint32_t *qrn_op_u32s(const qrn_op_call *c, const char *name, size_t *count) {
    return qrn_param_ints(qrn_op_param(c, name), count);
}

const int32_t *qrn_op_i32s(const qrn_op_call *c, const char *name, size_t *count) {
    return qrn_param_ints(qrn_op_param(c, name), count);
}

const float *qrn_op_f32s(const qrn_op_call *c, const char *name, size_t *count) {
    return qrn_param_floats(qrn_op_param(c, name), count);
}

const qrn_param *qrn_node_param(const qrn_node *n, const char *name) {
    for (uint32_t i = 0; i < n->n_params; i++) {
        const char *have = n->op ? n->op->params[i].name : n->param_names[i];
        if (strcmp(have, name) == 0)
            return n->params[i].present ? &n->params[i] : NULL;
    }
    return NULL;
}

uint32_t qrn_node_u32(const qrn_node *n, const char *name, uint32_t fallback) {
    return qrn_param_u32(qrn_node_param(n, name), fallback);
}

int32_t qrn_node_i32(const qrn_node *n, const char *name, int32_t fallback) {
    return qrn_param_i32(qrn_node_param(n, name), fallback);
}

float qrn_node_f32(const qrn_node *n, const char *name, float fallback) {
    return qrn_param_f32(qrn_node_param(n, name), fallback);
}

bool qrn_node_bool(const qrn_node *n, const char *name, bool fallback) {
    return qrn_param_bool(qrn_node_param(n, name), fallback);
}

// Copies at most max elements of 4 bytes.
static uint32_t copy_words(void *dst, const void *src, size_t count, uint32_t max) {
    uint32_t n = count < max ? (uint32_t)count : max;
    if (src)
        memcpy(dst, src, (size_t)n * 4);
    return src ? n : 0;
}

uint32_t qrn_node_u32s(const qrn_node *n, const char *name, uint32_t *dst, uint32_t max) {
    size_t count;
    const void *data = qrn_param_ints(qrn_node_param(n, name), &count);
    return copy_words(dst, data, count, max);
}

uint32_t qrn_node_i32s(const qrn_node *n, const char *name, int32_t *dst, uint32_t max) {
    size_t count;
    const void *data = qrn_param_ints(qrn_node_param(n, name), &count);
    return copy_words(dst, data, count, max);
}

uint32_t qrn_node_f32s(const qrn_node *n, const char *name, float *dst, uint32_t max) {
    size_t count;
    const void *data = qrn_param_floats(qrn_node_param(n, name), &count);
    return copy_words(dst, data, count, max);
}
