// SPDX-License-Identifier: MIT
//
// The OpenCL devices of this machine, what they can do, and which one is used.
#ifndef QRN_OPENCL_DEVICE_H
#define QRN_OPENCL_DEVICE_H

#include "opencl/loader.h"

#include <stdbool.h>

// Functions of extensions that a device lists and its driver has; others are NULL.
typedef struct qrn_cl_extensions {
#define X(extension, result, name, params) result(*name) params;
    QRN_CL_EXTENSION_FUNCTIONS(X)
#undef X
} qrn_cl_extensions;

typedef struct qrn_cl_device {
    cl_platform_id platform;
    cl_device_id id;
    char platform_name[96], name[128], vendor[96];
    char version[96], c_version[96], driver[96]; // as the driver writes them
    char tier[16];                               // number of an Adreno, else the name's start
    uint32_t type;                               // CL_DEVICE_TYPE_ bits
    uint32_t major, minor;                       // OpenCL version
    uint32_t n_units, clock_mhz;
    size_t max_group;      // work items
    uint32_t vector_width; // floats of a native vector
    uint64_t memory_bytes, max_alloc_bytes, local_bytes;
    uint32_t align_bytes; // of sub-buffers
    bool unified_memory;
    bool compiler, available;
    bool fp64, fp16, subgroups; // extensions that are listed
    bool perf_hint;             // cl_qcom_perf_hint
    bool context_priority;      // cl_qcom_priority_hint
    bool queue_priority;        // cl_khr_priority_hints
    qrn_cl_extensions ext;
} qrn_cl_device;

// The device is a CPU: launches are dear, work items are loops, local memory is plain memory.
static inline bool qrn_cl_is_cpu(const qrn_cl_device *d) {
    return (d->type & CL_DEVICE_TYPE_CPU) != 0;
}

// All devices, platform by platform; *list is the caller's (qrn_free). No platform is no failure:
// then *n is 0. Needs qrn_cl_open.
qrn_status qrn_cl_devices(qrn_cl_device **list, uint32_t *n);

// The device to use: `wanted` (NULL: QUERN_GPU_DEVICE counts) is its number or a part of a name;
// else Adreno, then GPUs by compute units times clock, then accelerators, then CPUs. Fails with
// QRN_E_INIT where there is none, and with QRN_E_PLATFORM where it is too old.
qrn_status qrn_cl_choose(const qrn_cl_device *list, uint32_t n, const char *wanted,
                         uint32_t *index);

// Why a device cannot be used; NULL: it can.
const char *qrn_cl_device_problem(const qrn_cl_device *d);

#endif
