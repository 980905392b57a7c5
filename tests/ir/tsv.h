// SPDX-License-Identifier: MIT
//
// Reading the fact files of this folder: lines of tab-separated columns, '#' starts a comment.
#ifndef TESTS_IR_TSV_H
#define TESTS_IR_TSV_H

#include "base/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TSV_LINE = 16384, TSV_COLUMNS = 16 };

typedef struct tsv {
    FILE *file;
    char line[TSV_LINE];
    char *col[TSV_COLUMNS]; // columns of the current line; missing ones are ""
    unsigned number;        // of the current line
} tsv;

// Cuts text in place at every `sep`; returns the number of pieces, at most max. Empty text: 0.
static inline size_t tsv_split(char *text, const char *sep, char **piece, size_t max) {
    size_t n = 0;
    while (text && *text && n < max) {
        piece[n++] = text;
        text = strstr(text, sep);
        if (text) {
            *text = '\0';
            text += strlen(sep);
        }
    }
    return n;
}

// Cuts at every ':' and keeps empty pieces; unused ones become "".
static inline void tsv_fields(char *text, char **field, size_t n) {
    for (size_t i = 0; i < n; i++) {
        field[i] = text ? text : "";
        text = text ? strchr(text, ':') : NULL;
        if (text)
            *text++ = '\0';
    }
}

static inline int tsv_next(tsv *t) {
    while (fgets(t->line, sizeof t->line, t->file)) {
        t->number++;
        t->line[strcspn(t->line, "\n")] = '\0';
        if (t->line[0] == '#' || t->line[0] == '\0')
            continue;
        char *rest = t->line;
        for (size_t i = 0; i < TSV_COLUMNS; i++) {
            t->col[i] = rest ? rest : "";
            rest = rest ? strchr(rest, '\t') : NULL;
            if (rest)
                *rest++ = '\0';
        }
        return 1;
    }
    return 0;
}

// "f32|uq8" as a mask; 0 when some token is unknown. "*" is 0 as well.
static inline qrn_dtype_mask tsv_types(const char *text) {
    qrn_dtype_mask mask = 0;
    while (*text) {
        size_t len = strcspn(text, "|");
        unsigned t = 0;
        while (t < QRN_DTYPE_COUNT &&
               (strlen(qrn_dtypes[t].token) != len || strncmp(qrn_dtypes[t].token, text, len)))
            t++;
        if (t == QRN_DTYPE_COUNT)
            return 0;
        mask |= (qrn_dtype_mask)1 << t;
        text += len + (text[len] == '|');
    }
    return mask;
}

#endif
