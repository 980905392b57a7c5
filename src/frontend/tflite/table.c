// SPDX-License-Identifier: MIT
//
// The table of ops.
#include "frontend/tflite/import.h"

#define OP(name, number, least, options, fn, onnx, qnn)                                            \
    {#name, number, least, options, fn, onnx, qnn},
#define NOT(name, number) {#name, number, 0, "", NULL, NULL, NULL},

const tl_op tl_ops[] = {
#include "frontend/tflite/ops.def"
    {0},
};
