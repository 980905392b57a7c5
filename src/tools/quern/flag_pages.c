// SPDX-License-Identifier: MIT
//
// Manual pages (man(7) macros) and completion scripts, made from the flag tables.
#include "tools/quern/flags.h"

#include "base/soc.h"

#include <string.h>

static const qt_command *find_command(const char *name) {
    for (const qt_command *const *c = qt_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

// One line of text with what roff would interpret written out.
static void roff_part(FILE *to, const char *text, size_t n) {
    if (n && (*text == '.' || *text == '\''))
        fputs("\\&", to);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            fputs("\\e", to);
        else if (text[i] == '-')
            fputs("\\-", to);
        else
            fputc(text[i], to);
    }
}

static void roff(FILE *to, const char *line) { roff_part(to, line, strlen(line)); }

// "quern", "quern run" with the blank as `between`, or the name of a program of its own.
static void name(FILE *to, const qt_command *c, const char *between) {
    if (!c || !c->alone)
        fprintf(to, "quern%s", c ? between : "");
    roff(to, c ? c->name : "");
}

static void head(FILE *to, const qt_command *c, const char *summary) {
    fputs(c && c->alone ? ".TH " : c ? ".TH QUERN\\-" : ".TH QUERN", to);
    for (const char *p = c ? c->name : ""; *p; p++)
        fprintf(to, "%s%c", *p == '-' ? "\\" : "", *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    fprintf(to, " 1 \"\" \"Quern %s\" \"Quern manual\"\n.SH NAME\n", QUERN_VERSION);
    name(to, c, "\\-");
    fputs(" \\- ", to);
    roff(to, summary);
    fputs("\n.SH SYNOPSIS\n.B ", to);
    name(to, c, " ");
    fputc('\n', to);
}

static void exit_codes(FILE *to) {
    fputs(".SH EXIT STATUS\n", to);
    for (int i = 0; i < QT_EXIT_COUNT; i++) {
        fprintf(to, ".TP\n%d\n", i);
        roff(to, qt_exit_texts[i]);
        fputc('\n', to);
    }
}

static void paragraphs(FILE *to, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        roff_part(to, text, n);
        text += n;
        fputs(*text ? "\n.PP\n" : "\n", to);
        text += *text == '\n';
    }
}

static void flag_entry(FILE *to, const qt_flag *f) {
    fputs(".TP\n", to);
    if (f->letter)
        fprintf(to, "\\fB\\-%c\\fR, ", f->letter);
    fputs("\\fB\\-\\-", to);
    roff(to, f->name);
    fputs("\\fR", to);
    if (f->arg)
        fprintf(to, " \\fI%s\\fR", f->arg);
    fputc('\n', to);
    roff(to, f->help);
    if (f->choices) {
        fputs(": ", to);
        roff(to, f->choices);
    }
    fputc('\n', to);
}

static void command_page(const qt_command *c, FILE *to) {
    head(to, c, c->summary);
    roff(to, c->args);
    fputs("\n.SH DESCRIPTION\n", to);
    paragraphs(to, c->about);
    for (size_t g = 0; g < QT_MAX_GROUPS && c->groups[g].flags; g++) {
        fputs(g ? ".SS " : ".SH OPTIONS\n.SS ", to);
        fprintf(to, "%s\n", c->groups[g].title);
        for (const qt_flag *f = c->groups[g].flags; f->name; f++)
            flag_entry(to, f);
    }
    fputs(".SH EXAMPLES\n", to);
    for (size_t i = 0; i < sizeof c->examples / sizeof c->examples[0]; i++) {
        if (!c->examples[i].command)
            continue;
        fputs(".TP\n.B ", to);
        roff(to, c->examples[i].command);
        fputc('\n', to);
        roff(to, c->examples[i].text);
        fputc('\n', to);
    }
    exit_codes(to);
    fputs(".SH SEE ALSO\n.BR quern (1)\n", to);
}

static void program_page(FILE *to) {
    head(to, NULL, "run ONNX and .tflite models through the QNN API");
    fputs(".I COMMAND\n[ARGUMENTS]\n.SH DESCRIPTION\n", to);
    roff(to,
         "Quern implements the QNN inference API on ordinary computers. This program imports "
         "ONNX and .tflite models through that API, runs, measures and explains them. Data goes to "
         "standard output, messages to standard error.");
    fputs("\n.SH COMMANDS\n", to);
    for (const qt_command *const *c = qt_commands; *c; c++) {
        fprintf(to, ".TP\n.BR quern\\-%s (1)\n", (*c)->name);
        roff(to, (*c)->summary);
        fputc('\n', to);
    }
    fputs(
        ".SH OPTIONS\n.TP\n.B \\-\\-help\nA page of help; behind a command, that command's.\n"
        ".TP\n.B \\-\\-version\nVersions of the program and of the API.\n"
        ".TP\n\\fB\\-\\-man\\fR [\\fICOMMAND\\fR]\nThis page or that of a command, as its source.\n"
        ".TP\n\\fB\\-\\-completion\\fR \\fISHELL\\fR\nCompletion script for bash, zsh or fish.\n"
        ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nSet and not empty: no colour.\n"
        ".TP\n.BR QUERN_THREADS , QUERN_ISA , QUERN_LOG\nRead by Quern's libraries.\n",
        to);
    exit_codes(to);
}

bool qt_man_page(const char *name, FILE *to) {
    const qt_command *c = name ? find_command(name) : NULL;
    if (name && !c)
        return false;
    if (c)
        command_page(c, to);
    else
        program_page(to);
    return true;
}

static void each_flag(const qt_command *c, FILE *to,
                      void (*fn)(const qt_command *, const qt_flag *, FILE *)) {
    for (size_t g = 0; g < QT_MAX_GROUPS && c->groups[g].flags; g++)
        for (const qt_flag *f = c->groups[g].flags; f->name; f++)
            fn(c, f, to);
}

// "a|b" as "a b".
static void spaced(FILE *to, const char *choices) {
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, to);
}

// Inside single quotes of a shell.
static void quoted(FILE *to, const char *text, const char *also) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr(also, *text))
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
    }
}

static void bash_name(const qt_command *c, const qt_flag *f, FILE *to) {
    (void)c;
    fprintf(to, " --%s", f->name);
}

// Flags of every command whose values are known, though they are free texts.
static bool is_soc(const qt_flag *f) { return strcmp(f->name, "soc") == 0; }
static bool is_backend(const qt_flag *f) { return strcmp(f->name, "backend") == 0; }
static bool is_dim(const qt_flag *f) { return strcmp(f->name, "dim") == 0; }

static void known_values(const qt_command *c, const qt_flag *f, FILE *to) {
    if (is_backend(f)) {
        fputs("cpu htp gpu saver ir", to);
        return;
    }
    for (uint32_t i = 0; qrn_soc_at(i); i++)
        fprintf(to, "%s%s", i ? " " : "", qrn_soc_at(i)->name);
    if (strcmp(c->name, "estimate") == 0)
        fputs(" all", to);
}

static void bash_value(const qt_command *c, const qt_flag *f, FILE *to) {
    if (!f->arg)
        return;
    fprintf(to, "        %s:--%s", c->name, f->name);
    if (f->letter)
        fprintf(to, "|%s:-%c", c->name, f->letter);
    fputs(") ", to);
    if (f->choices) {
        fputs("COMPREPLY=($(compgen -W \"", to);
        spaced(to, f->choices);
        fputs("\" -- \"$cur\")); return ;;\n", to);
    } else if (is_soc(f) || is_backend(f)) {
        fputs("COMPREPLY=($(compgen -W \"", to);
        known_values(c, f, to);
        fputs("\" -- \"$cur\")); return ;;\n", to);
    } else if (is_dim(f)) {
        fputs("compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -S = -W "
              "\"$(quern --dims \"${COMP_WORDS[@]:2}\" 2>/dev/null)\" -- \"$cur\")); return ;;\n",
              to);
    } else if (f->type == QT_FILE || f->type == QT_LIST || f->type == QT_DIR) {
        fprintf(to, "COMPREPLY=($(compgen -%c -- \"$cur\")); return ;;\n",
                f->type == QT_DIR ? 'd' : 'f');
    } else {
        fputs("return ;;\n", to);
    }
}

static void bash(FILE *to) {
    fputs("# bash completion for quern; made by 'quern --completion bash'\n"
          "_quern() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]}\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"",
          to);
    for (const qt_command *const *c = qt_commands; *c; c++)
        fprintf(to, "%s ", (*c)->name);
    fputs("--help --version --man --completion\" -- \"$cur\"))\n        return\n    fi\n"
          "    case \"$command:$prev\" in\n",
          to);
    for (const qt_command *const *c = qt_commands; *c; c++)
        each_flag(*c, to, bash_value);
    fputs("    esac\n    local flags=\n    case \"$command\" in\n", to);
    for (const qt_command *const *c = qt_commands; *c; c++) {
        fprintf(to, "        %s) flags=\"--help", (*c)->name);
        each_flag(*c, to, bash_name);
        fputs("\" ;;\n", to);
    }
    fputs("    esac\n    case \"$cur\" in\n"
          "        -*) COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\")) ;;\n"
          "        *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
          "    esac\n}\ncomplete -F _quern quern\n",
          to);
}

static void zsh_flag(const qt_command *c, const qt_flag *f, FILE *to) {
    (void)c;
    fprintf(to, "                '%s--%s[", f->type == QT_LIST ? "*" : "", f->name);
    quoted(to, f->help, "[]:");
    fputc(']', to);
    if (f->arg) {
        fprintf(to, ":%s:", f->arg);
        if (f->choices) {
            fputc('(', to);
            spaced(to, f->choices);
            fputc(')', to);
        } else if (is_soc(f) || is_backend(f)) {
            fputc('(', to);
            known_values(c, f, to);
            fputc(')', to);
        } else if (is_dim(f)) {
            fputs("_quern_dims", to);
        } else if (f->type == QT_DIR) {
            fputs("_files -/", to);
        } else if (f->type == QT_FILE || f->type == QT_LIST) {
            fputs("_files", to);
        }
    }
    fputs("' \\\n", to);
}

static void zsh(FILE *to) {
    fputs("#compdef quern\n# made by 'quern --completion zsh'\n_quern_dims() {\n"
          "    local -a dims\n    dims=(${(f)\"$(quern --dims $words 2>/dev/null)\"})\n"
          "    compadd -S = -- $dims\n}\n_quern() {\n"
          "    local -a commands\n    commands=(\n",
          to);
    for (const qt_command *const *c = qt_commands; *c; c++) {
        fprintf(to, "        '%s:", (*c)->name);
        quoted(to, (*c)->summary, ":");
        fputs("'\n", to);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
          "        return\n    fi\n    case $words[2] in\n",
          to);
    for (const qt_command *const *c = qt_commands; *c; c++) {
        fprintf(to,
                "        %s)\n            shift words; (( CURRENT-- ))\n"
                "            _arguments \\\n",
                (*c)->name);
        each_flag(*c, to, zsh_flag);
        fputs("                '*:file:_files' ;;\n", to);
    }
    fputs("    esac\n}\n_quern \"$@\"\n", to);
}

static void fish_flag(const qt_command *c, const qt_flag *f, FILE *to) {
    fprintf(to, "complete -c quern -n '__fish_seen_subcommand_from %s' -l %s", c->name, f->name);
    if (f->letter)
        fprintf(to, " -s %c", f->letter);
    if (f->choices) {
        fputs(" -x -a '", to);
        spaced(to, f->choices);
        fputs("'", to);
    } else if (is_soc(f) || is_backend(f)) {
        fputs(" -x -a '", to);
        known_values(c, f, to);
        fputs("'", to);
    } else if (is_dim(f)) {
        fputs(" -x -a '(quern --dims (commandline -opc) 2>/dev/null)='", to);
    } else if (f->type == QT_DIR) {
        fputs(" -x -a '(__fish_complete_directories)'", to);
    } else if (f->type == QT_FILE || f->type == QT_LIST) {
        fputs(" -r -F", to);
    } else if (f->arg) {
        fputs(" -x", to);
    }
    fputs(" -d '", to);
    quoted(to, f->help, "");
    fputs("'\n", to);
}

static void fish(FILE *to) {
    fputs("# made by 'quern --completion fish'\n", to);
    for (const qt_command *const *c = qt_commands; *c; c++) {
        fprintf(to, "complete -c quern -n __fish_use_subcommand -f -a %s -d '", (*c)->name);
        quoted(to, (*c)->summary, "");
        fputs("'\n", to);
        each_flag(*c, to, fish_flag);
    }
}

bool qt_completion(const char *shell, FILE *to) {
    static const struct {
        const char *shell;
        void (*write)(FILE *);
    } writers[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++)
        if (strcmp(shell, writers[i].shell) == 0) {
            writers[i].write(to);
            return true;
        }
    return false;
}
