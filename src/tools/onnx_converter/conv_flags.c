// SPDX-License-Identifier: MIT
//
// Flags of qnn-onnx-converter.
#include "tools/onnx_converter/conv_flags.h"

#include "tools/quern/output.h"

#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(mc_options, field)

const qt_flag mc_flags[] = {
    {"input_network", 'i', QT_FILE, "FILE", AT(input), NULL, "the ONNX model"},
    {"output_path", 'o', QT_FILE, "FILE", AT(output), NULL,
     "the source to write, NAME.cpp; NAME.bin and NAME_net.json go beside it"},
    {"out_node", 0, QT_LIST, "NAME", AT(outputs), NULL,
     "an output instead of the model's own; may be given again"},
    {"input_dim", 'd', QT_LIST, "NAME DIMS", AT(dims), NULL, "shape of an input: data 1,3,224,224"},
    {"batch", 'b', QT_COUNT, "N", AT(batch), NULL, "first dimension of every input"},
    {"define_symbol", 's', QT_LIST, "NAME N", AT(symbols), NULL, "value of a symbolic dimension"},
    {"input_dtype", 0, QT_LIST, "NAME TYPE", AT(dtypes), NULL,
     "type of an input, which must be the model's"},
    {"input_layout", 'l', QT_LIST, "NAME LAYOUT", AT(layouts), NULL,
     "what the dimensions of an input are; it keeps them"},
    {"preserve_io", 0, QT_BOOL, NULL, AT(preserve), NULL,
     "inputs and outputs keep layout and type, as they always do"},
    {"dry_run", 0, QT_CHOICE, "HOW", AT(dry_run), "info|debug",
     "say what is not supported and write nothing"},
    {"no_simplification", 'n', QT_BOOL, NULL, AT(no_simplifier), NULL,
     "no simplifier, as there is none"},
    {"keep_disconnected_nodes", 0, QT_BOOL, NULL, AT(keep_nodes), NULL,
     "keep nodes that lead to no output"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "list the nodes"},
    {"copyright_file", 0, QT_FILE, "FILE", AT(copyright_file), NULL,
     "text for the head of the source"},
    {"float_bitwidth", 0, QT_CHOICE, "N", AT(float_bits), "16|32", "32; 16 is rejected"},
    {"float_bias_bitwidth", 0, QT_CHOICE, "N", AT(bias_float_bits), "16|32", "32; 16 is rejected"},
    {"overwrite_model_prefix", 0, QT_BOOL, NULL, AT(prefix), NULL,
     "the output's name instead of QnnModel before the entry points"},
    {"exclude_named_tensors", 0, QT_BOOL, NULL, AT(counters), NULL,
     "numbers instead of names for tensors that are no inputs or outputs"},
    {"package_name", 'p', QT_TEXT, "NAME", AT(package), NULL,
     "package that is recorded on every node (qti.aisw)"},
    {"op_package_config", 0, QT_LIST, "FILE", AT(op_configs), NULL,
     "XML definitions of custom ops; may be given again"},
    {"op_package_lib", 0, QT_LIST, "LIB:PROVIDER", AT(op_libs), NULL,
     "op package that validates them while converting"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

const qt_flag mc_quantizer_flags[] = {
    {"input_list", 0, QT_FILE, "FILE", AT(input_list), NULL,
     "calibration data; without it nothing is quantized"},
    {"act_bitwidth", 0, QT_CHOICE, "N", AT(act_bits), "8|16", "bits of activations (8)"},
    {"weights_bitwidth", 0, QT_CHOICE, "N", AT(weight_bits), "4|8|16", "bits of weights (8)"},
    {"bias_bitwidth", 0, QT_CHOICE, "N", AT(bias_bits), "8|32", "32; 8 is rejected"},
    {"act_quantizer", 0, QT_CHOICE, "M", AT(act_method), "tf|enhanced|adjusted|symmetric",
     "tf: least and greatest value; enhanced: least error; others are rejected"},
    {"param_quantizer", 0, QT_CHOICE, "M", AT(param_method), "tf|enhanced|adjusted|symmetric",
     "tf; others are rejected"},
    {"use_per_channel_quantization", 0, QT_BOOL, NULL, AT(per_channel), NULL,
     "weights of convolutions have a scale for each channel, as they always do"},
    {"use_per_row_quantization", 0, QT_BOOL, NULL, AT(per_row), NULL,
     "the same for matmuls, as they always do"},
    {0},
};

#define ROW_TEXT(name, letter, arg, why)                                                           \
    {#name, letter, QT_TEXT, arg, AT(rejected_text[MC_REJECTED_##name]), NULL, why},
#define ROW_BOOL(name, letter, arg, why)                                                           \
    {#name, letter, QT_BOOL, arg, AT(rejected[MC_REJECTED_##name]), NULL, why},

const qt_flag mc_rejected_flags[] = {
#define MC_REJECTED(kind, name, letter, arg, why) ROW_##kind(name, letter, arg, why)
#include "tools/onnx_converter/rejected.def"
#undef MC_REJECTED
    {0},
};

// --- words

static const struct {
    const char *from, *to;
} aliases[] = {
    {"--out_name", "--out_node"},
    {"--float_bw", "--float_bitwidth"},
    {"--float_bias_bw", "--float_bias_bitwidth"},
    {"--bias_bw", "--bias_bitwidth"},
    {"--act_bw", "--act_bitwidth"},
    {"--weight_bw", "--weights_bitwidth"},
    {"--use_native_dtype", "--use_native_input_files"},
    {"-opl", "--op_package_lib"},
    {"-cpl", "--converter_op_package_lib"},
    {"-opc", "--op_package_config"},
};

static const char *const of_two_words[] = {
    "--input_dim",  "-d", "--define_symbol",  "-s", "--input_dtype", "--input_layout", "-l",
    "--input_type", "-t", "--input_encoding", "-e"};

static bool has_two(const char *word) {
    for (size_t i = 0; i < sizeof of_two_words / sizeof of_two_words[0]; i++)
        if (strcmp(word, of_two_words[i]) == 0)
            return true;
    return false;
}

static char *pair(qrn_arena *a, const char *first, const char *second) {
    size_t n = strlen(first) + strlen(second) + 2;
    char *text = qrn_arena_alloc(a, n);
    if (text)
        snprintf(text, n, "%s%c%s", first, MC_PAIR, second);
    return text;
}

static bool is_word(int argc, char **argv, int i) { return i < argc && argv[i][0] != '-'; }

// Arguments of flags whose arguments may be left out. *i moves over them.
static char *optional(qrn_arena *a, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    if (strcmp(word, "--dry_run") == 0) {
        bool given = *i + 1 < argc &&
                     (strcmp(argv[*i + 1], "info") == 0 || strcmp(argv[*i + 1], "debug") == 0);
        char *text = qrn_arena_strdup(
            a, given && strcmp(argv[*i + 1], "debug") == 0 ? "--dry_run=debug" : "--dry_run=info");
        *i += given;
        return text;
    }
    if (strcmp(word, "--debug") == 0) // a level
        *i += is_word(argc, argv, *i + 1) && strspn(argv[*i + 1], "0123456789") > 0;
    else if (strcmp(word, "--preserve_io") == 0)
        while (is_word(argc, argv, *i + 1))
            ++*i;
    return qrn_arena_strdup(a, word);
}

char **mc_spell_out(qrn_arena *a, int argc, char **argv, int *n_out) {
    char **out = qrn_arena_alloc(a, ((size_t)argc + 1) * sizeof *out);
    int n = 0;
    for (int i = 0; out && i < argc; i++) {
        out[n] = optional(a, argc, argv, &i);
        for (size_t k = 0; out[n] && k < sizeof aliases / sizeof aliases[0]; k++)
            if (strcmp(out[n], aliases[k].from) == 0)
                out[n] = qrn_arena_strdup(a, aliases[k].to);
        if (!out[n])
            return NULL;
        if (has_two(out[n++]) && i + 2 < argc) {
            if (!(out[n++] = pair(a, argv[i + 1], argv[i + 2])))
                return NULL;
            i += 2;
        }
    }
    *n_out = n;
    return out;
}

// --- values that are rejected

static int reject(const char *flag, const char *value, const char *why) {
    qt_error("--%s%s%s is not supported: %s", flag, *value ? " " : "", value, why);
    return QT_EXIT_USAGE;
}

static bool is(const char *value, const char *what) { return value && strcmp(value, what) == 0; }

int mc_check_flags(const mc_options *o) {
    for (int i = 0; i < MC_N_REJECTED; i++)
        if (o->rejected[i] || o->rejected_text[i])
            return reject(mc_rejected_flags[i].name, "", mc_rejected_flags[i].help);
    if (is(o->float_bits, "16"))
        return reject("float_bitwidth", "16", "chips that compute in fp16 do it with float models");
    if (is(o->bias_float_bits, "16"))
        return reject("float_bias_bitwidth", "16", "biases have the type of the model");
    if (is(o->bias_bits, "8"))
        return reject("bias_bitwidth", "8", "biases have 32 bits");
    if (o->param_method && !is(o->param_method, "tf"))
        return reject("param_quantizer", o->param_method, "allowed is tf");
    if (is(o->act_method, "adjusted") || is(o->act_method, "symmetric"))
        return reject("act_quantizer", o->act_method, "allowed are tf and enhanced");
    if (!o->input) {
        qt_error("--input_network is needed");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}
