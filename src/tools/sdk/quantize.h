// SPDX-License-Identifier: MIT
//
// `quern quantize` for the SDK's programs, in this process.
#ifndef QRN_TOOLS_SDK_QUANTIZE_H
#define QRN_TOOLS_SDK_QUANTIZE_H

// "a8w4" of two numbers of bits, NULL: 8; NULL after a message that names the two flags.
const char *qs_scheme(const char *act_flag, const char *act, const char *weight_flag,
                      const char *weights);
// Writes the quantized model, calibrated on an input list, without repairs: they scale values
// between the nodes, which then are no longer those of the model. `method`: minmax, percentile or
// mse. QT_EXIT_OK or another code after a message.
int qs_quantize(const char *model, const char *output, const char *input_list, const char *scheme,
                const char *method);

#endif
