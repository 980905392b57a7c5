// SPDX-License-Identifier: MIT
//
// The rows of the unary family, one file per ISA, and what their bodies share.
#ifndef QRN_KERNELS_ELTWISE_UNARY_ROWS_H
#define QRN_KERNELS_ELTWISE_UNARY_ROWS_H

#include "kernels/eltwise/unary.h"
#include "kernels/exp_f64.h"

#include <tgmath.h>

// Clamp to [0, 1]; NaN stays.
#define UNIT(v) ((v) < 0 ? 0 : (v) > 1 ? 1 : (v))

qrn_status qrn_unary_f32_ref(const qrn_kcall *k);
qrn_status qrn_unary_f64_ref(const qrn_kcall *k);
qrn_status qrn_unary_f32_neon(const qrn_kcall *k);
qrn_status qrn_unary_f64_neon(const qrn_kcall *k);
qrn_status qrn_unary_f32_avx2(const qrn_kcall *k);
qrn_status qrn_unary_f64_avx2(const qrn_kcall *k);
qrn_status qrn_unary_f32_avx512(const qrn_kcall *k);
qrn_status qrn_unary_f64_avx512(const qrn_kcall *k);

#endif
