// SPDX-License-Identifier: MIT
//
// qnn-context-binary-utility: checks the description of a context binary and writes it as JSON.
#include "tools/quern/binary.h"
#include "tools/quern/output.h"
#include "tools/quern/show_published.h"
#include "tools/sdk/program.h"

#include <stdlib.h>
#include <string.h>

typedef struct cu_options {
    bool version; // first: see tools/sdk/program.h
    const char *context_binary, *json_file;
} cu_options;

#define AT(field) offsetof(cu_options, field)

static const qt_flag flags[] = {
    {"context_binary", 0, QT_FILE, "FILE", AT(context_binary), NULL, "binary to describe"},
    {"json_file", 0, QT_FILE, "FILE", AT(json_file), NULL,
     "file to write, in a folder that exists; without it the binary is only checked"},
    QS_COMMON_FLAGS(cu_options),
    {0},
};

static int write_json(const qt_binary *b, const char *path) {
    char *text = qt_json_dump(qt_published_json(b->info), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    if (!text)
        return QT_EXIT_FAILURE;
    const qt_part whole = {text, strlen(text)};
    bool ok = qt_write_file(path, &whole, 1);
    free(text);
    return ok ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

static int run(const void *options, const qt_list *args) {
    const cu_options *o = options;
    qt_binary b = {0};
    (void)args;
    if (!o->context_binary) {
        qt_error("--context_binary is needed");
        return QT_EXIT_USAGE;
    }
    int code = qt_binary_open(o->context_binary, &b);
    if (code != QT_EXIT_OK) {
        qt_hint("Error: Failed to get context binary info.");
        return code;
    }
    qt_set_inputs(&o->context_binary, 1);
    if (o->json_file)
        code = write_json(&b, o->json_file);
    qt_binary_close(&b);
    return code;
}

static const qt_command command = {
    .name = "qnn-context-binary-utility",
    .summary = "describe a context binary as JSON",
    .args = "--context_binary FILE --json_file FILE",
    .alone = true,
    .about = "Reads what a context binary says about itself: graphs, inputs and outputs with types "
             "and encodings, options and sizes. Weights are not read; 'quern show --verify' does.",
    .groups = {{"options", flags}},
    .examples = {{"qnn-context-binary-utility --context_binary net.bin --json_file net.json",
                  "Writes net.json."}},
    .options_size = sizeof(cu_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

int main(int argc, char **argv) { return qs_program(&command, NULL, argc, argv); }
