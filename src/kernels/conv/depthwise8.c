// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 8-bit codes: what is prepared per call, and results by the definition.
// Encodings that the strips do not know (weights that are no bytes with their offset, results of
// fewer bits) go to the rows of depthwise_q8.h.
#include "kernels/conv/depthwise8.h"

#include "kernels/conv/depthwise_q8.h"
#include "kernels/gemm/requant.h"

#include <string.h>

#define BIAS_MAX (INT32_C(1) << 30)
#define ZERO_MAX 4096.0  // results of fixed point have room for much more
#define SCALE_MAX 0x1p30 // multipliers are finite floats

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
    uint8_t *patch;
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
                      QRN_STRIP_PATCH};
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
    p.patch = at + starts[5];
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

// Weights with their offset as signed bytes; NULL when they are none.
static const int8_t *weights(const qrn_view *w, size_t channels, int8_t *room) {
    bool plain = w->dtype == QRN_DTYPE_SQ8 && (w->quant->bits == 0 || w->quant->bits >= 8);
    for (size_t c = 0; plain && c < channels; c++)
        plain = qrn_group_offset(w->quant, c) == 0;
    if (plain)
        return w->data;
    for (size_t i = 0; i < qrn_view_count(w); i += channels)
        for (size_t c = 0; c < channels; c++) {
            int32_t v = qrn_code(w, i + c) + qrn_group_offset(w->quant, c);
            if (v < INT8_MIN || v > INT8_MAX)
                return NULL;
            room[i + c] = (int8_t)v;
        }
    return room;
}

// Multipliers and bias of every channel. false: they are too large.
static bool channels_prepare(const qrn_kcall *k, const int8_t *w, size_t taps, size_t channels,
                             int32_t x_offset, prepared *p) {
    const int32_t *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    const qrn_quant *q = k->in[1]->quant;
    double scale_x = (double)k->in[0]->quant->scale, scale_y = (double)k->out[0]->quant->scale;
    int32_t most = 0, least = 0;
    double largest = 0;
    memset(p->m, 0, QRN_STRIP_VECTOR * sizeof *p->m); // there may be fewer channels than that
    memset(p->bias, 0, QRN_STRIP_VECTOR * sizeof *p->bias);
    for (size_t c = 0; c < channels; c++)
        p->exact[c] = scale_x * qrn_group_scale(q, c) / scale_y;
    for (size_t c = 0; c < channels; c++) {
        largest = p->exact[c] > largest ? p->exact[c] : largest;
        p->m[c] = (float)(p->exact[c] * 0x1p16);
        p->bias[c] = 0;
    }
    for (size_t t = 0; t < taps; t++)
        for (size_t c = 0; c < channels; c++)
            p->bias[c] += w[t * channels + c];
    for (size_t c = 0; c < channels; c++) {
        int32_t b = bias ? bias[c] : 0;
        most = b > most ? b : most;
        least = b < least ? b : least;
        p->bias[c] = (int32_t)((uint32_t)p->bias[c] * (uint32_t)x_offset + (uint32_t)b);
    }
    return most <= BIAS_MAX && least >= -BIAS_MAX && largest < SCALE_MAX;
}

// Four neighbouring channels are neighbours in a block as well.
static void block_prepare(const prepared *p, const qrn_strip_block *b, const int8_t *w,
                          const qrn_conv_geometry *g, const qrn_depthwise8_kernel *kernel,
                          qrn_depthwise8_block *to) {
    int8_t row[QRN_DEPTHWISE8_ROWS][QRN_STRIP_VECTOR] = {{0}};
    const int8_t *rows[QRN_DEPTHWISE8_ROWS] = {row[0], row[1], row[2], row[3]};
    for (uint32_t v = 0; v < 4; v++)
        for (uint32_t l = 0; l < 16; l += 4) {
            size_t c = b->first + qrn_depthwise8_at(v, l) % (QRN_STRIP_VECTOR / b->pieces);
            memcpy(&to->bias[v][l], p->bias + c, 4 * sizeof(int32_t));
            memcpy(&to->m[v][l], p->m + c, 4 * sizeof(float));
        }
    int8_t *next = to->w;
    for (size_t t = 0; t < (size_t)g->kernel[2]; t++)
        for (size_t first = 0; first < p->groups * 4; first += 4, next += 256) {
            for (size_t n = 0; n < 4; n++) {
                size_t tap = (first + n) * (size_t)g->kernel[2] + t;
                bool is = first + n < (size_t)g->kernel[1];
                for (size_t q = 0; q < b->pieces; q++)
                    if (is)
                        memcpy(row[n] + q * b->bytes, w + tap * g->cin + b->first, b->bytes);
                if (!is)
                    memset(row[n], 0, sizeof row[n]);
            }
            kernel->pack(rows, next);
        }
}

void qrn_depthwise8_decide(const qrn_strip *s, size_t o, uint32_t v, uint32_t l) {
    const qrn_depthwise8_job *j = s->job;
    const qrn_depthwise8_block *b = qrn_depthwise8_block_of(j, s->index);
    size_t at = qrn_depthwise8_at(v, l), piece = QRN_STRIP_VECTOR / s->block->pieces;
    const uint8_t *x = s->x + o * s->x_out + at / piece * s->x_piece + at % piece;
    int32_t acc = b->bias[v][l];
    for (size_t t = 0; t < s->kernel[1]; t++)
        for (size_t r = 0; r < s->kernel[0]; r++)
            acc += x[r * s->x_row + t * s->x_tap] *
                   b->w[((t * j->groups + r / 4) * 4 + v) * 64 + l * 4 + r % 4];
    s->y[o * s->y_out + at / piece * s->y_piece + at % piece] =
        qrn_round8_exact(&j->round, s->block->first + at % piece, acc);
}

// Fractions of 2^-16; one more for the rounding to them.
static void set_rounding(qrn_depthwise8_job *j, bool is_signed) {
    double slack = (double)j->round.start[1] - j->round.zero_half;
    int32_t units = (int32_t)ceil(slack * 0x1p16) + 2;
    double start = (j->round.zero_half + (is_signed ? 128 : 0)) * 0x1p16;
    j->start = (float)(start - units);
    j->edge = (uint16_t)(0x10000 - 2 * units);
    j->flip = is_signed ? 0x80 : 0;
}

qrn_status qrn_depthwise8_run(const qrn_kcall *k, const qrn_depthwise8_kernel *kernel,
                              qrn_kernel_fn otherwise) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    qrn_conv_geometry g = geometry(k);
    prepared p = layout_of(k, &g);
    bool x_signed = x->dtype == QRN_DTYPE_SQ8, y_signed = y->dtype == QRN_DTYPE_SQ8;
    const int8_t *w = weights(k->in[1], g.cin, p.w);
    if (!w || !channels_prepare(k, w, qrn_conv_taps(&g), g.cin,
                                x->quant->offset - (x_signed ? 128 : 0), &p))
        return otherwise(k);
    qrn_requant r = qrn_requant_of(x, k->in[1], 0, y);
    qrn_depthwise8_job j = {.blocks = p.blocks, .block_bytes = p.block_bytes, .groups = p.groups};
    j.round = qrn_round8_of(p.m, p.exact, r.zero_half, r.lo, r.hi);
    set_rounding(&j, y_signed);
    for (size_t i = 0; i < qrn_strip_blocks(g.cin); i++) {
        qrn_strip_block b = qrn_strip_block_at(&g, g.cin, i);
        block_prepare(&p, &b, w, &g, kernel, (void *)(p.blocks + i * p.block_bytes));
    }
    qrn_strip_plan plan = {.g = g,
                           .x = x->data,
                           .y = y->data,
                           .cell = g.cin,
                           .flip = x_signed ? 0x80 : 0,
                           .patch = p.patch,
                           .job = &j};
    memset(plan.pad, (uint8_t)-x->quant->offset, sizeof plan.pad);
    size_t begin, end, width = (size_t)g.out[2] * g.cin;
    qrn_split(g.batch * (size_t)g.out[1], 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++) {
        kernel->rows(&plan, row, row + 1);
        qrn_tell(k, row * width, (row + 1) * width);
    }
    return QRN_OK;
}
