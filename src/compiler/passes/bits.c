// SPDX-License-Identifier: MIT
//
// Pass "bits": operations on the bits of 32-bit integers, written in the arithmetic that QNN has,
// become one step. A product with a power of 2 is a shift to the left, an unsigned quotient one to
// the right. (a AND b) is a sum over groups of bits, each looked up in a table of (i AND j) at
// index size * i + j, where i and j are the same bits of a and b; a OR b = a + b - (a AND b),
// a XOR b = a + b - 2 (a AND b). Of a constant b the groups are constants, too. The pass notes for
// each value which of the terms of such a sum it is, and replaces the step that makes the whole.
// The others are dead if nobody else reads them. It looks at constants, so graphs that may be
// stored are left alone.
#include "compiler/passes.h"

#include "base/mem.h"
#include "kernels/eltwise/binary.h"
#include "kernels/move/gather.h"

#include <string.h>

#define WIDTH 32u

typedef enum term_kind {
    UNKNOWN,
    REST,    // a >> at, with its sign; from 0 on: a value of which nothing is known
    FIELD,   // bits at .. at+n-1 of a
    CLEARED, // a >> at, its n lowest bits 0
    ROW,     // FIELD of a, times the size of a table
    PAIR,    // ROW of a + FIELD of b: the index of a table
    CHUNK,   // bits at .. at+n-1 of (a AND b), not yet in their place
    PLACED,  // the same in their place; from 0 on: n bits of the sum
    BOTH,    // a AND b
    TWICE,   // 2 (a AND b)
    SUM,     // a + b
    POWER    // 2 to the power of a
} term_kind;

typedef struct term {
    term_kind kind;
    qrn_val a, b;
    uint32_t at, n;
    uint32_t size; // ROW, PAIR: rows of the table are so long
    bool parts;    // b is a constant: of PAIR and CHUNK the FIELD itself, of PLACED with at = 0 the
                   // n lowest bits
} term;

typedef struct bits {
    qrn_lowering *lo;
    const qrn_use *uses;
    term *terms;   // of the values that were there before the pass
    uint32_t step; // that is looked at
    qrn_val table; // that was looked at last ...
    uint32_t row;  // ... and the length of its rows; 0: it is no table of (i AND j)
} bits;

static const qrn_cvalue *value(const bits *s, qrn_val v) { return &s->lo->cg->values[v]; }

static bool is_word(const bits *s, qrn_val v) {
    const qrn_cvalue *x = value(s, v);
    return (x->dtype == QRN_DTYPE_I32 || x->dtype == QRN_DTYPE_U32) &&
           x->quant.kind == QRN_QUANT_NONE;
}

// The numbers of a constant of words that stays as it is; else NULL.
static const uint32_t *words(const bits *s, qrn_val v) {
    const qrn_cvalue *x = value(s, v);
    if (x->kind != QRN_CV_CONST || !is_word(s, v) || s->lo->cg->constants[x->constant].updateable)
        return NULL;
    return qrn_lo_const_data(s->lo, v);
}

static bool is_number(const bits *s, qrn_val v, uint32_t *number) {
    const uint32_t *data = value(s, v)->size_bytes == sizeof *number ? words(s, v) : NULL;
    if (data)
        *number = *data;
    return data != NULL;
}

// Is v 2^k, k > 0?
static bool is_power(const bits *s, qrn_val v, uint32_t *k) {
    uint32_t x;
    if (!is_number(s, v, &x) || x < 2 || (x & (x - 1)))
        return false;
    for (*k = 0; x > 1; x >>= 1)
        ++*k;
    return true;
}

// Are all numbers of a constant below 2^n?
static bool is_field(const bits *s, qrn_val v, uint32_t n) {
    const uint32_t *data = words(s, v);
    for (size_t i = 0; data && i < value(s, v)->size_bytes / sizeof *data; i++)
        if (data[i] >> n)
            return false;
    return data != NULL;
}

// The length of rows of a table of (i AND j); 0: v is none.
static uint32_t row_length(bits *s, qrn_val v) {
    const qrn_cvalue *x = value(s, v);
    uint32_t size = 2;
    if (v == s->table)
        return s->row;
    s->table = v;
    s->row = 0;
    while (size < 1024 && (size_t)size * size * 4 < x->size_bytes)
        size *= 2;
    const uint32_t *data = x->shape.rank == 1 ? words(s, v) : NULL;
    if (!data || (size_t)size * size * 4 != x->size_bytes)
        return 0;
    for (uint32_t i = 0; i < size * size; i++)
        if (data[i] != ((i / size) & (i % size)))
            return 0;
    return s->row = size;
}

static term rest_of(qrn_val a, uint32_t at) {
    return (term){.kind = REST, .a = a, .b = QRN_VAL_NONE, .at = at};
}

// A value that changes later is not known.
static term term_of(const bits *s, qrn_val v) {
    const qrn_use *u = &s->uses[v];
    if (u->n_writes > 1 || u->last_write > s->step)
        return (term){.kind = UNKNOWN};
    return s->terms[v].kind ? s->terms[v] : rest_of(v, 0);
}

static term with_kind(term t, term_kind kind) {
    t.kind = kind;
    return t;
}

static term times(const bits *s, const term *x, qrn_val by) {
    uint32_t k;
    if (!is_power(s, by, &k))
        return (term){.kind = UNKNOWN};
    if (x->kind == CHUNK && k == x->at)
        return with_kind(*x, PLACED);
    if (x->kind == BOTH && k == 1)
        return with_kind(*x, TWICE);
    term t = with_kind(*x, x->kind == FIELD && k < 16 ? ROW : UNKNOWN);
    t.size = 1u << k;
    return t;
}

// Adds the bits of y to those of x; where they come from constants, these become one.
static qrn_status join(bits *s, const term *x, const term *y, term *made) {
    *made = *x;
    made->n += y->n;
    made->kind = made->n == WIDTH ? BOTH : PLACED;
    if (!x->parts)
        return QRN_OK;
    qrn_shape shape = value(s, x->b)->shape;
    qrn_dtype dtype = value(s, x->b)->dtype;
    size_t n = value(s, x->b)->size_bytes / sizeof(uint32_t);
    void *data;
    QRN_TRY(qrn_lo_const(s->lo, dtype, &shape, NULL, &made->b, &data));
    const uint32_t *low = words(s, x->b), *high = words(s, y->b);
    for (size_t i = 0; i < n; i++)
        ((uint32_t *)data)[i] = low[i] | high[i] << y->at;
    return QRN_OK;
}

static bool joins(const bits *s, const term *x, const term *y) {
    return x->kind == PLACED && x->at == 0 && y->kind == PLACED && y->at == x->n && x->a == y->a &&
           x->parts == y->parts &&
           (x->parts ? value(s, x->b)->size_bytes == value(s, y->b)->size_bytes : x->b == y->b);
}

static qrn_status plus(bits *s, const qrn_cstep *t, const term *x, const term *y, term *made) {
    uint32_t zero;
    if (x->kind == ROW && y->kind == FIELD && x->at == y->at && x->n == y->n) {
        *made = with_kind(*x, PAIR);
        made->b = y->a;
    } else if (x->kind == ROW && is_field(s, t->in[1], x->n)) {
        *made = with_kind(*x, PAIR);
        made->b = t->in[1];
        made->parts = true;
    } else if (joins(s, x, y)) {
        return join(s, x, y, made);
    } else if (x->kind == BOTH && is_number(s, t->in[1], &zero) && zero == 0) {
        *made = *x;
    } else if (x->kind != UNKNOWN && y->kind != UNKNOWN) {
        *made = (term){.kind = SUM, .a = t->in[0], .b = t->in[1]};
    }
    return QRN_OK;
}

// x with another meaning than that of itself is a value like any other.
static term as_rest(const term *x, qrn_val v) {
    return x->kind == UNKNOWN || x->kind == REST ? *x : rest_of(v, 0);
}

static term less(const qrn_cstep *t, const term *left, const term *y) {
    term x = as_rest(left, t->in[0]);
    bool fits = x.kind == REST && y->kind == FIELD && x.a == y->a && x.at == y->at;
    return with_kind(*y, fits ? CLEARED : UNKNOWN);
}

static term divided(const bits *s, const term *x, qrn_val by) {
    uint32_t k;
    if (x->kind == CLEARED && is_power(s, by, &k) && k == x->n)
        return rest_of(x->a, x->at + k);
    return (term){.kind = UNKNOWN};
}

static term remainder_of(const bits *s, const qrn_cstep *t, const term *left) {
    term x = as_rest(left, t->in[0]);
    bool fits = x.kind == REST && is_power(s, t->in[1], &x.n) && x.at + x.n <= WIDTH;
    return with_kind(x, fits ? FIELD : UNKNOWN);
}

static term looked_up(bits *s, const qrn_cstep *t) {
    term x = term_of(s, t->in[1]);
    uint32_t row = row_length(s, t->in[0]);
    bool fits = x.kind == PAIR && row && row == x.size && (1u << x.n) <= row;
    return with_kind(x, !fits ? UNKNOWN : x.at ? CHUNK : PLACED);
}

static term power_of(const bits *s, const qrn_cstep *t, const term *y) {
    uint32_t base;
    bool fits = is_number(s, t->in[0], &base) && base == 2 && y->kind != UNKNOWN;
    return (term){.kind = fits ? POWER : UNKNOWN, .a = t->in[1]};
}

// The step becomes one operation on a and b, where these have its type.
static qrn_status replace(bits *s, qrn_cstep *t, uint32_t op, qrn_val a, qrn_val b) {
    qrn_dtype dtype = value(s, t->out[0])->dtype;
    if (value(s, a)->dtype != dtype || value(s, b)->dtype != dtype)
        return QRN_OK;
    t->args = qrn_arena_copy(s->lo->cg->arena, &(qrn_binary_args){op}, sizeof(qrn_binary_args));
    if (!t->args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", s->lo->graph->name);
    t->in[0] = a;
    t->in[1] = b;
    return QRN_OK;
}

static bool same_value(const bits *s, qrn_val a, qrn_val b) {
    const uint32_t *x = a == b ? NULL : words(s, a), *y = a == b ? NULL : words(s, b);
    return a == b || (x && y && value(s, a)->size_bytes == value(s, b)->size_bytes &&
                      memcmp(x, y, value(s, a)->size_bytes) == 0);
}

static bool same_operands(const bits *s, const term *x, const term *y) {
    return (same_value(s, x->a, y->a) && same_value(s, x->b, y->b)) ||
           (same_value(s, x->a, y->b) && same_value(s, x->b, y->a));
}

// Steps that make the whole of an operation.
static qrn_status finish(bits *s, qrn_cstep *t, uint32_t op, const term *x, const term *y) {
    bool is_unsigned = value(s, t->out[0])->dtype == QRN_DTYPE_U32;
    if (op == QRN_BINARY_MUL && y->kind == POWER)
        return replace(s, t, QRN_BINARY_SHIFT_LEFT, t->in[0], y->a);
    if (op == QRN_BINARY_DIV && y->kind == POWER && is_unsigned)
        return replace(s, t, QRN_BINARY_SHIFT_RIGHT, t->in[0], y->a);
    if (op == QRN_BINARY_SUB && x->kind == SUM && (y->kind == BOTH || y->kind == TWICE) &&
        same_operands(s, x, y))
        return replace(s, t, y->kind == BOTH ? QRN_BINARY_BIT_OR : QRN_BINARY_BIT_XOR, x->a, x->b);
    return QRN_OK;
}

static qrn_status visit_binary(bits *s, qrn_cstep *t) {
    uint32_t op = ((const qrn_binary_args *)t->args)->op;
    term x = term_of(s, t->in[0]), y = term_of(s, t->in[1]), made = {.kind = UNKNOWN};
    if (op == QRN_BINARY_ADD)
        QRN_TRY(plus(s, t, &x, &y, &made));
    else if (op == QRN_BINARY_SUB)
        made = less(t, &x, &y);
    else if (op == QRN_BINARY_MUL)
        made = times(s, &x, t->in[1]);
    else if (op == QRN_BINARY_DIV)
        made = divided(s, &x, t->in[1]);
    else if (op == QRN_BINARY_MOD)
        made = remainder_of(s, t, &x);
    else if (op == QRN_BINARY_POW)
        made = power_of(s, t, &y);
    s->terms[t->out[0]] = made;
    if (made.kind == BOTH)
        return replace(s, t, QRN_BINARY_BIT_AND, made.a, made.b);
    return finish(s, t, op, &x, &y);
}

qrn_status qrn_pass_bits(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    if (lo->opt->stored)
        return QRN_OK;
    bits s = {.lo = lo, .uses = uses, .table = QRN_VAL_NONE};
    s.terms = qrn_calloc((p->n_values + 1) * sizeof *s.terms);
    if (!s.terms)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    qrn_status status = QRN_OK;
    for (; s.step < p->n_steps && status == QRN_OK; s.step++) {
        qrn_cstep *t = &p->steps[s.step];
        if (!qrn_pass_plain(p, t) || t->domain != QRN_DOMAIN_RAW)
            continue;
        if (t->op == &qrn_cop_gather)
            s.terms[t->out[0]] = looked_up(&s, t);
        else if (t->op == &qrn_cop_binary && is_word(&s, t->out[0]))
            status = visit_binary(&s, t);
    }
    qrn_free(s.terms);
    return status;
}
