// SPDX-License-Identifier: MIT
//
// The command line of qairt-quantizer.
#ifndef QRN_TOOLS_QAIRT_QUANTIZER_QQ_OPTIONS_H
#define QRN_TOOLS_QAIRT_QUANTIZER_QQ_OPTIONS_H

#include "tools/converter/quantize.h"
#include "tools/sdk/spelling.h"

enum {
#define QQ_REJECTED(kind, name, arg, why) QQ_REJECTED_##name,
#include "tools/qairt_quantizer/qq_rejected.def"
#undef QQ_REJECTED
    QQ_N_REJECTED
};

typedef struct qq_options {
    bool version;
    const char *input, *output, *input_list, *preserve, *dump;
    const char *act_bits, *weight_bits, *bias_bits, *float_bits, *float_bias_bits;
    const char *act_method, *param_method, *act_schema, *param_schema, *percentile, *steps,
        *algorithms;
    const char *target, *soc;
    bool fallback, ignore_overrides, per_channel, per_row, per_row_bias, native_inputs, pack;
    bool keep_weights, debug;
    const char *rejected_text[QQ_N_REJECTED];
    bool rejected[QQ_N_REJECTED];
    const char *command; // line, set by main
} qq_options;

extern const qt_flag qq_flags[], qq_range_flags[], qq_rejected_flags[];
extern const qs_spelled qq_spelling[];

// Values that are rejected, and flags that need or exclude others.
int qq_check(const qq_options *o);
// What `quern quantize` is asked for; `path` is that of the DLC file to write.
int qq_words(const qq_options *o, qrn_arena *a, const char *path, cv_quantizing *q);

#endif
