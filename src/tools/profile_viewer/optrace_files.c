// SPDX-License-Identifier: MIT
//
// Files of the optrace reader (TOOL-OPT-01): for X.json the trace itself, X_htp.json,
// X_qnn_htp_analysis_summary.html and .json, and qhas_schema.json beside them.
#include "base/file.h"
#include "base/status.h"
#include "qhas_texts.h"
#include "tools/quern/page_data.h"
#include "tools/profile_viewer/optrace.h"
#include "tools/profile_viewer/sources.h"
#include "tools/profile_viewer/viewer.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

// X of X.json, X.json.gz and X; a folder only when the names of files beside it are made.
static size_t stem_of(const char *path) {
    static const char *const endings[] = {".gz", ".json"};
    size_t n = strlen(path);
    for (int i = 0; i < 2; i++) {
        size_t k = strlen(endings[i]);
        if (n > k && strncmp(path + n - k, endings[i], k) == 0)
            n -= k;
    }
    return n;
}

static char *beside(const char *path, const char *ending) {
    size_t n = stem_of(path), k = strlen(ending);
    char *name = malloc(n + k + 1);
    if (name) {
        memcpy(name, path, n);
        memcpy(name + n, ending, k + 1);
    } else {
        qt_error("out of memory");
    }
    return name;
}

static char *schema_path(const char *path) {
    static const char file[] = "qhas_schema.json";
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    char *name = malloc(n + sizeof file);
    if (name) {
        memcpy(name, path, n);
        memcpy(name + n, file, sizeof file);
    } else {
        qt_error("out of memory");
    }
    return name;
}

// --- executions

static bool read_schematic(qrn_arena *a, const char *path, qt_schematic *s) {
    qrn_file f = {0};
    if (qrn_file_map(path, &f) != QRN_OK) {
        qt_error("No Valid Input Schematics: %s", qrn_message());
        return false;
    }
    const char *why = qt_schematic_read(a, f.data, f.size, s);
    qrn_file_unmap(&f);
    if (why)
        qt_error("No Valid Input Schematics: %s: %s", path, why);
    return !why;
}

typedef struct loading {
    qrn_arena *arena;
    const qv_optrace_options *o;
    qt_schematic s;
    qv_execution *list;
    uint32_t n;
    char other[128]; // a graph that has traces, and is another one
} loading;

static int load(loading *x, const qt_call *c) {
    const qt_event *block = c->kind == QT_CALL_EXECUTE ? qt_find_optrace(c->events, c->n) : NULL;
    qt_optrace t;
    if (!block)
        return QT_EXIT_OK;
    if (!qt_optrace_read(x->arena, block->hex, &t)) {
        qt_error("an op trace of the profile is damaged");
        return QT_EXIT_INPUT;
    }
    if (t.version < 3) {
        qt_error("an op trace of the profile is of version %u, which has no clock; run the graph "
                 "again, or use quern profile --trace",
                 t.version);
        return QT_EXIT_INPUT;
    }
    if (strcmp(t.graph, x->s.graph) != 0) {
        snprintf(x->other, sizeof x->other, "%s", t.graph);
        return QT_EXIT_OK;
    }
    qv_execution *e = &x->list[x->n++];
    e->call = c;
    return qv_run_make(x->arena, &x->s, &t, x->o->zoom, &e->run) ? QT_EXIT_OK : QT_EXIT_INPUT;
}

static int load_all(loading *x, const qt_profile *p) {
    x->list = qrn_arena_alloc(x->arena, (p->n + (size_t)1) * sizeof *x->list);
    if (!x->list) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = QT_EXIT_OK;
    for (uint32_t i = 0; i < p->n && code == QT_EXIT_OK; i++)
        code = load(x, &p->calls[i]);
    if (code != QT_EXIT_OK || x->n)
        return code;
    if (x->other[0])
        qt_error("No Valid Input Schematics: %s is of graph '%s', op traces of the profile are of "
                 "'%s'",
                 x->o->schematic, x->s.graph, x->other);
    else
        qt_error("the profile has no op trace; profile with the level optrace");
    return QT_EXIT_INPUT;
}

// --- all of them

static bool save(json_t *value, char *path, bool gzip) {
    bool done = value && path && qv_write_json(value, path, gzip);
    if (!value)
        qt_error("out of memory");
    else if (!path)
        json_decref(value);
    free(path);
    return done;
}

bool qv_write_beside(json_t *value, const char *output, const char *ending) {
    return save(value, beside(output, ending), false);
}

static bool write_schema(const char *output) {
    char *path = schema_path(output);
    const qt_part part = {qv_page_qhas_schema, strlen(qv_page_qhas_schema)};
    bool done = path && qt_write_file(path, &part, 1);
    free(path);
    return done;
}

static bool write_all(const loading *x) {
    const qv_features *f = &x->o->features;
    const char *output = x->o->output;
    char *page = beside(output, "_qnn_htp_analysis_summary.html");
    bool done =
        page && qt_page_write(qv_page_qhas_page, "HTP analysis summary", x->list[0].run.s->graph,
                              qv_qhas_json(x->arena, &x->list[0]), page);
    free(page);
    if (done && f->htp_json)
        done = qv_write_beside(qv_graph_json(x->arena, &x->list[0].run), output, "_htp.json");
    if (done && f->qhas_json)
        done = qv_write_beside(qv_qhas_json(x->arena, &x->list[0]), output,
                               "_qnn_htp_analysis_summary.json");
    if (done && f->qhas_schema)
        done = write_schema(output);
    return done && save(qv_trace_json(x->list, x->n, f), strdup(output), f->gzip);
}

int qv_write_optrace(const qt_profile *p, const qv_optrace_options *o) {
    loading x = {.arena = p->arena, .o = o};
    if (!read_schematic(p->arena, o->schematic, &x.s))
        return QT_EXIT_INPUT;
    int code = load_all(&x, p);
    if (code == QT_EXIT_OK && o->features.traceback && !qv_name_ops(p->arena, &x.s, o->sources))
        code = QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK && !write_all(&x))
        code = QT_EXIT_FAILURE;
    return code;
}
