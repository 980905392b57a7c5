// SPDX-License-Identifier: MIT
//
// Contexts: each has a queue of its own on the OpenCL context of its device, which the contexts of
// a backend share. Memory of context tensors belongs to it.
#include "backend/gpu/gpu.h"

#include "base/env.h"
#include "base/mem.h"
#include "core/host.h"

#include "GPU/QnnGpuContext.h"

#define NORMAL_PRIORITY 1 // as qrn_gpu_context.priority_level

void qrn_gpu_unit_free(qrn_gpu_device *d) {
    if (!d)
        return;
    qrn_cl_programs_destroy(d->programs);
    qrn_gpu_tuner_destroy(d->tuner);
    if (d->queue)
        qrn_cl.clReleaseCommandQueue(d->queue);
    if (d->context)
        qrn_cl.clReleaseContext(d->context);
    qrn_free(d);
}

static void say_tuning(void *backend, const char *line) {
    qrn_log(((const qrn_api_backend *)backend)->log, QNN_LOG_LEVEL_WARN, "%s", line);
}

// Choices that were measured, or are to be.
static qrn_status open_tuner(const qrn_api_backend *b, qrn_gpu_device *d) {
    const qrn_gpu_backend_options *o = &qrn_gpu_backend_of(b)->options;
    bool asked = o->tuning || o->tuning_folder; // the client's options come first
    const char *folder = asked ? o->tuning_folder : qrn_env_get(QRN_ENV_GPU_TUNE);
    if (!asked && !folder)
        return QRN_OK;
    d->tuner =
        qrn_gpu_tuner_create(d->info, &(qrn_gpu_tuner_options){.folder = folder,
                                                               .measure = o->tuning || !asked,
                                                               .fresh = o->invalidate_tuning,
                                                               .say = say_tuning,
                                                               .ctx = (void *)(uintptr_t)b});
    return d->tuner ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for tuning results");
}

static qrn_status open_unit(const qrn_api_backend *b, const qrn_cl_device *info,
                            qrn_gpu_device **out) {
    qrn_gpu_device *d = qrn_calloc(sizeof *d);
    cl_int err;
    if (!d)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a device");
    d->info = info;
    cl_context_properties hints[5];
    qrn_gpu_hint_properties(info, QNN_GPU_CONTEXT_PERF_HINT_HIGH, NORMAL_PRIORITY, hints);
    d->context = qrn_cl.clCreateContext(hints[0] ? hints : NULL, 1, &info->id, NULL, NULL, &err);
    qrn_status s = d->context ? qrn_cl_programs_create(info, d->context, &d->programs)
                              : QRN_FAIL(QRN_E_SYSTEM, "no OpenCL context on '%s': %s", info->name,
                                         qrn_cl_error(err));
    if (s == QRN_OK)
        s = open_tuner(b, d);
    if (s != QRN_OK) {
        qrn_gpu_unit_free(d);
        return s;
    }
    qrn_gpu_probe(d);
    qrn_gpu_probe_half(d);
    qrn_gpu_probe_pinned(d);
    *out = d;
    return QRN_OK;
}

typedef struct search {
    const qrn_api_backend *api;
    qrn_gpu_backend *backend;
    uint32_t index;
    qrn_gpu_device *unit;
    qrn_status status;
} search;

static void find_unit(void *arg) {
    search *s = arg;
    qrn_gpu_device **unit = &s->backend->units[s->index];
    s->status = *unit ? QRN_OK : open_unit(s->api, &s->backend->devices[s->index], unit);
    s->unit = *unit;
}

static qrn_status open_queue(qrn_api_context *c, qrn_gpu_context *own) {
    qrn_gpu_backend *b = qrn_gpu_backend_of(c->backend);
    const qrn_gpu_hardware *hw = c->device ? c->device->impl : NULL;
    search s = {
        .api = c->backend, .backend = b, .index = hw && !hw->is_default ? hw->index : b->chosen};
    cl_int err;
    if (!b->devices)
        return QRN_OK; // nothing is executed
    qrn_backend_exclusively(c->backend, find_unit, &s);
    if (s.status != QRN_OK)
        return s.status;
    own->device = *s.unit;
    own->unit = s.index;
    own->device.queue = qrn_cl.clCreateCommandQueue(s.unit->context, s.unit->info->id, 0, &err);
    return own->device.queue ? QRN_OK
                             : QRN_FAIL(QRN_E_SYSTEM, "no OpenCL queue on '%s': %s",
                                        s.unit->info->name, qrn_cl_error(err));
}

static void say(void *ctx, bool is_warning, const char *line) {
    qrn_log(((const qrn_api_context *)ctx)->backend->log,
            is_warning ? QNN_LOG_LEVEL_WARN : QNN_LOG_LEVEL_DEBUG, "%s", line);
}

static qrn_status open_all(qrn_api_context *c, qrn_gpu_context *own) {
    own->store.say = say;
    own->store.ctx = c;
    QRN_TRY(qrn_cl_store_open(&own->store, NULL));
    QRN_TRY(qrn_host_acquire_pool(c->backend));
    QRN_TRY(open_queue(c, own));
    own->device.store = &own->store;
    own->device.pool = c->backend->pool;
    if (qrn_gpu_backend_of(c->backend)->options.share_weights &&
        !(own->device.shares = qrn_gpu_shares_create()))
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    return QRN_OK;
}

qrn_status qrn_gpu_context_create(qrn_api_context *c) {
    qrn_gpu_context *own = qrn_calloc(sizeof *own);
    if (!own)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    own->priority_level = NORMAL_PRIORITY;
    qrn_status s = open_all(c, own);
    if (s != QRN_OK) {
        if (own->device.queue)
            qrn_cl.clReleaseCommandQueue(own->device.queue);
        qrn_cl_store_close(&own->store);
        qrn_free(own);
        return s;
    }
    pthread_rwlock_init(&own->binding, NULL);
    pthread_mutex_init(&own->lock, NULL);
    c->impl = own;
    return QRN_OK;
}

// Graphs are freed later: their OpenCL objects keep what they need of the OpenCL context alive.
qrn_status qrn_gpu_context_free(qrn_api_context *c) {
    qrn_gpu_context *own = c->impl;
    qrn_gpu_hints_drop(c);
    qrn_mem_free_all(c);
    while (own->shared) {
        qrn_gpu_shared *s = own->shared;
        own->shared = s->next;
        qrn_cl.clReleaseMemObject(s->memory);
        qrn_free(s);
    }
    qrn_gpu_shares_destroy(own->device.shares);
    if (own->profile_queue)
        qrn_cl.clReleaseCommandQueue(own->profile_queue);
    if (own->device.queue)
        qrn_cl.clReleaseCommandQueue(own->device.queue);
    if (own->foreign || own->separate) {
        qrn_cl_programs_destroy(own->device.programs);
        qrn_cl.clReleaseContext(own->device.context);
    }
    qrn_gpu_binary_drop(own);
    qrn_cl_store_close(&own->store);
    pthread_mutex_destroy(&own->lock);
    pthread_rwlock_destroy(&own->binding);
    qrn_free(own);
    c->impl = NULL;
    return QRN_OK;
}

qrn_status qrn_gpu_context_check(const qrn_api_context *c) {
    const qrn_gpu_context *own = c->impl;
    return own->lost ? QRN_FAIL(QRN_E_COMM,
                                "the device '%s' was lost: free the context and make a new one",
                                own->device.info->name)
                     : QRN_OK;
}

static qrn_status find_shared(qrn_gpu_context *own, uint32_t tensor_id, size_t bytes, cl_mem *out) {
    qrn_gpu_shared *s = own->shared;
    cl_int err;
    while (s && s->tensor_id != tensor_id)
        s = s->next;
    *out = s ? s->memory : NULL;
    if (s)
        return QRN_OK;
    if (!(s = qrn_calloc(sizeof *s)))
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context tensor");
    uint8_t zero = 0;
    s->memory = qrn_cl.clCreateBuffer(own->device.context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    if (s->memory)
        err = qrn_cl.clEnqueueFillBuffer(own->device.queue, s->memory, &zero, 1, 0, bytes, 0, NULL,
                                         NULL);
    if (err != CL_SUCCESS) {
        if (s->memory)
            qrn_cl.clReleaseMemObject(s->memory);
        qrn_free(s);
        return QRN_FAIL(QRN_E_MEM, "no device memory for a context tensor of %zu bytes: %s", bytes,
                        qrn_cl_error(err));
    }
    s->tensor_id = tensor_id;
    s->bytes = bytes;
    s->next = own->shared;
    own->shared = s;
    *out = s->memory;
    return QRN_OK;
}

qrn_status qrn_gpu_shared_memory(qrn_api_context *c, uint32_t tensor_id, size_t bytes,
                                 cl_mem *out) {
    qrn_gpu_context *own = c->impl;
    pthread_mutex_lock(&own->lock);
    qrn_status s = find_shared(own, tensor_id, bytes, out);
    if (s == QRN_OK)
        qrn_cl.clRetainMemObject(*out);
    pthread_mutex_unlock(&own->lock);
    return s;
}
