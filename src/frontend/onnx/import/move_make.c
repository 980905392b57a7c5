// SPDX-License-Identifier: MIT
//
// Importers: DepthToSpace and SpaceToDepth, OneHot, Trilu.
#include "frontend/onnx/import/move.h"

#include <string.h>

// Reshape, transpose, reshape.
static qrn_status rearrange_in(ox_import *im, const ox_node *n, uint32_t rank,
                               const uint32_t *split, const uint32_t *perm) {
    uint32_t moved[OX_MAX_RANK];
    ox_carry c;
    const qc_tensor *in, *apart, *w;
    qc_tensor *transposed, *y;
    for (uint32_t i = 0; i < rank; i++)
        moved[i] = split[perm[i]];
    QRN_TRY(ox_carry_input(im, n, 0, OX_ONNX, MOVE_TRANSPOSE, &c, &in));
    QRN_TRY(move_reshaped(im, n, in, rank, split, &apart));
    QRN_TRY(ox_temp(im, in, rank, moved, &transposed));
    QRN_TRY(ox_emit_transpose(im, n, apart, perm, transposed));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(ox_emit_reshape(im, n, transposed, w));
    return ox_carry_end(im, n, &c, w, y);
}

// Blocks of pixels and channels by their definition, for types that the image ops do not take.
static qrn_status rearrange(ox_import *im, const ox_node *n, const uint32_t *split,
                            const uint32_t *perm) {
    return rearrange_in(im, n, 6, split, perm);
}

// The node that rearrange.c makes; no model has it.
qrn_status move_import_rearrange(ox_import *im, const ox_node *n) {
    int64_t split[OX_MAX_RANK], perm[OX_MAX_RANK], shape[OX_MAX_RANK];
    uint32_t s[OX_MAX_RANK], p[OX_MAX_RANK], dims[OX_MAX_RANK];
    uint32_t n_perm = ox_attr_ints(n, "perm", perm, OX_MAX_RANK);
    uint32_t rank = ox_attr_ints(n, "shape", shape, OX_MAX_RANK);
    if (n->domain != ox_own_domain || ox_attr_ints(n, "split", split, OX_MAX_RANK) != n_perm)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the op %s.%s is not supported", n->domain, n->op);
    for (uint32_t i = 0; i < n_perm; i++) {
        s[i] = (uint32_t)split[i];
        p[i] = (uint32_t)perm[i];
    }
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = (uint32_t)shape[i];
    if (n_perm < 2)
        return move_reshape_to(im, n, rank, dims);
    const ox_val *x = ox_input(im, n, 0);
    if (move_count(n_perm, s) != move_count(x->rank, x->dims) ||
        move_count(n_perm, s) != move_count(rank, dims))
        return ox_fail(im, n, QRN_E_SHAPE, "the declared dimensions do not fit the input");
    QRN_TRY(ox_set_moved(im, n, 0, 0, rank, dims));
    return rearrange_in(im, n, n_perm, s, p);
}

static qrn_status emit_blocks(ox_import *im, const ox_node *n, const char *op, uint32_t block,
                              uint32_t mode) {
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *y;
    qc_op o;
    QRN_TRY(ox_carry_input(im, n, 0, OX_LAST, MOVE_DEPTH, &c, &in));
    QRN_TRY(ox_out(im, n, 0, OX_LAST, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    ox_op(im, &o, n, op);
    qc_in(&o, in);
    qc_out(&o, w);
    qc_u32s(&o, QNN_OP_DEPTH_TO_SPACE_PARAM_BLOCK_SIZE, (const uint32_t[]){block, block}, 2);
    qc_u32(&o, QNN_OP_DEPTH_TO_SPACE_PARAM_MODE, mode);
    QRN_TRY(qc_op_end(&o));
    return ox_carry_end(im, n, &c, w, y);
}

// Types without carrier in the image ops, or in the way to channel last.
static bool is_no_image(const ox_val *v) {
    return v->type == OX_I32 || v->type == OX_U32 || v->type == OX_I64 || v->type == OX_U64 ||
           v->type == OX_I4 || v->type == OX_U4;
}

static qrn_status block_size(ox_import *im, const ox_node *n, uint32_t *block) {
    int64_t given = ox_attr_int(n, "blocksize", 0);
    if (ox_input(im, n, 0)->rank != 4)
        return ox_fail(im, n, QRN_E_SHAPE, "rank %u, expected 4", ox_input(im, n, 0)->rank);
    if (given < 1 || given > 32767)
        return ox_fail(im, n, QRN_E_SHAPE, "block size %lld", (long long)given);
    *block = (uint32_t)given;
    return QRN_OK;
}

// Are the channels outermost (CRD) rather than the places in a block (DCR)?
static qrn_status block_mode(ox_import *im, const ox_node *n, bool *crd) {
    const char *mode = ox_attr_string(n, "mode", "DCR");
    *crd = strcmp(mode, "CRD") == 0;
    if (!*crd && strcmp(mode, "DCR") != 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "mode '%s'; known are DCR and CRD", mode);
    return QRN_OK;
}

qrn_status move_import_depth_to_space(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t b = 1;
    bool crd = false;
    QRN_TRY(block_size(im, n, &b));
    QRN_TRY(block_mode(im, n, &crd));
    const uint32_t *d = x->dims;
    if (d[1] % (b * b))
        return ox_fail(im, n, QRN_E_SHAPE, "%u channels cannot be divided by %u", d[1], b * b);
    uint32_t depth = d[1] / (b * b);
    if ((uint64_t)d[2] * b > UINT32_MAX || (uint64_t)d[3] * b > UINT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE, "the result is too large");
    QRN_TRY(ox_set_moved(im, n, 0, 0, 4, (const uint32_t[]){d[0], depth, d[2] * b, d[3] * b}));
    if (!is_no_image(x))
        return emit_blocks(im, n, QNN_OP_DEPTH_TO_SPACE, b,
                           crd ? QNN_OP_DEPTH_TO_SPACE_MODE_CRD : QNN_OP_DEPTH_TO_SPACE_MODE_DCR);
    if (crd)
        return rearrange(im, n, (const uint32_t[]){d[0], depth, b, b, d[2], d[3]},
                         (const uint32_t[]){0, 1, 4, 2, 5, 3});
    return rearrange(im, n, (const uint32_t[]){d[0], b, b, depth, d[2], d[3]},
                     (const uint32_t[]){0, 3, 4, 1, 5, 2});
}

qrn_status move_import_space_to_depth(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t b = 1;
    bool crd = false;
    QRN_TRY(block_size(im, n, &b));
    QRN_TRY(block_mode(im, n, &crd)); // since opset 28; before there was DCR alone
    const uint32_t *d = x->dims;
    if (d[2] % b || d[3] % b)
        return ox_fail(im, n, QRN_E_SHAPE, "%u x %u pixels cannot be divided by %u", d[2], d[3], b);
    uint32_t h = d[2] / b, w = d[3] / b;
    if ((uint64_t)d[1] * b * b > UINT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE, "the result is too large");
    QRN_TRY(ox_set_moved(im, n, 0, 0, 4, (const uint32_t[]){d[0], d[1] * b * b, h, w}));
    if (!is_no_image(x))
        return emit_blocks(im, n, QNN_OP_SPACE_TO_DEPTH, b,
                           crd ? QNN_OP_SPACE_TO_DEPTH_MODE_CRD : QNN_OP_SPACE_TO_DEPTH_MODE_DCR);
    return rearrange(im, n, (const uint32_t[]){d[0], d[1], h, b, w, b},
                     crd ? (const uint32_t[]){0, 1, 3, 5, 2, 4}
                         : (const uint32_t[]){0, 3, 5, 1, 2, 4});
}

// Indices in [-depth, depth) made positive; what is outside stays so and selects nothing.
static qrn_status hot_indices(ox_import *im, const ox_node *n, uint32_t depth,
                              const qc_tensor **out) {
    const Qnn_DataType_t i32 = QNN_DATATYPE_INT_32;
    qc_tensor *x, *zero, *d;
    const qc_tensor *below, *ends;
    const ox_val *given = ox_input(im, n, 0);
    if (ox_is_quantized(im, n) && given->quantized) // a step need not be a whole number
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "input 0 ('%s') is quantized; indices must be whole numbers: leave "
                       "QuantizeLinear and DequantizeLinear before it out",
                       n->in[0]);
    if (given->type == OX_F32 || given->type == OX_F16) {
        qc_tensor *real;
        QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &real));
        QRN_TRY(ox_temp_typed(im, i32, real->rank, real->dims, &x));
        QRN_TRY(ox_emit_cast(im, n, real, x));
    } else {
        QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, i32, &x));
    }
    QRN_TRY(ox_number(im, i32, 0, &zero));
    QRN_TRY(ox_number(im, i32, depth, &d));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_LESS, x, zero, QNN_DATATYPE_BOOL_8, x->rank,
                        x->dims, &below));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_ADD, x, d, i32, x->rank, x->dims, &ends));
    return move_select(im, n, below, ends, x, x->rank, x->dims, out);
}

// Element i of input 2 (off, on) as a tensor [1].
static qrn_status hot_value(ox_import *im, const ox_node *n, const qc_tensor *values, uint32_t i,
                            const qc_tensor **out) {
    uint32_t one = 1;
    qc_tensor *t;
    QRN_TRY(ox_temp(im, values, 1, &one, &t));
    *out = t;
    return move_emit_slice(im, n, values, &(move_range){i, 1, 1}, t);
}

static qrn_status emit_one_hot(ox_import *im, const ox_node *n, const qc_tensor *x, uint32_t depth,
                               uint32_t axis, const qc_tensor *y) {
    qc_op o;
    ox_op(im, &o, n, QNN_OP_ONE_HOT);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_ONE_HOT_PARAM_DEPTH, depth);
    qc_u32(&o, QNN_OP_ONE_HOT_PARAM_AXIS, axis);
    return qc_op_end(&o);
}

static qrn_status hot_depth(ox_import *im, const ox_node *n, uint32_t *depth) {
    int64_t whole;
    uint32_t count;
    float real;
    if (!ox_const_ints(im, n, 1, &whole, 1, &count) || count != 1) {
        if (!ox_const_float(im, n, 1, &real))
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "input 1 ('%s') must be constant: depth of the new axis", n->in[1]);
        whole = real >= 1 && real < 2147483648.0f ? (int64_t)real : 0;
    }
    if (whole < 1 || whole > INT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE, "depth %lld", (long long)whole);
    *depth = (uint32_t)whole;
    return QRN_OK;
}

// The hot places as int32 0 and 1, then off and on selected by them: exact in every type.
qrn_status move_import_one_hot(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *values = ox_input(im, n, 2);
    uint32_t axis, depth = 0, rank = x->rank + 1, dims[OX_MAX_RANK + 1], hot_dims[OX_MAX_RANK + 1];
    ox_carry c;
    const qc_tensor *indices, *pair, *on, *off, *w, *cond;
    qc_tensor *hot, *y;
    qc_op o;
    QRN_TRY(hot_depth(im, n, &depth));
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", -1), rank, &axis));
    if (values->rank != 1 || values->dims[0] != 2)
        return ox_fail(im, n, QRN_E_SHAPE, "input 2 must have two values: off and on");
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? depth : x->dims[i < axis ? i : i - 1];
    QRN_TRY(ox_set_moved(im, n, 0, 2, rank, dims));
    QRN_TRY(hot_indices(im, n, depth, &indices));
    memcpy(hot_dims, dims, sizeof dims);
    if (x->rank == 0) { // a scalar is held as [1]
        hot_dims[0] = 1;
        hot_dims[1] = depth;
    }
    QRN_TRY(ox_temp_typed(im, QNN_DATATYPE_INT_32, x->rank ? rank : 2, hot_dims, &hot));
    QRN_TRY(emit_one_hot(im, n, indices, depth, x->rank ? axis : 1, hot));
    cond = hot;
    if (x->rank == 0)
        QRN_TRY(move_reshaped(im, n, hot, 1, &depth, &cond));
    QRN_TRY(ox_carry_input(im, n, 2, OX_ONNX, MOVE_SLICE & MOVE_SELECT, &c, &pair));
    QRN_TRY(hot_value(im, n, pair, 0, &off));
    QRN_TRY(hot_value(im, n, pair, 1, &on));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    ox_op(im, &o, n, QNN_OP_ELEMENT_WISE_SELECT);
    qc_in(&o, cond);
    qc_in(&o, on);
    qc_in(&o, off);
    qc_out(&o, w);
    QRN_TRY(qc_op_end(&o));
    return ox_carry_end(im, n, &c, w, y);
}

// first, first + 1, ... along one axis of a value of this rank; the other axes are 1.
qrn_status move_count_up(ox_import *im, const ox_node *n, uint32_t rank, uint32_t axis,
                         uint32_t length, int32_t first, qc_tensor **out) {
    uint32_t dims[OX_MAX_RANK];
    if (length > MOVE_LONGEST)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "an axis of %u elements, at most %d", length,
                       MOVE_LONGEST);
    int32_t *numbers = ox_alloc(im, length * sizeof *numbers);
    if (!numbers)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    for (uint32_t i = 0; i < length; i++)
        numbers[i] = first + (int32_t)i;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == axis ? length : 1;
    return ox_static(im, QNN_DATATYPE_INT_32, rank, dims, numbers, length * sizeof *numbers, out);
}

// Where the triangle is kept: [rows, columns], by comparing positions.
static qrn_status triangle(ox_import *im, const ox_node *n, uint32_t rank, const uint32_t *d,
                           int64_t k, const qc_tensor **out) {
    bool upper = ox_attr_int(n, "upper", 1) != 0;
    uint32_t dims[OX_MAX_RANK];
    qc_tensor *rows = NULL, *columns = NULL;
    int64_t first = k > MOVE_LONGEST ? MOVE_LONGEST : k < -MOVE_LONGEST ? -MOVE_LONGEST : k;
    QRN_TRY(move_count_up(im, n, rank, rank - 2, d[rank - 2], (int32_t)first, &rows));
    QRN_TRY(move_count_up(im, n, rank, rank - 1, d[rank - 1], 0, &columns));
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i + 2 < rank ? 1 : d[i];
    return move_binary(im, n,
                       upper ? QNN_OP_ELEMENT_WISE_GREATER_EQUAL : QNN_OP_ELEMENT_WISE_LESS_EQUAL,
                       columns, rows, QNN_DATATYPE_BOOL_8, rank, dims, out);
}

static qrn_status emit_triangle(ox_import *im, const ox_node *n, const qc_tensor *keep,
                                const qc_tensor *x, const qc_tensor *y) {
    uint32_t one = 1;
    float nothing = 0;
    qc_tensor *zero;
    qc_op o;
    QRN_TRY(ox_static_like(im, x, &nothing, 1, &one, &zero));
    ox_op(im, &o, n, QNN_OP_ELEMENT_WISE_SELECT);
    qc_in(&o, keep);
    qc_in(&o, x);
    qc_in(&o, zero);
    qc_out(&o, y);
    return qc_op_end(&o);
}

qrn_status move_import_trilu(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    const Qnn_DataType_t i32 = QNN_DATATYPE_INT_32;
    int64_t k = 0;
    uint32_t count;
    ox_carry c;
    const qc_tensor *in, *w, *keep;
    qc_tensor *quantized, *y;
    if (x->rank < 2)
        return ox_fail(im, n, QRN_E_SHAPE, "rank %u, expected at least 2", x->rank);
    if (ox_input(im, n, 1))
        QRN_TRY(ox_ints_of(im, n, "k", 1, &k, 1, &count));
    QRN_TRY(triangle(im, n, x->rank, x->dims, k, &keep));
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, x->dims));
    if (x->type != OX_F32 && x->type != OX_F16) {
        QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, i32, &quantized));
        QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, i32, &y));
        QRN_TRY(emit_triangle(im, n, keep, quantized, y));
        return ox_out_end(im, n, 0, OX_ONNX, y);
    }
    QRN_TRY(ox_carry_input(im, n, 0, OX_ONNX, OX_T_FLOAT | OX_T_UQ8 | OX_T_UQ16, &c, &in));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(emit_triangle(im, n, keep, in, w));
    return ox_carry_end(im, n, &c, w, y);
}
