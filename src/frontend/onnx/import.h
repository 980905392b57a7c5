// SPDX-License-Identifier: MIT
//
// Importing an ONNX graph into a QNN graph, in one pass over the nodes in topological order.
//
// Values. Each ONNX value has an ox_val: type, shape, and either constant data or QNN tensors. A
// value may exist as a QNN tensor in two layouts, made when first asked for:
//   OX_ONNX  dimensions as ONNX has them
//   OX_LAST  channel last: dims 0, 2, 3, ..., 1
// Convolutions and the like ask for and produce OX_LAST; element-wise ops keep the layout they
// find; everything else asks for OX_ONNX. So transposes appear only where the layouts really meet.
//
// Quantization. DequantizeLinear is not imported as an op: its output value remembers the quantized
// value (`quantized`). A node whose data inputs all come from DequantizeLinear and whose outputs
// each go to exactly one QuantizeLinear is a quantized unit: ox_in and ox_out then give fixed-point
// tensors with encodings and the importer need not know. In any other case ox_in emits a Dequantize
// op on demand.
//
// Types and ranks in QNN tensors. int64 and uint64 are held as 32 bits. 4, 8 and 16-bit integers
// without encoding are held as fixed point with scale 1 and offset 0, so that the stored integer is
// the number: most QNN ops take fixed point and few take plain small integers. Values of rank 0 are
// held as [1], in ox_temp and ox_static too.
//
// Importers (src/frontend/onnx/import/<group>.c) are table rows {op, domain, function}. A function
// reads attributes and input shapes, sets the outputs' types and shapes (ox_set_output), then emits
// ops. A node whose inputs are all constant is first offered to the folder (fold.c) and never
// reaches an importer when it can be computed there.
#ifndef QRN_FRONTEND_ONNX_IMPORT_H
#define QRN_FRONTEND_ONNX_IMPORT_H

#include "frontend/client/client.h"
#include "frontend/onnx/reader/model.h"

typedef enum ox_layout { OX_ONNX, OX_LAST, OX_LAYOUTS } ox_layout;

// What a value is. Only tensors exist at run time; the others are worked out while importing.
typedef enum ox_kind_of_value { OX_TENSOR, OX_SEQUENCE, OX_EMPTY_OPTIONAL } ox_kind_of_value;

// A transposed value before anybody needs it so: dimension i of the value is dimension dims[i] of
// the tensor. Transposes that follow each other thus become one, or none.
typedef struct ox_transposed {
    qc_tensor *t;
    uint32_t dims[OX_MAX_RANK];
    const ox_node *node; // that transposes
    bool last;           // it comes from a channel-last value
} ox_transposed;

typedef struct ox_val {
    const char *name;
    ox_kind_of_value kind;
    struct ox_val **items; // of a sequence
    uint32_t n_items;
    int type; // ox_type
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    bool known;           // type and shape are set
    const char *why;      // an input that no tensor can hold: the reason; else NULL
    bool refused;         // its maker is
    bool counted;         // its first dimension is the most that may come, known after an execution
    bool made;            // by a node ...
    const ox_node *maker; // ... which is this one, unless it makes a constant
    const void *data;     // constant data in ONNX order, packed as in ox_tensor; else NULL
    size_t bytes;
    bool narrowed;                   // float64 in the model, held as float32
    const void *wide;                // constant that was float64: its data then
    const ox_enc *enc;               // quantized value: its encoding
    struct ox_val *quantized;        // made by DequantizeLinear from this value
    qc_tensor *at[OX_LAYOUTS];       // QNN tensors that hold it, NULL: not (yet)
    const ox_transposed *transposed; // where it comes from while there is none
    qc_tensor *permuted;             // constant: its last use as a filter (filter.c) ...
    uint32_t permuted_by;            // ... and the permutation
    bool is_output;                  // of the graph
    uint32_t n_uses;                 // reads by nodes and graph outputs
    const ox_node *consumer;         // the reader when n_uses is 1
} ox_val;

// Number of elements.
static inline size_t ox_count(const ox_val *v) {
    size_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}

typedef struct ox_import ox_import; // the import in progress (internal.h)

// What to bind and how to build; zeroed is fine.
typedef struct ox_options {
    const char *graph_name;                  // NULL: the model's own
    const QnnGraph_Config_t **graph_configs; // options of the QNN graph, or NULL
    const char *const *dim_names;            // symbolic dimensions ...
    const int64_t *dim_values;               // ... and their values
    uint32_t n_dims;
    // (optional) Shapes of inputs given by the caller, by position of the runtime inputs.
    const ox_info *input_shapes;
    uint32_t n_input_shapes;
    bool keep_all; // every intermediate value becomes a graph output
    // Compute in float what the model has quantized: a QuantizeLinear whose result is only
    // dequantized again clips to the range of its type but does not round.
    bool as_float;
    // Where the client computes floats in float16, nodes whose results that would make coarser are
    // rejected (float16.c). With allow_fp16 they are computed, and reported to `note`.
    bool allow_fp16;
    // (optional) What a user should know about a node that is imported: "<op> nodes <what>, ...:
    // <why>", as "are computed in float16".
    void (*note)(void *ctx, const ox_node *n, const char *what, const char *why);
    void *note_ctx;
    // Inputs and outputs of 64-bit integers keep their width in the QNN graph, by a Cast.
    bool wide_borders;
    // (optional) Told about every node: QRN_OK, or why it is refused; last, and once more, about
    // nodes whose results cannot leave the graph. With it a refusal does not end the import: the
    // outputs of a refused node become inputs of the graph where their shapes are known.
    void (*report)(void *ctx, const ox_node *n, qrn_status s, const char *why);
    void *report_ctx;
    // (optional) Called before a node of the main graph is imported; ops that the client is
    // notified of until the next one are this node's.
    void (*begin)(void *ctx, const ox_node *n);
    void *begin_ctx;
    // Ops of registered packages: nodes of these types go to the package, whatever their domain.
    const struct ox_package *packages;
    uint32_t n_packages;
    // (optional) Told about every value that a node of the main graph makes, once its shape is
    // known. The value lives as long as the graph; its tensors may be made later.
    void (*value)(void *ctx, const ox_val *v);
    void *value_ctx;
    bool fused; // values inside a pattern that becomes one op need not be reported
    // Constants of the main graph whose names match one of these patterns (*, ?) become updateable
    // tensors, in ONNX's layout and under their own names: nothing is computed from their values.
    const char *const *updatable;
    uint32_t n_updatable;
} ox_options;

typedef struct ox_package {
    const char *op;      // type of the ONNX node and of the QNN op
    const char *package; // name of the package
} ox_package;

// One input or output of the imported graph, in the model's order.
typedef struct ox_port {
    const char *name;
    int type; // of the ONNX value; the QNN tensor may be narrower (int64)
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    bool counted;      // dims[0] is the most; how many rows there are is known after an execution
    qc_tensor *tensor; // NULL: an output that is constant
    const void *data;  // constant output
    size_t bytes;      // in ONNX's type
    const ox_enc *enc;
} ox_port;

typedef struct ox_result {
    qc_graph *graph; // finalized by the caller
    const ox_port *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    uint32_t n_transposes;       // inserted for layouts, that stayed
    uint32_t n_folded;           // nodes computed while importing
    qc_tensor *const *updatable; // those that were asked for, in the model's order
    uint32_t n_updatable;
} ox_result;

// Imports the model's main graph. The result lives in the graph's arena and needs the model.
qrn_status ox_import_model(const ox_model *m, qc_client *c, const ox_options *opt, ox_result *out);

// --- for importers

typedef qrn_status (*ox_import_fn)(ox_import *im, const ox_node *n);

#define OX_OWN_DOMAIN "quern" // of nodes that no model has: patterns.c makes them

// The domain of nodes that only patterns make; by its address, as models may use the name.
extern const char ox_own_domain[];

typedef struct ox_importer {
    const char *op;
    const char *domain; // "", "com.microsoft" or OX_OWN_DOMAIN
    ox_import_fn fn;
} ox_importer;

// Failure of a node: "node 'name' (Conv): ..." with QRN_E_UNSUPPORTED for what is refused.
qrn_status ox_fail(const ox_import *im, const ox_node *n, qrn_status s, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// Fails: input i of a node, which says `what`, must be constant; says what it is computed from.
qrn_status ox_needs_constant(const ox_import *im, const ox_node *n, uint32_t i, const char *what);
void ox_note(const ox_import *im, const ox_node *n, const char *what, const char *why);

int64_t ox_version(const ox_import *im, const ox_node *n); // version of the node's domain

// Input i: NULL when absent. Its type and shape are known.
const ox_val *ox_input(const ox_import *im, const ox_node *n, uint32_t i);
// Constant integers of input i (any integer type) into dst[max]; false when it is absent or not
// constant or longer than max.
bool ox_const_ints(const ox_import *im, const ox_node *n, uint32_t i, int64_t *dst, uint32_t max,
                   uint32_t *count);
bool ox_const_float(const ox_import *im, const ox_node *n, uint32_t i, float *out);
// All elements of constant input i as floats, real numbers where it is quantized; NULL when it is
// absent or not constant.
const float *ox_const_reals(ox_import *im, const ox_node *n, uint32_t i);
// Attribute or, in newer opsets, constant input: axes and the like. count 0: neither is there.
qrn_status ox_ints_of(const ox_import *im, const ox_node *n, const char *attr, int input,
                      int64_t *dst, uint32_t max, uint32_t *count);
// Axis counted from the end made positive; fails when out of range.
qrn_status ox_axis(const ox_import *im, const ox_node *n, int64_t axis, uint32_t rank,
                   uint32_t *out);

// The type in which values of `type` are held: float64 is float32, which is reported for the node.
int ox_held_type(ox_import *im, const ox_node *n, int type);
// Says whether the node's result, declared already, is float64 in the model.
void ox_set_narrowed(ox_import *im, const ox_node *n, bool narrowed);
// Declares output i. Must come before ox_out.
qrn_status ox_set_output(ox_import *im, const ox_node *n, uint32_t i, int type, uint32_t rank,
                         const uint32_t *dims);
// Output i is input i_in under another name (Identity, Dropout): no op.
qrn_status ox_alias(ox_import *im, const ox_node *n, uint32_t i, uint32_t i_in);
// Output i is this constant (copied).
qrn_status ox_set_const(ox_import *im, const ox_node *n, uint32_t i, int type, uint32_t rank,
                        const uint32_t *dims, const void *data);

// QNN tensor of input i in a layout: constants become static tensors, missing layouts a Transpose
// (or a Reshape where all but one of the moved dimensions are 1), dequantized values a Dequantize
// op unless the node is a quantized unit. int64 and uint64 are held as 32 bits.
qrn_status ox_in(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout, qc_tensor **out);
// The same for an operand of a broadcasting op: brought to `rank` by leading 1s first.
qrn_status ox_in_broadcast(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank,
                           ox_layout layout, qc_tensor **out);
// The same seen with another shape of as many elements: a Reshape, or nothing for a constant.
qrn_status ox_in_view(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank,
                      const uint32_t *dims, ox_layout layout, qc_tensor **out);
// QNN tensor that output i is to be written to, in a layout.
qrn_status ox_out(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout, qc_tensor **out);

// What ox_out gave for that output and layout.
qrn_status ox_out_made(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                       qc_tensor **out);

// The same in another type, where the QNN op does not take the one the value has: i32 or u32 for
// integers and bool, f32 for f16, and so on. What exists is passed on, else a Cast is emitted. In a
// quantized unit f32 (or f16) means the real numbers, by a Dequantize: a decomposition may simply
// run in float between ox_in_as and ox_out_end.
qrn_status ox_in_as(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                    Qnn_DataType_t dtype, qc_tensor **out);
qrn_status ox_in_broadcast_as(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank,
                              ox_layout layout, Qnn_DataType_t dtype, qc_tensor **out);
// Output i computed in `dtype`: *out is what to write to, the output itself or a temporary. After
// the ops ox_out_end converts `x` (what ox_out_as gave) to the output where they differ.
qrn_status ox_out_as(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                     Qnn_DataType_t dtype, qc_tensor **out);
qrn_status ox_out_end(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                      const qc_tensor *x);

// The type of the tensor that ox_out gives.
qrn_status ox_out_type(ox_import *im, const ox_node *n, uint32_t i, Qnn_DataType_t *out);

// The layout in which element-wise and similar ops should run: OX_LAST when an input of full rank
// exists in that layout only.
ox_layout ox_layout_of(const ox_import *im, const ox_node *n);
// Position of ONNX axis `axis` in a layout.
uint32_t ox_axis_in(ox_layout layout, uint32_t axis, uint32_t rank);
// dims of an ONNX shape in a layout.
void ox_dims_in(ox_layout layout, uint32_t rank, const uint32_t *dims, uint32_t *out);

bool ox_is_fixed16(const ox_import *im); // the node is composed in 16-bit fixed point (fixed.h)
bool ox_is_quantized(const ox_import *im, const ox_node *n); // the node is a quantized unit
// From here on it is not: inputs are dequantized, outputs are quantized by the QuantizeLinear that
// follows. For what the QNN op does not do in fixed point; must come before ox_out.
void ox_leave_unit(ox_import *im);
// In a unit: are the steps of the result so fine that they distinguish real numbers of input 0 from
// the float32 that ONNX's DequantizeLinear gives? An op that hands differences of its input on must
// leave the unit then to give ONNX's result.
bool ox_shows_float_steps(const ox_import *im, const ox_node *n);

// Intermediate tensors of a decomposition. `like` gives type and encoding.
qrn_status ox_temp(ox_import *im, const qc_tensor *like, uint32_t rank, const uint32_t *dims,
                   qc_tensor **out);
qrn_status ox_temp_typed(ox_import *im, Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims,
                         qc_tensor **out);
// Constants of a decomposition.
qrn_status ox_static(ox_import *im, Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims,
                     const void *data, size_t bytes, qc_tensor **out);
qrn_status ox_static_encoded(ox_import *im, Qnn_DataType_t dtype, uint32_t rank,
                             const uint32_t *dims, const Qnn_QuantizeParams_t *q, const void *data,
                             size_t bytes, qc_tensor **out);
// A float constant with n elements, of the type (and in a quantized unit a fitting encoding) of
// `like`.
qrn_status ox_static_like(ox_import *im, const qc_tensor *like, const float *values, uint32_t rank,
                          const uint32_t *dims, qc_tensor **out);

// A constant [1] of type f32, f16, i32 or u32.
qrn_status ox_number(ox_import *im, Qnn_DataType_t dtype, double value, qc_tensor **out);
bool ox_is_fixed(const qc_tensor *t); // of a fixed-point type

// Begins an op named after the node (unique names are made).
void ox_op(ox_import *im, qc_op *o, const ox_node *n, const char *type);

// Emits common single ops: y = op(x) with no parameters, and data movement.
qrn_status ox_emit_unary(ox_import *im, const ox_node *n, const char *type, const qc_tensor *x,
                         const qc_tensor *y);
qrn_status ox_emit_binary(ox_import *im, const ox_node *n, const char *type, const qc_tensor *a,
                          const qc_tensor *b, const qc_tensor *y);
qrn_status ox_emit_reshape(ox_import *im, const ox_node *n, const qc_tensor *x, const qc_tensor *y);
// y = x as another type: floats to integers truncate, integers keep their low bits, quantized
// values count as plain integers.
qrn_status ox_emit_cast(ox_import *im, const ox_node *n, const qc_tensor *x, const qc_tensor *y);
qrn_status ox_emit_transpose(ox_import *im, const ox_node *n, const qc_tensor *x,
                             const uint32_t *perm, const qc_tensor *y);

void *ox_alloc(ox_import *im,
               size_t bytes); // in the import's arena, cleared; NULL when out of memory

#endif
