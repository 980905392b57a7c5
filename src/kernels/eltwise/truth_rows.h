// SPDX-License-Identifier: MIT
//
// The vector rows of the compare, logical, select and float_test families, one file per ISA, and
// what their bodies share.
#ifndef QRN_KERNELS_ELTWISE_TRUTH_ROWS_H
#define QRN_KERNELS_ELTWISE_TRUTH_ROWS_H

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/blocks.h"
#include "kernels/eltwise/unary.h"
#include "kernels/walk.h"

#include <float.h>
#include <string.h>

#define QRN_TRUTH_ROWS(isa)                                                                        \
    qrn_status qrn_compare_f32_##isa(const qrn_kcall *k);                                          \
    qrn_status qrn_compare_f64_##isa(const qrn_kcall *k);                                          \
    qrn_status qrn_compare_i64_##isa(const qrn_kcall *k);                                          \
    qrn_status qrn_compare_i32_##isa(const qrn_kcall *k);                                          \
    qrn_status qrn_compare_u32_##isa(const qrn_kcall *k);                                          \
    qrn_status qrn_logical_##isa(const qrn_kcall *k);                                              \
    qrn_status qrn_select_##isa(const qrn_kcall *k); /* conditions of 1 byte, or 4 and 4 */        \
    qrn_status qrn_float_test_##isa(const qrn_kcall *k)

QRN_TRUTH_ROWS(avx2);
QRN_TRUTH_ROWS(avx512);
QRN_TRUTH_ROWS(neon);

#endif
