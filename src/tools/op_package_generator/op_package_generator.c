// SPDX-License-Identifier: MIT
//
// qnn-op-package-generator: from the XML definition of ops to packages that build: their interface,
// the rules by which nodes are validated, and a file for each op in which its author writes the
// computation. Until then executions of the op fail; nothing pretends.
#include "tools/op_package_generator/package_write.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

typedef struct generator_options {
    qt_list configs;
    const char *output;
    bool force, debug, converter, cmake, version;
} generator_options;

#define AT(field) offsetof(generator_options, field)

static const qt_flag flags[] = {
    {"config_path", 'p', QT_LIST, "FILE", AT(configs), NULL,
     "XML definitions of ops; repeat it for more files. Files with the same package name are "
     "merged"},
    {"output_path", 'o', QT_DIR, "DIR", AT(output), NULL,
     "folder in which each package gets a folder with its name (the current folder)"},
    {"force-generation", 'f', QT_BOOL, NULL, AT(force), NULL, "replace existing packages"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "list the files that are written"},
    {"gen_cmakelists", 0, QT_BOOL, NULL, AT(cmake), NULL,
     "a CMakeLists.txt beside the Makefile (packages for the CPU)"},
    {"converter_op_package", 0, QT_BOOL, NULL, AT(converter), NULL,
     "rejected: the converter has shapes of custom ops from the model"},
    {"version", 0, QT_BOOL, NULL, AT(version), NULL, "print the version"},
    {0},
};

static int check(const generator_options *o, const qg_packages *all) {
    for (uint32_t i = 0; o->cmake && i < all->n; i++)
        if (all->items[i].backend != QG_CPU) {
            qt_error("--gen_cmakelists: package '%s' is for the %s; only packages for the CPU have "
                     "a CMakeLists.txt",
                     all->items[i].name, qg_backend_names[all->items[i].backend]);
            return QT_EXIT_USAGE;
        }
    return QT_EXIT_OK;
}

static int generate(const generator_options *o, qrn_arena *a) {
    qg_packages all;
    qg_write_options opt = {.folder = o->output ? o->output : ".",
                            .force = o->force,
                            .cmake = o->cmake,
                            .list = o->debug};
    if (qg_opdef_read(o->configs.items, o->configs.n, a, &all) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    int code = check(o, &all);
    for (uint32_t i = 0; code == QT_EXIT_OK && i < all.n; i++) {
        if (!qg_package_write(&all.items[i], &opt))
            return QT_EXIT_FAILURE;
        qt_print("%s/%s: %u op%s for the %s\n", opt.folder, all.items[i].name, all.items[i].n_ops,
                 all.items[i].n_ops == 1 ? "" : "s", qg_backend_names[all.items[i].backend]);
    }
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static int run(const void *options, const qt_list *args) {
    const generator_options *o = options;
    (void)args;
    if (o->version) {
        qt_print("%s\n", "qnn-op-package-generator of Quern " QUERN_VERSION);
        return qt_close_stdout();
    }
    if (o->converter) {
        qt_error("--converter_op_package is not supported: shapes of custom ops come from the "
                 "model; leave it out");
        return QT_EXIT_USAGE;
    }
    if (!o->configs.n) {
        qt_error("--config_path is needed");
        return QT_EXIT_USAGE;
    }
    qrn_arena *a = qrn_arena_create();
    int code = QT_EXIT_FAILURE;
    if (a)
        code = generate(o, a);
    else
        qt_error("out of memory");
    qrn_arena_destroy(a);
    return code;
}

static const qt_command generator = {
    .name = "qnn-op-package-generator",
    .args = "--config_path FILE [--output_path DIR]",
    .alone = true,
    .about = "Writes op packages for the CPU, the GPU and the HTP from the XML definition of their "
             "ops: a folder for each backend with a Makefile, ready to be built.\n",
    .groups = {{"options", flags}},
    .examples = {{"qnn-op-package-generator -p ops.xml -o packages", NULL}},
    .options_size = sizeof(generator_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&generator, NULL};

// The one short form of several letters.
static void spell_out(int argc, char **argv) {
    static char converter[] = "--converter_op_package";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-cop") == 0)
            argv[i] = converter;
}

int main(int argc, char **argv) {
    generator_options options = {0};
    qt_list args = {0};
    qt_output_init();
    qt_set_program("qnn-op-package-generator");
    spell_out(argc, argv);
    int code = qt_flags_parse(&generator, argc - 1, argv + 1, &options, &args);
    qt_set_inputs(options.configs.items, options.configs.n);
    if (code == QT_EXIT_OK)
        code = run(&options, &args);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(&generator, &options, &args);
    return qt_finish(code);
}
