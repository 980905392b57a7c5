// SPDX-License-Identifier: MIT
//
// What executions share with others: fences (sync files) that they wait for and signal, and memory
// that was imported. Where the driver has cl_khr_external_semaphore_sync_fd, the device waits for
// fences, unless the host itself reads an input before; elsewhere the host waits.
#include "backend/gpu/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

bool qrn_gpu_has_sync_files(const qrn_cl_device *d) {
    const qrn_cl_extensions *e = &d->ext;
    return e->clCreateSemaphoreWithPropertiesKHR && e->clReleaseSemaphoreKHR &&
           e->clEnqueueWaitSemaphoresKHR && e->clEnqueueSignalSemaphoresKHR &&
           e->clGetSemaphoreHandleForTypeKHR;
}

static qrn_status failed(qrn_gpu_run *r, const char *what, cl_int err) {
    return QRN_FAIL(qrn_gpu_failure(r->c, err), "graph '%s': %s failed on '%s': %s", r->g->ir->name,
                    what, r->p->device->info->name, qrn_cl_error(err));
}

// --- fences to wait for

static qrn_status bad_fence(const qrn_gpu_run *r, uint32_t i, int fd) {
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "graph '%s': input fence %u (file descriptor %d) is not an open one",
                    r->g->ir->name, i, fd);
}

// A sync file is readable when it is signalled.
static bool wait_on_host(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, -1)) < 0 && errno == EINTR)
        ;
    return n >= 0 && !(p.revents & POLLNVAL);
}

// The driver takes the file that it imports over. False: it cannot, so that the host has to wait.
static bool wait_on_device(const qrn_gpu_run *r, int fd) {
    const qrn_cl_extensions *e = &r->p->device->info->ext;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const cl_ulong properties[] = {CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR,
                                   CL_SEMAPHORE_HANDLE_SYNC_FD_KHR, (cl_ulong)own, 0};
    cl_int err;
    cl_semaphore_khr s =
        own < 0 ? NULL
                : e->clCreateSemaphoreWithPropertiesKHR(r->p->device->context, properties, &err);
    if (!s) {
        if (own >= 0)
            close(own);
        return false;
    }
    err = e->clEnqueueWaitSemaphoresKHR(r->queue, 1, &s, NULL, 0, NULL, NULL);
    e->clReleaseSemaphoreKHR(s);
    return err == CL_SUCCESS;
}

// Are all inputs read by the device alone?
static bool is_on_device(const qrn_gpu_run *r) {
    for (uint32_t i = 0; i < r->p->cg->n_io; i++)
        if (!r->p->cg->io[i].is_output &&
            (r->io[i].memory.kind == QRN_MEMORY_HOST || r->io[i].memory.kind == QRN_MEMORY_SHARED))
            return false;
    return true;
}

static qrn_status wait_for_fences(const qrn_gpu_run *r) {
    const qrn_gpu_fences *f = &r->own->fences;
    bool device = f->n && *f->n && qrn_gpu_has_sync_files(r->p->device->info) && is_on_device(r);
    for (uint32_t i = 0; f->n && i < *f->n; i++) {
        int fd = f->fds[i] ? *f->fds[i] : -1;
        if (fd < 0 || fcntl(fd, F_GETFD) < 0)
            return bad_fence(r, i, fd);
        if (!(device && wait_on_device(r, fd)) && !wait_on_host(fd))
            return bad_fence(r, i, fd);
    }
    return QRN_OK;
}

// --- imported memory belongs to the queue during an execution

static qrn_status pass_memory(qrn_gpu_run *r, bool enter) {
    const qrn_cl_extensions *e = &r->p->device->info->ext;
    for (uint32_t i = 0; i < r->p->cg->n_io; i++) {
        if (!qrn_gpu_memory_is_passed(&r->io[i].memory))
            continue;
        cl_mem m = qrn_gpu_io_memory(r, i);
        cl_int err =
            (enter ? e->clEnqueueAcquireExternalMemObjectsKHR
                   : e->clEnqueueReleaseExternalMemObjectsKHR)(r->queue, 1, &m, 0, NULL, NULL);
        if (err != CL_SUCCESS)
            return failed(r, enter ? "acquiring imported memory" : "releasing imported memory",
                          err);
    }
    return QRN_OK;
}

// --- the fence that is signalled

static cl_int make_fence(const qrn_gpu_run *r, int *fd) {
    static const cl_ulong properties[] = {CL_SEMAPHORE_TYPE_KHR,
                                          CL_SEMAPHORE_TYPE_BINARY_KHR,
                                          CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
                                          CL_SEMAPHORE_HANDLE_SYNC_FD_KHR,
                                          CL_SEMAPHORE_EXPORT_HANDLE_TYPES_LIST_END_KHR,
                                          0};
    const qrn_gpu_device *d = r->p->device;
    const qrn_cl_extensions *e = &d->info->ext;
    cl_int err;
    cl_semaphore_khr s = e->clCreateSemaphoreWithPropertiesKHR(d->context, properties, &err);
    if (!s)
        return err;
    err = e->clEnqueueSignalSemaphoresKHR(r->queue, 1, &s, NULL, 0, NULL, NULL);
    if (err == CL_SUCCESS)
        err = e->clGetSemaphoreHandleForTypeKHR(s, d->info->id, CL_SEMAPHORE_HANDLE_SYNC_FD_KHR,
                                                sizeof *fd, fd, NULL);
    e->clReleaseSemaphoreKHR(s);
    return err;
}

qrn_status qrn_gpu_enter(qrn_gpu_run *r) {
    if (r->own->fences.out)
        *r->own->fences.out = -1;
    QRN_TRY(wait_for_fences(r));
    return pass_memory(r, true);
}

qrn_status qrn_gpu_leave(qrn_gpu_run *r) {
    int fd = -1;
    QRN_TRY(pass_memory(r, false));
    if (!r->own->fences.out)
        return QRN_OK;
    cl_int err = make_fence(r, &fd);
    if (err != CL_SUCCESS)
        return failed(r, "making an output fence", err);
    *r->own->fences.out = fd;
    return QRN_OK;
}
