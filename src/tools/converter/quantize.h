// SPDX-License-Identifier: MIT
//
// Calibration on the way: the model in memory is written into a temporary folder, `quern quantize`
// (in this process) makes a quantized one of it, and that is the model from then on.
#ifndef QRN_TOOLS_CONVERTER_QUANTIZE_H
#define QRN_TOOLS_CONVERTER_QUANTIZE_H

#include "tools/converter/edit.h"

#define CV_MOST_WORDS 32

// Flags of `quern quantize`, with room for more.
typedef struct cv_quantizing {
    const char *words[CV_MOST_WORDS];
    uint32_t n;
    const void *overrides; // text of a file of encodings, or NULL
    size_t n_overrides;
    bool fallback; // these encodings alone: nothing is calibrated, the rest stays float
} cv_quantizing;

void cv_quantize_word(cv_quantizing *q, const char *flag,
                      const char *value); // NULL: none
// "a8w8" of bits as flags have them (NULL: 8); NULL after a message.
const char *cv_quantize_scheme(const char *act_bits, const char *weight_bits);
// Repairs for a list of algorithms (NULL: none); NULL after a message that names the flag.
const char *cv_quantize_repairs(const char *flag, const char *algorithms);
// QT_EXIT_OK or another code after a message.
int cv_quantize(cv_model *m, const cv_quantizing *q);

#endif
