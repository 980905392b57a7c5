// SPDX-License-Identifier: MIT
//
// The vector rows of the softmax family, one file per ISA.
#ifndef QRN_KERNELS_SOFTMAX_SOFTMAX_ROWS_H
#define QRN_KERNELS_SOFTMAX_SOFTMAX_ROWS_H

#include "kernels/softmax/softmax.h"

#include <math.h>

qrn_status qrn_softmax_f32_avx2(const qrn_kcall *k);
qrn_status qrn_softmax_f32_avx512(const qrn_kcall *k);
qrn_status qrn_softmax_f32_neon(const qrn_kcall *k);

qrn_status qrn_softmax_codes_avx2(const qrn_kcall *k);
qrn_status qrn_softmax_codes_avx512(const qrn_kcall *k);
qrn_status qrn_softmax_codes_neon(const qrn_kcall *k);

// Floats that a vector row on codes needs for one row of n elements and each task.
static inline size_t qrn_softmax_room(size_t n) { return (n + 63) / 64 * 64; }

#endif
