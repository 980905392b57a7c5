// SPDX-License-Identifier: MIT
//
// Lowering: how a node becomes steps. Most ops are one table row: which op of the
// compiled graph (op.h), how each operand is brought to the step's domain, and a function that
// fills the attributes.
//
// Operand classes, one letter per operand (the last letter repeats):
//   r  real: converted to the step's domain (f32 / f64 / i64)
//   m  moved: stays in its type; data inputs are first converted to the type and encoding of out[0]
//   x  as it is (indices, conditions, shapes); 4-bit types are widened to 8 bits
// A row whose classes contain no 'r' runs in the RAW domain. Otherwise the domain is F32 when all
// real operands are f32, I64 when all are plain integers and the op has such a row, else F64.
// A static operand is converted once, at finalize.
#ifndef QRN_COMPILER_LOWER_H
#define QRN_COMPILER_LOWER_H

#include "compiler/compiled.h"
#include "ir/graph.h"

typedef struct qrn_lowering qrn_lowering;

typedef struct qrn_lower_row {
    const char *op;       // op type name
    const qrn_cop *emits; // NULL with `custom`
    const char *in, *out; // operand classes
    // (optional) Fills the attributes (the op's parameter struct, cleared) from the node.
    qrn_status (*args)(const qrn_node *n, void *args);
    size_t state_bytes; // fixed part of the state kept across executions; 0: stateless
    // (optional) State that depends on shapes; replaces state_bytes.
    size_t (*state)(const qrn_node *n);
    // (optional) Full control: emits any number of steps itself. Returns QRN_E_UNSUPPORTED to fall
    // back to the generic row (then `emits` must be set).
    qrn_status (*custom)(qrn_lowering *lo, const qrn_node *n);
} qrn_lower_row;

// The row of an op; NULL when no group has one.
const qrn_lower_row *qrn_lower_find(const char *op);

// --- for custom rows: building steps by hand

// Value of a tensor of the graph (made at first use).
qrn_status qrn_lo_tensor(qrn_lowering *lo, const qrn_tensor *t, qrn_val *out);
// A new temporary; quant may be NULL and is copied.
qrn_status qrn_lo_temp(qrn_lowering *lo, qrn_dtype dtype, const qrn_shape *shape,
                       const qrn_quant *quant, qrn_val *out);
// A new constant: uninitialised memory of the value's size that the caller fills through *data.
qrn_status qrn_lo_const(qrn_lowering *lo, qrn_dtype dtype, const qrn_shape *shape,
                        const qrn_quant *quant, qrn_val *out, void **data);
// `v` in another format: itself when nothing changes, else a conversion step (folded for
// constants).
qrn_status qrn_lo_as(qrn_lowering *lo, qrn_val v, qrn_dtype dtype, const qrn_quant *quant,
                     qrn_val *out);
// Emits a step. `args`, the op's parameter struct, is copied; ins/outs may hold QRN_VAL_NONE.
qrn_status qrn_lo_step(qrn_lowering *lo, const qrn_cop *f, qrn_domain domain, const void *args,
                       const qrn_val *ins, uint32_t n_in, const qrn_val *outs, uint32_t n_out,
                       size_t state_bytes);
// The generic path for a node with explicit args (used by custom rows that only compute args).
qrn_status qrn_lo_generic(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n,
                          const void *args);
// Is the value known at finalize? Its data may still be missing, when only a packed form was kept.
bool qrn_lo_is_const(const qrn_lowering *lo, qrn_val v);
// Its data; NULL when it is not known or missing.
const void *qrn_lo_const_data(const qrn_lowering *lo, qrn_val v);
const qrn_node *qrn_lo_node(const qrn_lowering *lo);
// What floats are: OFF unless the graph computes in fp16. Then all floats are f32 here,
// whatever the client has declared: the client's own tensor says in which type its data is.
qrn_fp16_rule qrn_lo_fp16(const qrn_lowering *lo);
const qrn_tensor *qrn_lo_client_tensor(const qrn_lowering *lo, const qrn_tensor *t);
// Output `o` of a node whose number of rows depends on the data: does the kernel write that number
// into its dims? Yes for whoever can handle it: the application, or nodes whose input declares a
// dynamic dimension. Other nodes get all rows.
bool qrn_lo_reports_rows(const qrn_node *n, uint32_t o);
// Lowers a node with its table row, or through the backend for an op of a user package.
qrn_status qrn_lo_lower_node(qrn_lowering *lo, const qrn_node *n);
// If: runs one of two subgraphs, whose nodes read and write tensors of this graph.
qrn_status qrn_lower_if(qrn_lowering *lo, const qrn_node *n);

#endif
