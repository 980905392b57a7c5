// SPDX-License-Identifier: MIT
//
// What the OpenCL device that the GPU backend chooses allows: cost of a launch, bandwidth of
// copies, rate of fp32 multiply-adds, time of a build. One line of JSON; fastest of several rounds.
// Results of the multiply-adds are checked, so that no compiler can leave them out.
//   gpu_limits
#include "base/mem.h"
#include "opencl/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 8
#define LAUNCHES 500
#define CHAINS 8   // independent sums of a work item
#define STEPS 4096 // multiply-adds of each sum
#define IO_BYTES (224u * 224 * 3 * 4)

static const char source[] =
    "__kernel void empty(__global float *p) { if (get_global_id(0) == ~0u) p[0] = 1; }\n"
    "__kernel void fma_rate(__global float *out, float a, float b) {\n"
    "    float s[8];\n"
    "    for (int i = 0; i < 8; i++) s[i] = (float)i;\n"
    "    for (int k = 0; k < 4096; k++) {\n"
    "        s[0] = fma(s[0], a, b); s[1] = fma(s[1], a, b);\n"
    "        s[2] = fma(s[2], a, b); s[3] = fma(s[3], a, b);\n"
    "        s[4] = fma(s[4], a, b); s[5] = fma(s[5], a, b);\n"
    "        s[6] = fma(s[6], a, b); s[7] = fma(s[7], a, b);\n"
    "    }\n"
    "    out[get_global_id(0)] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];\n"
    "}\n";

typedef struct limits {
    const qrn_cl_device *device;
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    double build_ms;
} limits;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(cl_int err, const char *what) {
    if (err == CL_SUCCESS)
        return;
    fprintf(stderr, "gpu_limits: %s: %s\n", what, qrn_cl_error(err));
    exit(1);
}

static void must(qrn_status s) {
    if (s == QRN_OK)
        return;
    fprintf(stderr, "gpu_limits: %s\n", qrn_message());
    exit(1);
}

static cl_mem buffer(const limits *l, size_t bytes) {
    cl_int err;
    cl_mem m = qrn_cl.clCreateBuffer(l->context, CL_MEM_READ_WRITE, bytes, NULL, &err);
    check(err, "clCreateBuffer");
    return m;
}

static cl_kernel kernel(const limits *l, const char *name) {
    cl_int err;
    cl_kernel k = qrn_cl.clCreateKernel(l->program, name, &err);
    check(err, name);
    return k;
}

static void enqueue(const limits *l, cl_kernel k, size_t n, size_t group) {
    check(qrn_cl.clEnqueueNDRangeKernel(l->queue, k, 1, NULL, &n, group ? &group : NULL, 0, NULL,
                                        NULL),
          "clEnqueueNDRangeKernel");
}

// Microseconds of one launch among many, and of one alone with its finish.
static void measure_launches(const limits *l, double *many, double *one) {
    cl_kernel k = kernel(l, "empty");
    cl_mem m = buffer(l, 64);
    check(qrn_cl.clSetKernelArg(k, 0, sizeof m, &m), "clSetKernelArg");
    *many = *one = INFINITY;
    for (int r = 0; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < LAUNCHES; i++)
            enqueue(l, k, 64, 0);
        check(qrn_cl.clFinish(l->queue), "clFinish");
        *many = fmin(*many, 1e6 * (now() - t) / LAUNCHES);
        t = now();
        enqueue(l, k, 64, 0);
        check(qrn_cl.clFinish(l->queue), "clFinish");
        *one = fmin(*one, 1e6 * (now() - t));
    }
    qrn_cl.clReleaseKernel(k);
    qrn_cl.clReleaseMemObject(m);
}

// Bytes read and written a second, in GB/s, of a copy inside of the device.
static double measure_copy(const limits *l) {
    size_t bytes = 256u << 20;
    while (bytes > l->device->max_alloc_bytes / 2 || bytes > l->device->memory_bytes / 8)
        bytes /= 2;
    cl_mem a = buffer(l, bytes), b = buffer(l, bytes);
    double best = INFINITY;
    for (int r = 0; r < ROUNDS; r++) {
        double t = now();
        check(qrn_cl.clEnqueueCopyBuffer(l->queue, a, b, 0, 0, bytes, 0, NULL, NULL), "copy");
        check(qrn_cl.clFinish(l->queue), "clFinish");
        best = fmin(best, now() - t);
    }
    qrn_cl.clReleaseMemObject(a);
    qrn_cl.clReleaseMemObject(b);
    return 2e-9 * (double)bytes / best;
}

// Microseconds to write an image from pageable memory, and to read 4 KiB.
static void measure_io(const limits *l, double *write, double *read) {
    cl_mem m = buffer(l, IO_BYTES);
    void *host = qrn_calloc(IO_BYTES);
    *write = *read = INFINITY;
    for (int r = 0; host && r < ROUNDS; r++) {
        double t = now();
        check(qrn_cl.clEnqueueWriteBuffer(l->queue, m, CL_TRUE, 0, IO_BYTES, host, 0, NULL, NULL),
              "write");
        *write = fmin(*write, 1e6 * (now() - t));
        t = now();
        check(qrn_cl.clEnqueueReadBuffer(l->queue, m, CL_TRUE, 0, 4096, host, 0, NULL, NULL),
              "read");
        *read = fmin(*read, 1e6 * (now() - t));
    }
    qrn_free(host);
    qrn_cl.clReleaseMemObject(m);
}

// fp32 operations a second, in TFLOP/s.
static double measure_fma(const limits *l) {
    cl_kernel k = kernel(l, "fma_rate");
    bool cpu = qrn_cl_is_cpu(l->device);
    size_t group = cpu ? 64 : 256, n = (size_t)l->device->n_units * (cpu ? 256 : 2048);
    cl_mem m = buffer(l, n * sizeof(float));
    const float a = 0.5f, b = 0.5f; // every sum tends to 1
    float sum = 0;
    check(qrn_cl.clSetKernelArg(k, 0, sizeof m, &m), "clSetKernelArg");
    check(qrn_cl.clSetKernelArg(k, 1, sizeof a, &a), "clSetKernelArg");
    check(qrn_cl.clSetKernelArg(k, 2, sizeof b, &b), "clSetKernelArg");
    double best = INFINITY;
    for (int r = 0; r < ROUNDS; r++) {
        double t = now();
        enqueue(l, k, n, group);
        check(qrn_cl.clFinish(l->queue), "clFinish");
        best = fmin(best, now() - t);
    }
    check(qrn_cl.clEnqueueReadBuffer(l->queue, m, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL),
          "read");
    if (fabsf(sum - CHAINS) > 1e-3f) {
        fprintf(stderr, "gpu_limits: multiply-adds give %g, expected %d\n", (double)sum, CHAINS);
        exit(1);
    }
    qrn_cl.clReleaseKernel(k);
    qrn_cl.clReleaseMemObject(m);
    return 2e-12 * (double)n * CHAINS * STEPS / best;
}

static void open_device(limits *l, qrn_cl_device **list, qrn_cl_programs **programs) {
    uint32_t n, at;
    cl_int err;
    must(qrn_cl_open());
    must(qrn_cl_devices(list, &n));
    must(qrn_cl_choose(*list, n, NULL, &at));
    l->device = &(*list)[at];
    l->context = qrn_cl.clCreateContext(NULL, 1, &l->device->id, NULL, NULL, &err);
    check(err, "clCreateContext");
    l->queue = qrn_cl.clCreateCommandQueue(l->context, l->device->id, 0, &err);
    check(err, "clCreateCommandQueue");
    must(qrn_cl_programs_create(l->device, l->context, programs));
    double t = now();
    must(qrn_cl_program(*programs, NULL, &(qrn_cl_source){.text = source, .options = ""},
                        &l->program));
    l->build_ms = 1e3 * (now() - t);
}

int main(void) {
    limits l = {0};
    qrn_cl_device *list = NULL;
    qrn_cl_programs *programs = NULL;
    double many, one, write, read;
    open_device(&l, &list, &programs);
    measure_launches(&l, &many, &one);
    measure_io(&l, &write, &read);
    printf("{\"device\": \"%s\", \"platform\": \"%s\", \"version\": \"%s\", \"driver\": \"%s\", "
           "\"units\": %u, \"cpu\": %s, ",
           l.device->name, l.device->platform_name, l.device->version, l.device->driver,
           l.device->n_units, qrn_cl_is_cpu(l.device) ? "true" : "false");
    printf("\"launch_us\": %.2f, \"launch_finish_us\": %.2f, \"write_image_us\": %.1f, "
           "\"read_4k_us\": %.1f, ",
           many, one, write, read);
    printf("\"copy_gb_s\": %.1f, \"fma_tflop_s\": %.3f, \"build_ms\": %.1f}\n", measure_copy(&l),
           measure_fma(&l), l.build_ms);
    qrn_cl_programs_destroy(programs);
    qrn_cl.clReleaseCommandQueue(l.queue);
    qrn_cl.clReleaseContext(l.context);
    qrn_free(list);
    return 0;
}
