// SPDX-License-Identifier: MIT
//
// OpenCL, opened when it is first needed and never closed: some drivers do not survive that.
#ifndef QRN_OPENCL_LOADER_H
#define QRN_OPENCL_LOADER_H

#include "base/status.h"
#include "opencl/cl.h"

typedef struct qrn_cl_api {
#define X(result, name, params) result(*name) params;
    QRN_CL_FUNCTIONS(X)
    QRN_CL_OPTIONAL_FUNCTIONS(X)
#undef X
} qrn_cl_api;

// The functions; valid after qrn_cl_open succeeded. Written once.
extern qrn_cl_api qrn_cl;

// Opens libOpenCL.so.1, libOpenCL.so, or the first of the paths in QUERN_GPU_LIBOPENCL that can be
// opened. Fails with QRN_E_INIT and says where it looked. May be called again.
qrn_status qrn_cl_open(void);
// Where it was opened; "" before.
const char *qrn_cl_path(void);

// "CL_OUT_OF_RESOURCES"; a number as text for errors that we do not know, in a buffer of the
// thread.
const char *qrn_cl_error(cl_int error);
// Does the error mean that the device or its queue is lost?
_Bool qrn_cl_is_lost(cl_int error);

#endif
