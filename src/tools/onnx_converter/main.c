// SPDX-License-Identifier: MIT
//
// The program qnn-onnx-converter.
#include "tools/onnx_converter/conv_flags.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

static int run(const void *options, const qt_list *args) {
    const mc_options *o = options;
    (void)args;
    int code = mc_check_flags(o);
    if (code != QT_EXIT_OK)
        return code;
    qt_set_inputs(&o->input, 1);
    qrn_arena *a = qrn_arena_create();
    if (!a) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    code = mc_convert(o, a);
    qrn_arena_destroy(a);
    return code;
}

static const qt_command converter = {
    .name = "qnn-onnx-converter",
    .summary = "convert an ONNX model to the source of a model library",
    .args = "--input_network MODEL.onnx [--output_path NAME.cpp]",
    .alone = true,
    .about = "Converts an ONNX model to the source of a model library: NAME.cpp, NAME.bin with the "
             "weights, and NAME_net.json. qnn-model-lib-generator builds the library.\n",
    .groups = {{"options", mc_flags},
               {"inputs and outputs", mc_io_flags},
               {"quantization", mc_quantizer_flags},
               {"rejected", mc_rejected_flags}},
    .examples = {{"qnn-onnx-converter -i model.onnx -o model.cpp", "All floats."},
                 {"qnn-onnx-converter -i model.onnx --input_list list.txt", "Quantized."}},
    .options_size = sizeof(mc_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&converter, NULL};

int main(int argc, char **argv) {
    return qs_spelled_program(&converter, mc_spelling, offsetof(mc_options, command), argc, argv);
}
