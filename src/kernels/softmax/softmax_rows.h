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

qrn_status qrn_softmax_columns_f32_avx2(const qrn_kcall *k);
qrn_status qrn_softmax_q_avx2(const qrn_kcall *k);
qrn_status qrn_softmax_columns_f32_avx512(const qrn_kcall *k);
qrn_status qrn_softmax_q_avx512(const qrn_kcall *k);
qrn_status qrn_softmax_columns_f32_neon(const qrn_kcall *k);
qrn_status qrn_softmax_q_neon(const qrn_kcall *k);

// Can a vector row compute this softmax of quantized values, and the room that it takes.
bool qrn_softmax_q_works(const qrn_kcall *k);
size_t qrn_softmax_q_scratch(const qrn_kcall *k);

// A vector row on quantized values does several rows of few elements at a time, each in room for
// whole vectors.
#define QRN_SOFTMAX_ROWS 8
#define QRN_SOFTMAX_FEW 512
static inline size_t qrn_softmax_room(size_t n) { return (n + 15) / 16 * 16; }
static inline size_t qrn_softmax_rows(size_t n) {
    return n <= QRN_SOFTMAX_FEW ? QRN_SOFTMAX_ROWS : 1;
}

#endif
