// SPDX-License-Identifier: MIT
//
// Application tensors between the host and the device. A device with its own memory reads and
// writes pinned memory faster than the client's pages: tensors up to a limit go through such
// memory, which is mapped for life. Kernels use the pinned memory of small tensors where it lies,
// if a probe found that they can: a transfer costs more than it. A GPU that shares the host's
// memory gets its buffers mapped: the copy into them is the only one. A CPU device copies by
// itself.
#include "backend/gpu/execute.h"

#include "base/mem.h"

#include <string.h>

#define MOST_PINNED (16u << 20)  // bytes of a tensor; larger ones would lock too much memory
#define MOST_READ (16u << 10)    // bytes of an input that kernels read over the bus
#define MOST_WRITTEN (64u << 10) // and of an output that they write
#define PIECE (256u << 10)       // bytes of an input that travel while the next ones are copied

static bool is_pinned(const qrn_cl_device *d, size_t bytes) {
    return !d->unified_memory && !qrn_cl_is_cpu(d) && bytes <= MOST_PINNED;
}

bool qrn_gpu_pin(cl_context context, cl_command_queue queue, size_t bytes, qrn_gpu_stage *s) {
    cl_int err;
    *s = (qrn_gpu_stage){0};
    cl_mem memory = qrn_cl.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes,
                                          NULL, &err);
    if (!memory)
        return false;
    void *host = qrn_cl.clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                           bytes, 0, NULL, NULL, &err);
    if (host && qrn_cl.clRetainCommandQueue(queue) == CL_SUCCESS) {
        *s = (qrn_gpu_stage){.memory = memory, .host = host, .queue = queue};
        return true;
    }
    qrn_cl.clReleaseMemObject(memory);
    return false;
}

void qrn_gpu_unpin(qrn_gpu_stage *s) {
    if (!s->memory)
        return;
    qrn_cl.clEnqueueUnmapMemObject(s->queue, s->memory, s->host, 0, NULL, NULL);
    qrn_cl.clFinish(s->queue);
    qrn_cl.clReleaseMemObject(s->memory);
    qrn_cl.clReleaseCommandQueue(s->queue);
    *s = (qrn_gpu_stage){0};
}

// Tensors of the context stay where its other graphs find them.
static bool is_direct(const qrn_api_graph *api, const qrn_gpu_plan *p, uint32_t i, size_t bytes) {
    const qrn_tensor *t = qrn_context_tensor(api->context, p->cg->io[i].tensor_id);
    return p->device->direct && (!t || t->role != QRN_ROLE_INOUT) &&
           bytes <= (p->cg->io[i].is_output ? MOST_WRITTEN : MOST_READ);
}

qrn_status qrn_gpu_stages_make(const qrn_api_graph *api, qrn_gpu_graph *g) {
    const qrn_gpu_plan *p = g->plan;
    if (!g->stages && !(g->stages = qrn_calloc((p->cg->n_io + 1u) * sizeof *g->stages)))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", p->cg->name);
    for (uint32_t i = 0; i < p->cg->n_io; i++) {
        size_t bytes = p->cg->values[p->cg->io[i].value].size_bytes;
        if (is_pinned(p->device->info, bytes) && // else tensors are transferred directly
            qrn_gpu_pin(p->device->context, p->device->queue, bytes, &g->stages[i]))
            g->stages[i].direct = is_direct(api, p, i, bytes);
    }
    return QRN_OK;
}

cl_mem qrn_gpu_staged(const qrn_gpu_run *r, uint32_t i) {
    const qrn_gpu_stage *s = &r->own->stages[i];
    return s->direct ? s->memory : r->own->io[i];
}

void qrn_gpu_stages_drop(qrn_gpu_graph *g) {
    for (uint32_t i = 0; g->plan && g->stages && i < g->plan->cg->n_io; i++)
        qrn_gpu_unpin(&g->stages[i]);
}

static bool is_mapped(const qrn_gpu_run *r) {
    const qrn_cl_device *d = r->p->device->info;
    return d->unified_memory && !qrn_cl_is_cpu(d);
}

// Copies through a mapping of the device's buffer.
static cl_int copy_mapped(const qrn_gpu_run *r, uint32_t i, void *host, size_t bytes, bool up) {
    cl_int err;
    void *there =
        qrn_cl.clEnqueueMapBuffer(r->queue, r->own->io[i], CL_TRUE, up ? CL_MAP_WRITE : CL_MAP_READ,
                                  0, bytes, 0, NULL, NULL, &err);
    if (!there)
        return err;
    memcpy(up ? there : host, up ? host : there, bytes);
    return qrn_cl.clEnqueueUnmapMemObject(r->queue, r->own->io[i], there, 0, NULL, NULL);
}

// Copies to pinned memory and writes piece by piece: the device fetches one while the host copies
// the next.
static cl_int send_pinned(const qrn_gpu_run *r, uint32_t i, size_t bytes) {
    const char *from = r->io[i].memory.host;
    char *pinned = r->own->stages[i].host;
    cl_int err = CL_SUCCESS;
    for (size_t at = 0, n; at < bytes && err == CL_SUCCESS; at += n) {
        n = bytes - at < PIECE + PIECE / 2 ? bytes - at : PIECE;
        memcpy(pinned + at, from + at, n);
        err = qrn_cl.clEnqueueWriteBuffer(r->queue, r->own->io[i], CL_FALSE, at, n, pinned + at, 0,
                                          NULL, NULL);
        if (err == CL_SUCCESS && at + n < bytes)
            err = qrn_cl.clFlush(r->queue);
    }
    return err;
}

cl_int qrn_gpu_send(qrn_gpu_run *r, uint32_t i, size_t bytes) {
    void *host = r->io[i].memory.host;
    const qrn_gpu_stage *s = &r->own->stages[i];
    if (is_mapped(r))
        return copy_mapped(r, i, host, bytes, true);
    if (s->direct) {
        memcpy(s->host, host, bytes);
        return CL_SUCCESS;
    }
    if (s->memory)
        return send_pinned(r, i, bytes);
    return qrn_cl.clEnqueueWriteBuffer(r->queue, r->own->io[i], CL_FALSE, 0, bytes, host, 0, NULL,
                                       NULL);
}

cl_int qrn_gpu_fetch(qrn_gpu_run *r, uint32_t i, size_t bytes) {
    const qrn_gpu_stage *s = &r->own->stages[i];
    if (is_mapped(r))
        return copy_mapped(r, i, r->io[i].memory.host, bytes, false);
    if (s->direct)
        return CL_SUCCESS;
    return qrn_cl.clEnqueueReadBuffer(r->queue, r->own->io[i], CL_FALSE, 0, bytes,
                                      s->memory ? s->host : r->io[i].memory.host, 0, NULL, NULL);
}

void qrn_gpu_fetched(qrn_gpu_run *r, uint32_t i, size_t bytes) {
    const qrn_gpu_stage *s = &r->own->stages[i];
    if (s->memory && !is_mapped(r))
        memcpy(r->io[i].memory.host, s->host, bytes);
}
