// SPDX-License-Identifier: MIT
#include "tools/sdk/tensor_set.h"

#include "HTP/QnnHtpMem.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096 // tensors in one buffer begin at a page each

static size_t page_up(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static qrn_status no_memory(const qs_set *s) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for inputs and outputs", s->graph->name);
}

static qrn_status make_lists(qs_set *s, uint32_t multiplier) {
    uint32_t n = s->n_in + s->n_out, room = n ? n : 1;
    s->shapes = calloc(room, sizeof *s->shapes);
    s->buffers = calloc(room, sizeof *s->buffers);
    s->tensors = calloc(room, sizeof *s->tensors);
    s->dims = calloc(room, sizeof *s->dims);
    s->handles = calloc(room, sizeof *s->handles);
    s->owned = calloc(room, sizeof *s->owned);
    if (!s->shapes || !s->buffers || !s->tensors || !s->dims || !s->handles || !s->owned)
        return no_memory(s);
    for (uint32_t i = 0; i < n; i++) {
        const qc_tensor *t = i < s->n_in ? s->graph->inputs[i] : s->graph->outputs[i - s->n_in];
        s->shapes[i] = qs_shape_of(t, multiplier);
        s->tensors[i] = s->graph->bound[i];
        memcpy(s->dims[i], t->dims, sizeof s->dims[i]);
        s->dims[i][0] *= multiplier;
        if (s->shapes[i].bytes > UINT32_MAX)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': %zu bytes, more than 32 bits can say",
                            t->t.v1.name, s->shapes[i].bytes);
    }
    return QRN_OK;
}

static qrn_status make_private(qs_set *s) {
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        size_t bytes = (s->shapes[i].bytes + 127) / 64 * 64; // kernels may use whole cache lines
        s->owned[i] = s->buffers[i] = aligned_alloc(64, bytes);
        if (!s->buffers[i])
            return no_memory(s);
        memset(s->buffers[i], 0, bytes);
    }
    return QRN_OK;
}

static qrn_status make_shared(qs_set *s, bool one) {
    uint32_t n = s->n_in + s->n_out;
    size_t total = 0;
    for (uint32_t i = 0; i < n && one; i++)
        total += page_up(s->shapes[i].bytes);
    if (one && n && !(s->owned[0] = qt_rpcmem_alloc(s->shared, total)))
        return no_memory(s);
    char *at = s->owned[0];
    for (uint32_t i = 0; i < n; i++) {
        if (!one && !(s->owned[i] = qt_rpcmem_alloc(s->shared, page_up(s->shapes[i].bytes))))
            return no_memory(s);
        s->buffers[i] = one ? at : s->owned[i];
        at += one ? page_up(s->shapes[i].bytes) : 0;
    }
    return QRN_OK;
}

static qrn_status enter(qs_set *s, Qnn_ContextHandle_t context, qs_place place, uint32_t i) {
    const qc_client *c = s->client;
    const void *base = s->owned[place == QS_ONE_BUFFER ? 0 : i];
    int fd = s->shared->to_fd((void *)(uintptr_t)base);
    size_t total = 0;
    for (uint32_t k = 0; k < s->n_in + s->n_out; k++)
        total += page_up(s->shapes[k].bytes);
    QnnMemHtp_Descriptor_t part = {
        .type = QNN_HTP_MEM_SHARED_BUFFER,
        .size = total,
        .sharedBufferConfig = {fd, (uint64_t)((const char *)s->buffers[i] - (const char *)base)}};
    Qnn_MemDescriptor_t about = {.memShape = {s->tensors[i].v1.rank, s->dims[i], NULL},
                                 .dataType = s->tensors[i].v1.dataType};
    if (place == QS_ONE_BUFFER) {
        about.memType = QNN_MEM_TYPE_CUSTOM;
        about.customInfo = &part;
    } else if (place == QS_DMA_BUF) {
        about.memType = QNN_MEM_TYPE_DMA_BUF;
        about.dmaBufInfo = (Qnn_MemDmaBufInfo_t){fd, s->buffers[i]};
    } else {
        about.memType = QNN_MEM_TYPE_ION;
        about.ionInfo = (Qnn_MemIonInfo_t){fd};
    }
    return qc_check(c, c->qnn.memRegister(context, &about, 1, &s->handles[i]), "memRegister");
}

static void bind(qs_set *s, uint32_t i) {
    Qnn_TensorV1_t *v = &s->tensors[i].v1;
    v->dimensions = s->dims[i];
    v->clientBuf = (Qnn_ClientBuffer_t){s->buffers[i], (uint32_t)s->shapes[i].bytes};
    v->memType = s->handles[i] ? QNN_TENSORMEMTYPE_MEMHANDLE : QNN_TENSORMEMTYPE_RAW;
    if (s->handles[i])
        v->memHandle = s->handles[i];
}

static qrn_status make(qs_set *s, Qnn_ContextHandle_t context, uint32_t multiplier,
                       qs_place place) {
    QRN_TRY(make_lists(s, multiplier));
    if (place == QS_PRIVATE)
        QRN_TRY(make_private(s));
    else
        QRN_TRY(make_shared(s, place == QS_ONE_BUFFER));
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        if (place != QS_PRIVATE)
            QRN_TRY(enter(s, context, place, i));
        bind(s, i);
    }
    return QRN_OK;
}

qrn_status qs_set_create(const qc_client *c, const qc_graph *g, Qnn_ContextHandle_t context,
                         uint32_t multiplier, qs_place place, const qt_rpcmem *shared,
                         qs_set *out) {
    qs_set s = {.client = c, .graph = g, .n_in = g->n_inputs, .n_out = g->n_outputs};
    if (place != QS_PRIVATE && (!shared || !shared->lib || !c->qnn.memRegister))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "shared buffers need " QT_RPCMEM_LIBRARY
                                           " in the loader's path and a backend that registers "
                                           "memory");
    s.shared = place == QS_PRIVATE ? NULL : shared;
    qrn_status st = make(&s, context, multiplier, place);
    if (st == QRN_OK)
        *out = s;
    else
        qs_set_free(&s);
    return st;
}

void qs_set_free(qs_set *s) {
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        if (s->handles && s->handles[i])
            (void)s->client->qnn.memDeRegister(&s->handles[i], 1);
    }
    for (uint32_t i = 0; s->owned && i < s->n_in + s->n_out; i++)
        if (s->owned[i])
            s->shared ? s->shared->free(s->owned[i]) : free(s->owned[i]);
    free(s->shapes);
    free(s->buffers);
    free(s->tensors);
    free(s->dims);
    free(s->handles);
    free(s->owned);
    *s = (qs_set){0};
}

// Dimensions of outputs may be written to by an execution.
static void reset_dims(qs_set *s) {
    for (uint32_t i = s->n_in; i < s->n_in + s->n_out; i++) {
        const qc_tensor *t = s->shapes[i].t;
        size_t all = qc_tensor_count(t);
        uint32_t multiplier = all ? (uint32_t)(s->shapes[i].count / all) : 1;
        memcpy(s->dims[i], t->dims, sizeof s->dims[i]);
        s->dims[i][0] *= multiplier;
    }
}

Qnn_ErrorHandle_t qs_set_execute(qs_set *s, Qnn_ProfileHandle_t profile,
                                 Qnn_SignalHandle_t signal) {
    reset_dims(s);
    return s->client->qnn.graphExecute(s->graph->handle, s->tensors, s->n_in, s->tensors + s->n_in,
                                       s->n_out, profile, signal);
}

Qnn_ErrorHandle_t qs_set_enqueue(qs_set *s, Qnn_ProfileHandle_t profile, Qnn_NotifyFn_t notify,
                                 void *param) {
    reset_dims(s);
    return s->client->qnn.graphExecuteAsync(s->graph->handle, s->tensors, s->n_in,
                                            s->tensors + s->n_in, s->n_out, profile, NULL, notify,
                                            param);
}
