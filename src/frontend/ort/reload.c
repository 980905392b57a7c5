// SPDX-License-Identifier: MIT
//
// Compile, then load (option enable_htp_prepare_and_load): the context that compiled goes, and with
// it what only compiling needs; the session runs on one that was made from its binary.
#include "frontend/ort/timeline.h"

#include "base/mem.h"

static qrn_status load(qe_ep *ep, const void *bytes, uint64_t n) {
    qc_client *c = ep->client;
    qe_context_room room;
    qe_context_configs(ep, true, QE_LOAD, &room);
    c->qnn.contextFree(c->context, NULL);
    c->context = NULL;
    uint64_t start = qe_now_us();
    QRN_TRY(qc_load(c, bytes, n, room.n ? room.list : NULL, ep->profile.handle));
    qe_timeline_made(ep, "qnn_context_load", ep->factory->name, 1000 * start);
    return qe_profile_take(ep, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY,
                           ep->factory->name, start);
}

qrn_status qe_reload(qe_ep *ep, OrtNodeComputeInfo *const *parts, size_t n) {
    void *bytes = NULL;
    uint64_t n_bytes = 0;
    qc_system *system = NULL;
    const QnnSystemContext_BinaryInfoV3_t *info = NULL;
    qrn_status s = qe_take_binary(ep->client, &bytes, &n_bytes);
    if (s == QRN_OK)
        s = qc_system_open(ep->client->path, &system);
    if (s == QRN_OK)
        s = qc_system_describe(system, bytes, n_bytes, &info);
    if (s == QRN_OK)
        s = load(ep, bytes, n_bytes);
    for (size_t i = 0; i < n && s == QRN_OK; i++)
        s = qe_part_reload(parts[i], info);
    qc_system_close(system);
    qrn_free(bytes);
    return s;
}
