// SPDX-License-Identifier: MIT
//
// Every RAW row of the matmul family that this machine can run, against sums of 64 bits written out
// here: random shapes with tails, all types of quantized values, all orders of the factors, several
// numbers of tasks, and quantized values at the ends of their ranges, where sums are largest.
// Buffers have exactly the right size, so that sanitizers see any overrun. QUERN_TEST_SEED repeats
// a run.
#include "base/cpu.h"
#include "kernels/gemm/matmul/matmul.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

typedef enum fill { RANDOM, LOWEST, HIGHEST, ENDS } fill;

static bool is_signed(const qrn_view *v) { return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED; }

static int64_t lowest(const qrn_view *v) {
    return is_signed(v) ? -((int64_t)1 << (qrn_dtypes[v->dtype].bits - 1)) : 0;
}
static int64_t highest(const qrn_view *v) {
    return lowest(v) + ((int64_t)1 << qrn_dtypes[v->dtype].bits) - 1;
}

static int64_t q_at(const qrn_view *v, size_t i) {
    if (qrn_view_elem(v) == 1)
        return is_signed(v) ? ((const int8_t *)v->data)[i] : ((const uint8_t *)v->data)[i];
    return is_signed(v) ? ((const int16_t *)v->data)[i] : ((const uint16_t *)v->data)[i];
}
static void set_q(const qrn_view *v, size_t i, int64_t quantized) {
    if (qrn_view_elem(v) == 1)
        ((uint8_t *)v->data)[i] = (uint8_t)quantized;
    else
        ((uint16_t *)v->data)[i] = (uint16_t)quantized;
}

static qrn_view make(qrn_dtype dtype, const qrn_quant *q, uint32_t n, uint32_t rows, uint32_t cols,
                     fill how) {
    qrn_view v = {.dtype = dtype, .quant = q, .rank = 3, .dims = {n, rows, cols}};
    size_t count = qrn_view_count(&v);
    v.data = malloc(count * qrn_view_elem(&v));
    assert_non_null(v.data);
    for (size_t i = 0; i < count; i++) {
        bool low = how == LOWEST || (how == ENDS && random_u32() % 2);
        set_q(&v, i, how == RANDOM ? (int64_t)random_u32() : low ? lowest(&v) : highest(&v));
    }
    return v;
}

typedef struct product {
    uint32_t batch, rows, depth, cols;
    bool ta, tb;
    qrn_dtype a, b, c;
    int32_t offset_a, offset_b, offset_c;
    fill fill_a, fill_b;
    bool clamped; // most results lie far beyond the range
} product;

// The definition.
static void expect(const product *p, const qrn_view *a, const qrn_view *b, const qrn_view *c) {
    double m = (double)a->quant->scale * (double)b->quant->scale / (double)c->quant->scale;
    for (size_t at = 0; at < qrn_view_count(c); at++) {
        size_t j = at % p->cols, i = at / p->cols % p->rows, n = at / p->cols / p->rows;
        int64_t sum = 0;
        for (size_t k = 0; k < p->depth; k++) {
            size_t ai = n * p->rows * p->depth + (p->ta ? k * p->rows + i : i * p->depth + k);
            size_t bi = n * p->depth * p->cols + (p->tb ? j * p->depth + k : k * p->cols + j);
            sum += (q_at(a, ai) + p->offset_a) * (q_at(b, bi) + p->offset_b);
        }
        double t = floor(fma((double)sum, m, 0.5 - (double)p->offset_c));
        t = t < (double)lowest(c) ? (double)lowest(c) : t;
        t = t > (double)highest(c) ? (double)highest(c) : t;
        set_q(c, at, (int64_t)t);
    }
}

static uint32_t check_rows(const product *p, qrn_kcall *k, const qrn_view *want) {
    uint32_t n_run = 0;
    qrn_view *c = k->out[0];
    size_t bytes = qrn_view_count(c) * qrn_view_elem(c);
    for (uint32_t i = 0; i < qrn_family_matmul.n_rows; i++) {
        const qrn_kernel *row = &qrn_family_matmul.rows[i];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_RAW, k, qrn_cpu_isa()))
            continue;
        for (k->n_tasks = 1; k->n_tasks <= 7; k->n_tasks += 3) {
            size_t scratch = row->scratch ? row->scratch(k) : 0;
            k->scratch = scratch ? malloc(scratch) : NULL;
            assert_true(k->scratch || !scratch);
            memset(c->data, 0xa5, bytes);
            for (k->task = 0; k->task < k->n_tasks; k->task++)
                assert_int_equal(row->fn(k), QRN_OK);
            free(k->scratch);
            if (memcmp(c->data, want->data, bytes) != 0)
                fail_msg("%s: %ux%ux%ux%u ta %d tb %d types %d %d %d offsets %d %d, %u tasks",
                         row->name, p->batch, p->rows, p->depth, p->cols, p->ta, p->tb, p->a, p->b,
                         p->c, p->offset_a, p->offset_b, k->n_tasks);
        }
        n_run++;
    }
    return n_run;
}

// A scale of c that keeps typical results in range, or does not.
static float scale_of(const product *p, float scale_a, float scale_b) {
    double a = (double)(1u << qrn_dtypes[p->a].bits), b = (double)(1u << qrn_dtypes[p->b].bits);
    double c = (double)(1u << qrn_dtypes[p->c].bits);
    double range = (double)scale_a * (double)scale_b * a * b * sqrt((double)p->depth);
    return (float)(range / c * (p->clamped ? 1e-9 : 1));
}

static void check(const product *p) {
    qrn_quant qa = {.kind = QRN_QUANT_TENSOR, .scale = 0.037f, .offset = p->offset_a};
    qrn_quant qb = {.kind = QRN_QUANT_TENSOR, .scale = 0.0123f, .offset = p->offset_b};
    qrn_quant qc = {.kind = QRN_QUANT_TENSOR, .offset = p->offset_c};
    qc.scale = scale_of(p, qa.scale, qb.scale);
    qrn_view a = make(p->a, &qa, p->batch, p->ta ? p->depth : p->rows, p->ta ? p->rows : p->depth,
                      p->fill_a);
    qrn_view b = make(p->b, &qb, p->batch, p->tb ? p->cols : p->depth, p->tb ? p->depth : p->cols,
                      p->fill_b);
    qrn_view c = make(p->c, &qc, p->batch, p->rows, p->cols, RANDOM);
    qrn_view want = make(p->c, &qc, p->batch, p->rows, p->cols, RANDOM);
    qrn_matmul_args args = {.transpose_a = p->ta, .transpose_b = p->tb};
    qrn_view *in[] = {&a, &b}, *out[] = {&c};
    qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 2, .n_out = 1};
    expect(p, &a, &b, &want);
    assert_true(check_rows(p, &k, &want) >= 2); // the reference and one that packs
    free(a.data);
    free(b.data);
    free(c.data);
    free(want.data);
}

static const qrn_dtype types[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, QRN_DTYPE_SQ16};

static int32_t middle_offset(qrn_dtype type) { // near what quantizers give
    bool is16 = type == QRN_DTYPE_UQ16 || type == QRN_DTYPE_SQ16;
    int32_t spread = is16 ? (int32_t)between(0, 3000) - 1500 : (int32_t)between(0, 20) - 10;
    if (type == QRN_DTYPE_UQ8 || type == QRN_DTYPE_UQ16)
        return random_u32() % 4 ? spread - (is16 ? 32768 : 128) : 0;
    return random_u32() % 4 ? spread : 0;
}

static void check_random(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < 300; i++) {
        product p = {.batch = between(1, 3), .rows = between(1, 40), .cols = between(1, 70)};
        p.depth = random_u32() % 4 ? between(1, 140) : between(1, 600);
        p.ta = random_u32() % 4 == 0;
        p.tb = random_u32() % 2;
        p.a = types[random_u32() % 4];
        p.b = types[random_u32() % 4];
        p.c = types[random_u32() % 4];
        p.clamped = random_u32() % 8 == 0;
        p.offset_a = middle_offset(p.a);
        p.offset_b = middle_offset(p.b);
        p.offset_c = middle_offset(p.c);
        check(&p);
    }
}

// Sums are largest in magnitude, and what words and bytes leave to each other is.
static void check_ends(void **unused) {
    (void)unused;
    static const uint32_t depths[] = {1, 4, 63, 168, 169, 251, 252, 253, 504, 505, 1023};
    for (uint32_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
        for (uint32_t i = 0; i < 64; i++) {
            product p = {.batch = 1, .rows = 7, .depth = depths[d], .cols = 33, .tb = d % 2};
            p.a = types[i % 4];
            p.b = types[i / 4 % 4];
            p.c = types[random_u32() % 4];
            p.fill_a = (fill)(1 + random_u32() % 3);
            p.fill_b = (fill)(1 + i / 16 % 3);
            p.offset_a = middle_offset(p.a);
            p.offset_b = middle_offset(p.b);
            p.offset_c = middle_offset(p.c);
            check(&p);
        }
}

// Shapes of attention: heads of 64 channels, 128 and 197 tokens.
static void check_heads(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t tokens = i % 2 ? 128 : 197;
        product p = {.batch = 2, .rows = tokens, .depth = 64, .cols = tokens, .tb = i / 2 % 2};
        if (i >= 4) {
            p.depth = tokens;
            p.cols = 64;
        }
        p.a = p.b = p.c = QRN_DTYPE_UQ8;
        p.offset_a = p.offset_b = -128;
        check(&p);
        p.a = p.c = QRN_DTYPE_UQ16;
        p.b = QRN_DTYPE_SQ16;
        p.offset_a = -31000;
        p.offset_b = 0;
        check(&p);
    }
}

// A row for each head of a group times a cache, and depths around those at which sums are put
// together; of the largest and smallest values, too.
static void check_few(void **unused) {
    (void)unused;
    static const uint32_t depths[] = {1, 2, 31, 64, 65, 255, 256, 257, 513, 1023};
    for (uint32_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
        for (uint32_t i = 0; i < 32; i++) {
            product p = {.batch = 2, .rows = 1 + i % 4, .depth = depths[d], .tb = i / 4 % 2};
            p.cols = between(1, 70);
            p.ta = random_u32() % 4 == 0;
            p.a = types[2 + i / 8 % 2];
            p.b = types[2 + i / 16 % 2];
            p.c = types[2 + random_u32() % 2];
            p.fill_a = (fill)(random_u32() % 4);
            p.fill_b = (fill)(random_u32() % 4);
            p.offset_a = middle_offset(p.a);
            p.offset_b = middle_offset(p.b);
            p.offset_c = middle_offset(p.c);
            check(&p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_random),
        cmocka_unit_test(check_ends),
        cmocka_unit_test(check_heads),
        cmocka_unit_test(check_few),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
