// SPDX-License-Identifier: MIT
//
// Layers by their channels.
#include "quantizer/layer.h"

#include "base/mem.h"

#include <string.h>

static bool is(const ox_node *n, const char *op) {
    return n->op && n->domain[0] == '\0' && strcmp(n->op, op) == 0;
}

static bool set_conv(qz_layer *l, bool transposed) {
    const ox_tensor *w = l->weight;
    int64_t group = ox_attr_int(l->node, "group", 1);
    if (w->rank < 3 || group < 1 || (uint64_t)group > w->dims[0] || w->dims[0] % (uint64_t)group ||
        w->dims[1] > UINT32_MAX / (uint64_t)group)
        return false;
    l->kind = transposed ? QZ_CONV_TRANSPOSE : QZ_CONV;
    l->group = (uint32_t)group;
    uint32_t whole = (uint32_t)w->dims[0], part = (uint32_t)(w->dims[1] * (uint64_t)group);
    l->n_in = transposed ? whole : part;
    l->n_out = transposed ? part : whole;
    for (uint32_t d = 2; d < w->rank; d++)
        l->inner *= (size_t)w->dims[d];
    return l->inner > 0 && part > 0;
}

static bool set_matrix(qz_layer *l, bool gemm) {
    const ox_tensor *w = l->weight;
    if (w->rank != 2 || w->dims[0] > UINT32_MAX || w->dims[1] > UINT32_MAX)
        return false;
    if (gemm && (ox_attr_float(l->node, "alpha", 1) != 1 || ox_attr_float(l->node, "beta", 1) != 1))
        return false;
    l->kind = gemm ? QZ_GEMM : QZ_MATMUL;
    l->transposed = gemm && ox_attr_int(l->node, "transB", 0) != 0;
    l->n_in = (uint32_t)w->dims[l->transposed ? 1 : 0];
    l->n_out = (uint32_t)w->dims[l->transposed ? 0 : 1];
    return l->n_in > 0 && l->n_out > 0 && !(gemm && ox_attr_int(l->node, "transA", 0));
}

bool qz_layer_of(const qz_edit *e, ox_node *n, qz_layer *out) {
    bool conv = n && is(n, "Conv"), transpose = n && is(n, "ConvTranspose");
    bool gemm = n && is(n, "Gemm"), matmul = n && is(n, "MatMul");
    qz_layer l = {.node = n, .group = 1, .inner = 1};
    if ((!conv && !transpose && !gemm && !matmul) || n->n_in < 2 || n->n_out != 1)
        return false;
    l.weight = qz_edit_floats(e, n->in[1]);
    if (!l.weight || !l.weight->data ||
        !(conv || transpose ? set_conv(&l, transpose) : set_matrix(&l, gemm)))
        return false;
    if (n->n_in > 2 && n->in[2][0]) {
        l.bias = qz_edit_floats(e, n->in[2]);
        uint32_t rank = gemm ? 2 : 1;
        if (!l.bias || qz_tensor_count(l.bias) != l.n_out || l.bias->rank < 1 ||
            l.bias->rank > rank || l.bias->dims[l.bias->rank - 1] != l.n_out)
            return false;
    }
    *out = l;
    return true;
}

uint32_t qz_layer_out(const qz_layer *l, size_t i) {
    size_t pair = i / l->inner;
    if (l->kind == QZ_CONV)
        return (uint32_t)(pair / (l->n_in / l->group));
    if (l->kind == QZ_CONV_TRANSPOSE) {
        uint32_t part = l->n_out / l->group, in = (uint32_t)(pair / part);
        return in / (l->n_in / l->group) * part + (uint32_t)(pair % part);
    }
    return l->transposed ? (uint32_t)(pair / l->n_in) : (uint32_t)(pair % l->n_out);
}

uint32_t qz_layer_in(const qz_layer *l, size_t i) {
    size_t pair = i / l->inner;
    if (l->kind == QZ_CONV) {
        uint32_t part = l->n_in / l->group, out = (uint32_t)(pair / part);
        return out / (l->n_out / l->group) * part + (uint32_t)(pair % part);
    }
    if (l->kind == QZ_CONV_TRANSPOSE)
        return (uint32_t)(pair / (l->n_out / l->group));
    return l->transposed ? (uint32_t)(pair % l->n_in) : (uint32_t)(pair / l->n_out);
}

bool qz_layer_takes_bias(const qz_layer *l) { return l->kind != QZ_MATMUL; }

bool qz_layer_pads(const qz_layer *l) {
    int64_t p[2 * OX_MAX_RANK];
    uint32_t n = ox_attr_ints(l->node, "pads", p, 2 * OX_MAX_RANK);
    const char *mode = ox_attr_string(l->node, "auto_pad", "NOTSET");
    bool any = l->kind == QZ_CONV_TRANSPOSE || strncmp(mode, "SAME", 4) == 0;
    for (uint32_t i = 0; i < n && i < 2 * OX_MAX_RANK; i++)
        any |= p[i] != 0;
    return any;
}

static qrn_status put_bias(qz_edit *e, qz_layer *l, const qz_affine *a, const double *moved) {
    const uint64_t dims[1] = {l->n_out};
    float *b = qz_edit_alloc(e, 1, dims);
    if (!b)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a bias");
    for (uint32_t i = 0; i < l->n_out; i++) {
        double x = (l->bias ? (double)qz_tensor_at(l->bias, i) : 0) + moved[i];
        x = x * (a->out ? a->out[i] : 1) + (a->out_shift ? a->out_shift[i] : 0);
        b[i] = (float)x;
    }
    return qz_edit_put(e, l->node, 2, 1, dims, b);
}

qrn_status qz_layer_absorb(qz_edit *e, qz_layer *l, const qz_affine *a) {
    const ox_tensor *old = l->weight;
    size_t count = qz_tensor_count(old);
    float *w = qz_edit_alloc(e, old->rank, old->dims);
    double *moved = qrn_calloc(l->n_out * sizeof *moved); // what in_shift adds to the outputs
    qrn_status s = w && moved ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for a weight");
    for (size_t i = 0; s == QRN_OK && i < count; i++) {
        uint32_t in = qz_layer_in(l, i), out = qz_layer_out(l, i);
        double x = (double)qz_tensor_at(old, i);
        if (a->in_shift)
            moved[out] += x * a->in_shift[in];
        w[i] = (float)(x * (a->in ? a->in[in] : 1) * (a->out ? a->out[out] : 1));
    }
    bool bias = l->bias || a->in_shift || a->out_shift;
    if (s == QRN_OK && bias)
        s = put_bias(e, l, a, moved);
    if (s == QRN_OK)
        s = qz_edit_put(e, l->node, 1, old->rank, old->dims, w);
    qrn_free(moved);
    if (s == QRN_OK && !qz_layer_of(e, l->node, l))
        s = QRN_FAIL(QRN_E_ARGUMENT, "node '%s': its weights were lost", l->node->name);
    return s;
}

bool qz_per_channel(const ox_tensor *t, uint32_t rank, uint32_t channels, bool last) {
    if (t->rank > rank)
        return false;
    if (qz_tensor_count(t) == 1)
        return true;
    uint32_t axis = last ? rank - 1 : 1, lead = rank - t->rank; // broadcast from the right
    if (qz_tensor_count(t) != channels || axis < lead)
        return false;
    return t->dims[axis - lead] == channels;
}
