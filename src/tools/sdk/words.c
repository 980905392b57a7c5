// SPDX-License-Identifier: MIT
#include "tools/sdk/words.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/sdk/json_keys.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

int qs_words_split(const char *flag, const char *text, char separator, qs_words *out) {
    *out = (qs_words){0};
    if (!text)
        return QT_EXIT_OK;
    size_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == separator;
    qs_words w = {.items = calloc(n, sizeof *w.items), .block = strdup(text)};
    if (!w.items || !w.block) {
        qs_words_free(&w);
        return no_memory();
    }
    for (char *at = w.block; w.n < n; w.n++) {
        char *end = strchr(at, separator);
        if (end)
            *end = '\0';
        if (!*at) {
            qs_words_free(&w);
            qt_error("--%s '%s': item %zu is empty", flag, text, w.n + 1);
            return QT_EXIT_USAGE;
        }
        w.items[w.n] = at;
        at = end + 1;
    }
    *out = w;
    return QT_EXIT_OK;
}

void qs_words_free(qs_words *w) {
    free(w->items);
    free(w->block);
    w->items = NULL;
    w->block = NULL;
}

static int read_group(const char *flag, const char *text, qs_selection *out) {
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1]) {
        qt_error("--%s '%s': expected GRAPH:TENSOR[,TENSOR...][;GRAPH:...]", flag, text);
        return QT_EXIT_USAGE;
    }
    out->graph = strndup(text, (size_t)(colon - text));
    return out->graph ? qs_words_split(flag, colon + 1, ',', &out->tensors) : no_memory();
}

int qs_selections_read(const char *flag, const char *text, qs_selections *out) {
    qs_words groups;
    *out = (qs_selections){0};
    int code = qs_words_split(flag, text, ';', &groups);
    if (code != QT_EXIT_OK || !groups.n)
        return code;
    out->items = calloc(groups.n, sizeof *out->items);
    if (!out->items)
        code = no_memory();
    for (size_t i = 0; i < groups.n && code == QT_EXIT_OK; i++) {
        out->n = i + 1;
        code = read_group(flag, groups.items[i], &out->items[i]);
    }
    qs_words_free(&groups);
    if (code != QT_EXIT_OK)
        qs_selections_free(out);
    return code;
}

void qs_selections_free(qs_selections *s) {
    for (size_t i = 0; i < s->n; i++) {
        free(s->items[i].graph);
        qs_words_free(&s->items[i].tensors);
    }
    free(s->items);
    *s = (qs_selections){0};
}

bool qs_is_selected(const qs_selections *s, const char *graph, const char *tensor) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; qs_same_name(graph, s->items[i].graph) && k < s->items[i].tensors.n; k++)
            if (qs_same_name(tensor, s->items[i].tensors.items[k]))
                return true;
    return false;
}
