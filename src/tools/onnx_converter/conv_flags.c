// SPDX-License-Identifier: MIT
//
// Flags of qnn-onnx-converter.
#include "tools/onnx_converter/conv_flags.h"

#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <string.h>

#define AT(field) offsetof(mc_options, field)

const qt_flag mc_flags[] = {
    {"input_network", 'i', QT_FILE, "FILE", AT(input), NULL, "the ONNX model"},
    {"output_path", 'o', QT_FILE, "FILE", AT(output), NULL,
     "the source to write, NAME.cpp; NAME.bin and NAME_net.json go beside it"},
    {"out_node", 0, QT_LIST, "NAME", AT(outputs), NULL,
     "an output instead of the model's own; repeat it for more outputs"},
    {"input_dim", 'd', QT_LIST, "NAME DIMS", AT(dims), NULL, "shape of an input: data 1,3,224,224"},
    {"batch", 'b', QT_COUNT, "N", AT(batch), NULL, "first dimension of every input"},
    {"define_symbol", 's', QT_LIST, "NAME N", AT(symbols), NULL, "value of a symbolic dimension"},
    {"dry_run", 0, QT_CHOICE, "HOW", AT(dry_run), "info|debug",
     "print what is not supported and write nothing"},
    {"no_simplification", 'n', QT_BOOL, NULL, AT(no_simplifier), NULL,
     "skip simplification (there is none)"},
    {"keep_disconnected_nodes", 0, QT_BOOL, NULL, AT(keep_nodes), NULL,
     "keep nodes that lead to no output"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "list the nodes"},
    {"copyright_file", 0, QT_FILE, "FILE", AT(copyright_file), NULL,
     "text for the head of the source"},
    {"float_bitwidth", 0, QT_CHOICE, "N", AT(float_bits), "32|16", "bits of floats (32)"},
    {"float_bias_bitwidth", 0, QT_CHOICE, "N", AT(bias_float_bits), "32|16",
     "bits of biases (those of --float_bitwidth)"},
    {"export_format", 0, QT_CHOICE, "FORM", AT(export_format), "cpp|dlc",
     "cpp; dlc is rejected: qairt-converter writes DLC files"},
    {"overwrite_model_prefix", 0, QT_BOOL, NULL, AT(prefix), NULL,
     "the output's name instead of QnnModel before the entry points"},
    {"exclude_named_tensors", 0, QT_BOOL, NULL, AT(counters), NULL,
     "numbers instead of names for tensors other than inputs and outputs"},
    {"package_name", 'p', QT_TEXT, "NAME", AT(package), NULL,
     "package that is recorded on every node (qti.aisw)"},
    {"op_package_config", 0, QT_LIST, "FILE", AT(op_configs), NULL,
     "XML definitions of custom ops; repeat it for more files"},
    {"op_package_lib", 0, QT_LIST, "LIB:PROVIDER", AT(op_libs), NULL,
     "op package that validates them while converting"},
    QS_COMMON_FLAGS(mc_options),
    {0},
};

const qt_flag mc_io_flags[] = {
    {"input_dtype", 0, QT_LIST, "NAME TYPE", AT(dtypes), NULL,
     "type of an input, which must be the model's"},
    {"input_layout", 'l', QT_LIST, "NAME LAYOUT", AT(layouts), NULL,
     "meaning of an input's dimensions; it keeps them"},
    {"input_encoding", 'e', QT_LIST, "NAME IN [OUT]", AT(colors), NULL,
     "colour order of the data and of the model: rgb, bgr"},
    {"custom_io", 0, QT_FILE, "FILE", AT(custom_io), NULL,
     "YAML about layouts and types of inputs and outputs"},
    {"dump_custom_io_config_template", 0, QT_FILE, "FILE", AT(template), NULL,
     "write a template of such a file and exit"},
    {"preserve_io", 0, QT_LIST, "[WHAT [NAMES]]", AT(preserve), NULL,
     "layout stays in any case, types do with --float_bitwidth 16"},
    {0},
};

const qt_flag mc_quantizer_flags[] = {
    {"input_list", 0, QT_FILE, "FILE", AT(input_list), NULL,
     "calibration data; without it, the model is not quantized"},
    {"quantization_overrides", 0, QT_FILE, "FILE", AT(overrides), NULL,
     "JSON with encodings that win over calibration"},
    {"float_fallback", 0, QT_BOOL, NULL, AT(fallback), NULL,
     "use only the encodings of the overrides, keep the rest float; no data"},
    {"ignore_encodings", 0, QT_BOOL, NULL, AT(ignore_encodings), NULL,
     "a quantized model becomes a float one"},
    {"act_bitwidth", 0, QT_CHOICE, "N", AT(act_bits), "8|16", "bits of activations (8)"},
    {"weights_bitwidth", 0, QT_CHOICE, "N", AT(weight_bits), "4|8|16", "bits of weights (8)"},
    {"bias_bitwidth", 0, QT_CHOICE, "N", AT(bias_bits), "8|32",
     "bits of biases (32); 8 is rejected"},
    {"act_quantizer", 0, QT_CHOICE, "M", AT(act_method), "tf|enhanced|adjusted|symmetric",
     "ranges of activations (tf: minimum to maximum; enhanced: smallest error); others are "
     "rejected"},
    {"param_quantizer", 0, QT_CHOICE, "M", AT(param_method), "tf|enhanced|adjusted|symmetric",
     "tf; others are rejected"},
    {"algorithms", 0, QT_TEXT, "NAME", AT(algorithms), NULL, "cle or adaround (none)"},
    {"use_per_channel_quantization", 0, QT_BOOL, NULL, AT(per_channel), NULL,
     "weights of convolutions have a scale per channel (always on)"},
    {"use_per_row_quantization", 0, QT_BOOL, NULL, AT(per_row), NULL,
     "the same for matmuls (always on)"},
    {0},
};

#define ROW_TEXT(name, letter, arg, why)                                                           \
    {#name, letter, QT_TEXT, arg, AT(rejected_text[MC_REJECTED_##name]), NULL, "rejected: " why},
#define ROW_BOOL(name, letter, arg, why)                                                           \
    {#name, letter, QT_BOOL, arg, AT(rejected[MC_REJECTED_##name]), NULL, "rejected: " why},

const qt_flag mc_rejected_flags[] = {
#define MC_REJECTED(kind, name, letter, arg, why) ROW_##kind(name, letter, arg, why)
#include "tools/onnx_converter/rejected.def"
#undef MC_REJECTED
    {0},
};

// --- words

const qs_spelled mc_spelling[] = {
    {"--out_name", "--out_node", QS_OPERAND_PLAIN, NULL},
    {"--float_bw", "--float_bitwidth", QS_OPERAND_PLAIN, NULL},
    {"--float_bias_bw", "--float_bias_bitwidth", QS_OPERAND_PLAIN, NULL},
    {"--bias_bw", "--bias_bitwidth", QS_OPERAND_PLAIN, NULL},
    {"--act_bw", "--act_bitwidth", QS_OPERAND_PLAIN, NULL},
    {"--weight_bw", "--weights_bitwidth", QS_OPERAND_PLAIN, NULL},
    {"--use_native_dtype", "--use_native_input_files", QS_OPERAND_PLAIN, NULL},
    {"-opl", "--op_package_lib", QS_OPERAND_PLAIN, NULL},
    {"-cpl", "--converter_op_package_lib", QS_OPERAND_PLAIN, NULL},
    {"-opc", "--op_package_config", QS_OPERAND_PLAIN, NULL},
    {"--input_dim", NULL, QS_OPERAND_TWO, NULL},
    {"-d", "--input_dim", QS_OPERAND_TWO, NULL},
    {"--define_symbol", NULL, QS_OPERAND_TWO, NULL},
    {"-s", "--define_symbol", QS_OPERAND_TWO, NULL},
    {"--input_dtype", NULL, QS_OPERAND_TWO, NULL},
    {"--input_layout", NULL, QS_OPERAND_TWO, NULL},
    {"-l", "--input_layout", QS_OPERAND_TWO, NULL},
    {"--input_type", NULL, QS_OPERAND_TWO, NULL},
    {"-t", "--input_type", QS_OPERAND_TWO, NULL},
    {"--input_encoding", NULL, QS_OPERAND_THREE, NULL},
    {"-e", "--input_encoding", QS_OPERAND_THREE, NULL},
    {"--dry_run", NULL, QS_OPERAND_WORD, "info|debug"},
    {"--debug", NULL, QS_OPERAND_LEVEL, NULL},
    {"--preserve_io", NULL, QS_OPERAND_NAMES, "all"},
    {0},
};

const cv_words mc_words = {.shape = "--input_dim",
                           .batch = "--batch",
                           .symbol = "--define_symbol",
                           .type = "--input_dtype",
                           .layout = "--input_layout",
                           .output = "--out_node",
                           .io = "--custom_io"};

// --- values that are rejected

static int reject(const char *flag, const char *value, const char *why) {
    qt_error("--%s%s%s is not supported: %s", flag, *value ? " " : "", value, why);
    return QT_EXIT_USAGE;
}

static bool is(const char *value, const char *what) { return value && strcmp(value, what) == 0; }

int mc_check_flags(const mc_options *o) {
    if (is(o->export_format, "dlc"))
        return reject("export_format", "dlc", "qairt-converter writes DLC files");
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
    if (o->overrides && !o->input_list && !o->fallback) {
        qt_error("--quantization_overrides needs --input_list, or --float_fallback");
        return QT_EXIT_USAGE;
    }
    int code = qs_exclusive(o->fallback, "float_fallback", o->input_list != NULL, "input_list");
    if (code == QT_EXIT_OK)
        code = qs_exclusive(o->fallback, "float_fallback", o->ignore_encodings, "ignore_encodings");
    if (code == QT_EXIT_OK)
        code = qs_exclusive(o->overrides != NULL, "quantization_overrides", o->ignore_encodings,
                            "ignore_encodings");
    return code;
}

// Bare: all. "layout" and "datatype" stand for all, too, unless names follow. Layouts are the
// model's own in any case.
int mc_kept_types(const mc_options *o, const char **keep) {
    bool all = false, named = false;
    *keep = NULL;
    for (size_t i = 0; i < o->preserve.n; i++) {
        const char *item = o->preserve.items[i];
        size_t n = strcspn(item, (char[]){QS_PAIR, 0});
        bool layout = n == 6 && strncmp(item, "layout", n) == 0;
        bool type = n == 8 && strncmp(item, "datatype", n) == 0;
        if (!layout && !type && strcmp(item, "all") != 0) {
            qt_error("--preserve_io %.*s: expected layout or datatype, and names behind it", (int)n,
                     item);
            return QT_EXIT_USAGE;
        }
        all = all || !item[n];
        named = named || item[n];
        if (!layout)
            *keep = item[n] ? item + n + 1 : "all";
    }
    if (all && named) {
        qt_error("--preserve_io with names and without exclude each other");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}
