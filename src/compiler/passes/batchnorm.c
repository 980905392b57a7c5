// SPDX-License-Identifier: MIT
//
// Pass "batchnorm": a Batchnorm behind a float convolution or fully connected layer goes into its
// weights and bias: (W x + b) * f + s = (W f) x + (b f + s). Results differ in their last bits.
// Only for graphs that are never stored: it looks at numbers, which a graph from a binary may lack.
#include "compiler/gemm.h"
#include "compiler/passes.h"

#include "kernels/conv/conv.h"
#include "kernels/norm/norm.h"

#include <math.h>
#include <string.h>

static const float *floats(const qrn_lowering *lo, qrn_val v, size_t count) {
    const qrn_cvalue *x = v == QRN_VAL_NONE ? NULL : &lo->cg->values[v];
    if (!x || x->dtype != QRN_DTYPE_F32 || x->size_bytes != count * sizeof(float))
        return NULL;
    return qrn_lo_const_data(lo, v);
}

static bool all_finite(const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

// Weights of a GEMM: described, so that a binder can pack the tensor's own data and scale that.
static qrn_status scale_weights(qrn_lowering *lo, qrn_val *weights, uint32_t axis,
                                qrn_val factors) {
    qrn_cconst c = {
        .kind = QRN_CONST_SCALED, .axis = (uint8_t)axis, .source = *weights, .factors = factors};
    qrn_shape shape = lo->cg->values[*weights].shape;
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F32, &shape, NULL, weights));
    return qrn_lo_be_constant(lo, *weights, &c);
}

// Filters of a convolution that is no GEMM: output channels are the last dimension.
static qrn_status scale_filters(qrn_lowering *lo, qrn_val *filters, const float *factors) {
    const float *w = qrn_lo_const_data(lo, *filters);
    qrn_shape shape = lo->cg->values[*filters].shape;
    size_t n = lo->cg->values[*filters].size_bytes / sizeof *w, cout = shape.dims[shape.rank - 1];
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

static qrn_val bias_of(const qrn_cstep *s) { return s->n_in > 2 ? s->in[2] : QRN_VAL_NONE; }

static qrn_status set_bias(qrn_lowering *lo, qrn_cstep *s, qrn_val bias) {
    qrn_val *in = qrn_arena_alloc(lo->cg->arena, 3 * sizeof *in);
    if (!in)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    in[0] = s->in[0];
    in[1] = s->in[1];
    in[2] = bias;
    s->in = in;
    s->n_in = 3;
    return QRN_OK;
}

// Is the step a float GEMM or convolution whose weights can be scaled? n is the number of its
// columns.
static bool can_scale(qrn_lowering *lo, const qrn_cstep *s, size_t n) {
    if (!qrn_pass_plain(lo->cg, s) || s->domain != QRN_DOMAIN_F32 || s->n_in < 2 || s->n_in > 3 ||
        s->n_out != 1 || (bias_of(s) != QRN_VAL_NONE && !floats(lo, bias_of(s), n)))
        return false;
    qrn_gemm gemm;
    const qrn_cvalue *w = &lo->cg->values[s->in[1]];
    if (qrn_gemm_of(lo->cg, s, &gemm)) // not weights that were computed while lowering
        return lo->cg->constants[w->constant].kind == QRN_CONST_TENSOR &&
               qrn_lo_const_data(lo, s->in[1]);
    return s->op == &qrn_cop_conv && !((const qrn_conv_args *)s->args)->transposed &&
           w->shape.dims[w->shape.rank - 1] == n && qrn_lo_const_data(lo, s->in[1]);
}

static qrn_status fold(qrn_lowering *lo, const qrn_use *uses, uint32_t at) {
    qrn_compiled *p = lo->cg;
    qrn_cstep *norm = &p->steps[at];
    const qrn_use *u = &uses[norm->in[0]];
    const qrn_shape *y = &p->values[norm->out[0]].shape;
    uint32_t n = y->rank ? y->dims[y->rank - 1] : 0;
    const float *factors = floats(lo, norm->in[1], n);
    bool shifted = norm->n_in > 2 && norm->in[2] != QRN_VAL_NONE;
    const float *shifts = shifted ? floats(lo, norm->in[2], n) : NULL;
    if (u->n_writes != 1 || u->n_reads != 1 || u->last_write > at || !factors ||
        (shifted && !shifts) || uses[norm->out[0]].n_writes != 1 ||
        p->values[norm->in[0]].kind != QRN_CV_TEMP || !all_finite(factors, n))
        return QRN_OK;
    qrn_cstep *gemm_step = &p->steps[u->last_write - 1];
    if (!can_scale(lo, gemm_step, n))
        return QRN_OK;
    const float *bias = floats(lo, bias_of(gemm_step), n);
    qrn_gemm gemm;
    if (qrn_gemm_of(p, gemm_step, &gemm))
        QRN_TRY(scale_weights(lo, &gemm_step->in[1], gemm.channel_axis, norm->in[1]));
    else
        QRN_TRY(scale_filters(lo, &gemm_step->in[1], factors));
    if (bias || shifts) {
        qrn_val made;
        QRN_TRY(make_bias(lo, n, factors, shifts, bias, &made));
        QRN_TRY(set_bias(lo, gemm_step, made));
    }
    gemm_step->out[0] = norm->out[0];
    qrn_pass_drop(norm);
    return QRN_OK;
}

qrn_status qrn_pass_batchnorm(qrn_lowering *lo, const qrn_use *uses) {
    for (uint32_t i = 0;
         i < lo->cg->n_steps && (!lo->fp16 || lo->fp16 == QRN_FP16_AS_F32) && !lo->opt->stored;
         i++) {
        const qrn_cstep *s = &lo->cg->steps[i];
        if (s->op == &qrn_cop_affine && s->domain == QRN_DOMAIN_F32 && qrn_pass_plain(lo->cg, s) &&
            s->n_in >= 2 && s->n_out == 1)
            QRN_TRY(fold(lo, uses, i));
    }
    return QRN_OK;
}
