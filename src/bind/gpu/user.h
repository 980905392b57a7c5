// SPDX-License-Identifier: MIT
//
// Ops of user packages as this folder sees them: kernels that somebody else wrote, with plain
// buffers as arguments. The step's attributes point to one of these.
#ifndef QRN_BIND_GPU_USER_H
#define QRN_BIND_GPU_USER_H

#include "bind/gpu/plan.h"

typedef enum qrn_gpu_user_arg_kind {
    QRN_GPU_USER_IN,       // operand `index` of the step
    QRN_GPU_USER_OUT,      // result `index`
    QRN_GPU_USER_INTERNAL, // memory `index` of the op itself
    QRN_GPU_USER_NULL,     // a null pointer
    QRN_GPU_USER_LOCAL,    // `bytes` of local memory
    QRN_GPU_USER_DATA      // `size` bytes of `bytes`
} qrn_gpu_user_arg_kind;

typedef struct qrn_gpu_user_arg {
    uint8_t kind; // qrn_gpu_user_arg_kind
    uint8_t size;
    uint32_t index;
    uint64_t bytes;
} qrn_gpu_user_arg;

typedef struct qrn_gpu_user_kernel {
    const char *text, *options, *entry;
    const qrn_gpu_user_arg *args;
    uint32_t n_args, n_dims;
    size_t global[3], local[3];  // local[0] 0: the driver's choice
    const qrn_gpu_local *locals; // other sizes that it runs with, for tuning
    uint32_t n_locals;
} qrn_gpu_user_kernel;

// All of it lives at least as long as the compiled graph.
typedef struct qrn_gpu_user_op {
    const qrn_gpu_user_kernel *kernels;
    uint32_t n_kernels;
    const size_t *internal_bytes;
    uint32_t n_internals;
} qrn_gpu_user_op;

// Attributes of a step.
typedef struct qrn_gpu_user_args {
    const qrn_gpu_user_op *op;
} qrn_gpu_user_args;

extern const qrn_cop qrn_gpu_user_cop;

#endif
