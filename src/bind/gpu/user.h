// SPDX-License-Identifier: MIT
//
// Ops of user packages as this folder sees them: kernels that somebody else wrote. Tensors are
// plain buffers, or have a form that a package chose. The step's attributes point to one of these.
#ifndef QRN_BIND_GPU_USER_H
#define QRN_BIND_GPU_USER_H

#include "bind/gpu/plan.h"

// Order of the elements of a form. With 4 lanes C is the number of slices of four channels.
typedef enum qrn_gpu_order { QRN_GPU_NDHWC, QRN_GPU_NDHCW, QRN_GPU_NCDHW } qrn_gpu_order;

enum { QRN_GPU_N, QRN_GPU_D, QRN_GPU_H, QRN_GPU_W, QRN_GPU_C, QRN_GPU_FORM_DIMS };

// One memory object of a form: all of the tensor, or a tile of it.
typedef struct qrn_gpu_element {
    uint32_t dims[QRN_GPU_FORM_DIMS];
    uint32_t origin[QRN_GPU_FORM_DIMS]; // in the tensor
    uint32_t item; // while bound: BUFFER a place of the plan, else an object of it
} qrn_gpu_element;

// How a package stores a tensor, or memory of its own. Images have four channels a texel: a row
// has W * C (NDHWC, NDHCW) or W texels (NCDHW), an image of an array H rows.
typedef struct qrn_gpu_user_form {
    uint8_t kind;  // qrn_gpu_object_kind
    uint8_t order; // qrn_gpu_order
    uint8_t lanes; // 1, or 4: channels come in slices of four
    qrn_dtype type;
    uint32_t dims[QRN_GPU_FORM_DIMS]; // of the whole tensor
    qrn_gpu_element *elements;
    uint32_t n_elements;
    int32_t copy_of; // operand that it is a copy of; -1: none
} qrn_gpu_user_form;

typedef enum qrn_gpu_user_arg_kind {
    QRN_GPU_USER_IN,    // operand `index` of the step
    QRN_GPU_USER_OUT,   // result `index`
    QRN_GPU_USER_FORM,  // element `index` of `form`
    QRN_GPU_USER_NULL,  // a null pointer
    QRN_GPU_USER_LOCAL, // `bytes` of local memory
    QRN_GPU_USER_DATA   // `size` bytes of `bytes`
} qrn_gpu_user_arg_kind;

typedef struct qrn_gpu_user_arg {
    uint8_t kind; // qrn_gpu_user_arg_kind
    uint8_t size;
    uint32_t index;
    qrn_gpu_user_form *form;
    uint64_t bytes;
} qrn_gpu_user_arg;

typedef struct qrn_gpu_user_kernel {
    qrn_cl_source source;
    const char *entry;
    const qrn_gpu_user_arg *args;
    uint32_t n_args, n_dims;
    size_t global[3], local[3];  // local[0] 0: the driver's choice
    const qrn_gpu_local *locals; // other sizes that it runs with, for tuning
    uint32_t n_locals;
    // (optional) Reads sizes and data of the launch again, before each execution.
    qrn_status (*refresh)(void *refresh_ctx, qrn_gpu_launch *l);
    void *refresh_ctx;
} qrn_gpu_user_kernel;

// A result that kernels write in a form.
typedef struct qrn_gpu_user_result {
    uint32_t out;
    qrn_gpu_user_form *form;
} qrn_gpu_user_result;

// All of it lives at least as long as the compiled graph.
typedef struct qrn_gpu_user_op {
    const qrn_gpu_user_kernel *kernels;
    uint32_t n_kernels;
    qrn_gpu_user_form **forms; // that the op owns
    uint32_t n_forms;
    const qrn_gpu_user_result *results;
    uint32_t n_results;
} qrn_gpu_user_op;

// Attributes of a step.
typedef struct qrn_gpu_user_args {
    const qrn_gpu_user_op *op;
} qrn_gpu_user_args;

extern const qrn_cop qrn_gpu_user_cop;

// form.c: memory of a form, and the launches between it and a plain tensor.
struct qrn_gpu_binder;
qrn_status qrn_gpu_user_form_make(struct qrn_gpu_binder *b, qrn_gpu_user_form *f);
qrn_status qrn_gpu_user_form_unpack(struct qrn_gpu_binder *b, const qrn_gpu_user_form *f,
                                    qrn_val y);
// Elements of a form, lanes included.
uint64_t qrn_gpu_element_count(const qrn_gpu_user_form *f, const qrn_gpu_element *e);

#endif
