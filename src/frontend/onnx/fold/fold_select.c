// SPDX-License-Identifier: MIT
//
// Element-wise ops of the folder with any number of operands: Min, Max, Sum, Mean, Where, Clip.
#include "frontend/onnx/fold/fold_array.h"

#include <float.h>
#include <math.h>
#include <string.h>

// The smaller or larger of two; NaN wins.
static ox_num pick(bool larger, ox_kind kind, ox_num a, ox_num b) {
    bool less;
    if (kind == OX_FLOAT) {
        if (isnan(a.f) || isnan(b.f))
            return isnan(a.f) ? a : b;
        less = b.f < a.f;
    } else {
        less = kind == OX_SIGNED ? b.i < a.i : b.u < a.u;
    }
    return less == larger ? a : b;
}

static ox_num join(int code, ox_kind kind, ox_num a, ox_num b) {
    if (code == OX_SUM || code == OX_MEAN)
        return (ox_num){.f = a.f + b.f};
    return pick(code == OX_MAX, kind, a, b);
}

qrn_status ox_fold_variadic(ox_call *c) {
    int code = c->row->code;
    uint32_t n = c->node->n_in, rank, dims[OX_MAX_RANK];
    ox_array *x = ox_call_scratch(c, n, sizeof *x), y;
    const ox_array **list = ox_call_scratch(c, n, sizeof(void *));
    ox_walk *at = ox_call_scratch(c, n, sizeof *at);
    if (!x || !list || !at)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t k = 0; k < n; k++) {
        QRN_TRY(ox_call_numbers(c, k, &x[k]));
        QRN_TRY(ox_call_same_type(c, &x[0], &x[k]));
        list[k] = &x[k];
    }
    if (x[0].type == OX_BOOL || (x[0].kind != OX_FLOAT && (code == OX_SUM || code == OX_MEAN)))
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "inputs of type %s", ox_type_name(x[0].type));
    QRN_TRY(ox_call_broadcast(c, list, n, &rank, dims));
    QRN_TRY(ox_call_new(c, x[0].type, rank, dims, &y));
    for (uint32_t k = 0; k < n; k++)
        at[k] = ox_walk_broadcast(&x[k], rank, dims);
    for (size_t i = 0; i < y.count; i++) {
        ox_num v = ox_array_get(&x[0], (size_t)at[0].index);
        ox_walk_next(&at[0]);
        for (uint32_t k = 1; k < n; k++) {
            v = join(code, x[0].kind, v, ox_array_get(&x[k], (size_t)at[k].index));
            ox_walk_next(&at[k]);
        }
        if (code == OX_MEAN)
            v.f /= n;
        ox_array_set(&y, i, v);
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_where(ox_call *c) {
    ox_array cond, a, b, y;
    QRN_TRY(ox_call_in(c, 0, &cond));
    QRN_TRY(ox_call_in(c, 1, &a));
    QRN_TRY(ox_call_in(c, 2, &b));
    QRN_TRY(ox_call_same_type(c, &a, &b));
    if (cond.type != OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "the condition is of type %s", ox_type_name(cond.type));
    uint32_t rank, dims[OX_MAX_RANK];
    const ox_array *list[] = {&cond, &a, &b};
    QRN_TRY(ox_call_broadcast(c, list, 3, &rank, dims));
    QRN_TRY(ox_call_new(c, a.type, rank, dims, &y));
    ox_walk at_c = ox_walk_broadcast(&cond, rank, dims);
    ox_walk at_a = ox_walk_broadcast(&a, rank, dims);
    ox_walk at_b = ox_walk_broadcast(&b, rank, dims);
    for (size_t i = 0; i < y.count; i++) {
        const unsigned char *src = cond.data[at_c.index] ? a.data + (size_t)at_a.index * a.elem
                                                         : b.data + (size_t)at_b.index * b.elem;
        memcpy(y.own + i * y.elem, src, y.elem);
        ox_walk_next(&at_c);
        ox_walk_next(&at_a);
        ox_walk_next(&at_b);
    }
    return ox_call_put(c, 0, &y);
}

// A bound of Clip: input i, in old opsets an attribute; *given is false when there is none.
static qrn_status read_bound(ox_call *c, uint32_t i, const char *attr, const ox_array *x, ox_num *v,
                             bool *given) {
    const ox_attr *a = ox_attr_find(c->node, attr);
    *given = ox_call_has(c, i) || (a && a->type == OX_ATTR_FLOAT);
    if (!*given)
        return QRN_OK;
    if (!ox_call_has(c, i)) {
        *v = ox_num_cast((ox_num){.f = a->f}, OX_FLOAT, x->type);
        return QRN_OK;
    }
    ox_array bound;
    QRN_TRY(ox_call_numbers(c, i, &bound));
    QRN_TRY(ox_call_same_type(c, x, &bound));
    if (bound.count != 1)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u must have one element", i);
    *v = ox_array_get(&bound, 0);
    return QRN_OK;
}

qrn_status ox_fold_clip(ox_call *c) {
    ox_array x, y;
    ox_num lo, hi;
    bool has_lo, has_hi;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(read_bound(c, 1, "min", &x, &lo, &has_lo));
    QRN_TRY(read_bound(c, 2, "max", &x, &hi, &has_hi));
    QRN_TRY(ox_call_new(c, x.type, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++) {
        ox_num v = ox_array_get(&x, i);
        if (has_lo)
            v = pick(true, x.kind, v, lo);
        if (has_hi)
            v = pick(false, x.kind, v, hi);
        ox_array_set(&y, i, v);
    }
    return ox_call_put(c, 0, &y);
}
