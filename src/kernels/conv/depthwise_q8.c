// SPDX-License-Identifier: MIT
//
// Loops of the quantized depthwise convolution, its portable row, and what is prepared per call.
#include "kernels/conv/depthwise_q8.h"

#include "kernels/conv/depthwise_wide.h"
#include "kernels/gemm/epilogue/requant.h"

#define OFFSET_MAX 255              // sums of 128 products of such numbers stay below 2^26
#define BIAS_MAX (INT32_C(1) << 30) // larger ones are left to depthwise_wide.h

static bool offset_fits(int32_t o) { return o >= -OFFSET_MAX && o <= OFFSET_MAX; }

bool qrn_depthwise_q8_works(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    const qrn_view *x = k->in[0], *w = k->in[1];
    uint32_t last = a->n_spatial + 1;
    bool fits = qrn_dtypes[x->dtype].bits == 8 && qrn_dtypes[w->dtype].bits <= 8 &&
                !a->transposed && a->group == x->dims[last] && a->group == k->out[0]->dims[last] &&
                w->quant->kind != QRN_QUANT_BLOCK && offset_fits(x->quant->offset) &&
                qrn_view_span(w, 0, a->n_spatial) <= QRN_DEPTHWISE_TAPS;
    for (uint32_t g = 0; fits && g < (w->quant->kind == QRN_QUANT_AXIS ? w->quant->n_groups : 1);
         g++)
        fits = offset_fits(qrn_group_offset(w->quant, g));
    return fits;
}

// What a task prepares: weights as 16-bit numbers, and one entry per channel of the rest.
typedef struct prepared {
    double *exact; // multipliers, and rounded
    float *m;
    int32_t *bias, *acc;
    int16_t *w; // [taps][channels]
} prepared;

static size_t prepared_bytes(const qrn_kcall *k) {
    size_t channels = ((const qrn_conv_args *)k->args)->group;
    size_t bytes = channels * (sizeof(double) + sizeof(float) + 2 * sizeof(int32_t)) +
                   qrn_view_count(k->in[1]) * sizeof(int16_t);
    return (bytes + 63) / 64 * 64;
}

size_t qrn_depthwise_q8_scratch(const qrn_kcall *k) { return k->n_tasks * prepared_bytes(k); }

static prepared prepare(const qrn_kcall *k, size_t channels) {
    char *at = (char *)k->scratch + k->task * prepared_bytes(k);
    const qrn_view *w = k->in[1];
    const int32_t *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    prepared p = {.exact = (double *)(void *)at};
    p.m = (float *)(void *)(p.exact + channels);
    p.bias = (int32_t *)(void *)(p.m + channels);
    p.acc = p.bias + channels;
    p.w = (int16_t *)(void *)(p.acc + channels);
    for (size_t c = 0; c < channels; c++) {
        p.exact[c] = qrn_requant_of(k->in[0], w, c, k->out[0]).m;
        p.m[c] = (float)p.exact[c];
        p.bias[c] = bias && !qrn_depthwise_is_wide(bias[c], BIAS_MAX) ? bias[c] : 0;
    }
    for (size_t i = 0; i < qrn_view_count(w); i += channels)
        for (size_t c = 0; c < channels; c++)
            p.w[i + c] = (int16_t)(qrn_q_load(w, i + c) + qrn_group_offset(w->quant, c));
    return p;
}

size_t qrn_depthwise_taps(const qrn_conv_geometry *g, size_t cell, size_t *offset, size_t *weight) {
    qrn_conv_cell at = qrn_conv_cell_at(g, cell);
    size_t n = qrn_conv_inside(g, &at, 0, QRN_DEPTHWISE_TAPS, offset, weight);
    for (size_t t = 0; t < n; t++) {
        offset[t] *= g->cin;
        weight[t] *= g->cin;
    }
    return n;
}

void qrn_depthwise_q8_tail(const qrn_depthwise_q8_cell *d, size_t c) {
    for (; c < d->channels; c++) {
        int32_t acc = d->bias[c];
        for (size_t t = 0; t < d->taps; t++)
            acc += ((uint8_t)(d->x[d->offset[t] + c] ^ d->flip) + d->x_offset) *
                   d->w[d->weight[t] + c];
        if (d->acc)
            d->acc[c] = acc;
        else
            d->y[c] = qrn_requant8_exact(d->requant, c, acc);
    }
}

static void cell_any(const qrn_depthwise_q8_cell *d) { qrn_depthwise_q8_tail(d, 0); }

static void store16(const qrn_kcall *k, const int32_t *acc, size_t first, size_t channels) {
    for (size_t c = 0; c < channels; c++) {
        qrn_requant r = qrn_requant_of(k->in[0], k->in[1], c, k->out[0]);
        qrn_q_store(k->out[0], first + c, qrn_requantize(&r, acc[c]));
    }
}

static qrn_status run(const qrn_kcall *k, void (*cell_sums)(const qrn_depthwise_q8_cell *d)) {
    const qrn_view *x = k->in[0], *w = k->in[1], *y = k->out[0];
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, x, y, w->dims);
    prepared p = prepare(k, g.cin);
    qrn_requant r = qrn_requant_of(x, w, 0, y);
    qrn_requant8 requant = qrn_requant8_of(p.m, p.exact, r.zero_half, r.lo, r.hi);
    bool is_signed = x->dtype == QRN_DTYPE_SQ8, is16 = qrn_view_elem(y) > 1;
    size_t offset[QRN_DEPTHWISE_TAPS], weight[QRN_DEPTHWISE_TAPS];
    qrn_depthwise_q8_cell d = {.x = x->data,
                               .w = p.w,
                               .offset = offset,
                               .weight = weight,
                               .channels = g.cin,
                               .flip = is_signed ? 0x80 : 0,
                               .x_offset = (int16_t)(x->quant->offset - (is_signed ? 128 : 0)),
                               .bias = p.bias,
                               .requant = &requant,
                               .acc = is16 ? p.acc : NULL};
    size_t begin, end;
    qrn_split(qrn_conv_cells(&g), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t cell = begin; cell < end; cell++) {
        if (cell > begin && qrn_conv_slides(&g, cell)) {
            d.x += (size_t)g.stride[2] * g.cin;
        } else {
            d.x = x->data;
            d.taps = qrn_depthwise_taps(&g, cell, offset, weight);
        }
        d.y = (uint8_t *)y->data + cell * g.cin;
        cell_sums(&d);
        if (is16)
            store16(k, p.acc, cell * g.cin, g.cin);
    }
    qrn_depthwise_wide(k, &g, BIAS_MAX, 0, g.cin, begin, end);
    qrn_report(k, begin * g.cin, end * g.cin);
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_depthwise_q8_avx512(const qrn_kcall *k) {
    return run(k, qrn_depthwise_q8_cell_avx512);
}
qrn_status qrn_depthwise_q8_avx2(const qrn_kcall *k) { return run(k, qrn_depthwise_q8_cell_avx2); }
#elif defined(__aarch64__)
qrn_status qrn_depthwise_q8_neon(const qrn_kcall *k) { return run(k, qrn_depthwise_q8_cell_neon); }
#endif
qrn_status qrn_depthwise_q8_any(const qrn_kcall *k) { return run(k, cell_any); }
