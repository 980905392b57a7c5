// SPDX-License-Identifier: MIT
//
// A KV cache is an input that a ScatterElements node updates, along its last dimension for keys
// [.., head size, context] and along the one before for values [.., context, head size]. The new
// rows, or the whole updated cache, may be native outputs.
#include "backend/htp/limits/native_kv.h"

#include "Quern/NativeKv.h"

#include <stdio.h>
#include <string.h>

#define CONTEXT_UNIT 256u
#define HEAD_UNIT 64u
#define ROWS_UNIT 32u
#define LONG_CONTEXT 16384u // needs more than 2 MB of VTCM

static qrn_status refuse(const qrn_api_graph *g, const qrn_tensor *t, const char *what,
                         const char *rule) {
    return QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED,
                    "graph '%s' tensor '%s': data format 8 (HMX_WEIGHT_LAYOUT, a native KV cache) "
                    "%s; %s",
                    g->ir->name, t->name, what, rule);
}

static bool is_native(const qrn_tensor *t) { return t && t->format == QRN_FORMAT_NATIVE_KV; }

static bool is_scatter(const qrn_node *n) {
    return n->op && strcmp(n->op->name, "ScatterElements") == 0 && n->n_in > 2 && n->in[0] &&
           n->in[2] && n->out[0];
}

qrn_status qrn_htp_native_kv_check(const qrn_op_call *call) {
    bool scatters = strcmp(call->op->name, "ScatterElements") == 0;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (is_native(call->in[i]) && !(scatters && i != 1))
            return QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED,
                            "graph '%s' node '%s' (%s): input %u '%s' has data format 8 "
                            "(HMX_WEIGHT_LAYOUT), which is for a KV cache that a ScatterElements "
                            "node updates; merge new keys and values so, and read the result",
                            call->graph, call->node, call->op->name, i, call->in[i]->name);
    return QRN_OK;
}

// The node that has the tensor as a cache, an updated one or as new rows; NULL: there is none.
static const qrn_node *update_of(const qrn_graph *g, const qrn_tensor *t) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        if (is_scatter(n) && (n->in[0] == t || n->in[2] == t || n->out[0] == t))
            return n;
    }
    return NULL;
}

static qrn_status check_type(const qrn_api_graph *g, const qrn_tensor *t) {
    const qrn_quant *q = &t->quant;
    if (t->dtype == QRN_DTYPE_UQ8 && q->kind == QRN_QUANT_TENSOR && q->offset == -128)
        return QRN_OK;
    return refuse(g, t, "needs unsigned 8-bit values with one scale and offset -128",
                  "quantize all keys and values symmetrically to 8 bits");
}

static uint32_t round_up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }

// Sizes of a native tensor, and its tile: `keys` says which kind of cache it belongs to.
static qrn_status check_sizes(const qrn_api_graph *g, qrn_tensor *t, bool keys, bool is_cache) {
    uint32_t rank = t->shape.rank, rows = t->shape.dims[rank - 2], cols = t->shape.dims[rank - 1];
    uint32_t along = keys ? cols : rows, head = keys ? rows : cols;
    char what[128];
    uint32_t tile = keys ? QUERN_NATIVE_K_TILE : QUERN_NATIVE_V_TILE;
    t->native_tile = cols < tile ? cols : tile; // fewer new keys than a tile are one
    if (head && head % HEAD_UNIT == 0 && along && cols % t->native_tile == 0 &&
        along % (is_cache ? CONTEXT_UNIT : ROWS_UNIT) == 0)
        return QRN_OK;
    snprintf(what, sizeof what, "with head size %u and %u positions", head, along);
    return refuse(g, t, what,
                  is_cache ? "the head size must be a multiple of 64, the context length of 256"
                           : "the head size must be a multiple of 64, the new positions of 32, "
                             "above 256 keys of 256; declare a flat output for others");
}

static qrn_status check_tensor(const qrn_api_graph *g, qrn_tensor *t, uint32_t *context) {
    const qrn_node *n = update_of(g->ir, t);
    if (!n)
        return refuse(g, t, "is for caches that ScatterElements nodes update",
                      "merge new keys and values by ScatterElements, not by Concat, and read the "
                      "result");
    uint32_t rank = n->in[0]->shape.rank, axis = qrn_node_u32(n, "axis", 0);
    if (rank < 3 || t->shape.rank != rank || (axis != rank - 1 && axis != rank - 2))
        return refuse(g, t, "needs at least three dimensions, updated along one of the last two",
                      "keys are [.., head size, context], values [.., context, head size]");
    if (t->role == QRN_ROLE_OUTPUT && !is_native(n->in[0]))
        return refuse(g, t, "is an output of a cache whose input is flat",
                      "declare the input in this format, too");
    QRN_TRY(check_type(g, t));
    *context = n->in[0]->shape.dims[axis];
    return check_sizes(g, t, axis == rank - 1, t == n->in[0] || t == n->out[0]);
}

static qrn_status check_chip(const qrn_api_graph *g, const qrn_tensor *t, uint32_t context) {
    const qrn_soc *soc = &qrn_htp_device_of(g->context)->soc;
    if (soc->arch <= 68)
        return refuse(g, t, "is not supported by v68", "choose a newer SoC, or a flat cache");
    if (context >= LONG_CONTEXT && soc->vtcm_mb <= 2)
        return refuse(g, t, "has a context of 16384 or more, which needs more than 2 MB of VTCM",
                      "choose another SoC, or a shorter context");
    return QRN_OK;
}

static bool is_cache(const qrn_graph *g, const qrn_tensor *t) {
    const qrn_node *n = update_of(g, t);
    return n && n->in[0] == t && t->dtype == QRN_DTYPE_UQ8;
}

// All caches of a graph are native, or none.
static qrn_status check_others(const qrn_api_graph *g, const qrn_tensor *native) {
    for (uint32_t i = 0; i < g->ir->n_tensors; i++) {
        const qrn_tensor *t = g->ir->tensors[i];
        if (t->role == QRN_ROLE_INPUT && !is_native(t) && is_cache(g->ir, t))
            return QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED,
                            "graph '%s' tensor '%s': a flat KV cache beside the native one '%s'; "
                            "all layers have native caches, or none",
                            g->ir->name, t->name, native->name);
    }
    return QRN_OK;
}

qrn_status qrn_htp_native_kv_settle(qrn_api_graph *g) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    impl->native_kv = false;
    for (uint32_t i = 0; i < g->ir->n_tensors; i++) {
        qrn_tensor *t = g->ir->tensors[i];
        uint32_t context = 0;
        if (!is_native(t))
            continue;
        QRN_TRY(check_tensor(g, t, &context));
        QRN_TRY(check_chip(g, t, context));
        if (!impl->native_kv)
            QRN_TRY(check_others(g, t));
        impl->native_kv = true;
    }
    return QRN_OK;
}

// --- places of new rows

static const int32_t *indices_of(const qrn_api_graph *g, const qrn_binding *io,
                                 const qrn_tensor *t) {
    for (uint32_t i = 0; i < g->n_io; i++)
        if (g->io[i].tensor == t)
            return io[i].memory.host;
    return NULL;
}

// Fewer rows than 32 are written as 32.
static qrn_status check_place(const qrn_api_graph *g, const qrn_node *n, const int32_t *indices) {
    uint32_t axis = qrn_node_u32(n, "axis", 0), context = n->in[0]->shape.dims[axis];
    uint32_t rows = n->in[2]->shape.dims[axis];
    size_t count;
    if (rows % ROWS_UNIT == 0 || !indices || !qrn_shape_count(&n->in[1]->shape, &count) || !count)
        return QRN_OK;
    int64_t first = indices[0], most = (int64_t)context - round_up(rows, ROWS_UNIT);
    for (size_t i = 1; i < count; i++)
        first = indices[i] < first ? indices[i] : first;
    if (first <= most)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "graph '%s' node '%s': new rows at position %lld of a native KV cache of %u; "
                    "%u rows are written as %u, so the last position is %lld",
                    g->ir->name, n->name, (long long)first, context, rows,
                    round_up(rows, ROWS_UNIT), (long long)most);
}

qrn_status qrn_htp_native_kv_places(const qrn_api_graph *g, const qrn_binding *io) {
    if (!qrn_htp_graph_of(g)->native_kv)
        return QRN_OK;
    for (uint32_t i = 0; i < g->ir->n_nodes; i++) {
        const qrn_node *n = g->ir->nodes[i];
        if (is_scatter(n) && is_native(n->in[0]))
            QRN_TRY(check_place(g, n, indices_of(g, io, n->in[1])));
    }
    return QRN_OK;
}
