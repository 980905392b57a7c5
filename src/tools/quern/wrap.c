// SPDX-License-Identifier: MIT
//
// quern wrap: a context binary as a model of EPContext nodes, for QNN's execution providers in ONNX
// Runtime.
#include "tools/quern/binary.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"

#include "frontend/onnx/writer/context_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wrap_options {
    const char *output, *provider;
    bool embed;
} wrap_options;

#define AT(field) offsetof(wrap_options, field)

static const qt_flag flags[] = {
    {"output", 'o', QT_FILE, "FILE", AT(output), NULL, "the model to write"},
    {"embed", 0, QT_BOOL, NULL, AT(embed), NULL,
     "put the binary into the model, not its name (the model then needs no other file)"},
    {"provider", 0, QT_TEXT, "NAME", AT(provider), NULL,
     "that the nodes name as their source (default: Qnn, which every provider supports)"},
    {0},
};

// The part of a path before the last slash, as the system knows it; freed by the caller.
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return real;
}

// A model names its binary by the file alone: it has to lie beside it.
static int check_folders(const char *binary, const char *output) {
    char *a = folder_of(binary), *b = folder_of(output);
    bool same = a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    if (same)
        return QT_EXIT_OK;
    qt_error("%s is not beside %s: a model names a binary in its own folder; write it there, or "
             "use --embed",
             binary, output);
    return QT_EXIT_USAGE;
}

static int write_model(const wrap_options *o, const char *path, const qt_binary *b) {
    const char *slash = strrchr(path, '/');
    ox_writer w = {0};
    const ox_context_source source = {.info = b->info,
                                      .file = o->embed ? NULL
                                              : slash  ? slash + 1
                                                       : path,
                                      .bytes = b->bytes,
                                      .n_bytes = b->n_bytes,
                                      .provider = o->provider ? o->provider : "Qnn"};
    int code = QT_EXIT_OK;
    if (ox_context_model(&source, &w) != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        code = QT_EXIT_REFUSED;
    }
    const qt_part whole = {w.data, w.n};
    if (code == QT_EXIT_OK && !qt_write_file(o->output, &whole, 1))
        code = QT_EXIT_FAILURE;
    ox_writer_free(&w);
    return code;
}

static int run(const void *options, const qt_list *args) {
    const wrap_options *o = options;
    const char *path = args->items[0];
    qt_binary b = {0};
    if (!o->output) {
        qt_error("--output is needed: the model to write");
        return QT_EXIT_USAGE;
    }
    int code = o->embed ? QT_EXIT_OK : check_folders(path, o->output);
    if (code == QT_EXIT_OK)
        code = qt_binary_open(path, &b);
    if (code == QT_EXIT_OK)
        code = write_model(o, path, &b);
    if (code == QT_EXIT_OK) {
        qt_print("%s%s%s\n", qt_style_on(QT_BOLD), o->output, qt_style_off());
        for (uint32_t i = 0; i < b.info->numGraphs; i++) {
            const QnnSystemContext_GraphInfoV3_t *g = &b.info->graphs[i].graphInfoV3;
            qt_print("  graph %s  %u inputs, %u outputs\n", g->graphName, g->numGraphInputs,
                     g->numGraphOutputs);
        }
        code = qt_close_stdout();
    }
    qt_binary_close(&b);
    return code;
}

const qt_command qt_wrap = {
    .name = "wrap",
    .summary = "make an ONNX model of a context binary, for ONNX Runtime",
    .args = "BINARY -o MODEL",
    .min_args = 1,
    .max_args = 1,
    .about = "Writes a model with an EPContext node for each graph of a context binary. ONNX "
             "Runtime runs it with Quern's execution provider or another one for QNN.\n"
             "Inputs and outputs have the names and types of the graphs: where a graph has "
             "quantized values, so does the model. The model names the binary, which has to lie "
             "beside it, or holds it.",
    .groups = {{"options", flags}},
    .examples = {{"quern compile net.onnx -o net.bin --soc SM8650 && quern wrap net.bin -o "
                  "net_ctx.onnx",
                  "From a model to one that starts at once."},
                 {"quern wrap net.bin -o net_ctx.onnx --embed", "In one file."}},
    .options_size = sizeof(wrap_options),
    .run = run,
};
