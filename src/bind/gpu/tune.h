// SPDX-License-Identifier: MIT
//
// Measured choices: which of several variants of a kernel is the fastest on this device, by a key
// that says everything the answer depends on (family, sizes, types). With tuning on, finalize
// measures what is not known yet; else only what a file holds is used. The file (tuning.jsonl in
// the folder that the client names) has a JSON object a line and only grows, so that several can be
// joined with cat:
//   {"device":"<16 hex digits>","key":"local,eltwise,...","variant":2,"us":13.5}
#ifndef QRN_BIND_GPU_TUNE_H
#define QRN_BIND_GPU_TUNE_H

#include "bind/gpu/plan.h"

typedef struct qrn_gpu_tuner qrn_gpu_tuner;

typedef struct qrn_gpu_tuner_options {
    const char *folder; // NULL: nothing is read or written
    bool measure;       // tuning is on
    bool fresh;         // what the file holds is thrown away first
    // (optional) Receives a line when the file cannot be used.
    void (*say)(void *ctx, const char *line);
    void *ctx;
} qrn_gpu_tuner_options;

// The device as records and context binaries name it: a digest of platform, device, driver and
// versions.
void qrn_gpu_device_key(const qrn_cl_device *d, char key[17]);

// NULL: out of memory. A file that cannot be read or written is said, and no failure.
qrn_gpu_tuner *qrn_gpu_tuner_create(const qrn_cl_device *d, const qrn_gpu_tuner_options *o);
void qrn_gpu_tuner_destroy(qrn_gpu_tuner *t); // NULL is fine

// A graph begins: it has 10 s for measuring.
void qrn_gpu_tuner_begin(qrn_gpu_tuner *t);
// The variant for a key, of n: the one that is known, else the fastest by `measure` (microseconds;
// negative: this variant cannot run) within 50 ms, else `fallback`. NULL: the fallback. Equal
// times give the lower number. Variants must not differ in their results.
uint32_t qrn_gpu_tune(qrn_gpu_tuner *t, const char *key, uint32_t n, uint32_t fallback,
                      double (*measure)(void *ctx, uint32_t variant), void *ctx);

// Chooses local sizes for the launches of a realized plan that leave them to the driver. `io` are
// buffers for its application tensors; they and the arena are written to.
void qrn_gpu_tune_plan(qrn_gpu_tuner *t, qrn_gpu_plan *p, cl_mem *io);

#endif
