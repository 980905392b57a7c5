// SPDX-License-Identifier: MIT
//
// Which tensors of a graph an application sees, and descriptions of tensors that need no owner:
// one block of malloc with the array first.
#include "system/dlc.h"

#include <stdlib.h>
#include <string.h>

// --- Application tensors

static bool uses(const qrn_dlc_graph *g, const qrn_tensor *t, bool writes) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_dlc_node *n = &g->nodes[i];
        uint32_t count = writes ? n->n_out : n->n_in;
        for (uint32_t k = 0; k < count; k++)
            if ((writes ? n->out : n->in)[k] == t)
                return true;
    }
    return false;
}

qrn_status qrn_dlc_graph_io(const qrn_dlc *d, const qrn_dlc_graph *g, qrn_arena *a,
                            qrn_dlc_io *out) {
    size_t room = ((size_t)g->n_tensors + d->n_tensors + 1) * sizeof *out->in;
    *out = (qrn_dlc_io){
        qrn_arena_alloc(a, room), qrn_arena_alloc(a, room), qrn_arena_alloc(a, room), 0, 0, 0};
    if (!out->in || !out->out || !out->updateable)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the tensors of graph '%s'", g->name);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const qrn_tensor *t = g->tensors[i];
        if (t->role == QRN_ROLE_INPUT)
            out->in[out->n_in++] = t;
        if (t->role == QRN_ROLE_OUTPUT)
            out->out[out->n_out++] = t;
        if (t->updateable)
            out->updateable[out->n_updateable++] = t;
    }
    for (uint32_t i = 0; i < d->n_tensors; i++) {
        const qrn_tensor *t = d->tensors[i];
        if (t->role > QRN_ROLE_INOUT)
            continue;
        if (uses(g, t, true))
            out->out[out->n_out++] = t;
        else if (uses(g, t, false))
            out->in[out->n_in++] = t;
    }
    return QRN_OK;
}

// --- One block

// Without a base it only counts.
typedef struct block {
    char *base;
    size_t used;
} block;

static void *put(block *b, const void *from, size_t n) {
    if (!from)
        return NULL;
    void *to = b->base ? b->base + b->used : NULL;
    if (to)
        memcpy(to, from, n);
    b->used += (n + 15) & ~(size_t)15;
    return to ? to : (void *)(uintptr_t)from; // what is in it is counted, too
}

static void put_encoding(block *b, const qrn_tensor *t, Qnn_QuantizeParams_t *q) {
    size_t n = t->quant.n_groups, rank = t->shape.rank * sizeof(uint32_t);
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return;
    switch (q->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET: {
        Qnn_AxisScaleOffset_t *e = &q->axisScaleOffsetEncoding;
        e->scaleOffset = put(b, e->scaleOffset, n * sizeof *e->scaleOffset);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET: {
        Qnn_BwAxisScaleOffset_t *e = &q->bwAxisScaleOffsetEncoding;
        e->scales = put(b, e->scales, n * sizeof *e->scales);
        e->offsets = put(b, e->offsets, n * sizeof *e->offsets);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_BLOCK: {
        Qnn_BlockEncoding_t *e = &q->blockEncoding;
        e->blockSize = put(b, e->blockSize, rank);
        e->scaleOffset = put(b, e->scaleOffset, n * sizeof *e->scaleOffset);
        break;
    }
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        break;
    default: // forms of weights; an answer says that there is one, and not which
        *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    }
}

static void put_tensor(block *b, const qrn_tensor *t, Qnn_Tensor_t *to) {
    Qnn_TensorV1_t *v = &to->v1; // both versions agree in these fields
    v->name = put(b, v->name, strlen(v->name) + 1);
    v->dimensions = put(b, v->dimensions, v->rank * sizeof *v->dimensions);
    put_encoding(b, t, &v->quantizeParams);
    if (to->version == QNN_TENSOR_VERSION_2)
        to->v2.isDynamicDimensions = put(b, to->v2.isDynamicDimensions, v->rank);
}

Qnn_Tensor_t *qrn_dlc_flatten(const qrn_tensor *const *tensors, const Qnn_Tensor_t *described,
                              uint32_t n) {
    block b = {0};
    size_t head = ((size_t)n + 1) * sizeof(Qnn_Tensor_t);
    for (uint32_t i = 0; i < n; i++) {
        Qnn_Tensor_t t = described[i];
        put_tensor(&b, tensors[i], &t);
    }
    Qnn_Tensor_t *list = calloc(1, head + b.used);
    if (!list)
        return NULL;
    b = (block){(char *)list + head, 0};
    for (uint32_t i = 0; i < n; i++) {
        list[i] = described[i];
        put_tensor(&b, tensors[i], &list[i]);
    }
    return list;
}
