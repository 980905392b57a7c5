// SPDX-License-Identifier: MIT
//
// What all kernels share: finding them, reading arguments, and making results.
#include "frontend/executorch/kernel.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const et_kernel *const families[] = {
    et_kernels_elementwise, et_kernels_move,  et_kernels_join, et_kernels_reduce,
    et_kernels_linear,      et_kernels_quant, et_kernels_prim,
};

const et_kernel *et_kernel_find(const char *name, const char *overload) {
    char full[160];
    bool plain = !*overload || strcmp(overload, "default") == 0;
    int n = snprintf(full, sizeof full, "%s%s%s", name, plain ? "" : ".", plain ? "" : overload);
    if (n < 0 || (size_t)n >= sizeof full)
        return NULL;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const et_kernel *k = families[f]; k->name; k++)
            if (strcmp(k->name, full) == 0)
                return k;
    return NULL;
}

// --- Arguments

qrn_status et_refuse(et_call *c, const char *fmt, ...) {
    char text[384];
    va_list args;
    if (c->status != QRN_OK)
        return c->status;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->status = QRN_FAIL(QRN_E_PARAM, "%s", text);
    return c->status;
}

static const et_item *item(const et_call *c, uint32_t i) { return &c->method->values[c->args[i]]; }

static et_tensor *tensor_of(et_call *c, const et_item *v, uint32_t i) {
    if (c->status == QRN_OK && (v->kind != ET_KIND_TENSOR || !v->tensor->data))
        et_refuse(c, "argument %u is not a tensor", i);
    return c->status == QRN_OK ? v->tensor : NULL;
}

static qrn_nd array_of(const et_tensor *t) {
    if (!t)
        return (qrn_nd){.rank = 0};
    qrn_nd a = qrn_nd_scalar(et_type_dtype(t->def->type), t->data);
    a.type = t->def->type;
    a.rank = t->rank;
    a.count = t->count;
    for (uint32_t d = 0; d < t->rank; d++) {
        a.dims[d] = (size_t)t->sizes[d];
        a.steps[d] = (ptrdiff_t)t->strides[d] * (ptrdiff_t)a.elem;
    }
    return a;
}

qrn_nd et_in(et_call *c, uint32_t i) { return array_of(tensor_of(c, item(c, i), i)); }

bool et_absent(const et_call *c, uint32_t i) { return item(c, i)->kind == ET_KIND_NULL; }

int64_t et_int(et_call *c, uint32_t i) {
    const et_item *v = item(c, i);
    if (v->kind == ET_KIND_INT || v->kind == ET_KIND_BOOL)
        return v->i;
    et_refuse(c, "argument %u is not an integer", i);
    return 0;
}

int64_t et_int_or(et_call *c, uint32_t i, int64_t absent) {
    return et_absent(c, i) ? absent : et_int(c, i);
}

double et_number(et_call *c, uint32_t i) {
    const et_item *v = item(c, i);
    return v->kind == ET_KIND_DOUBLE ? v->d : (double)et_int(c, i);
}

const char *et_text(et_call *c, uint32_t i) {
    const et_item *v = item(c, i);
    if (v->kind != ET_KIND_STRING && v->kind != ET_KIND_NULL)
        et_refuse(c, "argument %u is not a text", i);
    return v->kind == ET_KIND_STRING ? v->text : "";
}

uint32_t et_ints(et_call *c, uint32_t i, int64_t *out) {
    const et_item *v = item(c, i);
    if (v->kind == ET_KIND_INT) {
        out[0] = v->i;
        return 1;
    }
    if (v->kind != ET_KIND_INTS || v->list.n > ET_MAX_RANK) {
        et_refuse(c, "argument %u is not a list of at most %d integers", i, ET_MAX_RANK);
        return 0;
    }
    for (uint32_t k = 0; k < v->list.n; k++) {
        const et_item *e = &c->method->values[v->list.items[k]];
        if (e->kind != ET_KIND_INT)
            et_refuse(c, "argument %u: element %u is not an integer", i, k);
        out[k] = e->kind == ET_KIND_INT ? e->i : 0;
    }
    return v->list.n;
}

uint32_t et_list_n(et_call *c, uint32_t i) {
    const et_item *v = item(c, i);
    if (v->kind == ET_KIND_TENSORS)
        return v->list.n;
    et_refuse(c, "argument %u is not a list of tensors", i);
    return 0;
}

static const et_item *list_item(const et_call *c, uint32_t i, uint32_t k) {
    return &c->method->values[item(c, i)->list.items[k]];
}

qrn_nd et_list_in(et_call *c, uint32_t i, uint32_t k) {
    return array_of(tensor_of(c, list_item(c, i, k), i));
}

uint32_t et_dim_of(et_call *c, int64_t dim, uint32_t rank) {
    int64_t limit = rank ? rank : 1; // scalars have one dimension to speak of
    if (dim < -limit || dim >= limit)
        et_refuse(c, "dimension %lld of a tensor of rank %u", (long long)dim, rank);
    return c->status == QRN_OK ? (uint32_t)(dim < 0 ? dim + limit : dim) : 0;
}

uint32_t et_dim(et_call *c, uint32_t i, uint32_t rank) { return et_dim_of(c, et_int(c, i), rank); }

uint32_t et_dims(et_call *c, uint32_t i, uint32_t rank) {
    int64_t dims[ET_MAX_RANK];
    uint32_t bits = 0, n = et_absent(c, i) ? 0 : et_ints(c, i, dims);
    for (uint32_t k = 0; k < n; k++)
        bits |= 1u << et_dim_of(c, dims[k], rank);
    return n ? bits : (1u << rank) - 1;
}

qrn_nd et_number_like(et_call *c, double v, const qrn_nd *like, qrn_num *room) {
    bool whole = v == trunc(v) && fabs(v) < 9e18;
    if (c->status == QRN_OK && like->kind != QRN_KIND_FLOAT && whole) {
        room->i = (int64_t)v;
        return qrn_nd_scalar(QRN_DTYPE_I64, room);
    }
    room->f = like->dtype == QRN_DTYPE_F32 ? (float)v : v;
    return qrn_nd_scalar(QRN_DTYPE_F64, room);
}

uint32_t et_view_dims(et_call *c, const qrn_nd *a, uint32_t i, size_t *dims) {
    int64_t sizes[ET_MAX_RANK];
    uint32_t rank = et_ints(c, i, sizes), open = ET_MAX_RANK;
    size_t known = 1;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = (size_t)sizes[d];
        if (sizes[d] == -1 && open == ET_MAX_RANK)
            open = d;
        else if (sizes[d] < 0 || !qrn_mul_size(known, dims[d], &known))
            et_refuse(c, "a view with an impossible dimension %lld", (long long)sizes[d]);
    }
    if (open < ET_MAX_RANK) {
        dims[open] = known ? a->count / known : 0;
        known *= dims[open];
    }
    if (c->status == QRN_OK && known != a->count)
        et_refuse(c, "a view of %zu elements on a tensor of %zu", known, a->count);
    return rank;
}

// --- Results

static qrn_nd shaped(et_call *c, et_tensor *t, uint32_t i, uint32_t rank, const size_t *dims) {
    int64_t sizes[ET_MAX_RANK];
    if (t && t->fixed)
        et_refuse(c, "argument %u is written to, but is a constant or an input", i);
    if (rank > ET_MAX_RANK)
        et_refuse(c, "a result of rank %u, at most %d", rank, ET_MAX_RANK);
    if (c->status != QRN_OK)
        return array_of(NULL);
    for (uint32_t d = 0; d < rank; d++)
        sizes[d] = dims[d] <= INT64_MAX ? (int64_t)dims[d] : -1;
    c->status = et_tensor_resize(t, rank, sizes);
    return array_of(t);
}

qrn_nd et_result(et_call *c, uint32_t i, uint32_t rank, const size_t *dims) {
    return shaped(c, tensor_of(c, item(c, i), i), i, rank, dims);
}

qrn_nd et_list_out(et_call *c, uint32_t i, uint32_t k, uint32_t rank, const size_t *dims) {
    return shaped(c, tensor_of(c, list_item(c, i, k), i), i, rank, dims);
}

qrn_status et_put(et_call *c, uint32_t i, const qrn_nd *x) {
    qrn_nd y = et_result(c, i, x->rank, x->dims);
    if (et_same_type(c, x, &y))
        qrn_nd_copy(&y, x);
    return c->status;
}

bool et_same_type(et_call *c, const qrn_nd *a, const qrn_nd *b) {
    if (c->status == QRN_OK && a->type != b->type)
        et_refuse(c, "tensors of types %s and %s", et_type_name((unsigned)a->type),
                  et_type_name((unsigned)b->type));
    return c->status == QRN_OK;
}

bool et_apart(et_call *c, const qrn_nd *y, const qrn_nd *x) {
    if (c->status == QRN_OK && y->data < x->data + x->count * x->elem &&
        x->data < y->data + y->count * y->elem)
        et_refuse(c, "its input is its output");
    return c->status == QRN_OK;
}
