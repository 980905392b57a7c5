// SPDX-License-Identifier: MIT
//
// Flags of qairt-quantizer, and what they are for `quern quantize`.
#include "tools/qairt_quantizer/qq_options.h"

#include "tools/converter/dlc_write.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <string.h>

#define AT(field) offsetof(qq_options, field)

const qt_flag qq_flags[] = {
    {"input_dlc", 'i', QT_FILE, "FILE", AT(input), NULL, "the DLC file of qairt-converter"},
    {"output_dlc", 'o', QT_FILE, "FILE", AT(output), NULL,
     "the file to write (the input's name with _quantized.dlc)"},
    {"input_list", 'l', QT_FILE, "FILE", AT(input_list), NULL, "calibration data"},
    {"enable_float_fallback", 'f', QT_BOOL, NULL, AT(fallback), NULL,
     "use only the encodings of the overrides, keep the rest float; no data"},
    {"ignore_quantization_overrides", 0, QT_BOOL, NULL, AT(ignore_overrides), NULL,
     "do not use the overrides in the DLC; also --ignore_encodings"},
    {"preserve_io_datatype", 0, QT_TEXT, "NAMES|all", AT(preserve), NULL,
     "inputs and outputs that stay float"},
    {"use_native_input_files", 0, QT_BOOL, NULL, AT(native_inputs), NULL,
     "files have the types of the model's inputs (always on)"},
    {"dump_encoding_json", 0, QT_FILE, "[FILE]", AT(dump), NULL,
     "write all encodings as JSON, 1.0.0 (the output's name with .json)"},
    {"target_backend", 0, QT_CHOICE, "NAME", AT(target), "CPU|GPU|DSP|HTP|HTA|LPAI",
     "backend that must support every op; DSP and HTA are rejected"},
    {"target_soc_model", 0, QT_TEXT, "SOC", AT(soc), NULL, "SoC of --target_backend HTP"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "list the ops"},
    QS_COMMON_FLAGS(qq_options),
    {0},
};

const qt_flag qq_range_flags[] = {
    {"act_bitwidth", 0, QT_CHOICE, "N", AT(act_bits), "8|16", "bits of activations (8)"},
    {"weights_bitwidth", 0, QT_CHOICE, "N", AT(weight_bits), "4|8|16", "bits of weights (8)"},
    {"bias_bitwidth", 0, QT_CHOICE, "N", AT(bias_bits), "8|32",
     "bits of biases (32); 8 is rejected"},
    {"float_bitwidth", 0, QT_CHOICE, "N", AT(float_bits), "32|16",
     "bits of values that stay float (32)"},
    {"float_bias_bitwidth", 0, QT_CHOICE, "N", AT(float_bias_bits), "16|32",
     "bits of biases that stay float (those of --float_bitwidth)"},
    {"use_per_channel_quantization", 0, QT_BOOL, NULL, AT(per_channel), NULL,
     "weights of convolutions have a scale per channel (always on)"},
    {"use_per_row_quantization", 0, QT_BOOL, NULL, AT(per_row), NULL,
     "the same for matmuls (always on)"},
    {"enable_per_row_quantized_bias", 0, QT_BOOL, NULL, AT(per_row_bias), NULL,
     "the same for their biases (always on)"},
    {"keep_weights_quantized", 0, QT_BOOL, NULL, AT(keep_weights), NULL,
     "quantized weights beside float activations"},
    {"pack_4_bit_weights", 0, QT_BOOL, NULL, AT(pack), NULL,
     "two 4-bit weights in a byte; otherwise each has its own"},
    {"act_quantizer_calibration", 0, QT_CHOICE, "M", AT(act_method),
     "min-max|sqnr|entropy|mse|percentile", "ranges of activations (min-max)"},
    {"param_quantizer_calibration", 0, QT_CHOICE, "M", AT(param_method),
     "min-max|sqnr|entropy|mse|percentile", "min-max; others are rejected"},
    {"percentile_calibration_value", 0, QT_TEXT, "P", AT(percentile), NULL,
     "percentage of values inside the range, 90 to 100 (99.99)"},
    {"act_quantizer_schema", 0, QT_CHOICE, "S", AT(act_schema),
     "asymmetric|symmetric|unsignedsymmetric", "asymmetric; others are rejected"},
    {"param_quantizer_schema", 0, QT_CHOICE, "S", AT(param_schema),
     "asymmetric|symmetric|unsignedsymmetric", "symmetric; others are rejected"},
    {"apply_algorithms", 0, QT_TEXT, "NAME", AT(algorithms), NULL,
     "cle or adaround (none); also --algorithms; amp is rejected"},
    {"restrict_quantization_steps", 0, QT_TEXT, "MIN MAX", AT(steps), NULL,
     "\"-0x80 0x7F\" and, of 16-bit weights, \"-0x8000 0x7F7F\", as it is; others are rejected"},
    {0},
};

#define ROW_TEXT(name, arg, why)                                                                   \
    {#name, 0, QT_TEXT, arg, AT(rejected_text[QQ_REJECTED_##name]), NULL, "rejected: " why},
#define ROW_BOOL(name, arg, why)                                                                   \
    {#name, 0, QT_BOOL, arg, AT(rejected[QQ_REJECTED_##name]), NULL, "rejected: " why},

const qt_flag qq_rejected_flags[] = {
#define QQ_REJECTED(kind, name, arg, why) ROW_##kind(name, arg, why)
#include "tools/qairt_quantizer/qq_rejected.def"
#undef QQ_REJECTED
    {0},
};

const qs_spelled qq_spelling[] = {
    {"--float_fallback", "--enable_float_fallback", QS_OPERAND_PLAIN, NULL},
    {"--algorithms", "--apply_algorithms", QS_OPERAND_PLAIN, NULL},
    {"--ignore_encodings", "--ignore_quantization_overrides", QS_OPERAND_PLAIN, NULL},
    {"--preserve_io_datatype", NULL, QS_OPERAND_NAMES, "all"},
    {"--dump_encoding_json", NULL, QS_OPERAND_NAMES, "default"},
    {"-c", "--config", QS_OPERAND_PLAIN, NULL},
    {"--config_file", "--config", QS_OPERAND_PLAIN, NULL},
    {"-opl", "--op_package_lib", QS_OPERAND_PLAIN, NULL},
    {"--debug", NULL, QS_OPERAND_LEVEL, NULL},
    {0},
};

static int reject(const char *flag, const char *value, const char *why) {
    qt_error("--%s%s%s is not supported: %s", flag, *value ? " " : "", value, why);
    return QT_EXIT_USAGE;
}

static bool is(const char *value, const char *what) { return value && strcmp(value, what) == 0; }

// Values that the quantizer does not have.
static int check_values(const qq_options *o) {
    if (is(o->bias_bits, "8"))
        return reject("bias_bitwidth", "8", "biases have 32 bits");
    if (o->param_method && !is(o->param_method, "min-max"))
        return reject("param_quantizer_calibration", o->param_method,
                      "weights reach their largest value, and 4-bit ones have the scale with the "
                      "least error");
    if (o->act_schema && !is(o->act_schema, "asymmetric"))
        return reject("act_quantizer_schema", o->act_schema,
                      "ranges of activations are asymmetric");
    if (o->param_schema && !is(o->param_schema, "symmetric"))
        return reject("param_quantizer_schema", o->param_schema, "weights are symmetric");
    bool wide = is(o->weight_bits, "16");
    if (o->steps && !is(o->steps, wide ? "-0x8000 0x7F7F" : "-0x80 0x7F"))
        return reject("restrict_quantization_steps", o->steps,
                      wide ? "allowed is \"-0x8000 0x7F7F\"" : "allowed is \"-0x80 0x7F\"");
    if (o->percentile && !is(o->act_method, "percentile")) {
        qt_error("--percentile_calibration_value needs --act_quantizer_calibration percentile");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

int qq_check(const qq_options *o) {
    if (!o->input) {
        qt_error("--input_dlc is needed");
        return QT_EXIT_USAGE;
    }
    if (!o->input_list && !o->fallback && !o->keep_weights) {
        qt_error("--input_list is needed: ranges follow from data (or --enable_float_fallback: the "
                 "overrides in the DLC alone)");
        return QT_EXIT_USAGE;
    }
    int code =
        qs_exclusive(o->input_list != NULL, "input_list", o->fallback, "enable_float_fallback");
    if (code == QT_EXIT_OK)
        code = qs_exclusive(o->fallback, "enable_float_fallback", o->ignore_overrides,
                            "ignore_quantization_overrides");
    if (code == QT_EXIT_OK)
        code = qs_exclusive(o->fallback, "enable_float_fallback", o->dump != NULL,
                            "dump_encoding_json");
    if (code == QT_EXIT_OK)
        code = qs_exclusive(o->fallback, "enable_float_fallback", o->keep_weights,
                            "keep_weights_quantized");
    if (code == QT_EXIT_OK)
        code = qs_needs(o->soc != NULL, "target_soc_model", o->target != NULL, "target_backend");
    return code == QT_EXIT_OK ? check_values(o) : code;
}

static const char *method_of(const qq_options *o) {
    return !o->act_method || is(o->act_method, "min-max") ? "minmax" : o->act_method;
}

int qq_words(const qq_options *o, qrn_arena *a, const char *path, cv_quantizing *q) {
    static const char *const endings[] = {".dlc", NULL};
    const char *scheme = o->keep_weights ? is(o->weight_bits, "4") ? "w4" : "w8"
                                         : cv_quantize_scheme(o->act_bits, o->weight_bits);
    if (!scheme)
        return QT_EXIT_USAGE;
    if (o->keep_weights && is(o->weight_bits, "16"))
        return reject("weights_bitwidth", "16", "--keep_weights_quantized has 4 and 8 bits");
    q->fallback = o->fallback;
    cv_quantize_word(q, "--scheme", scheme);
    if (o->input_list)
        cv_quantize_word(q, "--calibration", o->input_list);
    cv_quantize_word(q, "--method", method_of(o));
    const char *repairs = cv_quantize_repairs("--apply_algorithms", o->algorithms);
    if (!repairs)
        return QT_EXIT_USAGE;
    cv_quantize_word(q, "--repair", repairs);
    if (o->percentile)
        cv_quantize_word(q, "--percentile", o->percentile);
    if (!o->dump)
        return QT_EXIT_OK;
    const char *file = is(o->dump, "default") ? cv_path_with(a, path, endings, ".json") : o->dump;
    if (!file)
        return cv_no_memory();
    cv_quantize_word(q, "--export-encodings", file);
    return QT_EXIT_OK;
}
