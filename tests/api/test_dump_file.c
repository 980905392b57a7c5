// SPDX-License-Identifier: MIT
//
// Files of a dump: arrays of every type as NumPy reads them, byte for byte, and names.
#include "core/dump_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static int dir = -1;

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/quern-dump-XXXXXX");
    dir = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY) : -1;
    return dir < 0;
}

static int teardown(void **state) {
    (void)state;
    unlinkat(dir, "a.npy", 0);
    close(dir);
    return rmdir(folder);
}

// Writes a view and checks the file: descr and shape in the header, then `want`.
static void check(const qrn_view *v, const char *descr, const char *shape, const void *want,
                  size_t n) {
    unsigned char data[4096];
    char words[128];
    assert_true(qrn_dump_array(dir, "a.npy", v));
    int fd = openat(dir, "a.npy", O_RDONLY);
    ssize_t got = read(fd, data, sizeof data);
    close(fd);
    unlinkat(dir, "a.npy", 0);
    assert_true(got > 10 && memcmp(data, "\x93NUMPY\1\0", 8) == 0);
    size_t head = 10u + data[8] + 256u * data[9];
    assert_int_equal(head % 64, 0);
    assert_int_equal(data[head - 1], '\n');
    snprintf(words, sizeof words, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr,
             shape);
    assert_memory_equal(data + 10, words, strlen(words));
    assert_int_equal((size_t)got - head, n);
    if (n)
        assert_memory_equal(data + head, want, n);
}

static void every_type_has_its_name_in_numpy(void **state) {
    (void)state;
    static const struct {
        qrn_dtype type;
        const char *descr;
        size_t bytes;
    } rows[] = {
        {QRN_DTYPE_F32, "<f4", 4},  {QRN_DTYPE_F16, "<f2", 2},  {QRN_DTYPE_F64, "<f8", 8},
        {QRN_DTYPE_I8, "|i1", 1},   {QRN_DTYPE_I16, "<i2", 2},  {QRN_DTYPE_I32, "<i4", 4},
        {QRN_DTYPE_I64, "<i8", 8},  {QRN_DTYPE_U8, "|u1", 1},   {QRN_DTYPE_U16, "<u2", 2},
        {QRN_DTYPE_U32, "<u4", 4},  {QRN_DTYPE_U64, "<u8", 8},  {QRN_DTYPE_SQ8, "|i1", 1},
        {QRN_DTYPE_SQ16, "<i2", 2}, {QRN_DTYPE_SQ32, "<i4", 4}, {QRN_DTYPE_UQ8, "|u1", 1},
        {QRN_DTYPE_UQ16, "<u2", 2}, {QRN_DTYPE_UQ32, "<u4", 4}, {QRN_DTYPE_B8, "|u1", 1},
    };
    unsigned char bytes[48];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(37 * i + 11);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qrn_view v = {.data = bytes, .dtype = rows[i].type, .rank = 2, .dims = {2, 3}};
        check(&v, rows[i].descr, "2,3,", bytes, 6 * rows[i].bytes);
    }
}

static void types_that_numpy_lacks_are_widened(void **state) {
    (void)state;
    uint8_t nibbles[] = {0x1f, 0x87, 0x0e}; // low nibble first
    static const int8_t with_sign[] = {-1, 1, 7, -8, -2};
    static const uint8_t plain[] = {15, 1, 7, 8, 14};
    qrn_view v = {.data = nibbles, .dtype = QRN_DTYPE_SQ4, .rank = 1, .dims = {5}};
    check(&v, "|i1", "5,", with_sign, 5);
    v.dtype = QRN_DTYPE_UQ4;
    check(&v, "|u1", "5,", plain, 5);
    uint16_t brain[] = {0x3f80, 0xc040, 0x7f80};
    static const float wide[] = {1, -3, __builtin_inff()};
    qrn_view b = {.data = brain, .dtype = QRN_DTYPE_BF16, .rank = 1, .dims = {3}};
    check(&b, "<f4", "3,", wide, sizeof wide);
    uint8_t many[1500];
    int8_t codes[3000];
    for (int i = 0; i < 1500; i++) {
        many[i] = (uint8_t)(7 * i);
        codes[2 * i] = (int8_t)((many[i] & 15) ^ 8) - 8;
        codes[2 * i + 1] = (int8_t)((many[i] >> 4) ^ 8) - 8;
    }
    qrn_view long_one = {.data = many, .dtype = QRN_DTYPE_SQ4, .rank = 1, .dims = {2999}};
    check(&long_one, "|i1", "2999,", codes, 2999);
}

static void scalars_and_empty_arrays(void **state) {
    (void)state;
    float one = 1;
    qrn_view scalar = {.data = &one, .dtype = QRN_DTYPE_F32};
    check(&scalar, "<f4", "", &one, 4);
    qrn_view empty = {.data = &one, .dtype = QRN_DTYPE_F32, .rank = 3, .dims = {4, 0, 2}};
    check(&empty, "<f4", "4,0,2,", NULL, 0);
    qrn_view largest = {.data = &one, .dtype = QRN_DTYPE_F32, .rank = 8};
    for (int i = 0; i < 8; i++)
        largest.dims[i] = i ? UINT32_MAX : 0;
    check(&largest, "<f4",
          "0,4294967295,4294967295,4294967295,4294967295,4294967295,4294967295,4294967295,", NULL,
          0);
}

static void a_file_that_is_there_is_not_replaced(void **state) {
    (void)state;
    float x = 1;
    qrn_view v = {.data = &x, .dtype = QRN_DTYPE_F32};
    assert_true(qrn_dump_array(dir, "a.npy", &v));
    assert_false(qrn_dump_array(dir, "a.npy", &v));
}

static void names_are_safe_and_short(void **state) {
    (void)state;
    char out[QRN_DUMP_NAME_MAX], text[301];
    qrn_dump_name(out, 7, "layer.0/conv:1-a");
    assert_string_equal(out, "00007_layer.0_conv_1-a.npy");
    qrn_dump_name(out, 0, "..");
    assert_string_equal(out, "00000__..npy");
    qrn_dump_name(out, 1, "");
    assert_string_equal(out, "00001_.npy");
    memset(text, 'n', 300);
    text[300] = '\0';
    qrn_dump_name(out, UINT32_MAX, text);
    assert_true(strlen(out) < 100);
    for (int c = 1; c < 256; c++) {
        char one[2] = {(char)c, 0};
        qrn_dump_name(out, 0, one);
        assert_int_equal(strspn(out, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-."),
                         strlen(out));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_has_its_name_in_numpy, setup, teardown),
        cmocka_unit_test_setup_teardown(types_that_numpy_lacks_are_widened, setup, teardown),
        cmocka_unit_test_setup_teardown(scalars_and_empty_arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_is_not_replaced, setup, teardown),
        cmocka_unit_test(names_are_safe_and_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
