// SPDX-License-Identifier: MIT
//
// Writing context models: the context's binary goes into the first node or into a file beside the
// model; every partition becomes an EPContext node that names its graph. The host writes the model.
#include "frontend/ort/context.h"

#include "base/mem.h"
#include "base/outfile.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

qrn_status qe_take_binary(const qc_client *c, void **bytes, uint64_t *n) {
    Qnn_ContextBinarySize_t size = 0, written = 0;
    if (!c->qnn.contextGetBinarySize || !c->qnn.contextGetBinary)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s has no context binaries", c->path);
    QRN_TRY(qc_check(c, c->qnn.contextGetBinarySize(c->context, &size), "contextGetBinarySize"));
    *bytes = qrn_alloc(size);
    if (!*bytes)
        return QRN_FAIL(QRN_E_MEM, "no memory for a context binary of %llu bytes",
                        (unsigned long long)size);
    QRN_TRY(qc_check(c, c->qnn.contextGetBinary(c->context, *bytes, size, &written),
                     "contextGetBinary"));
    *n = written;
    return QRN_OK;
}

// "<context model, else model, cut at the last dot>_qnn.bin", as the public provider names it.
static qrn_status binary_path(const qe_ep *ep, const char *model_path, const char *graph, char *out,
                              size_t size) {
    const char *given = ep->opt.context_path;
    const char *base = given && given[0] ? given : model_path && model_path[0] ? model_path : graph;
    const char *slash = strrchr(base, '/'), *dot = strrchr(base, '.');
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - base) : strlen(base);
    int len = snprintf(out, size, "%.*s_qnn.bin", (int)stem, base);
    return len > 0 && (size_t)len < size
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT, "the path of the context binary is too long");
}

static qrn_status save(const char *path, const void *bytes, uint64_t n) {
    if (qrn_outfile_save(path, bytes, n) == QRN_OK)
        return QRN_OK;
    return QRN_FAIL(QRN_E_GENERAL, "ep.context_file_path: the context binary %s", qrn_message());
}

// --- nodes

#define MAX_ATTRS 8

typedef struct attrs {
    OrtOpAttr *list[MAX_ATTRS];
    size_t n;
} attrs;

static qrn_status add_int(attrs *a, const char *name, int64_t value) {
    QE_TRY(CreateOpAttr, name, &value, 1, ORT_ATTR_INT, &a->list[a->n]);
    a->n++;
    return QRN_OK;
}

static qrn_status add_text(attrs *a, const char *name, const void *text, size_t n) {
    if (n > INT_MAX)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "a context binary of %zu bytes does not fit into a model; set "
                        "ep.context_embed_mode to 0",
                        n);
    QE_TRY(CreateOpAttr, name, text, (int)n, ORT_ATTR_STRING, &a->list[a->n]);
    a->n++;
    return QRN_OK;
}

static qrn_status add_string(attrs *a, const char *name, const char *text) {
    return add_text(a, name, text, strlen(text));
}

// The payload: bytes, or the name of a file beside the model.
typedef struct payload {
    const void *data;
    size_t n;
    bool embedded;
    uint64_t spill_bytes; // that graphs of the binary need
} payload;

static qrn_status fill(const qe_ep *ep, const char *graph, const payload *first, attrs *a) {
    const char *id = NULL;
    if (!ep->client->qnn.backendGetBuildId || ep->client->qnn.backendGetBuildId(&id) != QNN_SUCCESS)
        id = NULL;
    QRN_TRY(add_int(a, "main_context", first->data != NULL));
    QRN_TRY(add_int(a, "embed_mode", first->embedded));
    if (first->data) {
        QRN_TRY(add_text(a, "ep_cache_context", first->data, first->n));
        if (!first->embedded)
            QRN_TRY(add_int(a, "max_size", (int64_t)first->spill_bytes));
    }
    QRN_TRY(add_string(a, "ep_sdk_version", id ? id : ""));
    QRN_TRY(add_string(a, "partition_name", graph));
    return add_string(a, "source", ep->factory->name);
}

static qrn_status make_node(const qe_ep *ep, const ox_node *fused, const char *graph,
                            const payload *first, OrtNode **out) {
    attrs a = {.n = 0};
    qrn_status s = fill(ep, graph, first, &a);
    if (s == QRN_OK) {
        s = qe_heard(ORT(CreateNode)("EPContext", "com.microsoft", fused->name, fused->in,
                                     fused->n_in, fused->out, fused->n_out, a.list, a.n, out),
                     "CreateNode");
        if (s == QRN_OK)
            return QRN_OK; // which has the attributes now
    }
    for (size_t i = 0; i < a.n; i++)
        ORT(ReleaseOpAttr)(a.list[i]);
    return s;
}

// Notes what the binary needs, and how large its spill-fill buffer is where that is asked for.
static qrn_status measure(qe_ep *ep, const void *bytes, uint64_t n, uint64_t *spill_bytes) {
    const QnnSystemContext_BinaryInfoV3_t *info = NULL;
    qc_system *system = NULL;
    if (!bytes)
        return QRN_OK;
    QRN_TRY(qc_system_open(ep->client->path, &system));
    qrn_status s = qc_system_describe(system, bytes, n, &info);
    if (s == QRN_OK)
        s = qe_compat_note(ep, info);
    if (s == QRN_OK && ep->opt.spill_fill)
        *spill_bytes = qc_spill_bytes(info);
    qc_system_close(system);
    return s;
}

// `path`: of the file, unless the bytes go into the model.
static qrn_status make_nodes(qe_ep *ep, const ox_node *fused, OrtNodeComputeInfo *const *parts,
                             size_t n, const void *bytes, size_t n_bytes, const char *path,
                             OrtNode **out) {
    payload first = {.data = bytes, .n = n_bytes, .embedded = !path};
    QRN_TRY(measure(ep, bytes, n_bytes, &first.spill_bytes));
    if (path) {
        const char *slash = strrchr(path, '/');
        first.data = slash ? slash + 1 : path;
        first.n = strlen(first.data);
    }
    const payload none = {.embedded = first.embedded};
    for (size_t i = 0; i < n; i++)
        QRN_TRY(make_node(ep, &fused[i], qe_part_name(parts[i]), i == 0 ? &first : &none, &out[i]));
    return QRN_OK;
}

qrn_status qe_context_write(qe_ep *ep, const char *model_path, const ox_node *fused,
                            OrtNodeComputeInfo *const *parts, size_t n, OrtNode **out) {
    char room[PATH_MAX];
    const char *path = NULL;
    bool last = !ep->shares || ep->opt.stop_sharing; // whose binary has all graphs
    if (!ep->opt.context_embed) {
        QRN_TRY(binary_path(ep, model_path, fused[0].name, room, sizeof room));
        path = room;
        if (ep->shares)
            QRN_TRY(qe_share_binary(room, &path));
    } else if (ep->shares) {
        return QRN_FAIL(QRN_E_CONFIG, "ep.share_ep_contexts: a shared binary cannot be embedded; "
                                      "set ep.context_embed_mode to 0");
    }
    void *bytes = NULL;
    uint64_t n_bytes = 0;
    qrn_status s = last ? qe_take_binary(ep->client, &bytes, &n_bytes) : QRN_OK;
    if (s == QRN_OK && last && path)
        s = save(path, bytes, n_bytes);
    if (s == QRN_OK)
        s = make_nodes(ep, fused, parts, n, bytes, n_bytes, path, out);
    qrn_free(bytes);
    return s;
}
