// SPDX-License-Identifier: MIT
//
// Flags of qairt-converter.
#include "tools/qairt_converter/qc_options.h"

#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <string.h>

#define AT(field) offsetof(qv_options, field)

const qt_flag qv_model_flags[] = {
    {"input_network", 'i', QT_FILE, "FILE", AT(input), NULL,
     "the ONNX model; other frameworks are rejected"},
    {"output_path", 'o', QT_FILE, "FILE", AT(output), NULL,
     "the DLC file to write (the model's name with .dlc)"},
    {"source_model_input_shape", 's', QT_LIST, "NAME DIMS", AT(shapes), NULL,
     "shape of an input: data 1,3,224,224; also --desired_input_shape, -d"},
    {"out_tensor_node", 0, QT_LIST, "NAME", AT(outputs), NULL,
     "an output instead of the model's own; also --out_tensor_name"},
    {"onnx_define_symbol", 0, QT_LIST, "NAME N", AT(symbols), NULL,
     "value of a symbolic dimension"},
    {"onnx_override_batch", 0, QT_COUNT, "N", AT(batch), NULL,
     "first dimension of every input; also --onnx_batch"},
    {"onnx_skip_simplification", 0, QT_BOOL, NULL, AT(no_simplifier), NULL,
     "skip simplification (there is none); also -oss"},
    {"onnx_perform_sequence_construct_optimizer", 0, QT_BOOL, NULL, AT(sequences), NULL,
     "resolve sequences (always on)"},
    {"onnx_summary", 0, QT_BOOL, NULL, AT(summary), NULL,
     "print inputs, outputs and types of nodes"},
    {"dry_run", 0, QT_CHOICE, "HOW", AT(dry_run), "info|debug",
     "print what is not supported and write nothing"},
    {"package_name", 'p', QT_TEXT, "NAME", AT(package), NULL,
     "package that is recorded on every node (qti.aisw)"},
    {"op_package_config", 0, QT_LIST, "FILE", AT(op_configs), NULL,
     "XML definitions of custom ops; also -opc"},
    {"op_package_lib", 0, QT_LIST, "LIB:PROVIDER", AT(op_libs), NULL,
     "op package that validates them; also -opl"},
    {0},
};

const qt_flag qv_io_flags[] = {
    {"source_model_input_datatype", 0, QT_LIST, "NAME TYPE", AT(types), NULL,
     "type of an input, which must be the model's"},
    {"source_model_input_layout", 'l', QT_LIST, "NAME LAYOUT", AT(layouts), NULL,
     "meaning of an input's dimensions"},
    {"desired_input_layout", 0, QT_LIST, "NAME LAYOUT", AT(wanted_layouts), NULL,
     "layout of the DLC's input (the model's)"},
    {"source_model_output_layout", 0, QT_LIST, "NAME LAYOUT", AT(output_layouts), NULL,
     "meaning of an output's dimensions"},
    {"desired_output_layout", 0, QT_LIST, "NAME LAYOUT", AT(wanted_output_layouts), NULL,
     "layout of the DLC's output (the model's)"},
    {"desired_input_color_encoding", 'e', QT_LIST, "NAME IN [OUT]", AT(colors), NULL,
     "colour order of the data and of the model: rgb, bgr"},
    {"preserve_io_datatype", 0, QT_TEXT, "NAMES|all", AT(preserve), NULL,
     "inputs and outputs stay float32 with --float_bitwidth 16"},
    {"config", 0, QT_FILE, "FILE", AT(config), NULL,
     "YAML about inputs and outputs; also --io_config"},
    {"dump_config_template", 0, QT_FILE, "FILE", AT(template), NULL,
     "write a template of such a file and exit; also --dump_io_config_template"},
    {0},
};

const qt_flag qv_result_flags[] = {
    {"float_bitwidth", 0, QT_CHOICE, "N", AT(float_bits), "32|16", "bits of floats (32)"},
    {"float_bias_bitwidth", 0, QT_CHOICE, "N", AT(bias_bits), "0|16|32",
     "bits of biases; 0: those of --float_bitwidth"},
    {"quantization_overrides", 'q', QT_FILE, "FILE", AT(overrides), NULL,
     "JSON with encodings, kept in the DLC for qairt-quantizer"},
    {"export_format", 0, QT_CHOICE, "FORM", AT(export_format), "DLC_DEFAULT|DLC_STRIP_QUANT",
     "DLC_STRIP_QUANT: a quantized model becomes a float one"},
    {"set_model_version", 0, QT_TEXT, "TEXT", AT(model_version), NULL,
     "kept in the DLC, at most 64 bytes of ASCII; also --model_version"},
    {"copyright_file", 0, QT_FILE, "FILE", AT(copyright_file), NULL,
     "text that is kept in the DLC"},
    {"enable_framework_trace", 0, QT_BOOL, NULL, AT(trace), NULL,
     "store in the DLC which node of the model each op comes from"},
    {"target_backend", 0, QT_CHOICE, "NAME", AT(target), "CPU|GPU|DSP|HTP|HTA|LPAI",
     "backend that must support every op; DSP and HTA are rejected"},
    {"target_soc_model", 0, QT_TEXT, "SOC", AT(soc), NULL, "SoC of --target_backend HTP"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "list the ops"},
    QS_COMMON_FLAGS(qv_options),
    {0},
};

#define ROW_TEXT(name, arg, why)                                                                   \
    {#name, 0, QT_TEXT, arg, AT(rejected_text[QV_REJECTED_##name]), NULL, "rejected: " why},
#define ROW_BOOL(name, arg, why)                                                                   \
    {#name, 0, QT_BOOL, arg, AT(rejected[QV_REJECTED_##name]), NULL, "rejected: " why},

const qt_flag qv_rejected_flags[] = {
#define QV_REJECTED(kind, name, arg, why) ROW_##kind(name, arg, why)
#include "tools/qairt_converter/qc_rejected.def"
#undef QV_REJECTED
    {0},
};

const qs_spelled qv_spelling[] = {
    {"--source_model_input_shape", NULL, QS_OPERAND_TWO, NULL},
    {"-s", "--source_model_input_shape", QS_OPERAND_TWO, NULL},
    {"--desired_input_shape", "--source_model_input_shape", QS_OPERAND_TWO, NULL},
    {"-d", "--source_model_input_shape", QS_OPERAND_TWO, NULL},
    {"--out_tensor_name", "--out_tensor_node", QS_OPERAND_PLAIN, NULL},
    {"--onnx_define_symbol", NULL, QS_OPERAND_TWO, NULL},
    {"--onnx_batch", "--onnx_override_batch", QS_OPERAND_PLAIN, NULL},
    {"-oss", "--onnx_skip_simplification", QS_OPERAND_PLAIN, NULL},
    {"--onnx_no_simplification", "--onnx_skip_simplification", QS_OPERAND_PLAIN, NULL},
    {"--dry_run", NULL, QS_OPERAND_WORD, "info|debug"},
    {"--debug", NULL, QS_OPERAND_LEVEL, NULL},
    {"-opc", "--op_package_config", QS_OPERAND_PLAIN, NULL},
    {"-opl", "--op_package_lib", QS_OPERAND_PLAIN, NULL},
    {"-cpl", "--converter_op_package_lib", QS_OPERAND_PLAIN, NULL},
    {"--source_model_input_datatype", NULL, QS_OPERAND_TWO, NULL},
    {"--source_model_input_layout", NULL, QS_OPERAND_TWO, NULL},
    {"-l", "--source_model_input_layout", QS_OPERAND_TWO, NULL},
    {"--desired_input_layout", NULL, QS_OPERAND_TWO, NULL},
    {"--source_model_output_layout", NULL, QS_OPERAND_TWO, NULL},
    {"--desired_output_layout", NULL, QS_OPERAND_TWO, NULL},
    {"--desired_input_color_encoding", NULL, QS_OPERAND_THREE, NULL},
    {"-e", "--desired_input_color_encoding", QS_OPERAND_THREE, NULL},
    {"--preserve_io_datatype", NULL, QS_OPERAND_NAMES, "all"},
    {"--io_config", "--config", QS_OPERAND_PLAIN, NULL},
    {"--dump_io_config_template", "--dump_config_template", QS_OPERAND_PLAIN, NULL},
    {"--model_version", "--set_model_version", QS_OPERAND_PLAIN, NULL},
    {0},
};

const cv_words qv_words = {.shape = "--source_model_input_shape",
                           .batch = "--onnx_override_batch",
                           .symbol = "--onnx_define_symbol",
                           .type = "--source_model_input_datatype",
                           .layout = "--source_model_input_layout",
                           .output = "--out_tensor_node",
                           .io = "--config"};

int qv_check(const qv_options *o) {
    if (!o->input) {
        qt_error("--input_network is needed");
        return QT_EXIT_USAGE;
    }
    for (const char *c = o->model_version; c && *c; c++)
        if ((unsigned char)*c >= 0x80 || (unsigned char)*c < 0x20) {
            qt_error("--set_model_version %s: expected ASCII", o->model_version);
            return QT_EXIT_USAGE;
        }
    int code = qs_needs(o->soc != NULL, "target_soc_model", o->target != NULL, "target_backend");
    if (code == QT_EXIT_OK)
        code = qs_exclusive(o->package != NULL, "package_name", o->op_configs.n > 0,
                            "op_package_config");
    return code;
}
