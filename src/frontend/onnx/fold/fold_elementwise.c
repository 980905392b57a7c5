// SPDX-License-Identifier: MIT
//
// Element-wise ops of the folder: what they take, and how their shapes and types meet. Integers are
// computed modulo 2^64 and cut to their type, so they wrap as two's complement does; floats in
// double, rounded once.
#include "frontend/onnx/fold/fold_array.h"
#include "reference/elementwise.h"

#include <math.h>
#include <string.h>

// Before opset 7 the second operand was stretched only where the attributes said so: its dimensions
// are those of the first from `axis` on.
static qrn_status old_broadcast(const ox_call *c, const qrn_nd *a, qrn_nd *b) {
    uint32_t axis;
    if (ox_attr_int(c->node, "broadcast", 0) == 0 || b->rank == 0 || b->rank >= a->rank)
        return QRN_OK;
    QRN_TRY(ox_call_attr_axis(c, (int64_t)a->rank - b->rank, a->rank, &axis));
    if (axis + b->rank > a->rank)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the second input does not fit at axis %u", axis);
    for (uint32_t d = axis + b->rank; d < a->rank; d++)
        qrn_nd_insert(b, b->rank, 1, 0);
    return QRN_OK;
}

// The op that the attributes of a node make of that of its row.
static qrn_status choose_op(const ox_call *c, qrn_op *op) {
    *op = (qrn_op)c->row->code;
    if (*op == QRN_OP_MOD && ox_attr_int(c->node, "fmod", 0) != 0)
        *op = QRN_OP_FMOD;
    if (*op != QRN_OP_SHIFT_LEFT)
        return QRN_OK;
    const char *direction = ox_attr_string(c->node, "direction", "");
    if (strcmp(direction, "RIGHT") == 0)
        *op = QRN_OP_SHIFT_RIGHT;
    else if (strcmp(direction, "LEFT") != 0)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "direction '%s': LEFT or RIGHT is expected", direction);
    return QRN_OK;
}

// Integers have no quotient by 0, and no power of a negative exponent that is one.
static qrn_status check_integers(const ox_call *c, qrn_op op, const qrn_nd *x) {
    bool divides = op == QRN_OP_DIV || op == QRN_OP_MOD || op == QRN_OP_FMOD;
    if ((!divides && op != QRN_OP_POW) || x[0].kind == QRN_KIND_FLOAT ||
        x[1].kind == QRN_KIND_FLOAT)
        return QRN_OK;
    for (size_t i = 0; i < x[1].count; i++) {
        qrn_num b = qrn_nd_get(&x[1], i);
        if (divides && b.u == 0)
            return OX_CALL_PASS(c, "an integer is divided by 0");
        if (!divides && x[1].kind == QRN_KIND_SIGNED && b.i < 0)
            return OX_CALL_PASS(c, "an integer has a negative exponent");
    }
    return QRN_OK;
}

static bool takes(const ox_call *c, const qrn_nd *x) {
    int type = x->type == OX_BOOL ? OX_BOOLS : x->kind == QRN_KIND_FLOAT ? OX_FLOATS : OX_INTS;
    return c->row->types & type;
}

qrn_status ox_fold_map(ox_call *c) {
    uint32_t n = c->node->n_in, rank;
    size_t dims[QRN_ND_RANK];
    qrn_nd *x = ox_call_scratch(c, n, sizeof *x), y;
    qrn_op op;
    if (!x)
        return ox_call_no_memory();
    QRN_TRY(choose_op(c, &op));
    for (uint32_t k = 0; k < n; k++) {
        QRN_TRY(ox_call_numbers(c, k, &x[k]));
        if (op != QRN_OP_POW || c->opset < 12) // the exponent may be of another type
            QRN_TRY(ox_call_same_type(c, &x[0], &x[k]));
    }
    if (!takes(c, &x[0]))
        return ox_call_wrong_type(c, &x[0]);
    if (c->opset < 7 && c->row->max_in == 2)
        QRN_TRY(old_broadcast(c, &x[0], &x[1]));
    QRN_TRY(ox_call_broadcast(c, x, n, &rank, dims));
    int type = c->row->types & OX_TRUTH ? OX_BOOL : x[0].type;
    QRN_TRY(ox_call_new(c, 0, type, rank, dims, &y));
    if (y.count)
        QRN_TRY(check_integers(c, op, x));
    qrn_nd_apply(op, &y, x, n, QRN_CAST_SATURATE);
    return QRN_OK;
}

qrn_status ox_fold_is_inf(ox_call *c) {
    qrn_nd x[2], y;
    QRN_TRY(ox_call_numbers(c, 0, &x[0]));
    if (x[0].kind != QRN_KIND_FLOAT)
        return ox_call_wrong_type(c, &x[0]);
    bool negative = ox_attr_int(c->node, "detect_negative", 1) != 0;
    bool positive = ox_attr_int(c->node, "detect_positive", 1) != 0;
    QRN_TRY(ox_call_new(c, 0, OX_BOOL, x[0].rank, x[0].dims, &y));
    double one = positive ? INFINITY : -INFINITY;
    x[1] = qrn_nd_scalar(QRN_DTYPE_F64, &one);
    if (positive && negative)
        qrn_nd_apply(QRN_OP_IS_INF, &y, x, 1, QRN_CAST_SATURATE);
    else if (positive || negative)
        qrn_nd_apply(QRN_OP_EQ, &y, x, 2, QRN_CAST_SATURATE);
    return QRN_OK;
}

qrn_status ox_fold_cast(ox_call *c) {
    qrn_nd x, y;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if (c->node->n_in == 2 && !ox_call_has(c, 1))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "input 1 is missing");
    // CastLike: only the type of the second input counts.
    int to = c->node->n_in == 2 ? c->in[1]->type : (int)ox_attr_int(c->node, "to", OX_NONE);
    if (ox_type_dtype(to) == QRN_DTYPE_COUNT)
        return OX_CALL_PASS(c, "a cast to this type is not computed");
    if (to == x.type)
        return ox_call_share(c, x.rank, x.dims);
    QRN_TRY(ox_call_new(c, 0, to, x.rank, x.dims, &y));
    qrn_nd_apply(QRN_OP_CAST, &y, &x, 1, QRN_CAST_SATURATE);
    return QRN_OK;
}

qrn_status ox_fold_where(ox_call *c) {
    qrn_nd x[3], y;
    uint32_t rank;
    size_t dims[QRN_ND_RANK];
    for (uint32_t k = 0; k < 3; k++)
        QRN_TRY(ox_call_in(c, k, &x[k]));
    QRN_TRY(ox_call_same_type(c, &x[1], &x[2]));
    if (x[0].type != OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "the condition is of type %s", ox_type_name(x[0].type));
    QRN_TRY(ox_call_broadcast(c, x, 3, &rank, dims));
    QRN_TRY(ox_call_new(c, 0, x[1].type, rank, dims, &y));
    x[1] = qrn_nd_bits(&x[1]);
    x[2] = qrn_nd_bits(&x[2]);
    y = qrn_nd_bits(&y);
    qrn_nd_apply(QRN_OP_SELECT, &y, x, 3, QRN_CAST_SATURATE);
    return QRN_OK;
}

// A bound of Clip: input i, in old opsets an attribute. y becomes op(y, bound) where there is one.
static qrn_status clip_by(ox_call *c, qrn_op op, uint32_t i, const char *name, const qrn_nd *y) {
    const ox_attr *a = ox_attr_find(c->node, name);
    float f = a && a->type == OX_ATTR_FLOAT ? a->f : 0;
    qrn_num bound;
    qrn_nd x[2] = {*y, *y}, from = qrn_nd_scalar(QRN_DTYPE_F32, &f);
    if (ox_call_has(c, i)) {
        QRN_TRY(ox_call_one(c, i, y, &x[1]));
    } else if (a && a->type == OX_ATTR_FLOAT) {
        x[1] = qrn_nd_scalar(y->dtype, &bound);
        qrn_nd_apply(QRN_OP_CAST, &x[1], &from, 1, QRN_CAST_SATURATE);
    } else {
        return QRN_OK;
    }
    qrn_nd_expand(&x[1], y->rank, y->dims);
    qrn_nd_apply(op, y, x, 2, QRN_CAST_SATURATE);
    return QRN_OK;
}

qrn_status ox_fold_clip(ox_call *c) {
    qrn_nd x, y;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_new(c, 0, x.type, x.rank, x.dims, &y));
    qrn_nd_copy(&y, &x);
    QRN_TRY(clip_by(c, QRN_OP_MAX, 1, "min", &y));
    return clip_by(c, QRN_OP_MIN, 2, "max", &y);
}
