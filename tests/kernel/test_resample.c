// SPDX-License-Identifier: MIT
//
// Every row of the resample families against the formula that defines them, in double: random
// tables of taps, shapes around the lengths that have code of their own, any number of tasks.
// QUERN_TEST_SEED repeats a run.
#include "base/cpu.h"
#include "kernels/image/resample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

static double element(qrn_dtype t, const void *data, size_t i) {
    switch (t) {
    case QRN_DTYPE_F32:
        return (double)((const float *)data)[i];
    case QRN_DTYPE_UQ8:
        return ((const uint8_t *)data)[i];
    case QRN_DTYPE_SQ8:
        return ((const int8_t *)data)[i];
    case QRN_DTYPE_UQ16:
        return ((const uint16_t *)data)[i];
    case QRN_DTYPE_SQ16:
        return ((const int16_t *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

static void fill(qrn_dtype t, void *data, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double x = between(0, 200) / 8.0;
        switch (t) {
        case QRN_DTYPE_F32:
            ((float *)data)[i] = (float)x;
            break;
        case QRN_DTYPE_F64:
            ((double *)data)[i] = x;
            break;
        default:
            for (unsigned b = 0; b < qrn_dtypes[t].bits / 8u; b++)
                ((uint8_t *)data)[i * (qrn_dtypes[t].bits / 8u) + b] = (uint8_t)random_u32();
        }
    }
}

// One call: x [outer, n, inner] along axis 1.
typedef struct sizes {
    uint32_t outer, n, m, inner, taps;
} sizes;

static double wanted(const sizes *z, const qrn_view *x, const int32_t *index, const double *weight,
                     size_t i) {
    size_t b = i % z->inner, o = i / z->inner % z->m, a = i / z->inner / z->m;
    double sum = 0;
    for (uint32_t t = 0; t < z->taps; t++)
        sum +=
            weight[o * z->taps + t] *
            element(x->dtype, x->data, (a * z->n + (size_t)index[o * z->taps + t]) * z->inner + b);
    return sum;
}

// Weights are multiples of 1/64 that sum to 1 (some of them 0 or negative): exact in every type.
static void fill_taps(const sizes *z, int32_t *index, double *weight) {
    for (uint32_t o = 0; o < z->m; o++) {
        double left = 1.0;
        for (uint32_t t = 0; t < z->taps; t++) {
            double w = t + 1 == z->taps ? left : (double)between(0, 40) / 64.0 - 4.0 / 64.0;
            index[o * z->taps + t] = (int32_t)between(0, z->n - 1);
            weight[o * z->taps + t] = w;
            left -= w;
        }
    }
}

static void check_row(const qrn_kernel *row, const sizes *z, qrn_dtype from, qrn_dtype to) {
    size_t count_x = (size_t)z->outer * z->n * z->inner,
           count_y = (size_t)z->outer * z->m * z->inner;
    int32_t *index = malloc((size_t)z->m * z->taps * sizeof *index);
    double *weight = malloc((size_t)z->m * z->taps * sizeof *weight);
    qrn_view x = {.data = malloc(count_x * qrn_dtypes[from].bits / 8),
                  .dtype = from,
                  .rank = 3,
                  .dims = {z->outer, z->n, z->inner}};
    qrn_view y = {.data = malloc(count_y * qrn_dtypes[to].bits / 8),
                  .dtype = to,
                  .rank = 3,
                  .dims = {z->outer, z->m, z->inner}};
    assert_true(index && weight && x.data && y.data);
    fill(from, x.data, count_x);
    fill_taps(z, index, weight);
    qrn_view positions = {.data = index, .dtype = QRN_DTYPE_I32, .rank = 1};
    qrn_view weights = {.data = weight, .dtype = QRN_DTYPE_F64, .rank = 1};
    qrn_resample_args args = {1, z->taps};
    qrn_view *in[] = {&x, &positions, &weights}, *out[] = {&y};
    uint32_t n_tasks = between(1, 4);
    for (uint32_t task = 0; task < n_tasks; task++) {
        qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 3, .n_out = 1};
        k.task = task;
        k.n_tasks = n_tasks;
        assert_int_equal(row->fn(&k), QRN_OK);
    }
    int64_t low = 0, high = 0;
    bool is_fixed = qrn_dtype_is_fixed(to);
    if (is_fixed)
        qrn_quant_range(to, 0, &low, &high);
    for (size_t i = 0; i < count_y; i++) {
        double want = wanted(z, &x, index, weight, i), got = element(to, y.data, i);
        if (is_fixed)
            want = fmin(fmax(floor(want + 0.5), (double)low), (double)high);
        if (is_fixed ? got != want : !(fabs(got - want) <= 1e-5 * (1.0 + fabs(want))))
            fail_msg("%s %s to %s, [%u,%u,%u] to %u, %u taps: element %zu is %g, wanted %g",
                     row->name, qrn_dtypes[from].token, qrn_dtypes[to].token, z->outer, z->n,
                     z->inner, z->m, z->taps, i, got, want);
    }
    free(index);
    free(weight);
    free(x.data);
    free(y.data);
}

static sizes random_sizes(uint32_t most_taps) {
    static const uint32_t inners[] = {1, 2, 3, 4, 5, 15, 16, 17, 33, 255, 256, 257, 513};
    return (sizes){between(1, 3), between(1, 6), between(1, 7),
                   inners[between(0, sizeof(inners) / sizeof(inners[0]) - 1)],
                   between(1, most_taps)};
}

static void every_real_row_follows_the_formula(void **unused) {
    (void)unused;
    const qrn_family *f = &qrn_family_resample;
    for (uint32_t r = 0; r < f->n_rows; r++) {
        qrn_dtype t = f->rows[r].domain == QRN_DOMAIN_F32 ? QRN_DTYPE_F32 : QRN_DTYPE_F64;
        for (int round = 0; round < 400 && (f->rows[r].needs & ~qrn_cpu_isa()) == 0; round++) {
            sizes z = random_sizes(7);
            check_row(&f->rows[r], &z, t, t);
        }
    }
}

static void quantized_values_are_rounded_half_up(void **unused) {
    (void)unused;
    const struct {
        qrn_dtype q, real;
    } types[] = {{QRN_DTYPE_UQ8, QRN_DTYPE_F32},
                 {QRN_DTYPE_SQ8, QRN_DTYPE_F32},
                 {QRN_DTYPE_UQ16, QRN_DTYPE_F64},
                 {QRN_DTYPE_SQ16, QRN_DTYPE_F64}};
    const qrn_family *f = &qrn_family_resample_q;
    for (uint32_t r = 0; r < f->n_rows; r++)
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
            for (int round = 0; round < 150 && (f->rows[r].needs & ~qrn_cpu_isa()) == 0; round++) {
                sizes z = random_sizes(5);
                check_row(&f->rows[r], &z, types[t].q, types[t].q);
                check_row(&f->rows[r], &z, types[t].q, types[t].real);
                check_row(&f->rows[r], &z, types[t].real, types[t].q);
                check_row(&f->rows[r], &z, types[t].real, types[t].real);
            }
}

static void weight_0_does_not_make_nan_of_infinity(void **unused) {
    (void)unused;
    float x[2 * 4] = {INFINITY, INFINITY, INFINITY, INFINITY, 1, 2, 3, 4}, y[4];
    int32_t index[2] = {0, 1};
    double weight[2] = {0.0, 1.0};
    for (uint32_t inner = 1; inner <= 4; inner++)
        for (uint32_t r = 0; r < qrn_family_resample.n_rows; r++) {
            const qrn_kernel *row = &qrn_family_resample.rows[r];
            if (row->domain != QRN_DOMAIN_F32)
                continue;
            qrn_view vx = {.data = x, .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {2, inner}};
            qrn_view vy = {.data = y, .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {1, inner}};
            qrn_view vi = {.data = index}, vw = {.data = weight};
            qrn_view *in[] = {&vx, &vi, &vw}, *out[] = {&vy};
            qrn_resample_args args = {0, 2};
            for (uint32_t i = 0; i < inner; i++)
                x[inner + i] = (float)(i + 1);
            qrn_kcall k = {
                .args = &args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
            assert_int_equal(row->fn(&k), QRN_OK);
            for (uint32_t i = 0; i < inner; i++)
                assert_true(y[i] == (float)(i + 1));
        }
}

// Between two axes values are f32 or f64 and may be anything when the data is.
static void values_outside_the_type_are_limited(void **unused) {
    (void)unused;
    float x[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 255.6f, -128.7f, 3.5f};
    enum { COUNT = sizeof(x) / sizeof(x[0]) };
    const uint8_t unsigned_values[COUNT] = {0, 255, 0, 255, 0, 255, 0, 4};
    const int8_t signed_values[COUNT] = {-128, 127, -128, 127, -128, 127, -128, 4};
    int32_t index[] = {0};
    double weight[] = {1.0};
    const qrn_family *f = &qrn_family_resample_q;
    for (uint32_t r = 0; r < 2 * f->n_rows; r++) {
        bool is_signed = r % 2;
        uint8_t y[COUNT];
        qrn_view vx = {.data = x, .dtype = QRN_DTYPE_F32, .rank = 2, .dims = {1, COUNT}};
        qrn_view vy = {.data = y, .rank = 2, .dims = {1, COUNT}};
        qrn_view vi = {.data = index}, vw = {.data = weight};
        qrn_view *in[] = {&vx, &vi, &vw}, *out[] = {&vy};
        qrn_resample_args args = {0, 1};
        vy.dtype = is_signed ? QRN_DTYPE_SQ8 : QRN_DTYPE_UQ8;
        qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
        if ((f->rows[r / 2].needs & ~qrn_cpu_isa()) != 0)
            continue;
        assert_int_equal(f->rows[r / 2].fn(&k), QRN_OK);
        assert_memory_equal(y, is_signed ? (const void *)signed_values : unsigned_values, COUNT);
    }
}

// The length of the axis is 0 when a graph with dynamic dimensions found nothing.
static void an_empty_output_takes_no_step(void **unused) {
    (void)unused;
    const qrn_family *families[] = {&qrn_family_resample, &qrn_family_resample_move,
                                    &qrn_family_resample_q};
    for (size_t i = 0; i < 3; i++)
        for (uint32_t r = 0; r < families[i]->n_rows; r++) {
            qrn_view x = {.dtype = QRN_DTYPE_F32, .rank = 2, .dims = {0, 3}}, y = x, table = {0};
            qrn_view *in[] = {&x, &table, &table}, *out[] = {&y};
            qrn_resample_args args = {0, 1};
            qrn_kcall k = {
                .args = &args, .in = in, .out = out, .n_in = 3, .n_out = 1, .n_tasks = 1};
            if ((families[i]->rows[r].needs & ~qrn_cpu_isa()) == 0)
                assert_int_equal(families[i]->rows[r].fn(&k), QRN_OK);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_real_row_follows_the_formula),
        cmocka_unit_test(quantized_values_are_rounded_half_up),
        cmocka_unit_test(weight_0_does_not_make_nan_of_infinity),
        cmocka_unit_test(values_outside_the_type_are_limited),
        cmocka_unit_test(an_empty_output_takes_no_step),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
