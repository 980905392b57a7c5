// SPDX-License-Identifier: MIT
//
// Contexts from binaries: one by one, in a group with one spill-fill buffer, or as a list that
// shares all it can. Mapped files are used where they lie.
#include "frontend/ort/context.h"
#include "frontend/ort/timeline.h"

#include <string.h>

static const QnnContext_Config_t stays = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                          .isPersistentBinary = 1};

// A mapped file stays; the bytes of a node go away with the model.
static bool is_kept(const qe_ep *ep, const qe_loaded *l) {
    return l->file.data && ep->client->is_quern && !ep->opt.no_mapping;
}

static qrn_status make_one(qe_ep *ep, qe_loaded *l, qe_context_room *room) {
    qc_client *c = ep->client;
    Qnn_ContextHandle_t kept = c->context;
    if (is_kept(ep, l))
        qe_context_add(room, &stays);
    c->context = NULL;
    uint64_t start = qe_now_us();
    qrn_status s = qc_load(c, l->bytes, l->size, room->n ? room->list : NULL, ep->profile.handle);
    l->context = c->context;
    c->context = kept;
    QRN_TRY(s);
    qe_timeline_made(ep, "qnn_context_load", l->node, 1000 * start);
    return qe_profile_take(ep, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY, l->node,
                           start);
}

static qrn_status make_each(qe_ep *ep, qe_loaded *list) {
    for (qe_loaded *l = list; l; l = l->next) {
        qe_context_room room;
        qe_context_configs(ep, ep->backend == QE_BACKEND_HTP, QE_LOAD, &room);
        QRN_TRY(make_one(ep, l, &room));
    }
    return QRN_OK;
}

// --- one buffer for all

static qrn_status make_in_group(qe_ep *ep, qe_loaded *list, qe_loaded *largest) {
    qe_context_room room;
    qe_context_configs(ep, true, QE_LOAD, &room);
    qe_context_join(&room, NULL, largest->spill_bytes);
    QRN_TRY(make_one(ep, largest, &room));
    for (qe_loaded *l = list; l; l = l->next) {
        if (l == largest)
            continue;
        qe_context_configs(ep, true, QE_LOAD, &room);
        qe_context_join(&room, largest->context, largest->spill_bytes);
        QRN_TRY(make_one(ep, l, &room));
    }
    return QRN_OK;
}

// --- as a list

static void on_log(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                   QnnContext_createFromBinaryAsyncNotifyType_t type, void *arg,
                   Qnn_ErrorHandle_t status) {
    (void)graph, (void)name;
    qe_loaded *l = arg;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    l->context = context;
    l->code = status;
}

static qrn_status make_as_list(qe_ep *ep, qe_loaded *list) {
    const qc_client *c = ep->client;
    const QnnContext_Config_t *kept[] = {&stays, NULL};
    qe_context_room room;
    size_t n = 0, i = 0;
    for (const qe_loaded *l = list; l; l = l->next)
        n++;
    QnnContext_Params_t *params = qrn_arena_alloc(ep->arena, n * sizeof *params);
    const QnnContext_Params_t **pointers =
        qrn_arena_alloc(ep->arena, (n + 1) * sizeof *pointers); // cleared
    if (!params || !pointers)
        return QRN_FAIL(QRN_E_MEM, "context model: no memory");
    if (!c->qnn.contextCreateFromBinaryListAsync)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "option enable_vtcm_backup_buffer_sharing: %s cannot load lists of "
                        "contexts",
                        c->path);
    for (qe_loaded *l = list; l; l = l->next, i++) {
        const QnnContext_Params_t one = {.version = QNN_CONTEXT_PARAMS_VERSION_1,
                                         .v1 = {.config = is_kept(ep, l) ? kept : NULL,
                                                .binaryBuffer = l->bytes,
                                                .binaryBufferSize = l->size,
                                                .notifyFunc = on_log,
                                                .notifyParam = l}};
        memcpy(&params[i], &one, sizeof one);
        pointers[i] = &params[i];
        l->code = QNN_COMMON_ERROR_GENERAL; // until a notification says otherwise
    }
    qe_context_configs(ep, true, QE_LIST, &room);
    QRN_TRY(qc_check(
        c,
        c->qnn.contextCreateFromBinaryListAsync(c->backend, c->device, pointers, room.list, NULL),
        "contextCreateFromBinaryListAsync"));
    for (const qe_loaded *l = list; l; l = l->next)
        QRN_TRY(qc_check(c, l->code, "contextCreateFromBinaryListAsync"));
    return QRN_OK;
}

qrn_status qe_contexts_make(qe_ep *ep, qe_loaded *list) {
    qe_loaded *largest = list;
    if (!list)
        return QRN_OK;
    for (qe_loaded *l = list; l; l = l->next)
        if (l->spill_bytes > largest->spill_bytes)
            largest = l;
    if (ep->opt.share_resources)
        return make_as_list(ep, list);
    if (ep->opt.spill_fill && list->next && largest->spill_bytes)
        return make_in_group(ep, list, largest);
    return make_each(ep, list);
}
