// SPDX-License-Identifier: MIT
#include "tools/quern/dlc_source.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include "Quern/SystemDlc.h"

#include <dlfcn.h>
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

static qrn_status add_record(qc_system *sys, const char *text, void **bytes, uint64_t *n) {
    QnnSystemDlc_Handle_t dlc = NULL;
    QuernSystemDlc_AddRecordFn_t add = NULL;
    void *symbol = dlsym(sys->lib, "QuernSystemDlc_addRecord");
    const qc_dlc_source from = {.bytes = *bytes, .n_bytes = *n};
    uint64_t size = 0;
    uint8_t *grown = NULL;
    memcpy(&add, &symbol, sizeof add);
    if (!add)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s is not Quern's", sys->path);
    QRN_TRY(qc_dlc_open(sys, &from, &dlc));
    qrn_status s = qc_system_check(sys,
                                   add(dlc, QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_MAPPING, RECORD,
                                       (const uint8_t *)text, strlen(text)),
                                   "a record cannot be added");
    if (s == QRN_OK)
        s = qc_system_check(sys, sys->fn.systemDlcGetBinarySize(dlc, &size), "it has no size");
    if (s == QRN_OK && !(grown = malloc(size)))
        s = QRN_FAIL(QRN_E_MEM, "out of memory");
    if (s == QRN_OK)
        s = qc_system_check(sys, sys->fn.systemDlcGetBinary(dlc, grown, size, &size),
                            "it cannot be written");
    sys->fn.systemDlcFree(dlc);
    if (s != QRN_OK) {
        free(grown);
        return s;
    }
    free(*bytes);
    *bytes = grown;
    *n = size;
    return QRN_OK;
}

int qt_sources_add(const qt_sources *s, const char *path, void **bytes, uint64_t *n_bytes) {
    qc_system *sys = NULL;
    if (!s->graphs && !s->failed)
        return QT_EXIT_OK;
    json_t *top = s->failed ? NULL : json_pack("{s:O}", "graphs", s->graphs);
    char *text = top ? json_dumps(top, JSON_COMPACT) : NULL;
    qrn_status st = text ? qc_system_open(NULL, &sys) : QRN_FAIL(QRN_E_MEM, "out of memory");
    if (st == QRN_OK)
        st = add_record(sys, text, bytes, n_bytes);
    qc_system_close(sys);
    free(text);
    json_decref(top);
    if (st == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s: %s", path, qrn_message());
    return QT_EXIT_FAILURE;
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
