// SPDX-License-Identifier: MIT
//
// The formulas of element-wise ops in OpenCL C.
#ifndef QRN_BIND_GPU_FORMULAS_H
#define QRN_BIND_GPU_FORMULAS_H

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"

// The result for x, a float or a long; it may name alpha, beta, low, high and threshold of the
// attributes, and y, the second operand. NULL: there is none.
const char *qrn_gpu_unary_formula(const qrn_unary_args *a, bool floats);
// The result for x and y. op is a qrn_binary_op of any family; tests give a truth.
const char *qrn_gpu_binary_formula(uint32_t op, bool floats);

#endif
