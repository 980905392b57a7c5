// SPDX-License-Identifier: MIT
//
// Random changes of a call: attributes, dims, ranks, types, encodings, absent operands.
#include "op_case.h"

#include <math.h>
#include <string.h>

static uint32_t some_number(uint32_t now) {
    static const uint32_t often[] = {
        0,  1,  2,  3,  4,  5,  7,   8,   9,    15,    16,         17,         31,        32,
        33, 63, 64, 65, 96, 99, 255, 256, 1024, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
    switch (op_below(6)) {
    case 0:
        return now + 1;
    case 1:
        return now - 1;
    case 2:
        return op_below(2) ? now * 2 : now / 2;
    case 3:
        return op_below(8) ? op_below(12) : op_random();
    default:
        return often[op_below(sizeof often / sizeof often[0])];
    }
}

static double some_real(double now) {
    static const double often[] = {0,   -0.0, 1,    -1,   0.5,      2,   1e-30,
                                   100, 1e30, -1e9, 1e38, INFINITY, NAN, -INFINITY};
    return op_below(4) ? often[op_below(sizeof often / sizeof often[0])] : now * 1.5 - 1;
}

static void mutate_attr(op_case *c) {
    if (!c->op->n_attrs)
        return;
    const qrn_attr *a = &c->op->attrs[op_below(c->op->n_attrs)];
    // The first members of long arrays are those that count.
    uint32_t most = a->count > 8 && op_below(4) ? 8 : a->count;
    uint8_t *p = c->args + a->offset + (size_t)op_below(most) * a->stride;
    union {
        uint8_t b;
        uint32_t u;
        int64_t l;
        float f;
        double d;
    } v = {0};
    memcpy(&v, p, a->stride < sizeof v ? a->stride : sizeof v);
    switch ((qrn_attr_kind)a->kind) {
    case QRN_ATTR_BOOL:
        *p = !v.b;
        return;
    case QRN_ATTR_U8:
        *p = (uint8_t)some_number(v.b);
        return;
    case QRN_ATTR_U32:
    case QRN_ATTR_I32:
        v.u = some_number(v.u);
        memcpy(p, &v.u, sizeof v.u);
        return;
    case QRN_ATTR_I64:
        v.l = op_below(2) ? (int32_t)some_number((uint32_t)v.l)
                          : (int64_t)((uint64_t)some_number((uint32_t)v.l) << (op_random() % 64));
        memcpy(p, &v.l, sizeof v.l);
        return;
    case QRN_ATTR_F32:
        v.f = (float)some_real((double)v.f);
        memcpy(p, &v.f, sizeof v.f);
        return;
    case QRN_ATTR_F64:
        v.d = some_real(v.d);
        memcpy(p, &v.d, sizeof v.d);
        return;
    }
}

static op_operand *some_operand(op_case *c) { return &c->operands[op_below(c->n_in + c->n_out)]; }

static uint32_t some_size(uint32_t now) {
    uint32_t n = some_number(now);
    return n > 300 && op_below(8) ? 1 + n % 40 : n;
}

static void mutate_dim(op_case *c) {
    op_operand *o = some_operand(c);
    if (o->rank) {
        uint32_t *d = &o->dims[op_below(o->rank)];
        *d = some_size(*d);
    }
}

// All dims of one size get another: most ops stay content.
static void mutate_equal_dims(op_case *c) {
    op_operand *o = some_operand(c);
    if (!o->rank)
        return;
    uint32_t was = o->dims[op_below(o->rank)], is = some_size(was);
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++)
        for (uint32_t d = 0; d < c->operands[i].rank; d++)
            if (c->operands[i].dims[d] == was)
                c->operands[i].dims[d] = is;
}

static void insert_dim(op_operand *o, uint32_t at, uint32_t dim) {
    if (o->rank == QRN_MAX_RANK || at > o->rank)
        return;
    memmove(o->dims + at + 1, o->dims + at, (o->rank - at) * sizeof o->dims[0]);
    o->dims[at] = dim;
    o->rank++;
}

static void remove_dim(op_operand *o, uint32_t at) {
    if (at >= o->rank)
        return;
    memmove(o->dims + at, o->dims + at + 1, (o->rank - at - 1) * sizeof o->dims[0]);
    o->rank--;
}

static void mutate_rank(op_case *c) {
    uint32_t what = op_below(5), at = op_below(QRN_MAX_RANK), dim = 1 + op_below(3);
    op_operand *one = some_operand(c);
    if (what == 0)
        insert_dim(one, one->rank ? at % (one->rank + 1) : 0, dim);
    else if (what == 1)
        remove_dim(one, one->rank ? at % one->rank : 0);
    else if (what == 2)
        one->rank = op_below(QRN_MAX_RANK + 1);
    else
        for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
            if (what == 3)
                insert_dim(&c->operands[i], at % 3, dim);
            else
                remove_dim(&c->operands[i], at % 3);
        }
}

static void mutate_type(op_case *c) {
    op_operand *one = some_operand(c);
    qrn_dtype was = one->dtype, is = (qrn_dtype)op_below(QRN_DTYPE_COUNT);
    if (op_below(2))
        one->dtype = is;
    else
        for (uint32_t i = 0; i < c->n_in + c->n_out; i++)
            if (c->operands[i].dtype == was)
                c->operands[i].dtype = is;
}

static void mutate_encoding(op_case *c) {
    static const float shifts[] = {0, 1, 0.5f};
    op_operand *o = some_operand(c);
    switch (op_below(6)) {
    case 0:
        o->kind = (uint8_t)op_below(QRN_QUANT_BLOCK + 1);
        break;
    case 1:
        o->bits = (uint8_t)op_below(33);
        break;
    case 2:
        o->scale = fabsf((float)some_real((double)o->scale));
        o->scale = isfinite(o->scale) ? o->scale : 0.01f;
        break;
    case 3:
        o->offset = (int32_t)some_number((uint32_t)o->offset);
        o->has_offsets = op_below(4) != 0;
        break;
    case 4:
        o->shift = shifts[op_below(3)];
        o->axis = (uint8_t)op_below(QRN_MAX_RANK);
        break;
    default:
        o->has_real_offsets = !o->has_real_offsets;
        o->block[op_below(QRN_MAX_RANK)] = 1 + op_below(9);
        break;
    }
}

// More or fewer operands, absent ones.
static void mutate_presence(op_case *c) {
    uint32_t n = c->n_in + c->n_out;
    switch (op_below(4)) {
    case 0: // the last input goes
        if (c->n_in > 1) {
            memmove(&c->operands[c->n_in - 1], &c->operands[c->n_in],
                    c->n_out * sizeof c->operands[0]);
            c->n_in--;
        }
        break;
    case 1: // one more
        if (n < OP_MAX_OPERANDS) {
            memmove(&c->operands[c->n_in + 1], &c->operands[c->n_in],
                    c->n_out * sizeof c->operands[0]);
            c->operands[c->n_in] = c->operands[op_below(c->n_in)];
            c->n_in++;
        }
        break;
    case 2: // an output more or less
        if (op_below(2) && c->n_out > 1) {
            c->n_out--;
        } else if (n < OP_MAX_OPERANDS) {
            c->operands[n] = c->operands[op_below(n)];
            c->n_out++;
        }
        break;
    default: {
        op_operand *o = some_operand(c);
        o->there = !o->there;
    }
    }
}

static void mutate_storage(op_case *c) {
    op_operand *o = some_operand(c);
    switch (op_below(4)) {
    case 0:
        o->constant = !o->constant;
        break;
    case 1:
        o->n_sparse = op_below(6);
        o->n_sparse_dims = 1 + op_below(3);
        break;
    case 2:
        o->poke = true;
        break;
    default:
        o->given = NULL;
        break;
    }
}

void op_case_mutate(op_case *c) {
    for (uint32_t n = 1 + op_below(3); n > 0; n--) {
        uint32_t what = op_below(32);
        if (what < 9)
            mutate_attr(c);
        else if (what < 13)
            mutate_dim(c);
        else if (what < 19)
            mutate_equal_dims(c);
        else if (what < 22)
            mutate_rank(c);
        else if (what < 25)
            mutate_type(c);
        else if (what < 28)
            mutate_encoding(c);
        else if (what < 29)
            mutate_presence(c);
        else if (what < 31)
            mutate_storage(c);
        else
            c->domain = (qrn_domain)op_below(QRN_DOMAIN_RAW + 1);
    }
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++)
        c->operands[i].fill = op_random();
}
