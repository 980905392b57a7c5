// SPDX-License-Identifier: MIT
//
// Recorded commands: the launches of a graph are recorded once and then enqueued by one call, where
// the driver has cl_khr_command_buffer or cl_qcom_recordable_queues. A recording holds the memory
// of application tensors: the first kind is recorded again when that has changed and stays the same
// for two executions, the second gets it as arguments of each replay. Whatever fails, the graph
// goes on with plain enqueues and says so once. Executions allocate nothing: the lists are made
// when the graph is realized.
#include "backend/gpu/execute.h"

#include "base/mem.h"

typedef struct recorder recorder;

struct qrn_gpu_recording {
    const recorder *how;          // NULL: plain enqueues
    const qrn_cl_extensions *ext; // of the device, which outlives the context as graphs do
    bool ready;                   // recorded
    cl_command_queue queue;       // on which it is to run
    cl_mem *io;                   // [n_io] of the last execution, and of the recording
    cl_array_arg_qcom *args;      // [n_args] that name application tensors
    uint32_t n_args;
    cl_command_buffer_khr commands;
    cl_command_queue recorder_queue; // cl_qcom_recordable_queues: not for running
    cl_recording_qcom recording;
};

// A way to record. Functions return the first error of OpenCL; drop releases what was made.
struct recorder {
    const char *name;
    bool (*exists)(const qrn_cl_extensions *e);
    bool keeps_io; // memory of application tensors is part of the recording
    cl_int (*record)(const qrn_gpu_run *r, qrn_gpu_recording *o);
    cl_int (*replay)(const qrn_gpu_run *r, qrn_gpu_recording *o);
    void (*drop)(qrn_gpu_recording *o);
};

static cl_int set_io(const qrn_gpu_launch *l, const cl_mem *io) {
    cl_int err = CL_SUCCESS;
    for (uint32_t k = 0; k < l->n_io_args && err == CL_SUCCESS; k++)
        err = qrn_cl.clSetKernelArg(l->kernel, l->io_args[2 * k], sizeof *io,
                                    &io[l->io_args[2 * k + 1]]);
    return err;
}

static const size_t *local_of(const qrn_gpu_launch *l) { return l->local[0] ? l->local : NULL; }

// --- cl_khr_command_buffer

static bool has_buffers(const qrn_cl_extensions *e) {
    return e->clCreateCommandBufferKHR && e->clFinalizeCommandBufferKHR &&
           e->clReleaseCommandBufferKHR && e->clEnqueueCommandBufferKHR &&
           e->clCommandNDRangeKernelKHR;
}

// Each command waits for the one before, whatever kind of queue a driver believes this to be.
static cl_int record_buffer(const qrn_gpu_run *r, qrn_gpu_recording *o) {
    const qrn_cl_extensions *e = o->ext;
    cl_uint before = 0;
    cl_int err;
    o->commands = e->clCreateCommandBufferKHR(1, &r->queue, NULL, &err);
    for (uint32_t i = 0; i < r->p->n_launches && err == CL_SUCCESS; i++) {
        const qrn_gpu_launch *l = &r->p->launches[i];
        cl_uint wait = before;
        err = set_io(l, o->io);
        if (err == CL_SUCCESS)
            err = e->clCommandNDRangeKernelKHR(o->commands, NULL, NULL, l->kernel, l->n_dims, NULL,
                                               l->global, local_of(l), i ? 1 : 0, i ? &wait : NULL,
                                               &before, NULL);
    }
    return err == CL_SUCCESS ? e->clFinalizeCommandBufferKHR(o->commands) : err;
}

static cl_int replay_buffer(const qrn_gpu_run *r, qrn_gpu_recording *o) {
    (void)r; // it runs on the queue that it was recorded for
    return o->ext->clEnqueueCommandBufferKHR(0, NULL, o->commands, 0, NULL, NULL);
}

static void drop_buffer(qrn_gpu_recording *o) {
    if (o->commands)
        o->ext->clReleaseCommandBufferKHR(o->commands);
    o->commands = NULL;
}

// --- cl_qcom_recordable_queues

static bool has_recordings(const qrn_cl_extensions *e) {
    return e->clNewRecordingQCOM && e->clEndRecordingQCOM && e->clReleaseRecordingQCOM &&
           e->clEnqueueRecordingQCOM;
}

static cl_int record_queue(const qrn_gpu_run *r, qrn_gpu_recording *o) {
    const qrn_cl_extensions *e = o->ext;
    const qrn_gpu_device *d = r->p->device;
    cl_int err = CL_SUCCESS;
    o->recorder_queue =
        qrn_cl.clCreateCommandQueue(d->context, d->info->id, CL_QUEUE_RECORDABLE_QCOM, &err);
    if (o->recorder_queue)
        o->recording = e->clNewRecordingQCOM(o->recorder_queue, &err);
    for (uint32_t i = 0; i < r->p->n_launches && err == CL_SUCCESS; i++) {
        const qrn_gpu_launch *l = &r->p->launches[i];
        err = set_io(l, o->io);
        if (err == CL_SUCCESS)
            err = qrn_cl.clEnqueueNDRangeKernel(o->recorder_queue, l->kernel, l->n_dims, NULL,
                                                l->global, local_of(l), 0, NULL, NULL);
    }
    return err == CL_SUCCESS ? e->clEndRecordingQCOM(o->recording) : err;
}

static cl_int replay_queue(const qrn_gpu_run *r, qrn_gpu_recording *o) {
    return o->ext->clEnqueueRecordingQCOM(r->queue, o->recording, o->n_args, o->args, 0, NULL, 0,
                                          NULL, 0, NULL, 0, NULL, NULL);
}

static void drop_queue(qrn_gpu_recording *o) {
    if (o->recording)
        o->ext->clReleaseRecordingQCOM(o->recording);
    if (o->recorder_queue)
        qrn_cl.clReleaseCommandQueue(o->recorder_queue);
    o->recording = NULL;
    o->recorder_queue = NULL;
}

static const recorder recorders[] = {
    {"cl_qcom_recordable_queues", has_recordings, false, record_queue, replay_queue, drop_queue},
    {"cl_khr_command_buffer", has_buffers, true, record_buffer, replay_buffer, drop_buffer},
};

static const recorder *find_recorder(const qrn_cl_device *d) {
    for (size_t i = 0; i < sizeof recorders / sizeof recorders[0]; i++)
        if (recorders[i].exists(&d->ext))
            return &recorders[i];
    return NULL;
}

const char *qrn_gpu_recorder_name(const qrn_cl_device *d) {
    const recorder *how = d ? find_recorder(d) : NULL;
    return how ? how->name : "no recording extension: plain enqueues";
}

// --- graphs

// Kernels that change between executions cannot be recorded.
static bool may_record(const qrn_gpu_graph *g) {
    for (uint32_t i = 0; i < g->plan->n_launches; i++)
        if (g->plan->launches[i].refresh || g->plan->launches[i].host)
            return false;
    return g->plan->n_launches > 0 && !g->no_recording;
}

static void list_args(const qrn_gpu_plan *p, qrn_gpu_recording *o) {
    for (uint32_t i = 0; i < p->n_launches; i++)
        for (uint32_t k = 0; k < p->launches[i].n_io_args; k++)
            o->args[o->n_args++] =
                (cl_array_arg_qcom){.dispatch_index = i,
                                    .arg_index = p->launches[i].io_args[2 * k],
                                    .arg_size = sizeof *o->io,
                                    .arg_value = &o->io[p->launches[i].io_args[2 * k + 1]]};
}

qrn_status qrn_gpu_recording_make(qrn_gpu_graph *g) {
    const qrn_gpu_plan *p = g->plan;
    const recorder *how = may_record(g) ? find_recorder(p->device->info) : NULL;
    uint32_t n_args = 0;
    if (!how)
        return QRN_OK;
    for (uint32_t i = 0; i < p->n_launches; i++)
        n_args += p->launches[i].n_io_args;
    qrn_gpu_recording *o = g->recording = qrn_calloc(sizeof *o);
    if (o) {
        o->how = how;
        o->ext = &p->device->info->ext;
        o->io = qrn_calloc((p->cg->n_io + 1u) * sizeof *o->io);
        o->args = qrn_calloc((n_args + 1u) * sizeof *o->args);
    }
    if (!o || !o->io || !o->args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", p->cg->name);
    for (uint32_t i = 0; i < p->cg->n_io; i++)
        o->io[i] = g->io[i];
    list_args(p, o);
    return QRN_OK;
}

static void drop(qrn_gpu_recording *o) {
    if (o->how)
        o->how->drop(o);
    o->ready = false;
}

void qrn_gpu_recording_drop(qrn_gpu_graph *g) {
    qrn_gpu_recording *o = g->recording;
    if (!o)
        return;
    drop(o);
    qrn_free(o->io);
    qrn_free(o->args);
    qrn_free(o);
    g->recording = NULL;
}

// Notes the memory of application tensors; is it that of the last execution?
static bool note_io(const qrn_gpu_run *r, qrn_gpu_recording *o) {
    bool same = true;
    for (uint32_t i = 0; i < r->p->cg->n_io; i++) {
        cl_mem now = qrn_gpu_io_memory(r, i);
        same &= now == o->io[i];
        o->io[i] = now;
    }
    return same;
}

bool qrn_gpu_replay(qrn_gpu_run *r) {
    qrn_gpu_recording *o = r->own->recording;
    if (!o || !o->how || r->opt->poll || r->trace || r->events)
        return false;
    bool same = note_io(r, o);
    if (o->ready && ((o->how->keeps_io && !same) || o->queue != r->queue))
        drop(o);
    if (!o->ready && o->how->keeps_io && !same)
        return false;
    cl_int err = CL_SUCCESS;
    if (!o->ready) {
        o->queue = r->queue;
        err = o->how->record(r, o);
        o->ready = err == CL_SUCCESS;
    }
    if (err == CL_SUCCESS)
        err = o->how->replay(r, o);
    if (err == CL_SUCCESS)
        return true;
    qrn_log(r->g->context->backend->log, QNN_LOG_LEVEL_WARN,
            "graph '%s': commands cannot be recorded with %s on '%s' (%s): plain enqueues from "
            "here on",
            r->g->ir->name, o->how->name, r->p->device->info->name, qrn_cl_error(err));
    drop(o);
    o->how = NULL;
    return false;
}
