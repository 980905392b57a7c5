// SPDX-License-Identifier: MIT
//
// Importers of .tflite ops, one row of ops.def each. Values have the dimensions of the file,
// channel last, which is QNN's order too: nothing is transposed.
//
// Quantized values are fixed-point tensors with the file's encodings. An importer runs once with
// them; where the backend rejects one of its ops (t->rejected) it runs again with t->real: inputs
// are dequantized, outputs computed as floats and quantized at the end.
//
// An import that computes quantized values in float (ox_options.as_float) is always `real`, and
// what an op makes stays a float, clipped to the range of its encoding, up to the graph's outputs.
//
// What ONNX has, too, is left to the importers of ONNX: tl_onnx imports a node of ONNX's in the
// place of this one, which also computes it at once where all inputs are constant.
#ifndef QRN_FRONTEND_TFLITE_IMPORT_H
#define QRN_FRONTEND_TFLITE_IMPORT_H

#include "frontend/onnx/import/compose.h"
#include "frontend/tflite/schema.h"

typedef struct tl tl;

typedef struct tl_op {
    const char *name;
    int code;
    uint32_t least; // inputs
    const char *options;
    qrn_status (*fn)(tl *t);
    const char *onnx; // op that computes the same; NULL: none
    const char *qnn;  // op that computes the same; NULL: none
} tl_op;

// A node that is being imported.
struct tl {
    ox_expr e; // import, node, first failure
    const tl_op *op;
    bool real;     // quantized operands as floats
    bool fixed;    // there are quantized operands, and not `real`
    bool rejected; // an op with quantized operands, by the backend
};

extern const tl_op tl_ops[]; // ends with a row without name

qrn_status tl_fail(const tl *t, qrn_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// --- operands

const ox_val *tl_val(const tl *t, uint32_t i);   // input i; NULL: absent
bool tl_is_fixed(const ox_val *v);               // quantized, of at most 16 bits
int64_t tl_int(const tl *t, const char *option); // 0 when the file has no options
// Constant integers of input i; fails when it is not constant or longer than max.
qrn_status tl_ints(const tl *t, uint32_t i, int64_t *dst, uint32_t max, uint32_t *n);
// The same for an axis or one number.
qrn_status tl_number(const tl *t, uint32_t i, int64_t *out);
qrn_status tl_axis(const tl *t, int64_t axis, uint32_t rank, uint32_t *out);

// Tensors of inputs; NULL after a failure.
qc_tensor *tl_in(tl *t, uint32_t i);
// Is output i quantized, and so in the graph? With as_float only the graph's own outputs are.
bool tl_fixed_output(const tl *t, uint32_t i);
// Of one that would be but stays a float: the range that its encoding can store.
bool tl_float_range(const tl *t, uint32_t i, float *lo, float *hi);
// Declares output i with the type of the file.
qrn_status tl_set(tl *t, uint32_t i, uint32_t rank, const uint32_t *dims);
// What the op writes to, before a fused activation and the quantizing of a float.
qc_tensor *tl_out(tl *t, uint32_t i);
// Ends output i: x is what tl_out gave.
qrn_status tl_end(tl *t, uint32_t i, qc_tensor *x);
// Adds the op; a rejected one sets t->rejected.
void tl_emit(tl *t, qc_op *o);
// The common case: op(in0, in1, ...) with all inputs of the node.
qrn_status tl_plain(tl *t, const char *qnn);

// --- nodes of ONNX

#define TL_MAX_ATTRS 6
typedef struct tl_node {
    const char *op;
    const char *in[8];
    uint32_t n_in;
    ox_attr attrs[TL_MAX_ATTRS];
    uint32_t n_attrs;
} tl_node;

tl_node tl_like(const tl *t, const char *onnx); // with the node's inputs
void tl_attr(tl_node *n, const char *name, int64_t v);
void tl_attr_f(tl_node *n, const char *name, float v);
void tl_attr_ints(tl_node *n, const char *name, const int64_t *v, uint32_t count);
void tl_attr_text(tl_node *n, const char *name, const char *v);
// Constants for it; NULL when out of memory.
const char *tl_const_ints(tl *t, const int64_t *v, uint32_t n); // of rank 1
const char *tl_const_scalar(tl *t, int type, double v);
// A name for a value in between.
const char *tl_between(tl *t);
// Imports it, with the node's outputs: fused activation and quantizing included.
qrn_status tl_onnx(tl *t, const tl_node *n);
// The same for some of the node's outputs.
qrn_status tl_onnx_at(tl *t, const tl_node *n, uint32_t first, uint32_t count);
// Imports it with outputs of its own, before the last one.
qrn_status tl_onnx_to(tl *t, const tl_node *n, const char *const *out, uint32_t n_out);

// --- importers, by file

qrn_status tl_unary(tl *t);
qrn_status tl_square(tl *t);
qrn_status tl_binary(tl *t);
qrn_status tl_compare(tl *t);
qrn_status tl_not_equal(tl *t);
qrn_status tl_logical(tl *t);
qrn_status tl_clip(tl *t);
qrn_status tl_leaky_relu(tl *t);
qrn_status tl_prelu(tl *t);
qrn_status tl_gelu(tl *t);
qrn_status tl_softmax(tl *t);
qrn_status tl_floor_div(tl *t);
qrn_status tl_floor_mod(tl *t);
qrn_status tl_add_n(tl *t);

qrn_status tl_conv(tl *t);
qrn_status tl_depthwise(tl *t);
qrn_status tl_transpose_conv(tl *t);
qrn_status tl_transpose_conv_bias(tl *t);
qrn_status tl_fully_connected(tl *t);
qrn_status tl_batch_matmul(tl *t);

qrn_status tl_pool(tl *t);
qrn_status tl_resize(tl *t);
qrn_status tl_blocks(tl *t);
qrn_status tl_batch_space(tl *t);
qrn_status tl_l2_norm(tl *t);
qrn_status tl_lrn(tl *t);

qrn_status tl_reduce(tl *t);
qrn_status tl_reduce_logical(tl *t);
qrn_status tl_arg(tl *t);
qrn_status tl_top_k(tl *t);
qrn_status tl_cumsum(tl *t);

qrn_status tl_reshape(tl *t);
qrn_status tl_transpose(tl *t);
qrn_status tl_concat(tl *t);
qrn_status tl_split(tl *t);
qrn_status tl_pack(tl *t);
qrn_status tl_unpack(tl *t);
qrn_status tl_slice(tl *t);
qrn_status tl_strided_slice(tl *t);
qrn_status tl_pad(tl *t);
qrn_status tl_tile(tl *t);
qrn_status tl_broadcast_to(tl *t);
qrn_status tl_reverse(tl *t);

qrn_status tl_gather(tl *t);
qrn_status tl_gather_nd(tl *t);
qrn_status tl_scatter_nd(tl *t);
qrn_status tl_one_hot(tl *t);
qrn_status tl_select(tl *t);
qrn_status tl_where(tl *t);
qrn_status tl_cast(tl *t);
qrn_status tl_quantize(tl *t);
qrn_status tl_dequantize(tl *t);
qrn_status tl_densify(tl *t);
qrn_status tl_shape(tl *t);
qrn_status tl_fill(tl *t);
qrn_status tl_range(tl *t);

#endif
