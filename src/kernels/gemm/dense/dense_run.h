// SPDX-License-Identifier: MIT
//
// What the dense families of single precision share: the work of a task, for weights in floats and
// in fp16.
#ifndef QRN_KERNELS_GEMM_DENSE_RUN_H
#define QRN_KERNELS_GEMM_DENSE_RUN_H

#include "kernels/gemm/tiles/gemm_f32.h"

// Few rows of one segment times a panel of fp16: every weight is used so seldom that it is
// converted in registers. t->b and t->resume are not read, the weights are b [depth][32].
#define QRN_FEW_ROWS 16
typedef void (*qrn_gemm_f16w_fn)(const qrn_gemm_f32_strip *t, const uint16_t *b, bool wide_range);

// Tiles and what feeds them.
typedef struct qrn_dense_engine {
    const qrn_gemm_f32_kernel *gemm;
    qrn_f16_to_f32_fn to_f32; // NULL: the weights are floats
    qrn_gemm_f16w_fn few;     // (optional) NULL: few rows go through the same tiles
} qrn_dense_engine;

qrn_status qrn_dense_run(const qrn_kcall *k, const qrn_dense_args *a, const qrn_dense_engine *e,
                         bool wide_range);
uint32_t qrn_dense_run_tasks(const qrn_kcall *k, const qrn_dense_args *a, uint32_t n_threads);
size_t qrn_dense_run_scratch(const qrn_kcall *k, const qrn_dense_args *a,
                             const qrn_dense_engine *e);

#endif
