// SPDX-License-Identifier: MIT
//
// Rotary embedding: pairs of numbers are turned by an angle.
//   in[0]  x    f32, rows of 2 n numbers along its last dimension
//   in[1]  cos  f32, rows of n or 2 n numbers; row r of x reads row (r / inner) mod their count
//   in[2]  sin  f32, the same
//   out[0] y    f32, as large as x: with a and b the halves of a row of x,
//               (a cos - b sin, a sin + b cos), each step in single precision. Of 2 n numbers the
//               second half belongs to the second half of y. With an fp16 rule products and sums
//               are rounded, and a cos + (-b) sin is computed.
#ifndef QRN_KERNELS_ELTWISE_ROTATE_H
#define QRN_KERNELS_ELTWISE_ROTATE_H

#include "kernels/kernel.h"

typedef struct qrn_rotate_args {
    uint32_t inner; // consecutive rows of x with one angle; at least 1
    uint32_t rule;  // qrn_fp16_rule; OFF: nothing is rounded
} qrn_rotate_args;

extern const qrn_family qrn_family_rotate; // F32

qrn_status qrn_rotate_ref(const qrn_kcall *k);
qrn_status qrn_rotate_avx2(const qrn_kcall *k);
qrn_status qrn_rotate_avx512(const qrn_kcall *k);
qrn_status qrn_rotate_neon(const qrn_kcall *k);

#endif
