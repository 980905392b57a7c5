// SPDX-License-Identifier: MIT
//
// The plan: what a finalized graph is. Flat arrays of values and steps; executing walks the steps
// and allocates nothing. Built by src/bind/cpu, immutable afterwards, shared by all executions.
#ifndef QRN_RUNTIME_PLAN_H
#define QRN_RUNTIME_PLAN_H

#include "base/arena.h"
#include "kernels/kernel.h"

// Where the bytes of a value are.
typedef enum qrn_storage {
    QRN_STORE_ARENA, // at `offset` in the execution's arena
    QRN_STORE_CONST, // `data`, owned by the plan
    QRN_STORE_IO,    // application buffer number `io` of the call
    QRN_STORE_PART   // at `offset` in application buffer number `io`
} qrn_storage;

typedef struct qrn_value {
    qrn_view view;        // largest shape; data set for constants only
    qrn_quant quant;      // what view.quant points at when the value is encoded
    size_t size_bytes;    // at the largest shape
    uint8_t storage;      // qrn_storage
    bool dynamic;         // shape may be smaller at execute
    bool conditional;     // written by steps of a branch, which may not run
    bool host_only;       // a constant that kernels of this machine want, and no graph has
    uint32_t io;          // IO, PART: index into plan->io
    size_t offset;        // ARENA, PART
    uint32_t first, last; // ARENA, with memory of its own: steps of first write and last use
    uint32_t base;        // value in whose memory it lies, UINT32_MAX: it has its own
    size_t base_offset;   // where it begins there
    const char *name;     // tensor name, "" for temporaries
    uint32_t tensor_id;   // id of the tensor in the context, 0 for temporaries
} qrn_value;

#define QRN_MAX_CHAINED 4 // steps behind one

typedef enum qrn_step_kind {
    QRN_STEP_KERNEL,
    QRN_STEP_BRANCH, // in[0] is false: go to step `target`
    QRN_STEP_JUMP    // go to step `target`
} qrn_step_kind;

// Sets the current dims of a step's outputs before it runs; `views` holds the current view of every
// value of the plan. For steps with dynamic operands.
struct qrn_step;
struct qrn_plan;
typedef qrn_status (*qrn_reshape_fn)(const struct qrn_plan *p, const struct qrn_step *s,
                                     qrn_view *views);

typedef struct qrn_step {
    uint8_t kind; // qrn_step_kind
    const qrn_family *family;
    const qrn_kernel *kernel; // chosen for this machine
    qrn_domain domain;
    void *args;         // family->args_bytes, or NULL
    uint32_t *in, *out; // value indices, UINT32_MAX = absent
    uint32_t n_in, n_out;
    size_t scratch_offset, scratch_bytes; // in the arena
    size_t state_offset, state_bytes;     // in the graph's state block
    uint32_t target;                      // BRANCH: behind the JUMP that ends the branch; JUMP
    uint32_t node;                        // index into plan->nodes
    uint32_t n_chained; // steps behind it that run with it: on each part of its result, as it comes
    qrn_reshape_fn reshape; // NULL unless an operand is dynamic
} qrn_step;

// A node of the graph as far as executing cares: for profiles, traces and dynamic shapes.
typedef struct qrn_plan_node {
    const char *name, *type;
    const void *ir;     // the compiler's node, for reshape and trace
    uint32_t *in, *out; // values of its tensors, UINT32_MAX = absent
    uint32_t n_in, n_out;
} qrn_plan_node;

typedef struct qrn_io {
    uint32_t value; // index into values
    uint32_t tensor_id;
    bool is_output;
    bool optional; // may be left out of a call
} qrn_io;

// A packed constant; qrn_runner_finish has to write it unless it is written already.
typedef void (*qrn_pack_fn)(const void *args, const void *src, void *dst);
typedef struct qrn_plan_packing {
    qrn_pack_fn pack; // NULL: written already
    const void *args, *src;
    void *dst;
    uint32_t id;         // qrn_packing_id
    uint32_t tensor_id;  // of the source
    uint32_t node;       // position of its node in the graph
    uint32_t value;      // of the packed form
    uint32_t source;     // value of the tensor
    bool drops;          // nothing needs the tensor's own data afterwards
    const void **holder; // who else points to that data; set to NULL with it
} qrn_plan_packing;

// A constant that kernels of this machine want beside those of the graph: made of another one when
// the plan is first run, in memory of the runner, and never stored.
typedef struct qrn_plan_late {
    qrn_pack_fn pack;
    const void *args;
    uint32_t from, value; // values of the plan
} qrn_plan_late;

typedef struct qrn_plan {
    qrn_arena *arena; // owns everything below
    qrn_value *values;
    qrn_step *steps;
    qrn_io *io; // application tensors: inputs first, then outputs, in creation order
    qrn_plan_node *nodes;
    qrn_plan_packing *packings;
    uint32_t n_packings;
    qrn_plan_late *late;
    uint32_t n_late;
    uint32_t *parts; // values with QRN_STORE_PART
    uint32_t n_parts;
    uint32_t n_values, n_steps, n_io, n_nodes;
    uint32_t max_operands; // largest n_in + n_out of a step
    uint32_t max_tasks;    // most tasks a step may be cut into: scratch is planned for that many
    size_t arena_bytes;    // memory one execution needs
    size_t bound_bytes;    // the part of it that is alive at the step that needs most
    size_t state_bytes;    // memory of the state block, one per graph
    size_t const_bytes;    // constants held by the plan
    bool dynamic;          // some value is dynamic or some output shape depends on data
    bool optional_io;      // some application tensor may be left out
    bool may_block;        // some step may not run: BLOCKED, or in a branch
} qrn_plan;

void qrn_plan_destroy(qrn_plan *p); // NULL is fine

#endif
