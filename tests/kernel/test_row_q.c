// SPDX-License-Identifier: MIT
//
// Softmax and normalization of quantized values: every row that this machine can run against the
// formula in long double, for all pairs of formats, on sets of all lengths, whole and in parts.
// Quantized values must be equal but where the real result is too close to the border between two
// quantized values to tell, and those of all rows must be equal to the bit. QUERN_TEST_SEED repeats
// a run.
#include "base/cpu.h"
#include "kernels/norm/norm.h"
#include "kernels/softmax/softmax.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

static float real_between(double lo, double hi) {
    return (float)(lo + (hi - lo) * (random_u32() / 4294967296.0));
}

static const qrn_dtype formats[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, QRN_DTYPE_SQ16};

static int32_t q_at(const qrn_view *v, size_t i) {
    switch (v->dtype) {
    case QRN_DTYPE_UQ8:
        return ((const uint8_t *)v->data)[i];
    case QRN_DTYPE_SQ8:
        return ((const int8_t *)v->data)[i];
    case QRN_DTYPE_UQ16:
        return ((const uint16_t *)v->data)[i];
    default:
        return ((const int16_t *)v->data)[i];
    }
}

// Memory of exactly the right size, so that sanitizers see any overrun; random quantized values
// within `spread` of each other.
static qrn_view make(const qrn_quant *quant, uint32_t rank, const uint32_t *dims, uint32_t spread) {
    qrn_view v = {.dtype = formats[between(0, 3)], .quant = quant, .rank = rank};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t n = qrn_view_count(&v), size = qrn_view_elem(&v);
    v.data = malloc(n * size);
    assert_non_null(v.data);
    for (size_t i = 0; i < n; i++) {
        uint32_t q = between(0, spread) + 60;
        if (size == 1)
            ((uint8_t *)v.data)[i] = (uint8_t)q;
        else
            ((uint16_t *)v.data)[i] = (uint16_t)q;
    }
    return v;
}

static void run_row(const qrn_kernel *row, qrn_kcall *k, uint32_t n_tasks) {
    k->n_tasks = n_tasks;
    size_t bytes = row->scratch ? row->scratch(k) : 0;
    k->scratch = malloc(bytes ? bytes : 1);
    assert_non_null(k->scratch);
    memset(k->scratch, 0xff, bytes);
    for (k->task = 0; k->task < n_tasks; k->task++)
        assert_int_equal(row->fn(k), QRN_OK);
    free(k->scratch);
}

// Is element `at` of y the quantized value nearest to `steps` of its scale?
static void check_q(const qrn_kernel *row, const qrn_view *y, size_t at, long double steps) {
    static const int32_t low[] = {0, -128, 0, -32768}, high[] = {255, 127, 65535, 32767};
    size_t f = 0;
    while (formats[f] != y->dtype)
        f++;
    long double q = floorl(steps + 0.5L) - y->quant->offset;
    if (fabsl(steps + 0.5L - roundl(steps + 0.5L)) < 1e-8L)
        return;
    q = q < low[f] ? low[f] : q > high[f] ? high[f] : q;
    if (q_at(y, at) != (int32_t)q)
        fail_msg("%s: element %zu is %d, expected %d (%.12Lg)", row->name, at, q_at(y, at),
                 (int32_t)q, steps);
}

typedef void check_fn(const qrn_kernel *row, const qrn_kcall *k);

// Runs all rows of the RAW domain, whole and in parts; returns how many. `check` may be NULL.
static unsigned check_rows(const qrn_family *f, qrn_kcall *k, check_fn *check) {
    unsigned checked = 0;
    qrn_view *y = k->out[0];
    size_t bytes = qrn_view_count(y) * qrn_view_elem(y);
    void *first = malloc(bytes); // results of the first of them
    assert_non_null(first);
    for (uint32_t i = 0; i < f->n_rows; i++) {
        if (qrn_kernel_rejection(&f->rows[i], QRN_DOMAIN_RAW, k, qrn_cpu_isa()))
            continue;
        for (uint32_t n_tasks = 1; n_tasks <= 3; n_tasks += 2) {
            memset(y->data, 0xaa, bytes);
            run_row(&f->rows[i], k, n_tasks);
            if (check)
                check(&f->rows[i], k);
            if (!checked && n_tasks == 1)
                memcpy(first, y->data, bytes);
            if (memcmp(first, y->data, bytes))
                fail_msg("%s: other results than those of the first row", f->rows[i].name);
        }
        checked++;
    }
    free(first);
    return checked;
}

static void check_softmax(const qrn_kernel *row, const qrn_kcall *k) {
    const qrn_softmax_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t n = x->dims[a->axis], inner = qrn_view_span(x, a->axis + 1, x->rank);
    long double unit = (long double)x->quant->scale * (long double)a->beta;
    long double *want = malloc(n * sizeof *want);
    assert_non_null(want);
    for (size_t r = 0; r < qrn_view_count(x) / n; r++) {
        size_t at = r / inner * n * inner + r % inner;
        long double top = -INFINITY, sum = 0;
        for (size_t i = 0; i < n; i++)
            top = fmaxl(top, unit * q_at(x, at + i * inner));
        for (size_t i = 0; i < n; i++)
            sum += want[i] = expl(unit * q_at(x, at + i * inner) - top);
        for (size_t i = 0; i < n; i++)
            check_q(row, y, at + i * inner, want[i] / (sum * (long double)y->quant->scale));
    }
    free(want);
}

static void softmax_gives_the_nearest_value(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 600; round++) {
        uint32_t dims[3] = {between(1, 3), between(1, 9), between(1, round % 16 ? 200 : 2000)};
        qrn_softmax_args args = {.axis = between(0, 7) ? 2 : between(0, 1)};
        args.beta = between(0, 7) ? 1.0f : real_between(-2, 3);
        qrn_quant x_quant = {.kind = QRN_QUANT_TENSOR, .offset = (int32_t)between(0, 300) - 150};
        qrn_quant y_quant = {.kind = QRN_QUANT_TENSOR};
        uint32_t spread = between(0, 2) ? 190 : between(0, 65000);
        x_quant.scale = real_between(1e-4, 20.0 / (spread + 1) + 1e-3);
        y_quant.scale = real_between(1.0 / 70000, between(0, 1) ? 1.0 / 60000 : 0.02);
        y_quant.offset = between(0, 1) ? 0 : (int32_t)between(0, 60) - 30;
        qrn_view x = make(&x_quant, 3, dims, spread), y = make(&y_quant, 3, dims, 0);
        qrn_view *ins[1] = {&x}, *outs[1] = {&y};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
        checked += check_rows(&qrn_family_softmax, &k, check_softmax);
        free(x.data);
        free(y.data);
    }
    print_message("%u comparisons\n", checked);
    assert_true(checked >= 600);
}

// Equal values, 2^j in a row, whose results lie on a border or a whole number of steps.
static void softmax_rounds_ties_up_in_every_row(void **unused) {
    (void)unused;
    for (unsigned round = 0; round < 64; round++) {
        uint32_t n = 2u << round % 9, dims[2] = {between(1, 9), n};
        qrn_softmax_args args = {.axis = 1, .beta = 1};
        qrn_quant x_quant = {.kind = QRN_QUANT_TENSOR, .scale = 0.125f};
        qrn_quant y_quant = {.kind = QRN_QUANT_TENSOR, .scale = 2.0f / (float)n};
        y_quant.scale /= (float)(1u << between(0, 3));
        y_quant.offset = -(int32_t)between(0, 20);
        qrn_view x = make(&x_quant, 2, dims, 0), y = make(&y_quant, 2, dims, 0);
        qrn_view *ins[1] = {&x}, *outs[1] = {&y};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
        check_rows(&qrn_family_softmax, &k, NULL);
        int32_t steps = (int32_t)floorf(1 / (float)n / y_quant.scale + 0.5f);
        for (size_t i = 0; i < qrn_view_count(&y); i++)
            assert_int_equal(q_at(&y, i), steps - y_quant.offset);
        free(x.data);
        free(y.data);
    }
}

// Scores with a mask of -10000 among them: 8 bits have a step of some 39 then.
static void softmax_of_masked_bytes_has_vector_rows(void **unused) {
    (void)unused;
    qrn_softmax_args args = {.axis = 1, .beta = 1.0f};
    qrn_quant x_quant = {.kind = QRN_QUANT_TENSOR, .scale = 10010.0f / 255, .offset = -255};
    qrn_quant y_quant = {.kind = QRN_QUANT_TENSOR, .scale = 1.0f / 255};
    uint8_t in[9 * 1024], out[9 * 1024];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = i % 1024 < 700 ? (uint8_t)between(252, 255) : 0;
    qrn_view x = {in, &x_quant, QRN_DTYPE_UQ8, .rank = 2, .dims = {9, 1024}}, y = x;
    y.data = out;
    y.quant = &y_quant;
    qrn_view *ins[1] = {&x}, *outs[1] = {&y};
    qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
    unsigned rows = check_rows(&qrn_family_softmax, &k, check_softmax);
    assert_true(rows > 1 || !(qrn_cpu_isa() & (QRN_ISA_AVX2 | QRN_ISA_NEON)));
}

// Sets are the last n elements each, with one gamma and beta for each of them.
static void check_norm(const qrn_kernel *row, const qrn_kcall *k) {
    const qrn_norm_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t n = qrn_view_span(x, a->axes[0], x->rank);
    long double scale = x->quant->scale, eps = a->epsilon;
    bool centered = a->kind == QRN_NORM_MEAN_VARIANCE || a->kind == QRN_NORM_CENTER;
    for (size_t at = 0; at < qrn_view_count(x); at += n) {
        long double mean = 0, squares = 0, factor = 1;
        for (size_t i = 0; i < n && centered; i++)
            mean += scale * (q_at(x, at + i) + x->quant->offset) / (long double)n;
        for (size_t i = 0; i < n; i++) {
            long double d = scale * (q_at(x, at + i) + x->quant->offset) - mean;
            squares += d * d;
        }
        if (a->kind == QRN_NORM_MEAN_VARIANCE || a->kind == QRN_NORM_RMS)
            factor = 1 / sqrtl(squares / (long double)n + eps);
        else if (a->kind == QRN_NORM_ROOT_SUM)
            factor = 1 / sqrtl(squares + eps);
        else if (a->kind == QRN_NORM_L2)
            factor = 1 / fmaxl(sqrtl(squares), eps);
        for (size_t i = 0; i < n; i++) {
            long double v = (scale * (q_at(x, at + i) + x->quant->offset) - mean) * factor;
            if (a->kind != QRN_NORM_CENTER)
                v = v * (k->in[1] ? ((const double *)k->in[1]->data)[i] : 1) +
                    (k->in[2] ? ((const double *)k->in[2]->data)[i] : 0);
            check_q(row, y, at + i, v / (long double)y->quant->scale);
        }
    }
}

static qrn_view make_reals(uint32_t n) {
    qrn_view v = {.dtype = QRN_DTYPE_F64, .rank = 1, .dims = {n}};
    double *data = v.data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (uint32_t i = 0; i < n; i++)
        data[i] = (double)real_between(-2, 2);
    return v;
}

static void norm_gives_the_nearest_value(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 400; round++) {
        uint32_t dims[3] = {between(1, 3), between(1, 9), between(2, round % 16 ? 300 : 2000)};
        qrn_norm_args args = {.kind = between(QRN_NORM_MEAN_VARIANCE, QRN_NORM_L2)};
        args.epsilon = between(0, 1) ? 1e-5f : 0.01f;
        for (uint32_t d = between(1, 2); d < 3; d++)
            args.axes[args.n_axes++] = d;
        uint32_t n = args.n_axes == 2 ? dims[1] * dims[2] : dims[2];
        qrn_quant x_quant = {.kind = QRN_QUANT_TENSOR, .scale = real_between(1e-4, 0.1)};
        qrn_quant y_quant = {.kind = QRN_QUANT_TENSOR, .scale = real_between(5e-5, 0.04)};
        x_quant.offset = between(0, 1) ? -(int32_t)between(0, 255) : -(int32_t)between(0, 65535);
        y_quant.offset = between(0, 1) ? 0 : (int32_t)between(0, 600) - 300;
        qrn_view x = make(&x_quant, 3, dims, between(0, 2) ? 190 : between(1, 65000));
        qrn_view y = make(&y_quant, 3, dims, 0), gamma = make_reals(n), beta = make_reals(n);
        qrn_view *ins[3] = {&x, between(0, 4) ? &gamma : NULL, between(0, 4) ? &beta : NULL};
        qrn_view *outs[1] = {&y};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 3, .n_out = 1};
        assert_true(qrn_norm_supports_q(&args, &x, &y));
        checked += check_rows(&qrn_family_norm, &k, check_norm);
        free(x.data);
        free(y.data);
        free(gamma.data);
        free(beta.data);
    }
    print_message("%u comparisons\n", checked);
    assert_true(checked >= 400);
}

// Distances from a mean that is a whole number, in halves and quarters of a step: few results are
// not on a border.
static void norm_rounds_ties_up_in_every_row(void **unused) {
    (void)unused;
    for (unsigned round = 0; round < 64; round++) {
        uint32_t dims[2] = {between(1, 5), 2 * between(1, 200)}, n = dims[1];
        qrn_norm_args args = {.kind = QRN_NORM_CENTER, .n_axes = 1, .axes = {1}};
        qrn_quant x_quant = {.kind = QRN_QUANT_TENSOR, .scale = round & 1 ? 0.5f : 0.25f};
        qrn_quant y_quant = {.kind = QRN_QUANT_TENSOR, .scale = 1.0f};
        y_quant.offset = -(int32_t)between(0, 90);
        qrn_view x = make(&x_quant, 2, dims, 60), y = make(&y_quant, 2, dims, 0);
        for (size_t i = 0; i < qrn_view_count(&x); i += 2) { // 90 in the middle
            int32_t other = 180 - q_at(&x, i);
            if (x.dtype == QRN_DTYPE_UQ8 || x.dtype == QRN_DTYPE_SQ8)
                ((uint8_t *)x.data)[i + 1] = (uint8_t)other;
            else
                ((uint16_t *)x.data)[i + 1] = (uint16_t)other;
        }
        qrn_view *ins[3] = {&x, NULL, NULL}, *outs[1] = {&y};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 3, .n_out = 1};
        check_rows(&qrn_family_norm, &k, NULL);
        for (size_t i = 0; i < dims[0] * n; i++) {
            float real = x_quant.scale * (float)(q_at(&x, i) - 90);
            int32_t want = (int32_t)floorf(real + 0.5f) - y_quant.offset;
            bool is_signed = y.dtype == QRN_DTYPE_SQ8 || y.dtype == QRN_DTYPE_SQ16;
            assert_int_equal(q_at(&y, i), want < 0 && !is_signed ? 0 : want);
        }
        free(x.data);
        free(y.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(softmax_gives_the_nearest_value, set_up),
        cmocka_unit_test_setup(softmax_rounds_ties_up_in_every_row, set_up),
        cmocka_unit_test_setup(softmax_of_masked_bytes_has_vector_rows, set_up),
        cmocka_unit_test_setup(norm_gives_the_nearest_value, set_up),
        cmocka_unit_test_setup(norm_rounds_ties_up_in_every_row, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
