// SPDX-License-Identifier: MIT
//
// Every row of the families that convert plain numbers, compare, choose and test, on random shapes
// with tails and broadcasting: proved against the reference row (to the bit, between guard pages,
// in pieces and tasks). Casts of floats and the choice of boxes are also held against a plain
// formula.
#include "base/cpu.h"
#include "base/fp16.h"
#include "base/fp16.h"
#include "kernels/convert.h"
#include "kernels/detect/candidates.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/choose.h"
#include "kernels/eltwise/rotate.h"
#include "kernels/eltwise/round_to.h"
#include "kernels/eltwise/unary.h"
#include "kernels/reduce/along.h"
#include "kernels/reduce/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

#include "../proof/prove_call.h"

static const double odd[] = {INFINITY, -INFINITY,  NAN,        0.0,         -0.0,   1e-40,
                             3e38,     -3e38,      127.9,      -128.9,      255.9,  -0.9,
                             65535.5,  2147483647, 1e10,       -1e10,       0x1p63, -0x1p63,
                             1e30,     0x1p31,     2147483520, 4294967040., 0.5,    0x1p32};
#define N_ODD (sizeof(odd) / sizeof(odd[0]))

static const qrn_dtype types[] = {
    QRN_DTYPE_B8,  QRN_DTYPE_U8,  QRN_DTYPE_I8,  QRN_DTYPE_U16,  QRN_DTYPE_I16,
    QRN_DTYPE_U32, QRN_DTYPE_I32, QRN_DTYPE_I64, QRN_DTYPE_U64,  QRN_DTYPE_F16,
    QRN_DTYPE_F32, QRN_DTYPE_F64, QRN_DTYPE_UQ8, QRN_DTYPE_SQ16,
};
#define N_TYPES (sizeof(types) / sizeof(types[0]))
static const qrn_quant quants[] = {{.kind = QRN_QUANT_TENSOR, .scale = 0.25f, .offset = -3},
                                   {.kind = QRN_QUANT_TENSOR, .scale = 0.5f, .offset = 7}};

static qrn_view make(qrn_dtype t, uint32_t rank, const uint32_t *dims) {
    qrn_view v = {.dtype = t,
                  .rank = rank,
                  .quant = qrn_dtype_is_fixed(t) ? &quants[t == QRN_DTYPE_UQ8] : NULL};
    memcpy(v.dims, dims, rank * sizeof *dims);
    size_t n = qrn_view_count(&v), elem = qrn_view_elem(&v);
    v.data = malloc(n * elem + 1);
    assert_non_null(v.data);
    for (size_t i = 0; i < n; i++) {
        double x = between(0, 3) ? ((double)random_u32() / 0x1p31 - 1) * (i % 2 ? 4 : 40000)
                                 : odd[between(0, N_ODD - 1)];
        uint64_t bits = (uint64_t)random_u32() << 32 | random_u32();
        uint16_t fp16 = qrn_f16_from_f64(x);
        float single = (float)x;
        bits = between(0, 2) ? bits : between(0, 1); // zeros and ones too
        const void *from = t == QRN_DTYPE_F32   ? (void *)&single
                           : t == QRN_DTYPE_F64 ? (void *)&x
                           : t == QRN_DTYPE_F16 ? (void *)&fp16
                                                : (void *)&bits;
        memcpy((char *)v.data + i * elem, from, elem);
    }
    return v;
}

// Proves the call and gives its memory back.
static void settle(const qrn_family *f, qrn_domain domain, const void *args, qrn_view *in,
                   uint32_t n_in, qrn_view *out) {
    qrn_view *ins[3] = {&in[0], &in[1], &in[2]}, *outs[1] = {out};
    qrn_kcall k = {.args = args, .in = ins, .out = outs, .n_in = n_in, .n_out = 1, .n_tasks = 1};
    prove_call(f, domain, &k);
    for (uint32_t i = 0; i < n_in; i++)
        free(in[i].data);
    free(out->data);
}

static void conversions_of_plain_numbers(void **unused) {
    (void)unused;
    for (size_t a = 0; a < N_TYPES; a++)
        for (size_t b = 0; b < N_TYPES; b++)
            for (int cast = 0; cast < 2; cast++) {
                uint32_t n = between(1, 700);
                qrn_view in[3] = {make(types[a], 1, &n)}, out = make(types[b], 1, &n);
                settle(cast ? &qrn_family_cast : &qrn_family_convert, QRN_DOMAIN_RAW, NULL, in, 1,
                       &out);
            }
}

// What convert.h says of a float, written another way.
static double whole(double x, double low, double high) {
    return isnan(x) ? 0 : fmin(fmax(trunc(x), low), high);
}

static void floats_are_cut_to_integers(void **unused) {
    (void)unused;
    for (uint32_t r = 0; r < qrn_family_cast.n_rows; r++) {
        uint32_t n = 333;
        qrn_view x = make(QRN_DTYPE_F32, 1, &n), y = make(QRN_DTYPE_I32, 1, &n);
        qrn_view z = make(QRN_DTYPE_U8, 1, &n), *in[] = {&x}, *out[] = {&y};
        qrn_kcall k = {.in = in, .out = out, .n_in = 1, .n_out = 1, .n_tasks = 1};
        const qrn_kernel *row = &qrn_family_cast.rows[r];
        if (!qrn_kernel_rejection(row, QRN_DOMAIN_RAW, &k, qrn_cpu_isa())) {
            assert_int_equal(row->fn(&k), QRN_OK);
            out[0] = &z;
            assert_int_equal(row->fn(&k), QRN_OK);
            for (uint32_t i = 0; i < n; i++) {
                double v = (double)((float *)x.data)[i];
                assert_int_equal(((int32_t *)y.data)[i], (int64_t)whole(v, INT32_MIN, INT32_MAX));
                assert_int_equal(((uint8_t *)z.data)[i], (int64_t)whole(v, 0, 255));
            }
        }
        free(x.data);
        free(y.data);
        free(z.data);
    }
}

static uint32_t shape(uint32_t *dims) {
    uint32_t rank = between(1, 4);
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = between(1, d + 1 == rank ? 90 : 4);
    return rank;
}

static qrn_view spread(qrn_dtype t, uint32_t rank, const uint32_t *dims) {
    uint32_t to[4], drop = between(0, 2) ? 0 : between(0, rank - 1);
    for (uint32_t d = drop; d < rank; d++)
        to[d - drop] = between(0, 3) ? dims[d] : 1;
    return make(t, rank - drop, to);
}

static void comparisons_and_logic(void **unused) {
    (void)unused;
    static const qrn_dtype of[] = {QRN_DTYPE_F32, QRN_DTYPE_F64, QRN_DTYPE_I64, QRN_DTYPE_I32,
                                   QRN_DTYPE_U32};
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t dims[4], rank = shape(dims), d = round % 6;
        bool logical = d == 5;
        qrn_binary_args args = {logical ? between(QRN_LOGICAL_AND, QRN_LOGICAL_NOT)
                                        : between(QRN_COMPARE_EQ, QRN_COMPARE_LE)};
        qrn_dtype t = logical ? QRN_DTYPE_B8 : of[d],
                  y = between(0, 1) ? QRN_DTYPE_B8 : QRN_DTYPE_I32;
        bool one = logical && args.op == QRN_LOGICAL_NOT;
        qrn_view in[3] = {one ? make(t, rank, dims) : spread(t, rank, dims)};
        if (!one)
            in[1] = spread(t, rank, dims);
        qrn_view out = make(logical ? QRN_DTYPE_B8 : y, rank, dims);
        settle(logical ? &qrn_family_logical : &qrn_family_compare,
               d >= 3 ? QRN_DOMAIN_RAW : (qrn_domain)d, &args, in, one ? 1 : 2, &out);
    }
}

static void choices(void **unused) {
    (void)unused;
    static const qrn_dtype of[] = {QRN_DTYPE_U8, QRN_DTYPE_F16, QRN_DTYPE_F32, QRN_DTYPE_I64};
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t dims[4], rank = shape(dims);
        qrn_dtype t = of[round % 4];
        qrn_dtype when = round % 8 < 4 ? QRN_DTYPE_B8 : QRN_DTYPE_I32;
        qrn_view in[3] = {spread(when, rank, dims), spread(t, rank, dims), spread(t, rank, dims)};
        qrn_view out = make(t, rank, dims);
        settle(&qrn_family_select, QRN_DOMAIN_RAW, NULL, in, 3, &out);
    }
}

static void tests_of_floats(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t n = between(1, 900);
        qrn_float_test_args args = {round & 1, round & 2, round & 4};
        qrn_view in[3] = {make(QRN_DTYPE_F32, 1, &n)}, out = make(QRN_DTYPE_B8, 1, &n);
        settle(&qrn_family_float_test, QRN_DOMAIN_F32, &args, in, 1, &out);
    }
}

static void integers(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 120; round++) {
        uint32_t dims[4], rank = shape(dims);
        qrn_binary_args args = {round % (QRN_BINARY_PRELU + 1)};
        qrn_view in[3] = {make(QRN_DTYPE_I64, rank, dims), spread(QRN_DTYPE_I64, rank, dims)};
        qrn_view out = make(QRN_DTYPE_I64, rank, dims);
        settle(&qrn_family_binary, QRN_DOMAIN_I64, &args, in, 2, &out);
    }
}

// What an op on 32-bit numbers gives, by wider arithmetic; they come with their sign, if they have
// one.
static int64_t word_result(uint32_t op, int64_t a, int64_t b, bool is_signed) {
    uint32_t count = (uint32_t)b;
    __int128 wide = a, other = b;
    switch (op) {
    case QRN_BINARY_ADD:
        return (int64_t)(wide + other);
    case QRN_BINARY_SUB:
        return (int64_t)(wide - other);
    case QRN_BINARY_MUL:
        return (int64_t)(uint64_t)(wide * other);
    case QRN_BINARY_DIV:
        return b ? a / b : 0;
    case QRN_BINARY_FLOOR_DIV:
        return b ? (int64_t)floor((double)a / (double)b) : 0;
    case QRN_BINARY_MAX:
        return a > b ? a : b;
    case QRN_BINARY_MIN:
        return a < b ? a : b;
    case QRN_BINARY_BIT_AND:
        return a & b;
    case QRN_BINARY_BIT_OR:
        return a | b;
    case QRN_BINARY_BIT_XOR:
        return a ^ b;
    case QRN_BINARY_SHIFT_LEFT:
        return count < 32 ? (int64_t)((uint64_t)a << count) : 0;
    default: // QRN_BINARY_SHIFT_RIGHT
        return count < 32 ? a >> count : is_signed && a < 0 ? -1 : 0;
    }
}

static void integers_of_32_bits(void **unused) {
    (void)unused;
    static const uint32_t ops[] = {
        QRN_BINARY_ADD,       QRN_BINARY_SUB,     QRN_BINARY_MUL,        QRN_BINARY_DIV,
        QRN_BINARY_FLOOR_DIV, QRN_BINARY_MAX,     QRN_BINARY_MIN,        QRN_BINARY_BIT_AND,
        QRN_BINARY_BIT_OR,    QRN_BINARY_BIT_XOR, QRN_BINARY_SHIFT_LEFT, QRN_BINARY_SHIFT_RIGHT};
    for (uint32_t round = 0; round < 2 * (QRN_BINARY_SHIFT_RIGHT + 1); round++) {
        uint32_t dims[4], rank = shape(dims), n = between(1, 300);
        qrn_dtype t = round % 2 ? QRN_DTYPE_I32 : QRN_DTYPE_U32;
        qrn_binary_args args = {round / 2};
        if (args.op > QRN_BINARY_PRELU && args.op < QRN_BINARY_BIT_AND)
            continue;
        qrn_view in[3] = {make(t, rank, dims), spread(t, rank, dims)}, out = make(t, rank, dims);
        settle(&qrn_family_binary, QRN_DOMAIN_RAW, &args, in, 2, &out);
        args.op = ops[round / 2 % (sizeof ops / sizeof ops[0])];
        qrn_view a = make(t, 1, &n), b = make(t, 1, &n), y = make(t, 1, &n);
        qrn_view *ins[] = {&a, &b}, *outs[] = {&y};
        for (uint32_t i = 0; i < n && args.op >= QRN_BINARY_SHIFT_LEFT; i += 2)
            ((uint32_t *)b.data)[i] %= 35;
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 2, .n_out = 1, .n_tasks = 1};
        assert_int_equal(
            qrn_kernel_select(&qrn_family_binary, QRN_DOMAIN_RAW, &k, qrn_cpu_isa())->fn(&k),
            QRN_OK);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t p = ((uint32_t *)a.data)[i], q = ((uint32_t *)b.data)[i];
            int64_t want = round % 2 ? word_result(args.op, (int32_t)p, (int32_t)q, true)
                                     : word_result(args.op, p, q, false);
            assert_int_equal(((uint32_t *)y.data)[i], (uint32_t)want);
        }
        free(a.data);
        free(b.data);
        free(y.data);
    }
}

static void quantization_rounds_ties_to_even(void **unused) {
    (void)unused;
    static const qrn_dtype of[] = {QRN_DTYPE_U8, QRN_DTYPE_I8, QRN_DTYPE_U16, QRN_DTYPE_I16};
    static const float limit[][2] = {{0, 255}, {-128, 127}, {0, 65535}, {-32768, 32767}};
    const uint32_t one = 1;
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t n = between(1, 900), t = round % 4;
        qrn_round_to_args args = {limit[t][0], limit[t][1]};
        qrn_view x = make(QRN_DTYPE_F32, 1, &n), y = make(of[t], 1, &n);
        qrn_view scale = make(QRN_DTYPE_F32, 1, &one), zero = make(QRN_DTYPE_F32, 1, &one);
        qrn_view *ins[] = {&x, &scale, round & 8 ? &zero : NULL}, *outs[] = {&y};
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 3, .n_out = 1, .n_tasks = 1};
        *(float *)scale.data = round & 4 ? 0.5f : 0.013f;
        *(float *)zero.data = (float)between(0, 127);
        for (uint32_t i = 0; i < n; i += 3)
            ((float *)x.data)[i] = (float)between(0, 400) / 4 - 50; // ties at a scale of 0.5
        prove_call(&qrn_family_round_to, QRN_DOMAIN_RAW, &k);
        const qrn_kernel *row =
            qrn_kernel_select(&qrn_family_round_to, QRN_DOMAIN_RAW, &k, qrn_cpu_isa());
        assert_int_equal(row->fn(&k), QRN_OK);
        for (uint32_t i = 0; i < n; i++) {
            float q = ((float *)x.data)[i] / *(float *)scale.data;
            double whole = nearbyint((double)q) + (round & 8 ? (double)*(float *)zero.data : 0);
            double low = (double)args.low, high = (double)args.high;
            double want = isnan(whole) ? 0 : whole < low ? low : whole > high ? high : whole;
            assert_int_equal(qrn_view_int(&y, i), (int64_t)want);
        }
        free(x.data);
        free(y.data);
        free(scale.data);
        free(zero.data);
    }
}

// The smallest and the largest of n numbers, with and without NaN and infinities.
static void extremes_of_all_elements(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t dims[] = {between(1, 7), between(1, 120)};
        qrn_view x = make(QRN_DTYPE_F32, 2, dims);
        size_t n = qrn_view_count(&x);
        float least, most, *v = x.data;
        qrn_view low = {.data = &least, .dtype = QRN_DTYPE_F32}, high = low;
        high.data = &most;
        qrn_view *ins[] = {&x}, *outs[] = {&low, &high};
        qrn_kcall k = {.in = ins, .out = outs, .n_in = 1, .n_out = 2, .n_tasks = 1};
        double min = INFINITY, max = -INFINITY;
        bool nan = false;
        for (size_t i = 0; i < n; i++) {
            if (v[i] == 0 || (round % 3 && isnan(v[i])))
                v[i] = 1; // zeros of either sign are equal
            nan |= isnan(v[i]);
            min = fmin(min, (double)v[i]);
            max = fmax(max, (double)v[i]);
        }
        prove_call(&qrn_family_extremes, QRN_DOMAIN_F32, &k);
        const qrn_kernel *row =
            qrn_kernel_select(&qrn_family_extremes, QRN_DOMAIN_F32, &k, qrn_cpu_isa());
        assert_int_equal(row->fn(&k), QRN_OK);
        assert_true(nan ? isnan(least) && isnan(most) : least == (float)min && most == (float)max);
        free(x.data);
    }
}

// What a rotation should give: sums and products in double, or with every step rounded to fp16.
static double turned(double a, double b, double c, double s, qrn_fp16_rule rule) {
    if (rule == QRN_FP16_OFF)
        return a * c + b * s;
    double first = qrn_fp16_round((double)((float)a * (float)c), rule);
    double second = qrn_fp16_round((double)((float)b * (float)s), rule);
    return qrn_fp16_round((double)((float)first + (float)second), rule);
}

static void check_rotation(const qrn_kcall *k, const qrn_kernel *row, uint32_t n, uint32_t cols) {
    const qrn_rotate_args *args = k->args;
    const float *x = k->in[0]->data, *cos = k->in[1]->data, *sin = k->in[2]->data;
    const float *y = k->out[0]->data;
    size_t angles = qrn_view_count(k->in[1]) / cols;
    assert_int_equal(row->fn(k), QRN_OK);
    for (size_t i = 0; i < qrn_view_count(k->in[0]); i++) {
        size_t in_row = i % (2 * n), r = i / (2 * n), pair = r * 2 * n + i % n;
        size_t at = r / args->inner % angles * cols + (cols == n ? i % n : in_row);
        double a = (double)x[pair], b = (double)x[pair + n];
        double c = (double)cos[at], s = (double)sin[at];
        double want = in_row < n ? turned(a, -b, c, s, (qrn_fp16_rule)args->rule)
                                 : turned(b, a, c, s, (qrn_fp16_rule)args->rule);
        double terms = fabs(a * c) + fabs(b * s) + fabs(a * s) + fabs(b * c);
        double limit = args->rule ? 0 : 0x1p-24 * (terms + fabs(want));
        bool same = (double)y[i] == want || (isnan(y[i]) && isnan(want)); // infinities as well
        assert_true(same || fabs((double)y[i] - want) <= limit);
    }
}

// Against double: two roundings of terms and one of the sum. With fp16 the same numbers.
static void rotation_is_that_of_pairs(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 80; round++) {
        uint32_t n = between(1, 70), inner = between(1, 4), angles = between(1, 9);
        uint32_t cols = n * between(1, 2);
        uint32_t x_dims[] = {between(1, 3), angles, inner, 2 * n}, dims[] = {angles, cols};
        qrn_rotate_args args = {inner, between(QRN_FP16_OFF, QRN_FP16_WIDE_RANGE)};
        qrn_view x = make(QRN_DTYPE_F32, 4, x_dims), y = make(QRN_DTYPE_F32, 4, x_dims);
        qrn_view cos = make(QRN_DTYPE_F32, 2, dims), sin = make(QRN_DTYPE_F32, 2, dims);
        qrn_view *ins[] = {&x, &cos, &sin}, *outs[] = {&y}, *all[] = {&x, &cos, &sin};
        double size = args.rule && round % 4 == 0 ? 500 : 1; // products beyond fp16
        for (uint32_t v = 0; v < 3; v++)                     // of NaN the sign is open
            for (size_t i = 0; i < qrn_view_count(all[v]); i++)
                ((float *)all[v]->data)[i] = (float)(((double)random_u32() / 0x1p31 - 1) * size);
        qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 3, .n_out = 1, .n_tasks = 1};
        prove_call(&qrn_family_rotate, QRN_DOMAIN_F32, &k);
        for (uint32_t i = 0; i < qrn_family_rotate.n_rows; i++)
            if (!qrn_kernel_rejection(&qrn_family_rotate.rows[i], QRN_DOMAIN_F32, &k,
                                      qrn_cpu_isa()))
                check_rotation(&k, &qrn_family_rotate.rows[i], n, cols);
        free(x.data);
        free(y.data);
        free(cos.data);
        free(sin.data);
    }
}

// Does x[a] come before x[b]? NaN is larger than every number.
static bool comes_first(const float *x, uint32_t a, uint32_t b, const qrn_topk_args *o) {
    double p = isnan(x[a]) ? INFINITY : (double)x[a], q = isnan(x[b]) ? INFINITY : (double)x[b];
    if (isnan(x[a]) != isnan(x[b]) && p == q) // infinity beside NaN
        return isnan(x[a]) ? !o->smallest : o->smallest;
    if (p != q)
        return (p > q) != o->smallest;
    return o->low_ties ? a < b : a > b;
}

static void first_elements_of_long_rows(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 24; round++) {
        uint32_t in_dims[] = {3, between(40, 500)}, out_dims[] = {3, between(1, 40)};
        qrn_topk_args args = {round & 1, round & 2};
        qrn_view x = make(QRN_DTYPE_F32, 2, in_dims), y = make(QRN_DTYPE_F32, 2, out_dims);
        qrn_view index = make(QRN_DTYPE_I32, 2, out_dims), *in[] = {&x}, *out[] = {&y, &index};
        for (uint32_t i = 0; i < 3 * in_dims[1] && round & 4; i++) // many equal ones
            ((float *)x.data)[i] = (float)between(0, 9);
        qrn_kcall k = {.args = &args, .in = in, .out = out, .n_in = 1, .n_out = 2, .n_tasks = 1};
        prove_call(&qrn_family_topk, QRN_DOMAIN_F32, &k);
        assert_int_equal(
            qrn_kernel_select(&qrn_family_topk, QRN_DOMAIN_F32, &k, qrn_cpu_isa())->fn(&k), QRN_OK);
        for (uint32_t i = 0; i < 3 * out_dims[1]; i++) {
            const float *row = (const float *)x.data + i / out_dims[1] * in_dims[1];
            uint32_t at = ((const uint32_t *)index.data)[i], before = 0;
            for (uint32_t j = 0; j < in_dims[1]; j++)
                before += j != at && comes_first(row, j, at, &args);
            assert_int_equal(before, i % out_dims[1]);
            assert_memory_equal((const float *)y.data + i, row + at, sizeof *row);
        }
        free(x.data);
        free(y.data);
        free(index.data);
    }
}

static void ops_along_an_axis(void **unused) {
    (void)unused;
    for (uint32_t round = 0; round < 120; round++) {
        uint32_t dims[4] = {between(1, 3), between(1, 150), between(1, 150)};
        uint32_t axis = between(0, 2), kept[4] = {dims[0], dims[1], dims[2]};
        qrn_arg_args arg = {axis, between(0, 1)};
        qrn_cumsum_args sum = {axis, between(0, 1), between(0, 1)};
        kept[axis] = 1;
        qrn_view in[3] = {make(QRN_DTYPE_F32, 3, dims)}, out = make(QRN_DTYPE_I32, 3, kept);
        float *x = in[0].data;
        for (size_t i = 0; i < qrn_view_count(&in[0]); i++) // with equal values; NaN in some rounds
            x[i] = isnan(x[i]) && round % 3 ? 0.5f : between(0, 1) ? x[i] : truncf(x[i] / 4);
        settle(&qrn_family_arg, QRN_DOMAIN_F32, &arg, in, 1, &out);
        in[0] = make(QRN_DTYPE_F32, 3, dims);
        for (size_t i = 0; i < qrn_view_count(&in[0]); i++)
            ((float *)in[0].data)[i] = (float)between(0, 1000) / 64 - 8;
        out = make(QRN_DTYPE_F32, 3, dims);
        settle(&qrn_family_cumsum, QRN_DOMAIN_F32, &sum, in, 1, &out);
    }
}

// Greedy suppression by its definition: the best of all that are left, over and over.
static size_t greedy(const qrn_nms *p, const qrn_candidate *c, size_t n, const qrn_box *boxes,
                     uint32_t *picks) {
    bool gone[600] = {0};
    size_t picked = 0;
    while (picked < p->most) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!gone[i] && (best == n || c[i].score > c[best].score ||
                             (c[i].score == c[best].score && c[i].order < c[best].order)))
                best = i;
        if (best == n)
            break;
        picks[picked++] = c[best].order;
        gone[best] = true;
        for (size_t i = 0; i < n; i++)
            if (qrn_box_iou(&boxes[c[best].box], &boxes[c[i].box]) > p->limit)
                gone[i] = true;
    }
    return picked;
}

static void boxes_are_picked_greedily(void **unused) {
    (void)unused;
    static qrn_box boxes[600];
    static qrn_candidate c[600];
    static uint32_t want[600];
    for (uint32_t round = 0; round < 60; round++) {
        uint32_t n = between(1, 600), spacing = between(1, 40);
        for (uint32_t i = 0; i < n; i++) {
            double y = between(0, 10 * spacing), x = between(0, 10 * spacing);
            boxes[i] = (qrn_box){{y, x, y + between(0, 20), x - 10 + between(0, 30)}};
            c[i] = (qrn_candidate){between(0, 50), i, i}; // with equal scores
        }
        qrn_nms p = {.method = QRN_NMS_ABOVE, .limit = 0.3, .most = between(1, 600)};
        size_t n_want = greedy(&p, c, n, boxes, want), got = qrn_nms_pick(&p, c, n, boxes);
        assert_int_equal(got, n_want);
        for (size_t i = 0; i < got; i++)
            assert_int_equal(c[i].order, want[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(conversions_of_plain_numbers, set_up),
        cmocka_unit_test_setup(floats_are_cut_to_integers, set_up),
        cmocka_unit_test_setup(comparisons_and_logic, set_up),
        cmocka_unit_test_setup(choices, set_up),
        cmocka_unit_test_setup(tests_of_floats, set_up),
        cmocka_unit_test_setup(integers, set_up),
        cmocka_unit_test_setup(integers_of_32_bits, set_up),
        cmocka_unit_test_setup(quantization_rounds_ties_to_even, set_up),
        cmocka_unit_test_setup(extremes_of_all_elements, set_up),
        cmocka_unit_test_setup(rotation_is_that_of_pairs, set_up),
        cmocka_unit_test_setup(first_elements_of_long_rows, set_up),
        cmocka_unit_test_setup(ops_along_an_axis, set_up),
        cmocka_unit_test_setup(boxes_are_picked_greedily, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
