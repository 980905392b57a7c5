// SPDX-License-Identifier: MIT
#include "tools/quern/data_format.h"

#include "base/json_read.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"

#include <string.h>

typedef struct entry {
    const char *graph, *tensor;
    uint32_t format;
    unsigned line;
    bool used;
    struct entry *next;
} entry;

struct qt_data_formats {
    const char *path;
    qrn_arena *arena;
    entry *first, **end;
};

static const struct {
    const char *name;
    uint32_t format;
} formats[] = {
    {"QNN_TENSOR_DATA_FORMAT_DENSE", QNN_TENSOR_DATA_FORMAT_DENSE},
    {"QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT", QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT},
};

static int wrong(const qt_data_formats *f, unsigned line, const char *what, const char *found) {
    qt_error("%s:%u: %s%s%s%s", f->path, line, what, found ? ", found '" : "", found ? found : "",
             found ? "'" : "");
    return QT_EXIT_REFUSED;
}

// The members of an object by name; unknown ones are an error.
static int members(const qt_data_formats *f, const qrn_json *object, const char *const *names,
                   const qrn_json **out, size_t n) {
    if (object->kind != QRN_JSON_OBJECT)
        return wrong(f, object->line, "an object was expected", qrn_json_kind_text(object->kind));
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    for (const qrn_json *m = object->first; m; m = m->next) {
        size_t i = 0;
        while (i < n && strcmp(names[i], m->key) != 0)
            i++;
        if (i == n)
            return wrong(f, m->line, n == 1 ? "unknown key; 'graphs' is known" : "unknown key",
                         m->key);
        out[i] = m;
    }
    for (size_t i = 0; i < n; i++)
        if (!out[i])
            return wrong(f, object->line, "a key is missing:", names[i]);
    return QT_EXIT_OK;
}

static int add(qt_data_formats *f, const char *graph, const char *tensor, const qrn_json *format) {
    size_t i = 0, n = sizeof formats / sizeof formats[0];
    while (i < n && strcmp(formats[i].name, format->text) != 0)
        i++;
    if (i == n)
        return wrong(f, format->line,
                     "dataFormat may be QNN_TENSOR_DATA_FORMAT_DENSE or "
                     "QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT (a native KV cache)",
                     format->text);
    entry *e = qrn_arena_alloc(f->arena, sizeof *e);
    if (!e) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    *e = (entry){graph, tensor, formats[i].format, format->line, false, NULL};
    *f->end = e;
    f->end = &e->next;
    return QT_EXIT_OK;
}

static int read_tensors(qt_data_formats *f, const char *graph, const qrn_json *list) {
    static const char *const names[] = {"tensor_name", "dataFormat"};
    if (list->kind != QRN_JSON_ARRAY)
        return wrong(f, list->line, "'tensors' is a list", qrn_json_kind_text(list->kind));
    for (const qrn_json *t = list->first; t; t = t->next) {
        const qrn_json *m[2];
        int code = members(f, t, names, m, 2);
        for (size_t i = 0; i < 2 && code == QT_EXIT_OK; i++)
            if (m[i]->kind != QRN_JSON_STRING)
                code =
                    wrong(f, m[i]->line, "a string was expected", qrn_json_kind_text(m[i]->kind));
        if (code == QT_EXIT_OK)
            code = add(f, graph, m[0]->text, m[1]);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

static int read_graph(qt_data_formats *f, const qrn_json *graph) {
    static const char *const names[] = {"graph_name", "tensors"};
    const qrn_json *m[2];
    int code = members(f, graph, names, m, 2);
    if (code != QT_EXIT_OK)
        return code;
    bool several = m[0]->kind == QRN_JSON_ARRAY;
    for (const qrn_json *g = several ? m[0]->first : m[0]; g; g = several ? g->next : NULL) {
        if (g->kind != QRN_JSON_STRING)
            return wrong(f, g->line, "'graph_name' is a string or a list of strings",
                         qrn_json_kind_text(g->kind));
        code = read_tensors(f, g->text, m[1]);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

static int read_all(qt_data_formats *f) {
    static const char *const names[] = {"graphs"};
    qrn_json *top;
    const qrn_json *graphs;
    if (qrn_json_read_file(f->path, f->arena, &top) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_REFUSED;
    }
    int code = members(f, top, names, &graphs, 1);
    if (code == QT_EXIT_OK && graphs->kind != QRN_JSON_ARRAY)
        code = wrong(f, graphs->line, "'graphs' is a list", qrn_json_kind_text(graphs->kind));
    for (const qrn_json *g = code == QT_EXIT_OK ? graphs->first : NULL; g && code == QT_EXIT_OK;
         g = g->next)
        code = read_graph(f, g);
    return code;
}

int qt_data_formats_open(const char *path, qt_data_formats **out) {
    qrn_arena *arena = qrn_arena_create();
    qt_data_formats *f = arena ? qrn_arena_alloc(arena, sizeof *f) : NULL;
    if (!f) {
        qrn_arena_destroy(arena);
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    *f = (qt_data_formats){.path = path, .arena = arena};
    f->end = &f->first;
    int code = read_all(f);
    if (code != QT_EXIT_OK)
        qt_data_formats_close(f);
    else
        *out = f;
    return code;
}

void qt_data_formats_close(qt_data_formats *f) {
    if (f)
        qrn_arena_destroy(f->arena);
}

static uint32_t format_of(void *ctx, const char *graph, const char *tensor) {
    const qt_data_formats *f = ctx;
    for (entry *e = f->first; e; e = e->next)
        if (strcmp(e->graph, graph) == 0 && strcmp(e->tensor, tensor) == 0) {
            e->used = true;
            return e->format;
        }
    return QNN_TENSOR_DATA_FORMAT_DENSE;
}

void qt_data_formats_use(qt_data_formats *f, qc_client *c) {
    c->format_of = format_of;
    c->format_ctx = f;
}

int qt_data_formats_check(const qt_data_formats *f) {
    for (const entry *e = f->first; e; e = e->next)
        if (!e->used) {
            qt_error("%s:%u: graph '%s' has no input or output '%s'", f->path, e->line, e->graph,
                     e->tensor);
            return QT_EXIT_REFUSED;
        }
    return QT_EXIT_OK;
}
