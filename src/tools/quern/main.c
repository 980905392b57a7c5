// SPDX-License-Identifier: MIT
//
// quern: one program, one subcommand a file.
#include "tools/quern/commands.h"

#include "base/suggest.h"
#include "tools/quern/inputs.h"
#include "tools/quern/output.h"

#include "QnnCommon.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const qt_command *const qt_commands[] = {&qt_run,
                                         &qt_bench,
                                         &qt_check,
                                         &qt_show,
                                         &qt_compile,
                                         &qt_compare_dumps,
                                         &qt_info,
                                         &qt_doctor,
                                         &qt_demo,
                                         &qt_estimate_command,
                                         &qt_profile_command,
                                         &qt_quantize_command,
                                         &qt_wrap,
                                         &qt_import,
                                         &qt_generate,
                                         &qt_socs,
                                         NULL};

static int run_command(const qt_command *c, int argc, char **argv) {
    void *options = calloc(1, c->options_size ? c->options_size : 1);
    qt_list args = {0};
    if (!options) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = qt_flags_parse(c, argc, argv, options, &args);
    qt_set_inputs(args.items, args.n);
    if (code == QT_EXIT_OK)
        code = c->run(options, &args);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(c, options, &args);
    free(options);
    return qt_finish(code);
}

// What other programs call these commands.
static const char *other_word(const char *word) {
    static const char *const words[][2] = {
        {"benchmark", "bench"}, {"chat", "generate"}, {"convert", "compile"},
        {"diff", "compare"},    {"infer", "run"},     {"inspect", "show"},
        {"llm", "generate"},    {"perf", "bench"},    {"predict", "run"},
        {"validate", "check"},  {"devices", "socs"},  {"version", "--version"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i][0]) == 0)
            return words[i][1];
    return NULL;
}

static int unknown_command(const char *word) {
    const char *names[32];
    size_t n = 0;
    for (const qt_command *const *c = qt_commands; *c; c++)
        names[n++] = (*c)->name;
    const char *near = other_word(word);
    near = near ? near : qrn_suggest(word, names, n);
    if (near)
        qt_error("unknown command '%s'; did you mean '%s'?", word, near);
    else
        qt_error("unknown command '%s'", word);
    qt_hint("see 'quern --help'");
    return QT_EXIT_USAGE;
}

static int unknown_option(const char *word) {
    static const char *const names[] = {"--help", "--version", "--man", "--completion"};
    bool version = strcasecmp(word, "-v") == 0;
    const char *near =
        version ? "--version" : qrn_suggest(word, names, sizeof names / sizeof names[0]);
    if (near)
        qt_error("unknown flag '%s'; did you mean '%s'?", word, near);
    else
        qt_error("unknown flag '%s'; flags of a command come after it: quern COMMAND %s", word,
                 word);
    qt_hint("see 'quern --help'");
    return QT_EXIT_USAGE;
}

// Options of the program itself.
static int run_option(int argc, char **argv) {
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        qt_flags_usage(stdout);
    } else if (strcmp(word, "--version") == 0) {
        printf("quern %s (QNN API %d.%d.%d)\n", QUERN_VERSION, QNN_API_VERSION_MAJOR,
               QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH);
    } else if (strcmp(word, "--man") == 0) {
        if (!qt_man_page(argc > 2 ? argv[2] : NULL, stdout))
            return unknown_command(argv[2]);
    } else if (strcmp(word, "--dims") == 0) { // for the completion of --dim
        for (int i = 2; i < argc; i++)
            qt_print_dims(argv[i]);
    } else if (strcmp(word, "--completion") == 0) {
        if (argc < 3 || !qt_completion(argv[2], stdout)) {
            qt_error("--completion needs a shell: bash, zsh or fish");
            return QT_EXIT_USAGE;
        }
    } else {
        return unknown_option(word);
    }
    return qt_finish(qt_close_stdout());
}

int main(int argc, char **argv) {
    qt_output_init();
    if (argc < 2) {
        qt_flags_usage(stderr);
        return QT_EXIT_USAGE;
    }
    if (argv[1][0] == '-')
        return run_option(argc, argv);
    const char *name = argv[1];
    int skip = 2;
    if (strcmp(name, "help") == 0) { // quern help run
        if (argc < 3)
            return run_option(2, (char *[]){argv[0], "--help", NULL});
        name = argv[2];
        argv[skip] = "--help";
        argc = 3;
    }
    for (const qt_command *const *c = qt_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return run_command(*c, argc - skip, argv + skip);
    return unknown_command(name);
}
