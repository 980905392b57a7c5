// SPDX-License-Identifier: MIT
//
// Every row of the weight_only family that this machine can run, against sums in double written
// out here from the quantized values before they are packed, on random shapes with tails.
// QUERN_TEST_SEED repeats a run.
//
// Tolerance: as in test_gemm.c, with the magnitudes |x| * |scale| * (|w| + |offset|), since a run
// is summed before its offset is added, and four roundings more for each run. Where x is fp16, each
// element may lose 2^-15 of the largest one of its run.
#include "base/cpu.h"
#include "base/fp16.h"
#include "kernels/gemm/gemv/weight_only.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

typedef struct shape {
    uint32_t rows, depth, cols, run, bits;
    bool fp16, x16, offsets, bias, clamp;
} shape;

static float random_real(void) { return (float)random_u32() / 2147483648.0f - 1.0f; }

// A view with its own memory of exactly the right size.
static qrn_view make(qrn_dtype dtype, uint32_t rank, const uint32_t *dims) {
    qrn_view v = {.dtype = dtype, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t bytes = qrn_view_count(&v) * qrn_view_elem(&v);
    v.data = calloc(bytes ? bytes : 1, 1);
    assert_non_null(v.data);
    return v;
}

typedef struct problem {
    shape s;
    qrn_weight_only_args args;
    int8_t *w; // [depth][cols], as quantized
    qrn_view x, packed, scales, offsets, bias, y;
    qrn_view *in[5], *out[1];
} problem;

static void make_encodings(problem *p) {
    const shape *s = &p->s;
    uint32_t runs = (uint32_t)qrn_weight_only_runs(&p->args);
    uint32_t dims[] = {(uint32_t)qrn_panels(s->cols), runs, QRN_PANEL};
    p->scales = make(s->fp16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32, 3, dims);
    p->offsets = make(QRN_DTYPE_I8, 3, dims);
    for (size_t i = 0; i < qrn_view_count(&p->scales); i++) {
        float scale = random_real() * 0.1f; // of either sign
        if (s->fp16)
            ((uint16_t *)p->scales.data)[i] = qrn_f16_from_f64((double)scale);
        else
            ((float *)p->scales.data)[i] = scale;
        ((int8_t *)p->offsets.data)[i] = (int8_t)((int)between(0, 255) - 128);
    }
}

static void make_weights(problem *p) {
    const shape *s = &p->s;
    qrn_weights w = {.dense = p->args.dense,
                     .w_depth = s->cols,
                     .w_col = 1,
                     .dtype = QRN_DTYPE_SQ8,
                     .bits = 8,
                     .packed = s->bits};
    uint32_t rank, dims[QRN_MAX_RANK];
    p->w = calloc((size_t)s->depth * s->cols + 1, 1);
    assert_non_null(p->w);
    int half = 1 << (s->bits - 1);
    for (size_t i = 0; i < (size_t)s->depth * s->cols; i++)
        p->w[i] = (int8_t)((int)between(0, 2 * (uint32_t)half - 1) - half);
    assert_true(qrn_weights_shape(&w, &rank, dims));
    p->packed = make(QRN_DTYPE_I8, rank, dims);
    qrn_weights_pack(&w, p->w, p->packed.data);
}

static void begin(problem *p, const shape *s) {
    *p = (problem){.s = *s, .args = {.w_bits = s->bits, .run = s->run, .fp16 = s->x16}};
    p->args.dense = (qrn_dense_args){.rows = true, .group = 1, .depth = s->depth, .cols = s->cols};
    if (s->clamp)
        p->args.dense.conv.clamp = (qrn_clamp){.on = true, .low = -0.5f, .high = 0.25f};
    make_encodings(p);
    make_weights(p);
    p->x = make(QRN_DTYPE_F32, 2, (uint32_t[]){s->rows, s->depth});
    p->y = make(QRN_DTYPE_F32, 2, (uint32_t[]){s->rows, s->cols});
    p->bias = make(QRN_DTYPE_F32, 1, &s->cols);
    for (size_t i = 0; i < qrn_view_count(&p->x); i++) {
        float x = random_real();
        ((float *)p->x.data)[i] = s->x16 ? qrn_f16_to_f32(qrn_f16_from_f64((double)x)) : x;
    }
    for (size_t i = 0; i < s->cols; i++)
        ((float *)p->bias.data)[i] = random_real();
    qrn_view *in[] = {&p->x, &p->packed, &p->scales, s->offsets ? &p->offsets : NULL,
                      s->bias ? &p->bias : NULL};
    memcpy(p->in, in, sizeof in);
    p->out[0] = &p->y;
}

static void end(problem *p) {
    qrn_view *all[] = {&p->x, &p->packed, &p->scales, &p->offsets, &p->bias, &p->y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->data);
    free(p->w);
}

// The largest magnitude of the run of element k of row i.
static double largest(const problem *p, size_t i, size_t k) {
    const shape *s = &p->s;
    double top = 0;
    for (size_t n = k / s->run * s->run; n < s->depth && n < (k / s->run + 1) * s->run; n++)
        top = fmax(top, fabs((double)((const float *)p->x.data)[i * s->depth + n]));
    return top;
}

// Result (i, j) in double; bound[0]: what roundings are measured by; bound[1]: what is lost of x.
static double expected(const problem *p, size_t i, size_t j, double bound[2]) {
    const shape *s = &p->s;
    double top = 0;
    size_t runs = qrn_weight_only_runs(&p->args);
    double sum = s->bias ? (double)((const float *)p->bias.data)[j] : 0.0;
    bound[0] = fabs(sum);
    bound[1] = 0;
    for (size_t k = 0; k < s->depth; k++) {
        size_t at = (j / QRN_PANEL * runs + k / s->run) * QRN_PANEL + j % QRN_PANEL;
        double scale = (double)(s->fp16 ? qrn_f16_to_f32(((const uint16_t *)p->scales.data)[at])
                                        : ((const float *)p->scales.data)[at]);
        double x = (double)((const float *)p->x.data)[i * s->depth + k];
        double offset = s->offsets ? (double)((const int8_t *)p->offsets.data)[at] : 0.0;
        double w = (double)p->w[k * s->cols + j];
        sum += x * scale * (w + offset);
        top = k % s->run == 0 && s->x16 && s->run <= QRN_GEMV_SHORT_RUN ? largest(p, i, k) : top;
        bound[0] += fabs(x * scale) * (fabs(w) + fabs(offset));
        bound[1] += 1.01 * 0x1p-15 * top * fabs(scale * (w + offset));
    }
    double limited = QRN_CLAMPED(sum, &p->args.dense.conv.clamp);
    return s->clamp ? limited : sum;
}

static void compare(const problem *p, const qrn_kernel *row) {
    const shape *s = &p->s;
    double n = row->needs ? (double)(s->depth + 4 * qrn_weight_only_runs(&p->args) + 4) : 1.0;
    for (size_t i = 0; i < s->rows; i++)
        for (size_t j = 0; j < s->cols; j++) {
            double bound[2], want = expected(p, i, j, bound);
            double got = (double)((const float *)p->y.data)[i * s->cols + j];
            double most = n * 0x1p-24 * (row->needs ? bound[0] : fabs(want)) + 1e-12 * bound[0];
            most += row->needs ? bound[1] : 0;
            if (!(fabs(got - want) <= most))
                fail_msg("%s: %ux%ux%u run %u bits %u: [%zu,%zu] is %.9g, expected %.9g +- %.3g",
                         row->name, s->rows, s->depth, s->cols, s->run, s->bits, i, j, got, want,
                         most);
        }
}

static void run_row(const problem *p, const qrn_kernel *row, uint32_t n_tasks) {
    qrn_kcall k = {
        .args = &p->args, .in = p->in, .out = p->out, .n_in = 5, .n_out = 1, .n_tasks = n_tasks};
    size_t bytes = row->scratch ? row->scratch(&k) : 0;
    k.scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(k.scratch);
    for (k.task = 0; k.task < n_tasks; k.task++)
        assert_int_equal(row->fn(&k), QRN_OK);
    free(k.scratch);
}

static void check(const shape *s) {
    problem p;
    unsigned ran = 0;
    begin(&p, s);
    qrn_kcall k = {.args = &p.args, .in = p.in, .out = p.out, .n_in = 5, .n_out = 1, .n_tasks = 1};
    for (uint32_t r = 0; r < qrn_family_weight_only.n_rows; r++) {
        const qrn_kernel *row = &qrn_family_weight_only.rows[r];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &k, qrn_cpu_isa()))
            continue;
        memset(p.y.data, 0xff, qrn_view_count(&p.y) * sizeof(float));
        run_row(&p, row, 1 + random_u32() % 3);
        compare(&p, row);
        ran++;
    }
    assert_true(ran >= 1);
    prove_call(&qrn_family_weight_only, QRN_DOMAIN_F32, &k);
    end(&p);
}

static shape random_shape(uint32_t rows) {
    static const uint32_t runs[] = {4, 16, 32, 64, 128, 256};
    shape s = {.rows = rows,
               .depth = between(1, 300),
               .cols = between(1, 100),
               .bits = random_u32() % 2 ? 4 : 8,
               .fp16 = random_u32() % 2,
               .x16 = random_u32() % 2,
               .offsets = random_u32() % 2,
               .bias = random_u32() % 2,
               .clamp = random_u32() % 4 == 0};
    if (s.x16) { // what is lost of x is measured by the largest of several results
        s.cols += 8;
        s.clamp = false;
    }
    if (random_u32() % 2) // whole steps of rows that read 8 elements at once
        s.depth = (s.depth + 7) / 8 * 8;
    s.run = runs[random_u32() % 6];
    if (s.run >= s.depth || random_u32() % 4 == 0)
        s.run = s.depth;
    return s;
}

static void few_rows_agree_with_the_sum(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < 96; i++) {
        shape s = random_shape(i % QRN_GEMV_FEW + 1);
        check(&s);
    }
}

static void many_rows_agree_with_the_sum(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < 16; i++) {
        shape s = random_shape(between(QRN_GEMV_FEW + 1, 90));
        check(&s);
    }
    // Panels that are unpacked one by one, and rows that fight for the cache.
    check(&(shape){.rows = 17, .depth = 3072, .cols = 65, .run = 32, .bits = 4, .fp16 = true});
}

// Sums of 32 values up to 8 times small integers are exact: any difference is a wrong weight.
static void small_integers_are_exact(void **unused) {
    (void)unused;
    for (uint32_t rows = 1; rows <= 26; rows++) {
        problem p;
        shape s = {.rows = rows, .depth = 96, .cols = 70, .run = 32, .bits = rows % 2 ? 4 : 8};
        s.offsets = rows % 3 == 0;
        s.x16 = rows % 5 < 2;
        begin(&p, &s);
        for (size_t i = 0; i < qrn_view_count(&p.x); i++)
            ((float *)p.x.data)[i] = (float)between(0, 8) - 4.0f;
        for (size_t i = 0; i < qrn_view_count(&p.scales); i++)
            ((float *)p.scales.data)[i] = random_u32() % 2 ? 0.5f : -2.0f;
        for (uint32_t r = 0; r < qrn_family_weight_only.n_rows; r++) {
            const qrn_kernel *row = &qrn_family_weight_only.rows[r];
            if ((row->needs & qrn_cpu_isa()) != row->needs)
                continue;
            run_row(&p, row, 2);
            for (size_t i = 0; i < qrn_view_count(&p.y); i++) {
                double bound[2], want = expected(&p, i / s.cols, i % s.cols, bound);
                assert_true((double)((const float *)p.y.data)[i] == want);
            }
        }
        end(&p);
    }
}

// Rows whose numbers are not finite, or too small or large for integers, do not change others.
static void strange_rows_are_computed_with_floats(void **unused) {
    (void)unused;
    enum { ROWS = 7, DEPTH = 64 };
    static const float odd[] = {NAN, INFINITY, 1e30f, 1e-30f};
    for (uint32_t few = 0; few < 2; few++)
        for (size_t o = 0; o < sizeof odd / sizeof *odd; o++) {
            problem p;
            shape s = {.rows = few ? ROWS : 3 * ROWS, .depth = DEPTH, .cols = 40, .run = 32};
            s.bits = o % 2 ? 4 : 8;
            s.offsets = s.x16 = few;
            begin(&p, &s);
            float *x = p.x.data;
            for (size_t i = 0; i < DEPTH; i++)
                x[5 * DEPTH + i] = isfinite(odd[o]) ? odd[o] * x[5 * DEPTH + i] : odd[o];
            qrn_kcall k = {.args = &p.args, .in = p.in, .out = p.out, .n_in = 5, .n_out = 1};
            for (uint32_t r = 0; r < qrn_family_weight_only.n_rows; r++) {
                const qrn_kernel *row = &qrn_family_weight_only.rows[r];
                if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &k, qrn_cpu_isa()))
                    continue;
                run_row(&p, row, 2);
                float *y = p.y.data;
                for (size_t j = 0; j < s.cols && !isfinite(odd[o]); j++) {
                    double bound[2], like = expected(&p, 4, j, bound);
                    assert_false(isfinite(y[5 * s.cols + j]));
                    y[5 * s.cols + j] = (float)like; // compare below
                }
                if (!isfinite(odd[o]))
                    memcpy(x + 5 * DEPTH, x + 4 * DEPTH, DEPTH * sizeof *x);
                compare(&p, row);
                for (size_t i = 0; i < DEPTH && !isfinite(odd[o]); i++)
                    x[5 * DEPTH + i] = odd[o];
            }
            end(&p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(few_rows_agree_with_the_sum, set_up),
        cmocka_unit_test_setup(many_rows_agree_with_the_sum, set_up),
        cmocka_unit_test_setup(small_integers_are_exact, set_up),
        cmocka_unit_test_setup(strange_rows_are_computed_with_floats, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
