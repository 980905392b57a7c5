// SPDX-License-Identifier: MIT
//
// Every row of the round_fp16 and dense_f16 families that this machine can run. Rounding is
// compared with the compiler's _Float16; GEMMs with the dense family on the same weights as floats,
// to the bit.
#include "base/cpu.h"
#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/fp16/round_fp16.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT 1999u // no multiple of anything

static uint64_t seed = 7;

static uint32_t random_u32(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}
static uint32_t between(uint32_t lo, uint32_t hi) { return lo + random_u32() % (hi - lo + 1); }

// Of all magnitudes between the smallest subnormal fp16 and beyond the largest of the wide range.
static double random_wild(void) {
    double x = ldexp(1 + random_u32() * 0x1p-32, (int)(random_u32() % 46) - 27);
    return random_u32() & 1 ? -x : x;
}

static double fp16_of(double x, qrn_fp16_rule rule) {
    double h = (double)(_Float16)x;
    if (rule == QRN_FP16_WIDE_RANGE) {
        if (isnan(x))
            return 131008;
        h = fabs(x) < 32768 ? h : 2 * (double)(_Float16)(x / 2);
        return fabs(h) > 131008 ? copysign(131008, h) : h;
    }
    return isinf(h) && rule == QRN_FP16_CLAMP ? copysign(65504, h) : h;
}

static bool runs_here(const qrn_kernel *row, const qrn_kcall *k) {
    return !qrn_kernel_rejection(row, row->domain, k, qrn_cpu_isa());
}

static void run_tasks(const qrn_kernel *row, qrn_kcall *k, uint32_t n_tasks) {
    k->n_tasks = n_tasks;
    size_t bytes = row->scratch ? row->scratch(k) : 0;
    k->scratch = malloc(bytes + 1);
    memset(k->scratch, 0xff, bytes);
    for (k->task = 0; k->task < n_tasks; k->task++)
        assert_int_equal(row->fn(k), QRN_OK);
    free(k->scratch);
}

// x of some type, filled; a narrow buffer is exactly as large as its elements.
static void *fill(qrn_view *x) {
    size_t bytes;
    assert_true(qrn_dtype_bytes(x->dtype, COUNT, &bytes));
    void *data = malloc(bytes);
    for (size_t i = 0; i < COUNT; i++) {
        double wild = i == 5 ? INFINITY : i == 6 ? -INFINITY : i == 7 ? (double)NAN : random_wild();
        if (x->dtype == QRN_DTYPE_F32)
            ((float *)data)[i] = (float)wild;
        else if (x->dtype == QRN_DTYPE_F64)
            ((double *)data)[i] = wild;
    }
    if (x->dtype != QRN_DTYPE_F32 && x->dtype != QRN_DTYPE_F64)
        for (size_t i = 0; i < bytes; i++)
            ((uint8_t *)data)[i] = (uint8_t)random_u32();
    x->data = data;
    return data;
}

static double result(const qrn_view *y, size_t i) {
    _Float16 h;
    if (y->dtype == QRN_DTYPE_F32)
        return (double)((const float *)y->data)[i];
    memcpy(&h, (const uint16_t *)y->data + i, sizeof h);
    return (double)h;
}

static void check(const qrn_kernel *row, const qrn_view *x, const qrn_view *y, qrn_fp16_rule rule) {
    for (size_t i = 0; i < COUNT; i++) {
        double want = fp16_of(qrn_view_real(x, i), rule), got = result(y, i);
        if (y->dtype == QRN_DTYPE_F16 && rule == QRN_FP16_WIDE_RANGE)
            want = fp16_of(want, QRN_FP16_CLAMP);
        if (isnan(want) ? !isnan(got) : memcmp(&want, &got, sizeof want) != 0)
            fail_msg("%s, rule %d, %s to %s: %.17g gives %.17g, expected %.17g", row->name, rule,
                     qrn_dtypes[x->dtype].token, qrn_dtypes[y->dtype].token, qrn_view_real(x, i),
                     got, want);
    }
}

static void rows_round_once(void **state) {
    (void)state;
    static const qrn_dtype types[] = {QRN_DTYPE_F32, QRN_DTYPE_F64,  QRN_DTYPE_F16,
                                      QRN_DTYPE_UQ8, QRN_DTYPE_SQ16, QRN_DTYPE_I32};
    qrn_quant quant = {.kind = QRN_QUANT_TENSOR, .scale = 0.1234567f, .offset = -7};
    unsigned ran = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (uint32_t rule = QRN_FP16_IEEE; rule <= QRN_FP16_WIDE_RANGE; rule++)
            for (uint32_t r = 0; r < 2 * qrn_family_round_fp16.n_rows; r++) {
                const qrn_kernel *row = &qrn_family_round_fp16.rows[r / 2];
                qrn_round_fp16_args args = {rule};
                qrn_view x = {.dtype = types[t], .rank = 1, .dims = {COUNT}}, y = x;
                x.quant = qrn_dtype_is_fixed(x.dtype) ? &quant : NULL;
                y.dtype = r % 2 ? QRN_DTYPE_F16 : QRN_DTYPE_F32;
                qrn_view *ins[] = {&x}, *outs[] = {&y};
                qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
                if (!runs_here(row, &k))
                    continue;
                void *data = fill(&x);
                y.data = malloc(COUNT * (r % 2 ? 2u : 4u));
                run_tasks(row, &k, 1 + r % 3);
                check(row, &x, &y, (qrn_fp16_rule)rule);
                free(data);
                free(y.data);
                ran++;
            }
    assert_true(ran >= 36); // the reference takes everything
}

static void rows_round_in_place(void **state) {
    (void)state;
    for (uint32_t r = 0; r < qrn_family_round_fp16.n_rows; r++) {
        const qrn_kernel *row = &qrn_family_round_fp16.rows[r];
        qrn_round_fp16_args args = {QRN_FP16_IEEE};
        qrn_view x = {.dtype = QRN_DTYPE_F32, .rank = 1, .dims = {COUNT}}, before = x;
        qrn_view *ins[] = {&x}, *outs[] = {&x};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
        if (!runs_here(row, &k))
            continue;
        fill(&x);
        before.data = memcpy(malloc(COUNT * sizeof(float)), x.data, COUNT * sizeof(float));
        run_tasks(row, &k, 2);
        check(row, &before, &x, QRN_FP16_IEEE);
        free(x.data);
        free(before.data);
    }
}

static float *floats(size_t n, bool wild, qrn_fp16_rule rule) {
    float *p = malloc(n * sizeof *p + 1);
    for (size_t i = 0; i < n; i++) {
        double x = wild && i % 97 == 3 ? random_wild() * 4 : (int32_t)random_u32() * 0x1p-31;
        p[i] = (float)fp16_of(x, rule);
    }
    return p;
}

// One product on the rows of both families; x, w, bias hold f16_bits.
static void check_gemm(const qrn_dense_args *a, qrn_view x, qrn_view y, qrn_fp16_rule rule,
                       bool f16_source) {
    uint32_t cout = a->cols * a->group, dims[3];
    size_t n_w = (size_t)a->depth * cout, n_y = qrn_view_count(&y);
    float *w = floats(n_w, true, rule), *bias = floats(cout, false, rule);
    assert_true(qrn_dense_packed_shape(a, dims));
    size_t n_packed = (size_t)dims[0] * dims[1] * dims[2];
    float *as_float = malloc(n_packed * sizeof *as_float + 1), *want = malloc(n_y * sizeof *want);
    uint16_t *as_f16 = malloc(n_packed * sizeof *as_f16 + 1), *f16_bits = malloc(n_w * 2 + 1);
    for (size_t i = 0; i < n_w; i++) {
        if (f16_source && rule == QRN_FP16_WIDE_RANGE && fabsf(w[i]) > 65504)
            w[i] = 1; // beyond IEEE fp16
        _Float16 h = (_Float16)w[i];
        memcpy(&f16_bits[i], &h, sizeof h);
    }
    qrn_view source = {.data = f16_source ? (void *)f16_bits : (void *)w,
                       .dtype = f16_source ? QRN_DTYPE_F16 : QRN_DTYPE_F32};
    qrn_dense_f16_pack(a, &source, cout, 1, rule, as_f16);
    for (size_t i = 0; i < n_w; i++) // constants end at 65536
        if (rule == QRN_FP16_WIDE_RANGE && fabsf(w[i]) > 65536)
            w[i] = copysignf(65536, w[i]);
    qrn_dense_pack(a, w, cout, 1, as_float);
    qrn_view b = {.data = bias, .dtype = QRN_DTYPE_F32, .rank = 1, .dims = {cout}};
    qrn_view single = {.data = as_float, .dtype = QRN_DTYPE_F32, .rank = 3}, f16 = single;
    memcpy(single.dims, dims, sizeof dims);
    memcpy(f16.dims, dims, sizeof dims);
    f16.data = as_f16;
    f16.dtype = QRN_DTYPE_F16;
    qrn_view *ins[] = {&x, &single, &b}, *f16_ins[] = {&x, &f16, &b}, *outs[] = {&y};
    qrn_dense_f16_args f16_args = {*a, rule == QRN_FP16_WIDE_RANGE};
    assert_int_equal(qrn_family_dense.n_rows, qrn_family_dense_f16.n_rows);
    for (uint32_t r = 0; r < qrn_family_dense.n_rows; r++) {
        qrn_kcall k = {.args = a, .in = ins, .out = outs, .n_in = 3, .n_out = 1};
        if (!runs_here(&qrn_family_dense.rows[r], &k))
            continue;
        run_tasks(&qrn_family_dense.rows[r], &k, 1);
        memcpy(want, y.data, n_y * sizeof *want);
        k.args = &f16_args;
        k.in = f16_ins;
        for (uint32_t n_tasks = 1; n_tasks < 6; n_tasks += 2) {
            memset(y.data, 0xff, n_y * sizeof *want);
            run_tasks(&qrn_family_dense_f16.rows[r], &k, n_tasks);
            for (size_t i = 0; i < n_y; i++)
                if (isnan(want[i]) ? !isnan(((float *)y.data)[i])
                                   : memcmp(&want[i], (float *)y.data + i, sizeof(float)) != 0)
                    fail_msg("%s: result %zu is %.9g, expected %.9g",
                             qrn_family_dense_f16.rows[r].name, i, (double)((float *)y.data)[i],
                             (double)want[i]);
        }
    }
    free(w);
    free(bias);
    free(as_float);
    free(as_f16);
    free(f16_bits);
    free(want);
    free(x.data);
    free(y.data);
}

static void f16_weights_give_the_sums_of_floats(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 48; i++) {
        qrn_fp16_rule rule = i % 3 == 0   ? QRN_FP16_IEEE
                             : i % 3 == 1 ? QRN_FP16_WIDE_RANGE
                                          : QRN_FP16_CLAMP;
        uint32_t rows = i % 6 == 0 ? 1 + i / 6 % 5 : between(1, 150);
        qrn_dense_args a = {
            .rows = true, .group = 1, .depth = between(1, 90), .cols = between(1, 70)};
        if (i % 8 == 0)
            a.depth = 500 + i * 40; // one stretch or several
        if (i == 47)
            a.depth = 0;
        qrn_view x = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, a.depth}};
        qrn_view y = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, a.cols}};
        if (i % 2) {
            uint32_t size = between(3, 9), cin = between(1, 20);
            a = (qrn_dense_args){.conv = {.n_spatial = 2,
                                          .group = between(1, 3),
                                          .stride = {1, 2},
                                          .dilation = {1, 1},
                                          .before = {1, 1}},
                                 .kernel = {3, 3},
                                 .depth = 9 * cin,
                                 .cols = between(1, 70)};
            a.group = a.conv.group;
            x = (qrn_view){.dtype = QRN_DTYPE_F32, .rank = 4, .dims = {2, size, size}};
            x.dims[3] = cin * a.group;
            y = x;
            y.dims[2] = (size - 1) / 2 + 1;
            y.dims[3] = a.cols * a.group;
        }
        x.data = floats(qrn_view_count(&x), false, rule);
        y.data = malloc(qrn_view_count(&y) * sizeof(float));
        check_gemm(&a, x, y, rule, i % 4 > 1);
    }
}

// A convolution over a column of cells, whose windows are one segment; more weights than are
// converted at once.
static void f16_weights_over_columns_give_the_sums_of_floats(void **state) {
    (void)state;
    for (uint32_t pad = 0; pad < 2; pad++) {
        qrn_dense_args a = {.conv = {.n_spatial = 2,
                                     .group = 1,
                                     .stride = {1, 1},
                                     .dilation = {1, 1},
                                     .before = {2 * pad}},
                            .kernel = {5, 1},
                            .group = 1,
                            .depth = 5 * 150,
                            .cols = 130};
        qrn_view x = {.dtype = QRN_DTYPE_F32, .rank = 4, .dims = {1, 90, 1, 150}};
        qrn_view y = {.dtype = QRN_DTYPE_F32, .rank = 4, .dims = {1, 86 + 4 * pad, 1, 130}};
        x.data = floats(qrn_view_count(&x), false, QRN_FP16_IEEE);
        y.data = malloc(qrn_view_count(&y) * sizeof(float));
        check_gemm(&a, x, y, QRN_FP16_IEEE, pad);
    }
}

// Few rows have tiles of their own, which convert the binade that only the wide range has apart.
static void few_rows_of_the_wide_range_give_the_sums_of_floats(void **state) {
    (void)state;
    for (uint32_t rows = 1; rows < 19; rows++) {
        qrn_dense_args a = {.rows = true, .group = 1, .depth = 200, .cols = 3 * 32 + rows};
        qrn_view x = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, a.depth}};
        qrn_view y = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {rows, a.cols}};
        x.data = floats(qrn_view_count(&x), false, QRN_FP16_WIDE_RANGE);
        memset(x.data, 0, 8 * sizeof(float)); // an infinite weight times 0 would be NaN
        y.data = malloc(qrn_view_count(&y) * sizeof(float));
        check_gemm(&a, x, y, QRN_FP16_WIDE_RANGE, rows % 4 == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_round_once),
        cmocka_unit_test(rows_round_in_place),
        cmocka_unit_test(f16_weights_give_the_sums_of_floats),
        cmocka_unit_test(f16_weights_over_columns_give_the_sums_of_floats),
        cmocka_unit_test(few_rows_of_the_wide_range_give_the_sums_of_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
