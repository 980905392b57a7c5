// SPDX-License-Identifier: MIT
//
// The operations of binary.inc on int64_t.
#ifndef QRN_KERNELS_ELTWISE_BINARY_INT_H
#define QRN_KERNELS_ELTWISE_BINARY_INT_H

#include "reference/integer.h"

#define ADD(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define SUB(a, b) (int64_t)((uint64_t)(a) - (uint64_t)(b))
#define MUL(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define DIV(a, b) qrn_int_div(a, b)
#define FLOOR_DIV(a, b) qrn_int_floor_div(a, b)
#define FMOD(a, b) qrn_int_fmod(a, b)
#define MOD(a, b) qrn_int_mod(a, b)
#define POW(a, b) qrn_int_pow(a, b)
#define POWERS(p, q, y, n) EACH(POW(a, b))
#define IS_NAN(a) 0

#endif
