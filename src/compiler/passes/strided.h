// SPDX-License-Identifier: MIT
//
// Values as other ones seen with strides: what reshapes, transposes, slices, repetitions, a
// rounding and products with a number in between do need not be computed by a step that reads with
// strides.
#ifndef QRN_COMPILER_PASSES_STRIDED_H
#define QRN_COMPILER_PASSES_STRIDED_H

#include "compiler/passes.h"

#define QRN_MAX_ATOMS 16

// A dimension, or a part of one: `size` elements, `stride` apart.
typedef struct qrn_atom {
    uint32_t size;
    uint32_t stride;
    bool joined; // the dimension along which a value is joined: `size` counts both parts
} qrn_atom;

// Element [i...] of a value is that of `base` at `first` plus the sum of index times stride. The
// atoms of dimension d, slowest first, are behind those of the dimensions before it.
typedef struct qrn_part {
    qrn_val base;
    uint32_t first;
    uint32_t n;
    qrn_atom atoms[QRN_MAX_ATOMS];
} qrn_part;

// A value is `scale` times one part, or times two that are joined along a dimension.
typedef struct qrn_strided_value {
    double scale;
    uint32_t rank;
    uint32_t end[QRN_MAX_RANK]; // where the atoms of each dimension end; the same in both parts
    uint32_t n_parts;
    uint32_t joined[2]; // elements of each part along that dimension
    qrn_part parts[2];
} qrn_strided_value;

typedef struct qrn_strider {
    const qrn_lowering *lo;
    const qrn_use *uses;
    bool through_joins; // look behind a Concat of two
    bool through_types; // look behind conversions to f32: a part may be fp16, or bytes with a scale
} qrn_strider;

// The value as it is.
qrn_strided_value qrn_strided_itself(const qrn_compiled *p, qrn_val v);
// Goes back as far as it can.
qrn_strided_value qrn_strided_of(const qrn_strider *w, qrn_val v);

// The step that computes a value, roundings in place behind it apart; UINT32_MAX: there is none, or
// several.
uint32_t qrn_pass_maker(const qrn_lowering *lo, const qrn_use *uses, qrn_val v);
// Is the step a product or quotient of floats and a constant number? *floats is their operand.
bool qrn_pass_scales(const qrn_lowering *lo, const qrn_cstep *s, uint32_t *floats, double *factor);

#endif
