// SPDX-License-Identifier: MIT
//
// Registered memory.
//   CUSTOM, OPENCL   a buffer of the client, used where it is. One of an OpenCL context other than
//                    ours moves the QNN context there, once: plans are realized again.
//   DMA_BUF          imported (cl_khr_external_memory_dma_buf, cl_arm_import_memory), else through
//                    the client's own mapping; without both it is not supported
//   ION, DX12        not supported
#include "backend/gpu/gpu.h"

#include "base/mem.h"

#include "GPU/QnnGpuMem.h"
#include "QnnMem.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// Behind qrn_api_mem.impl, and the name of the memory in bindings.
struct qrn_gpu_memory {
    struct qrn_gpu_memory *next; // of the context
    const qrn_api_mem *api;
    cl_mem buffer; // NULL: host memory
    cl_bitfield flags;
    bool imported;
    bool passed; // executions acquire and release it
};

static const qrn_gpu_memory *named(const qrn_memory *m) {
    return (const qrn_gpu_memory *)(uintptr_t)m->device;
}

cl_mem qrn_gpu_memory_buffer(const qrn_memory *m) { return named(m)->buffer; }

bool qrn_gpu_memory_is_passed(const qrn_memory *m) {
    return m->kind == QRN_MEMORY_DEVICE && m->device && named(m)->passed;
}

bool qrn_gpu_has_imports(const qrn_gpu_context *c) {
    for (const qrn_gpu_memory *m = c->memories; m; m = m->next)
        if (m->imported)
            return true;
    return false;
}

qrn_status qrn_gpu_memory_check(const qrn_api_graph *g, const qrn_cvalue *v, const qrn_memory *m,
                                bool is_output) {
    if ((m->kind != QRN_MEMORY_DEVICE && m->kind != QRN_MEMORY_SHARED) || !m->device)
        return QRN_OK;
    const qrn_gpu_memory *own = named(m);
    char have[96], want[96];
    bool same =
        own->api->dtype == v->dtype && own->api->shape.rank == v->shape.rank &&
        memcmp(own->api->shape.dims, v->shape.dims, v->shape.rank * sizeof v->shape.dims[0]) == 0;
    if (!same)
        return QRN_FAIL(QRN_E_TENSOR,
                        "graph '%s' tensor '%s': its memory was registered as %s %s, expected %s "
                        "%s",
                        g->ir->name, v->name, qrn_dtypes[own->api->dtype].token,
                        qrn_shape_text(&own->api->shape, have, sizeof have),
                        qrn_dtypes[v->dtype].token, qrn_shape_text(&v->shape, want, sizeof want));
    if (own->flags & (is_output ? CL_MEM_READ_ONLY : CL_MEM_WRITE_ONLY))
        return QRN_FAIL(QRN_E_TENSOR, "graph '%s' tensor '%s': its OpenCL buffer is %s",
                        g->ir->name, v->name,
                        is_output ? "CL_MEM_READ_ONLY, but it is an output"
                                  : "CL_MEM_WRITE_ONLY, but it is an input");
    return QRN_OK;
}

// --- buffers of the client

typedef struct facts {
    cl_uint type;
    size_t bytes;
    cl_bitfield flags;
    cl_context context;
} facts;

static qrn_status ask(cl_mem buffer, facts *f) {
    cl_int err = qrn_cl.clGetMemObjectInfo(buffer, CL_MEM_TYPE, sizeof f->type, &f->type, NULL);
    if (err == CL_SUCCESS)
        err = qrn_cl.clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof f->bytes, &f->bytes, NULL);
    if (err == CL_SUCCESS)
        err = qrn_cl.clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof f->flags, &f->flags, NULL);
    if (err == CL_SUCCESS)
        err =
            qrn_cl.clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof f->context, &f->context, NULL);
    return err == CL_SUCCESS
               ? QRN_OK
               : QRN_FAIL(QRN_E_MAPPING, "memory: not an OpenCL buffer of this machine: %s",
                          qrn_cl_error(err));
}

static bool has_device(cl_context context, cl_device_id id) {
    cl_device_id ids[64];
    size_t n = 0;
    if (qrn_cl.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof ids, ids, &n) != CL_SUCCESS)
        return false;
    for (size_t i = 0; i < n / sizeof ids[0] && i < 64; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static qrn_status check_buffer(const qrn_gpu_context *own, const qrn_api_mem *m, cl_mem buffer,
                               const facts *f) {
    for (const qrn_gpu_memory *o = own->memories; o; o = o->next)
        if (o->buffer == buffer)
            return QRN_FAIL(QRN_E_ALREADY, "memory: this OpenCL buffer is registered already");
    if (f->type != CL_MEM_OBJECT_BUFFER)
        return QRN_FAIL(QRN_E_MAPPING, "memory: an OpenCL image, allowed are buffers");
    if (f->bytes < m->size_bytes)
        return QRN_FAIL(QRN_E_SHAPE,
                        "memory: an OpenCL buffer of %zu bytes, the shape needs %zu bytes",
                        f->bytes, m->size_bytes);
    if (f->context != own->device.context && !has_device(f->context, own->device.info->id))
        return QRN_FAIL(QRN_E_MAPPING,
                        "memory: the OpenCL buffer belongs to another device than '%s': choose it "
                        "with QUERN_GPU_DEVICE or a device handle",
                        own->device.info->name);
    if (f->context != own->device.context && own->foreign)
        return QRN_FAIL(QRN_E_MAPPING,
                        "memory: the OpenCL buffer belongs to another OpenCL context than the "
                        "buffers that were registered before: use one for all");
    if (f->context != own->device.context && qrn_gpu_has_imports(own))
        return QRN_FAIL(QRN_E_MAPPING,
                        "memory: an OpenCL buffer of the client's OpenCL context after DMA buffers "
                        "were imported into ours: register OpenCL buffers first");
    return QRN_OK;
}

static qrn_status map_buffer(qrn_api_context *c, const qrn_api_mem *m,
                             const QnnGpu_MemInfoCustom_t *info, qrn_gpu_memory *out) {
    qrn_gpu_context *own = c->impl;
    facts f = {0};
    if (!info)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: the custom descriptor is NULL");
    if (info->memType != QNN_GPU_MEM_OPENCL)
        return QRN_FAIL(QRN_E_MEMTYPE, "memory: custom descriptor of type %u, allowed OPENCL=0",
                        (unsigned)info->memType);
    if (!info->buffer)
        return QRN_FAIL(QRN_E_ARGUMENT, "memory: the OpenCL buffer is NULL");
    if (!own->device.info)
        return QRN_FAIL(QRN_E_MAPPING, "memory: QUERN_GPU_DEVICE=none: there is no device");
    cl_mem buffer = info->buffer;
    QRN_TRY(ask(buffer, &f));
    QRN_TRY(check_buffer(own, m, buffer, &f));
    if (f.context != own->device.context)
        QRN_TRY(qrn_gpu_context_move(c, f.context, true));
    cl_int err = qrn_cl.clRetainMemObject(buffer);
    if (err != CL_SUCCESS)
        return QRN_FAIL(QRN_E_MAPPING, "memory: the OpenCL buffer cannot be kept: %s",
                        qrn_cl_error(err));
    out->buffer = buffer;
    out->flags = f.flags;
    return QRN_OK;
}

// --- DMA buffers

// The driver takes the file over where it imports by the common extension.
static cl_mem import_khr(const qrn_gpu_device *d, int fd, size_t bytes, cl_int *err) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const cl_ulong properties[] = {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, (cl_ulong)own, 0};
    *err = CL_INVALID_VALUE;
    if (own < 0)
        return NULL;
    cl_mem m = qrn_cl.clCreateBufferWithProperties(d->context, properties, CL_MEM_READ_WRITE, bytes,
                                                   NULL, err);
    if (!m)
        close(own);
    return m;
}

static cl_mem import_arm(const qrn_gpu_device *d, int fd, size_t bytes, cl_int *err) {
    static const intptr_t properties[] = {CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_DMA_BUF_ARM, 0};
    return d->info->ext.clImportMemoryARM(d->context, CL_MEM_READ_WRITE, properties, &fd, bytes,
                                          err);
}

// Imports the buffer; false: the driver cannot, `err` is what it says, or CL_SUCCESS without an
// extension.
static bool import(const qrn_gpu_device *d, const qrn_api_mem *m, int fd, qrn_gpu_memory *out,
                   cl_int *err) {
    const qrn_cl_extensions *e = d->info ? &d->info->ext : NULL;
    bool khr = e && e->clEnqueueAcquireExternalMemObjectsKHR &&
               e->clEnqueueReleaseExternalMemObjectsKHR && qrn_cl.clCreateBufferWithProperties;
    *err = CL_SUCCESS;
    if (!khr && !(e && e->clImportMemoryARM))
        return false;
    out->buffer =
        khr ? import_khr(d, fd, m->size_bytes, err) : import_arm(d, fd, m->size_bytes, err);
    out->flags = CL_MEM_READ_WRITE;
    out->imported = out->buffer != NULL;
    out->passed = out->imported && khr;
    return out->imported;
}

static qrn_status map_dma(const qrn_gpu_context *own, qrn_api_mem *m, const Qnn_MemDmaBufInfo_t *b,
                          qrn_gpu_memory *out) {
    cl_int err;
    if (import(&own->device, m, b->fd, out, &err)) {
        m->memory.kind = QRN_MEMORY_DEVICE;
        return QRN_OK;
    }
    if (b->data) {
        m->memory = (qrn_memory){.kind = QRN_MEMORY_SHARED, .host = b->data};
        return QRN_OK;
    }
    return err == CL_SUCCESS
               ? QRN_FAIL(QRN_E_UNSUPPORTED,
                          "memory: a DMA buffer without a mapping: this device has no extension "
                          "that imports it, map it and give its address")
               : QRN_FAIL(QRN_E_MAPPING,
                          "memory: a DMA buffer (file descriptor %d, %zu bytes) cannot be imported "
                          "on '%s': %s",
                          b->fd, m->size_bytes, own->device.info->name, qrn_cl_error(err));
}

static qrn_status map(qrn_api_context *c, qrn_api_mem *m, const Qnn_MemDescriptor_t *d,
                      qrn_gpu_memory *out) {
    switch (d->memType) {
    case QNN_MEM_TYPE_CUSTOM:
        QRN_TRY(map_buffer(c, m, d->customInfo, out));
        m->memory.kind = QRN_MEMORY_DEVICE;
        return QRN_OK;
    case QNN_MEM_TYPE_DMA_BUF:
        return map_dma(c->impl, m, &d->dmaBufInfo, out);
    default:
        return QRN_FAIL(QRN_E_MEMTYPE, "memory type %u, allowed CUSTOM=2 and DMA_BUF=3",
                        (unsigned)d->memType);
    }
}

qrn_status qrn_gpu_mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor) {
    qrn_gpu_context *own = c->impl;
    qrn_gpu_memory *made = qrn_calloc(sizeof *made);
    if (!made)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a memory handle");
    qrn_status s = map(c, m, descriptor, made);
    if (s != QRN_OK) {
        qrn_free(made);
        return s;
    }
    made->api = m;
    made->next = own->memories;
    own->memories = made;
    m->memory.device = (uint64_t)(uintptr_t)made;
    m->impl = made;
    return QRN_OK;
}

void qrn_gpu_mem_unmap(qrn_api_mem *m) {
    qrn_gpu_context *own = m->context->impl;
    qrn_gpu_memory *gone = m->impl, **at = &own->memories;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
    if (gone->buffer)
        qrn_cl.clReleaseMemObject(gone->buffer);
    qrn_free(gone);
}

static qrn_status transferred(qrn_gpu_context *c, cl_int err) {
    return err == CL_SUCCESS ? QRN_OK
                             : QRN_FAIL(qrn_gpu_failure(c, err),
                                        "memory: a registered OpenCL buffer cannot be reached: %s",
                                        qrn_cl_error(err));
}

qrn_status qrn_gpu_mem_upload(qrn_api_context *c, const qrn_memory *m, size_t offset,
                              const void *src, size_t size_bytes) {
    qrn_gpu_context *own = c->impl;
    pthread_mutex_lock(&own->lock);
    cl_int err = qrn_cl.clEnqueueWriteBuffer(own->device.queue, named(m)->buffer, CL_TRUE, offset,
                                             size_bytes, src, 0, NULL, NULL);
    pthread_mutex_unlock(&own->lock);
    return transferred(own, err);
}

qrn_status qrn_gpu_mem_download(qrn_api_context *c, const qrn_memory *m, size_t offset, void *dst,
                                size_t size_bytes) {
    qrn_gpu_context *own = c->impl;
    pthread_mutex_lock(&own->lock);
    cl_int err = qrn_cl.clEnqueueReadBuffer(own->device.queue, named(m)->buffer, CL_TRUE, offset,
                                            size_bytes, dst, 0, NULL, NULL);
    pthread_mutex_unlock(&own->lock);
    return transferred(own, err);
}
