// SPDX-License-Identifier: MIT
//
// Do kernels see pinned memory while it is mapped, and does the host see what they wrote? OpenCL
// does not promise it; devices with a coherent bus do it, and it saves transfers.
#include "backend/gpu/gpu.h"

#define NUMBERS 256
#define BYTES (NUMBERS * sizeof(cl_int))
#define ROUNDS 3

typedef struct probe {
    const qrn_gpu_device *d;
    cl_command_queue queue;
    cl_kernel kernel;
    qrn_gpu_stage in, out;
} probe;

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
    return p->queue && p->kernel && qrn_gpu_pin(p->d->context, p->queue, BYTES, &p->in) &&
           qrn_gpu_pin(p->d->context, p->queue, BYTES, &p->out) &&
           qrn_cl.clSetKernelArg(p->kernel, 0, sizeof(cl_mem), &p->in.memory) == CL_SUCCESS &&
           qrn_cl.clSetKernelArg(p->kernel, 1, sizeof(cl_mem), &p->out.memory) == CL_SUCCESS;
}

static bool round_trip(const probe *p, cl_int seed) {
    const size_t n = NUMBERS;
    cl_int *in = p->in.host, *out = p->out.host;
    for (cl_int i = 0; i < NUMBERS; i++) {
        in[i] = seed * i;
        out[i] = -1;
    }
    if (qrn_cl.clEnqueueNDRangeKernel(p->queue, p->kernel, 1, NULL, &n, NULL, 0, NULL, NULL) !=
            CL_SUCCESS ||
        qrn_cl.clFinish(p->queue) != CL_SUCCESS)
        return false;
    for (cl_int i = 0; i < NUMBERS; i++)
        if (out[i] != 3 * seed * i + 1)
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
    qrn_gpu_unpin(&p.out);
    qrn_gpu_unpin(&p.in);
    if (p.kernel)
        qrn_cl.clReleaseKernel(p.kernel);
    if (p.queue)
        qrn_cl.clReleaseCommandQueue(p.queue);
    qrn_message_clear();
    d->direct = sees;
}
