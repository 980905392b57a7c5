// SPDX-License-Identifier: MIT
//
// Mappings of ops to the nodes of the model that they were made from: the record "source.mapping",
// {"graphs": [{"name": graph, "ops": [[op, node, type of the node], ..]}, ..]}.
#include "system/dlc.h"

#include "base/json_read.h"

static qrn_status damaged(void) {
    return QRN_FAIL(QRN_E_BINARY, "getOpMappings: record '" QRN_DLC_SOURCES "' is damaged");
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for mappings"); }

// "[op, node, type]" to one pair.
static qrn_status read_op(const qrn_json *entry, Qnn_Mapping_t *m, Qnn_OpMappingPair_t *pair) {
    if (entry->kind != QRN_JSON_ARRAY || entry->n != 3)
        return damaged();
    for (const qrn_json *text = entry->first; text; text = text->next)
        if (text->kind != QRN_JSON_STRING)
            return damaged();
    *pair = (Qnn_OpMappingPair_t){entry->first->next->text, QNN_OP_MAPPING_TYPE_OP};
    *m = (Qnn_Mapping_t){entry->first->text, pair, 1};
    return QRN_OK;
}

static qrn_status read_graph(const qrn_json *g, qrn_arena *a, Qnn_OpMapping_t *out) {
    const qrn_json *name = qrn_json_member(g, "name"), *ops = qrn_json_member(g, "ops");
    if (!name || name->kind != QRN_JSON_STRING || !ops || ops->kind != QRN_JSON_ARRAY)
        return damaged();
    Qnn_OpMappingV1_t *v = qrn_arena_alloc(a, sizeof *v);
    Qnn_Mapping_t *list = qrn_arena_alloc(a, ((size_t)ops->n + 1) * sizeof *list);
    Qnn_OpMappingPair_t *pairs = qrn_arena_alloc(a, ((size_t)ops->n + 1) * sizeof *pairs);
    if (!v || !list || !pairs)
        return no_memory();
    *v = (Qnn_OpMappingV1_t){.graphName = name->text, .opMappings = list, .numOpMappings = ops->n};
    uint32_t i = 0;
    for (const qrn_json *entry = ops->first; entry; entry = entry->next, i++)
        QRN_TRY(read_op(entry, &list[i], &pairs[i]));
    *out = (Qnn_OpMapping_t){.version = QNN_OP_MAPPING_VERSION_1, .v1 = v};
    return QRN_OK;
}

static qrn_status read_mappings(const qrn_system_dlc *d, const Qnn_OpMapping_t **out, uint32_t *n) {
    const qrn_dlc_record *r = d->dlc ? qrn_dlc_find(d->dlc, QRN_DLC_SOURCES) : NULL;
    qrn_json *top = NULL;
    *out = NULL;
    *n = 0;
    if (!r)
        return QRN_OK;
    QRN_TRY(qrn_json_read(r->name, r->data, r->size_bytes, d->arena, &top));
    const qrn_json *graphs = qrn_json_member(top, "graphs");
    if (!graphs || graphs->kind != QRN_JSON_ARRAY)
        return damaged();
    Qnn_OpMapping_t *list = qrn_arena_alloc(d->arena, ((size_t)graphs->n + 1) * sizeof *list);
    if (!list)
        return no_memory();
    uint32_t i = 0;
    for (const qrn_json *g = graphs->first; g; g = g->next, i++)
        QRN_TRY(read_graph(g, d->arena, &list[i]));
    *out = list;
    *n = i;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemDlc_getOpMappings(QnnSystemDlc_Handle_t dlcHandle,
                                             const Qnn_OpMapping_t **opMappings,
                                             uint32_t *numOpMappings) {
    QRN_API_CALL;
    qrn_system_dlc *d = qrn_pin(QRN_KIND_DLC, dlcHandle);
    const Qnn_OpMapping_t *list = NULL;
    uint32_t n = 0;
    if (!d)
        return qrn_dlc_end(QRN_FAIL(QRN_E_HANDLE, "getOpMappings: not a DLC handle"));
    if (!opMappings || !numOpMappings)
        return qrn_dlc_end(QRN_FAIL(QRN_E_ARGUMENT, "getOpMappings: no place for the mappings"));
    pthread_mutex_lock(&d->lock);
    if (!d->mapped) {
        qrn_status s = read_mappings(d, &d->mappings, &d->n_mappings);
        if (s != QRN_OK) {
            pthread_mutex_unlock(&d->lock);
            return qrn_dlc_end(s == QRN_E_MEM ? s : damaged());
        }
        d->mapped = true;
    }
    list = d->mappings;
    n = d->n_mappings;
    pthread_mutex_unlock(&d->lock);
    *opMappings = list;
    *numOpMappings = n;
    return QNN_SUCCESS;
}
