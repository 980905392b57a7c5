// SPDX-License-Identifier: MIT
//
// Do kernels see pinned memory while it is mapped, and does the host see what they wrote? OpenCL
// does not promise it; devices with a coherent bus do it, and it saves transfers.
#include "backend/gpu/gpu.h"

#define NUMBERS 256
#define ROUNDS 3

typedef struct pinned {
    cl_mem memory;
    cl_int *host;
} pinned;

typedef struct probe {
    const qrn_gpu_device *d;
    cl_command_queue queue;
    cl_kernel kernel;
    pinned in, out;
} probe;

static bool pin(probe *p, pinned *at) {
    cl_int err;
    size_t bytes = NUMBERS * sizeof(cl_int);
    at->memory = qrn_cl.clCreateBuffer(p->d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       bytes, NULL, &err);
    if (at->memory)
        at->host =
            qrn_cl.clEnqueueMapBuffer(p->queue, at->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, NULL, NULL, &err);
    return at->host != NULL;
}

static void unpin(const probe *p, const pinned *at) {
    if (at->host)
        qrn_cl.clEnqueueUnmapMemObject(p->queue, at->memory, at->host, 0, NULL, NULL);
    if (at->host)
        qrn_cl.clFinish(p->queue);
    if (at->memory)
        qrn_cl.clReleaseMemObject(at->memory);
}

static bool open_probe(probe *p) {
    static const char text[] = "__kernel void probe(__global const int *x, __global int *y) {\n"
                               "    y[get_global_id(0)] = 3 * x[get_global_id(0)] + 1;\n"
                               "}\n";
    cl_program program;
    cl_int err;
    const qrn_cl_source source = {.text = text, .options = "-cl-std=CL1.2"};
    if (qrn_cl_program(p->d->programs, NULL, &source, &program) != QRN_OK)
        return false;
    p->queue = qrn_cl.clCreateCommandQueue(p->d->context, p->d->info->id, 0, &err);
    p->kernel = qrn_cl.clCreateKernel(program, "probe", &err);
    return p->queue && p->kernel && pin(p, &p->in) && pin(p, &p->out) &&
           qrn_cl.clSetKernelArg(p->kernel, 0, sizeof(cl_mem), &p->in.memory) == CL_SUCCESS &&
           qrn_cl.clSetKernelArg(p->kernel, 1, sizeof(cl_mem), &p->out.memory) == CL_SUCCESS;
}

static bool round_trip(const probe *p, cl_int seed) {
    const size_t n = NUMBERS;
    for (cl_int i = 0; i < NUMBERS; i++) {
        p->in.host[i] = seed * i;
        p->out.host[i] = -1;
    }
    if (qrn_cl.clEnqueueNDRangeKernel(p->queue, p->kernel, 1, NULL, &n, NULL, 0, NULL, NULL) !=
            CL_SUCCESS ||
        qrn_cl.clFinish(p->queue) != CL_SUCCESS)
        return false;
    for (cl_int i = 0; i < NUMBERS; i++)
        if (p->out.host[i] != 3 * seed * i + 1)
            return false;
    return true;
}

void qrn_gpu_probe_pinned(qrn_gpu_device *d) {
    probe p = {.d = d};
    d->direct = false;
    if (d->info->unified_memory || qrn_cl_is_cpu(d->info))
        return;
    bool sees = open_probe(&p);
    for (cl_int i = 1; i <= ROUNDS && sees; i++)
        sees = round_trip(&p, i);
    unpin(&p, &p.out);
    unpin(&p, &p.in);
    if (p.kernel)
        qrn_cl.clReleaseKernel(p.kernel);
    if (p.queue)
        qrn_cl.clReleaseCommandQueue(p.queue);
    qrn_message_clear();
    d->direct = sees;
}
