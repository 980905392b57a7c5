// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 8-bit codes: what is prepared per call, and results by the definition.
// Encodings that the strips do not know (weights that are no bytes with their offset, results of
// fewer bits) go to the rows of depthwise_q8.h.
#include "kernels/conv/depthwise8.h"

#include "kernels/conv/depthwise_q8.h"
#include "kernels/gemm/requant.h"

#include <string.h>

#define BIAS_MAX (INT32_C(1) << 23) // with 128 taps of 255 * 128 below 2^24, a float
#define ZERO_MAX 4096.0             // results of fixed point have room for much more
#define SCALE_MAX 0x1p30            // multipliers are finite floats

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
    uint8_t *blocks; // qrn_depthwise8_block
    uint8_t *ring;
    size_t block_bytes, groups, bytes;
} prepared;

static size_t rounded_up(size_t n) { return (n + 63) / 64 * 64; }

static prepared layout_of(const qrn_kcall *k, const qrn_conv_geometry *g) {
    size_t channels = g->cin < QRN_STRIP_VECTOR ? QRN_STRIP_VECTOR : g->cin;
    uint8_t *at = k->scratch;
    prepared p = {.groups = ((size_t)g->kernel[1] + 3) / 4};
    p.block_bytes = sizeof(qrn_depthwise8_block) + (size_t)g->kernel[2] * p.groups * 256;
    size_t sizes[] = {channels * sizeof(double),
                      channels * sizeof(float),
                      channels * sizeof(int32_t),
                      qrn_conv_taps(g) * g->cin,
                      qrn_strip_blocks(g->cin) * p.block_bytes,
                      qrn_strip_ring(g)};
    size_t starts[6];
    for (int i = 0; i < 6; i++) {
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
    p.ring = at + starts[5];
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

// Multipliers and bias of every channel. false: they are too large.
static bool channels_prepare(const qrn_kcall *k, const qrn_strip_kernel *kernel, const int8_t *w,
                             const qrn_conv_geometry *g, int32_t x_offset, prepared *p) {
    const int32_t *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    bool fits = true;
    memset(p->m, 0, QRN_STRIP_VECTOR * sizeof *p->m); // there may be fewer channels than that
    memset(p->bias, 0, QRN_STRIP_VECTOR * sizeof *p->bias);
    kernel->channels(k, w, qrn_conv_taps(g), g->cin, p->exact, p->bias);
    for (size_t c = 0; c < g->cin; c++) {
        fits &= p->exact[c] < SCALE_MAX;
        p->m[c] = (float)(p->exact[c] * 0x1p16);
        p->bias[c] = (int32_t)((uint32_t)p->bias[c] * (uint32_t)x_offset);
    }
    for (size_t c = 0; bias && c < g->cin; c++) {
        fits &= bias[c] <= BIAS_MAX && bias[c] >= -BIAS_MAX;
        p->bias[c] = (int32_t)((uint32_t)p->bias[c] + (uint32_t)bias[c]);
    }
    return fits;
}

// Four neighbouring channels are neighbours in a block as well.
static void block_prepare(const prepared *p, const qrn_strip_block *b, qrn_depthwise8_block *to) {
    for (uint32_t v = 0; v < 4; v++)
        for (uint32_t l = 0; l < 16; l += 4) {
            size_t c = b->first + qrn_depthwise8_at(v, l) % (QRN_STRIP_VECTOR / b->pieces);
            memcpy(&to->bias[v][l], p->bias + c, 4 * sizeof(int32_t));
            memcpy(&to->m[v][l], p->m + c, 4 * sizeof(float));
        }
}

// Numbers of channels that are not there never are unsure: their sums are 0.
void qrn_depthwise8_decide(const qrn_strip *s, size_t cell, uint32_t v, uint32_t l) {
    const qrn_depthwise8_job *j = s->job;
    const qrn_depthwise8_block *b = qrn_depthwise8_block_of(j, s->index);
    size_t at = qrn_depthwise8_at(v, l), piece = QRN_STRIP_VECTOR / s->block->pieces;
    int32_t acc = b->bias[v][l];
    for (size_t t = 0; t < s->taps; t++)
        for (size_t r = 0; r < s->rows; r++)
            acc += s->x[r][cell * piece + s->tap[t] + at] *
                   b->w[((t * j->groups + r / 4) * 4 + v) * 64 + l * 4 + r % 4];
    s->y[(cell + at / piece) * s->cell + at % piece] =
        qrn_round8_exact(&j->round, s->block->first + at % piece, acc);
}

// By how much, in units of 2^-16, the float can miss the double: m is rounded by 2^-24, |acc * m|
// is no more than 257 + |zero| for a result in range, and that result, below 2^25 units, is rounded
// to two of them and then to one. Sums are exact floats.
static void set_rounding(qrn_depthwise8_job *j, bool is_signed) {
    double start = (j->round.zero_half + (is_signed ? 128 : 0)) * 0x1p16;
    double units = ceil((258 + fabs(j->round.zero_half)) * 0x1p-8 + 1 + 0.5);
    j->start = (float)(start - units);
    if ((double)j->start > start - units) // a zero far away
        j->start = nextafterf(j->start, -INFINITY);
    j->edge = (uint16_t)(0x10000 - (int32_t)ceil(start - (double)j->start + units));
    j->flip = is_signed ? 0x80 : 0;
}

qrn_status qrn_depthwise8_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                              qrn_kernel_fn otherwise) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    qrn_conv_geometry g = geometry(k);
    prepared p = layout_of(k, &g);
    bool x_signed = x->dtype == QRN_DTYPE_SQ8, y_signed = y->dtype == QRN_DTYPE_SQ8;
    const int8_t *w = qrn_strip_weights(k->in[1], g.cin, p.w);
    int32_t x_offset = x->quant->offset - (x_signed ? 128 : 0);
    if (!w || !channels_prepare(k, kernel, w, &g, x_offset, &p))
        return otherwise(k);
    qrn_requant r = qrn_requant_of(x, k->in[1], 0, y);
    qrn_depthwise8_job j = {.blocks = p.blocks, .block_bytes = p.block_bytes, .groups = p.groups};
    j.round = qrn_round8_of(p.m, p.exact, r.zero_half, r.lo, r.hi);
    set_rounding(&j, y_signed);
    for (size_t i = 0; i < qrn_strip_blocks(g.cin); i++) {
        qrn_strip_block b = qrn_strip_block_at(&g, g.cin, i);
        qrn_depthwise8_block *to = (void *)(p.blocks + i * p.block_bytes);
        block_prepare(&p, &b, to);
        qrn_strip_pack(kernel, &g, &b, w, 1, 4, 256, (uint8_t *)to->w);
    }
    qrn_strip_plan plan = {.g = g, .k = k, .elem = 1, .cell = g.cin, .ring = p.ring, .job = &j};
    memset(plan.pad, (uint8_t)-x->quant->offset, sizeof plan.pad);
    memset(plan.flip, x_signed ? 0x80 : 0, sizeof plan.flip);
    size_t begin, end;
    qrn_split(g.batch * (size_t)g.out[1], 1, k->task, k->n_tasks, &begin, &end);
    kernel->rows(&plan, begin, end);
    return QRN_OK;
}
