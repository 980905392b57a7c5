// SPDX-License-Identifier: MIT
//
// Pass "batchnorm": a Batchnorm behind a float convolution or fully connected layer goes into its
// weights and bias: (W x + b) * f + s = (W f) x + (b f + s). Results differ in their last bits.
// Only for plans that are never stored: it looks at numbers, which a graph from a binary may lack,
// and packs other weights than the graph has.
#include "compiler/passes.h"

#include "kernels/conv/conv.h"
#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/winograd/winograd.h"
#include "kernels/norm/norm.h"

#include <math.h>
#include <string.h>

// Packing with a factor per column.
typedef struct scaled_packing {
    qrn_pack_fn pack;
    const void *args;
    qrn_dense_args dense;
    const float *factors; // of all columns of all groups
} scaled_packing;

static void pack_scaled(const void *args, const void *src, void *dst) {
    const scaled_packing *s = args;
    const qrn_dense_args *d = &s->dense;
    float *w = dst;
    s->pack(s->args, src, dst);
    for (size_t g = 0; g < d->group; g++)
        for (size_t j = 0; j < d->cols; j += QRN_PANEL)
            for (size_t k = 0; k < d->depth; k++, w += QRN_PANEL)
                for (size_t c = 0; c < QRN_PANEL && j + c < d->cols; c++)
                    w[c] = (float)((double)w[c] * (double)s->factors[g * d->cols + j + c]);
}

static const float *floats(const qrn_lowering *lo, qrn_val v, size_t count) {
    const qrn_view *x = v == QRN_VAL_NONE ? NULL : &lo->plan->values[v].view;
    if (!x || x->dtype != QRN_DTYPE_F32 || qrn_view_count(x) != count)
        return NULL;
    return qrn_lo_const_data(lo, v);
}

static bool all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

// The packing that will write value v; NULL: none, or it is written already.
static qrn_packing *packing_of(qrn_lowering *lo, qrn_val v) {
    for (uint32_t i = 0; i < lo->n_packings; i++)
        if (lo->packings[i].value == v && !lo->packings[i].done)
            return &lo->packings[i];
    return NULL;
}

static qrn_status scale_packed(qrn_lowering *lo, const qrn_step *product, const float *factors) {
    qrn_packing *k = packing_of(lo, product->in[1]);
    scaled_packing s = {k->pack, k->args, *(const qrn_dense_args *)product->args, factors};
    k->args = qrn_arena_copy(lo->plan->arena, &s, sizeof s);
    k->pack = pack_scaled;
    return k->args ? QRN_OK : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
}

// Filters of a convolution that is no product: output channels are the last dimension.
static qrn_status scale_filters(qrn_lowering *lo, qrn_val *filters, const float *factors) {
    const qrn_view *v = &lo->plan->values[*filters].view;
    const float *w = v->data;
    qrn_shape shape = {.rank = v->rank};
    memcpy(shape.dims, v->dims, sizeof shape.dims);
    size_t n = qrn_view_count(v), cout = v->dims[v->rank - 1];
    void *data;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F32, &shape, NULL, filters, &data));
    for (size_t i = 0; i < n; i++)
        ((float *)data)[i] = (float)((double)w[i] * (double)factors[i % cout]);
    return QRN_OK;
}

// shifts and bias may be NULL.
static qrn_status make_bias(qrn_lowering *lo, uint32_t n, const float *factors, const float *shifts,
                            const float *bias, qrn_val *out) {
    qrn_shape shape = {.rank = 1, .dims = {n}};
    void *data;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F32, &shape, NULL, out, &data));
    for (uint32_t c = 0; c < n; c++)
        ((float *)data)[c] = (float)((bias ? (double)bias[c] * (double)factors[c] : 0.0) +
                                     (shifts ? (double)shifts[c] : 0.0));
    return QRN_OK;
}

static qrn_val bias_of(const qrn_step *s) { return s->n_in > 2 ? s->in[2] : QRN_VAL_NONE; }

static qrn_status set_bias(qrn_lowering *lo, qrn_step *s, qrn_val bias) {
    qrn_val *in = qrn_arena_alloc(lo->plan->arena, 3 * sizeof *in);
    if (!in)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    in[0] = s->in[0];
    in[1] = s->in[1];
    in[2] = bias;
    s->in = in;
    s->n_in = 3;
    if (lo->plan->max_operands < 4)
        lo->plan->max_operands = 4;
    return QRN_OK;
}

// Weights in panels, one column for each output channel.
static bool is_packed(const qrn_step *s) {
    return s->family == &qrn_family_dense || s->family == &qrn_family_winograd;
}

// Is the step a float product whose weights can be scaled? n is the number of its columns.
static bool can_scale(qrn_lowering *lo, const qrn_use *uses, const qrn_step *s, size_t n) {
    if (!qrn_pass_plain(lo, s) || s->domain != QRN_DOMAIN_F32 || s->n_in < 2 || s->n_in > 3 ||
        s->n_out != 1 || (bias_of(s) != QRN_VAL_NONE && !floats(lo, bias_of(s), n)))
        return false;
    const qrn_view *w = &lo->plan->values[s->in[1]].view;
    if (is_packed(s))
        return uses[s->in[1]].n_reads == 1 && packing_of(lo, s->in[1]);
    return s->family == &qrn_family_conv && !((const qrn_conv_args *)s->args)->transposed &&
           w->dims[w->rank - 1] == n && qrn_lo_const_data(lo, s->in[1]);
}

static qrn_status fold(qrn_lowering *lo, const qrn_use *uses, uint32_t at) {
    qrn_plan *p = lo->plan;
    qrn_step *norm = &p->steps[at];
    const qrn_use *u = &uses[norm->in[0]];
    const qrn_view *y = &p->values[norm->out[0]].view;
    uint32_t n = y->rank ? y->dims[y->rank - 1] : 0;
    const float *factors = floats(lo, norm->in[1], n);
    bool shifted = norm->n_in > 2 && norm->in[2] != QRN_VAL_NONE;
    const float *shifts = shifted ? floats(lo, norm->in[2], n) : NULL;
    if (u->n_writes != 1 || u->n_reads != 1 || u->last_write > at || !factors ||
        (shifted && !shifts) || uses[norm->out[0]].n_writes != 1 ||
        p->values[norm->in[0]].storage != QRN_STORE_ARENA || !all_finite(factors, n))
        return QRN_OK;
    qrn_step *product = &p->steps[u->last_write - 1];
    if (!can_scale(lo, uses, product, n))
        return QRN_OK;
    const float *bias = floats(lo, bias_of(product), n);
    if (is_packed(product))
        QRN_TRY(scale_packed(lo, product, factors));
    else
        QRN_TRY(scale_filters(lo, &product->in[1], factors));
    if (bias || shifts) {
        qrn_val made;
        QRN_TRY(make_bias(lo, n, factors, shifts, bias, &made));
        QRN_TRY(set_bias(lo, product, made));
    }
    product->out[0] = norm->out[0];
    qrn_pass_drop(norm);
    return QRN_OK;
}

qrn_status qrn_pass_batchnorm(qrn_lowering *lo, const qrn_use *uses) {
    for (uint32_t i = 0; i < lo->plan->n_steps && !lo->half && !lo->opt->packed; i++) {
        const qrn_step *s = &lo->plan->steps[i];
        if (s->family == &qrn_family_affine && s->domain == QRN_DOMAIN_F32 &&
            qrn_pass_plain(lo, s) && s->n_in >= 2 && s->n_out == 1)
            QRN_TRY(fold(lo, uses, i));
    }
    return QRN_OK;
}
