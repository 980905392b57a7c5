// SPDX-License-Identifier: MIT
//
// Matmul with b packed on the way. A unit of work is (batch entry, group of panels, part of the
// rows); rows are only cut where there are fewer units than tasks.
#include "kernels/gemm/matmul/matmul_f32.h"

#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/gemm/matmul/matmul.h"

#define GROUP 4      // panels packed at a time
#define ROWS_LEAST 4 // with fewer, packing costs more than it saves

bool qrn_matmul_f32_works(const qrn_kcall *k) {
    const qrn_matmul_args *a = k->args;
    return !a->transpose_a && !a->clamp.on && qrn_matmul_geometry_of(k).rows >= ROWS_LEAST;
}

size_t qrn_matmul_f32_scratch(const qrn_kcall *k) {
    return k->n_tasks * qrn_matmul_geometry_of(k).depth * GROUP * QRN_PANEL * sizeof(float);
}

static void run_unit(const qrn_kcall *k, const qrn_gemm_f32_kernel *kernel,
                     const qrn_matmul_geometry *g, const qrn_matmul_unit *u) {
    const float *bias = k->n_in > 2 && k->in[2] ? k->in[2]->data : NULL;
    float *packed = (float *)k->scratch + k->task * g->depth * GROUP * QRN_PANEL;
    size_t left = g->cols - u->col, cols = left < GROUP * QRN_PANEL ? left : GROUP * QRN_PANEL;
    size_t a, b;
    qrn_matmul_batch(g, u->batch, &a, &b);
    for (size_t j = 0; j < cols; j += QRN_PANEL)
        qrn_gemm_f32_pack_panel((const float *)k->in[1]->data + b, g->b_depth, g->b_col, g->depth,
                                g->cols, u->col + j, packed + j * g->depth);
    qrn_gemm_f32_run(
        kernel, &(qrn_gemm_f32_block){.a = (const float *)k->in[0]->data + a + u->row * g->a_row,
                                      .a_row = g->a_row,
                                      .b = packed,
                                      .bias = bias ? bias + u->col : NULL,
                                      .c = (float *)k->out[0]->data +
                                           (u->batch * g->rows + u->row) * g->cols + u->col,
                                      .c_row = g->cols,
                                      .lines = 1,
                                      .rows = u->end - u->row,
                                      .cols = cols,
                                      .segments = 1,
                                      .length = g->depth});
}

static qrn_status run(const qrn_kcall *k, const qrn_gemm_f32_kernel *kernel) {
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    qrn_matmul_share s = qrn_matmul_share_of(&g, GROUP * QRN_PANEL, k);
    for (size_t i = s.begin; i < s.end; i++) {
        qrn_matmul_unit u = qrn_matmul_unit_at(&g, &s, i);
        run_unit(k, kernel, &g, &u);
    }
    return QRN_OK;
}

#if defined(__x86_64__)
qrn_status qrn_matmul_f32_avx512(const qrn_kcall *k) { return run(k, &qrn_gemm_f32_14x32_avx512); }
qrn_status qrn_matmul_f32_avx2(const qrn_kcall *k) { return run(k, &qrn_gemm_f32_6x32_avx2); }
#elif defined(__aarch64__)
qrn_status qrn_matmul_f32_neon(const qrn_kcall *k) { return run(k, &qrn_gemm_f32_6x32_neon); }
#endif
