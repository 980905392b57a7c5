// SPDX-License-Identifier: MIT
//
// State of an import, shared by the files that drive it; importers use import.h only.
#ifndef QRN_FRONTEND_ONNX_INTERNAL_H
#define QRN_FRONTEND_ONNX_INTERNAL_H

#include "base/budget.h"
#include "frontend/onnx/import.h"

// Values by name. A graph inside a node has a scope of its own that sees those around it.
typedef struct ox_scope {
    struct ox_scope *outer;
    ox_val **slots; // open addressing, power of two
    uint32_t n, cap;
} ox_scope;

struct ox_import {
    const ox_model *model;
    const ox_options *opt;
    qc_graph *graph;
    qrn_arena *arena;    // of the graph
    ox_scope *scope;     // of the nodes being imported
    const ox_node *node; // being imported, or NULL
    bool quantized;      // it is a quantized unit
    bool fixed16;        // it is composed in 16-bit fixed point
    uint32_t depth;      // of nested graphs and functions
    uint32_t n_made;     // names made up so far
    uint32_t n_transposes, n_folded;
    uint32_t n_dequantized;  // Dequantize ops so far
    uint32_t n_unfolded;     // constants that were not computed to stay within the budget
    qrn_strmap declared;     // names of the main graph to the ox_info with their shape
    qrn_strmap ranks;        // names whose shape is not declared to their rank: ranks.c
    qrn_budget budget;       // of the whole model; its memory is the arena's
    bool memory_failed;      // qrn_failed_for_memory when it began
    const ox_node **instead; // per node of the main graph: patterns.c; NULL: none looked for
    bool told_float64;       // it was reported that float64 is float32
    bool *assumes;           // the same: its pattern was found by declared shapes
    struct ox_large *large;  // constants that are freed before the import ends: large.c
    size_t large_bytes;      // of them
    const struct ox_waiting *waiting; // groups that rearrange.c decides on at their last nodes
};

// scope.c
qrn_status ox_scope_new(ox_import *im, ox_scope *outer, ox_scope **out);
ox_val *ox_scope_find(const ox_scope *s, const char *name); // outer scopes too; NULL: unknown
// The value of that name in this very scope, made when it is not there.
qrn_status ox_scope_add(ox_import *im, ox_scope *s, const char *name, ox_val **out);

// driver.c
// Imports nodes in order into the current scope.
qrn_status ox_import_nodes(ox_import *im, const ox_node *nodes, uint32_t n);
qrn_status ox_import_one(ox_import *im, const ox_node *n);
// Enters a graph's initializers into the current scope.
qrn_status ox_enter_constants(ox_import *im, const ox_graph *g);
// Enters what nodes make, constants, uses and encodings.
qrn_status ox_enter_nodes(ox_import *im, const ox_node *nodes, uint32_t n);
qrn_status ox_no_memory(const ox_import *im);

// spending.c
// Larger results are left to the backend, but for ops that keep the number of elements.
#define OX_FOLD_BYTES ((size_t)64 << 20)
// Before and after an import. The end explains a failure that comes from a limit.
qrn_status ox_begin_budget(ox_import *im);
qrn_status ox_end_budget(ox_import *im, qrn_status s);
// The largest constant that may be computed, at most `limit`.
size_t ox_fold_bytes(const ox_import *im, size_t limit);
// Spends what looking at constant inputs costs (in NULL: nobody looks); what a node makes is
// bounded by memory. False: there is none left, and the node is the backend's.
bool ox_spend_work(ox_import *im, const ox_node *n, const ox_val *const *in);

// large.c
// An arena for a large result of a node that is computed now, or NULL: it goes to the import's.
// ox_large_end takes the value that it became (NULL: none), if there is an arena.
qrn_arena *ox_large_begin(ox_import *im, const ox_node *n, const ox_val *const *in, size_t most);
void ox_large_end(ox_import *im, ox_val *v);
// Frees what is read by no node behind this one, which was imported; and all of them.
qrn_status ox_large_leave(ox_import *im, const ox_node *n);
void ox_large_clear(ox_import *im);

// updatable.c
bool ox_is_updatable(const ox_import *im, const char *name);
// Their tensors; encodings must be known.
qrn_status ox_create_updatable(ox_import *im, const ox_graph *g, ox_result *r);

// ports.c
qrn_status ox_create_inputs(ox_import *im, const ox_graph *g, ox_result *r);
qrn_status ox_finish_outputs(ox_import *im, const ox_graph *g, ox_result *r);
// Large constants may lie unaligned in the file: copied for those who read them by element.
qrn_status ox_align(ox_import *im, ox_val *v);

// refusal.c
// After a refusal: what the node would have made comes from outside.
qrn_status ox_take_from_outside(ox_import *im, const ox_node *n);
// An output of the graph that cannot be had, for the reason s and the message: the node that makes
// it is refused, and QRN_OK returned, where somebody listens.
qrn_status ox_refuse_maker(ox_import *im, const ox_graph *g, const char *name, qrn_status s);

// patterns.c
// Finds the nodes of the main graph that are imported together; their values must be entered.
qrn_status ox_find_patterns(ox_import *im);
// rearrange.c: the same for Reshape, Transpose and Reshape in many dimensions.
qrn_status ox_find_rearrangements(ox_import *im);
extern const ox_node ox_left_out;           // in the place of a node that is inside a pattern
qrn_status ox_note_declared(ox_import *im); // enters them, once
// Type and dimensions that the main graph declares for a value; NULL: none.
const ox_info *ox_declared(const ox_import *im, const char *name);
// ranks.c: works the ranks of other values out, as far as ops say them.
qrn_status ox_note_ranks(ox_import *im);
int ox_rank_of(const ox_import *im, const char *name); // declared or worked out; -1: not known
// assume.c: fails where a pattern that ends with this node was found by shapes that are not so.
qrn_status ox_check_assumed(const ox_import *im, const ox_node *last);
// What is to be imported in the place of a node: mostly the node itself, NULL: nothing.
const ox_node *ox_instead_of(const ox_import *im, const ox_node *n);
// The shape of a value inside of a pattern, or behind its last node, as known shapes have it.
qrn_status ox_shape_inside(const ox_import *im, const char *name, ox_info *out);
qrn_status ox_shape_behind(const ox_import *im, const ox_node *n, ox_info *out);
// Decides on a group that waited for its last node `n`; nothing where none did.
qrn_status ox_settle(ox_import *im, const ox_node *n);

// packaged.c
// The package that a node belongs to; NULL: none.
const ox_package *ox_package_of(const ox_import *im, const ox_node *n);
qrn_status ox_import_packaged(ox_import *im, const ox_node *n, const ox_package *p);

// emit.c
// The value of output i; one that nobody reads when the node does not name it.
qrn_status ox_output_val(ox_import *im, const ox_node *n, uint32_t i, ox_val **out);

// units.c
// The encoding that scale and zero point of a QuantizeLinear or DequantizeLinear give; NULL with
// QRN_OK when they are not constant.
qrn_status ox_node_encoding(ox_import *im, const ox_node *n, const ox_enc **out);
// Checks v's encoding against its shape, which is known by now; axes become positive.
qrn_status ox_fit_encoding(ox_import *im, ox_val *v);
bool ox_same_encoding(const ox_enc *a, const ox_enc *b);
int ox_quantized_type(const ox_import *im, const ox_node *q); // what a QuantizeLinear makes
qrn_status ox_find_encodings(ox_import *im, const ox_node *nodes, uint32_t n);
bool ox_unit_of(const ox_import *im, const ox_node *n);
// Is v a float value inside a quantized unit: read by a QuantizeLinear alone, directly or through
// one Relu or Clip?
bool ox_before_quantizer(const ox_import *im, const ox_val *v);
// In a unit: the quantized value behind output `v`, its type and shape set; else v itself.
qrn_status ox_unit_output(ox_import *im, ox_val *v, ox_val **out);
// A constant as floats (dequantized when it is quantized), in the arena; NULL when out of memory.
const float *ox_const_floats(ox_import *im, const ox_val *v);
void ox_const_floats_into(const ox_val *v, float *out); // the same into out[count]

// as_float.c
// Is this quantized value only dequantized again, in an import that computes in float?
bool ox_stays_float(const ox_import *im, const ox_val *quantized);
// Imports the QuantizeLinear n as a clip to the range of a quantized type.
qrn_status ox_clip_to_range(ox_import *im, const ox_node *n, int type);

// float16.c: where the client computes floats in float16, QRN_E_UNSUPPORTED for what that ruins.
qrn_status ox_check_fp16(ox_import *im, const ox_node *n); // an op
// A formula that quantizes values of type `from` to type `to`; enc NULL: computed.
qrn_status ox_check_quantizing(ox_import *im, const ox_node *n, int from, int to,
                               const ox_enc *enc);
// Does QNN's Quantize give the quantized values of ONNX to the bit? A formula is not needed then.
bool ox_quantizes_alike(const ox_import *im, const ox_val *x, int to, const ox_enc *enc);
// A formula that dequantizes values of this type.
qrn_status ox_check_dequantizing(ox_import *im, const ox_node *n, int type);
// An op that was computed in float between quantized values; `unit`: it could have been a quantized
// unit.
qrn_status ox_check_unit(ox_import *im, const ox_node *n, bool unit);
// Is the node, a quantized unit, to be composed of 16-bit ops?
bool ox_wants_fixed16(const ox_import *im, const ox_node *n);

// float64.c
// The constant as it was before ox_narrow_inputs; other values as they are.
const ox_val *ox_in_float64(const ox_import *im, const ox_val *v);
// Is a result of that type float64 in the model?
bool ox_makes_float64(const ox_import *im, const ox_node *n, int type);
// Constants of float64 that the node reads become float32: it was not computed at import.
qrn_status ox_narrow_inputs(ox_import *im, const ox_node *n);
// A port that the model declares as float64 has that type; its tensor is float32.
void ox_widen_port(ox_port *p, const ox_val *v, int declared);

// qdq.c
qrn_status ox_import_quantize(ox_import *im, const ox_node *n);
qrn_status ox_import_dequantize(ox_import *im, const ox_node *n);
// Moves the quantized values of a constant where an op moves its real numbers: weights that are
// transposed after DequantizeLinear stay quantized.
qrn_status ox_fold_quantized(ox_import *im, const ox_node *n, size_t max_bytes, bool *done);

// place.c
Qnn_DataType_t ox_qnn_type(const ox_import *im, const ox_val *v);
qrn_status ox_tensor_in(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out);
// A tensor for `v` in a layout, without producer: application output when the graph ends there.
qrn_status ox_tensor_new(ox_import *im, ox_val *v, ox_layout layout, qc_tensor **out);
// A tensor for `v` that is not entered into it.
qrn_status ox_tensor_create(ox_import *im, const ox_val *v, ox_layout layout, Qnn_TensorType_t type,
                            const void *data, size_t bytes, qc_tensor **out);
// Is v a 64-bit integer that keeps its width where it enters or leaves the graph?
bool ox_is_wide(const ox_import *im, const ox_val *v);
// A tensor for v at the border, of 64 bits.
qrn_status ox_tensor_wide(ox_import *im, const ox_val *v, Qnn_TensorType_t type, qc_tensor **out);
// Scale 1 and offset 0 for small fixed-point types, none for others.
Qnn_QuantizeParams_t ox_plain_encoding(Qnn_DataType_t dtype);
// The encoding of v for a layout; writes to q and allocates lists in the arena.
qrn_status ox_quantize_params(ox_import *im, const ox_val *v, ox_layout layout,
                              Qnn_QuantizeParams_t *q);

// import/table.c
const ox_importer *ox_find_importer(const char *op, const char *domain);
// Inputs that an op needs in every version, of the first ones.
uint32_t ox_least_inputs(const char *op);

#endif
