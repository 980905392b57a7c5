// SPDX-License-Identifier: MIT
//
// Quantized transposed convolutions without products with zeros. The results whose coordinates
// leave the same rest modulo the strides, a phase, are those of a plain convolution with some of
// the taps; what is not read does not count as zeros first. Each phase is a call of the family's
// own, on weights that are put together for it.
#ifndef QRN_KERNELS_GEMM_DENSE_PHASES_H
#define QRN_KERNELS_GEMM_DENSE_PHASES_H

#include "kernels/gemm/dense/dense_plan.h"

// A family: its parameters begin with qrn_dense_args, in[1] holds dense8, in[2] the sums of each
// channel as i32.
typedef struct qrn_phase_family {
    size_t args_bytes;
    qrn_status (*run)(const qrn_kcall *k, const void *kernel); // of a plain convolution
    size_t (*scratch)(const qrn_kcall *k);
    size_t more; // of scratch, that an image with other lines may want
} qrn_phase_family;

// Is the layer one that is done this way?
bool qrn_dense_phases_fit(const qrn_dense_args *a, const qrn_kcall *k);
size_t qrn_dense_phases_scratch(const qrn_phase_family *f, const qrn_kcall *k);
// A task.
qrn_status qrn_dense_phases_run(const qrn_phase_family *f, const qrn_kcall *k, const void *kernel);

#endif
