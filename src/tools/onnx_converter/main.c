// SPDX-License-Identifier: MIT
//
// The program qnn-onnx-converter.
#include "tools/onnx_converter/quantize.h"
#include "tools/quern/output.h"

#include <string.h>

// The command line as one line, for the files.
static char *command_line(qrn_arena *a, int argc, char **argv) {
    size_t n = 1;
    for (int i = 0; i < argc; i++)
        n += strlen(argv[i]) + 1;
    char *line = qrn_arena_alloc(a, n), *to = line;
    for (int i = 0; line && i < argc; i++) {
        size_t k = strlen(argv[i]);
        if (i)
            *to++ = ' ';
        memcpy(to, argv[i], k);
        to += k;
    }
    for (char *c = line; line && *c; c++)
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
    return line;
}

static int run(const mc_options *o, qrn_arena *a, const char *command) {
    if (o->version) {
        qt_print("%s\n", "qnn-onnx-converter of Quern " QUERN_VERSION);
        return qt_close_stdout();
    }
    int code = mc_check_flags(o);
    return code == QT_EXIT_OK ? mc_convert(o, a, command) : code;
}

static const qt_command converter = {
    .name = "qnn-onnx-converter",
    .args = "--input_network MODEL.onnx [--output_path NAME.cpp]",
    .alone = true,
    .about = "Converts an ONNX model to the source of a model library: NAME.cpp, NAME.bin with the "
             "weights, and NAME_net.json. qnn-model-lib-generator builds the library.\n",
    .groups = {{"options", mc_flags},
               {"quantization", mc_quantizer_flags},
               {"rejected", mc_rejected_flags}},
    .examples = {{"qnn-onnx-converter -i model.onnx -o model.cpp", NULL},
                 {"qnn-onnx-converter -i model.onnx --input_list list.txt", NULL}},
    .options_size = sizeof(mc_options),
};

const qt_command *const qt_commands[] = {&converter, NULL};

int main(int argc, char **argv) {
    mc_options options = {0};
    qt_list args = {0};
    int n = 0;
    qt_output_init();
    qt_set_program("qnn-onnx-converter");
    qrn_arena *a = qrn_arena_create();
    char **words = a ? mc_spell_out(a, argc - 1, argv + 1, &n) : NULL;
    char *command = a ? command_line(a, argc, argv) : NULL;
    if (!words || !command) {
        qt_error("out of memory");
        qrn_arena_destroy(a);
        return QT_EXIT_FAILURE;
    }
    int code = qt_flags_parse(&converter, n, words, &options, &args);
    qt_set_inputs(&options.input, options.input ? 1 : 0);
    if (code == QT_EXIT_OK)
        code = run(&options, a, command);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(&converter, &options, &args);
    qrn_arena_destroy(a);
    return qt_finish(code);
}
