// SPDX-License-Identifier: MIT
//
// What normalizations share: parameters, and mean and deviation as separate ops.
#ifndef QRN_FRONTEND_ONNX_IMPORT_NORM_H
#define QRN_FRONTEND_ONNX_IMPORT_NORM_H

#include "frontend/onnx/import/compose.h"

// Inputs and outputs of ops that take unsigned fixed point alone: s8 and s16 are converted.
qc_tensor *ox_unsigned_in(ox_expr *e, uint32_t i, ox_layout layout);
qc_tensor *ox_unsigned_out(ox_expr *e, uint32_t i, ox_layout layout);

// A scale (gamma) for fixed-point or float x from real numbers: of x's width, 16 bits symmetric.
qc_tensor *ox_gamma_of(ox_expr *e, const float *values, const qc_tensor *x, uint32_t rank,
                       const uint32_t *dims);
// The same for what is added: s32 when x is fixed point.
qc_tensor *ox_beta_of(ox_expr *e, const float *values, const qc_tensor *x, uint32_t rank,
                      const uint32_t *dims);
// Constant input i as gamma or beta in a shape of as many elements; of a float x it need not be
// constant. NULL when it is absent.
qc_tensor *ox_gamma(ox_expr *e, uint32_t i, const qc_tensor *x, uint32_t rank,
                    const uint32_t *dims);
qc_tensor *ox_beta(ox_expr *e, uint32_t i, const qc_tensor *x, uint32_t rank, const uint32_t *dims);
// Are inputs first..last constant or absent, so that a quantized unit may stay fixed point?
bool ox_params_constant(const ox_expr *e, uint32_t first, uint32_t last);

// Statistics over axes, which are kept with size 1.
qc_tensor *ox_mean(ox_expr *e, qc_tensor *x, const uint32_t *axes, uint32_t n);
qc_tensor *ox_mean_square(ox_expr *e, qc_tensor *x, const uint32_t *axes, uint32_t n);

#endif
