// SPDX-License-Identifier: MIT
//
// Attention on quantized values: every row that this machine can run, to the bit, against sums of
// 64 bits and formulas in double written out here; random shapes and layouts, keys in one place and
// in two, of 8 and of 16 bits, quantized values at the ends of their ranges. Buffers have exactly
// the right size. QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/attention/attention.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

static bool is_signed(const qrn_view *v) { return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED; }
static double lowest(const qrn_view *v) {
    return is_signed(v) ? -(double)(1u << (qrn_dtypes[v->dtype].bits - 1)) : 0;
}
static double highest(const qrn_view *v) {
    return lowest(v) + (double)(1u << qrn_dtypes[v->dtype].bits) - 1;
}
static int64_t q_at(const qrn_view *v, size_t i) {
    if (qrn_view_elem(v) == 1)
        return is_signed(v) ? ((const int8_t *)v->data)[i] : ((const uint8_t *)v->data)[i];
    return is_signed(v) ? ((const int16_t *)v->data)[i] : ((const uint16_t *)v->data)[i];
}
static int64_t centred(const qrn_view *v, size_t i) { return q_at(v, i) + v->quant->offset; }
static double real(const qrn_view *v, double q) {
    return (double)v->quant->scale * (q + (double)v->quant->offset);
}
static double clamped(const qrn_view *v, double t) {
    return t < lowest(v) ? lowest(v) : t > highest(v) ? highest(v) : t;
}
static double quantized(const qrn_view *v, double x) {
    return clamped(v, floor(x / (double)v->quant->scale + 0.5) - (double)v->quant->offset);
}

typedef struct call {
    qrn_attention_args a;
    qrn_quant in_quant[QRN_ATT_IN], out_quant[QRN_ATT_OUT];
    qrn_view ins[QRN_ATT_IN], outs[QRN_ATT_OUT];
    qrn_view *in[QRN_ATT_IN], *out[QRN_ATT_OUT];
    qrn_kcall k;
} call;

static qrn_dtype words(void) { return between(0, 1) ? QRN_DTYPE_UQ16 : QRN_DTYPE_SQ16; }
static qrn_dtype bytes(void) { return between(0, 1) ? QRN_DTYPE_UQ8 : QRN_DTYPE_SQ8; }

static void make(qrn_view *v, qrn_quant *q, qrn_dtype dtype, size_t n, double scale) {
    *q = (qrn_quant){.kind = QRN_QUANT_TENSOR, .scale = (float)scale};
    *v = (qrn_view){.dtype = dtype, .quant = q, .rank = 1, .dims = {(uint32_t)n}};
    int32_t middle = (int32_t)((lowest(v) + highest(v) + 1) / 2), spread = middle ? middle / 4 : 20;
    q->offset = (int32_t)between(0, 2u * (uint32_t)spread) - spread - middle;
    v->data = malloc(n * qrn_view_elem(v));
    assert_non_null(v->data);
    uint32_t ends = between(0, 3); // of some operands all are 0 or all bits are set
    for (size_t i = 0; i < n * qrn_view_elem(v); i++)
        ((uint8_t *)v->data)[i] = ends ? (uint8_t)random_u32() : random_u32() % 2 ? 0xff : 0;
}

// Strides of dimensions one behind the other, the last fastest; 0 repeats.
static size_t lay_out(uint32_t n, const size_t *dims, uint32_t *strides) {
    size_t next = 1;
    for (uint32_t i = n; i-- > 0;) {
        strides[i] = dims[i] ? (uint32_t)next : 0;
        next *= dims[i] ? dims[i] : 1;
    }
    return next;
}

static void add(call *c, uint32_t i, qrn_dtype dtype, size_t n, double scale) {
    make(&c->ins[i], &c->in_quant[i], dtype, n, scale);
    c->in[i] = &c->ins[i];
}

// Keys or values in one or two places, of one format.
static void add_keys(call *c, uint32_t operand, uint32_t cols, qrn_dtype dtype, bool side_by_side) {
    qrn_attention_args *a = &c->a;
    for (uint32_t i = 0; i < 2 && a->keys[i]; i++) {
        bool values = operand == QRN_ATT_V;
        uint32_t *s = values ? (i ? a->more_v : a->v) : (i ? a->more_k : a->k);
        uint32_t which = operand + i * (QRN_ATT_MORE_K - QRN_ATT_K);
        size_t dims[] = {a->batch[0], a->batch[1], a->keys[i], cols};
        size_t swapped[] = {a->batch[0], a->batch[1], cols, a->keys[i]};
        add(c, which, dtype, lay_out(4, side_by_side ? swapped : dims, s + 1), 0.01);
        if (side_by_side) {
            uint32_t t = s[QRN_ATT_KEY];
            s[QRN_ATT_KEY] = s[QRN_ATT_KEY_COL];
            s[QRN_ATT_KEY_COL] = t;
        }
        c->in_quant[which] = c->in_quant[operand];
    }
}

static void add_out(call *c, uint32_t i, qrn_dtype dtype, size_t n, double scale) {
    make(&c->outs[i], &c->out_quant[i], dtype, n, scale);
    c->out[i] = &c->outs[i];
}

static void begin(call *c, bool fast) {
    qrn_attention_args *a = &c->a;
    memset(c, 0, sizeof *c);
    *a = (qrn_attention_args){.batch = {between(1, 2), between(1, 3)},
                              .rows = {between(1, 3), between(1, 5)},
                              .keys = {between(1, 600), between(0, 1) ? between(1, 40) : 0},
                              .depth = between(0, 1) ? 64 : between(1, 90),
                              .width = between(0, 1) ? 64 : between(1, 90),
                              .scale = 1.0};
    size_t keys = a->keys[0] + a->keys[1], rows = a->rows[0] * a->rows[1];
    size_t scores = a->batch[0] * a->batch[1] * rows * keys;
    const size_t q[] = {a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->depth};
    const size_t y[] = {a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->width};
    const size_t m[] = {0, between(0, 1) ? a->batch[1] : 0, between(0, 1) ? a->rows[0] : 0,
                        between(0, 1) ? a->rows[1] : 0, keys};
    add(c, QRN_ATT_Q, fast || between(0, 1) ? words() : bytes(), lay_out(5, q, a->q + 1), 0.001);
    add_keys(c, QRN_ATT_K, a->depth, between(0, 1) ? words() : bytes(), between(0, 1));
    add_keys(c, QRN_ATT_V, a->width, between(0, 1) ? words() : bytes(), !fast && between(0, 1));
    bool masked = between(0, 2) > 0;
    if (masked)
        add(c, QRN_ATT_MASK, words(), lay_out(5, m, a->mask + 1), 0.0005);
    double range = (double)c->in_quant[QRN_ATT_Q].scale * (double)c->in_quant[QRN_ATT_K].scale *
                   (double)(1u << qrn_dtypes[c->ins[QRN_ATT_Q].dtype].bits) *
                   (double)(1u << qrn_dtypes[c->ins[QRN_ATT_K].dtype].bits) * sqrt(a->depth) / 8;
    qrn_dtype type = fast || between(0, 1) ? words() : bytes();
    double step = range / (double)(1u << qrn_dtypes[type].bits);
    add_out(c, QRN_ATT_PRODUCTS, type, scores, step);
    if (between(0, 1)) {
        add_out(c, QRN_ATT_SCALED, type, scores, step > 0.001 ? 0.0005 : step);
        c->out_quant[QRN_ATT_SCALED].offset = c->out_quant[QRN_ATT_PRODUCTS].offset;
    }
    if (masked)
        add_out(c, QRN_ATT_MASKED, words(), scores, 0.0008);
    add_out(c, QRN_ATT_WEIGHTS, fast ? words() : bytes(), scores, fast ? 0x1p-16 : 0x1p-8);
    c->out_quant[QRN_ATT_WEIGHTS].offset = -(int32_t)lowest(&c->outs[QRN_ATT_WEIGHTS]);
    add_out(c, QRN_ATT_Y, fast || between(0, 1) ? words() : bytes(), lay_out(5, y, a->y + 1), 0.01);
    c->k = (qrn_kcall){
        .args = a, .in = c->in, .out = c->out, .n_in = QRN_ATT_IN, .n_out = QRN_ATT_OUT};
}

static void end(call *c) {
    for (uint32_t i = 0; i < QRN_ATT_IN; i++)
        free(c->ins[i].data);
    for (uint32_t i = 0; i < QRN_ATT_OUT; i++)
        free(c->outs[i].data);
}

// --- the formulas

static size_t at_batch(const call *c, const uint32_t *s, size_t b0, size_t b1) {
    (void)c;
    return s[0] + b0 * s[1] + b1 * s[2];
}
static int64_t key(const call *c, bool values, size_t b0, size_t b1, size_t j, size_t col) {
    const qrn_attention_args *a = &c->a;
    bool more = j >= a->keys[0];
    const uint32_t *s = values ? (more ? a->more_v : a->v) : (more ? a->more_k : a->k);
    const qrn_view *v = c->in[(values ? QRN_ATT_V : QRN_ATT_K) + (more ? 2 : 0)];
    size_t at = at_batch(c, s, b0, b1) + (more ? j - a->keys[0] : j) * s[3] + col * s[4];
    return centred(v, at);
}
static double requantized(const qrn_view *x, const qrn_view *w, const qrn_view *y, int64_t sum) {
    double m = (double)x->quant->scale * (double)w->quant->scale / (double)y->quant->scale;
    return clamped(y, floor(fma((double)sum, m, 0.5 - (double)y->quant->offset)));
}

static void expect_row(const call *c, const size_t *at, double *p, double *y) {
    const qrn_attention_args *a = &c->a;
    const qrn_view *products = c->out[QRN_ATT_PRODUCTS], *weights = c->out[QRN_ATT_WEIGHTS];
    const qrn_view *scaled = c->out[QRN_ATT_SCALED] ? c->out[QRN_ATT_SCALED] : products;
    size_t n = a->keys[0] + a->keys[1];
    size_t q = at_batch(c, a->q, at[0], at[1]) + at[2] * a->q[3] + at[3] * a->q[4];
    size_t m = at_batch(c, a->mask, at[0], at[1]) + at[2] * a->mask[3] + at[3] * a->mask[4];
    double top = -INFINITY, total = 0;
    for (size_t j = 0; j < n; j++) {
        int64_t sum = 0;
        for (size_t d = 0; d < a->depth; d++)
            sum += centred(c->in[QRN_ATT_Q], q + d * a->q[5]) * key(c, false, at[0], at[1], j, d);
        p[j] = requantized(c->in[QRN_ATT_Q], c->in[QRN_ATT_K], products, sum);
        p[j] = real(scaled, p[j]);
        if (c->in[QRN_ATT_MASK]) {
            const qrn_view *mask = c->in[QRN_ATT_MASK], *masked = c->out[QRN_ATT_MASKED];
            double x = p[j] + real(mask, (double)q_at(mask, m + j * a->mask[5]));
            p[j] = real(masked, quantized(masked, x));
        }
        top = fmax(top, p[j]);
    }
    for (size_t j = 0; j < n; j++)
        total += exp(p[j] - top);
    for (size_t j = 0; j < n; j++)
        p[j] = quantized(weights, exp(p[j] - top) / total) + (double)weights->quant->offset;
    for (size_t w = 0; w < a->width; w++) {
        int64_t sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += (int64_t)p[j] * key(c, true, at[0], at[1], j, w);
        y[w] = requantized(weights, c->in[QRN_ATT_V], c->out[QRN_ATT_Y], sum);
    }
}

static void check(const call *c, const double *want, const qrn_kernel *row, uint32_t n_tasks) {
    const qrn_attention_args *a = &c->a;
    for (size_t i = 0; i < qrn_view_count(c->out[QRN_ATT_Y]); i++)
        if ((double)q_at(c->out[QRN_ATT_Y], i) != want[i])
            fail_msg("%s: %ux%u matrices, %ux%u rows, %u+%u keys, %u -> %u, %u tasks: element %zu "
                     "is %lld, not %.0f",
                     row->name, a->batch[0], a->batch[1], a->rows[0], a->rows[1], a->keys[0],
                     a->keys[1], a->depth, a->width, n_tasks, i,
                     (long long)q_at(c->out[QRN_ATT_Y], i), want[i]);
}

static double *expected(const call *c) {
    const qrn_attention_args *a = &c->a;
    double *want = calloc(qrn_view_count(c->out[QRN_ATT_Y]), sizeof *want);
    double *p = malloc((a->keys[0] + a->keys[1]) * sizeof *p), *y = malloc(a->width * sizeof *y);
    size_t n = (size_t)a->batch[0] * a->batch[1] * a->rows[0] * a->rows[1];
    assert_true(want && p && y);
    for (size_t i = 0; i < n; i++) {
        const size_t at[] = {i / a->rows[1] / a->rows[0] / a->batch[1],
                             i / a->rows[1] / a->rows[0] % a->batch[1], i / a->rows[1] % a->rows[0],
                             i % a->rows[1]};
        expect_row(c, at, p, y);
        size_t to = at_batch(c, a->y, at[0], at[1]) + at[2] * a->y[3] + at[3] * a->y[4];
        for (size_t w = 0; w < a->width; w++)
            want[to + w * a->y[5]] = y[w];
    }
    free(p);
    free(y);
    return want;
}

// Runs every row; returns how many there are.
static uint32_t check_rows(call *c) {
    double *want = expected(c);
    uint32_t n_run = 0;
    for (uint32_t i = 0; i < qrn_family_attention.n_rows; i++) {
        const qrn_kernel *row = &qrn_family_attention.rows[i];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_RAW, &c->k, qrn_cpu_isa()))
            continue;
        for (uint32_t n_tasks = 1; n_tasks <= 3; n_tasks += 2) {
            qrn_kcall *k = &c->k;
            k->n_tasks = n_tasks;
            size_t room = row->scratch ? row->scratch(k) : 0;
            k->scratch = malloc(room ? room : 1);
            assert_non_null(k->scratch);
            memset(k->scratch, 0xa5, room);
            for (k->task = n_tasks; k->task-- > 0;)
                assert_int_equal(row->fn(k), QRN_OK);
            free(k->scratch);
            check(c, want, row, n_tasks);
        }
        n_run++;
    }
    free(want);
    return n_run;
}

static void rows_of_16_bits_agree_with_the_formulas(void **unused) {
    (void)unused;
    uint32_t vectors = 0;
    for (int round = 0; round < 60; round++) {
        call c;
        begin(&c, true);
        uint32_t n = check_rows(&c);
        assert_true(n >= 1);
        vectors += n > 1;
        end(&c);
    }
    if (qrn_cpu_isa() & (QRN_ISA_AVX2 | QRN_ISA_NEON))
        assert_true(vectors > 10);
}

static void any_formats_agree_with_the_formulas(void **unused) {
    (void)unused;
    for (int round = 0; round < 40; round++) {
        call c;
        begin(&c, false);
        assert_true(check_rows(&c) >= 1);
        end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_16_bits_agree_with_the_formulas),
        cmocka_unit_test(any_formats_agree_with_the_formulas),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
