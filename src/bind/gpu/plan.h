// SPDX-License-Identifier: MIT
//
// What a compiled graph becomes on an OpenCL device: launches in order, and the memory that they
// use. The first half is data (texts of programs, arguments by number); qrn_gpu_realize makes the
// OpenCL objects of it, and can do so again in another OpenCL context.
#ifndef QRN_BIND_GPU_PLAN_H
#define QRN_BIND_GPU_PLAN_H

#include "base/pool.h"
#include "compiler/compiled.h"
#include "opencl/program.h"

// An OpenCL device with a context, as plans use it. The owner outlives the plans.
typedef struct qrn_gpu_device {
    const qrn_cl_device *info;
    cl_context context;
    cl_command_queue queue; // for uploads while a plan is realized
    qrn_cl_programs *programs;
    qrn_cl_store *store;           // where they are kept, or NULL
    qrn_pool *pool;                // threads that build them, or NULL
    struct qrn_gpu_shares *shares; // of constants that plans have in common, or NULL
    struct qrn_gpu_tuner *tuner;   // measured choices, or NULL
    bool mma;                      // tensor cores can be used through inline PTX: qrn_gpu_probe
    bool half_math;                // additions and products of fp16 numbers: qrn_gpu_probe_half
    bool direct;                   // kernels can use pinned memory while it is mapped
} qrn_gpu_device;

// Finds out by test programs what the device can do. Never fails.
void qrn_gpu_probe(qrn_gpu_device *d);
void qrn_gpu_probe_half(qrn_gpu_device *d);

typedef enum qrn_gpu_space {
    QRN_GPU_NOWHERE,
    QRN_GPU_ARENA, // memory of an execution
    QRN_GPU_CONST, // constant number `index`
    QRN_GPU_IO,    // application tensor number `index`
    QRN_GPU_STATE, // kept from one execution to the next; block number `index`
    QRN_GPU_FAULT  // one int: where kernels report data that name elements that are not there
} qrn_gpu_space;

// Where a value is and in which type it is stored: floats of the graph are f32 or f16 there.
typedef struct qrn_gpu_place {
    uint8_t space; // qrn_gpu_space
    qrn_dtype type;
    uint32_t index;  // ARENA: 0; UINT32_MAX: no launch touches it, so it has no memory
    uint64_t offset; // bytes
} qrn_gpu_place;

typedef enum qrn_gpu_arg_kind {
    QRN_GPU_ARG_VALUE,  // two arguments: a buffer, and the element where the value begins (ulong)
    QRN_GPU_ARG_POOL,   // the plan's buffer
    QRN_GPU_ARG_POOLED, // the element of that buffer where the value begins (ulong)
    QRN_GPU_ARG_PARAMS, // the element of that buffer where parameters begin (ulong)
    QRN_GPU_ARG_DIRECT, // `item` parameters from number `i` on, by value
    QRN_GPU_ARG_INT,
    QRN_GPU_ARG_FLOAT,
    QRN_GPU_ARG_LOCAL,  // bytes of local memory
    QRN_GPU_ARG_BUFFER, // one argument: a buffer that begins with the value (user ops)
    QRN_GPU_ARG_BYTES,  // `item` bytes, at most 8, as they are (user ops)
    QRN_GPU_ARG_OBJECT  // object `item` of the plan (user ops)
} qrn_gpu_arg_kind;

typedef struct qrn_gpu_arg {
    uint8_t kind;  // qrn_gpu_arg_kind
    uint32_t item; // VALUE: number in the plan's places, QRN_VAL_NONE: a null pointer
    union {
        int32_t i;
        float f;
        uint64_t bytes;
    };
} qrn_gpu_arg;

// Sizes of a work group.
typedef struct qrn_gpu_local {
    size_t size[3];
} qrn_gpu_local;

// A step that runs on the CPU, with host memory for its operands.
typedef struct qrn_gpu_host {
    const qrn_cstep *step;
    const qrn_kernel *kernel;
    qrn_view *views, **ptrs; // inputs, then outputs
    qrn_kcall call;
    void *staging; // for a value that the device stores in 16 bits
} qrn_gpu_host;

typedef struct qrn_gpu_launch {
    qrn_cl_source source; // the program
    const char *entry;    // its kernel
    qrn_gpu_arg *args;
    uint32_t n_args, n_dims;
    size_t global[3], local[3];  // local[0] 0: the driver's choice
    const qrn_gpu_local *locals; // that tuning may choose instead: the writer of the kernel says so
    uint32_t n_locals;
    const uint32_t *nodes; // of the compiled graph, that it does a part of, in order
    uint32_t n_nodes;
    double flops;                    // of a GEMM, for reports; 0: unknown
    const struct qrn_gpu_host *host; // a step that runs on the CPU; NULL: a kernel
    // (optional) Called before each execution: sizes and data may have changed (user ops).
    qrn_status (*refresh)(void *refresh_ctx, struct qrn_gpu_launch *l);
    void *refresh_ctx;
    // realized:
    cl_kernel kernel;
    uint16_t *io_args; // pairs: argument, application tensor
    uint32_t n_io_args;
} qrn_gpu_launch;

// How the bytes of a constant are made of a value of the compiled graph. Context binaries store
// these numbers (docs/context-binary.md): never change or reuse one.
typedef enum qrn_gpu_packing {
    QRN_GPU_PACKING_NONE = 0,      // not stored: small, or made of nothing
    QRN_GPU_PACKING_F16 = 1,       // the value in fp16
    QRN_GPU_PACKING_F32 = 2,       // a value of another type in f32
    QRN_GPU_PACKING_PANEL32 = 3,   // [N/32][K][32] f32
    QRN_GPU_PACKING_PANEL64 = 4,   // [N/64][K rounded up to 16][64] f32
    QRN_GPU_PACKING_MMA_F16 = 5,   // [N/8][K/32][32 lanes][8] fp16
    QRN_GPU_PACKING_MMA_F32 = 6,   // [N/8][K/16][32 lanes][4] f32
    QRN_GPU_PACKING_GEMV_BITS = 7, // [N][K] of 4 or 8 bits in words; scales are encodings
    QRN_GPU_PACKING_GEMV_MMA = 8,  // [N/16][K/64][32 lanes][4] words of 4 bits: gemv_mma.cl
    QRN_GPU_PACKING_ROWS_F32 = 9,  // [N][K] f32
    QRN_GPU_PACKING_ROWS_F16 = 10  // [N][K] fp16
} qrn_gpu_packing;

// The name of a constant within a graph.
typedef struct qrn_gpu_form {
    uint32_t step;    // that reads it; UINT32_MAX: every one does
    uint32_t value;   // that it is made of
    uint32_t packing; // qrn_gpu_packing
} qrn_gpu_form;

// A constant of the plan: bytes to upload.
typedef struct qrn_gpu_const {
    const void *data; // bytes as they are uploaded
    uint64_t bytes;
    qrn_gpu_form form; // packing NONE: it has no name
    bool writable;     // kernels write it, and leave it as it was: not shared with other plans
    // realized:
    bool pooled;      // it lies in the plan's buffer, from `pool_at` on
    uint64_t pool_at; // bytes
    cl_mem memory;    // else
} qrn_gpu_const;

// Kinds of memory objects; the numbers are those of the API's.
typedef enum qrn_gpu_object_kind {
    QRN_GPU_OBJECT_HOST = 0,
    QRN_GPU_OBJECT_BUFFER = 1, // a place of the plan, never an object of it
    QRN_GPU_OBJECT_IMAGE2D = 2,
    QRN_GPU_OBJECT_IMAGE2D_ARRAY = 3,
    QRN_GPU_OBJECT_IMAGE1D_BUFFER = 7
} qrn_gpu_object_kind;

// Memory that is no plain buffer (user ops). Images have four channels a texel.
typedef struct qrn_gpu_object {
    uint8_t kind; // qrn_gpu_object_kind
    qrn_dtype type;
    size_t width, height, slices; // texels; HOST: elements
    cl_mem memory, below;         // realized; below: the buffer under an IMAGE1D_BUFFER
} qrn_gpu_object;

// A measured choice: question and winner in the words of tune.h.
typedef struct qrn_gpu_choice {
    const char *key, *winner;
} qrn_gpu_choice;

#define QRN_GPU_MAX_ROWS 32

// An output whose first dimension depends on the data: kernels leave it in a slot of the reports.
typedef struct qrn_gpu_rows_of {
    uint32_t io, slot;
} qrn_gpu_rows_of;

typedef struct qrn_gpu_plan {
    qrn_compiled *cg;      // destroyed with the plan, which lives in its arena
    qrn_gpu_place *places; // [n_places]; the first are those of the graph's values
    uint32_t n_places;
    qrn_gpu_launch *launches;
    uint32_t n_launches;
    qrn_gpu_const *constants;
    uint32_t n_constants;
    int32_t *params;
    uint32_t n_params;
    uint64_t *states; // bytes
    uint32_t n_states;
    qrn_gpu_object *objects;
    uint32_t n_objects;
    size_t arena_bytes, bound_bytes;
    bool has_fault; // some kernel may report: executions read the place
    qrn_gpu_rows_of rows_of[QRN_GPU_MAX_ROWS];
    uint32_t n_rows_of, n_slots; // slots of the reports: 1 is the first
    uint32_t n_host;             // launches that are host steps
    uint32_t n_packed, n_found;  // constants with a name: made here, and found (options.find)
    qrn_gpu_choice *choices;     // that it was made with
    const qrn_gpu_choice *known; // qrn_gpu_options.known
    uint32_t n_choices, n_known;
    bool tuned; // local sizes were chosen
    // realized:
    const qrn_gpu_device *device;
    // One buffer for the arena, then the parameters and small constants: a launch costs host time
    // for each buffer among its arguments.
    cl_mem arena;
    uint64_t params_at, pool_bytes;
    cl_mem *parts; // [n_parts] of the arena, for QRN_GPU_ARG_BUFFER
    uint32_t n_parts;
    cl_mem fault_memory;  // cl_ints: 0, or the number of a node + 1; then the slots
    cl_mem *state_memory; // [n_states], cleared
} qrn_gpu_plan;

typedef enum qrn_gpu_precision {
    QRN_GPU_FP32,
    QRN_GPU_FP16,
    QRN_GPU_HYBRID,
    QRN_GPU_USER
} qrn_gpu_precision;

typedef struct qrn_gpu_options {
    const qrn_gpu_device *device;
    uint8_t precision; // qrn_gpu_precision
    bool keep_memory;  // every value has its own memory
    bool keep_nodes;   // no launch does more than one step
    bool host_steps;   // steps without a kernel run on the CPU
    size_t most_bytes; // of host memory that host steps may take; 0: no limit
    // (optional) USER: the type that the client declared for a tensor. `ctx` is for all below.
    qrn_dtype (*declared)(void *ctx, uint32_t tensor_id);
    void *ctx;
    // (optional) The bytes of a constant that was made before; NULL: it has to be made. They stay
    // as long as the plan.
    const void *(*find)(void *ctx, const qrn_gpu_form *form, uint64_t bytes);
    // (optional) Choices that were measured on this device before; they stay as long as the plan.
    // Sorted: qrn_gpu_sort_choices.
    const qrn_gpu_choice *known;
    uint32_t n_known;
    // (optional) Called with one line per launch.
    void (*explain)(void *explain_ctx, const char *line);
    void *explain_ctx;
} qrn_gpu_options;

// check.c: what qrn_bind_gpu counts on beyond qrn_compiled_verify; for graphs from files, which
// must have passed that. Fails with QRN_E_BINARY.
qrn_status qrn_gpu_check_graph(const qrn_compiled *cg);
// Chooses kernels and plans memory. The plan takes the graph over when it succeeds. Fails with
// QRN_E_UNSUPPORTED-like statuses that name the node.
qrn_status qrn_bind_gpu(qrn_compiled *cg, const qrn_gpu_options *opt, qrn_gpu_plan **plan);
// Builds programs, uploads constants, sets arguments. On failure nothing is left. QRN_E_MEM: the
// device's memory is too small.
qrn_status qrn_gpu_realize(qrn_gpu_plan *p, const qrn_gpu_device *d);
void qrn_gpu_unrealize(qrn_gpu_plan *p);
// A buffer for a realized plan, filled from `data` unless that is NULL. It is there when this
// returns: drivers that wait for the first use are made to allocate.
qrn_status qrn_gpu_new_buffer(const qrn_gpu_plan *p, uint64_t bytes, const void *data, cl_mem *out);
void qrn_gpu_plan_destroy(qrn_gpu_plan *p); // NULL is fine
// The buffer of a place of a realized plan, and where in it the place begins, in bytes. NULL:
// application tensors come with each execution.
cl_mem qrn_gpu_memory_of(const qrn_gpu_plan *p, const qrn_gpu_place *at, uint64_t *offset);

// object.c: memory of qrn_gpu_plan.objects, as parts of the two functions above.
qrn_status qrn_gpu_objects_make(qrn_gpu_plan *p);
void qrn_gpu_objects_drop(qrn_gpu_plan *p);
uint64_t qrn_gpu_object_bytes(const qrn_gpu_object *o);
bool qrn_gpu_is_texel(qrn_dtype t); // can images have it?

#endif
