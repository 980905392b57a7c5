// SPDX-License-Identifier: MIT
//
// Input lists: plain text, one run a line, items separated by blanks. An item is a path, which
// binds to the inputs in order, or name:=path. Before the first run, a line that begins with '#'
// names layers and is skipped, and one that begins with '%' names the outputs that are wanted.
// Paths may hold any other character; relative ones start at the current folder.
#include "tools/quern/input_list.h"

#include "base/file.h"
#include "tools/quern/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct words {
    const char *at, *end;
} words;

static bool next_word(words *w, const char **word, size_t *len) {
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\r'))
        w->at++;
    *word = w->at;
    while (w->at < w->end && *w->at != ' ' && *w->at != '\t' && *w->at != '\r')
        w->at++;
    *len = (size_t)(w->at - *word);
    return *len > 0;
}

static int select_outputs(words w, qt_inputs *in) {
    const char *word;
    size_t len;
    while (next_word(&w, &word, &len)) {
        char **grown = realloc(in->selected, (in->n_selected + 1) * sizeof *grown);
        if (grown)
            in->selected = grown;
        char *name = grown ? qt_copy_text(word, len) : NULL;
        if (!name) {
            qt_error("out of memory");
            return QT_EXIT_FAILURE;
        }
        in->selected[in->n_selected++] = name;
    }
    return QT_EXIT_OK;
}

static const char *find_assign(const char *word, size_t len) {
    for (size_t i = 0; i + 1 < len; i++)
        if (word[i] == ':' && word[i + 1] == '=')
            return word + i;
    return NULL;
}

// A missing file is noticed before the first run.
static int check_files(const char *where, const qt_source *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (row[i].path && access(row[i].path, R_OK) != 0) {
            qt_error("%s: %s: %s", where, row[i].path, strerror(errno));
            return QT_EXIT_INPUT;
        }
    return QT_EXIT_OK;
}

static int bind_line(words w, const char *where, size_t set, qt_inputs *in) {
    const char *word;
    size_t len;
    int code = QT_EXIT_OK;
    while (code == QT_EXIT_OK && next_word(&w, &word, &len)) {
        const char *assign = find_assign(word, len);
        size_t name_len = assign ? (size_t)(assign - word) : 0;
        const char *path = assign ? assign + 2 : word;
        size_t path_len = assign ? len - name_len - 2 : len;
        if (!path_len) {
            qt_error("%s: no path behind '%.*s'", where, (int)len, word);
            return QT_EXIT_INPUT;
        }
        code = qt_inputs_bind(in, set, where, assign ? word : NULL, name_len, path, path_len);
    }
    return code;
}

static int add_set(qt_inputs *in, size_t *cap) {
    if (in->n_sets == *cap) {
        size_t want = *cap ? 2 * *cap : 16, row = in->n_ports ? in->n_ports : 1;
        qt_source *grown = realloc(in->sources, want * row * sizeof *grown);
        if (!grown) {
            qt_error("out of memory");
            return QT_EXIT_FAILURE;
        }
        in->sources = grown;
        *cap = want;
    }
    memset(in->sources + in->n_sets * in->n_ports, 0, in->n_ports * sizeof *in->sources);
    in->n_sets++;
    return QT_EXIT_OK;
}

static int read_lines(const char *path, const char *text, size_t size, qt_inputs *in) {
    size_t cap = 0, line = 0;
    int code = QT_EXIT_OK;
    for (const char *at = text, *end = text + size; at < end && code == QT_EXIT_OK;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        words w = {at, stop ? stop : end}, look = w;
        at = stop ? stop + 1 : end;
        line++;
        const char *word;
        size_t len;
        if (!next_word(&look, &word, &len))
            continue;
        if (in->n_sets == 0 && *w.at == '#')
            continue;
        if (in->n_sets == 0 && *w.at == '%') {
            w.at++;
            code = select_outputs(w, in);
            continue;
        }
        char where[512];
        snprintf(where, sizeof where, "%.480s:%zu", path, line);
        code = add_set(in, &cap);
        if (code == QT_EXIT_OK)
            code = bind_line(w, where, in->n_sets - 1, in);
        if (code == QT_EXIT_OK)
            code = check_files(where, in->sources + (in->n_sets - 1) * in->n_ports, in->n_ports);
    }
    if (code == QT_EXIT_OK && in->n_sets == 0) {
        qt_error("%s: no line with inputs", path);
        return QT_EXIT_INPUT;
    }
    return code;
}

int qt_input_list_read(const char *path, qt_inputs *in) {
    qrn_file f = {0};
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    int code = QT_EXIT_INPUT;
    if (memchr(f.data, '\0', f.size))
        qt_error("%s: not a text file", path);
    else
        code = read_lines(path, f.data, f.size, in);
    qrn_file_unmap(&f);
    return code;
}
