// SPDX-License-Identifier: MIT
//
// Reading parameters by value, whatever integer or float type the client chose for them.
#ifndef QRN_IR_PARAM_H
#define QRN_IR_PARAM_H

#include "ir/op.h"

// The scalar as a number; `fallback` when p is NULL, absent, a tensor or a string.
uint32_t qrn_param_u32(const qrn_param *p, uint32_t fallback);
int32_t qrn_param_i32(const qrn_param *p, int32_t fallback);
float qrn_param_f32(const qrn_param *p, float fallback);
bool qrn_param_bool(const qrn_param *p, bool fallback);

// The data of a tensor parameter whose elements are 32-bit integers (or f32); *count elements. NULL
// when it is absent, of another type or without data; *count is then 0.
const void *qrn_param_ints(const qrn_param *p, size_t *count);
const float *qrn_param_floats(const qrn_param *p, size_t *count);

#endif
