// SPDX-License-Identifier: MIT
//
// The GPU backend as the commands see it: the precision that --precision asks for, and the device
// that computes.
#ifndef QRN_TOOLS_QUERN_GPU_H
#define QRN_TOOLS_QUERN_GPU_H

#include "frontend/client/client.h"
#include "opencl/device.h"
#include "tools/quern/output.h"

// The values of --precision, separated by '|'.
#define QT_GPU_PRECISIONS "fp32|fp16|hybrid|user"

bool qt_is_gpu(const qc_client *c);
// Options of a graph for a value of --precision; NULL: none are needed. They live as long as the
// program; one precision at a time.
const QnnGraph_Config_t **qt_gpu_configs(const char *precision);

// The OpenCL devices of this machine as the library sees them.
typedef struct qt_gpu {
    const char *library;    // where OpenCL was opened; "" when there is none
    qrn_cl_device *devices; // from qrn_cl_devices
    uint32_t n, chosen;     // chosen is UINT32_MAX where `error` says why there is none
    char error[640];
} qt_gpu;
void qt_gpu_read(qt_gpu *g);
void qt_gpu_free(qt_gpu *g); // a cleared one is fine

// "NVIDIA H200 (NVIDIA CUDA, driver 580.1)" of the chosen device; "" where it is not known, which
// is so for libraries of others.
void qt_gpu_name(const qc_client *c, char *text, size_t size);
// Adds "device" and "precision" to a report, of a GPU only.
void qt_gpu_json(const qc_client *c, const char *precision, json_t *report);

#endif
