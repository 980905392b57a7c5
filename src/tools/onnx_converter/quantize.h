// SPDX-License-Identifier: MIT
//
// Calibration on the way: `quern quantize`, the program beside this one.
#ifndef QRN_TOOLS_ONNX_CONVERTER_QUANTIZE_H
#define QRN_TOOLS_ONNX_CONVERTER_QUANTIZE_H

#include "tools/onnx_converter/conv_flags.h"

// Writes the quantized model into a temporary folder and returns its path. QT_EXIT_OK or another
// code after a message.
int mc_quantize(const mc_options *o, qrn_arena *a, char **path);
// Removes the folder; NULL is fine.
void mc_quantize_end(const char *path);

// The conversion itself (onnx_converter.c).
int mc_convert(const mc_options *o, qrn_arena *a, const char *command);

#endif
