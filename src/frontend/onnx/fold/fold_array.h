// SPDX-License-Identifier: MIT
//
// What the files of the folder share: arrays with whole elements, numbers in 64 bits, and the call
// that is being computed. Nothing outside of this folder includes it.
#ifndef QRN_FRONTEND_ONNX_FOLD_ARRAY_H
#define QRN_FRONTEND_ONNX_FOLD_ARRAY_H

#include "frontend/onnx/fold/fold.h"

typedef enum ox_kind {
    OX_FLOAT,
    OX_SIGNED,
    OX_UNSIGNED, // bool too
    OX_OPAQUE    // can be moved, not computed with (8-bit floats, complex numbers)
} ox_kind;

// One element, widened: `f`, `i` or `u` by the kind of its type.
typedef union ox_num {
    double f;
    int64_t i;
    uint64_t u;
} ox_num;

// A dense array. Types of less than 8 bits have one element a byte here.
typedef struct ox_array {
    int type;
    ox_kind kind;
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK];
    size_t count;
    size_t elem;               // bytes of an element
    const unsigned char *data; // of an input: not to be written
    unsigned char *own;        // of a new array: the same bytes, else NULL
} ox_array;

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
    uint8_t code;           // which formula, where a function computes several
    double (*math)(double); // formula of a float function
};
#define OX_ANY 255

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
// The same as an array.
qrn_status ox_call_in(ox_call *c, uint32_t i, ox_array *a);
// The same, and its elements are numbers.
qrn_status ox_call_numbers(ox_call *c, uint32_t i, ox_array *a);
// Fails unless both have the same type.
qrn_status ox_call_same_type(const ox_call *c, const ox_array *a, const ox_array *b);
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
// Axes as a bit mask over `rank` dimensions; a repeated one is an error.
qrn_status ox_call_axes(const ox_call *c, const int64_t *axes, uint32_t n, uint32_t rank,
                        uint32_t *mask);

// A cleared array for output i.
qrn_status ox_call_new(ox_call *c, int type, uint32_t rank, const uint32_t *dims, ox_array *a);
// Makes an array output i; nothing happens when the node has no such output.
qrn_status ox_call_put(ox_call *c, uint32_t i, const ox_array *a);
// Output i is input 0 with another shape of as many elements; the data is shared.
qrn_status ox_call_share(ox_call *c, uint32_t i, uint32_t rank, const uint32_t *dims);
// Scratch memory, cleared; NULL when out of memory.
void *ox_call_scratch(ox_call *c, size_t n, size_t elem);

// Product of dims; false when it (with 0 counted as 1) cannot be held in memory.
bool ox_dims_count(uint32_t rank, const uint32_t *dims, size_t *count);
// Strides in elements of a dense shape.
void ox_dims_steps(uint32_t rank, const uint32_t *dims, ptrdiff_t *steps);

ox_kind ox_type_kind(int type);
ox_num ox_array_get(const ox_array *a, size_t i);
// Integers are cut to the width of the type; floats are rounded to it.
void ox_array_set(ox_array *a, size_t i, ox_num v);
// An element of kind `from` as the type `to` has it (Cast): floats are truncated and, in types of 8
// bits and more, saturated.
ox_num ox_num_cast(ox_num v, ox_kind from, int to);
// A double truncated to an integer type; NaN gives 0.
ox_num ox_num_saturate(double x, int type);
// Smallest and largest value of an integer type.
void ox_type_range(int type, ox_num *lo, ox_num *hi);
static inline double ox_num_double(ox_num v, ox_kind k) {
    return k == OX_FLOAT ? v.f : k == OX_SIGNED ? (double)v.i : (double)v.u;
}
// To the nearest integer, halves to the even one, whatever rounding mode the caller has set.
double ox_round_even(double x);
static inline int64_t ox_clamp(int64_t v, int64_t lo, int64_t hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

// Walks all elements of a shape in row-major order; `index` follows with any stride per dimension.
typedef struct ox_walk {
    uint32_t rank;
    uint32_t dims[OX_MAX_RANK], at[OX_MAX_RANK];
    ptrdiff_t steps[OX_MAX_RANK];
    ptrdiff_t index;
} ox_walk;

static inline void ox_walk_next(ox_walk *w) {
    for (uint32_t d = w->rank; d-- > 0;) {
        w->index += w->steps[d];
        if (++w->at[d] < w->dims[d])
            return;
        w->index -= w->steps[d] * (ptrdiff_t)w->dims[d];
        w->at[d] = 0;
    }
}

// Shape that n arrays broadcast to (numpy's rule).
qrn_status ox_call_broadcast(const ox_call *c, const ox_array *const *a, uint32_t n, uint32_t *rank,
                             uint32_t *dims);
// A walk over `dims` that reads `a` as broadcast to them.
ox_walk ox_walk_broadcast(const ox_array *a, uint32_t rank, const uint32_t *dims);

// The functions of the table, by file.
// clang-format off
#define OX_FOLD_LIST(X)                                                                            \
    X(math) X(unary) X(binary) X(compare) X(logic) X(bitwise) X(is) X(cast)                        \
    X(variadic) X(where) X(clip)                                                                   \
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

// Formulas of the functions that have several.
enum { OX_NEG, OX_ABS, OX_SIGN, OX_RELU, OX_BITWISE_NOT, OX_NOT };
enum { OX_ADD, OX_SUB, OX_MUL, OX_DIV, OX_MOD, OX_POW };
enum { OX_EQUAL, OX_GREATER, OX_GREATER_EQUAL, OX_LESS, OX_LESS_EQUAL };
enum { OX_AND, OX_OR, OX_XOR, OX_SHIFT };
enum { OX_MIN, OX_MAX, OX_SUM, OX_MEAN };
enum { OX_IS_NAN, OX_IS_INF };
enum {
    OX_R_SUM,
    OX_R_MEAN,
    OX_R_MAX,
    OX_R_MIN,
    OX_R_PROD,
    OX_R_L1,
    OX_R_L2,
    OX_R_LOG_SUM,
    OX_R_LOG_SUM_EXP,
    OX_R_SUM_SQUARE
};
enum { OX_ARG_MAX, OX_ARG_MIN };

#endif
