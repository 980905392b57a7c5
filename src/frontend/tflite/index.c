// SPDX-License-Identifier: MIT
//
// Importers: gathering and scattering, choices, conversions of types, constants that are made.
#include "frontend/onnx/driver/internal.h"
#include "frontend/tflite/import.h"

#include <string.h>

// GATHER (x, indices) and EMBEDDING_LOOKUP (indices, x).
qrn_status tl_gather(tl *t) {
    const ox_node *n = t->e.n;
    bool lookup = strcmp(t->op->name, "EMBEDDING_LOOKUP") == 0;
    const ox_val *x = tl_val(t, lookup ? 1 : 0);
    if (tl_int(t, "batch_dims") != 0)
        return tl_fail(t, QRN_E_UNSUPPORTED, "batch_dims %lld, only 0 is supported",
                       (long long)tl_int(t, "batch_dims"));
    // Rows of weights that are quantized one by one are gathered as numbers.
    if (!t->real && x->enc && x->enc->n > 1) {
        t->rejected = true;
        return tl_fail(t, QRN_E_UNSUPPORTED, "'%s' has several scales", x->name);
    }
    tl_node node = {.op = "Gather", .in = {n->in[lookup], n->in[!lookup]}, .n_in = 2};
    tl_attr(&node, "axis", lookup ? 0 : tl_int(t, "axis"));
    return tl_onnx(t, &node);
}

qrn_status tl_gather_nd(tl *t) {
    const tl_node node = tl_like(t, "GatherND");
    return tl_onnx(t, &node);
}

// Adds updates to zeros; (indices, updates, shape).
qrn_status tl_scatter_nd(tl *t) {
    const ox_node *n = t->e.n;
    const ox_val *updates = tl_val(t, 1);
    int64_t shape[OX_MAX_RANK];
    uint32_t rank;
    QRN_TRY(tl_ints(t, 2, shape, OX_MAX_RANK, &rank));
    if (t->fixed) {
        t->rejected = true;
        return tl_fail(t, QRN_E_UNSUPPORTED, "no QNN op computes it on quantized values");
    }
    const char *zeros = tl_between(t);
    const tl_node fill = {
        .op = "Expand",
        .in = {tl_const_scalar(t, updates->type, 0), tl_const_ints(t, shape, rank)},
        .n_in = 2};
    tl_node node = {.op = "ScatterND", .in = {zeros, n->in[0], n->in[1]}, .n_in = 3};
    tl_attr_text(&node, "reduction", "add");
    QRN_TRY(tl_onnx_to(t, &fill, &zeros, 1));
    return tl_onnx(t, &node);
}

// (indices, depth, on, off): ONNX wants the two values in one tensor.
qrn_status tl_one_hot(tl *t) {
    const ox_node *n = t->e.n;
    const char *both[] = {tl_between(t), tl_between(t), tl_between(t)};
    const int64_t one = 1;
    for (uint32_t i = 0; i < 2; i++) {
        const tl_node as_list = {
            .op = "Reshape", .in = {n->in[3 - i], tl_const_ints(t, &one, 1)}, .n_in = 2};
        QRN_TRY(tl_onnx_to(t, &as_list, &both[i], 1));
    }
    tl_node join = {.op = "Concat", .in = {both[0], both[1]}, .n_in = 2};
    tl_attr(&join, "axis", 0);
    QRN_TRY(tl_onnx_to(t, &join, &both[2], 1));
    tl_node node = {.op = "OneHot", .in = {n->in[0], n->in[1], both[2]}, .n_in = 3};
    tl_attr(&node, "axis", tl_int(t, "axis"));
    return tl_onnx(t, &node);
}

// Both sides in one encoding are chosen among as they are.
qrn_status tl_select(tl *t) {
    const ox_val *c = tl_val(t, 0), *a = tl_val(t, 1), *b = tl_val(t, 2);
    const ox_info *y = ox_declared(t->e.im, t->e.n->out[0]);
    if (t->fixed && !(y && ox_same_encoding(a->enc, y->enc) && ox_same_encoding(b->enc, y->enc))) {
        t->rejected = true;
        return tl_fail(t, QRN_E_UNSUPPORTED, "its operands have different encodings");
    }
    tl_node node = tl_like(t, "Where");
    // SELECT's condition may be a list of rows.
    if (strcmp(t->op->name, "SELECT") == 0 && c->rank == 1 && a->rank > 1) {
        int64_t shape[OX_MAX_RANK];
        for (uint32_t i = 0; i < a->rank; i++)
            shape[i] = i ? 1 : c->dims[0];
        const char *rows = tl_between(t);
        const tl_node as_rows = {
            .op = "Reshape", .in = {node.in[0], tl_const_ints(t, shape, a->rank)}, .n_in = 2};
        QRN_TRY(tl_onnx_to(t, &as_rows, &rows, 1));
        node.in[0] = rows;
    }
    return tl_onnx(t, &node);
}

// Places of what is true: one row each.
qrn_status tl_where(tl *t) {
    static const int64_t perm[] = {1, 0};
    const char *found = tl_between(t);
    const tl_node node = tl_like(t, "NonZero");
    tl_node turned = {.op = "Transpose", .in = {found}, .n_in = 1};
    tl_attr_ints(&turned, "perm", perm, 2);
    QRN_TRY(tl_onnx_to(t, &node, &found, 1));
    return tl_onnx(t, &turned);
}

// --- types

qrn_status tl_cast(tl *t) {
    const ox_info *y = ox_declared(t->e.im, t->e.n->out[0]);
    tl_node node = tl_like(t, "Cast");
    tl_attr(&node, "to", y ? y->type : OX_NONE);
    return tl_onnx(t, &node);
}

// A float to a quantized value, or one encoding to another.
qrn_status tl_quantize(tl *t) {
    const ox_val *x = tl_val(t, 0);
    QRN_TRY(tl_set(t, 0, x->rank, x->dims));
    return tl_plain(t, tl_is_fixed(x) && !t->real ? QNN_OP_CONVERT : QNN_OP_QUANTIZE);
}

// Constants of fp16 become float32: that is how such models store their weights.
qrn_status tl_dequantize(tl *t) {
    const ox_val *x = tl_val(t, 0);
    if (x->data && !t->fixed) {
        const float *values = ox_const_reals(t->e.im, t->e.n, 0);
        return values ? ox_set_const(t->e.im, t->e.n, 0, OX_F32, x->rank, x->dims, values)
                      : ox_no_memory(t->e.im);
    }
    if (x->data && x->enc) {
        t->real = true;
        const float *values = ox_const_reals(t->e.im, t->e.n, 0);
        return values ? ox_set_const(t->e.im, t->e.n, 0, OX_F32, x->rank, x->dims, values)
                      : ox_no_memory(t->e.im);
    }
    if (!x->enc) {
        tl_node node = tl_like(t, "Cast");
        tl_attr(&node, "to", OX_F32);
        return tl_onnx(t, &node);
    }
    QRN_TRY(tl_set(t, 0, x->rank, x->dims));
    return tl_plain(t, QNN_OP_DEQUANTIZE);
}

// The reader has expanded what is sparse.
qrn_status tl_densify(tl *t) {
    const tl_node node = tl_like(t, "Identity");
    return tl_onnx(t, &node);
}

// --- constants

// SHAPE, RANK.
qrn_status tl_shape(tl *t) {
    const ox_val *x = tl_val(t, 0);
    const ox_info *y = ox_declared(t->e.im, t->e.n->out[0]);
    bool wide = y && y->type == OX_I64, shape = strcmp(t->op->name, "SHAPE") == 0;
    int32_t dims[OX_MAX_RANK + 1];
    int64_t wide_dims[OX_MAX_RANK + 1];
    for (uint32_t d = 0; d < x->rank; d++)
        dims[d] = (int32_t)x->dims[d];
    if (!shape)
        dims[0] = (int32_t)x->rank;
    for (uint32_t d = 0; d < (shape ? x->rank : 1); d++)
        wide_dims[d] = dims[d];
    return ox_set_const(t->e.im, t->e.n, 0, wide ? OX_I64 : OX_I32, shape, &x->rank,
                        wide ? (void *)wide_dims : (void *)dims);
}

// FILL (shape, value), ZEROS_LIKE.
qrn_status tl_fill(tl *t) {
    const ox_node *n = t->e.n;
    int64_t shape[OX_MAX_RANK];
    uint32_t rank;
    const char *value = n->n_in > 1 ? n->in[1] : NULL;
    if (strcmp(t->op->name, "FILL") == 0) {
        QRN_TRY(tl_ints(t, 0, shape, OX_MAX_RANK, &rank));
    } else {
        const ox_val *x = tl_val(t, 0);
        rank = x->rank;
        for (uint32_t d = 0; d < rank; d++)
            shape[d] = x->dims[d];
        value = tl_const_scalar(t, x->type, x->enc && x->enc->zeros ? x->enc->zeros[0] : 0);
    }
    const tl_node node = {.op = "Expand", .in = {value, tl_const_ints(t, shape, rank)}, .n_in = 2};
    return tl_onnx(t, &node);
}

qrn_status tl_range(tl *t) {
    const tl_node node = tl_like(t, "Range");
    return tl_onnx(t, &node);
}
