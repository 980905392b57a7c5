// SPDX-License-Identifier: MIT
//
// Unary ops on floats with the vector forms of fast_math.h, for NEON.
#include "kernels/fast_math.h"
#include "kernels/eltwise/unary_rows.h"

#define T double
#define FN qrn_unary_f64_neon
#include "kernels/eltwise/unary.inc"
#undef T
#undef FN

#define FAST(f)                                                                                    \
    QRN_VF_EACH(x, y, begin, end, f);                                                              \
    break
#define T float
#define FN qrn_unary_f32_neon
#include "kernels/eltwise/unary.inc"
