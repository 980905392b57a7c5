// SPDX-License-Identifier: MIT
//
// The dense_half family: packing, and the loops that widen a stretch of a panel before the tiles
// of single precision use it.
#include "kernels/gemm/dense_half.h"

#include "kernels/half/half_rows.h"

#define BLOCK_ELEMENTS (48 * 1024) // of rows: they stay in the second cache
#define STRETCH 512                // depth that is widened at a time

static float weight_at(const qrn_view *w, size_t at, qrn_half rule, qrn_half_edge edge) {
    if (w->dtype == QRN_DTYPE_F32)
        return qrn_half_round_f32(((const float *)w->data)[at], edge);
    if (w->dtype == QRN_DTYPE_F16)
        return qrn_half_round_f32(qrn_f16_to_f32(((const uint16_t *)w->data)[at]), edge);
    return (float)qrn_half_round(qrn_view_real(w, at), rule);
}

void qrn_dense_half_pack(const qrn_dense_args *a, const qrn_view *w, size_t w_depth, size_t w_col,
                         qrn_half rule, uint16_t *packed) {
    qrn_half_edge edge = qrn_half_edge_of(rule);
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j0 = 0; j0 < a->cols; j0 += QRN_PANEL)
            for (size_t k = 0; k < a->depth; k++)
                for (size_t j = j0; j < j0 + QRN_PANEL; j++) {
                    size_t at = k * w_depth + ((size_t)g * a->cols + j) * w_col;
                    bool real = j < a->cols;
                    *packed++ = real ? qrn_half_bits(weight_at(w, at, rule, edge)) : 0;
                }
}

// A tile and what feeds it.
typedef struct engine {
    const qrn_gemm_f32_kernel *gemm;
    qrn_half_widen_fn widen;
    qrn_few_half_fn few; // (optional) NULL: few rows go through the same tiles
} engine;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

// The reference tile sums the whole depth at once.
static size_t stretch_of(const engine *e, const qrn_dense_args *a) {
    bool whole = e->gemm->depth_block == SIZE_MAX;
    return whole ? a->depth : least(a->depth, least(STRETCH, e->gemm->depth_block));
}

// Rows handled at a time: a whole number of tiles.
static size_t block_rows(const engine *e, const qrn_dense_plan *p) {
    if (!p->direct)
        return qrn_dense_block_rows(p->args, BLOCK_ELEMENTS);
    size_t stretch = stretch_of(e, p->args);
    size_t n = stretch ? BLOCK_ELEMENTS / stretch / e->gemm->rows * e->gemm->rows : 0;
    return n < e->gemm->rows ? e->gemm->rows : n;
}

static size_t scratch_floats(const engine *e, const qrn_dense_plan *p) {
    size_t rows = p->direct ? 0 : block_rows(e, p) * p->args->depth;
    return rows + stretch_of(e, p->args) * QRN_PANEL;
}

// All tiles of g over the depth [k0, k0 + depth) of one panel, which lies widened at b.
static void run_panel(const engine *e, const qrn_gemm_f32_block *g, const float *b, size_t k0,
                      size_t depth) {
    for (size_t r = 0; r < g->rows; r += e->gemm->rows) {
        qrn_gemm_f32_tile t = {.a = g->a + r * g->a_row + k0,
                               .a_row = g->a_row,
                               .b = b,
                               .depth = depth,
                               .bias = g->bias,
                               .resume = k0 > 0,
                               .c = g->c + r * g->c_row,
                               .c_row = g->c_row,
                               .rows = (uint32_t)least(g->rows - r, e->gemm->rows),
                               .cols = (uint32_t)g->cols};
        e->gemm->tile(&t);
    }
}

// One panel of few rows: every weight is used so seldom that it is widened in registers.
static void run_few(const engine *e, const qrn_gemm_f32_block *g, const uint16_t *w, bool wide) {
    qrn_gemm_f32_tile t = {.a = g->a,
                           .a_row = g->a_row,
                           .depth = g->depth,
                           .bias = g->bias,
                           .c = g->c,
                           .c_row = g->c_row,
                           .rows = (uint32_t)g->rows,
                           .cols = (uint32_t)g->cols};
    e->few(&t, w, wide);
}

// The rows of `block` times panels [p0, p1) of a group; its c, bias and cols are set here.
static void run_block(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p, size_t group,
                      size_t p0, size_t p1, qrn_gemm_f32_block block, float *widened) {
    const qrn_dense_args *a = p->args;
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    bool wide = ((const qrn_dense_half_args *)k->args)->wide;
    bool few = e->few && block.rows <= QRN_FEW_ROWS;
    size_t stretch = few ? a->depth : stretch_of(e, a);
    float *c = block.c;
    for (size_t k0 = 0; k0 == 0 || k0 < a->depth; k0 += stretch ? stretch : 1) {
        size_t depth = least(a->depth - k0, stretch);
        for (size_t j = p0; j < p1; j++) {
            size_t col = group * a->cols + j * QRN_PANEL;
            const uint16_t *w = (const uint16_t *)k->in[1]->data +
                                ((group * qrn_panels(a->cols) + j) * a->depth + k0) * QRN_PANEL;
            block.c = c + col;
            block.bias = bias ? bias + col : NULL;
            block.cols = least(a->cols - j * QRN_PANEL, QRN_PANEL);
            if (few) {
                run_few(e, &block, w, wide);
                continue;
            }
            e->widen(w, depth * QRN_PANEL, wide, widened);
            run_panel(e, &block, widened, k0, depth);
        }
    }
}

static void run_group(const qrn_kcall *k, const engine *e, const qrn_dense_plan *p, size_t group,
                      size_t p0, size_t p1, const qrn_dense_part *part) {
    const qrn_dense_args *a = p->args;
    const float *x = k->in[0]->data;
    size_t step = block_rows(e, p);
    float *scratch = (float *)k->scratch + k->task * scratch_floats(e, p);
    float *widened = scratch, *rows = scratch + stretch_of(e, a) * QRN_PANEL;
    for (size_t r = part->r0; r < part->r1; r += step) {
        qrn_gemm_f32_block g = {.a = p->direct ? x + r * p->a_row + group * a->depth : rows,
                                .a_row = p->direct ? p->a_row : a->depth,
                                .c = (float *)k->out[0]->data + r * p->cout,
                                .c_row = p->cout,
                                .rows = least(part->r1 - r, step),
                                .depth = a->depth};
        if (!p->direct)
            qrn_dense_gather(p, x, r, g.rows, group, sizeof *x, 0, rows, a->depth * sizeof *x);
        run_block(k, e, p, group, p0, p1, g, widened);
        if (a->group == 1)
            qrn_dense_tell(k, p, r, g.rows, p0, p1);
    }
}

static qrn_dense_plan plan_of(const qrn_kcall *k) {
    const qrn_dense_half_args *a = k->args;
    return qrn_dense_plan_of(&a->dense, k->in[0], k->out[0]);
}

static qrn_status run(const qrn_kcall *k, const engine *e) {
    qrn_dense_plan p = plan_of(k);
    qrn_dense_part part = qrn_dense_part_of(&p, k->task, k->n_tasks);
    size_t panels = qrn_panels(p.args->cols);
    for (size_t u = part.u0, end; u < part.u1 && part.r0 < part.r1; u = end) {
        size_t group = u / panels, last = (group + 1) * panels;
        end = last < part.u1 ? last : part.u1;
        run_group(k, e, &p, group, u - group * panels, end - group * panels, &part);
    }
    if (p.args->group > 1)
        qrn_dense_tell(k, &p, part.r0, part.r1 - part.r0, part.u0, part.u1);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    qrn_dense_plan p = plan_of(k);
    return qrn_dense_tasks(&p, n_threads);
}

static size_t scratch(const qrn_kcall *k, const engine *e) {
    qrn_dense_plan p = plan_of(k);
    return k->n_tasks * scratch_floats(e, &p) * sizeof(float);
}

static void widen_ref(const uint16_t *halves, size_t n, bool wide, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_half_value(halves[i], wide);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_half_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = run_##isa,       \
        .tasks = tasks, .scratch = scratch_##isa                                                   \
    }
#define ENGINE(isa, gemm, widen, few)                                                              \
    static const engine engine_##isa = {&gemm, widen, few};                                        \
    static qrn_status run_##isa(const qrn_kcall *k) { return run(k, &engine_##isa); }              \
    static size_t scratch_##isa(const qrn_kcall *k) { return scratch(k, &engine_##isa); }

#if defined(__x86_64__)
ENGINE(avx512, qrn_gemm_f32_12x32_avx512, qrn_half_widen_avx512, qrn_few_half_avx512)
ENGINE(avx2, qrn_gemm_f32_6x32_avx2, qrn_half_widen_avx2, qrn_few_half_avx2)
#elif defined(__aarch64__)
ENGINE(neon, qrn_gemm_f32_6x32_neon, qrn_half_widen_neon, NULL)
#endif
ENGINE(ref, qrn_gemm_f32_ref, widen_ref, NULL)

static const qrn_kernel dense_half_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_TELLS(dense_half, sizeof(qrn_dense_half_args));
