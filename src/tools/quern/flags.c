// SPDX-License-Identifier: MIT
//
// Parsing by table, and help pages.
#include "tools/quern/flags.h"

#include "base/suggest.h"
#include "tools/quern/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_WORD 64  // longer words get no suggestion
#define MAX_FLAGS 64 // of one command

const char *const qt_exit_texts[QT_EXIT_COUNT] = {
    [QT_EXIT_OK] = "success",
    [QT_EXIT_FAILURE] = "failure: a file, a library, an execution or a check",
    [QT_EXIT_USAGE] = "invalid command line",
    [QT_EXIT_REFUSED] = "the model is damaged, or Quern or the backend does not support it",
    [QT_EXIT_INPUT] = "an input is missing, damaged or of the wrong shape or type",
};

typedef struct parser {
    const qt_command *command;
    char *options;
    qt_list *args;
} parser;

static const char *before(const qt_command *c) { return c->alone ? "" : "quern "; }

static int usage_error(const qt_command *c) {
    qt_hint("see '%s%s --help'", before(c), c->name);
    return QT_EXIT_USAGE;
}

static const qt_flag *find_flag(const qt_command *c, const char *name, size_t len, char letter) {
    for (size_t g = 0; g < QT_MAX_GROUPS && c->groups[g].flags; g++)
        for (const qt_flag *f = c->groups[g].flags; f->name; f++)
            if (letter ? f->letter == letter
                       : strlen(f->name) == len && strncmp(f->name, name, len) == 0)
                return f;
    return NULL;
}

static int unknown_flag(const parser *p, const char *word) {
    const char *names[MAX_FLAGS];
    size_t n = 0;
    for (size_t g = 0; g < QT_MAX_GROUPS && p->command->groups[g].flags; g++)
        for (const qt_flag *f = p->command->groups[g].flags; f->name && n < MAX_FLAGS; f++)
            names[n++] = f->name;
    char bare[MAX_WORD];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    const char *near = qrn_suggest(bare, names, n);
    if (near)
        qt_error("unknown flag '%s'; did you mean '--%s'?", word, near);
    else
        qt_error("unknown flag '%s'", word);
    return usage_error(p->command);
}

bool qt_list_add(qt_list *list, const char *item) {
    const char **grown = realloc(list->items, (list->n + 1) * sizeof *grown);
    if (!grown)
        return false;
    grown[list->n++] = item;
    list->items = grown;
    return true;
}

const char *qt_precision_name(const char *word) {
    static const char *const names[][2] = {{"a8w8", "w8a8"},   {"a16w8", "w8a16"},
                                           {"a16w4", "w4a16"}, {"a16w16", "w16a16"},
                                           {"a8w4", "w4a8"},   {"fp16", "f16"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int k = 0; k < 2; k++)
            if (strcasecmp(word, names[i][k]) == 0)
                return names[i][0];
    return word;
}

static bool is_choice(const char *value, const char *choices) {
    size_t len = strlen(value);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (len && strncmp(at, value, len) == 0 && (at[len] == '|' || at[len] == '\0'))
            return true;
    }
    return false;
}

static bool set_count(const char *value, uint64_t *out) {
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(value, &end, 10);
    if (errno || end == value || *end || strchr(value, '-') || v > UINT32_MAX)
        return false;
    *out = v;
    return true;
}

static bool set_number(const char *value, double *out) {
    char *end = NULL;
    *out = strtod(value, &end);
    return end != value && !*end && isfinite(*out);
}

// Names what is allowed: "a, b or c".
static void wrong_choice(const qt_flag *f, const char *value) {
    char list[512];
    size_t n = 0;
    for (const char *p = f->choices; *p && n < sizeof list - 8; p++) {
        bool last = *p == '|' && !strchr(p + 1, '|');
        if (*p == '|')
            n += (size_t)snprintf(list + n, sizeof list - n, last ? " or " : ", ");
        else
            list[n++] = *p;
    }
    list[n] = '\0';
    qt_error("--%s '%s': expected %s", f->name, value, list);
}

static int set_value(const parser *p, const qt_flag *f, const char *value) {
    void *slot = p->options + f->offset;
    if ((f->type == QT_FILE || f->type == QT_DIR) && !*value) {
        qt_error("--%s '': an empty name", f->name);
        return usage_error(p->command);
    }
    switch (f->type) {
    case QT_BOOL:
        *(bool *)slot = true;
        return QT_EXIT_OK;
    case QT_CHOICE:
        if (!is_choice(value, f->choices) && is_choice(qt_precision_name(value), f->choices))
            value = qt_precision_name(value);
        if (!is_choice(value, f->choices)) {
            wrong_choice(f, value);
            return usage_error(p->command);
        }
        *(const char **)slot = value;
        return QT_EXIT_OK;
    case QT_COUNT:
    case QT_COUNT1:
        if (!set_count(value, slot) || (f->type == QT_COUNT1 && *(uint64_t *)slot == 0)) {
            qt_error("--%s '%s': expected a whole number from %d to 4294967295", f->name, value,
                     f->type == QT_COUNT1);
            return usage_error(p->command);
        }
        return QT_EXIT_OK;
    case QT_NUMBER:
    case QT_ABOVE0:
        if (!set_number(value, slot) || (f->type == QT_ABOVE0 && !(*(double *)slot > 0))) {
            qt_error("--%s '%s': expected a number%s", f->name, value,
                     f->type == QT_ABOVE0 ? " above 0" : "");
            return usage_error(p->command);
        }
        return QT_EXIT_OK;
    case QT_LIST:
        if (qt_list_add(slot, value))
            return QT_EXIT_OK;
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    default:
        *(const char **)slot = value;
        return QT_EXIT_OK;
    }
}

// One word that begins with a dash; *i moves over an argument of its own.
static int parse_flag(const parser *p, int argc, char **argv, int *i) {
    const char *word = argv[*i], *value = NULL;
    const qt_flag *f;
    if (word[1] == '-') {
        const char *eq = strchr(word, '=');
        f = find_flag(p->command, word + 2, eq ? (size_t)(eq - word - 2) : strlen(word + 2), 0);
        value = eq ? eq + 1 : NULL;
    } else {
        f = find_flag(p->command, NULL, 0, word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (!f)
        return unknown_flag(p, word);
    if (f->type == QT_BOOL && value) {
        qt_error("--%s takes no argument", f->name);
        return usage_error(p->command);
    }
    if (f->type != QT_BOOL && !value) {
        if (*i + 1 >= argc) {
            qt_error("--%s needs a value: %s", f->name, f->arg);
            return usage_error(p->command);
        }
        value = argv[++*i];
    }
    return set_value(p, f, value);
}

static int check_args(const qt_command *c, const qt_list *args) {
    for (size_t i = 0; i < args->n; i++)
        if (!*args->items[i]) {
            qt_error("%s%s: argument %zu is empty", before(c), c->name, i + 1);
            return usage_error(c);
        }
    if (args->n < c->min_args) {
        qt_error("%s%s: too few arguments; it needs %s", before(c), c->name, c->args);
        return usage_error(c);
    }
    if (args->n > c->max_args) {
        qt_error("%s%s: unexpected argument '%s'", before(c), c->name, args->items[c->max_args]);
        return usage_error(c);
    }
    return QT_EXIT_OK;
}

int qt_flags_parse(const qt_command *c, int argc, char **argv, void *options, qt_list *args) {
    parser p = {c, options, args};
    bool only_args = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_args && strcmp(word, "--") == 0) {
            only_args = true;
        } else if (!only_args && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            qt_flags_help(c, stdout);
            return -1;
        } else if (!only_args && word[0] == '-' && word[1]) {
            int code = parse_flag(&p, argc, argv, &i);
            if (code != QT_EXIT_OK)
                return code;
        } else if (!qt_list_add(args, word)) {
            qt_error("out of memory");
            return QT_EXIT_FAILURE;
        }
    }
    return check_args(c, args);
}

void qt_flags_free(const qt_command *c, void *options, qt_list *args) {
    for (size_t g = 0; g < QT_MAX_GROUPS && c->groups[g].flags; g++)
        for (const qt_flag *f = c->groups[g].flags; f->name; f++)
            if (f->type == QT_LIST)
                free(((qt_list *)((char *)options + f->offset))->items);
    free(args->items);
}

// How much of a word fits a line of `room`: a list of choices may be broken behind a bar.
static int fitting(const char *word, int len, int room) {
    int n = len > room ? room : len;
    for (; n < len && n > 0 && word[n - 1] != '|'; n--)
        ;
    return n > 0 ? n : len;
}

// Words of `text` from column `indent` on, broken before column 80.
static void print_wrapped(FILE *to, const char *text, int indent) {
    int column = indent;
    while (*text && *text != '\n') {
        int len = fitting(text, (int)strcspn(text, " \n"), 79 - indent);
        if (column > indent && column + 1 + len > 79) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", len, text);
        column += len;
        text += len;
        text += *text == ' ';
    }
    fputc('\n', to);
}

#define HELP_COLUMN 26

static void print_flag(FILE *to, const qt_flag *f) {
    char left[80];
    int n = snprintf(left, sizeof left, "  %c%c%c --%s%s%s", f->letter ? '-' : ' ',
                     f->letter ? f->letter : ' ', f->letter ? ',' : ' ', f->name, f->arg ? " " : "",
                     f->arg ? f->arg : "");
    // A long left side gets a line of its own.
    if (n >= HELP_COLUMN)
        fprintf(to, "%s\n%*s", left, HELP_COLUMN, "");
    else
        fprintf(to, "%-*s", HELP_COLUMN, left);
    char words[512];
    snprintf(words, sizeof words, "%s%s%s", f->help, f->choices ? ": " : "",
             f->choices ? f->choices : "");
    print_wrapped(to, words, HELP_COLUMN);
}

void qt_flags_help(const qt_command *c, FILE *to) {
    fprintf(to, "usage: %s%s %s\n\n", before(c), c->name, c->args);
    print_wrapped(to, c->about, 0);
    for (size_t g = 0; g < QT_MAX_GROUPS && c->groups[g].flags; g++) {
        fprintf(to, "\n%s:\n", c->groups[g].title);
        for (const qt_flag *f = c->groups[g].flags; f->name; f++)
            print_flag(to, f);
    }
    fputs("\nexamples:\n", to);
    for (size_t i = 0; i < sizeof c->examples / sizeof c->examples[0]; i++)
        if (c->examples[i].command)
            fprintf(to, "  %s\n", c->examples[i].command);
}

void qt_flags_usage(FILE *to) {
    fputs("usage: quern COMMAND [ARGUMENTS]\n\nRuns ONNX and .tflite models through the QNN "
          "API.\n\ncommands:\n",
          to);
    for (const qt_command *const *c = qt_commands; *c; c++)
        fprintf(to, "  %-9s %s\n", (*c)->name, (*c)->summary);
    fputs("\noptions:\n"
          "  --help             this page; 'quern COMMAND --help' for a command\n"
          "  --version          versions of the program and of the API\n"
          "  --man [COMMAND]    the manual page, for man(1)\n"
          "  --completion SHELL completion for bash, zsh or fish\n"
          "\nexit codes:\n",
          to);
    for (int i = 0; i < QT_EXIT_COUNT; i++)
        fprintf(to, "  %d  %s\n", i, qt_exit_texts[i]);
    fputs("\nexamples:\n  quern run model.onnx --random\n  quern doctor\n", to);
}
