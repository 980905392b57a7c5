// SPDX-License-Identifier: MIT
//
// The dense family in single precision.
#include "kernels/gemm/dense.h"

#include "kernels/gemm/gemm_f32.h"

#define BLOCK_ELEMENTS (48 * 1024) // of gathered rows: they stay in the second cache

bool qrn_dense_packed_shape(const qrn_dense_args *a, uint32_t dims[3]) {
    uint64_t panels = (uint64_t)qrn_panels(a->cols) * a->group;
    if (panels > UINT32_MAX)
        return false;
    dims[0] = (uint32_t)panels;
    dims[1] = a->depth;
    dims[2] = QRN_PANEL;
    return true;
}

void qrn_dense_pack(const qrn_dense_args *a, const float *w, size_t w_depth, size_t w_col,
                    float *packed) {
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j = 0; j < a->cols; j += QRN_PANEL, packed += (size_t)a->depth * QRN_PANEL)
            qrn_gemm_f32_pack_panel(w + (size_t)g * a->cols * w_col, w_depth, w_col, a->depth,
                                    a->cols, j, packed);
}

// Rows [r0, r1) times panels [p0, p1) of a group.
static void run_group(const qrn_kcall *k, const qrn_gemm_f32_kernel *kernel,
                      const qrn_dense_plan *p, size_t group, size_t p0, size_t p1,
                      const qrn_dense_part *part) {
    const qrn_dense_args *a = p->args;
    const float *x = k->in[0]->data, *w = k->in[1]->data;
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    size_t col = group * a->cols + p0 * QRN_PANEL;
    size_t step = qrn_dense_block_rows(a, BLOCK_ELEMENTS);
    float *rows = p->direct ? NULL : (float *)k->scratch + k->task * step * a->depth;
    if (p->direct && !k->follower)
        step = part->r1 - part->r0;
    for (size_t r = part->r0; r < part->r1; r += step) {
        size_t n = part->r1 - r < step ? part->r1 - r : step;
        if (rows)
            qrn_dense_gather(p, x, r, n, group, sizeof *x, 0, rows, a->depth * sizeof *x);
        qrn_gemm_f32_block g = {.a = rows ? rows : x + r * p->a_row + group * a->depth,
                                .a_row = rows ? a->depth : p->a_row,
                                .b = w + (group * qrn_panels(a->cols) + p0) * a->depth * QRN_PANEL,
                                .bias = bias ? bias + col : NULL,
                                .c = (float *)k->out[0]->data + r * p->cout + col,
                                .c_row = p->cout,
                                .rows = n,
                                .depth = a->depth};
        g.cols = (p1 * QRN_PANEL < a->cols ? p1 * QRN_PANEL : a->cols) - p0 * QRN_PANEL;
        qrn_gemm_f32_run(kernel, &g);
        if (a->group == 1)
            qrn_dense_tell(k, p, r, n, p0, p1);
    }
}

static qrn_status run(const qrn_kcall *k, const qrn_gemm_f32_kernel *kernel) {
    qrn_dense_plan p = qrn_dense_plan_of(k->args, k->in[0], k->out[0]);
    qrn_dense_part part = qrn_dense_part_of(&p, k->task, k->n_tasks);
    size_t panels = qrn_panels(p.args->cols);
    for (size_t u = part.u0, end; u < part.u1 && part.r0 < part.r1; u = end) {
        size_t group = u / panels, last = (group + 1) * panels;
        end = last < part.u1 ? last : part.u1;
        run_group(k, kernel, &p, group, u - group * panels, end - group * panels, &part);
    }
    if (p.args->group > 1)
        qrn_dense_tell(k, &p, part.r0, part.r1 - part.r0, part.u0, part.u1);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    qrn_dense_plan p = qrn_dense_plan_of(k->args, k->in[0], k->out[0]);
    return qrn_dense_tasks(&p, n_threads);
}

static size_t scratch(const qrn_kcall *k) {
    const qrn_dense_args *a = k->args;
    if (qrn_dense_plan_of(a, k->in[0], k->out[0]).direct)
        return 0;
    return k->n_tasks * qrn_dense_block_rows(a, BLOCK_ELEMENTS) * a->depth * sizeof(float);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = dense_##isa,          \
        .tasks = tasks, .scratch = scratch                                                         \
    }
#define FUNCTION(isa, kernel)                                                                      \
    static qrn_status dense_##isa(const qrn_kcall *k) { return run(k, &kernel); }

#if defined(__x86_64__)
FUNCTION(f32_avx512, qrn_gemm_f32_12x32_avx512)
FUNCTION(f32_avx2, qrn_gemm_f32_6x32_avx2)
#elif defined(__aarch64__)
FUNCTION(f32_neon, qrn_gemm_f32_6x32_neon)
#endif
FUNCTION(f32_ref, qrn_gemm_f32_ref)

static const qrn_kernel dense_rows[] = {
#if defined(__x86_64__)
    ROW(f32_avx512, QRN_ISA_AVX512),
    ROW(f32_avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(f32_neon, QRN_ISA_NEON),
#endif
    ROW(f32_ref, 0),
};
QRN_FAMILY_TELLS(dense, sizeof(qrn_dense_args));
