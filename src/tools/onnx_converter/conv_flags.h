// SPDX-License-Identifier: MIT
//
// The command line of qnn-onnx-converter: published flags, of which some have two words behind them
// or an optional one. Flags that have no effect here are rejected by name.
#ifndef QRN_TOOLS_ONNX_CONVERTER_CONV_FLAGS_H
#define QRN_TOOLS_ONNX_CONVERTER_CONV_FLAGS_H

#include "tools/converter/io.h"
#include "tools/sdk/spelling.h"

enum {
#define MC_REJECTED(kind, name, letter, arg, why) MC_REJECTED_##name,
#include "tools/onnx_converter/rejected.def"
#undef MC_REJECTED
    MC_N_REJECTED
};

typedef struct mc_options {
    bool version;
    const char *input, *output, *copyright_file, *package, *dry_run, *float_bits, *bias_float_bits;
    const char *input_list, *act_bits, *weight_bits, *bias_bits, *act_method, *param_method;
    const char *custom_io, *template, *export_format, *overrides, *algorithms;
    qt_list outputs, dims, symbols, dtypes, layouts, colors, preserve, op_configs, op_libs;
    uint64_t batch;
    bool debug, no_simplifier, keep_nodes, prefix, counters, per_channel, per_row;
    bool fallback, ignore_encodings;
    const char *rejected_text[MC_N_REJECTED];
    bool rejected[MC_N_REJECTED];
    const char *command; // line, set by main
} mc_options;

extern const qt_flag mc_flags[], mc_io_flags[], mc_quantizer_flags[], mc_rejected_flags[];
extern const qs_spelled mc_spelling[];
extern const cv_words mc_words;

// Is a flag given that is rejected, or a value? QT_EXIT_OK, or another code after a message.
int mc_check_flags(const mc_options *o);
// Inputs and outputs whose type is preserved (converter/io.h, cv_io_native); *keep NULL: none.
int mc_kept_types(const mc_options *o, const char **keep);

// The conversion itself (onnx_converter.c).
int mc_convert(const mc_options *o, qrn_arena *a);

#endif
