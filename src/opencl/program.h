// SPDX-License-Identifier: MIT
//
// Built programs of one OpenCL context: each text is built once, and kept as a file where a store
// says so.
#ifndef QRN_OPENCL_PROGRAM_H
#define QRN_OPENCL_PROGRAM_H

#include "opencl/device.h"
#include "opencl/store.h"

typedef struct qrn_cl_programs qrn_cl_programs;

// The device and the context live longer than the programs.
qrn_status qrn_cl_programs_create(const qrn_cl_device *d, cl_context context,
                                  qrn_cl_programs **out);
void qrn_cl_programs_destroy(qrn_cl_programs *p); // NULL is fine

// What a program is built from.
typedef struct qrn_cl_source {
    const char *text;    // OpenCL C, or the bytes of a binary
    size_t binary_bytes; // 0: a text
    const char *options; // of the build
    const char *salt;    // (optional) whatever else makes it another program
} qrn_cl_source;

// The program of a source; of a text from and to a file of the store, which may be NULL. Fails
// with QRN_E_OPTIMIZE and the first lines of the compiler's log. Threads may call it at the same
// time: different programs are built side by side, the same one once.
qrn_status qrn_cl_program(qrn_cl_programs *p, qrn_cl_store *store, const qrn_cl_source *source,
                          cl_program *out);

#endif
