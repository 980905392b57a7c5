// SPDX-License-Identifier: MIT
//
// Between the library and OpenCL: counts objects that live, lets the n-th call of those that make
// or enqueue something fail, and announces extensions that the driver lacks. shim_begin puts it
// there, shim_end takes it away; backends that see other extensions are created in between.
#ifndef QRN_TESTS_CL_SHIM_H
#define QRN_TESTS_CL_SHIM_H

#include "opencl/loader.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static qrn_cl_api real;       // what is below
static bool shim_in_place;    // between shim_begin and shim_end
static atomic_uint shim_left; // calls until one fails; 0: none does
static atomic_int shim_live;  // objects

// One call less; does this one fail?
static bool fails(void) {
    unsigned n = shim_left;
    while (n && !atomic_compare_exchange_weak(&shim_left, &n, n - 1))
        ;
    return n == 1;
}

static inline void *shim_made(void *object) {
    shim_live += object != NULL;
    return object;
}

static cl_context shim_context(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
                               void (*f)(const char *, const void *, size_t, void *), void *u,
                               cl_int *err) {
    *err = CL_OUT_OF_HOST_MEMORY;
    cl_context c = fails() ? NULL : real.clCreateContext(p, n, d, f, u, err);
    return shim_made(c);
}
static cl_int shim_retain_context(cl_context c) {
    shim_live++;
    return real.clRetainContext(c);
}
static cl_int shim_release_context(cl_context c) {
    shim_live--;
    return real.clReleaseContext(c);
}
static cl_command_queue shim_queue(cl_context c, cl_device_id d, cl_bitfield f, cl_int *err) {
    *err = CL_OUT_OF_HOST_MEMORY;
    cl_command_queue q = fails() ? NULL : real.clCreateCommandQueue(c, d, f, err);
    return shim_made(q);
}
static cl_int shim_retain_queue(cl_command_queue q) {
    shim_live++;
    return real.clRetainCommandQueue(q);
}
static cl_int shim_release_queue(cl_command_queue q) {
    shim_live--;
    return real.clReleaseCommandQueue(q);
}
static cl_mem shim_buffer(cl_context c, cl_bitfield f, size_t n, void *host, cl_int *err) {
    *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_mem m = fails() ? NULL : real.clCreateBuffer(c, f, n, host, err);
    return shim_made(m);
}
static cl_mem shim_image(cl_context c, cl_bitfield f, const cl_image_format *t,
                         const cl_image_desc *d, void *host, cl_int *err) {
    *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_mem m = fails() ? NULL : real.clCreateImage(c, f, t, d, host, err);
    return shim_made(m);
}
static cl_mem shim_sub_buffer(cl_mem b, cl_bitfield f, cl_uint t, const void *r, cl_int *err) {
    *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_mem m = fails() ? NULL : real.clCreateSubBuffer(b, f, t, r, err);
    return shim_made(m);
}
static cl_int shim_retain_mem(cl_mem m) {
    shim_live++;
    return real.clRetainMemObject(m);
}
static cl_int shim_release_mem(cl_mem m) {
    shim_live--;
    return real.clReleaseMemObject(m);
}
static cl_program shim_source(cl_context c, cl_uint n, const char **t, const size_t *l,
                              cl_int *err) {
    *err = CL_OUT_OF_HOST_MEMORY;
    cl_program p = fails() ? NULL : real.clCreateProgramWithSource(c, n, t, l, err);
    return shim_made(p);
}
static cl_program shim_binary(cl_context c, cl_uint n, const cl_device_id *d, const size_t *l,
                              const unsigned char **b, cl_int *status, cl_int *err) {
    *err = CL_INVALID_BINARY;
    cl_program p = fails() ? NULL : real.clCreateProgramWithBinary(c, n, d, l, b, status, err);
    return shim_made(p);
}
static cl_int shim_build(cl_program p, cl_uint n, const cl_device_id *d, const char *o,
                         void (*f)(cl_program, void *), void *u) {
    return fails() ? CL_BUILD_PROGRAM_FAILURE : real.clBuildProgram(p, n, d, o, f, u);
}
static cl_int shim_release_program(cl_program p) {
    shim_live--;
    return real.clReleaseProgram(p);
}
static cl_kernel shim_kernel(cl_program p, const char *name, cl_int *err) {
    *err = CL_OUT_OF_HOST_MEMORY;
    cl_kernel k = fails() ? NULL : real.clCreateKernel(p, name, err);
    return shim_made(k);
}
static cl_int shim_release_kernel(cl_kernel k) {
    shim_live--;
    return real.clReleaseKernel(k);
}
static cl_int shim_arg(cl_kernel k, cl_uint i, size_t n, const void *v) {
    return fails() ? CL_INVALID_ARG_VALUE : real.clSetKernelArg(k, i, n, v);
}
static cl_int shim_run(cl_command_queue q, cl_kernel k, cl_uint n, const size_t *a, const size_t *b,
                       const size_t *c, cl_uint ne, const cl_event *e, cl_event *out) {
    return fails() ? CL_INVALID_WORK_GROUP_SIZE
                   : real.clEnqueueNDRangeKernel(q, k, n, a, b, c, ne, e, out);
}
static cl_int shim_read(cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, void *p,
                        cl_uint ne, const cl_event *e, cl_event *out) {
    return fails() ? CL_OUT_OF_HOST_MEMORY
                   : real.clEnqueueReadBuffer(q, m, block, at, n, p, ne, e, out);
}
static cl_int shim_write(cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n,
                         const void *p, cl_uint ne, const cl_event *e, cl_event *out) {
    return fails() ? CL_OUT_OF_HOST_MEMORY
                   : real.clEnqueueWriteBuffer(q, m, block, at, n, p, ne, e, out);
}
static cl_int shim_fill(cl_command_queue q, cl_mem m, const void *v, size_t vn, size_t at, size_t n,
                        cl_uint ne, const cl_event *e, cl_event *out) {
    return fails() ? CL_OUT_OF_HOST_MEMORY
                   : real.clEnqueueFillBuffer(q, m, v, vn, at, n, ne, e, out);
}
static cl_int shim_finish(cl_command_queue q) {
    cl_int err = real.clFinish(q);
    return fails() ? CL_OUT_OF_RESOURCES : err;
}

// Call number n fails; 0: none does. Objects are counted from here on.
static inline void shim_begin(unsigned n) {
    shim_in_place = true;
    real = qrn_cl;
    shim_left = n;
    shim_live = 0;
    qrn_cl.clCreateContext = shim_context;
    qrn_cl.clRetainContext = shim_retain_context;
    qrn_cl.clReleaseContext = shim_release_context;
    qrn_cl.clCreateCommandQueue = shim_queue;
    qrn_cl.clRetainCommandQueue = shim_retain_queue;
    qrn_cl.clReleaseCommandQueue = shim_release_queue;
    qrn_cl.clCreateBuffer = shim_buffer;
    qrn_cl.clCreateImage = shim_image;
    qrn_cl.clCreateSubBuffer = shim_sub_buffer;
    qrn_cl.clRetainMemObject = shim_retain_mem;
    qrn_cl.clReleaseMemObject = shim_release_mem;
    qrn_cl.clCreateProgramWithSource = shim_source;
    qrn_cl.clCreateProgramWithBinary = shim_binary;
    qrn_cl.clBuildProgram = shim_build;
    qrn_cl.clReleaseProgram = shim_release_program;
    qrn_cl.clCreateKernel = shim_kernel;
    qrn_cl.clReleaseKernel = shim_release_kernel;
    qrn_cl.clSetKernelArg = shim_arg;
    qrn_cl.clEnqueueNDRangeKernel = shim_run;
    qrn_cl.clEnqueueReadBuffer = shim_read;
    qrn_cl.clEnqueueWriteBuffer = shim_write;
    qrn_cl.clEnqueueFillBuffer = shim_fill;
    qrn_cl.clFinish = shim_finish;
}

static inline void shim_end(void) {
    qrn_cl = real;
    shim_in_place = false;
}

// A test that fails between the two leaves the shim to the next one, whose calls would then call
// themselves: every test of a file with a shim ends like this.
static inline int shim_teardown(void **state) {
    (void)state;
    if (shim_in_place)
        shim_end();
    return 0;
}

#define SHIM_TEST(test) cmocka_unit_test_teardown(test, shim_teardown)

// --- extensions

typedef struct shim_function {
    const char *name;
    void *function;
} shim_function;

static const char *shim_listed;             // extensions
static const shim_function *shim_functions; // of them; ends with a row without a name

static cl_int shim_device_info(cl_device_id d, cl_uint what, size_t size, void *out, size_t *n) {
    if (what != CL_DEVICE_EXTENSIONS)
        return real.clGetDeviceInfo(d, what, size, out, n);
    if (out)
        snprintf(out, size, "cl_khr_fp64 %s", shim_listed);
    if (n)
        *n = strlen(shim_listed) + 13;
    return CL_SUCCESS;
}

static void *shim_address(cl_platform_id p, const char *name) {
    (void)p;
    for (const shim_function *f = shim_functions; f && f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f->function;
    return NULL;
}

// After shim_begin: the device has these extensions and no other.
static inline void shim_announce(const char *extensions, const shim_function *functions) {
    shim_listed = extensions;
    shim_functions = functions;
    qrn_cl.clGetDeviceInfo = shim_device_info;
    qrn_cl.clGetExtensionFunctionAddressForPlatform = shim_address;
}

#endif
