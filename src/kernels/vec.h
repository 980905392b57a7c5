// SPDX-License-Identifier: MIT
//
// Vectors of floats under one set of names: a kernel body written with them is compiled once per
// ISA, by the files named after it. + - * / work on vectors as they are.
//
//   qrn_vf            QRN_VF floats
//   qrn_vf_all        one number in all lanes
//   qrn_vf_load/_store, and _load_n/_store_n for the first n lanes, 0 < n < QRN_VF: nothing else is
//                     read or written, the other lanes are those of `rest`
//   qrn_vf_load_fp16  QRN_VF numbers in IEEE fp16; qrn_vf_store_fp16 rounds to it, ties to even
//   qrn_vf_load_u8    QRN_VF integers of 8 bits without a sign; qrn_vf_load_s8: with one
//   qrn_vf_cut        the first n lanes, 0 in the others
//   qrn_vf_fma        a * b + c, rounded once
//   qrn_vf_abs        without sign; qrn_vf_sqrt: the square root
//   qrn_vf_min/_max   of a and b; b where one of them is NaN (NEON: NaN)
//   qrn_vf_below      a < b ? x : y in each lane
//   qrn_vf_round      to a whole number, ties to even; qrn_vf_floor: down
//   qrn_vf_scale      a * 2^n for whole numbers n, rounded once
//   qrn_vf_32nds      2^(t - 0x1.8p18) for multiples t of 1/32; infinite from 2^128 on, up to which
//                     from 2^-127 it holds. Only where QRN_VF_32NDS is defined
//   qrn_vf_fp16       rounded to IEEE fp16, ties to even; too large ones become infinite
//   qrn_vf_top        the largest lane
//   qrn_vf_all_below  is a < b in every lane?
//   qrn_vf_sums       lane i is the sum of the lanes of v[i], for QRN_VF vectors
//   qrn_vs            a sum of floats in double: starts as qrn_vs_zero, takes the lanes of a vector
//                     with qrn_vs_add; qrn_vs_over are the sums of the lanes divided by a number,
//                     qrn_vs_total is that of all
#ifndef QRN_KERNELS_VEC_H
#define QRN_KERNELS_VEC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#include "kernels/vec_avx512.h"
#elif defined(__AVX2__)
#include "kernels/vec_avx2.h"
#elif defined(__aarch64__)
#include "kernels/vec_neon.h"
#endif

// y[i] = f(x[i]) for i in [begin, end); `f` takes the vector v. In place is fine.
#define QRN_VF_EACH(x, y, begin, end, f)                                                           \
    do {                                                                                           \
        size_t at_ = (begin);                                                                      \
        for (; at_ + QRN_VF <= (end); at_ += QRN_VF) {                                             \
            qrn_vf v = qrn_vf_load((x) + at_);                                                     \
            qrn_vf_store((y) + at_, (f));                                                          \
        }                                                                                          \
        if (at_ < (end)) {                                                                         \
            qrn_vf v = qrn_vf_load_n((x) + at_, (end)-at_, qrn_vf_all(0.0f));                      \
            qrn_vf_store_n((y) + at_, (f), (end)-at_);                                             \
        }                                                                                          \
    } while (0)

#endif
