// SPDX-License-Identifier: MIT
//
// Names and texts of converted models.
#include "base/file.h"
#include "tools/converter/dlc_write.h"
#include "tools/quern/output.h"

#include <stdio.h>
#include <string.h>

char *cv_identifier(qrn_arena *a, const char *name) {
    size_t n = strlen(name);
    char *out = qrn_arena_alloc(a, n + 3), *to = out;
    if (!out)
        return NULL;
    if (!n || (*name >= '0' && *name <= '9'))
        *to++ = '_';
    for (; *name; name++)
        *to++ = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                        (*name >= '0' && *name <= '9')
                    ? *name
                    : '_';
    *to = 0;
    return out;
}

char *cv_graph_name(qrn_arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    char *base = qrn_arena_strdup(a, slash ? slash + 1 : path);
    char *dot = base ? strrchr(base, '.') : NULL;
    if (dot && dot > base)
        *dot = 0;
    return base ? cv_identifier(a, base) : NULL;
}

char *cv_path_with(qrn_arena *a, const char *path, const char *const *endings, const char *ending) {
    size_t n = strlen(path), size = n + strlen(ending) + 1;
    for (; *endings; endings++) {
        size_t k = strlen(*endings);
        if (n > k && strcmp(path + n - k, *endings) == 0) {
            n -= k;
            break;
        }
    }
    char *out = qrn_arena_alloc(a, size);
    if (out)
        snprintf(out, size, "%.*s%s", (int)n, path, ending);
    return out;
}

int cv_read_text(qrn_arena *a, const char *path, const char **out) {
    qrn_file f = {0};
    if (!path)
        return QT_EXIT_OK;
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    bool text = f.size < 1u << 20 && !memchr(f.data, 0, f.size);
    char *copy = text ? qrn_arena_alloc(a, f.size + 1) : NULL;
    if (copy)
        memcpy(copy, f.data, f.size);
    qrn_file_unmap(&f);
    if (!text)
        qt_error("%s: expected a text of less than 1 MiB", path);
    *out = copy;
    return copy ? QT_EXIT_OK : text ? cv_no_memory() : QT_EXIT_INPUT;
}
