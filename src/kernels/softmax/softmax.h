// SPDX-License-Identifier: MIT
//
// Softmax and its logarithm along one axis. in[0], out[0]: same shape.
//   y = exp(beta*(x-max)) / sum exp(beta*(x-max))        log: beta*(x-max) - log(sum
//   exp(beta*(x-max)))
// In the RAW domain both are quantized values that element_io.h knows, and `log` is not set: a
// result is that of the F64 domain, quantized as out[0] is.
#ifndef QRN_KERNELS_SOFTMAX_H
#define QRN_KERNELS_SOFTMAX_H

#include "kernels/kernel.h"

typedef struct qrn_softmax_args {
    uint32_t axis;
    float beta;
    bool log;
} qrn_softmax_args;

extern const qrn_family qrn_family_softmax; // F32, F64, RAW

#endif
