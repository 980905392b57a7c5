// SPDX-License-Identifier: MIT
//
// Half precision and bfloat16 against the compiler's own _Float16 and against bit arithmetic.
#include "base/fp16.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 42;
static uint64_t next_random(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 11 ^ seed << 7;
}

static uint16_t bits_of(_Float16 h) {
    uint16_t u;
    memcpy(&u, &h, sizeof u);
    return u;
}

static void every_fp16_reads_as_the_compiler_reads_it(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t u = (uint16_t)i;
        _Float16 h;
        memcpy(&h, &u, sizeof h);
        float want = (float)h, got = qrn_f16_to_f32(u);
        if (isnan(want))
            assert_true(isnan(got));
        else
            assert_memory_equal(&want, &got, sizeof want);
    }
}

static void doubles_round_once_to_fp16(void **state) {
    (void)state;
    for (int i = 0; i < 2000000; i++) {
        double x = ldexp((double)(int64_t)next_random(), (int)(next_random() % 60) - 100);
        if (i < 65536) { // neighbourhoods of the midpoints between halves
            double a = (double)qrn_f16_to_f32((uint16_t)i),
                   b = (double)qrn_f16_to_f32((uint16_t)(i + 1));
            if (!isfinite(a) || !isfinite(b))
                continue;
            x = (a + b) / 2 * (1 + ((i & 3) - 1) * 0x1p-40);
        }
        assert_int_equal(qrn_f16_from_f64(x), bits_of((_Float16)x));
    }
    assert_int_equal(qrn_f16_from_f64(65519.99), 0x7bff);
    assert_int_equal(qrn_f16_from_f64(65520.0), 0x7c00);
    assert_int_equal(qrn_f16_from_f64(-INFINITY), 0xfc00);
    assert_int_equal(qrn_f16_from_f64(-0.0), 0x8000);
    assert_true(isnan(qrn_f16_to_f32(qrn_f16_from_f64(NAN))));
    assert_int_equal(qrn_f16_from_f64(1e300), 0x7c00);
    assert_int_equal(qrn_f16_from_f64(0x1p-25), 0);
    assert_int_equal(qrn_f16_from_f64(0x1.0000001p-25), 1);
}

// The neighbour of x among bfloat16 values that is nearest, ties to the even pattern.
static uint16_t nearest_bf16(double x) {
    float f = (float)fabs(x);
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    uint32_t lo = u >> 16;
    if (lo && (double)qrn_bf16_to_f32((uint16_t)lo) > fabs(x))
        lo--;
    double a = (double)qrn_bf16_to_f32((uint16_t)lo),
           b = (double)qrn_bf16_to_f32((uint16_t)(lo + 1));
    uint32_t best =
        fabs(x) - a < b - fabs(x) || (fabs(x) - a == b - fabs(x) && lo % 2 == 0) ? lo : lo + 1;
    return (uint16_t)(best | (signbit(x) ? 0x8000u : 0));
}

static void doubles_round_once_to_bfloat16(void **state) {
    (void)state;
    for (int i = 0; i < 500000; i++) {
        double x = ldexp((double)(int64_t)next_random(), (int)(next_random() % 200) - 160);
        assert_int_equal(qrn_bf16_from_f64(x), nearest_bf16(x));
    }
    assert_int_equal(qrn_bf16_from_f64(1.0 + 0x1p-8), 0x3f80); // tie to even
    assert_int_equal(qrn_bf16_from_f64(1.0 + 0x1.8p-7), 0x3f82);
    assert_int_equal(qrn_bf16_from_f64(INFINITY), 0x7f80);
    assert_int_equal(qrn_bf16_from_f64(-1e300), 0xff80);
    assert_true(isnan(qrn_bf16_to_f32(qrn_bf16_from_f64(NAN))));
}

// The largest number of the wide range is 2047 * 64; its last places are those of twice the fp16.
static double wide_of(double x) {
    if (isnan(x))
        return 131008;
    double h = fabs(x) < 32768 ? (double)(_Float16)x : 2 * (double)(_Float16)(x / 2);
    return fabs(h) > 131008 ? copysign(131008, h) : h;
}

static void check_halves(double x) {
    double h = (double)(_Float16)x, clamped = isinf(h) ? copysign(65504, h) : h;
    double got[3] = {qrn_fp16_round(x, QRN_FP16_IEEE), qrn_fp16_round(x, QRN_FP16_CLAMP),
                     qrn_fp16_round(x, QRN_FP16_WIDE_RANGE)};
    double want[3] = {h, clamped, wide_of(x)};
    for (int i = 0; i < 3; i++) {
        if (isnan(want[i])) {
            assert_true(isnan(got[i]));
            continue;
        }
        assert_memory_equal(&got[i], &want[i], sizeof want[i]);
        float narrow = (float)got[i];
        assert_true(qrn_fp16_value(qrn_fp16_bits(narrow), i == 2) == narrow);
    }
    if (!isnan(h))
        assert_int_equal(qrn_fp16_bits((float)h), bits_of((_Float16)x));
}

static void htp_prc_07_numbers_round_to_each_kind_of_fp16(void **state) {
    (void)state;
    static const double edges[] = {0.0,     -0.0,    65504,   65519.9,  65520,    65536,
                                   65568,   -65568,  131007,  131008,   131039,   131040,
                                   131072,  262144,  -262144, INFINITY, 1e300,    NAN,
                                   0x1p-24, 0x1p-25, 0x3p-26, 0x1p-14,  -INFINITY};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        check_halves(edges[i]);
    for (int i = 0; i < 500000; i++)
        check_halves(ldexp((double)(int64_t)next_random(), (int)(next_random() % 48) - 93));
    for (uint32_t i = 0; i < 0x7c00; i++) { // next to and on the midpoints
        double a = (double)qrn_f16_to_f32((uint16_t)i);
        double b = i == 0x7bff ? 65536 : (double)qrn_f16_to_f32((uint16_t)(i + 1));
        check_halves((a + b) / 2);
        check_halves(-(a + b) / 2 * (1 + 0x1p-40));
        check_halves((a + b) / 2 * (1 - 0x1p-40));
    }
    for (uint32_t i = 0x7c00; i < 0x8000; i++) // the binade that IEEE halves lack
        assert_true((double)qrn_fp16_value((uint16_t)i, true) == 65536 + 64.0 * (i - 0x7c00));
    assert_true(qrn_fp16_round(0.1, QRN_FP16_OFF) == 0.1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fp16_reads_as_the_compiler_reads_it),
        cmocka_unit_test(doubles_round_once_to_fp16),
        cmocka_unit_test(htp_prc_07_numbers_round_to_each_kind_of_fp16),
        cmocka_unit_test(doubles_round_once_to_bfloat16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
