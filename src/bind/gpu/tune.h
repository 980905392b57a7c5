// SPDX-License-Identifier: MIT
//
// Measured choices: which of several variants of a kernel is the fastest on this device. A question
// says everything the answer depends on. With tuning on, finalize measures what is not known yet;
// else what a file holds is used, then what a context binary of the same device holds, then the
// rule of whoever asks. The file (tuning.jsonl in the folder that the client names) has a JSON
// object a line and only grows, so that several can be joined with cat; the last line counts:
//   {"device":"<16 hex digits>","name":"...","family":"gemm","shape":"m196 n512 k256 ...",
//    "types":"f32 f32 f32","precision":"FP32","variant":"gemm_cpu","tile":"8x32","split":1,
//    "local":"1x1x1","layout":"panel32","us":13.5}
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

// A graph begins: it has 10 s for measuring. NULL is fine.
void qrn_gpu_tuner_begin(qrn_gpu_tuner *t);

// What is asked; texts without quotes and semicolons.
typedef struct qrn_gpu_question {
    char family[24], shape[128], types[64];
    uint8_t precision; // qrn_gpu_precision; 255: it does not matter
} qrn_gpu_question;

// An answer. Empty texts and split 0: it has none.
typedef struct qrn_gpu_variant {
    char kernel[32], tile[32], local[32], layout[16];
    uint32_t split;
} qrn_gpu_variant;

typedef struct qrn_gpu_candidates {
    uint32_t n; // number 0 is the rule's, and the reference for the others' results
    void (*describe)(void *ctx, uint32_t i, qrn_gpu_variant *out);
    // Microseconds; negative: this one cannot run, or its results differ. Adds to *spent_us what
    // running it took, without building.
    double (*measure)(void *ctx, uint32_t i, double *spent_us);
    void *ctx;
} qrn_gpu_candidates;

// The number of the candidate to use in the plan of cg (d NULL: no device), and a note in the plan
// when it was measured once. Number 0 wins unless another takes clearly less; equal times give the
// lower number. A question has 50 ms for running candidates; building counts for the graph's time
// alone.
uint32_t qrn_gpu_tune(const qrn_gpu_device *d, qrn_gpu_plan *p, qrn_compiled *cg,
                      const qrn_gpu_question *q, const qrn_gpu_candidates *c);

// The order that qrn_gpu_options.known has.
void qrn_gpu_sort_choices(qrn_gpu_choice *list, uint32_t n);

// Chooses local sizes for the launches of a realized plan that leave them to the driver. `io` are
// buffers for its application tensors; they and the arena are written to.
void qrn_gpu_tune_plan(qrn_gpu_plan *p, cl_mem *io);

#endif
