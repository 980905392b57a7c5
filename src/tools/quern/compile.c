// SPDX-License-Identifier: MIT
//
// quern compile: its flags are settled, the work is refused.
#include "tools/quern/inputs.h"
#include "tools/quern/output.h"
#include "tools/quern/commands.h"

typedef struct compile_options {
    const char *output, *soc;
    qt_list dims;
} compile_options;

static const qt_flag flags[] = {
    {"output", 'o', QT_FILE, "FILE", offsetof(compile_options, output), NULL, "where to write"},
    {"soc", 0, QT_TEXT, "SOC", offsetof(compile_options, soc), NULL,
     "chip to compile for, by name or number"},
    {"dim", 'd', QT_LIST, "NAME=N", offsetof(compile_options, dims), NULL,
     "size of a dynamic dimension"},
    {0},
};

static int run(const void *options, const qt_list *args) {
    (void)options;
    qt_error("%s: this version does not write context binaries yet; 'quern run' and 'quern bench' "
             "take the ONNX model itself",
             args->items[0]);
    return QT_EXIT_FAILURE;
}

const qt_command qt_compile = {
    .name = "compile",
    .summary = "compile a model to a context binary (not in this version)",
    .args = "MODEL -o FILE --soc SOC",
    .min_args = 1,
    .max_args = 1,
    .about = "Will compile an ONNX model to a context binary. This version refuses.",
    .groups = {{"options", flags}},
    .examples = {{"quern compile model.onnx -o model.bin --soc SM8650", "Will be the usual way."}},
    .options_size = sizeof(compile_options),
    .run = run,
};
