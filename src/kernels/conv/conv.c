// SPDX-License-Identifier: MIT
//
// The conv family: geometry shared by all rows, the reference rows for real numbers, the row list.
#include "kernels/conv/conv.h"

#include "base/cpu.h"
#include "kernels/conv/depthwise16.h"
#include "kernels/conv/depthwise8.h"
#include "kernels/conv/depthwise_f32.h"
#include "kernels/conv/depthwise_q8.h"
#include "kernels/conv/depthwise_q16.h"

qrn_conv_geometry qrn_conv_geometry_of(const qrn_conv_args *a, const qrn_view *x, const qrn_view *y,
                                       const uint32_t *kernel_dims) {
    uint32_t last = a->n_spatial + 1, lead = 3 - a->n_spatial;
    qrn_conv_geometry g = {.batch = y->dims[0],
                           .cin = x->dims[last],
                           .cout = y->dims[last],
                           .group = a->group,
                           .transposed = a->transposed};
    for (uint32_t i = 0; i < 3; i++) {
        bool real = i >= lead;
        uint32_t d = real ? i - lead : 0;
        g.in[i] = real ? x->dims[1 + d] : 1;
        g.out[i] = real ? y->dims[1 + d] : 1;
        g.kernel[i] = real ? kernel_dims[d] : 1;
        g.stride[i] = real ? a->stride[d] : 1;
        g.dilation[i] = real ? a->dilation[d] : 1;
        g.before[i] = real ? a->before[d] : 0;
    }
    return g;
}

size_t qrn_conv_cells(const qrn_conv_geometry *g) {
    return g->batch * (size_t)(g->out[0] * g->out[1] * g->out[2]);
}

size_t qrn_conv_taps(const qrn_conv_geometry *g) {
    return (size_t)(g->kernel[0] * g->kernel[1] * g->kernel[2]);
}

qrn_conv_cell qrn_conv_cell_at(const qrn_conv_geometry *g, size_t cell) {
    qrn_conv_cell c;
    int64_t rest = (int64_t)cell;
    for (int i = 2; i >= 0; i--) {
        c.at[i] = rest % g->out[i];
        rest /= g->out[i];
    }
    c.n = rest;
    return c;
}

int64_t qrn_conv_source(const qrn_conv_geometry *g, const qrn_conv_cell *cell, size_t tap) {
    int64_t pos[3], rest = (int64_t)tap;
    for (int i = 2; i >= 0; i--) {
        int64_t reach = rest % g->kernel[i] * g->dilation[i];
        rest /= g->kernel[i];
        if (g->transposed) { // the tap writes to pos*stride + reach - before
            pos[i] = cell->at[i] + g->before[i] - reach;
            if (pos[i] % g->stride[i])
                return -1;
            pos[i] /= g->stride[i];
        } else {
            pos[i] = cell->at[i] * g->stride[i] + reach - g->before[i];
        }
        if (pos[i] < 0 || pos[i] >= g->in[i])
            return -1;
    }
    return ((cell->n * g->in[0] + pos[0]) * g->in[1] + pos[1]) * g->in[2] + pos[2];
}

// Cells of a window along dimension i that lie in the input: [*low, *high).
static void reach(const qrn_conv_geometry *g, const qrn_conv_cell *cell, int i, int64_t *low,
                  int64_t *high) {
    int64_t from = cell->at[i] * g->stride[i] - g->before[i], d = g->dilation[i];
    *low = 0;
    *high = g->kernel[i];
    while (*low < *high && from + *low * d < 0)
        ++*low;
    while (*high > *low && from + (*high - 1) * d >= g->in[i])
        --*high;
}

size_t qrn_conv_inside(const qrn_conv_geometry *g, const qrn_conv_cell *cell, size_t first,
                       size_t max, size_t *source, size_t *tap) {
    int64_t low[3], high[3], at[3];
    size_t n = 0;
    for (int i = 0; i < 3; i++) {
        reach(g, cell, i, &low[i], &high[i]);
        at[i] = cell->at[i] * g->stride[i] - g->before[i];
    }
    for (int64_t a = low[0]; a < high[0]; a++)
        for (int64_t b = low[1]; b < high[1]; b++) {
            int64_t line = ((cell->n * g->in[0] + at[0] + a * g->dilation[0]) * g->in[1] + at[1] +
                            b * g->dilation[1]) *
                           g->in[2];
            for (int64_t c = low[2]; c < high[2]; c++) {
                size_t t = (size_t)((a * g->kernel[1] + b) * g->kernel[2] + c);
                if (t < first || t >= first + max)
                    continue;
                source[n] = (size_t)(line + at[2] + c * g->dilation[2]);
                tap[n++] = t;
            }
        }
    return n;
}

bool qrn_conv_slides(const qrn_conv_geometry *g, size_t cell) {
    int64_t at = (int64_t)cell % g->out[2];
    int64_t first = (at - 1) * g->stride[2] - g->before[2];
    int64_t last = at * g->stride[2] - g->before[2] + (g->kernel[2] - 1) * g->dilation[2];
    return at > 0 && first >= 0 && last < g->in[2] && !g->transposed;
}

size_t qrn_conv_weight(const qrn_conv_geometry *g, size_t tap, size_t ci, size_t co) {
    size_t cin = g->cin / g->group, cout = g->cout / g->group;
    if (g->transposed)
        return (tap * g->cin + co / cout * cin + ci) * cout + co % cout;
    return (tap * cin + ci) * g->cout + co;
}

size_t qrn_conv_run(const qrn_conv_geometry *g, size_t co) {
    size_t cout = g->cout / g->group, left = cout - co % cout;
    return left < QRN_CONV_CHANNELS ? left : QRN_CONV_CHANNELS;
}

uint32_t qrn_conv_tasks(const qrn_kcall *k, uint32_t n_threads) {
    size_t products = qrn_view_count(k->out[0]) * qrn_view_span(k->in[1], 0, k->in[1]->rank - 1);
    return products < 65536 ? 1 : n_threads;
}

#define T float
#define FN conv_f32_ref
#include "kernels/conv/conv.inc"
#undef T
#undef FN
#define T double
#define FN conv_f64_ref
#include "kernels/conv/conv.inc"

static bool per_block(const qrn_kcall *k) { return k->in[1]->quant->kind == QRN_QUANT_BLOCK; }

#define DEPTHWISE(isa, bit)                                                                        \
    {                                                                                              \
        .name = "depthwise_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit,                     \
        .fn = qrn_depthwise_f32_##isa, .works = qrn_depthwise_f32_works, .tasks = qrn_conv_tasks   \
    }

#define DEPTHWISE_Q8(isa, bit)                                                                     \
    {                                                                                              \
        .name = "depthwise_q8_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                      \
        .fn = qrn_depthwise_q8_##isa, .works = qrn_depthwise_q8_works, .tasks = qrn_conv_tasks,    \
        .scratch = qrn_depthwise_q8_scratch                                                        \
    }

#define DEPTHWISE_Q16(isa, bit)                                                                    \
    {                                                                                              \
        .name = "depthwise_q16_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                     \
        .fn = qrn_depthwise_q16_##isa, .works = qrn_depthwise_q16_works, .tasks = qrn_conv_tasks,  \
        .scratch = qrn_depthwise_q16_scratch                                                       \
    }

static const qrn_kernel conv_rows[] = {
#if defined(__x86_64__)
    DEPTHWISE(avx512, QRN_ISA_AVX512),
    DEPTHWISE(avx2, QRN_ISA_AVX2),
    {.name = "depthwise8_avx512vnni",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_AVX512VNNI,
     .fn = qrn_depthwise8_avx512vnni,
     .works = qrn_depthwise8_works,
     .tasks = qrn_conv_tasks,
     .scratch = qrn_depthwise8_scratch},
    {.name = "depthwise16_avx512vnni",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_AVX512VNNI,
     .fn = qrn_depthwise16_avx512vnni,
     .works = qrn_depthwise16_works,
     .tasks = qrn_conv_tasks,
     .scratch = qrn_depthwise16_scratch},
    DEPTHWISE_Q8(avx512, QRN_ISA_AVX512),
    DEPTHWISE_Q16(avx512, QRN_ISA_AVX512),
    DEPTHWISE_Q8(avx2, QRN_ISA_AVX2),
    DEPTHWISE_Q16(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    DEPTHWISE(neon, QRN_ISA_NEON),
    {.name = "depthwise8_neondot",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_NEONDOT,
     .fn = qrn_depthwise8_neondot,
     .works = qrn_depthwise8_works,
     .tasks = qrn_conv_tasks,
     .scratch = qrn_depthwise8_scratch},
    {.name = "depthwise16_neon",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_NEON,
     .fn = qrn_depthwise16_neon,
     .works = qrn_depthwise16_works,
     .tasks = qrn_conv_tasks,
     .scratch = qrn_depthwise16_scratch},
    DEPTHWISE_Q8(neon, QRN_ISA_NEON),
    DEPTHWISE_Q16(neon, QRN_ISA_NEON),
#endif
    DEPTHWISE_Q8(any, 0),
    DEPTHWISE_Q16(any, 0),
    {.name = "conv_f32_ref", .domain = QRN_DOMAIN_F32, .fn = conv_f32_ref, .tasks = qrn_conv_tasks},
    {.name = "conv_f64_ref", .domain = QRN_DOMAIN_F64, .fn = conv_f64_ref, .tasks = qrn_conv_tasks},
    {.name = "conv_q8_block_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = qrn_conv_q8_block_ref,
     .works = per_block,
     .tasks = qrn_conv_tasks},
    {.name = "conv_q8_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = qrn_conv_q8_ref,
     .tasks = qrn_conv_tasks},
};
QRN_FAMILY_REPORTS(conv, sizeof(qrn_conv_args));
