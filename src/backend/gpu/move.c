// SPDX-License-Identifier: MIT
//
// Moving a context into another OpenCL context, such as that of a client's buffers: plans are data,
// so their OpenCL objects are made again there, and what context tensors hold is copied.
#include "backend/gpu/gpu.h"

#include "base/mem.h"

// What a context has on the device, beside its graphs.
static void release_device(const qrn_gpu_device *d, bool programs) {
    if (programs)
        qrn_cl_programs_destroy(d->programs);
    if (d->queue)
        qrn_cl.clReleaseCommandQueue(d->queue);
}

static qrn_status open_there(const qrn_gpu_context *own, cl_context there, qrn_gpu_device *d) {
    cl_int err;
    *d = own->device;
    d->context = there;
    d->programs = NULL;
    d->queue = qrn_cl.clCreateCommandQueue(there, d->info->id, 0, &err);
    if (!d->queue)
        return QRN_FAIL(QRN_E_MAPPING,
                        "memory: no OpenCL queue on '%s' in the OpenCL context of the buffer: %s",
                        d->info->name, qrn_cl_error(err));
    qrn_status s = qrn_cl_programs_create(d->info, there, &d->programs);
    if (s != QRN_OK)
        release_device(d, false);
    return s;
}

typedef struct graphs {
    const qrn_api_graph **list;
    uint32_t n, room;
} graphs;

static qrn_status note_graph(void *arg, const qrn_api_graph *g) {
    graphs *all = arg;
    if (all->n < all->room && qrn_gpu_graph_of(g)->plan)
        all->list[all->n++] = g;
    return QRN_OK;
}

// Context tensors: new buffers with what the old ones hold.
static qrn_status copy_shared(qrn_gpu_context *own, const qrn_gpu_device *to) {
    for (qrn_gpu_shared *s = own->shared; s; s = s->next) {
        void *bytes = qrn_alloc(s->bytes);
        cl_int err = CL_OUT_OF_HOST_MEMORY;
        cl_mem copy = NULL;
        if (bytes)
            err = qrn_cl.clEnqueueReadBuffer(own->device.queue, s->memory, CL_TRUE, 0, s->bytes,
                                             bytes, 0, NULL, NULL);
        if (err == CL_SUCCESS)
            copy = qrn_cl.clCreateBuffer(to->context, CL_MEM_READ_WRITE, s->bytes, NULL, &err);
        if (copy)
            err = qrn_cl.clEnqueueWriteBuffer(to->queue, copy, CL_TRUE, 0, s->bytes, bytes, 0, NULL,
                                              NULL);
        qrn_free(bytes);
        if (err != CL_SUCCESS) {
            if (copy)
                qrn_cl.clReleaseMemObject(copy);
            return QRN_FAIL(QRN_E_MEM, "memory: a context tensor cannot be moved: %s",
                            qrn_cl_error(err));
        }
        qrn_cl.clReleaseMemObject(s->memory);
        s->memory = copy;
    }
    return QRN_OK;
}

// What a graph keeps from one execution to the next: read before the move, written after it.
typedef struct kept {
    void **bytes; // [n_states]; NULL: none
} kept;

static qrn_status keep_states(const qrn_gpu_device *d, const qrn_gpu_plan *p, kept *k) {
    k->bytes = p->n_states ? qrn_calloc(p->n_states * sizeof *k->bytes) : NULL;
    cl_int err = !p->n_states || k->bytes ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < p->n_states && err == CL_SUCCESS; i++) {
        k->bytes[i] = qrn_alloc((size_t)p->states[i]);
        err = k->bytes[i]
                  ? qrn_cl.clEnqueueReadBuffer(d->queue, p->state_memory[i], CL_TRUE, 0,
                                               (size_t)p->states[i], k->bytes[i], 0, NULL, NULL)
                  : CL_OUT_OF_HOST_MEMORY;
    }
    return err == CL_SUCCESS ? QRN_OK
                             : QRN_FAIL(QRN_E_MEM, "graph '%s': its state cannot be moved: %s",
                                        p->cg->name, qrn_cl_error(err));
}

static qrn_status restore_states(const qrn_gpu_device *d, const qrn_gpu_plan *p, const kept *k) {
    cl_int err = CL_SUCCESS;
    for (uint32_t i = 0; i < p->n_states && err == CL_SUCCESS; i++)
        err = qrn_cl.clEnqueueWriteBuffer(d->queue, p->state_memory[i], CL_TRUE, 0,
                                          (size_t)p->states[i], k->bytes[i], 0, NULL, NULL);
    return err == CL_SUCCESS ? QRN_OK
                             : QRN_FAIL(QRN_E_MEM, "graph '%s': its state cannot be moved: %s",
                                        p->cg->name, qrn_cl_error(err));
}

static void drop_states(const graphs *all, kept *k) {
    for (uint32_t i = 0; k && i < all->n; i++) {
        const qrn_gpu_plan *p = qrn_gpu_graph_of(all->list[i])->plan;
        for (uint32_t n = 0; k[i].bytes && n < p->n_states; n++)
            qrn_free(k[i].bytes[n]);
        qrn_free(k[i].bytes);
    }
    qrn_free(k);
}

static qrn_status keep_all(const qrn_gpu_context *own, const graphs *all, kept **out) {
    *out = qrn_calloc((all->n + 1u) * sizeof **out);
    if (!*out)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the state of graphs");
    for (uint32_t i = 0; i < all->n; i++)
        QRN_TRY(keep_states(&own->device, qrn_gpu_graph_of(all->list[i])->plan, &(*out)[i]));
    return QRN_OK;
}

static qrn_status move_all(qrn_api_context *c, const graphs *all, const kept *states,
                           const qrn_gpu_device *to) {
    qrn_gpu_context *own = c->impl;
    QRN_TRY(copy_shared(own, to));
    qrn_gpu_shares_clear(own->device.shares);
    own->device = *to;
    for (uint32_t i = 0; i < all->n; i++) {
        QRN_TRY(qrn_gpu_graph_realize(all->list[i]));
        QRN_TRY(restore_states(to, qrn_gpu_graph_of(all->list[i])->plan, &states[i]));
    }
    return QRN_OK;
}

static qrn_status move(qrn_api_context *c, cl_context there, bool foreign) {
    qrn_gpu_context *own = c->impl;
    bool had_own = own->foreign || own->separate;
    qrn_gpu_device to, from = own->device;
    graphs all = {.room = qrn_context_n_graphs(c)};
    all.list = qrn_alloc((all.room + 1u) * sizeof *all.list);
    if (!all.list)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a list of graphs");
    qrn_context_each_graph(c, note_graph, &all);
    kept *states = NULL;
    qrn_status s = keep_all(own, &all, &states);
    if (s == QRN_OK)
        s = open_there(own, there, &to);
    if (s == QRN_OK) {
        for (uint32_t i = 0; i < all.n; i++)
            qrn_gpu_graph_unrealize(qrn_gpu_graph_of(all.list[i]));
        s = move_all(c, &all, states, &to);
        own->device = to;
        own->foreign = foreign;
        own->separate = !foreign;
        qrn_cl.clRetainContext(there);
        release_device(&from, had_own);
        if (had_own)
            qrn_cl.clReleaseContext(from.context);
        if (own->profile_queue) // the next profile makes one there
            qrn_cl.clReleaseCommandQueue(own->profile_queue);
        own->profile_queue = NULL;
        if (s != QRN_OK) // graphs without memory: nothing of the context can be trusted
            atomic_store(&own->lost, true);
    }
    drop_states(&all, states);
    qrn_free(all.list);
    return s;
}

qrn_status qrn_gpu_context_move(qrn_api_context *c, cl_context there, bool foreign) {
    qrn_gpu_context *own = c->impl;
    pthread_rwlock_wrlock(&own->binding);
    qrn_status s = move(c, there, foreign);
    pthread_rwlock_unlock(&own->binding);
    if (s == QRN_OK)
        qrn_log(c->backend->log, QNN_LOG_LEVEL_INFO, "memory: the context moved to %s",
                foreign ? "the OpenCL context of the client's buffers"
                        : "an OpenCL context of its own, for its priority");
    return s;
}
