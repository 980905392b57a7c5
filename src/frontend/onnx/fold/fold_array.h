// SPDX-License-Identifier: MIT
//
// What the files of the folder share: the call that is being computed, its inputs and outputs as
// arrays of src/reference. Nothing outside of this folder includes it.
#ifndef QRN_FRONTEND_ONNX_FOLD_ARRAY_H
#define QRN_FRONTEND_ONNX_FOLD_ARRAY_H

#include "frontend/onnx/fold/fold.h"
#include "reference/array.h"

typedef struct ox_fold_row ox_fold_row;

// A node that is being computed.
typedef struct ox_call {
    const ox_node *node;
    int64_t opset;
    const ox_val *const *in;
    size_t max_bytes;
    qrn_arena *arena;   // results
    qrn_arena *scratch; // dies with the call
    const ox_fold_row *row;
    ox_folded *out;
} ox_call;

struct ox_fold_row {
    const char *op;
    qrn_status (*fn)(ox_call *c);
    uint8_t min_in, max_in; // number of inputs; OX_ANY: no upper bound
    uint8_t max_out;
    uint8_t code;  // which formula (qrn_op, qrn_nd_reduction), where a function computes several
    uint8_t types; // of inputs, where the function is ox_fold_map
};
#define OX_ANY 255
// Types of inputs; TRUTH: the output is bool.
enum { OX_FLOATS = 1, OX_INTS = 2, OX_BOOLS = 4, OX_NUMBERS = 3, OX_ALL = 7, OX_TRUTH = 8 };

// Fails as "node 'n' (Op): ...".
qrn_status ox_call_say(const ox_call *c, qrn_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define OX_CALL_FAIL(c, status, ...) qrn_failed(ox_call_say(c, status, __VA_ARGS__), status)
// Leaves the node to the backend.
#define OX_CALL_PASS(c, why) OX_CALL_FAIL(c, QRN_E_UNSUPPORTED, "%s", why)

// Input i is there.
bool ox_call_has(const ox_call *c, uint32_t i);
// Input i, checked: fails when it is absent, passes when it has no data.
qrn_status ox_call_value(ox_call *c, uint32_t i, const ox_val **out);
// The same as an array; its `type` is that of ONNX.
qrn_status ox_call_in(ox_call *c, uint32_t i, qrn_nd *a);
// The same, and its elements are numbers.
qrn_status ox_call_numbers(ox_call *c, uint32_t i, qrn_nd *a);
// The same, and they are integers.
qrn_status ox_call_integers(ox_call *c, uint32_t i, qrn_nd *a);
// The same as input 0 of one element.
qrn_status ox_call_one(ox_call *c, uint32_t i, const qrn_nd *like, qrn_nd *a);
// Fails with what was found instead of the type that an input must have.
qrn_status ox_call_wrong_type(const ox_call *c, const qrn_nd *a);
// Fails unless both have the same type.
qrn_status ox_call_same_type(const ox_call *c, const qrn_nd *a, const qrn_nd *b);
// Integers of input i, which must be present and hold at most max.
qrn_status ox_call_ints(ox_call *c, uint32_t i, int64_t *dst, uint32_t max, uint32_t *n);
// Integers of input i, else of an attribute; *given is false when neither is there. An input or
// attribute without elements is given, with *n = 0.
qrn_status ox_call_list(ox_call *c, uint32_t i, const char *attr, int64_t *dst, uint32_t max,
                        uint32_t *n, bool *given);
// The one integer of input i (rank 0, or 1 with one element).
qrn_status ox_call_int(ox_call *c, uint32_t i, int64_t *out);
// Axis counted from the end made positive.
qrn_status ox_call_axis(const ox_call *c, int64_t axis, uint32_t rank, uint32_t *out);
// The same from the attribute 'axis'.
qrn_status ox_call_attr_axis(const ox_call *c, int64_t fallback, uint32_t rank, uint32_t *out);
// Axes made positive, and as a bit mask over `rank` dimensions; a repeated one is an error.
qrn_status ox_call_axes(const ox_call *c, int64_t *axes, uint32_t n, uint32_t rank, uint32_t *mask);
// Dimensions of an output from a list of integers.
qrn_status ox_call_dims(const ox_call *c, const int64_t *list, uint32_t n, size_t *dims);
// Shape that n arrays broadcast to (numpy's rule).
qrn_status ox_call_broadcast(const ox_call *c, const qrn_nd *a, uint32_t n, uint32_t *rank,
                             size_t *dims);

// Makes output i, cleared, as an array that is to be filled; scratch memory when the node has no
// such output.
qrn_status ox_call_new(ox_call *c, uint32_t i, int type, uint32_t rank, const size_t *dims,
                       qrn_nd *a);
// Packs the outputs of less than 8 bits, once they are filled.
qrn_status ox_call_pack(ox_call *c);
// Output 0 is input 0 with another shape of as many elements; the data is shared.
qrn_status ox_call_share(ox_call *c, uint32_t rank, const size_t *dims);
// Scratch memory, cleared; NULL when out of memory.
void *ox_call_scratch(ox_call *c, size_t n, size_t elem);
qrn_status ox_call_no_memory(void);

// The functions of the table, by file.
// clang-format off
#define OX_FOLD_LIST(X)                                                                            \
    X(map) X(is_inf) X(cast) X(mean) X(where) X(clip)                                              \
    X(constant) X(constant_of_shape) X(shape) X(size) X(identity) X(reshape) X(flatten)            \
    X(squeeze) X(unsqueeze) X(range) X(eye_like)                                                   \
    X(transpose) X(concat) X(slice) X(split) X(expand) X(tile) X(pad) X(trilu)                     \
    X(gather) X(gather_elements) X(gather_nd) X(scatter_elements) X(scatter_nd) X(non_zero)        \
    X(one_hot)                                                                                     \
    X(reduce) X(arg) X(cum_sum)                                                                    \
    X(top_k) X(mat_mul)                                                                            \
    X(dequantize) X(quantize) X(dynamic_quantize)
// clang-format on
#define X(name) qrn_status ox_fold_##name(ox_call *c);
OX_FOLD_LIST(X)
#undef X

#endif
