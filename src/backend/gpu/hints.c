// SPDX-License-Identifier: MIT
//
// Hints for drivers. Performance (cl_qcom_perf_hint) is a property of an OpenCL context, which the
// contexts of a backend share: the most demanding of them counts. Priority is one of a queue
// (cl_khr_priority_hints) or of an OpenCL context (cl_qcom_priority_hint), in which case a context
// with another priority than the default has an OpenCL context of its own. A hint is never a reason
// to fail: what has no effect is said in one line.
#include "backend/gpu/gpu.h"

#include "GPU/QnnGpuContext.h"

enum { HIGH, NORMAL, LOW }; // of both hints, in the order of their numbers

static void say(const qrn_api_context *c, QnnLog_Level_t level, const char *what, int value,
                const char *why) {
    qrn_log(c->backend->log, level, "context option %s %d is kept, but %s", what, value, why);
}

void qrn_gpu_hint_properties(const qrn_cl_device *d, int perf, int priority,
                             cl_context_properties out[5]) {
    uint32_t n = 0;
    if (d->perf_hint) {
        out[n++] = CL_CONTEXT_PERF_HINT_QCOM;
        out[n++] = CL_PERF_HINT_HIGH_QCOM + perf;
    }
    if (d->context_priority) {
        out[n++] = CL_CONTEXT_PRIORITY_HINT_QCOM;
        out[n++] = CL_PRIORITY_HINT_HIGH_QCOM + priority;
    }
    out[n] = 0;
}

// --- performance

static void set_perf(const qrn_api_context *c, cl_context context, int hint) {
    const qrn_gpu_context *own = qrn_gpu_context_of(c);
    const qrn_cl_device *d = own->device.info;
    cl_int err = d->ext.clSetPerfHintQCOM(context, (cl_uint)(CL_PERF_HINT_HIGH_QCOM + hint));
    if (err != CL_SUCCESS)
        say(c, QNN_LOG_LEVEL_WARN, "PERF_HINT", hint, qrn_cl_error(err));
}

typedef struct change {
    const qrn_api_context *c;
    int from, to; // -1: none
} change;

// Under the backend's lock.
static void count_perf(void *arg) {
    const change *k = arg;
    const qrn_gpu_context *own = qrn_gpu_context_of(k->c);
    qrn_gpu_backend *b = qrn_gpu_backend_of(k->c->backend);
    qrn_gpu_hints *h = &b->hints[own->unit];
    if (k->from >= 0)
        h->n[k->from]--;
    if (k->to >= 0)
        h->n[k->to]++;
    int wanted = h->n[HIGH] ? HIGH : h->n[NORMAL] ? NORMAL : h->n[LOW] ? LOW : HIGH;
    if (wanted == h->now || !own->device.info->ext.clSetPerfHintQCOM)
        return;
    h->now = wanted;
    set_perf(k->c, b->units[own->unit]->context, wanted);
}

static void apply_perf(const qrn_api_context *c, int old) {
    const qrn_gpu_context *own = qrn_gpu_context_of(c);
    const qrn_cl_device *d = own->device.info;
    change k = {c, old, own->perf_hint};
    qrn_backend_exclusively(c->backend, count_perf, &k);
    if ((own->foreign || own->separate) && d->ext.clSetPerfHintQCOM)
        set_perf(c, own->device.context, own->perf_hint);
    if (own->perf_hint != HIGH && !d->ext.clSetPerfHintQCOM)
        say(c, QNN_LOG_LEVEL_INFO, "PERF_HINT", own->perf_hint, "this device has no such hint");
}

// --- priority

static int level_of(int priority) {
    return priority > QNN_PRIORITY_NORMAL ? HIGH : priority < QNN_PRIORITY_NORMAL ? LOW : NORMAL;
}

// A queue with another priority takes the place of the context's.
static cl_int replace_queue(qrn_gpu_context *own, int level) {
    const cl_ulong properties[] = {CL_QUEUE_PRIORITY_KHR,
                                   (cl_ulong)CL_QUEUE_PRIORITY_HIGH_KHR << level, 0};
    cl_int err;
    pthread_rwlock_wrlock(&own->binding);
    pthread_mutex_lock(&own->lock);
    cl_command_queue q = qrn_cl.clCreateCommandQueueWithProperties(
        own->device.context, own->device.info->id, properties, &err);
    if (q) {
        qrn_cl.clFinish(own->device.queue);
        qrn_cl.clReleaseCommandQueue(own->device.queue);
        own->device.queue = q;
    }
    pthread_mutex_unlock(&own->lock);
    pthread_rwlock_unlock(&own->binding);
    return q ? CL_SUCCESS : err;
}

// An OpenCL context with another priority, to which the context moves.
static cl_int replace_context(qrn_api_context *c, int level) {
    const qrn_gpu_context *own = qrn_gpu_context_of(c);
    const qrn_cl_device *d = own->device.info;
    cl_context_properties properties[5];
    cl_int err;
    qrn_gpu_hint_properties(d, own->perf_hint, level, properties);
    cl_context there = qrn_cl.clCreateContext(properties, 1, &d->id, NULL, NULL, &err);
    if (!there)
        return err;
    if (qrn_gpu_context_move(c, there, false) != QRN_OK)
        err = CL_OUT_OF_RESOURCES;
    qrn_cl.clReleaseContext(there);
    return err;
}

static void apply_priority(qrn_api_context *c) {
    qrn_gpu_context *own = qrn_gpu_context_of(c);
    const qrn_cl_device *d = own->device.info;
    int level = level_of(c->priority);
    cl_int err = CL_SUCCESS;
    if (level == own->priority_level)
        return;
    own->priority_level = (int8_t)level;
    if (d->queue_priority && qrn_cl.clCreateCommandQueueWithProperties)
        err = replace_queue(own, level);
    else if (d->context_priority && !own->foreign && !qrn_gpu_has_imports(own))
        err = replace_context(c, level);
    else
        say(c, QNN_LOG_LEVEL_INFO, "PRIORITY", c->priority,
            d->context_priority ? "memory of the client is bound to its OpenCL context"
                                : "this device has no such hint");
    if (err != CL_SUCCESS)
        say(c, QNN_LOG_LEVEL_WARN, "PRIORITY", c->priority, qrn_cl_error(err));
}

void qrn_gpu_hints_apply(qrn_api_context *c, uint8_t hint) {
    qrn_gpu_context *own = qrn_gpu_context_of(c);
    int old = own->has_hint ? own->perf_hint : -1;
    own->perf_hint = hint;
    if (!own->device.info)
        return;
    own->has_hint = true;
    if (old != hint)
        apply_perf(c, old);
    apply_priority(c);
}

void qrn_gpu_hints_drop(const qrn_api_context *c) {
    const qrn_gpu_context *own = qrn_gpu_context_of(c);
    change k = {c, own->perf_hint, -1};
    if (own->has_hint)
        qrn_backend_exclusively(c->backend, count_perf, &k);
}
