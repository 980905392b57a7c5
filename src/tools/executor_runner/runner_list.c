// SPDX-License-Identifier: MIT
//
// Reading of small text files and raw files.
#include "tools/executor_runner/runner_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 0;
    if (!f)
        return NULL;
    for (;;) {
        if (room - used < 2) {
            room = room ? 2 * room : 4096;
            char *grown = realloc(text, room);
            if (!grown)
                break;
            text = grown;
        }
        size_t n = fread(text + used, 1, room - used - 1, f);
        used += n;
        if (n == 0)
            break;
    }
    bool ok = text && !ferror(f) && feof(f);
    fclose(f);
    if (!ok) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    *size = used;
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
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "ERROR: input '%s' cannot be read: %s\n", path, strerror(errno));
        return false;
    }
    size_t n = fread(buffer, 1, size, f);
    char more;
    bool longer = fread(&more, 1, 1, f) == 1, damaged = ferror(f) != 0;
    fclose(f);
    if (damaged) {
        fprintf(stderr, "ERROR: input '%s' cannot be read\n", path);
        return false;
    }
    if (longer || (n != size && !may_be_short)) {
        fprintf(stderr, "ERROR: input '%s' has %s%zu bytes, expected %zu\n", path,
                longer ? "more than " : "", n, size);
        return false;
    }
    return true;
}
