// SPDX-License-Identifier: MIT
//
// What all kernels share: finding them, reading arguments, elements, and walking over shapes.
#include "frontend/executorch/kernel.h"

#include "base/fp16.h"

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
        et_refuse(c, "argument %u is no tensor", i);
    return c->status == QRN_OK ? v->tensor : NULL;
}

const et_tensor *et_in(et_call *c, uint32_t i) { return tensor_of(c, item(c, i), i); }

static et_tensor *writable(et_call *c, et_tensor *t, uint32_t i) {
    if (t && t->fixed)
        et_refuse(c, "argument %u is written to, but is a constant or an input", i);
    return c->status == QRN_OK ? t : NULL;
}

et_tensor *et_out(et_call *c, uint32_t i) { return writable(c, tensor_of(c, item(c, i), i), i); }

bool et_absent(const et_call *c, uint32_t i) { return item(c, i)->kind == ET_KIND_NULL; }

int64_t et_int(et_call *c, uint32_t i) {
    const et_item *v = item(c, i);
    if (v->kind == ET_KIND_INT || v->kind == ET_KIND_BOOL)
        return v->i;
    et_refuse(c, "argument %u is no integer", i);
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
        et_refuse(c, "argument %u is no text", i);
    return v->kind == ET_KIND_STRING ? v->text : "";
}

uint32_t et_ints(et_call *c, uint32_t i, int64_t *out) {
    const et_item *v = item(c, i);
    if (v->kind == ET_KIND_INT) {
        out[0] = v->i;
        return 1;
    }
    if (v->kind != ET_KIND_INTS || v->list.n > ET_MAX_RANK) {
        et_refuse(c, "argument %u is no list of at most %d integers", i, ET_MAX_RANK);
        return 0;
    }
    for (uint32_t k = 0; k < v->list.n; k++) {
        const et_item *e = &c->method->values[v->list.items[k]];
        if (e->kind != ET_KIND_INT)
            et_refuse(c, "argument %u: element %u is no integer", i, k);
        out[k] = e->kind == ET_KIND_INT ? e->i : 0;
    }
    return v->list.n;
}

uint32_t et_list_n(et_call *c, uint32_t i) {
    const et_item *v = item(c, i);
    if (v->kind == ET_KIND_TENSORS)
        return v->list.n;
    et_refuse(c, "argument %u is no list of tensors", i);
    return 0;
}

et_tensor *et_list_at(et_call *c, uint32_t i, uint32_t k) {
    return tensor_of(c, &c->method->values[item(c, i)->list.items[k]], i);
}

uint32_t et_dim_of(et_call *c, int64_t dim, uint32_t rank) {
    int64_t limit = rank ? rank : 1; // scalars have one dimension to speak of
    if (dim < -limit || dim >= limit)
        et_refuse(c, "dimension %lld of a tensor of rank %u", (long long)dim, rank);
    return c->status == QRN_OK ? (uint32_t)(dim < 0 ? dim + limit : dim) : 0;
}

uint32_t et_dim(et_call *c, uint32_t i, uint32_t rank) { return et_dim_of(c, et_int(c, i), rank); }

bool et_shape(et_call *c, et_tensor *t, uint32_t rank, const int64_t *sizes) {
    if (c->status == QRN_OK)
        c->status = rank > ET_MAX_RANK
                        ? et_refuse(c, "a result of rank %u, at most %d", rank, ET_MAX_RANK)
                        : et_tensor_resize(t, rank, sizes);
    return c->status == QRN_OK;
}

bool et_same_type(et_call *c, const et_tensor *a, const et_tensor *b) {
    if (c->status == QRN_OK && a->def->type != b->def->type)
        et_refuse(c, "tensors of types %s and %s", et_type_name(a->def->type),
                  et_type_name(b->def->type));
    return c->status == QRN_OK;
}

// --- Elements

bool et_is_float(unsigned type) {
    return type == ET_FLOAT || type == ET_DOUBLE || type == ET_HALF || type == ET_BFLOAT16;
}

static const uint8_t *place(const et_tensor *t, int64_t at) {
    return t->data + (size_t)at * et_type_bytes(t->def->type);
}

int64_t et_get_int(const et_tensor *t, int64_t at) {
    const uint8_t *p = place(t, at);
    int16_t s;
    int32_t i;
    int64_t l;
    uint16_t us;
    uint32_t ui;
    switch (t->def->type) {
    case ET_BYTE:
    case ET_QUINT8:
        return *p;
    case ET_BOOL:
        return *p != 0;
    case ET_CHAR:
    case ET_QINT8:
        return (int8_t)*p;
    case ET_SHORT:
        memcpy(&s, p, 2);
        return s;
    case ET_UINT16:
    case ET_BITS16:
        memcpy(&us, p, 2);
        return us;
    case ET_INT:
    case ET_QINT32:
        memcpy(&i, p, 4);
        return i;
    case ET_UINT32:
        memcpy(&ui, p, 4);
        return ui;
    case ET_LONG:
    case ET_UINT64:
        memcpy(&l, p, 8);
        return l;
    default: {
        double d = et_get(t, at);
        return d >= -9.2e18 && d <= 9.2e18 ? (int64_t)d : 0;
    }
    }
}

double et_get(const et_tensor *t, int64_t at) {
    const uint8_t *p = place(t, at);
    uint16_t h;
    float f;
    double d;
    switch (t->def->type) {
    case ET_FLOAT:
        memcpy(&f, p, 4);
        return f;
    case ET_DOUBLE:
        memcpy(&d, p, 8);
        return d;
    case ET_HALF:
        memcpy(&h, p, 2);
        return qrn_f16_to_f32(h);
    case ET_BFLOAT16:
        memcpy(&h, p, 2);
        return qrn_bf16_to_f32(h);
    default:
        return (double)et_get_int(t, at);
    }
}

void et_set_int(et_tensor *t, int64_t at, int64_t v) {
    size_t bytes = et_type_bytes(t->def->type);
    if (et_is_float(t->def->type)) {
        et_set(t, at, (double)v);
        return;
    }
    if (t->def->type == ET_BOOL)
        v = v != 0;
    for (size_t i = 0; i < bytes; i++) // wraps as machine integers do
        t->data[(size_t)at * bytes + i] = (uint8_t)((uint64_t)v >> (8 * i));
}

void et_set(et_tensor *t, int64_t at, double v) {
    uint8_t *p = t->data + (size_t)at * et_type_bytes(t->def->type);
    uint16_t h;
    float f = (float)v;
    switch (t->def->type) {
    case ET_FLOAT:
        memcpy(p, &f, 4);
        return;
    case ET_DOUBLE:
        memcpy(p, &v, 8);
        return;
    case ET_HALF:
        h = qrn_f16_from_f64(v);
        memcpy(p, &h, 2);
        return;
    case ET_BFLOAT16:
        h = qrn_bf16_from_f64(v);
        memcpy(p, &h, 2);
        return;
    case ET_BOOL:
        *p = v != 0;
        return;
    default:
        et_set_int(t, at, v >= -9.2e18 && v <= 9.2e18 ? (int64_t)v : 0);
    }
}

void et_copy(et_tensor *to, int64_t at, const et_tensor *from, int64_t from_at) {
    size_t bytes = et_type_bytes(to->def->type);
    memmove(to->data + (size_t)at * bytes, from->data + (size_t)from_at * bytes, bytes);
}

// --- Walking

void et_walk_shape(et_walk *w, uint32_t rank, const int64_t *sizes) {
    memset(w, 0, sizeof *w);
    w->rank = rank;
    w->left = 1;
    for (uint32_t i = 0; i < rank; i++) {
        w->sizes[i] = sizes[i];
        w->left *= (size_t)sizes[i];
    }
}

bool et_walk_add(et_walk *w, const et_tensor *t) {
    if (t->rank > w->rank)
        return false;
    uint32_t skip = w->rank - t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->sizes[i] != w->sizes[skip + i] && t->sizes[i] != 1)
            return false;
        w->step[w->n][skip + i] = t->sizes[i] == 1 ? 0 : t->strides[i];
    }
    w->n++;
    return true;
}

void et_walk_add_steps(et_walk *w, int64_t start, const int64_t *steps) {
    memcpy(w->step[w->n], steps, w->rank * sizeof *steps);
    w->at[w->n++] = start;
}

void et_walk_next(et_walk *w) {
    w->left--;
    for (uint32_t d = w->rank; d-- > 0;) {
        bool carry = ++w->index[d] == w->sizes[d];
        for (uint32_t k = 0; k < w->n; k++)
            w->at[k] += carry ? -w->step[k][d] * (w->sizes[d] - 1) : w->step[k][d];
        if (!carry)
            return;
        w->index[d] = 0;
    }
}

bool et_broadcast(const et_tensor *a, const et_tensor *b, uint32_t *rank, int64_t *sizes) {
    uint32_t n = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < n; i++) { // from the back
        int64_t x = i < a->rank ? a->sizes[a->rank - 1 - i] : 1;
        int64_t y = i < b->rank ? b->sizes[b->rank - 1 - i] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        sizes[n - 1 - i] = x == 1 ? y : x;
    }
    *rank = n;
    return true;
}
