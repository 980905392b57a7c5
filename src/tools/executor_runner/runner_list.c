// SPDX-License-Identifier: MIT
//
// Reading of small text files and raw files.
#include "tools/executor_runner/runner_list.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path, size_t *size) {
    qrn_file f = {0};
    if (qrn_file_map(path, &f) != QRN_OK)
        return NULL;
    char *text = malloc(f.size + 1);
    if (text) {
        memcpy(text, f.data, f.size);
        text[f.size] = '\0';
        *size = f.size;
    } else {
        (void)QRN_FAIL(QRN_E_MEM, "%s: out of memory", path);
    }
    qrn_file_unmap(&f);
    return text;
}

bool runner_lines_read(const char *path, runner_lines *out) {
    size_t size = 0, n = 0;
    char *text = read_text(path, &size);
    if (!text)
        return false;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\n';
    char **lines = malloc((n + 1) * sizeof *lines);
    if (!lines) {
        (void)QRN_FAIL(QRN_E_MEM, "%s: out of memory", path);
        free(text);
        return false;
    }
    *out = (runner_lines){text, lines, 0};
    for (char *p = text; p < text + size;) {
        size_t len = strcspn(p, "\n");
        char *next = p + len + (p[len] == '\n');
        p[len] = '\0';
        if (len && p[len - 1] == '\r')
            p[len - 1] = '\0';
        if (next == p)
            break; // a zero in the text ends it
        lines[out->n++] = p;
        p = next;
    }
    return true;
}

void runner_lines_free(runner_lines *l) {
    free(l->text);
    free(l->lines);
    *l = (runner_lines){0};
}

size_t runner_split(char *line, char **parts, size_t most) {
    size_t n = 0;
    for (char *p = line;;) {
        char *blank = strchr(p, ' ');
        if (n < most)
            parts[n] = p;
        n++;
        if (!blank)
            return n;
        *blank = '\0';
        p = blank + 1;
    }
}

bool runner_shape(const char *line, int64_t *dims, size_t most, size_t *n) {
    *n = 0;
    while (*line) {
        char *end = NULL;
        long long v = strtoll(line, &end, 10);
        if (end == line || v < 0 || *n == most)
            return false;
        dims[(*n)++] = v;
        line = end + strspn(end, ", ");
    }
    return true;
}

bool runner_read(const char *path, void *buffer, size_t size, bool may_be_short) {
    qrn_file f = {0};
    if (qrn_file_map(path, &f) != QRN_OK) {
        fprintf(stderr, "ERROR: input '%s' cannot be read: %s\n", path, qrn_message());
        return false;
    }
    bool fits = f.size == size || (f.size < size && may_be_short);
    if (fits)
        memcpy(buffer, f.data, f.size);
    else
        fprintf(stderr, "ERROR: input '%s' has %zu bytes, expected %s%zu\n", path, f.size,
                may_be_short ? "at most " : "", size);
    if (fits && qrn_file_check(&f) != QRN_OK) {
        fprintf(stderr, "ERROR: %s\n", qrn_message());
        fits = false;
    }
    qrn_file_unmap(&f);
    return fits;
}
