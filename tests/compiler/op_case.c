// SPDX-License-Identifier: MIT
//
// Descriptions of calls: read from text, printed, and kept inside what a check may be given.
#include "op_case.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

uint32_t op_random(void) { // xorshift64*
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545F4914F6CDD1Du) >> 32);
}

void op_random_seed(uint64_t seed) { random_state = seed * 0x9E3779B97F4A7C15u + 1; }

static qrn_dtype dtype_of(const char *token, size_t n) {
    for (unsigned t = 0; t < QRN_DTYPE_COUNT; t++)
        if (strlen(qrn_dtypes[t].token) == n && strncmp(qrn_dtypes[t].token, token, n) == 0)
            return (qrn_dtype)t;
    fail_msg("no type '%.*s'", (int)n, token);
    return QRN_DTYPE_COUNT;
}

// Numbers with one character between them; returns how many.
static uint32_t numbers(const char **p, char between, uint32_t *out) {
    uint32_t n = 0;
    while (**p >= '0' && **p <= '9') {
        char *end;
        assert_true(n < QRN_MAX_RANK);
        out[n++] = (uint32_t)strtoul(*p, &end, 10);
        *p = end + (*end == between);
    }
    return n;
}

// Encodings as they occur: a scale that makes products of small numbers, an offset inside the range
// of unsigned values.
static void encode(op_operand *o, uint8_t kind) {
    bool is_signed = qrn_dtypes[o->dtype].cls == QRN_CLASS_SFIXED;
    o->kind = kind;
    o->bits = qrn_dtypes[o->dtype].bits;
    o->scale = 0.0625f;
    o->offset = is_signed ? 0 : -(1 << (o->bits < 32 ? o->bits - 1 : 20)) + 3;
    o->has_offsets = !is_signed;
}

static void suffix(op_operand *o, const char **p) {
    uint32_t n[QRN_MAX_RANK] = {0};
    char what = *(*p)++;
    uint32_t count = numbers(p, what == 'a' ? '.' : 'x', n);
    if (what == 'c') {
        o->constant = true;
    } else if (what == 't' || what == 'a') {
        encode(o, what == 't' ? QRN_QUANT_TENSOR : QRN_QUANT_AXIS);
        o->axis = what == 'a' ? (uint8_t)n[0] : 0;
        uint32_t bits = what == 't' ? n[0] : n[1];
        o->bits = bits ? (uint8_t)bits : o->bits;
    } else if (what == 'b') {
        encode(o, QRN_QUANT_BLOCK);
        memcpy(o->block, n, sizeof n);
    } else if (what == 's') {
        assert_int_equal(count, 2);
        o->n_sparse = n[0];
        o->n_sparse_dims = n[1];
    } else {
        assert_int_equal(what, 'z');
        o->offset = 0;
        o->has_offsets = false;
    }
}

static const char *read_operand(op_operand *o, const char *p) {
    *o = (op_operand){0};
    if (*p == '-')
        return p + 1;
    size_t n = strcspn(p, "[");
    o->there = true;
    o->dtype = dtype_of(p, n);
    p += n + 1;
    o->rank = numbers(&p, ',', o->dims);
    assert_int_equal(*p, ']');
    p++;
    while (*p == ':') {
        p++;
        suffix(o, &p);
    }
    return p;
}

bool op_operand_bytes(const op_operand *o, size_t *bytes) {
    size_t count = o->n_sparse_dims ? o->n_sparse : 1, indices = 0;
    bool fits = qrn_mul_size((size_t)o->n_sparse * o->n_sparse_dims, sizeof(int32_t), &indices);
    for (uint32_t d = o->n_sparse_dims; d < o->rank; d++)
        fits = fits && qrn_mul_size(count, o->dims[d], &count);
    return fits && qrn_dtype_bytes(o->dtype, count, bytes) && qrn_add_size(*bytes, indices, bytes);
}

void op_case_from_seed(op_case *c, const qrn_cop *op, const op_seed *s) {
    memset(c, 0, sizeof *c);
    c->op = op;
    c->domain = s->domain;
    size_t bytes = op->family->args_bytes;
    assert_true(bytes <= sizeof c->args && (bytes == 0 || s->args));
    if (bytes)
        memcpy(c->args, s->args, bytes);
    bool outputs = false;
    for (const char *p = s->operands; *p;) {
        uint32_t n = c->n_in + c->n_out;
        if (*p == ' ') {
            p++;
        } else if (*p == '>') {
            outputs = true;
            p++;
        } else {
            assert_true(n < OP_MAX_OPERANDS);
            p = read_operand(&c->operands[n], p);
            if (!outputs && n < OP_MAX_DATA && s->data[n]) {
                c->operands[n].given = s->data[n];
                assert_true(op_operand_bytes(&c->operands[n], &c->operands[n].given_bytes));
            }
            *(outputs ? &c->n_out : &c->n_in) += 1;
        }
    }
}

static void tidy_encoding(op_operand *o) {
    uint8_t width = qrn_dtypes[o->dtype].bits;
    if (!qrn_dtype_is_fixed(o->dtype) || (o->kind == QRN_QUANT_AXIS && o->axis >= o->rank))
        o->kind = QRN_QUANT_NONE;
    if (o->kind == QRN_QUANT_NONE)
        return;
    if (o->bits == 0 || o->bits > width)
        o->bits = width;
    if (!(o->scale > 0) && !(o->scale == 0 && (o->constant || width == 32)))
        o->scale = 0.0625f;
    for (uint32_t d = 0; d < QRN_MAX_RANK; d++)
        o->block[d] = d < o->rank ? (o->block[d] ? o->block[d] : 1) : 0;
}

#define LARGEST_TENSOR ((size_t)1 << 40) // of the API

bool op_case_tidy(op_case *c) {
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        op_operand *o = &c->operands[i];
        size_t bytes, count = 1;
        if (!o->there)
            continue;
        if (i >= c->n_in)
            o->constant = false;
        if (o->n_sparse_dims > o->rank || !o->n_sparse || !o->n_sparse_dims)
            o->n_sparse = o->n_sparse_dims = 0;
        for (uint32_t d = 0; d < QRN_MAX_RANK; d++) {
            o->dims[d] = d < o->rank ? (o->dims[d] ? o->dims[d] : 1) : 0;
            if (d < o->rank && !qrn_mul_size(count, o->dims[d], &count))
                return false;
        }
        tidy_encoding(o);
        if (!op_operand_bytes(o, &bytes) || bytes > LARGEST_TENSOR)
            return false;
    }
    return true;
}

static void print_operand(const op_operand *o) {
    if (!o->there) {
        print_message(" -");
        return;
    }
    print_message(" %s[", qrn_dtypes[o->dtype].token);
    for (uint32_t d = 0; d < o->rank; d++)
        print_message(d ? ",%u" : "%u", o->dims[d]);
    print_message("]%s", o->constant ? ":c" : "");
    if (o->kind)
        print_message(":%c%u.%u{scale %g offset %d shift %g}", " tab"[o->kind], o -> axis,
                      o -> bits, (double)o -> scale, o -> has_offsets ? o -> offset : 0,
                      (double)o -> shift);
    if (o->kind == QRN_QUANT_BLOCK)
        for (uint32_t d = 0; d < o->rank; d++)
            print_message("%c%u", d ? 'x' : 'b', o->block[d]);
    if (o->n_sparse_dims)
        print_message(":s%ux%u", o->n_sparse, o->n_sparse_dims);
}

static void print_attr(const qrn_attr *a, const uint8_t *args) {
    print_message(" %s", a->name);
    for (uint32_t i = 0; i < a->count && i < QRN_MAX_RANK; i++) {
        const uint8_t *p = args + a->offset + (size_t)i * a->stride;
        union {
            uint32_t u;
            int32_t i;
            int64_t l;
            float f;
            double d;
        } v = {0};
        bool one = a->kind == QRN_ATTR_BOOL || a->kind == QRN_ATTR_U8;
        memcpy(&v, p, one ? 1 : a->kind == QRN_ATTR_I64 || a->kind == QRN_ATTR_F64 ? 8 : 4);
        print_message("%c", i ? ',' : '=');
        if (a->kind == QRN_ATTR_F32 || a->kind == QRN_ATTR_F64)
            print_message("%g", a->kind == QRN_ATTR_F32 ? (double)v.f : v.d);
        else
            print_message("%lld", a->kind == QRN_ATTR_I32   ? (long long)v.i
                                  : a->kind == QRN_ATTR_I64 ? (long long)v.l
                                                            : (long long)v.u);
    }
}

void op_case_print(const op_case *c) {
    static const char *const domains[] = {"F32", "F64", "I64", "RAW"};
    print_message("%s %s:", c->op->name, domains[c->domain]);
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        print_message("%s", i == c->n_in ? " >" : "");
        print_operand(&c->operands[i]);
    }
    print_message(" |");
    for (uint32_t a = 0; a < c->op->n_attrs; a++)
        print_attr(&c->op->attrs[a], c->args);
    print_message("\n");
}
