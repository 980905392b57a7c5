// SPDX-License-Identifier: MIT
//
// State of one binding to an OpenCL device, and how kernels are put together; shared by the files
// of this folder, nothing outside sees it.
//
// A kernel file (kernels/*.cl) is written once for all types. Operand X of a kernel is declared
// X_ARG in its parameter list and opened with X_BEGIN; LD_X(i) then is element i as a number (a
// float for floats, whatever they are stored as), LD4_X(i) four of them from i on, ST_X(i, v) and
// ST4_X(i, v) store. HAS_X is 0 for an operand that is absent. Parameters that are lists of numbers
// (shapes, strides) come as P_ARG, P_BEGIN, P[i]. A file with several kernels puts each between
// #ifdef KERNEL_name and #endif: only the one that is wanted is compiled.
//
// Element-wise steps behind a step run in its kernel: EPI(v, i) is what becomes of result v at
// element i of the output, EPI_ARGS ends the parameter list, EPI_BEGIN opens what it needs.
#ifndef QRN_BIND_GPU_BINDER_H
#define QRN_BIND_GPU_BINDER_H

#include "bind/gpu/plan.h"
#include "kernels/conv/conv.h"

#include "cl_texts.h" // made by the build: the texts of kernels/*.cl

#define QRN_GPU_MAX_GROUP 16 // steps of a launch
#define QRN_GPU_MAX_LOADS 12 // operands of its element-wise steps
#define QRN_GPU_MAX_ARGS 40

// Steps that one kernel does: the head, and element-wise ones behind it.
typedef struct qrn_gpu_group {
    uint32_t steps[QRN_GPU_MAX_GROUP];
    uint32_t n;
} qrn_gpu_group;

// A value that lies in rows of `row` elements, `pitch` apart, from element `at` of `whole` on. row
// 0: it does not.
typedef struct qrn_gpu_join {
    qrn_val whole;
    uint32_t row, pitch, at;
} qrn_gpu_join;

typedef struct qrn_gpu_binder {
    qrn_compiled *cg;
    const qrn_gpu_options *opt;
    qrn_gpu_plan *plan;
    uint32_t *readers;      // [n_values] steps that read the memory of an owner
    bool *becomes_integers; // [n_values] floats of the compiler that are converted
    uint32_t *writer;       // [n_values] step that writes an owner, +1; 0: none
    uint32_t *first, *last; // [n_places] launches between which an owner lives
    uint32_t cap_first, cap_last;
    qrn_gpu_group *groups;
    uint32_t n_groups;
    const qrn_gpu_group *group; // being bound
    qrn_gpu_group also;         // steps of other groups that its next launch does
    qrn_gpu_join *joins;        // [n_values]
    bool *skip;                 // [n_steps] steps that others do, or whose results nobody needs
    struct qrn_gpu_attention **attention; // [n_steps] the last matmul of an attention, or NULL
    uint32_t *front;   // [n_steps] step that a convolution does on the way, +1; 0: none
    qrn_val fault;     // the place for reports; valid when the plan has_fault
    size_t host_bytes; // of host steps so far
    // Of the plan's growing arrays.
    uint32_t cap_places, cap_launches, cap_constants, cap_params, cap_states, cap_objects;
} qrn_gpu_binder;

// --- ops

typedef qrn_status (*qrn_gpu_bind_fn)(qrn_gpu_binder *b, const qrn_cstep *s);

typedef struct qrn_gpu_op {
    const qrn_cop *op;
    qrn_gpu_bind_fn bind;
    bool epilogue; // its kernels call EPI
    // (optional) May element-wise steps run in the kernel of this step?
    bool (*may_fuse)(const qrn_gpu_binder *b, const qrn_cstep *s);
} qrn_gpu_op;

// Tables of the ops that are not element-wise, one a file; each ends with a row without an op.
#define QRN_GPU_OP_TABLES(X)                                                                       \
    X(gemm)                                                                                        \
    X(move) X(index) X(reduce) X(norm) X(pool) X(image) X(detect) X(nms) X(boxes) X(seq) X(user)
#define X(name) extern const qrn_gpu_op qrn_gpu_ops_##name[];
QRN_GPU_OP_TABLES(X)
#undef X

const qrn_gpu_op *qrn_gpu_op_of(const qrn_cop *op); // NULL: there is none

// The value that the group writes: out[0] of its last step. Epilogues included.
qrn_val qrn_gpu_result(const qrn_gpu_binder *b);
// A step that no kernel can do; `why` ends the sentence "op X ... cannot run on the GPU: ".
qrn_status qrn_gpu_reject(const qrn_gpu_binder *b, const qrn_cstep *s, const char *why);

// Memory that only the kernels of this step use; a number for qrn_gpu_in and qrn_gpu_out.
qrn_status qrn_gpu_scratch(qrn_gpu_binder *b, qrn_dtype type, size_t count, qrn_val *out);
// Memory that is kept from one execution to the next, at first zeroed.
qrn_status qrn_gpu_state(qrn_gpu_binder *b, qrn_dtype type, size_t count, qrn_val *out);
// A memory object of the plan.
qrn_status qrn_gpu_add_object(qrn_gpu_binder *b, const qrn_gpu_object *o, uint32_t *out);
// A constant of the binder's own: zeroed memory of the graph's arena that the caller fills.
qrn_status qrn_gpu_make_const(qrn_gpu_binder *b, qrn_dtype type, size_t count, qrn_val *out,
                              void **data);

// A constant whose bytes are there already and stay.
qrn_status qrn_gpu_add_const(qrn_gpu_binder *b, qrn_dtype type, const qrn_gpu_const *c,
                             qrn_val *out);
// A constant that is made of a value of the graph in a way that can be stored. *data is NULL when
// it was found (qrn_gpu_options.find): then there is nothing to fill.
qrn_status qrn_gpu_make_packed(qrn_gpu_binder *b, const qrn_cstep *s, qrn_val value,
                               qrn_gpu_packing packing, qrn_dtype type, size_t count, qrn_val *out,
                               void **data);

// move.c: leaves out the transposes that only slices read.
void qrn_gpu_find_slices(qrn_gpu_binder *b);
// bind.c: floats in fp16, rounded to the nearest.
void qrn_gpu_to_f16(const float *src, size_t n, uint16_t *dst);

// move.c: copies `count` elements from x to y. They may be of different float types.
qrn_status qrn_gpu_copy(qrn_gpu_binder *b, qrn_val x, qrn_val y, size_t count);

static inline const qrn_cvalue *qrn_gpu_value(const qrn_gpu_binder *b, qrn_val v) {
    return &b->cg->values[v];
}
size_t qrn_gpu_count(const qrn_gpu_binder *b, qrn_val v); // elements
// Is the value all of the memory that it lies in? Parts of a join are not.
static inline bool qrn_gpu_is_whole(const qrn_gpu_binder *b, qrn_val v) {
    return b->cg->values[qrn_compiled_owner(b->cg, v)].size_bytes == b->cg->values[v].size_bytes;
}
static inline const qrn_shape *qrn_gpu_shape(const qrn_gpu_binder *b, qrn_val v) {
    return &b->cg->values[v].shape;
}
// Elements of dimensions [from, to).
static inline int64_t qrn_gpu_span(const qrn_shape *s, uint32_t from, uint32_t to) {
    int64_t n = 1;
    for (uint32_t d = from; d < to; d++)
        n *= s->dims[d];
    return n;
}
static inline bool qrn_gpu_is_cpu(const qrn_gpu_binder *b) {
    return b->opt->device && qrn_cl_is_cpu(b->opt->device->info);
}

// --- kernels

typedef struct qrn_gpu_text {
    char *data; // heap
    size_t n, cap;
    bool failed;
} qrn_gpu_text;

void qrn_gpu_print(qrn_gpu_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct qrn_gpu_kernel {
    qrn_gpu_binder *b;
    const char *source, *entry;
    qrn_gpu_text defines;
    qrn_gpu_arg args[QRN_GPU_MAX_ARGS];
    uint32_t n_args;
    bool has_pool; // among the arguments is the plan's buffer
    double flops;
    qrn_status status; // the first failure
} qrn_gpu_kernel;

// Starts a kernel of an embedded source (kernels/NAME.cl is qrn_cl_NAME).
qrn_gpu_kernel qrn_gpu_kernel_begin(qrn_gpu_binder *b, const char *source, const char *entry);
// The order of these calls is the order of the kernel's parameters.
void qrn_gpu_in(qrn_gpu_kernel *k, const char *name, qrn_val v); // QRN_VAL_NONE: absent
void qrn_gpu_out(qrn_gpu_kernel *k, const char *name, qrn_val v);
// An object of the plan, of which NAME_ARG makes one parameter: of a kernel that redefines it for
// images. Host memory has elements of `type`.
void qrn_gpu_object_in(qrn_gpu_kernel *k, const char *name, uint32_t object, qrn_dtype type);
void qrn_gpu_int(qrn_gpu_kernel *k, int64_t v); // fails when it does not fit 32 bits
void qrn_gpu_ints(qrn_gpu_kernel *k, const int64_t *values, size_t n);
#define QRN_GPU_INTS(k, ...)                                                                       \
    qrn_gpu_ints(k, (const int64_t[]){__VA_ARGS__},                                                \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
void qrn_gpu_float(qrn_gpu_kernel *k, float v);
void qrn_gpu_params(qrn_gpu_kernel *k, const char *name, const int32_t *values, uint32_t n);
// The same by value: the kernel does not wait for memory before it knows where its operands are.
// All indices must be constants once loops are unrolled.
void qrn_gpu_direct_params(qrn_gpu_kernel *k, const char *name, const int32_t *values, uint32_t n);
// How OpenCL C names a type in memory.
const char *qrn_gpu_type_name(qrn_dtype t);
// A macro of the program.
void qrn_gpu_define(qrn_gpu_kernel *k, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// CLAMP(v): the clamp of a step's results; or another macro (qrn_gpu_clamp_as).
void qrn_gpu_clamp(qrn_gpu_kernel *k, const qrn_clamp *c);
void qrn_gpu_clamp_as(qrn_gpu_kernel *k, const char *macro, const qrn_clamp *c);
// Output F and an int: F[0] gets that number (the step's node + 1) when data name an element that
// is not there; the execution then fails.
void qrn_gpu_fault(qrn_gpu_kernel *k, const qrn_cstep *s);
// An int: the slot of F that gets the first dimension of the outputs in the mask, which depends on
// the data. 0: nobody asks for it.
void qrn_gpu_rows_slot(qrn_gpu_kernel *k, const qrn_cstep *s, uint32_t outputs);
// NAME_REAL: 1 when the operand is stored as floats.
void qrn_gpu_define_real(qrn_gpu_kernel *k, const char *name, qrn_val v);
// Adds the launch, and frees what the kernel holds, also on failure. local NULL: the driver
// chooses. Sizes are rounded up to the group's; a size of 0 makes no launch.
qrn_status qrn_gpu_kernel_end(qrn_gpu_kernel *k, uint32_t n_dims, const size_t *global,
                              const size_t *local);

// Does the argument refer to a value: a number of the plan's places?
static inline bool qrn_gpu_is_value(const qrn_gpu_arg *a) {
    return a->kind == QRN_GPU_ARG_VALUE || a->kind == QRN_GPU_ARG_POOLED ||
           a->kind == QRN_GPU_ARG_BUFFER;
}
// Adds a launch that is complete but for its nodes; arguments live in the graph's arena.
qrn_status qrn_gpu_add_launch(qrn_gpu_binder *b, qrn_gpu_launch *l);

// The same for a kernel that has one work item for each of n things and checks that its is below n.
// Groups have one of two sizes: a CPU driver compiles a kernel anew for each size, and chooses odd
// ones for odd n.
qrn_status qrn_gpu_kernel_items(qrn_gpu_kernel *k, size_t n);

// expr.c: is the step element-wise: can it be part of an expression?
bool qrn_gpu_is_element_wise(const qrn_gpu_binder *b, const qrn_cstep *s);
// Defines EPI, EPI_ARGS, EPI_BEGIN for the element-wise steps of the group, and appends their
// arguments. `whole`: the head is one of them, and EPI(0, i) computes everything.
void qrn_gpu_expression(qrn_gpu_kernel *k, const qrn_gpu_group *g, bool whole);

// host.c, with options.host_steps: can only the CPU do the step?
bool qrn_gpu_wants_host(const qrn_gpu_binder *b, const qrn_cstep *s);
// The steps of a group on the CPU, a launch each.
qrn_status qrn_gpu_bind_host(qrn_gpu_binder *b, const qrn_gpu_group *g);

// attention.c: finds matmul, softmax, matmul that one kernel can do, and the steps that are not
// needed then.
qrn_status qrn_gpu_find_attention(qrn_gpu_binder *b);
// Does this matmul stand for an attention? Then it is bound as one.
bool qrn_gpu_is_attention(const qrn_gpu_binder *b, const qrn_cstep *s);
qrn_status qrn_gpu_bind_attention(qrn_gpu_binder *b, const qrn_cstep *s);

// front.c: finds steps that the convolution behind them does.
qrn_status qrn_gpu_find_fronts(qrn_gpu_binder *b);

// group.c: cuts the steps into groups.
qrn_status qrn_gpu_make_groups(qrn_gpu_binder *b);
// join.c: finds results that are written where a concat step would copy them to.
qrn_status qrn_gpu_find_joins(qrn_gpu_binder *b);
static inline bool qrn_gpu_is_joined(const qrn_gpu_binder *b, qrn_val v) {
    return v < b->cg->n_values && b->joins[v].row != 0;
}

// Sizes of a broadcast: parameters for at() of common.cl: element of `v` for element i of `out`.
// Writes at most 1 + 2 * QRN_MAX_RANK numbers, returns how many.
uint32_t qrn_gpu_broadcast(const qrn_shape *v, const qrn_shape *out, int32_t *params);

#endif
