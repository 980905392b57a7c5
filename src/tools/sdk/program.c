// SPDX-License-Identifier: MIT
#include "tools/sdk/program.h"

#include "base/report_text.h"
#include "tools/quern/output.h"
#include "tools/quern/session.h"

#include "QnnSdkBuildId.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static QnnLog_Level_t shown; // 0: warnings alone; errors are reported by whoever meets them
static double started_ms;

static const char *const level_words[] = {"",        " ERROR ", "WARNING",
                                          "  INFO ", "VERBOSE", " DEBUG "};

QnnLog_Level_t qs_log_level(const char *word) {
    static const struct {
        const char *word;
        QnnLog_Level_t level;
    } levels[] = {{"error", QNN_LOG_LEVEL_ERROR},
                  {"warn", QNN_LOG_LEVEL_WARN},
                  {"info", QNN_LOG_LEVEL_INFO},
                  {"debug", QNN_LOG_LEVEL_DEBUG},
                  {"verbose", QNN_LOG_LEVEL_DEBUG}}; // the last of the published order: all
    for (size_t i = 0; word && i < sizeof levels / sizeof levels[0]; i++)
        if (strcmp(word, levels[i].word) == 0)
            return levels[i].level;
    return (QnnLog_Level_t)0;
}

static bool is_shown(QnnLog_Level_t level) {
    return shown ? level <= shown : level == QNN_LOG_LEVEL_WARN;
}

void qs_log_set(QnnLog_Level_t level) { shown = level; }

static void print_line(QnnLog_Level_t level, const char *raw) {
    char line[2048];
    qrn_shown_text(line, sizeof line, raw);
    printf("%8.1fms [%s] %s\n", qt_now_ms() - started_ms,
           level >= 1 && level <= 5 ? level_words[level] : "  LOG  ", line);
}

void qs_log(QnnLog_Level_t level, const char *fmt, ...) {
    char raw[1024];
    va_list ap;
    if (!is_shown(level))
        return;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    print_line(level, raw);
}

void qs_log_callback(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    char raw[2048];
    (void)timestamp;
    if (!is_shown(level))
        return;
    qrn_log_line(raw, sizeof raw, fmt, args);
    print_line(level, raw);
}

int qs_exclusive(bool a, const char *name_a, bool b, const char *name_b) {
    if (!a || !b)
        return QT_EXIT_OK;
    qt_error("--%s and --%s exclude each other", name_a, name_b);
    return QT_EXIT_USAGE;
}

int qs_needs(bool a, const char *name_a, bool b, const char *name_b) {
    if (!a || b)
        return QT_EXIT_OK;
    qt_error("--%s needs --%s", name_a, name_b);
    return QT_EXIT_USAGE;
}

static int print_version(const qt_command *c) {
    printf("%s of Quern %s, QNN SDK %s\n", c->name, QUERN_VERSION, QNN_SDK_BUILD_ID);
    return qt_close_stdout();
}

static bool is_given(const qt_flag *f, const void *options) {
    const char *at = (const char *)options + f->offset;
    switch (f->type) {
    case QT_BOOL:
        return *(const bool *)at;
    case QT_COUNT:
    case QT_COUNT1:
        return *(const uint64_t *)at != 0;
    case QT_NUMBER:
    case QT_ABOVE0:
        return *(const double *)at != 0;
    case QT_LIST:
        return ((const qt_list *)at)->n > 0;
    default:
        return *(const char *const *)at != NULL;
    }
}

static int check_rejected(const qt_command *c, const void *options) {
    static const char mark[] = "rejected: ";
    for (size_t g = 0; g < QT_MAX_GROUPS && c->groups[g].flags; g++)
        for (const qt_flag *f = c->groups[g].flags; f->name; f++)
            if (strncmp(f->help, mark, sizeof mark - 1) == 0 && is_given(f, options)) {
                qt_error("--%s is not supported: %s", f->name, f->help + sizeof mark - 1);
                return QT_EXIT_USAGE;
            }
    return QT_EXIT_OK;
}

static int run_command(const qt_command *c, const void *options, const qt_list *args) {
    int code = check_rejected(c, options);
    return code == QT_EXIT_OK ? c->run(options, args) : code;
}

static int run(const qt_command *c, void *options, int argc, char **argv) {
    qt_list args = {0};
    if (argc == 2 && strcmp(argv[1], "--man") == 0) // for the build
        return qt_man_page(c->name, stdout) ? qt_close_stdout() : QT_EXIT_FAILURE;
    int code = qt_flags_parse(c, argc - 1, argv + 1, options, &args);
    if (code == QT_EXIT_OK)
        code = *(const bool *)options ? print_version(c) : run_command(c, options, &args);
    else if (code < 0)
        code = qt_close_stdout();
    qt_flags_free(c, options, &args);
    return code;
}

int qs_program(const qt_command *c, const void *defaults, int argc, char **argv) {
    started_ms = qt_now_ms();
    qt_output_init();
    qt_set_program(c->name);
    void *options = calloc(1, c->options_size);
    if (!options) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    if (defaults)
        memcpy(options, defaults, c->options_size);
    int code = run(c, options, argc, argv);
    free(options);
    return qt_finish(code);
}

int qs_spelled_program(const qt_command *c, const qs_spelled *spelling, size_t command, int argc,
                       char **argv) {
    qrn_arena *a = qrn_arena_create();
    int n = 0, code = QT_EXIT_FAILURE;
    char **words = a ? qs_spell_out(spelling, a, argc, argv, &n) : NULL;
    char *line = a ? qs_command_line(a, argc, argv) : NULL;
    char *defaults = a ? qrn_arena_alloc(a, c->options_size) : NULL;
    if (words && line && defaults) {
        memcpy(defaults + command, &line, sizeof line);
        code = qs_program(c, defaults, n, words);
    } else {
        qt_set_program(c->name);
        qt_error("out of memory");
    }
    qrn_arena_destroy(a);
    return code;
}
