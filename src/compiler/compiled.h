// SPDX-License-Identifier: MIT
//
// The compiled graph: what is left of a graph after lowering and the passes. Flat arrays of values,
// steps and constants that refer to each other by number. A step names an op (op.h), its
// attributes and operands; there is no kernel, no instruction set and no address of a tensor in
// it. Context binaries store it, `quern show --compiled` prints it, and a binder (src/bind) makes
// it executable on a device.
#ifndef QRN_COMPILER_COMPILED_H
#define QRN_COMPILER_COMPILED_H

#include "base/arena.h"
#include "base/fp16.h"
#include "compiler/op.h"
#include "ir/tensor.h"

// A value: number in qrn_compiled.values.
typedef uint32_t qrn_val;
#define QRN_VAL_NONE UINT32_MAX

typedef enum qrn_cvalue_kind {
    QRN_CV_TEMP,  // made by a step
    QRN_CV_CONST, // constant number `constant`
    QRN_CV_IO     // application tensor number `io`
} qrn_cvalue_kind;

typedef struct qrn_cvalue {
    uint8_t kind;     // qrn_cvalue_kind
    bool dynamic;     // shape may be smaller at execute
    bool conditional; // written by steps of a branch, which may not run
    qrn_dtype dtype;
    qrn_shape shape;        // largest one
    uint32_t n_sparse;      // sparse storage: specified elements (0 = dense)
    uint32_t n_sparse_dims; // sparse storage: indexed outermost dimensions
    qrn_quant quant;        // kind NONE: plain numbers
    size_t size_bytes;      // at the largest shape
    uint32_t io;            // IO: number in qrn_compiled.io
    uint32_t constant;      // CONST: number in qrn_compiled.constants
    // Value in whose memory it lies, which has its own (while passes run: or lies in another's).
    // QRN_VAL_NONE: it has its own.
    uint32_t base;
    size_t base_offset; // where it begins there
    uint32_t tensor_id; // tensor of the graph that it is, 0 for temporaries
    const char *name;   // of that tensor, "" for temporaries
} qrn_cvalue;

// Where the numbers of a constant come from.
typedef enum qrn_const_kind {
    QRN_CONST_MADE,   // computed by the compiler
    QRN_CONST_TENSOR, // data of a static tensor
    // f32: the real numbers of constant value `source`, rounded to what floats are in this graph.
    // Quantized weights of a GEMM may be used as they are: a binder need not round them.
    QRN_CONST_ROUNDED,
    QRN_CONST_SCALED // f32: `source`, index i of dimension `axis` times element i of `factors`
} qrn_const_kind;

// ROUNDED and SCALED say what a constant is without its being there: a binder may pack `source`
// at once and need never have the bytes (qrn_compiled_data makes them).
typedef struct qrn_cconst {
    uint8_t kind;     // qrn_const_kind
    uint8_t axis;     // SCALED
    bool updateable;  // TENSOR: updates may replace the data
    bool droppable;   // TENSOR: the graph, to which the data belongs, may drop it
    uint32_t source;  // ROUNDED, SCALED: value
    uint32_t factors; // SCALED: value, f32
    const void *data; // size_bytes of the value; NULL: not computed, or kept in a packed form only
} qrn_cconst;

typedef enum qrn_cstep_kind {
    QRN_CSTEP_OP,
    QRN_CSTEP_BRANCH, // in[0] is false: go to step `target`
    QRN_CSTEP_JUMP    // go to step `target`
} qrn_cstep_kind;

// How a step with dynamic operands gets the shapes of its outputs.
typedef enum qrn_shapes {
    QRN_SHAPES_FIXED, // no operand is dynamic
    QRN_SHAPES_COPY,  // as in[0]
    QRN_SHAPES_RULE   // the shape rule of its node's op
} qrn_shapes;

#define QRN_MAX_FUSED 4 // steps behind one

typedef struct qrn_cstep {
    uint8_t kind;   // qrn_cstep_kind
    uint8_t domain; // qrn_domain
    uint8_t shapes; // qrn_shapes
    const qrn_cop *op;
    void *args;         // attributes: the op's parameter struct, or NULL
    uint32_t *in, *out; // values, QRN_VAL_NONE: absent
    uint32_t n_in, n_out;
    uint32_t n_fused;   // element-wise steps behind it that run with it, part by part: its epilogue
    uint32_t node;      // number in qrn_compiled.nodes
    uint32_t target;    // BRANCH: behind the JUMP that ends the branch; JUMP
    size_t state_bytes; // kept from one execution to the next
} qrn_cstep;

// A node of the graph, for profiles, dumps and messages.
typedef struct qrn_cnode {
    const char *name, *type;
    uint32_t index;     // position in its graph
    uint32_t *in, *out; // values of its tensors, QRN_VAL_NONE: absent
    uint32_t n_in, n_out;
} qrn_cnode;

typedef struct qrn_cio {
    uint32_t value;
    uint32_t tensor_id;
    bool is_output;
    bool optional; // may be left out of a call
} qrn_cio;

struct qrn_node;

typedef struct qrn_compiled {
    qrn_arena *arena;   // owns everything below
    const char *name;   // of the graph
    qrn_fp16_rule half; // what floats are between steps; OFF: f32
    qrn_cvalue *values;
    qrn_cstep *steps;
    qrn_cconst *constants;
    qrn_cnode *nodes;
    qrn_cio *io; // application tensors: inputs first, then outputs, in order of creation
    uint32_t n_values, n_steps, n_constants, n_nodes, n_io;
    bool dynamic;     // some value is dynamic or some output shape depends on data
    bool optional_io; // some application tensor may be left out
    bool may_block;   // some step may not run: BLOCKED, or in a branch

    // Beside the graph, while it is compiled and bound in one process: nodes that it was lowered
    // from [n_nodes], for QRN_SHAPES_RULE, and how many operands and parameters are each tensor,
    // by id. NULL in one that was loaded.
    const struct qrn_node **origin;
    uint32_t *tensor_uses;
    uint32_t n_tensor_ids;
} qrn_compiled;

void qrn_compiled_destroy(qrn_compiled *cg); // NULL is fine

static inline const qrn_quant *qrn_cvalue_quant(const qrn_cvalue *v) {
    return v->quant.kind == QRN_QUANT_NONE ? NULL : &v->quant;
}
// The value that owns the memory of v in a graph that is compiled.
static inline qrn_val qrn_compiled_owner(const qrn_compiled *cg, qrn_val v) {
    return cg->values[v].base == QRN_VAL_NONE ? v : cg->values[v].base;
}
// Bytes of an element; 4-bit types count as one byte, as kernels see them.
static inline size_t qrn_cvalue_elem(const qrn_cvalue *v) {
    return (qrn_dtypes[v->dtype].bits + 7u) / 8u;
}
// The value as kernels see it; its data is that of the constant, or NULL. Valid until values are
// added.
qrn_view qrn_compiled_view(const qrn_compiled *cg, qrn_val v);
// The bytes of a constant; computes them when they are only described. NULL: out of memory, or the
// data is not there.
const void *qrn_compiled_data(qrn_compiled *cg, qrn_val v);
// Is the graph one that can be bound: operands exist and fit their ops, nothing is read before it
// is written, memory is not shared by accident? `stored`: it comes from a file, so that there are
// no jumps, no dynamic shapes and no ops without a check. Fails with QRN_E_BINARY and names the
// step.
qrn_status qrn_compiled_verify(const qrn_compiled *cg, bool stored);
// Do attributes make the step say, or read, how much of a value counts: shapes depend on data?
bool qrn_cstep_writes_shapes(const qrn_cstep *s);
// The graph as text (print.c): a line about it, then one a step, each at most 2000 bytes and
// without a line end. Equal graphs give equal text. Fails when out of memory, before the first
// line.
qrn_status qrn_compiled_print(const qrn_compiled *cg, void (*line)(void *ctx, const char *text),
                              void *ctx);
// The real numbers of src, rounded to fp16 (rule OFF: to f32), as f32.
void qrn_round_view(const qrn_view *src, qrn_fp16_rule rule, void *dst);
// The same for constants (qrn_fp16_round_constant).
void qrn_round_constant(const qrn_view *src, qrn_fp16_rule rule, float *dst);

#endif
