// SPDX-License-Identifier: MIT
#include "tools/sdk/output_tree.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"
#include "tools/sdk/json_keys.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_wanted(const qs_output *o, const char *name) {
    for (size_t i = 0; i < o->n_only; i++)
        if (qs_same_name(name, o->only[i]))
            return true;
    return !o->n_only;
}

// A name as part of a path.
static void file_name(const char *name, uint32_t index, char *to, size_t size) {
    if (!name || !*name)
        snprintf(to, size, "Output_%u", index);
    else
        snprintf(to, size, "%s%s", strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? "_" : "",
                 name);
    for (char *p = to; *p; p++)
        if (*p == '/')
            *p = '_';
}

static int too_long(const char *path) {
    qt_error("%.80s...: the path is too long", path);
    return QT_EXIT_FAILURE;
}

static int write_one(const char *dir, const char *name, const char *end, const void *data,
                     size_t bytes) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s%s", dir, name, end);
    if (n < 0 || (size_t)n >= sizeof path)
        return too_long(path);
    const qt_part part = {data, bytes};
    return qt_write_result(path, &part, 1) ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

// Elements of a tensor after an execution: some ops fill fewer rows than there is room for.
static qs_shape filled(const qs_set *s, uint32_t i) {
    qs_shape shape = s->shapes[i];
    uint32_t room = shape.t->dims[0], rows = s->dims[i][0];
    if (shape.t->rank && room && rows < room) {
        shape.count = shape.count / room * rows;
        shape.bytes = (shape.count * qc_dtype_bits(shape.t->t.v1.dataType) + 7) / 8;
    }
    return shape;
}

static int write_tensor(const qs_output *o, const qs_set *s, uint32_t i, const char *dir,
                        size_t part, size_t parts) {
    qs_shape shape = filled(s, i);
    char name[NAME_MAX];
    file_name(shape.t->t.v1.name, i - s->n_in, name, sizeof name - sizeof "_native.raw");
    if (!shape.t->rank || s->dims[i][0] % parts || shape.bytes % parts)
        parts = 1, part = 0;
    int code = QT_EXIT_OK;
    if (o->native) {
        size_t bytes = shape.bytes / parts;
        code =
            write_one(dir, name, "_native.raw", (const char *)s->buffers[i] + part * bytes, bytes);
    }
    if (!o->floats || code != QT_EXIT_OK)
        return code;
    float *values = malloc(shape.count * sizeof *values + 1);
    size_t n = shape.count / parts;
    if (!values) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    if (qs_raw_floats(&shape, s->buffers[i], values) == QRN_OK) {
        code = write_one(dir, name, ".raw", values + part * n, n * sizeof *values);
    } else {
        qt_error("%s", qrn_message());
        code = QT_EXIT_FAILURE;
    }
    free(values);
    return code;
}

int qs_output_write(const qs_output *o, const qs_set *s, uint64_t index, size_t part,
                    size_t parts) {
    char dir[PATH_MAX], graph[NAME_MAX] = "";
    if (o->graph)
        file_name(o->graph, 0, graph, sizeof graph);
    int n = snprintf(dir, sizeof dir, "%s/%s%sResult_%llu", o->root, graph, *graph ? "/" : "",
                     (unsigned long long)index);
    if (n < 0 || (size_t)n >= sizeof dir)
        return too_long(dir);
    if (!qt_make_dir(dir))
        return QT_EXIT_FAILURE;
    int code = QT_EXIT_OK;
    for (uint32_t i = s->n_in; i < s->n_in + s->n_out && code == QT_EXIT_OK; i++)
        if (is_wanted(o, s->shapes[i].t->t.v1.name))
            code = write_tensor(o, s, i, dir, part, parts);
    return code;
}
