// SPDX-License-Identifier: MIT
//
// Element-wise ops of the folder with one or two operands. Integers are computed modulo 2^64 and
// cut to their type, so they wrap as two's complement does; floats in double, rounded once.
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <string.h>

static qrn_status wrong_type(const ox_call *c, const ox_array *a) {
    return OX_CALL_FAIL(c, QRN_E_DTYPE, "input of type %s", ox_type_name(a->type));
}

// --- one operand

qrn_status ox_fold_math(ox_call *c) {
    ox_array x, y;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if (x.kind != OX_FLOAT)
        return wrong_type(c, &x);
    QRN_TRY(ox_call_new(c, x.type, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++)
        ox_array_set(&y, i, (ox_num){.f = c->row->math(ox_array_get(&x, i).f)});
    return ox_call_put(c, 0, &y);
}

static ox_num unary_float(int code, double x) {
    switch (code) {
    case OX_NEG:
        return (ox_num){.f = -x};
    case OX_ABS:
        return (ox_num){.f = fabs(x)};
    case OX_SIGN:
        return (ox_num){.f = isnan(x) ? x : (double)((x > 0) - (x < 0))};
    default: // OX_RELU; NaN stays
        return (ox_num){.f = x < 0 ? 0 : x};
    }
}

static ox_num unary_int(int code, ox_kind kind, ox_num x) {
    bool negative = kind == OX_SIGNED && x.i < 0;
    switch (code) {
    case OX_NEG:
        return (ox_num){.u = 0 - x.u};
    case OX_ABS:
        return (ox_num){.u = negative ? 0 - x.u : x.u};
    case OX_SIGN:
        return (ox_num){.i = negative ? -1 : x.u != 0};
    case OX_RELU:
        return (ox_num){.u = negative ? 0 : x.u};
    case OX_BITWISE_NOT:
        return (ox_num){.u = ~x.u};
    default: // OX_NOT
        return (ox_num){.u = x.u == 0};
    }
}

qrn_status ox_fold_unary(ox_call *c) {
    ox_array x, y;
    int code = c->row->code;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if ((code == OX_NOT) != (x.type == OX_BOOL) || (code == OX_BITWISE_NOT && x.kind == OX_FLOAT))
        return wrong_type(c, &x);
    QRN_TRY(ox_call_new(c, x.type, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++) {
        ox_num v = ox_array_get(&x, i);
        ox_array_set(&y, i,
                     x.kind == OX_FLOAT ? unary_float(code, v.f) : unary_int(code, x.kind, v));
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_is(ox_call *c) {
    ox_array x, y;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if (x.kind != OX_FLOAT)
        return wrong_type(c, &x);
    bool negative = ox_attr_int(c->node, "detect_negative", 1) != 0;
    bool positive = ox_attr_int(c->node, "detect_positive", 1) != 0;
    QRN_TRY(ox_call_new(c, OX_BOOL, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++) {
        double v = ox_array_get(&x, i).f;
        bool is = c->row->code == OX_IS_NAN ? isnan(v) : isinf(v) && (v > 0 ? positive : negative);
        ox_array_set(&y, i, (ox_num){.u = is});
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_cast(ox_call *c) {
    ox_array x, y;
    int to;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if (c->node->n_in == 2) { // CastLike: only the type of the second input counts
        if (!ox_call_has(c, 1))
            return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "input 1 is missing");
        to = c->in[1]->type;
    } else {
        to = (int)ox_attr_int(c->node, "to", OX_NONE);
    }
    if (ox_type_kind(to) == OX_OPAQUE)
        return OX_CALL_PASS(c, "a cast to this type is not computed");
    if (to == x.type)
        return ox_call_share(c, 0, x.rank, x.dims);
    QRN_TRY(ox_call_new(c, to, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++)
        ox_array_set(&y, i, ox_num_cast(ox_array_get(&x, i), x.kind, to));
    return ox_call_put(c, 0, &y);
}

// --- two operands

// Both operands of a node and the result they broadcast to.
typedef struct pair {
    ox_array a, b, y;
    ox_walk at_a, at_b;
} pair;

// Before opset 7 the second operand was stretched only where the attributes said so: its dimensions
// are those of the first from `axis` on.
static qrn_status old_broadcast(const ox_call *c, const ox_array *a, ox_array *b) {
    int64_t at = ox_attr_int(c->node, "axis", (int64_t)a->rank - b->rank);
    if (ox_attr_int(c->node, "broadcast", 0) == 0 || b->rank == 0 || b->rank >= a->rank)
        return QRN_OK;
    uint32_t axis;
    QRN_TRY(ox_call_axis(c, at, a->rank, &axis));
    if (axis + b->rank > a->rank)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the second input does not fit at axis %u", axis);
    for (uint32_t d = axis + b->rank; d < a->rank; d++)
        b->dims[b->rank++] = 1;
    return QRN_OK;
}

static qrn_status read_pair(ox_call *c, pair *p, bool same_type) {
    QRN_TRY(ox_call_numbers(c, 0, &p->a));
    QRN_TRY(ox_call_numbers(c, 1, &p->b));
    if (same_type)
        QRN_TRY(ox_call_same_type(c, &p->a, &p->b));
    return c->opset < 7 ? old_broadcast(c, &p->a, &p->b) : QRN_OK;
}

static qrn_status make_result(ox_call *c, pair *p, int type) {
    uint32_t rank, dims[OX_MAX_RANK];
    const ox_array *both[] = {&p->a, &p->b};
    QRN_TRY(ox_call_broadcast(c, both, 2, &rank, dims));
    QRN_TRY(ox_call_new(c, type, rank, dims, &p->y));
    p->at_a = ox_walk_broadcast(&p->a, rank, dims);
    p->at_b = ox_walk_broadcast(&p->b, rank, dims);
    return QRN_OK;
}

static void next_pair(pair *p, ox_num *a, ox_num *b) {
    *a = ox_array_get(&p->a, (size_t)p->at_a.index);
    *b = ox_array_get(&p->b, (size_t)p->at_b.index);
    ox_walk_next(&p->at_a);
    ox_walk_next(&p->at_b);
}

static double mod_floor(double a, double b) {
    double r = fmod(a, b);
    if (r == 0)
        return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double binary_float(int code, double a, double b, bool fmod_rule) {
    switch (code) {
    case OX_ADD:
        return a + b;
    case OX_SUB:
        return a - b;
    case OX_MUL:
        return a * b;
    case OX_DIV:
        return a / b;
    case OX_MOD:
        return fmod_rule ? fmod(a, b) : mod_floor(a, b);
    default:
        return pow(a, b);
    }
}

// Quotient or remainder; the divisor is not 0. Signed: truncated, as C does; the one overflow
// (smallest / -1) wraps.
static ox_num divide(int code, ox_kind kind, ox_num a, ox_num b, bool fmod_rule) {
    if (kind == OX_UNSIGNED)
        return (ox_num){.u = code == OX_DIV ? a.u / b.u : a.u % b.u};
    if (b.i == -1)
        return (ox_num){.u = code == OX_DIV ? 0 - a.u : 0};
    if (code == OX_DIV)
        return (ox_num){.i = a.i / b.i};
    int64_t r = a.i % b.i;
    return (ox_num){.i = !fmod_rule && r != 0 && (r < 0) != (b.i < 0) ? r + b.i : r};
}

static ox_num binary_int(int code, ox_kind kind, ox_num a, ox_num b, bool fmod_rule) {
    switch (code) {
    case OX_ADD:
        return (ox_num){.u = a.u + b.u};
    case OX_SUB:
        return (ox_num){.u = a.u - b.u};
    case OX_MUL:
        return (ox_num){.u = a.u * b.u};
    default:
        return divide(code, kind, a, b, fmod_rule);
    }
}

static qrn_status power(ox_call *c);

qrn_status ox_fold_binary(ox_call *c) {
    pair p;
    int code = c->row->code;
    if (code == OX_POW)
        return power(c);
    QRN_TRY(read_pair(c, &p, true));
    if (p.a.type == OX_BOOL)
        return wrong_type(c, &p.a);
    QRN_TRY(make_result(c, &p, p.a.type));
    bool fmod_rule = ox_attr_int(c->node, "fmod", 0) != 0;
    for (size_t i = 0; i < p.y.count; i++) {
        ox_num a, b;
        next_pair(&p, &a, &b);
        if (p.a.kind == OX_FLOAT) {
            ox_array_set(&p.y, i, (ox_num){.f = binary_float(code, a.f, b.f, fmod_rule)});
            continue;
        }
        if ((code == OX_DIV || code == OX_MOD) && b.u == 0)
            return OX_CALL_PASS(c, "an integer is divided by 0");
        ox_array_set(&p.y, i, binary_int(code, p.a.kind, a, b, fmod_rule));
    }
    return ox_call_put(c, 0, &p.y);
}

// base^exponent of integers, modulo 2^64.
static uint64_t int_power(uint64_t base, uint64_t exponent) {
    uint64_t r = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            r *= base;
    return r;
}

// The result has the base's type; the exponent may have another.
static qrn_status power(ox_call *c) {
    pair p;
    QRN_TRY(read_pair(c, &p, c->opset < 12));
    QRN_TRY(make_result(c, &p, p.a.type));
    bool ints = p.a.kind != OX_FLOAT && p.b.kind != OX_FLOAT;
    for (size_t i = 0; i < p.y.count; i++) {
        ox_num a, b, r;
        next_pair(&p, &a, &b);
        if (ints && p.b.kind == OX_SIGNED && b.i < 0)
            return OX_CALL_PASS(c, "an integer has a negative exponent");
        if (ints) {
            r.u = int_power(a.u, b.u);
        } else {
            r.f = pow(ox_num_double(a, p.a.kind), ox_num_double(b, p.b.kind));
            r = ox_num_cast(r, OX_FLOAT, p.y.type);
        }
        ox_array_set(&p.y, i, r);
    }
    return ox_call_put(c, 0, &p.y);
}

static bool relation(int code, ox_kind kind, ox_num a, ox_num b) {
    bool equal, less;
    if (kind == OX_FLOAT) {
        equal = a.f == b.f;
        less = a.f < b.f;
        if (!equal && !less && !(a.f > b.f)) // NaN
            return false;
    } else {
        equal = a.u == b.u;
        less = kind == OX_SIGNED ? a.i < b.i : a.u < b.u;
    }
    switch (code) {
    case OX_EQUAL:
        return equal;
    case OX_GREATER:
        return !less && !equal;
    case OX_GREATER_EQUAL:
        return !less;
    case OX_LESS:
        return less;
    default:
        return less || equal;
    }
}

qrn_status ox_fold_compare(ox_call *c) {
    pair p;
    QRN_TRY(read_pair(c, &p, true));
    QRN_TRY(make_result(c, &p, OX_BOOL));
    for (size_t i = 0; i < p.y.count; i++) {
        ox_num a, b;
        next_pair(&p, &a, &b);
        ox_array_set(&p.y, i, (ox_num){.u = relation(c->row->code, p.a.kind, a, b)});
    }
    return ox_call_put(c, 0, &p.y);
}

static uint64_t bit_op(int code, uint64_t a, uint64_t b) {
    return code == OX_AND ? a & b : code == OX_OR ? a | b : a ^ b;
}

qrn_status ox_fold_logic(ox_call *c) {
    pair p;
    QRN_TRY(read_pair(c, &p, true));
    if (p.a.type != OX_BOOL)
        return wrong_type(c, &p.a);
    QRN_TRY(make_result(c, &p, OX_BOOL));
    for (size_t i = 0; i < p.y.count; i++) {
        ox_num a, b;
        next_pair(&p, &a, &b);
        ox_array_set(&p.y, i, (ox_num){.u = bit_op(c->row->code, a.u, b.u)});
    }
    return ox_call_put(c, 0, &p.y);
}

// Bits that leave the type are lost; a shift by its width or more loses all but the sign.
static ox_num shift(const ox_array *x, bool left, ox_num a, ox_num b) {
    bool all = b.u >= ox_type_bits(x->type); // negative ones too
    if (left)
        return (ox_num){.u = all ? 0 : a.u << b.u};
    if (x->kind == OX_SIGNED)
        return (ox_num){.i = all ? -(int64_t)(a.i < 0) : a.i >> b.u};
    return (ox_num){.u = all ? 0 : a.u >> b.u};
}

qrn_status ox_fold_bitwise(ox_call *c) {
    pair p;
    int code = c->row->code;
    QRN_TRY(read_pair(c, &p, true));
    if (p.a.kind == OX_FLOAT || p.a.type == OX_BOOL)
        return wrong_type(c, &p.a);
    const char *direction = ox_attr_string(c->node, "direction", "");
    bool left = strcmp(direction, "LEFT") == 0;
    if (code == OX_SHIFT && !left && strcmp(direction, "RIGHT") != 0)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "direction '%s': LEFT or RIGHT is expected", direction);
    QRN_TRY(make_result(c, &p, p.a.type));
    for (size_t i = 0; i < p.y.count; i++) {
        ox_num a, b;
        next_pair(&p, &a, &b);
        ox_num r = {.u = bit_op(code, a.u, b.u)};
        ox_array_set(&p.y, i, code == OX_SHIFT ? shift(&p.a, left, a, b) : r);
    }
    return ox_call_put(c, 0, &p.y);
}
