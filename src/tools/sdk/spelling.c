// SPDX-License-Identifier: MIT
#include "tools/sdk/spelling.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const qs_spelled *find(const qs_spelled *table, const char *word) {
    for (; table->word; table++)
        if (strcmp(table->word, word) == 0)
            return table;
    return NULL;
}

static bool is_operand(int argc, char **argv, int i) { return i < argc && argv[i][0] != '-'; }

// argv[first .. first + n - 1] with `between` behind each but the last.
static char *joined(qrn_arena *a, char **words, int n, char between) {
    size_t bytes = 1;
    for (int i = 0; i < n; i++)
        bytes += strlen(words[i]) + 1;
    char *text = qrn_arena_alloc(a, bytes), *to = text;
    for (int i = 0; text && i < n; i++) {
        size_t k = strlen(words[i]);
        memcpy(to, words[i], k);
        to += k;
        if (i + 1 < n)
            *to++ = between;
    }
    return text;
}

static char *assigned(qrn_arena *a, const char *name, const char *value, size_t n) {
    size_t bytes = strlen(name) + n + 2;
    char *text = qrn_arena_alloc(a, bytes);
    if (text)
        snprintf(text, bytes, "%s=%.*s", name, (int)n, value);
    return text;
}

static bool is_choice(const char *choices, const char *word) {
    size_t len = strlen(word);
    for (const char *at = choices; *at;) {
        size_t n = strcspn(at, "|");
        if (n == len && strncmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

// Up to `most` words behind argv[*i] as one; *i moves over them. Their number is not checked here:
// whoever splits them says what is missing.
static char *several(qrn_arena *a, int argc, char **argv, int *i, int least, int most) {
    int n = 0;
    while (n < most && *i + 1 + n < argc && (n < least || is_operand(argc, argv, *i + 1 + n)))
        n++;
    char *text = joined(a, argv + *i + 1, n, QS_PAIR);
    *i += n;
    return text;
}

// A flag whose words may be left out, as one word.
static char *optional(qrn_arena *a, const qs_spelled *s, int argc, char **argv, int *i) {
    const char *name = s->name ? s->name : s->word;
    bool given = is_operand(argc, argv, *i + 1);
    if (s->operands == QS_OPERAND_LEVEL) {
        *i += given && strspn(argv[*i + 1], "0123456789") > 0;
        return qrn_arena_strdup(a, name);
    }
    if (s->operands == QS_OPERAND_WORD) {
        bool known = given && is_choice(s->choices, argv[*i + 1]);
        const char *value = known ? argv[++*i] : s->choices;
        return assigned(a, name, value, known ? strlen(value) : strcspn(value, "|"));
    }
    char *names = given ? several(a, argc, argv, i, 0, argc) : NULL;
    const char *value = names ? names : s->choices;
    return given && !names ? NULL : assigned(a, name, value, strlen(value));
}

char **qs_spell_out(const qs_spelled *table, qrn_arena *a, int argc, char **argv, int *n_out) {
    char **out = qrn_arena_alloc(a, ((size_t)argc + 1) * sizeof *out);
    int n = 0;
    for (int i = 0; out && i < argc; i++) {
        const qs_spelled *s = find(table, argv[i]);
        qs_operands kind = s ? s->operands : QS_OPERAND_PLAIN;
        bool fixed = kind == QS_OPERAND_TWO || kind == QS_OPERAND_THREE;
        if (kind == QS_OPERAND_PLAIN || fixed)
            out[n] = qrn_arena_strdup(a, s && s->name ? s->name : argv[i]);
        else
            out[n] = optional(a, s, argc, argv, &i);
        if (!out[n++])
            return NULL;
        if (fixed && i + 1 < argc &&
            !(out[n++] = several(a, argc, argv, &i, 2, kind == QS_OPERAND_TWO ? 2 : 3)))
            return NULL;
    }
    *n_out = n;
    return out;
}

char *qs_second_word(qrn_arena *a, const char *words, char **first) {
    *first = qrn_arena_strdup(a, words);
    char *at = *first ? strchr(*first, QS_PAIR) : NULL;
    if (at)
        *at++ = 0;
    return at;
}

char *qs_command_line(qrn_arena *a, int argc, char **argv) {
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
