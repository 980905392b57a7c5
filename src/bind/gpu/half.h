// SPDX-License-Identifier: MIT
//
// Element-wise steps that compute in fp16.
#ifndef QRN_BIND_GPU_HALF_H
#define QRN_BIND_GPU_HALF_H

#include "bind/gpu/binder.h"

// What a text needs that names HALF.
#define QRN_GPU_HALF "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#define HALF half\n"

// Is the value a HALF between the steps of a kernel? FP16 mode, where the device has the
// arithmetic.
bool qrn_gpu_is_half(const qrn_gpu_binder *b, qrn_val v);
// Is the step computed on such numbers?
bool qrn_gpu_computes_half(const qrn_gpu_binder *b, const qrn_cstep *s);

#endif
