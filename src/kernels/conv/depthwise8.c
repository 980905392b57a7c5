// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 8-bit values: what is prepared per call, and results by the definition.
// Encodings that the strips do not know (weights that are no bytes with their offset, results of
// fewer bits) go to the rows of depthwise_q8.h, channels with a large bias to depthwise_wide.h.
#include "kernels/conv/depthwise8.h"

#include "kernels/conv/depthwise_q8.h"
#include "kernels/gemm/epilogue/requant.h"

#include <string.h>

#define BIAS_MAX (INT32_C(1) << 23) // with 128 taps of 255 * 128 below 2^24, a float
#define ZERO_MAX 4096.0             // results of fixed point have room for much more
#define SCALE_MAX 0x1p30            // multipliers are finite floats
#define WIDE_PART 16                // with more than a 16th of wide channels, vectors for all win

static bool has_zero(const qrn_view *x) {
    int32_t zero = -x->quant->offset;
    return x->dtype == QRN_DTYPE_SQ8 ? zero >= INT8_MIN && zero <= INT8_MAX
                                     : zero >= 0 && zero <= UINT8_MAX;
}

bool qrn_depthwise8_works(const qrn_kcall *k) {
    const qrn_view *y = k->out[0];
    return qrn_strips_work(k) && qrn_depthwise_q8_works(k) && has_zero(k->in[0]) &&
           qrn_view_elem(y) == 1 && (y->quant->bits == 0 || y->quant->bits >= 8) &&
           fabs((double)y->quant->offset) < ZERO_MAX;
}

// Where things lie in the scratch memory of a task.
typedef struct prepared {
    double *exact;   // [channels] multipliers
    float *m;        // [channels] as floats
    int32_t *bias;   // [channels]
    int8_t *w;       // [taps][channels], where the tensor's own will not do
    uint8_t *blocks; // qrn_depthwise8_terms, and weights
    uint8_t *groups, *outside;
    size_t block_bytes, bytes;
    qrn_strip_shape shape;
    bool wide; // some channels are
} prepared;

static size_t rounded_up(size_t n) { return (n + 63) / 64 * 64; }

static prepared layout_of(const qrn_kcall *k, const qrn_conv_geometry *g) {
    size_t channels = g->cin < QRN_STRIP_UNIT ? QRN_STRIP_UNIT : g->cin;
    uint8_t *at = k->scratch;
    prepared p = {.shape = qrn_strip_shape_of(g, QRN_DEPTHWISE8_ROWS)};
    p.block_bytes =
        sizeof(qrn_depthwise8_terms) + qrn_strip_weights_bytes(g, &p.shape, QRN_DEPTHWISE8_UNITS);
    size_t sizes[] = {channels * sizeof(double),
                      channels * sizeof(float),
                      channels * sizeof(int32_t),
                      qrn_conv_taps(g) * g->cin,
                      qrn_strip_blocks(g->cin, QRN_DEPTHWISE8_UNITS) * p.block_bytes,
                      qrn_strip_room(g, &p.shape),
                      QRN_STRIP_OUTSIDE * g->cin + QRN_STRIP_VECTOR};
    size_t starts[7];
    for (int i = 0; i < 7; i++) {
        starts[i] = p.bytes;
        p.bytes += rounded_up(sizes[i]);
    }
    if (!at)
        return p;
    at += k->task * p.bytes;
    p.exact = (double *)(void *)(at + starts[0]);
    p.m = (float *)(void *)(at + starts[1]);
    p.bias = (int32_t *)(void *)(at + starts[2]);
    p.w = (int8_t *)(at + starts[3]);
    p.blocks = at + starts[4];
    p.groups = at + starts[5];
    p.outside = at + starts[6];
    return p;
}

static qrn_conv_geometry geometry(const qrn_kcall *k) {
    return qrn_conv_geometry_of(k->args, k->in[0], k->out[0], k->in[1]->dims);
}

size_t qrn_depthwise8_scratch(const qrn_kcall *k) {
    qrn_conv_geometry g = geometry(k);
    qrn_kcall bare = *k;
    bare.scratch = NULL;
    size_t mine = k->n_tasks * layout_of(&bare, &g).bytes, other = qrn_depthwise_q8_scratch(k);
    return mine > other ? mine : other;
}

// Multipliers and bias of every channel; wide ones have none. false: they are too large, or too
// many are wide.
static bool channels_prepare(const qrn_kcall *k, const qrn_strip_kernel *kernel, const int8_t *w,
                             const qrn_conv_geometry *g, int32_t x_offset, prepared *p) {
    const int32_t *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    bool fits = true;
    size_t wide = 0;
    memset(p->exact, 0, QRN_STRIP_UNIT * sizeof *p->exact); // there may be fewer channels than that
    memset(p->m, 0, QRN_STRIP_UNIT * sizeof *p->m);
    memset(p->bias, 0, QRN_STRIP_UNIT * sizeof *p->bias);
    kernel->channels(k, w, qrn_conv_taps(g), g->cin, p->exact, p->bias);
    for (size_t c = 0; c < g->cin; c++) {
        fits &= p->exact[c] < SCALE_MAX;
        p->m[c] = (float)(p->exact[c] * 0x1p16);
        p->bias[c] = (int32_t)((uint32_t)p->bias[c] * (uint32_t)x_offset);
    }
    for (size_t c = 0; bias && c < g->cin; c++) {
        wide += qrn_depthwise_is_wide(bias[c], BIAS_MAX);
        p->bias[c] = (int32_t)((uint32_t)p->bias[c] + (uint32_t)bias[c]);
    }
    for (size_t c = 0; wide && c < g->cin; c++)
        if (qrn_depthwise_is_wide(bias[c], BIAS_MAX))
            p->exact[c] = p->m[c] = 0; // for which no double has to decide
    p->wide = wide > 0;
    return fits && wide * WIDE_PART <= g->cin;
}

static void terms_prepare(const prepared *p, const qrn_strip_block *b, qrn_depthwise8_terms *to) {
    for (uint32_t i = 0; i < b->units * QRN_STRIP_UNIT; i += 4) {
        uint32_t lane = qrn_depthwise8_lane(b->units, i);
        memcpy(to->exact[0] + lane, p->exact + b->first + i, 4 * sizeof(double));
        memcpy(to->bias[0] + lane, p->bias + b->first + i, 4 * sizeof(int32_t));
        memcpy(to->m[0] + lane, p->m + b->first + i, 4 * sizeof(float));
    }
}

// By how much, in units of 2^-16, the float can miss the double: m is rounded by 2^-24, |acc * m|
// is no more than 257 + |zero| for a result in range, and that result, below 2^24 units, is rounded
// to one of them twice. Sums are exact floats. What is added makes results that can be on either
// side of a whole number those with small fractions.
static void set_requant(qrn_depthwise8_job *j, bool is_signed) {
    double start = (j->requant.zero_half + (is_signed ? 128 : 0)) * 0x1p16;
    double miss = (258 + fabs(j->requant.zero_half)) * 0x1p-8 + 0.5 + 0.5;
    j->start = (float)(start + miss);
    if ((double)j->start < start + miss)
        j->start = nextafterf(j->start, INFINITY);
    j->edge = (uint16_t)ceil((double)j->start - start + miss);
    j->flip = is_signed ? 0x80 : 0;
}

qrn_status qrn_depthwise8_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                              qrn_kernel_fn otherwise) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    qrn_conv_geometry g = geometry(k);
    prepared p = layout_of(k, &g);
    bool x_signed = x->dtype == QRN_DTYPE_SQ8, y_signed = y->dtype == QRN_DTYPE_SQ8;
    const int8_t *w = qrn_strip_weights(k->in[1], g.cin, p.w);
    bool flip = x_signed != kernel->is_signed;
    int32_t x_offset = x->quant->offset + (!flip ? 0 : x_signed ? -128 : 128);
    if (!w || !channels_prepare(k, kernel, w, &g, x_offset, &p))
        return otherwise(k);
    qrn_grid_part part = qrn_strip_part_of(k, &g, QRN_DEPTHWISE8_UNITS);
    if (part.r0 >= part.r1)
        return QRN_OK;
    qrn_requant r = qrn_requant_of(x, k->in[1], 0, y);
    qrn_depthwise8_job j = {.requant = qrn_requant8_of(p.m, p.exact, r.zero_half, r.lo, r.hi)};
    set_requant(&j, y_signed);
    QRN_STRIP_BLOCKS(b, i, g.cin, QRN_DEPTHWISE8_UNITS) {
        if (i < part.c0 || i >= part.c1)
            continue;
        uint8_t *to = p.blocks + i * p.block_bytes;
        terms_prepare(&p, &b, (qrn_depthwise8_terms *)(void *)to);
        qrn_strip_pack(kernel, &g, &p.shape, &b, w, to + sizeof(qrn_depthwise8_terms));
    }
    qrn_strip_plan plan = {.k = k,
                           .g = g,
                           .shape = p.shape,
                           .elem = 1,
                           .flip = flip,
                           .blocks = p.blocks,
                           .terms_bytes = sizeof(qrn_depthwise8_terms),
                           .block_bytes = p.block_bytes,
                           .groups = p.groups,
                           .outside = p.outside,
                           .part = part,
                           .bias_most = p.wide ? BIAS_MAX : 0,
                           .job = &j};
    memset(plan.pad, (uint8_t)-x->quant->offset, sizeof plan.pad);
    for (size_t column = 0; column < QRN_STRIP_OUTSIDE; column++)
        memset(p.outside + column * g.cin, plan.pad[0], QRN_STRIP_VECTOR);
    kernel->rows(&plan);
    return QRN_OK;
}
