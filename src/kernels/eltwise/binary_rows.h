// SPDX-License-Identifier: MIT
//
// The rows of the binary family, one file per number domain and ISA.
#ifndef QRN_KERNELS_ELTWISE_BINARY_ROWS_H
#define QRN_KERNELS_ELTWISE_BINARY_ROWS_H

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/blocks.h"

qrn_status qrn_binary_f32_ref(const qrn_kcall *k);
qrn_status qrn_binary_f64_ref(const qrn_kcall *k);
qrn_status qrn_binary_raw_ref(const qrn_kcall *k);
#define QRN_BINARY_INTEGERS(isa)                                                                   \
    qrn_status qrn_binary_i64_##isa(const qrn_kcall *k);                                           \
    qrn_status qrn_binary_i32_##isa(const qrn_kcall *k);                                           \
    qrn_status qrn_binary_u32_##isa(const qrn_kcall *k)
QRN_BINARY_INTEGERS(ref);
QRN_BINARY_INTEGERS(avx2);
QRN_BINARY_INTEGERS(avx512);
QRN_BINARY_INTEGERS(neon);
qrn_status qrn_binary_f32_avx2(const qrn_kcall *k);
qrn_status qrn_binary_f64_avx2(const qrn_kcall *k);
qrn_status qrn_binary_raw_avx2(const qrn_kcall *k);
qrn_status qrn_binary_f32_avx512(const qrn_kcall *k);
qrn_status qrn_binary_f64_avx512(const qrn_kcall *k);
qrn_status qrn_binary_raw_avx512(const qrn_kcall *k);
qrn_status qrn_binary_f32_neon(const qrn_kcall *k);
qrn_status qrn_binary_f64_neon(const qrn_kcall *k);
qrn_status qrn_binary_raw_neon(const qrn_kcall *k);

// Sums, differences and products of quantized values of 8 or 16 bits (binary_q.h).
qrn_status qrn_binary_q_neon(const qrn_kcall *k);
qrn_status qrn_binary_q_avx2(const qrn_kcall *k);
qrn_status qrn_binary_q_avx512(const qrn_kcall *k);

#endif
