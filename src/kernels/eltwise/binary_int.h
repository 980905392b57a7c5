// SPDX-License-Identifier: MIT
//
// The operations of binary.inc on integers T, whose unsigned twin is U. What is not a ring
// operation is computed in 64 bits, of which T keeps the low ones.
#ifndef QRN_KERNELS_ELTWISE_BINARY_INT_H
#define QRN_KERNELS_ELTWISE_BINARY_INT_H

#include "reference/integer.h"

#define ADD(a, b) (T)((U)(a) + (U)(b))
#define SUB(a, b) (T)((U)(a) - (U)(b))
#define MUL(a, b) (T)((U)(a) * (U)(b))
#define DIV(a, b) qrn_int_div((int64_t)(a), (int64_t)(b))
#define FLOOR_DIV(a, b) qrn_int_floor_div((int64_t)(a), (int64_t)(b))
#define FMOD(a, b) qrn_int_fmod((int64_t)(a), (int64_t)(b))
#define MOD(a, b) qrn_int_mod((int64_t)(a), (int64_t)(b))
#define POW(a, b) qrn_int_pow((int64_t)(a), (int64_t)(b))
#define POWERS(p, q, y, n) EACH(POW(a, b))
#define IS_NAN(a) 0
#define IS_NEGATIVE(a) ((a) < 1 && (a) != 0) // of unsigned ones, too

// Counts at or above the width, negative ones included, shift everything out.
#define WIDTH (8 * sizeof(T))
#define LEFT(a, b) ((U)(b) < WIDTH ? (U)(a) << ((U)(b) % WIDTH) : 0)
#define RIGHT(a, b) ((a) >> ((U)(b) < WIDTH ? (U)(b) : WIDTH - 1) >> ((U)(b) >= WIDTH))
// clang-format off
#define BITS                                                                                       \
    case QRN_BINARY_BIT_AND: EACH(a & b); break;                                                   \
    case QRN_BINARY_BIT_OR: EACH(a | b); break;                                                    \
    case QRN_BINARY_BIT_XOR: EACH(a ^ b); break;                                                   \
    case QRN_BINARY_SHIFT_LEFT: EACH(LEFT(a, b)); break;                                           \
    case QRN_BINARY_SHIFT_RIGHT: EACH(RIGHT(a, b)); break;
// clang-format on

#endif
