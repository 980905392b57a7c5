// SPDX-License-Identifier: MIT
//
// Transposed convolutions in single precision without products with zeros. Every result has the
// taps of the kernel that find a cell of the input; results of a line that share their taps, one
// stride apart, are rows of a GEMM for each of these taps, which reads the input where it lies.
#ifndef QRN_KERNELS_GEMM_DENSE_ADJOINT_H
#define QRN_KERNELS_GEMM_DENSE_ADJOINT_H

#include "kernels/gemm/dense/dense_run.h"

// Is the layer one that is done this way? The reference tile sums whole rows: it rounds once.
bool qrn_dense_adjoint_fits(const qrn_dense_args *a, const qrn_gemm_f32_kernel *kernel);
// Floats of scratch for each task, beside those for converted weights.
size_t qrn_dense_adjoint_floats(const qrn_dense_args *a);

// A task. `weights`: [panels][depth][32] as floats, or NULL: they are converted from fp16 tap by
// tap into `converted`.
typedef struct qrn_dense_adjoint {
    const qrn_kcall *call;
    const qrn_dense_engine *engine;
    const qrn_dense_plan *plan;
    bool wide_range;
    float *scratch, *converted;
    bool converts_all; // `converted` has room for all weights
} qrn_dense_adjoint;

void qrn_dense_adjoint_run(const qrn_dense_adjoint *t);

#endif
