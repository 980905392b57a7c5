// SPDX-License-Identifier: MIT
#include "tools/quern/dlc_source.h"

#include "tools/quern/dlc_add.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>

#define RECORD "source.mapping"

static json_t *ops_of(const qt_sources *s, const char *graph) {
    size_t i;
    json_t *g;
    json_array_foreach(s->graphs, i, g) {
        if (strcmp(json_string_value(json_object_get(g, "name")), graph) == 0)
            return json_object_get(g, "ops");
    }
    return NULL;
}

void qt_sources_note(void *sources, const qc_op *o) {
    qt_sources *s = sources;
    if (!o->source || s->failed)
        return;
    if (!s->graphs)
        s->graphs = json_array();
    json_t *ops = s->graphs ? ops_of(s, o->g->name) : NULL;
    if (s->graphs && !ops) {
        ops = json_array();
        json_array_append_new(s->graphs,
                              json_pack("{s:o,s:o}", "name", qt_json_text(o->g->name), "ops", ops));
    }
    s->failed = !ops || json_array_append_new(ops, json_pack("[o,o,o]", qt_json_text(o->name),
                                                             qt_json_text(o->source),
                                                             qt_json_text(o->source_type))) != 0;
}

void qt_sources_free(qt_sources *s) {
    json_decref(s->graphs);
    *s = (qt_sources){0};
}

int qt_sources_add(const qt_sources *s, const char *path, void **bytes, uint64_t *n_bytes) {
    if (!s->graphs && !s->failed)
        return QT_EXIT_OK;
    json_t *top = s->failed ? NULL : json_pack("{s:O}", "graphs", s->graphs);
    char *text = top ? json_dumps(top, JSON_COMPACT) : NULL;
    int code = QT_EXIT_FAILURE;
    if (text) {
        const qt_dlc_new record = {RECORD, QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_MAPPING, text,
                                   strlen(text)};
        code = qt_dlc_add(path, &record, 1, bytes, n_bytes);
    } else {
        qt_error("%s: out of memory", path);
    }
    free(text);
    json_decref(top);
    return code;
}

// --- Reading

static bool is_good(const json_t *graphs) {
    size_t i, k, m;
    json_t *g, *op, *text;
    if (!json_is_array(graphs))
        return false;
    json_array_foreach(graphs, i, g) {
        if (!json_is_string(json_object_get(g, "name")) ||
            !json_is_array(json_object_get(g, "ops")))
            return false;
        json_array_foreach(json_object_get(g, "ops"), k, op) {
            if (json_array_size(op) != 3)
                return false;
            json_array_foreach(op, m, text) {
                if (!json_is_string(text))
                    return false;
            }
        }
    }
    return true;
}

int qt_sources_read(const qt_dlc *d, qt_sources *out) {
    uint64_t n = 0;
    const uint8_t *data = qt_dlc_record(d, RECORD, &n);
    if (!data) {
        qt_error("%s: it has no record '" RECORD "' that says what its ops were made from; 'quern "
                 "compile MODEL -o FILE.dlc' writes it",
                 d->path);
        return QT_EXIT_INPUT;
    }
    json_t *top = json_loadb((const char *)data, n, 0, NULL);
    json_t *graphs = json_object_get(top, "graphs");
    if (!is_good(graphs)) {
        qt_error("%s: its record '" RECORD "' is damaged", d->path);
        json_decref(top);
        return QT_EXIT_INPUT;
    }
    *out = (qt_sources){.graphs = json_incref(graphs)};
    json_decref(top);
    return QT_EXIT_OK;
}

static const char *text_at(const json_t *op, size_t i) {
    return json_string_value(json_array_get(op, i));
}

bool qt_source_of_op(const qt_sources *s, const char *graph, const char *op, qt_node_source *out) {
    size_t i, k;
    json_t *g, *entry;
    json_array_foreach(s->graphs, i, g) {
        if (graph && strcmp(json_string_value(json_object_get(g, "name")), graph) != 0)
            continue;
        json_array_foreach(json_object_get(g, "ops"), k, entry) {
            if (strcmp(text_at(entry, 0), op) == 0) {
                *out = (qt_node_source){text_at(entry, 0), text_at(entry, 1), text_at(entry, 2)};
                return true;
            }
        }
    }
    return false;
}

const char *qt_op_of_source(const qt_sources *s, const char *name, bool last) {
    const char *found = NULL;
    size_t i, k;
    json_t *g, *entry;
    json_array_foreach(s->graphs, i, g) {
        json_array_foreach(json_object_get(g, "ops"), k, entry) {
            if (strcmp(text_at(entry, 1), name) == 0 && (last || !found))
                found = text_at(entry, 0);
        }
    }
    return found;
}
