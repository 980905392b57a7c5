// SPDX-License-Identifier: MIT
//
// Statuses and their messages, the table of number formats, code ranges, equality of encodings.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <pthread.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/quant.h"
#include "base/status.h"

static void every_status_has_a_text_of_its_own(void **state) {
    (void)state;
    assert_int_equal(QRN_OK, QRN_E_OK);
    for (int a = 0; a < QRN_STATUS_COUNT; a++) {
        assert_true(strlen(qrn_status_text((qrn_status)a)) > 3);
        for (int b = 0; b < a; b++)
            assert_string_not_equal(qrn_status_text((qrn_status)a), qrn_status_text((qrn_status)b));
    }
    assert_string_equal(qrn_status_text(QRN_STATUS_COUNT), "unknown status");
}

static void a_failure_leaves_its_line(void **state) {
    (void)state;
    qrn_message_clear();
    assert_string_equal(qrn_message(), "");
    assert_int_equal(QRN_FAIL(QRN_E_SHAPE, "rank %d", 3), QRN_E_SHAPE);
    assert_string_equal(qrn_message(), "rank 3");
    QRN_FAIL(QRN_E_MEM, "outer: %s", qrn_message()); // the old line may be part of the new one
    assert_string_equal(qrn_message(), "outer: rank 3");
}

static void a_long_line_is_cut(void **state) {
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    QRN_FAIL(QRN_E_GENERAL, "%s", text);
    assert_int_equal(strlen(qrn_message()), QRN_MESSAGE_MAX - 1);
}

static void *fail_elsewhere(void *unused) {
    (void)unused;
    QRN_FAIL(QRN_E_GENERAL, "other thread");
    return NULL;
}

static void each_thread_has_its_own_line(void **state) {
    (void)state;
    pthread_t thread;
    QRN_FAIL(QRN_E_GENERAL, "this thread");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(qrn_message(), "this thread");
}

static qrn_status try_it(qrn_status s) {
    QRN_TRY(s);
    return QRN_E_GENERAL;
}

static void try_returns_on_failure_only(void **state) {
    (void)state;
    assert_int_equal(try_it(QRN_E_CYCLE), QRN_E_CYCLE);
    assert_int_equal(try_it(QRN_OK), QRN_E_GENERAL);
}

static void formats_have_the_codes_and_widths_of_the_api(void **state) {
    (void)state;
    static const struct {
        qrn_dtype type;
        uint32_t code;
        size_t bytes_of_7;
    } facts[] = {
        {QRN_DTYPE_I8, 0x0008, 7},    {QRN_DTYPE_I16, 0x0016, 14},  {QRN_DTYPE_I32, 0x0032, 28},
        {QRN_DTYPE_I64, 0x0064, 56},  {QRN_DTYPE_U8, 0x0108, 7},    {QRN_DTYPE_U16, 0x0116, 14},
        {QRN_DTYPE_U32, 0x0132, 28},  {QRN_DTYPE_U64, 0x0164, 56},  {QRN_DTYPE_F16, 0x0216, 14},
        {QRN_DTYPE_BF16, 0x0226, 14}, {QRN_DTYPE_F32, 0x0232, 28},  {QRN_DTYPE_F64, 0x0264, 56},
        {QRN_DTYPE_SQ4, 0x0304, 4},   {QRN_DTYPE_SQ8, 0x0308, 7},   {QRN_DTYPE_SQ16, 0x0316, 14},
        {QRN_DTYPE_SQ32, 0x0332, 28}, {QRN_DTYPE_UQ4, 0x0404, 4},   {QRN_DTYPE_UQ8, 0x0408, 7},
        {QRN_DTYPE_UQ16, 0x0416, 14}, {QRN_DTYPE_UQ32, 0x0432, 28}, {QRN_DTYPE_B8, 0x0508, 7},
        {QRN_DTYPE_STR, 0x0608, 7},
    };
    assert_int_equal(sizeof facts / sizeof facts[0], QRN_DTYPE_COUNT);
    for (size_t i = 0; i < QRN_DTYPE_COUNT; i++) {
        size_t bytes;
        assert_int_equal(qrn_dtype_from_code(facts[i].code), facts[i].type);
        assert_int_equal(qrn_dtypes[facts[i].type].code, facts[i].code);
        assert_true(qrn_dtype_bytes(facts[i].type, 7, &bytes));
        assert_int_equal(bytes, facts[i].bytes_of_7);
    }
    assert_int_equal(qrn_dtype_from_code(0x0199), QRN_DTYPE_COUNT);
    assert_int_equal(qrn_dtype_from_code(0x7fffffff), QRN_DTYPE_COUNT);
}

static void byte_counts_do_not_overflow(void **state) {
    (void)state;
    size_t bytes;
    assert_false(qrn_dtype_bytes(QRN_DTYPE_F32, SIZE_MAX / 2, &bytes));
    assert_true(qrn_dtype_bytes(QRN_DTYPE_UQ4, SIZE_MAX, &bytes));
    assert_true(bytes == SIZE_MAX / 2 + 1);
}

static void masks_print_as_tokens(void **state) {
    (void)state;
    char buf[64], tiny[7];
    assert_string_equal(qrn_dtype_mask_text(QRN_T(UQ8) | QRN_T(F32), buf, sizeof buf), "f32|uq8");
    assert_string_equal(qrn_dtype_mask_text(0, buf, sizeof buf), "");
    // Only whole tokens.
    assert_string_equal(qrn_dtype_mask_text(QRN_T(UQ8) | QRN_T(F32), tiny, sizeof tiny), "f32");
}

static void codes_have_the_range_of_their_bits(void **state) {
    (void)state;
    static const struct {
        qrn_dtype type;
        uint32_t bits;
        int64_t lo, hi;
    } facts[] = {
        {QRN_DTYPE_UQ8, 0, 0, 255},
        {QRN_DTYPE_SQ8, 0, -128, 127},
        {QRN_DTYPE_SQ8, 4, -8, 7},
        {QRN_DTYPE_UQ8, 4, 0, 15},
        {QRN_DTYPE_SQ8, 2, -2, 1},
        {QRN_DTYPE_SQ8, 1, -1, 0},
        {QRN_DTYPE_SQ4, 0, -8, 7},
        {QRN_DTYPE_SQ4, 8, -8, 7}, // never more than the container
        {QRN_DTYPE_UQ16, 0, 0, 65535},
        {QRN_DTYPE_SQ32, 0, INT32_MIN, INT32_MAX},
        {QRN_DTYPE_UQ32, 0, 0, UINT32_MAX},
        {QRN_DTYPE_I64, 0, INT64_MIN, INT64_MAX},
        {QRN_DTYPE_U64, 0, 0, INT64_MAX}, // as far as the result can say
        {QRN_DTYPE_B8, 0, 0, 1},
        {QRN_DTYPE_F32, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        int64_t lo, hi;
        qrn_quant_range(facts[i].type, facts[i].bits, &lo, &hi);
        assert_true(lo == facts[i].lo && hi == facts[i].hi);
    }
}

static void encodings_are_equal_when_codes_read_alike(void **state) {
    (void)state;
    static const float scales[3] = {1, 2, 3}, others[3] = {1, 2, 4}, zeros_f[3] = {0};
    static const int32_t zeros[3] = {0}, offsets[3] = {0, 0, 5};
    qrn_quant none = {0}, t = {.kind = QRN_QUANT_TENSOR, .bits = 8, .scale = 0.5f, .offset = -3};
    assert_true(qrn_quant_equal(NULL, &none));
    assert_true(qrn_quant_equal(&none, &none));
    assert_false(qrn_quant_equal(&none, &t));
    qrn_quant u = t;
    assert_true(qrn_quant_equal(&t, &u));
    u.offset = -4;
    assert_false(qrn_quant_equal(&t, &u));
    u = t;
    u.scale = 0.25f;
    assert_false(qrn_quant_equal(&t, &u));
    u = t;
    u.shift = 0.5f;
    assert_false(qrn_quant_equal(&t, &u));
    u = t;
    u.bits = 4;
    assert_false(qrn_quant_equal(&t, &u));

    qrn_quant a = {.kind = QRN_QUANT_AXIS, .bits = 8, .axis = 1, .scales = scales, .n_groups = 3};
    qrn_quant b = a;
    b.offsets = zeros; // the same as none
    b.real_offsets = zeros_f;
    assert_true(qrn_quant_equal(&a, &b));
    b.offsets = offsets;
    assert_false(qrn_quant_equal(&a, &b));
    b = a;
    b.scales = others;
    assert_false(qrn_quant_equal(&a, &b));
    b = a;
    b.axis = 0;
    assert_false(qrn_quant_equal(&a, &b));
    b = a;
    b.n_groups = 2;
    assert_false(qrn_quant_equal(&a, &b));

    a.kind = QRN_QUANT_BLOCK;
    a.block[0] = 4;
    b = a;
    b.axis = 0; // means nothing for blocks
    assert_true(qrn_quant_equal(&a, &b));
    b.block[0] = 2;
    assert_false(qrn_quant_equal(&a, &b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text_of_its_own),
        cmocka_unit_test(a_failure_leaves_its_line),
        cmocka_unit_test(a_long_line_is_cut),
        cmocka_unit_test(each_thread_has_its_own_line),
        cmocka_unit_test(try_returns_on_failure_only),
        cmocka_unit_test(formats_have_the_codes_and_widths_of_the_api),
        cmocka_unit_test(byte_counts_do_not_overflow),
        cmocka_unit_test(masks_print_as_tokens),
        cmocka_unit_test(codes_have_the_range_of_their_bits),
        cmocka_unit_test(encodings_are_equal_when_codes_read_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
