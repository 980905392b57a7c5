// SPDX-License-Identifier: MIT
//
// Every row of the element-wise, conversion, reduction, normalization and softmax families that
// this machine can run, against the reference row of the same domain (the last one) on random
// shapes with tails, broadcasting and several tasks. QUERN_TEST_SEED repeats a run.
//
// Tolerance. Element-wise arithmetic and conversions: the same bits. Rows that sum in double in
// another order: one unit in the last place of a float result, 1e-12 relative for double. The
// vector forms of exp, sigmoid, swish, tanh, elu, softplus and gelu: the bounds fast_math.h states;
// those of exp_f64.h, which are in double: rounded once.
#include "base/cpu.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"
#include "kernels/norm/norm.h"
#include "kernels/quantize.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

static double random_real(void) { return (double)random_u32() / 536870912.0 - 4.0; }

// Limits, and numbers at or next to the middle between two half-precision values.
// clang-format off
static const double odd_values[] = {
    INFINITY, -INFINITY, NAN, 0.0, -0.0, 1e-40, 3e38, -3e38,
    1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11 - 0x1p-40, 1 + 0x3p-11 - 0x1p-40,
    65520, 65520 - 0x1p-30, 0x1p-25, 0x1p-25 + 0x1p-60,
};
// clang-format on
#define N_ODD (sizeof(odd_values) / sizeof(odd_values[0]))

// A view with its own memory of exactly the right size, so that sanitizers see any overrun.
static qrn_view make(qrn_dtype dtype, const qrn_quant *quant, uint32_t rank, const uint32_t *dims) {
    qrn_view v = {.dtype = dtype, .quant = quant, .rank = rank};
    if (rank)
        memcpy(v.dims, dims, rank * sizeof *dims);
    size_t bytes = qrn_view_count(&v) * qrn_view_elem(&v);
    v.data = malloc(bytes ? bytes : 1);
    assert_non_null(v.data);
    memset(v.data, 0x55, bytes);
    return v;
}

// Random contents; with `odd`, one float in eight is special.
static void fill(qrn_view *v, bool odd) {
    size_t n = qrn_view_count(v);
    for (size_t i = 0; i < n; i++) {
        double x = odd && between(0, 7) == 0 ? odd_values[between(0, N_ODD - 1)] : random_real();
        if (v->dtype == QRN_DTYPE_F32)
            ((float *)v->data)[i] = (float)x;
        else if (v->dtype == QRN_DTYPE_F64)
            ((double *)v->data)[i] = x;
        else if (qrn_view_elem(v) == 1)
            ((uint8_t *)v->data)[i] = (uint8_t)random_u32();
        else
            ((uint16_t *)v->data)[i] = (uint16_t)random_u32();
    }
}

typedef struct trial {
    const qrn_family *family;
    const void *args;
    qrn_domain domain;
    qrn_view *in[3], out;
    uint32_t n_in;
    double relative; // tolerance; 0: the same bits
    double absolute;
} trial;

static void run_row(const qrn_kernel *row, const trial *t, uint32_t n_tasks) {
    qrn_view out = t->out, *outs[1] = {&out};
    qrn_kcall k = {.args = t->args, .in = t->in, .out = outs, .n_in = t->n_in, .n_out = 1};
    k.n_tasks = n_tasks;
    k.scratch = malloc(row->scratch ? row->scratch(&k) + 1 : 1);
    assert_non_null(k.scratch);
    for (k.task = 0; k.task < n_tasks; k.task++)
        assert_int_equal(row->fn(&k), QRN_OK);
    free(k.scratch);
}

static double real_at(const qrn_view *like, const void *data, size_t i) {
    qrn_view v = *like;
    v.data = (void *)(uintptr_t)data;
    return qrn_view_real(&v, i);
}

static void compare(const qrn_kernel *row, const trial *t, const void *want, const void *got) {
    size_t n = qrn_view_count(&t->out), size = qrn_view_elem(&t->out);
    for (size_t i = 0; i < n; i++) {
        if (memcmp((const char *)want + i * size, (const char *)got + i * size, size) == 0)
            continue;
        if (!qrn_dtype_is_float(t->out.dtype))
            fail_msg("%s: element %zu of %zu differs", row->name, i, n);
        double w = real_at(&t->out, want, i), g = real_at(&t->out, got, i);
        bool same = (isnan(w) && isnan(g)) || w == g; // NaN of any payload, zero of any sign
        if (!same && !(fabs(w - g) <= t->relative * fabs(w) + t->absolute))
            fail_msg("%s: element %zu of %zu is %.9g, expected %.9g", row->name, i, n, g, w);
    }
}

// Runs the reference once and every other row that fits, whole and in parts; returns how many.
static unsigned check_rows(trial *t) {
    const qrn_family *f = t->family;
    size_t bytes = qrn_view_count(&t->out) * qrn_view_elem(&t->out);
    void *want = malloc(bytes ? bytes : 1);
    assert_non_null(want);
    const qrn_kernel *ref = NULL;
    qrn_view *outs[1] = {&t->out};
    qrn_kcall k = {.args = t->args, .in = t->in, .out = outs, .n_in = t->n_in, .n_out = 1};
    k.n_tasks = 1;
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].domain == t->domain)
            ref = &f->rows[i];
    assert_non_null(ref);
    assert_int_equal(ref->needs, 0);
    run_row(ref, t, 1);
    memcpy(want, t->out.data, bytes);
    unsigned checked = 0;
    for (uint32_t i = 0; i < f->n_rows; i++) {
        const qrn_kernel *row = &f->rows[i];
        if (row == ref || qrn_kernel_rejection(row, t->domain, &k, qrn_cpu_isa()))
            continue;
        for (uint32_t n_tasks = 1; n_tasks <= 3; n_tasks += 2) {
            memset(t->out.data, 0xaa, bytes);
            run_row(row, t, n_tasks);
            compare(row, t, want, t->out.data);
        }
        checked++;
    }
    if (t->absolute < 1) // where results can be compared at all
        prove_call(f, t->domain, &k);
    free(want);
    return checked;
}

// Says what was compared; a machine without any vector row has nothing to compare.
static void report(unsigned checked) {
    print_message("%u comparisons with the reference\n", checked);
    if (qrn_cpu_isa() == 0)
        skip();
#if defined(__x86_64__) // elsewhere there is the reference alone
    assert_true(checked > 0);
#endif
}

static uint32_t random_shape(uint32_t *dims, uint32_t largest) {
    uint32_t rank = between(1, 4);
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = between(1, d + 1 == rank ? largest : 5);
    return rank;
}

// An operand that broadcasts to the shape: some leading dimensions gone, some dimensions 1.
static uint32_t broadcast_shape(const uint32_t *dims, uint32_t rank, uint32_t *to) {
    uint32_t drop = between(0, 2) ? 0 : between(0, rank);
    for (uint32_t d = drop; d < rank; d++)
        to[d - drop] = between(0, 3) ? dims[d] : 1;
    return rank - drop;
}

static const qrn_dtype formats[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, QRN_DTYPE_SQ16,
                                    QRN_DTYPE_F32, QRN_DTYPE_F64, QRN_DTYPE_F16};

static qrn_quant random_quant(void) {
    return (qrn_quant){.kind = QRN_QUANT_TENSOR,
                       .scale = (float)(random_real() + 4.01) / 32,
                       .offset = (int32_t)between(0, 300) - 150};
}

static void binary_rows_give_the_bits_of_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 600; round++) {
        qrn_binary_args args = {between(QRN_BINARY_ADD, QRN_BINARY_PRELU)};
        uint32_t dims[4], a_dims[4], b_dims[4]; // some rows are longer than a buffer
        uint32_t rank = random_shape(dims, round % 8 ? 90 : 1500);
        uint32_t a_rank = rank, b_rank = broadcast_shape(dims, rank, b_dims);
        memcpy(a_dims, dims, sizeof dims);
        qrn_domain domain =
            (qrn_domain[]){QRN_DOMAIN_F32, QRN_DOMAIN_F64, QRN_DOMAIN_RAW}[round % 3];
        qrn_quant quants[3] = {random_quant(), random_quant(), random_quant()};
        qrn_dtype types[3];
        for (int i = 0; i < 3; i++)
            types[i] = domain == QRN_DOMAIN_RAW   ? formats[between(0, 6)]
                       : domain == QRN_DOMAIN_F32 ? QRN_DTYPE_F32
                                                  : QRN_DTYPE_F64;
        qrn_view a = make(types[0], &quants[0], a_rank, a_dims);
        qrn_view b = make(types[1], &quants[1], b_rank, b_dims);
        fill(&a, round % 2);
        fill(&b, round % 2);
        bool swap = between(0, 1);
        trial t = {.family = &qrn_family_binary,
                   .args = &args,
                   .domain = domain,
                   .in = {swap ? &b : &a, swap ? &a : &b}};
        t.out = make(types[2], &quants[2], rank, dims);
        t.n_in = 2;
        checked += check_rows(&t);
        free(a.data);
        free(b.data);
        free(t.out.data);
    }
    report(checked);
}

static void conversion_rows_give_the_bits_of_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 400; round++) {
        uint32_t dims[4], rank = random_shape(dims, 700);
        qrn_quant quants[2] = {random_quant(), random_quant()};
        qrn_view x = make(formats[between(0, 6)], &quants[0], rank, dims);
        fill(&x, round % 2);
        trial t = {
            .family = &qrn_family_convert, .args = NULL, .domain = QRN_DOMAIN_RAW, .in = {&x}};
        t.out = make(formats[between(0, 6)], &quants[1], rank, dims);
        t.n_in = 1;
        checked += check_rows(&t);
        free(x.data);
        free(t.out.data);
    }
    report(checked);
}

// Numbers anywhere, in the middle between two quantized values and next to it, and odd ones.
static void quantization_rows_give_the_bits_of_the_reference(void **unused) {
    (void)unused;
    static const qrn_dtype fixed[] = {QRN_DTYPE_UQ8, QRN_DTYPE_SQ8, QRN_DTYPE_UQ16, QRN_DTYPE_SQ16};
    static const float scales[] = {1.0f, 0.25f, 0x1p-13f, 1.7e-4f, 3e-30f, 1e30f};
    unsigned checked = 0;
    for (int i = 0; i < 400; i++) {
        uint32_t n = between(1, 900);
        qrn_dtype dtype = fixed[between(0, 3)];
        qrn_quant quant = {.kind = QRN_QUANT_TENSOR, .scale = scales[between(0, 5)]};
        quant.offset = (int32_t)between(0, 300) - (between(0, 1) ? 32768 : 150);
        qrn_view x = make(QRN_DTYPE_F32, NULL, 1, &n);
        fill(&x, i % 3 == 0);
        float *at = x.data;
        for (uint32_t j = 0; j < n; j++) {
            float half = quant.scale * ((float)(int32_t)between(0, 140000) - 70000.5f);
            uint32_t what = i % 3 == 1 && between(0, 99) ? 3 : between(0, 5);
            at[j] = what == 0 ? half : what == 1 ? nextafterf(half, 0) : at[j];
            if (what == 2 || what == 3)
                at[j] = quant.scale * (float)(int32_t)between(0, 70000) * 0.37f;
        }
        trial t = {
            .family = &qrn_family_quantize, .args = NULL, .domain = QRN_DOMAIN_RAW, .in = {&x}};
        t.out = make(dtype, &quant, 1, &n);
        t.n_in = 1;
        checked += check_rows(&t);
        free(x.data);
        free(t.out.data);
    }
    report(checked);
}

// The relative error that fast_math.h allows a vector form in single precision; 0: there is none.
static double bound_of(uint32_t op) {
    switch (op) {
    case QRN_UNARY_ERF:
        return 1e-7;
    case QRN_UNARY_EXP:
    case QRN_UNARY_SIGMOID:
    case QRN_UNARY_TANH:
    case QRN_UNARY_ELU:
    case QRN_UNARY_ASIN:
    case QRN_UNARY_ACOS:
    case QRN_UNARY_ATAN:
        return 2e-7;
    case QRN_UNARY_SOFTPLUS:
        return 4e-7;
    case QRN_UNARY_SWISH:
        return 3e-7;
    case QRN_UNARY_GELU:
        return 1e-6;
    case QRN_UNARY_LOG:
    case QRN_UNARY_SIN:
    case QRN_UNARY_COS:
        return 0x1.01p-24; // rounded once, from double
    default:
        return 0;
    }
}

static void unary_rows_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 400; round++) {
        qrn_unary_args args = {.op = between(QRN_UNARY_ABS, QRN_UNARY_ACOS),
                               .alpha = 0.3f,
                               .beta = 0.7f,
                               .low = -1.5f,
                               .high = 2.0f,
                               .threshold = 3.0f};
        uint32_t dims[4], rank = random_shape(dims, 200);
        bool single = round % 2;
        qrn_dtype dtype = single ? QRN_DTYPE_F32 : QRN_DTYPE_F64;
        qrn_view x = make(dtype, NULL, rank, dims);
        fill(&x, round % 4 < 2);
        trial t = {.family = &qrn_family_unary,
                   .args = &args,
                   .domain = single ? QRN_DOMAIN_F32 : QRN_DOMAIN_F64,
                   .in = {&x}};
        t.out = make(dtype, NULL, rank, dims);
        t.n_in = 1;
        if (single && bound_of(args.op) > 0) {
            t.relative = bound_of(args.op) + 0x1p-23; // of the reference
            t.absolute = 1e-12;
        }
        checked += check_rows(&t);
        free(x.data);
        free(t.out.data);
    }
    report(checked);
}

// Relative error, where the result is an ordinary float.
static double error_of(uint32_t op, float got, double v) {
    double want = 0, z = 0.5 * v;
    switch (op) {
    case QRN_UNARY_EXP:
        want = exp(v);
        break;
    case QRN_UNARY_SIGMOID:
        want = 1 / (1 + exp(-v));
        break;
    case QRN_UNARY_SWISH:
        want = v / (1 + exp(-v));
        if (fabs(want) < 1e-36)
            return 0;
        break;
    case QRN_UNARY_TANH:
        want = tanh(v);
        break;
    case QRN_UNARY_ELU:
        want = v < 0 ? 0.5 * expm1(v) : v;
        break;
    case QRN_UNARY_SOFTPLUS:
        want = ((z > 0 ? z : 0) + log1p(exp(-fabs(z)))) / 0.5;
        break;
    case QRN_UNARY_LOG:
        want = log(v);
        break;
    case QRN_UNARY_SIN:
        want = sin(v);
        break;
    case QRN_UNARY_COS:
        want = cos(v);
        break;
    case QRN_UNARY_ASIN:
        want = asin(v);
        break;
    case QRN_UNARY_ACOS:
        want = acos(v);
        break;
    case QRN_UNARY_ATAN:
        want = atan(v);
        break;
    case QRN_UNARY_ERF:
        want = erf(v);
        break;
    default:
        want = 0.5 * v * erfc(-v / sqrt(2.0));
        if (fabs(want) < 1e-6)
            return 0;
    }
    if (isnan(want))
        return isnan(got) ? 0 : NAN;
    return fabs(want) < 1.2e-38 || fabs(want) > 3.4e38 ? 0 : fabs((double)got / want - 1);
}

// All floats in steps, through every row but the reference.
static void fast_forms_keep_their_stated_bounds(void **unused) {
    (void)unused;
    enum { N = 4096 };
    static float in[N], out[N];
    uint32_t dims[1] = {N};
    qrn_view x = {.data = in, .dtype = QRN_DTYPE_F32, .rank = 1, .dims = {dims[0]}}, y = x;
    y.data = out;
    qrn_view *ins[1] = {&x}, *outs[1] = {&y};
    qrn_unary_args args = {.alpha = 0.5f, .beta = 0.5f, .threshold = -1.0f};
    qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1, .n_tasks = 1};
    for (uint32_t r = 0; r < qrn_family_unary.n_rows; r++) {
        const qrn_kernel *row = &qrn_family_unary.rows[r];
        if (!row->needs || qrn_kernel_rejection(row, QRN_DOMAIN_F32, &k, qrn_cpu_isa()))
            continue;
        for (args.op = 0; args.op <= QRN_UNARY_ACOS; args.op++) {
            double worst = 0;
            for (uint64_t bits = 0; bound_of(args.op) > 0 && bits < 0xff800000u;) {
                for (size_t i = 0; i < N; i++, bits += 9973) {
                    uint32_t u = bits % 0x80000000u < 0x7f800000u ? (uint32_t)bits : 0;
                    memcpy(&in[i], &u, sizeof u);
                }
                assert_int_equal(row->fn(&k), QRN_OK);
                for (size_t i = 0; i < N; i++) {
                    double e = error_of(args.op, out[i], (double)in[i]);
                    if (args.op == QRN_UNARY_SIGMOID || args.op == QRN_UNARY_SWISH)
                        e -= 2e-8 * fabs((double)in[i]);
                    worst = e <= worst ? worst : e; // NaN is worst of all
                }
            }
            if (bound_of(args.op) > 0)
                print_message("%s: op %u is off by at most %.2g\n", row->name, args.op, worst);
            assert_true(worst <= bound_of(args.op));
        }
    }
}

// Zeros keep their sign, the limits are exact, the smallest numbers are rounded as erf is; of any
// number of elements.
static void erf_of_special_numbers(void **unused) {
    (void)unused;
    static const float numbers[] = {
        0.0f,     -0.0f,       INFINITY,    -INFINITY, NAN,    3e38f,          -3e38f,  4.0f,
        -4.0f,    3.99999976f, 1.0f,        -1.0f,     1e-45f, -1e-45f,        1e-40f,  -3e-39f,
        1.2e-38f, 0.99999994f, 1.00000012f, 3.8f,      -3.9f,  0x1.fffffep-1f, -1e-20f, 2.5f};
    enum { N = sizeof numbers / sizeof numbers[0] };
    float *in = malloc(sizeof numbers), *out = malloc(sizeof numbers);
    assert_true(in && out);
    memcpy(in, numbers, sizeof numbers);
    qrn_unary_args args = {.op = QRN_UNARY_ERF};
    for (uint32_t r = 0; r < qrn_family_unary.n_rows; r++)
        for (uint32_t n = 1; n <= N; n++) {
            // The last n, to the end of the memory.
            qrn_view x = {.data = in + N - n, .dtype = QRN_DTYPE_F32, .rank = 1, .dims = {n}};
            qrn_view y = x, *ins[1] = {&x}, *outs[1] = {&y};
            y.data = out + N - n;
            qrn_kcall k = {
                .args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1, .n_tasks = 1};
            const qrn_kernel *row = &qrn_family_unary.rows[r];
            if (qrn_kernel_rejection(row, QRN_DOMAIN_F32, &k, qrn_cpu_isa()))
                continue;
            assert_int_equal(row->fn(&k), QRN_OK);
            for (uint32_t i = N - n; i < N; i++) {
                double want = erf((double)numbers[i]), step = 1e-7 * fabs(want) + 0x1p-149;
                if (isnan(want)) {
                    assert_true(isnan(out[i]));
                    continue;
                }
                assert_int_equal(signbit(out[i]) != 0, signbit(want) != 0);
                assert_true(fabs(out[i]) <= 1.0f && fabs((double)out[i] - want) <= step);
                if (fabs(numbers[i]) >= 4.0f || numbers[i] == 0.0f)
                    assert_true(out[i] == (float)want);
            }
        }
    free(in);
    free(out);
}

// Also the same bits on every row: 16-bit results must not depend on the ISA.
static void sigmoid_in_double_is_exact_to_1e_14(void **unused) {
    (void)unused;
    enum { N = 4099 };
    static double in[N], out[N], first[N];
    qrn_view x = {.data = in, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {N}}, y = x;
    y.data = out;
    qrn_view *ins[1] = {&x}, *outs[1] = {&y};
    qrn_unary_args args = {.op = QRN_UNARY_SIGMOID};
    qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1, .n_tasks = 1};
    unsigned rows = 0;
    for (size_t i = 0; i < N; i++)
        in[i] = i < N_ODD ? odd_values[i] : random_real() * (i % 2 ? 4 : 170);
    for (uint32_t r = 0; r < qrn_family_unary.n_rows; r++) {
        const qrn_kernel *row = &qrn_family_unary.rows[r];
        if (qrn_kernel_rejection(row, QRN_DOMAIN_F64, &k, qrn_cpu_isa()))
            continue;
        assert_int_equal(row->fn(&k), QRN_OK);
        for (size_t i = 0; i < N; i++) {
            long double want = 1 / (1 + expl(-(long double)in[i]));
            if (isnan(in[i]) ? !isnan(out[i])
                             : fabsl(out[i] - want) > 1e-14L * want && fabs(out[i]) > 1e-300)
                fail_msg("%s: sigmoid(%.17g) is %.17g", row->name, in[i], out[i]);
        }
        if (rows++ == 0)
            memcpy(first, out, sizeof out);
        assert_memory_equal(first, out, sizeof out);
    }
    assert_true(rows >= 1);
}

static void reduction_rows_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 600; round++) {
        uint32_t dims[4], kept[4], n_kept = 0, rank = random_shape(dims, 150);
        qrn_reduce_args args = {between(QRN_REDUCE_SUM, QRN_REDUCE_SUM_SQUARE),
                                between(1, (1u << rank) - 1)};
        for (uint32_t d = 0; d < rank; d++)
            if (!(args.axes >> d & 1))
                kept[n_kept++] = dims[d];
        bool single = round % 2, odd = round % 4 < 2;
        qrn_dtype dtype = single ? QRN_DTYPE_F32 : QRN_DTYPE_F64;
        qrn_view x = make(dtype, NULL, rank, dims);
        fill(&x, odd && args.op != QRN_REDUCE_SUM_SQUARE);
        trial t = {.family = &qrn_family_reduce,
                   .args = &args,
                   .domain = single ? QRN_DOMAIN_F32 : QRN_DOMAIN_F64,
                   .in = {&x}};
        t.out = make(dtype, NULL, n_kept, kept);
        t.n_in = 1;
        t.relative = single ? 0x1p-23 : 1e-12;
        t.absolute = single ? 1e-5 : 1e-12;
        if (odd) // 3e38 - 3e38 leaves whatever the order left
            t.absolute = 1e25;
        if (args.op == QRN_REDUCE_MAX || args.op == QRN_REDUCE_MIN)
            t.relative = t.absolute = 0;
        checked += check_rows(&t);
        free(x.data);
        free(t.out.data);
    }
    report(checked);
}

// Moves floats to places where sums of squares are hard; returns their size there.
static double place(qrn_view *x, unsigned how) {
    static const double scales[] = {1, 1, 1e15, 1e-15, 1}, offsets[] = {0, 1000, 0, 0, -3e4};
    double scale = scales[how % 5], offset = offsets[how % 5];
    float *v = x->data;
    for (size_t i = 0; i < qrn_view_count(x); i++) {
        double jump = how % 7 == 0 && i % 37 < 16 ? 500 : 0; // the first are not like the others
        v[i] = (float)(((double)v[i] + jump) * scale + offset);
    }
    return scale * 100;
}

static void norm_rows_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 600; round++) {
        uint32_t dims[4], rank = random_shape(dims, 120), params[4];
        qrn_norm_args args = {.kind = between(QRN_NORM_MEAN_VARIANCE, QRN_NORM_L2),
                              .epsilon = 0.01f,
                              .per_channel = between(0, 1)};
        uint32_t first = between(0, rank - 1);
        for (uint32_t d = first; d < rank; d++) {
            params[args.n_axes] = dims[d];
            args.axes[args.n_axes++] = d;
        }
        if (args.per_channel && between(0, 1)) {
            args.group = between(2, 3);
            dims[rank - 1] = (dims[rank - 1] / args.group + 1) * args.group;
        } else if (args.per_channel && args.n_axes > 1 && between(0, 3)) {
            args.n_axes--; // every channel on its own
        }
        bool single = round % 2;
        qrn_dtype dtype = single ? QRN_DTYPE_F32 : QRN_DTYPE_F64;
        qrn_view x = make(dtype, NULL, rank, dims);
        qrn_view gamma = args.per_channel ? make(dtype, NULL, 1, &dims[rank - 1])
                                          : make(dtype, NULL, args.n_axes, params);
        qrn_view beta = make(dtype, NULL, gamma.rank, gamma.dims);
        fill(&x, false);
        double size = single ? place(&x, round / 2) : 1;
        fill(&gamma, false);
        fill(&beta, false);
        trial t = {.family = &qrn_family_norm,
                   .args = &args,
                   .domain = single ? QRN_DOMAIN_F32 : QRN_DOMAIN_F64,
                   .in = {&x}};
        t.in[1] = between(0, 3) ? &gamma : NULL;
        t.in[2] = between(0, 3) ? &beta : NULL;
        t.n_in = 3;
        t.out = make(dtype, NULL, rank, dims);
        t.relative = single ? 0x1p-23 : 1e-12;
        t.absolute = (single ? 1e-6 : 1e-11) * (args.kind == QRN_NORM_CENTER ? size : 1);
        checked += check_rows(&t);
        free(x.data);
        free(gamma.data);
        free(beta.data);
        free(t.out.data);
    }
    report(checked);
}

static void softmax_rows_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned checked = 0;
    for (unsigned round = 0; round < 300; round++) {
        uint32_t dims[4], rank = random_shape(dims, round % 8 ? 300 : 3000);
        qrn_softmax_args args = {.axis = between(0, 1) ? rank - 1 : between(0, rank - 1),
                                 .beta = between(0, 1) ? 1.0f : -2.5f};
        args.log = between(0, 1);
        if (rank < 4 && between(0, 3) == 0)
            dims[rank++] = 1; // behind the axis
        qrn_view x = make(QRN_DTYPE_F32, NULL, rank, dims);
        fill(&x, round % 4 == 0 && args.beta == 1.0f); // -2.5 * 3e38 is no float
        trial t = {
            .family = &qrn_family_softmax, .args = &args, .domain = QRN_DOMAIN_F32, .in = {&x}};
        t.out = make(QRN_DTYPE_F32, NULL, rank, dims);
        t.n_in = 1;
        t.relative = 1e-6;
        t.absolute = args.log ? 2e-6 : 1e-12;
        checked += check_rows(&t);
        free(x.data);
        free(t.out.data);
    }
    report(checked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(binary_rows_give_the_bits_of_the_reference, set_up),
        cmocka_unit_test_setup(conversion_rows_give_the_bits_of_the_reference, set_up),
        cmocka_unit_test_setup(quantization_rows_give_the_bits_of_the_reference, set_up),
        cmocka_unit_test_setup(unary_rows_agree_with_the_reference, set_up),
        cmocka_unit_test(fast_forms_keep_their_stated_bounds),
        cmocka_unit_test(erf_of_special_numbers),
        cmocka_unit_test_setup(sigmoid_in_double_is_exact_to_1e_14, set_up),
        cmocka_unit_test_setup(reduction_rows_agree_with_the_reference, set_up),
        cmocka_unit_test_setup(norm_rows_agree_with_the_reference, set_up),
        cmocka_unit_test_setup(softmax_rows_agree_with_the_reference, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
