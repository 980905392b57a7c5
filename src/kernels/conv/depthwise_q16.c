// SPDX-License-Identifier: MIT
//
// Loops of the depthwise convolution with 16-bit operands, and what is prepared per call.
#include "kernels/conv/depthwise_q16.h"

#include "kernels/conv/conv.h"
#include "kernels/gemm/epilogue/requant.h"

#define FN qrn_depthwise_q16_cell_any
#include "kernels/conv/depthwise_q16.inc"

static uint32_t bits_of(const qrn_view *v) { return qrn_dtypes[v->dtype].bits; }

bool qrn_depthwise_q16_works(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    const qrn_view *x = k->in[0], *w = k->in[1];
    uint32_t last = a->n_spatial + 1;
    return (bits_of(x) == 16 || bits_of(w) == 16) && !a->transposed && a->group == x->dims[last] &&
           a->group == k->out[0]->dims[last] && w->quant->kind != QRN_QUANT_BLOCK &&
           qrn_view_span(w, 0, a->n_spatial) <= QRN_DEPTHWISE_TAPS;
}

// What a task prepares, one entry per channel, and weights as numbers, [taps][channels].
typedef struct prepared {
    double *m, *bias, *start;
    float *w;
} prepared;

static size_t prepared_bytes(const qrn_kcall *k) {
    size_t channels = ((const qrn_conv_args *)k->args)->group;
    size_t bytes = channels * 3 * sizeof(double) + qrn_view_count(k->in[1]) * sizeof(float);
    return (bytes + 63) / 64 * 64;
}

size_t qrn_depthwise_q16_scratch(const qrn_kcall *k) { return k->n_tasks * prepared_bytes(k); }

static prepared prepare(const qrn_kcall *k, size_t channels) {
    const qrn_view *w = k->in[1], *bias = k->n_in > 2 ? k->in[2] : NULL;
    prepared p = {.m = (double *)(void *)((char *)k->scratch + k->task * prepared_bytes(k))};
    p.bias = p.m + channels;
    p.start = p.bias + channels;
    p.w = (float *)(void *)(p.start + channels);
    for (size_t c = 0; c < channels; c++) {
        qrn_requant r = qrn_requant_of(k->in[0], w, c, k->out[0]);
        p.m[c] = r.m;
        p.bias[c] = (double)qrn_bias_sum(bias, c);
        p.start[c] = r.zero_half + qrn_bias_real(bias, c, k->out[0]);
    }
    for (size_t i = 0; i < qrn_view_count(w); i += channels)
        for (size_t c = 0; c < channels; c++) // below 2^24: exact
            p.w[i + c] = (float)(qrn_q_load(w, i + c) + qrn_group_offset(w->quant, c));
    return p;
}

static qrn_status run(const qrn_kcall *k, void (*cell_fn)(const qrn_depthwise_q16_cell *d)) {
    const qrn_view *x = k->in[0], *w = k->in[1], *y = k->out[0];
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, x, y, w->dims);
    prepared p = prepare(k, g.cin);
    qrn_requant r = qrn_requant_of(x, w, 0, y);
    size_t offset[QRN_DEPTHWISE_TAPS], weight[QRN_DEPTHWISE_TAPS];
    qrn_depthwise_q16_cell d = {.x = x->data,
                                .x_type = x->dtype,
                                .w = p.w,
                                .offset = offset,
                                .weight = weight,
                                .channels = g.cin,
                                .x_offset = (double)x->quant->offset,
                                .bias = p.bias,
                                .m = p.m,
                                .start = p.start,
                                .lo = (double)r.lo,
                                .hi = (double)r.hi,
                                .y_elem = qrn_view_elem(y)};
    size_t begin, end;
    qrn_split(qrn_conv_cells(&g), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t cell = begin; cell < end; cell++) {
        if (cell > begin && qrn_conv_slides(&g, cell)) {
            d.x = (const char *)d.x + (size_t)g.stride[2] * g.cin * qrn_view_elem(x);
        } else {
            d.x = x->data;
            d.taps = qrn_depthwise_taps(&g, cell, offset, weight);
        }
        d.y = (char *)y->data + cell * g.cin * d.y_elem;
        cell_fn(&d);
    }
    qrn_report(k, begin * g.cin, end * g.cin);
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_depthwise_q16_avx512(const qrn_kcall *k) {
    return run(k, qrn_depthwise_q16_cell_avx512);
}
qrn_status qrn_depthwise_q16_avx2(const qrn_kcall *k) {
    return run(k, qrn_depthwise_q16_cell_avx2);
}
#elif defined(__aarch64__)
qrn_status qrn_depthwise_q16_neon(const qrn_kcall *k) {
    return run(k, qrn_depthwise_q16_cell_neon);
}
#endif
qrn_status qrn_depthwise_q16_any(const qrn_kcall *k) { return run(k, qrn_depthwise_q16_cell_any); }
