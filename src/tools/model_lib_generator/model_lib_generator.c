// SPDX-License-Identifier: MIT
//
// qnn-model-lib-generator: builds model libraries from the source and the data that
// qnn-onnx-converter wrote, with the compilers of this machine.
#include "tools/model_lib_generator/compile_target.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct generator_options {
    const char *source, *data, *name, *folder;
    qt_list targets;
    bool debug, version;
} generator_options;

#define AT(field) offsetof(generator_options, field)

static const qt_flag flags[] = {
    {"cpp", 'c', QT_FILE, "FILE.cpp", AT(source), NULL, "source of the model"},
    {"bin", 'b', QT_FILE, "FILE.bin", AT(data), NULL,
     "data of the model; without it, a model that needs data does not load"},
    {"targets", 't', QT_LIST, "TARGET", AT(targets), NULL,
     "a target, or several with spaces between them (this machine's)"},
    {"lib_name", 'l', QT_TEXT, "NAME", AT(name), NULL,
     "name of the library, lib<NAME>.so (name of the data file, or qnn_model)"},
    {"output_dir", 'o', QT_DIR, "DIR", AT(folder), NULL,
     "folder for <target>/lib<NAME>.so (the current folder)"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "print the compiler's command"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

// NAME of PATH/NAME.bin.
static char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);
    char *dot = name ? strrchr(name, '.') : NULL;
    if (dot && dot > name)
        *dot = 0;
    return name;
}

static int check(const generator_options *o) {
    const char *files[] = {o->source, o->data};
    if (!o->source) {
        qt_error("-c is needed: the source of the model");
        return QT_EXIT_USAGE;
    }
    if (o->name && (!*o->name || strchr(o->name, '/'))) {
        qt_error("-l '%s': expected a name without a folder", o->name);
        return QT_EXIT_USAGE;
    }
    for (int i = 0; i < 2; i++)
        if (files[i] && access(files[i], R_OK) != 0) {
            qt_error("%s: it cannot be read", files[i]);
            return QT_EXIT_INPUT;
        }
    return QT_EXIT_OK;
}

// Words of one -t.
static int compile_list(const ml_job *j, const char *list) {
    char *copy = strdup(list), *rest = NULL;
    int code = copy ? QT_EXIT_OK : QT_EXIT_FAILURE;
    for (char *t = copy ? strtok_r(copy, " ,", &rest) : NULL; t; t = strtok_r(NULL, " ,", &rest)) {
        int one = ml_compile(j, t);
        code = code == QT_EXIT_OK ? one : code;
    }
    free(copy);
    return code;
}

static int generate(const generator_options *o, const char *name) {
    ml_job j = {.source = o->source,
                .data = o->data,
                .name = name,
                .folder = o->folder ? o->folder : ".",
                .debug = o->debug};
    if (!ml_find_headers(&j))
        return QT_EXIT_FAILURE;
    int code = o->targets.n ? QT_EXIT_OK : ml_compile(&j, ml_host_target());
    for (size_t i = 0; i < o->targets.n; i++) {
        int one = compile_list(&j, o->targets.items[i]);
        code = code == QT_EXIT_OK ? one : code;
    }
    int closed = qt_close_stdout();
    return code == QT_EXIT_OK ? closed : code;
}

static int run(const generator_options *o) {
    if (o->version) {
        qt_print("%s\n", "qnn-model-lib-generator of Quern " QUERN_VERSION);
        return qt_close_stdout();
    }
    int code = check(o);
    if (code != QT_EXIT_OK)
        return code;
    char *name = o->name ? strdup(o->name) : o->data ? name_of(o->data) : strdup("qnn_model");
    code = name ? generate(o, name) : QT_EXIT_FAILURE;
    free(name);
    return code;
}

static const qt_command generator = {
    .name = "qnn-model-lib-generator",
    .args = "-c FILE.cpp [-b FILE.bin] [-t TARGET] [-l NAME] [-o DIR]",
    .alone = true,
    .about = "Builds a model library, <target>/lib<name>.so, from what qnn-onnx-converter wrote. "
             "The compiler is CXX or c++; for other targets AARCH64_CXX and ANDROID_CXX.\n",
    .groups = {{"options", flags}},
    .examples = {{"qnn-model-lib-generator -c model.cpp -b model.bin -o libs", NULL}},
    .options_size = sizeof(generator_options),
};

const qt_command *const qt_commands[] = {&generator, NULL};

int main(int argc, char **argv) {
    generator_options options = {0};
    qt_list args = {0};
    qt_output_init();
    qt_set_program("qnn-model-lib-generator");
    int code = qt_flags_parse(&generator, argc - 1, argv + 1, &options, &args);
    const char *inputs[] = {options.source ? options.source : "", options.data ? options.data : ""};
    qt_set_inputs(inputs, 2);
    if (code == QT_EXIT_OK)
        code = run(&options);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(&generator, &options, &args);
    return qt_finish(code);
}
