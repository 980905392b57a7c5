// SPDX-License-Identifier: MIT
//
// Values as other ones seen with strides: transposes, reshapes and products with a number in
// between need not be computed by a kernel that can read with strides.
#ifndef QRN_BIND_GPU_STRIDED_H
#define QRN_BIND_GPU_STRIDED_H

#include "bind/gpu/binder.h"

#define QRN_GPU_MAX_ATOMS 16

// A dimension, or a part of one: `size` elements, `stride` apart.
typedef struct qrn_gpu_atom {
    uint8_t dim; // of the value that was asked for
    uint32_t size;
    int64_t stride;
} qrn_gpu_atom;

// Element [i...] of a value is `scale` times the element of `base` at `offset` plus the sum of
// index times stride over all atoms. Atoms of a dimension stand together, the fastest last.
typedef struct qrn_gpu_strided {
    qrn_val base;
    int64_t offset;
    double scale;
    uint32_t rank, n;
    qrn_gpu_atom atoms[QRN_GPU_MAX_ATOMS];
} qrn_gpu_strided;

// Goes back as far as it can; a value that nothing is known of is itself.
qrn_gpu_strided qrn_gpu_strided_of(const qrn_gpu_binder *b, qrn_val v);

// Is the step a product or quotient of floats and a number? Says which operand are the floats.
bool qrn_gpu_scales(const qrn_gpu_binder *b, const qrn_cstep *s, uint32_t *which, double *factor);

// The stride of a dimension; false when it has more than one.
bool qrn_gpu_stride_of(const qrn_gpu_strided *s, uint32_t dim, int64_t *stride);

#endif
