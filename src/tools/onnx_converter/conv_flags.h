// SPDX-License-Identifier: MIT
//
// The command line of qnn-onnx-converter: published flags, of which some have two words behind them
// or an optional one. Flags that have no effect here are rejected by name.
#ifndef QRN_TOOLS_ONNX_CONVERTER_CONV_FLAGS_H
#define QRN_TOOLS_ONNX_CONVERTER_CONV_FLAGS_H

#include "base/arena.h"
#include "tools/quern/flags.h"

#define MC_PAIR '\n' // between the two words of a flag that has two

enum {
#define MC_REJECTED(kind, name, letter, arg, why) MC_REJECTED_##name,
#include "tools/onnx_converter/rejected.def"
#undef MC_REJECTED
    MC_N_REJECTED
};

typedef struct mc_options {
    const char *input, *output, *copyright_file, *package, *dry_run, *float_bits, *bias_float_bits;
    const char *input_list, *act_bits, *weight_bits, *bias_bits, *act_method, *param_method;
    qt_list outputs, dims, symbols, dtypes, layouts, op_configs, op_libs;
    uint64_t batch;
    bool debug, no_simplifier, keep_nodes, prefix, counters, preserve, per_channel, per_row;
    bool version;
    const char *rejected_text[MC_N_REJECTED];
    bool rejected[MC_N_REJECTED];
} mc_options;

extern const qt_flag mc_flags[], mc_quantizer_flags[], mc_rejected_flags[];

// The words with long names for short ones of several letters, and flags of two words as one word;
// NULL when out of memory.
char **mc_spell_out(qrn_arena *a, int argc, char **argv, int *n_out);
// Is a flag given that is rejected, or a value? QT_EXIT_OK, or another code after a message.
int mc_check_flags(const mc_options *o);

#endif
