// SPDX-License-Identifier: MIT
//
// From a plan to OpenCL objects: programs, kernels with their arguments, memory.
#include "bind/gpu/plan.h"

#include "base/mem.h"
#include "bind/gpu/share.h"

#include <string.h>

#define SHARED_BYTES 1024 // smaller constants are not worth a search
#define POOL_ALIGN 512    // of parts of the plan's buffer: devices want at most this of a part
#define CHUNK_BYTES                                                                                \
    ((size_t)64 << 20) // of an upload: drivers copy each through memory of their own

// All bytes that the plan needs at once, application tensors included.
static uint64_t needed_bytes(const qrn_gpu_plan *p) {
    uint64_t n = p->arena_bytes + p->n_params * sizeof *p->params;
    for (uint32_t i = 0; i < p->n_constants; i++)
        n += p->constants[i].bytes;
    for (uint32_t i = 0; i < p->n_states; i++)
        n += p->states[i];
    for (uint32_t i = 0; i < p->n_objects; i++)
        n += qrn_gpu_object_bytes(&p->objects[i]);
    for (uint32_t i = 0; i < p->cg->n_io; i++)
        n += p->cg->values[p->cg->io[i].value].size_bytes;
    return n;
}

static qrn_status no_device_memory(const qrn_gpu_plan *p, uint64_t bytes, cl_int err) {
    const qrn_cl_device *d = p->device->info;
    return QRN_FAIL(QRN_E_MEM,
                    "graph '%s': it needs %llu bytes of device memory, a buffer of %llu of them is "
                    "not to be had on '%s', which has %llu bytes in all and at most %llu in one "
                    "buffer: %s",
                    p->cg->name, (unsigned long long)needed_bytes(p), (unsigned long long)bytes,
                    d->name, (unsigned long long)d->memory_bytes,
                    (unsigned long long)d->max_alloc_bytes, qrn_cl_error(err));
}

static uint64_t up(uint64_t bytes) { return (bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN; }

static cl_int upload(const qrn_gpu_plan *p, cl_mem to, uint64_t begin, const void *data,
                     size_t bytes) {
    cl_int err = CL_SUCCESS;
    for (size_t at = 0; at < bytes && err == CL_SUCCESS; at += CHUNK_BYTES) {
        size_t n = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        err = qrn_cl.clEnqueueWriteBuffer(p->device->queue, to, CL_TRUE, (size_t)begin + at, n,
                                          (const char *)data + at, 0, NULL, NULL);
    }
    return err;
}

qrn_status qrn_gpu_new_buffer(const qrn_gpu_plan *p, uint64_t bytes, const void *data,
                              cl_mem *out) {
    const uint8_t zero = 0;
    cl_int err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    size_t n = bytes ? (size_t)bytes : 1;
    if (p->device->info->max_alloc_bytes && n > p->device->info->max_alloc_bytes)
        return no_device_memory(p, bytes, err);
    *out = qrn_cl.clCreateBuffer(p->device->context, CL_MEM_READ_WRITE, n, NULL, &err);
    if (!*out)
        return no_device_memory(p, bytes, err);
    if (data && bytes)
        err = upload(p, *out, 0, data, n);
    else
        err = qrn_cl.clEnqueueFillBuffer(p->device->queue, *out, &zero, 1, 0, 1, 0, NULL, NULL);
    if (err == CL_SUCCESS)
        return QRN_OK;
    qrn_cl.clReleaseMemObject(*out);
    *out = NULL;
    return no_device_memory(p, bytes, err);
}

// Blocks that are kept from one execution to the next begin as zeros.
static qrn_status make_states(qrn_gpu_plan *p) {
    if (!p->state_memory)
        p->state_memory = qrn_calloc((p->n_states + 1u) * sizeof *p->state_memory);
    if (!p->state_memory)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", p->cg->name);
    for (uint32_t i = 0; i < p->n_states; i++) {
        void *zeros = qrn_calloc((size_t)p->states[i] + 1);
        qrn_status s = zeros ? qrn_gpu_new_buffer(p, p->states[i], zeros, &p->state_memory[i])
                             : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", p->cg->name);
        qrn_free(zeros);
        QRN_TRY(s);
    }
    return QRN_OK;
}

static qrn_status make_constant(const qrn_gpu_plan *p, qrn_gpu_const *c) {
    if (p->device->shares && !c->writable && c->bytes >= SHARED_BYTES)
        return qrn_gpu_share(p->device->shares, p, c, &c->memory);
    return qrn_gpu_new_buffer(p, c->bytes, c->data, &c->memory);
}

// Gives what is pooled its part of the plan's buffer, behind the arena.
static void lay_out_pool(qrn_gpu_plan *p) {
    p->pool_bytes = p->params_at = up(p->arena_bytes);
    p->pool_bytes += up(p->n_params * sizeof *p->params);
    for (uint32_t i = 0; i < p->n_launches; i++)
        for (uint32_t k = 0; k < p->launches[i].n_args; k++) {
            const qrn_gpu_arg *a = &p->launches[i].args[k];
            const qrn_gpu_place *at = a->kind == QRN_GPU_ARG_POOLED ? &p->places[a->item] : NULL;
            qrn_gpu_const *c = at && at->space == QRN_GPU_CONST ? &p->constants[at->index] : NULL;
            if (!c || c->pooled)
                continue;
            c->pooled = true;
            c->pool_at = p->pool_bytes;
            p->pool_bytes += up(c->bytes);
        }
}

static qrn_status make_pool(qrn_gpu_plan *p) {
    lay_out_pool(p);
    if (p->pool_bytes == 0)
        return QRN_OK;
    QRN_TRY(qrn_gpu_new_buffer(p, p->pool_bytes, NULL, &p->arena));
    cl_int err = upload(p, p->arena, p->params_at, p->params, p->n_params * sizeof *p->params);
    for (uint32_t i = 0; i < p->n_constants && err == CL_SUCCESS; i++) {
        const qrn_gpu_const *c = &p->constants[i];
        if (c->pooled)
            err = upload(p, p->arena, c->pool_at, c->data, (size_t)c->bytes);
    }
    return err == CL_SUCCESS ? QRN_OK : no_device_memory(p, p->pool_bytes, err);
}

static qrn_status make_memory(qrn_gpu_plan *p) {
    uint64_t all = p->device->info->memory_bytes;
    if (all && needed_bytes(p) > all)
        return no_device_memory(p, needed_bytes(p), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    QRN_TRY(make_pool(p));
    const cl_int none[1 + QRN_GPU_MAX_ROWS] = {0};
    if (p->has_fault)
        QRN_TRY(qrn_gpu_new_buffer(p, (1u + p->n_slots) * sizeof *none, none, &p->fault_memory));
    for (uint32_t i = 0; i < p->n_constants; i++)
        if (!p->constants[i].pooled)
            QRN_TRY(make_constant(p, &p->constants[i]));
    QRN_TRY(make_states(p));
    QRN_TRY(qrn_gpu_objects_make(p));
    cl_int err = qrn_cl.clFinish(p->device->queue);
    return err == CL_SUCCESS ? QRN_OK : no_device_memory(p, needed_bytes(p), err);
}

cl_mem qrn_gpu_memory_of(const qrn_gpu_plan *p, const qrn_gpu_place *at, uint64_t *offset) {
    const qrn_gpu_const *c = at->space == QRN_GPU_CONST ? &p->constants[at->index] : NULL;
    *offset = at->offset + (c && c->pooled ? c->pool_at : 0);
    switch (at->space) {
    case QRN_GPU_ARENA:
        return p->arena;
    case QRN_GPU_CONST:
        return c->pooled ? p->arena : c->memory;
    case QRN_GPU_STATE:
        return p->state_memory[at->index];
    case QRN_GPU_FAULT:
        return p->fault_memory;
    default:
        return NULL; // application tensors come with each execution
    }
}

static cl_int set_offset(const qrn_gpu_launch *l, const qrn_gpu_place *place, cl_uint at,
                         uint64_t bytes) {
    uint32_t elem = (qrn_dtypes[place->type].bits + 7u) / 8u;
    cl_ulong offset = bytes / elem;
    return qrn_cl.clSetKernelArg(l->kernel, at, sizeof offset, &offset);
}

static cl_int set_value(qrn_gpu_plan *p, qrn_gpu_launch *l, const qrn_gpu_arg *a, cl_uint at) {
    const qrn_gpu_place *place = &p->places[a->item];
    uint64_t offset;
    cl_mem mem = qrn_gpu_memory_of(p, place, &offset);
    if (a->kind == QRN_GPU_ARG_POOLED)
        return set_offset(l, place, at, offset);
    if (place->space == QRN_GPU_IO) {
        l->io_args[2 * l->n_io_args] = (uint16_t)at;
        l->io_args[2 * l->n_io_args++ + 1] = (uint16_t)place->index;
    }
    cl_int err = qrn_cl.clSetKernelArg(l->kernel, at, sizeof mem, mem ? &mem : NULL);
    return err == CL_SUCCESS ? set_offset(l, place, at + 1, offset) : err;
}

// The arena from a place on, as a buffer of its own.
static cl_int new_part(qrn_gpu_plan *p, uint64_t offset, cl_mem *out) {
    cl_buffer_region all = {(size_t)offset, (size_t)(p->pool_bytes - offset)};
    cl_int err = CL_OUT_OF_HOST_MEMORY;
    cl_mem *more =
        qrn_realloc(p->parts, p->n_parts * sizeof *p->parts, (p->n_parts + 1u) * sizeof *p->parts);
    if (!more)
        return err;
    p->parts = more;
    *out = qrn_cl.clCreateSubBuffer(p->arena, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &all,
                                    &err);
    if (*out)
        p->parts[p->n_parts++] = *out;
    return err;
}

static cl_int set_buffer(qrn_gpu_plan *p, qrn_gpu_launch *l, const qrn_gpu_arg *a, cl_uint at) {
    const qrn_gpu_place *place = a->item == QRN_VAL_NONE ? NULL : &p->places[a->item];
    uint64_t offset = 0;
    cl_mem mem = place ? qrn_gpu_memory_of(p, place, &offset) : NULL;
    cl_int err = CL_SUCCESS;
    if (place && place->space == QRN_GPU_IO) {
        l->io_args[2 * l->n_io_args] = (uint16_t)at;
        l->io_args[2 * l->n_io_args++ + 1] = (uint16_t)place->index;
    }
    if (offset)
        err = mem && mem == p->arena ? new_part(p, offset, &mem) : CL_MISALIGNED_SUB_BUFFER_OFFSET;
    return err == CL_SUCCESS ? qrn_cl.clSetKernelArg(l->kernel, at, sizeof mem, mem ? &mem : NULL)
                             : err;
}

static cl_int set_arg(qrn_gpu_plan *p, qrn_gpu_launch *l, const qrn_gpu_arg *a, cl_uint *at) {
    cl_ulong first;
    cl_int err;
    switch (a->kind) {
    case QRN_GPU_ARG_VALUE:
        err = set_value(p, l, a, *at);
        *at += 2;
        return err;
    case QRN_GPU_ARG_POOL:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, sizeof p->arena, &p->arena);
    case QRN_GPU_ARG_POOLED:
        return set_value(p, l, a, (*at)++);
    case QRN_GPU_ARG_PARAMS:
        first = p->params_at / sizeof(cl_int) + (cl_ulong)a->i;
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, sizeof first, &first);
    case QRN_GPU_ARG_DIRECT:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, a->item * sizeof *p->params,
                                     p->params + a->i);
    case QRN_GPU_ARG_BUFFER:
        return set_buffer(p, l, a, (*at)++);
    case QRN_GPU_ARG_BYTES:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, a->item, &a->bytes);
    case QRN_GPU_ARG_OBJECT:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, sizeof(cl_mem),
                                     &p->objects[a->item].memory);
    case QRN_GPU_ARG_LOCAL:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, a->bytes, NULL);
    case QRN_GPU_ARG_FLOAT:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, sizeof a->f, &a->f);
    default:
        return qrn_cl.clSetKernelArg(l->kernel, (*at)++, sizeof a->i, &a->i);
    }
}

static qrn_status make_kernel(qrn_gpu_plan *p, qrn_gpu_launch *l) {
    cl_program program;
    cl_int err;
    cl_uint at = 0;
    QRN_TRY(qrn_cl_program(p->device->programs, p->device->store, &l->source, &program));
    l->kernel = qrn_cl.clCreateKernel(program, l->entry, &err);
    l->n_io_args = 0;
    if (!l->io_args)
        l->io_args = qrn_arena_alloc(p->cg->arena, 2u * (l->n_args + 1u) * sizeof *l->io_args);
    if (!l->io_args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", p->cg->name);
    for (uint32_t i = 0; i < l->n_args && err == CL_SUCCESS; i++)
        err = set_arg(p, l, &l->args[i], &at);
    return err == CL_SUCCESS
               ? QRN_OK
               : QRN_FAIL(QRN_E_OPTIMIZE, "graph '%s': kernel %s cannot be prepared: %s",
                          p->cg->name, l->entry, qrn_cl_error(err));
}

// Programs are built by all threads at once; one that fails is built again, and reported, by
// make_kernel.
static void build_program(void *plan, uint32_t i) {
    const qrn_gpu_plan *p = plan;
    const qrn_gpu_launch *l = &p->launches[i];
    cl_program program;
    if (!l->host &&
        qrn_cl_program(p->device->programs, p->device->store, &l->source, &program) != QRN_OK)
        qrn_message_clear();
}

qrn_status qrn_gpu_realize(qrn_gpu_plan *p, const qrn_gpu_device *d) {
    p->device = d;
    qrn_status s = make_memory(p);
    if (s == QRN_OK && d->pool && p->n_launches > 1)
        qrn_pool_run(d->pool, build_program, p, p->n_launches);
    for (uint32_t i = 0; i < p->n_launches && s == QRN_OK; i++)
        s = p->launches[i].host ? QRN_OK : make_kernel(p, &p->launches[i]);
    if (s != QRN_OK)
        qrn_gpu_unrealize(p);
    return s;
}

static void drop(cl_mem *m) {
    if (*m)
        qrn_cl.clReleaseMemObject(*m);
    *m = NULL;
}

void qrn_gpu_unrealize(qrn_gpu_plan *p) {
    for (uint32_t i = 0; i < p->n_launches; i++) {
        if (p->launches[i].kernel)
            qrn_cl.clReleaseKernel(p->launches[i].kernel);
        p->launches[i].kernel = NULL;
    }
    for (uint32_t i = 0; i < p->n_constants; i++) {
        drop(&p->constants[i].memory);
        p->constants[i].pooled = false;
    }
    for (uint32_t i = 0; i < p->n_states && p->state_memory; i++)
        drop(&p->state_memory[i]);
    for (uint32_t i = 0; i < p->n_parts; i++)
        drop(&p->parts[i]);
    qrn_free(p->parts);
    p->parts = NULL;
    p->n_parts = 0;
    qrn_gpu_objects_drop(p);
    drop(&p->fault_memory);
    drop(&p->arena);
}

void qrn_gpu_plan_destroy(qrn_gpu_plan *p) {
    if (!p)
        return;
    qrn_gpu_unrealize(p);
    qrn_free(p->places);
    qrn_free(p->launches);
    qrn_free(p->constants);
    qrn_free(p->params);
    qrn_free(p->states);
    qrn_free(p->choices);
    qrn_free(p->state_memory);
    qrn_free(p->objects);
    qrn_compiled_destroy(p->cg);
    qrn_free(p);
}
