// SPDX-License-Identifier: MIT
//
// The tiles of AMX, emulated (amx_emulated.h): what the emulation rejects, and the GEMMs over them
// against the reference, bit for bit. Buffers have exactly the right size, so that sanitizers see
// any overrun. The whole kernels run in test_gemm_q8_amx and test_matmul_q_amx, which are other
// tests built with the emulation. QUERN_TEST_SEED repeats a run.
#include "amx_emulated.h"

#include "kernels/gemm/tiles/gemm_planes.h"
#include "kernels/gemm/tiles/gemm_q8.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"

static jmp_buf faulted;
static const char *fault;

static void remember(const char *what) {
    fault = what;
    longjmp(faulted, 1);
}

// What `act` does is an exception with these words, and nothing else is.
#define FAULTS(words, act)                                                                         \
    do {                                                                                           \
        void (*before)(const char *) = amx_emulated_fault;                                         \
        amx_emulated_fault = remember;                                                             \
        fault = "nothing is rejected";                                                             \
        if (!setjmp(faulted))                                                                      \
            act;                                                                                   \
        amx_emulated_fault = before;                                                               \
        assert_string_equal(fault, words);                                                         \
    } while (0)

typedef struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration;

static const configuration whole = {.palette = 1,
                                    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                    .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

static void bad_configurations_are_rejected(void **unused) {
    (void)unused;
    configuration c = whole;
    c.palette = 2;
    FAULTS("the palette is neither 0 nor 1", _tile_loadconfig(&c));
    c = whole;
    c.reserved[3] = 1;
    FAULTS("reserved bytes of a configuration are not 0", _tile_loadconfig(&c));
    c = whole;
    c.start_row = 1;
    FAULTS("a configuration begins within a tile", _tile_loadconfig(&c));
    c = whole;
    c.rows[7] = 17;
    FAULTS("a tile has more than 16 rows", _tile_loadconfig(&c));
    c = whole;
    c.row_bytes[0] = 65;
    FAULTS("a tile has rows of more than 64 bytes", _tile_loadconfig(&c));
    c = whole;
    c.row_bytes[5] = 0;
    FAULTS("a tile has rows without bytes", _tile_loadconfig(&c));
    c = whole;
    c.rows[8] = 1;
    c.row_bytes[8] = 4;
    FAULTS("there are only 8 tiles to configure", _tile_loadconfig(&c));
}

static void tiles_that_are_not_configured_are_rejected(void **unused) {
    (void)unused;
    uint8_t data[1024] = {0};
    _tile_release();
    FAULTS("a tile is used, but none is configured", _tile_zero(0));
    FAULTS("a tile is used, but none is configured", _tile_loadd(0, data, 64));
    configuration c = whole, stored;
    c.rows[2] = c.row_bytes[2] = 0;
    _tile_loadconfig(&c);
    _tile_storeconfig(&stored);
    assert_memory_equal(&stored, &c, sizeof c);
    FAULTS("a tile is used that has no rows", _tile_loadd(2, data, 64));
    FAULTS("a tile is used that has no rows", _tile_stored(2, data, 64));
    FAULTS("a tile is used that has no rows", _tile_dpbusd(0, 1, 2));
    FAULTS("there are only 8 tiles", _tile_zero(8));
    _tile_release();
    assert_false(amx_emulated_is_configured());
    FAULTS("a tile is used, but none is configured", _tile_dpbusd(0, 1, 3));
}

static void products_of_other_shapes_are_rejected(void **unused) {
    (void)unused;
    configuration c = whole;
    c.rows[1] = 15;
    c.row_bytes[2] = 60;
    c.row_bytes[3] = 62;
    _tile_loadconfig(&c);
    FAULTS("two operands of a product are one tile", _tile_dpbusd(0, 4, 4));
    FAULTS("two operands of a product are one tile", _tile_dpbssd(4, 4, 5));
    FAULTS("rows of an operand of a product are no multiple of 4 bytes", _tile_dpbusd(0, 3, 5));
    FAULTS("a product has other rows than its first factor", _tile_dpbuud(0, 1, 4));
    FAULTS("a product has other columns than its second factor", _tile_dpbsud(0, 4, 2));
    FAULTS("the factors of a product differ in depth", _tile_dpbusd(0, 2, 4));
    _tile_release();
}

// Only the rows and bytes of a tile are read and written, and a configuration clears all tiles.
static void tiles_keep_to_their_configuration(void **unused) {
    (void)unused;
    configuration c = whole;
    c.rows[0] = 3;
    c.row_bytes[0] = 8;
    _tile_loadconfig(&c);
    uint8_t *data = malloc(2 * 100 + 8), to[3 * 64], zeros[3 * 64] = {0};
    assert_non_null(data);
    for (int i = 0; i < 2 * 100 + 8; i++)
        data[i] = (uint8_t)(i + 1);
    memset(to, 0xee, sizeof to);
    _tile_loadd(0, data, 100);
    _tile_stored(0, to, 64);
    for (int i = 0; i < 3 * 64; i++)
        assert_int_equal(to[i], i % 64 < 8 ? data[i / 64 * 100 + i % 64] : 0xee);
    _tile_loadconfig(&whole);
    c.rows[0] = 3;
    _tile_loadconfig(&c);
    _tile_stored(0, to, 8);
    assert_memory_equal(to, zeros, 3 * 8);
    _tile_release();
    free(data);
}

// One product of each kind of signs: 0x80 and 0xff are 128 and 255, or -128 and -1.
static void signs_are_those_of_the_instruction(void **unused) {
    (void)unused;
    configuration c = {.palette = 1, .row_bytes = {4, 4, 4, 4, 4, 4}, .rows = {1, 1, 1, 1, 1, 1}};
    const uint8_t a[4] = {0x80, 1, 2, 3}, b[4] = {0xff, 10, 20, 30};
    int32_t sums[4];
    _tile_loadconfig(&c);
    _tile_loadd(4, a, 4);
    _tile_loadd(5, b, 4);
    _tile_dpbuud(0, 4, 5);
    _tile_dpbusd(1, 4, 5);
    _tile_dpbsud(2, 4, 5);
    _tile_dpbssd(3, 4, 5);
    _tile_stored(0, sums, 4);
    _tile_stored(1, sums + 1, 4);
    _tile_stored(2, sums + 2, 4);
    _tile_stored(3, sums + 3, 4);
    _tile_release();
    assert_int_equal(sums[0], 128 * 255 + 140);
    assert_int_equal(sums[1], 128 * -1 + 140);
    assert_int_equal(sums[2], -128 * 255 + 140);
    assert_int_equal(sums[3], -128 * -1 + 140);
}

static void *bytes(size_t n) {
    uint8_t *data = malloc(n ? n : 1);
    assert_non_null(data);
    bool ends = between(0, 5) == 0; // nothing but the ends of the range
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)(ends ? random_u32() % 2 * 255 : random_u32());
    return data;
}

typedef struct shape {
    size_t rows, steps, cols;
    bool sums, terms; // results are sums; rows have terms
    bool largest;     // the largest products there are, all of one sign
} shape;

static void fail_at(const shape *s, const char *what, size_t i) {
    fail_msg("%s: %zu rows, %zu steps, %zu columns, sums %d, terms %d: element %zu", what, s->rows,
             s->steps, s->cols, s->sums, s->terms, i);
}

// Multipliers that spread results over their range; every third time powers of two, with which many
// results are ties.
static void multipliers(double *m, size_t depth, double range) {
    bool ties = between(0, 2) == 0;
    for (size_t c = 0; c < QRN_PANEL; c++) {
        double scale = range / (sqrt((double)depth) * 255 * 128);
        m[c] = ties ? exp2(floor(log2(scale))) : scale * (0.5 + between(0, 1000) / 500.0);
    }
}

static void check_tile(const shape *s) {
    size_t a_row = s->steps * 4 + between(0, 3) * 20, y_row = s->cols + between(0, 9);
    size_t a_bytes = (s->rows - 1) * a_row + s->steps * 4;
    size_t y_bytes = s->sums ? s->rows * 128 : (s->rows - 1) * y_row + s->cols;
    uint8_t *a = bytes(a_bytes), *b = bytes(s->steps * 128), *y = malloc(y_bytes),
            *want = malloc(y_bytes);
    assert_true(y && want);
    if (s->largest) {
        memset(a, 255, a_bytes);
        memset(b, 0x80, s->steps * 128);
    }
    int32_t column[QRN_PANEL], *row = malloc(s->rows * sizeof *row);
    for (size_t i = 0; i < QRN_PANEL; i++)
        column[i] = s->sums ? (int32_t)random_u32() : s->largest ? 0 : (int32_t)between(0, 9999);
    for (size_t i = 0; i < s->rows; i++)
        row[i] = s->sums ? (int32_t)random_u32() : -(int32_t)between(0, 9999);
    float m[QRN_PANEL];
    double exact[QRN_PANEL];
    multipliers(exact, s->steps * 4, 200);
    for (size_t i = 0; i < QRN_PANEL; i++)
        m[i] = (float)(exact[i] = s->largest ? 1e-7 : exact[i]);
    bool is_signed = between(0, 1);
    int32_t zero = (int32_t)between(0, 255) - (is_signed ? 128 : 0), cut = (int32_t)between(0, 1);
    qrn_requant8 requant = qrn_requant8_of(m, exact, zero + 0.5, (is_signed ? -128 : 0) + 3 * cut,
                                           (is_signed ? 127 : 255) - 9 * cut);
    qrn_requant8_widen(&requant, 0, QRN_PANEL, (int64_t)s->steps * 4 * 255 * 128 + 20000);
    qrn_gemm_q8_tile t = {.a = a,
                          .a_row = a_row,
                          .b = (const int8_t *)b,
                          .steps = s->steps,
                          .next = between(0, 1) * s->steps * 128,
                          .column = column,
                          .row = s->terms ? row : NULL,
                          .requant = &requant,
                          .rows = (uint32_t)s->rows,
                          .cols = (uint32_t)s->cols,
                          .y_row = y_row};
    memset(want, 0x5a, y_bytes);
    memset(y, 0x5a, y_bytes);
    t.y = want;
    t.acc = s->sums ? (int32_t *)(void *)want : NULL;
    qrn_gemm_q8_ref.tile(&t);
    t.y = y;
    t.acc = s->sums ? (int32_t *)(void *)y : NULL;
    qrn_gemm_q8_32x32_amx.enter();
    for (int i = between(1, 2); i > 0; i--)
        qrn_gemm_q8_32x32_amx.tile(&t);
    qrn_gemm_q8_32x32_amx.leave();
    for (size_t i = 0; i < y_bytes; i++)
        if (y[i] != want[i])
            fail_at(s, "gemm_q8", i);
    assert_false(amx_emulated_is_configured()); // tiles are released
    free(a);
    free(b);
    free(y);
    free(want);
    free(row);
}

static size_t some_steps(void) { return between(0, 3) ? between(14, 60) : between(1, 200); }

static void byte_gemms_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned long before = amx_emulated.products;
    for (size_t rows = 1; rows <= 100; rows++)
        for (int i = 0; i < 6; i++)
            check_tile(&(shape){.rows = rows,
                                .steps = some_steps(),
                                .cols = between(0, 1) ? QRN_PANEL : between(1, QRN_PANEL),
                                .sums = i % 3 == 0,
                                .terms = between(0, 1)});
    for (size_t steps = 16; steps <= 33; steps++) // every end of a depth
        for (size_t rows = 31; rows <= 34; rows++)
            check_tile(&(shape){.rows = rows, .steps = steps, .cols = QRN_PANEL - steps % 2});
    assert_true(amx_emulated.products > before);
}

// 255 * -128 so often that 32 bits just hold the sum.
static void the_largest_sums_fit(void **unused) {
    (void)unused;
    size_t depth = INT32_MAX / (255 * 128) / 4 * 4;
    check_tile(&(shape){.rows = 33, .steps = depth / 4, .cols = 31, .largest = true});
    check_tile(&(shape){.rows = 16, .steps = depth / 4, .cols = 32, .sums = true, .largest = true});
}

static void check_planes(const shape *s) {
    size_t depth = s->steps * 4, y_row = s->cols + between(0, 9);
    size_t y_size = (s->rows - 1) * y_row + s->cols;
    uint8_t *a = bytes(s->rows * 2 * depth), *b = bytes(s->steps * 128);
    uint16_t *y = malloc(y_size * 2), *want = malloc(y_size * 2);
    assert_true(y && want);
    if (s->largest) {
        memset(a, 255, s->rows * 2 * depth);
        memset(b, 0x80, s->steps * 128);
    }
    double add[QRN_PANEL], m[QRN_PANEL], start[QRN_PANEL];
    bool is_signed = between(0, 1), limited = between(0, 3) == 0;
    multipliers(m, depth, 200);
    int32_t add32[QRN_PANEL];
    bool fits32 = depth * UINT16_MAX * 128 < INT32_MAX - 9999 && between(0, 1);
    for (size_t i = 0; i < QRN_PANEL; i++) {
        add32[i] = (int32_t)between(0, 19998) - 9999;
        add[i] = fits32 ? add32[i] : (double)(int32_t)random_u32() * between(0, 1);
        m[i] = s->largest ? 1e-6 : m[i];
        start[i] = 0.5 + between(0, 30000);
    }
    const uint32_t starts[] = {0};
    const size_t parts[] = {0};
    qrn_planes_panel p = {.plane = {(const int8_t *)b},
                          .planes = 1,
                          .steps = s->steps,
                          .n_runs = 1,
                          .starts = starts,
                          .add = add,
                          .m = m,
                          .start = start,
                          .add32 = fits32 ? add32 : NULL,
                          .small = true};
    qrn_planes_rows r = {
        .a = a, .row_bytes = 2 * depth, .planes = 2, .n = s->rows, .n_parts = 1, .parts = parts};
    qrn_planes_out o = {.y = want, .elem = 2, .y_row = y_row, .cols = (uint32_t)s->cols};
    o.lo = (is_signed ? INT16_MIN : 0) + (limited ? 100 : 0);
    o.hi = (is_signed ? INT16_MAX : UINT16_MAX) - (limited ? 1000 : 0);
    memset(want, 0x5a, y_size * 2);
    memset(y, 0x5a, y_size * 2);
    qrn_planes_gemm(&qrn_planes_ref, &r, &p, &o);
    o.y = y;
    qrn_planes_amx.enter();
    for (int i = between(1, 2); i > 0; i--)
        qrn_planes_gemm(&qrn_planes_amx, &r, &p, &o);
    qrn_planes_amx.leave();
    for (size_t i = 0; i < y_size; i++)
        if (y[i] != want[i])
            fail_at(s, "gemm_planes", i);
    assert_false(amx_emulated_is_configured());
    free(a);
    free(b);
    free(y);
    free(want);
}

static void plane_gemms_agree_with_the_reference(void **unused) {
    (void)unused;
    unsigned long before = amx_emulated.products;
    for (size_t rows = 1; rows <= 100; rows++)
        for (int i = 0; i < 4; i++)
            check_planes(&(shape){.rows = rows,
                                  .steps = some_steps(),
                                  .cols = between(0, 1) ? QRN_PANEL : between(1, QRN_PANEL)});
    for (size_t steps = 16; steps <= 33; steps++)
        check_planes(&(shape){.rows = 17, .steps = steps, .cols = QRN_PANEL - steps % 2});
    assert_true(amx_emulated.products > before);
    check_planes(
        &(shape){.rows = 20, .steps = QRN_PLANES_DEPTH_MAX / 4, .cols = 31, .largest = true});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_configurations_are_rejected),
        cmocka_unit_test(tiles_that_are_not_configured_are_rejected),
        cmocka_unit_test(products_of_other_shapes_are_rejected),
        cmocka_unit_test(tiles_keep_to_their_configuration),
        cmocka_unit_test(signs_are_those_of_the_instruction),
        cmocka_unit_test(byte_gemms_agree_with_the_reference),
        cmocka_unit_test(the_largest_sums_fit),
        cmocka_unit_test(plane_gemms_agree_with_the_reference),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
