// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 16-bit values: what is prepared per call. Encodings that the strips do
// not know (weights that are no bytes with their offset, multipliers of one or more) go to the rows
// of depthwise_q16.h.
#include "kernels/conv/depthwise16.h"

#include "kernels/conv/depthwise_q16.h"
#include "kernels/gemm/epilogue/requant.h"

#include <string.h>

#define BIAS_MAX (INT32_C(1) << 29) // with 128 taps of 2^15 * 2^7 below 2^31
#define SCALE_MAX 0.5               // results before they are clamped fit 32 bits as well
#define START_MAX 0x1p29

static bool is_signed(const qrn_view *v) { return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED; }

static bool has_zero(const qrn_view *x) {
    int32_t low = is_signed(x) ? INT16_MIN : 0, zero = -x->quant->offset;
    return zero >= low && zero <= low + UINT16_MAX;
}

bool qrn_depthwise16_works(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *w = k->in[1], *y = k->out[0];
    return qrn_strips_work(k) && qrn_depthwise_q16_works(k) && qrn_dtypes[x->dtype].bits == 16 &&
           qrn_dtypes[w->dtype].bits <= 8 && qrn_view_elem(y) == 2 &&
           (y->quant->bits == 0 || y->quant->bits >= 16) && has_zero(x);
}

// Where things lie in the scratch memory of a task.
typedef struct prepared {
    double *m, *start; // [channels]
    int32_t *bias;     // [channels]
    int8_t *w;         // [taps][channels], where the tensor's own will not do
    uint8_t *blocks;   // qrn_depthwise16_terms, and weights
    uint8_t *groups, *outside;
    size_t block_bytes, bytes;
    qrn_strip_shape shape;
} prepared;

static prepared layout_of(const qrn_kcall *k, const qrn_conv_geometry *g) {
    size_t channels = g->cin < QRN_STRIP_UNIT ? QRN_STRIP_UNIT : g->cin, starts[7];
    prepared p = {.shape = qrn_strip_shape_of(g, QRN_DEPTHWISE16_ROWS)};
    p.block_bytes =
        sizeof(qrn_depthwise16_terms) + qrn_strip_weights_bytes(g, &p.shape, QRN_DEPTHWISE16_UNITS);
    size_t sizes[] = {channels * sizeof(double),
                      channels * sizeof(double),
                      channels * sizeof(int32_t),
                      qrn_conv_taps(g) * g->cin,
                      qrn_strip_blocks(g->cin, QRN_DEPTHWISE16_UNITS) * p.block_bytes,
                      qrn_strip_room(g, &p.shape),
                      QRN_STRIP_OUTSIDE * 2 * g->cin + QRN_STRIP_VECTOR};
    for (int i = 0; i < 7; i++) {
        starts[i] = p.bytes;
        p.bytes += (sizes[i] + 63) / 64 * 64;
    }
    if (!k->scratch)
        return p;
    uint8_t *at = (uint8_t *)k->scratch + k->task * p.bytes;
    p.m = (double *)(void *)(at + starts[0]);
    p.start = (double *)(void *)(at + starts[1]);
    p.bias = (int32_t *)(void *)(at + starts[2]);
    p.w = (int8_t *)(at + starts[3]);
    p.blocks = at + starts[4];
    p.groups = at + starts[5];
    p.outside = at + starts[6];
    return p;
}

size_t qrn_depthwise16_scratch(const qrn_kcall *k) {
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, k->in[0], k->out[0], k->in[1]->dims);
    qrn_kcall bare = *k;
    bare.scratch = NULL;
    size_t mine = k->n_tasks * layout_of(&bare, &g).bytes, other = qrn_depthwise_q16_scratch(k);
    return mine > other ? mine : other;
}

// Multipliers, starts and bias of every channel. false: they are too large.
static bool channels_prepare(const qrn_kcall *k, const qrn_strip_kernel *kernel, const int8_t *w,
                             const qrn_conv_geometry *g, int32_t x_offset, prepared *p) {
    const qrn_view *y = k->out[0], *bias = k->n_in > 2 ? k->in[2] : NULL;
    double zero_half = qrn_requant_of(k->in[0], k->in[1], 0, y).zero_half;
    double shift = is_signed(y) ? 0x1p15 : 0;
    bool fits = true;
    memset(p->m, 0, QRN_STRIP_UNIT * sizeof *p->m); // there may be fewer channels than that
    memset(p->start, 0, QRN_STRIP_UNIT * sizeof *p->start);
    memset(p->bias, 0, QRN_STRIP_UNIT * sizeof *p->bias);
    kernel->channels(k, w, qrn_conv_taps(g), g->cin, p->m, p->bias);
    for (size_t c = 0; c < g->cin; c++) {
        int64_t sum = qrn_bias_sum(bias, c);
        double start = zero_half + qrn_bias_real(bias, c, y);
        fits &=
            sum <= BIAS_MAX && sum >= -BIAS_MAX && fabs(start) < START_MAX && p->m[c] < SCALE_MAX;
        p->bias[c] = (int32_t)((uint32_t)p->bias[c] * (uint32_t)x_offset + (uint32_t)sum +
                               (UINT32_C(1) << 31));
        p->start[c] = start + shift;
    }
    return fits;
}

static void terms_prepare(const prepared *p, const qrn_strip_block *b, qrn_depthwise16_terms *to) {
    for (uint32_t i = 0; i < b->units * QRN_STRIP_UNIT; i += 4) {
        uint32_t lane = qrn_depthwise16_lane(b->units, i), unit = lane / 16, pair = lane % 16 / 2;
        memcpy(to->bias[0] + lane, p->bias + b->first + i, 4 * sizeof(int32_t));
        for (uint32_t h = 0; h < 2; h++) {
            memcpy(to->m[unit][h] + pair, p->m + b->first + i + 2 * h, 2 * sizeof(double));
            memcpy(to->start[unit][h] + pair, p->start + b->first + i + 2 * h, 2 * sizeof(double));
        }
    }
}

qrn_status qrn_depthwise16_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                               qrn_kernel_fn otherwise) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    qrn_conv_geometry g = qrn_conv_geometry_of(k->args, x, y, k->in[1]->dims);
    prepared p = layout_of(k, &g);
    int32_t x_offset = x->quant->offset + (is_signed(x) ? 0 : 32768);
    const int8_t *w = qrn_strip_weights(k->in[1], g.cin, p.w);
    if (!w || !channels_prepare(k, kernel, w, &g, x_offset, &p))
        return otherwise(k);
    qrn_grid_part part = qrn_strip_part_of(k, &g, QRN_DEPTHWISE16_UNITS);
    if (part.r0 >= part.r1)
        return QRN_OK;
    qrn_depthwise16_job j = {.y_flip = is_signed(y) ? 0x8000 : 0};
    qrn_strip_plan plan = {.k = k,
                           .g = g,
                           .shape = p.shape,
                           .elem = 2,
                           .flip = !is_signed(x),
                           .blocks = p.blocks,
                           .terms_bytes = sizeof(qrn_depthwise16_terms),
                           .block_bytes = p.block_bytes,
                           .groups = p.groups,
                           .outside = p.outside,
                           .part = part,
                           .job = &j};
    QRN_STRIP_BLOCKS(b, i, g.cin, QRN_DEPTHWISE16_UNITS) {
        if (i < part.c0 || i >= part.c1)
            continue;
        uint8_t *to = p.blocks + i * p.block_bytes;
        terms_prepare(&p, &b, (qrn_depthwise16_terms *)(void *)to);
        qrn_strip_pack(kernel, &g, &p.shape, &b, w, to + sizeof(qrn_depthwise16_terms));
    }
    uint16_t outside = (uint16_t)-x->quant->offset;
    for (size_t at = 0; at < QRN_STRIP_VECTOR; at += 2)
        memcpy(plan.pad + at, &outside, 2);
    for (size_t column = 0; column < QRN_STRIP_OUTSIDE; column++)
        memcpy(p.outside + column * 2 * g.cin, plan.pad, QRN_STRIP_VECTOR);
    kernel->rows(&plan);
    return QRN_OK;
}
