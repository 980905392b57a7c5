// SPDX-License-Identifier: MIT
//
// Readers of .npy, .npz, PNG and JPEG against files that are cut short or have a byte changed:
// whatever comes out is an array or an error, and no more memory is taken than the file deserves.
#include "tools/quern/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include <jpeglib.h>
#include <png.h>

typedef struct bytes {
    uint8_t data[8192];
    size_t n;
} bytes;

static int memory_file;
static char path[64]; // of the memory file

static void save(const bytes *b) {
    assert_int_equal(ftruncate(memory_file, 0), 0);
    assert_int_equal(pwrite(memory_file, b->data, b->n, 0), b->n);
}

static bool read_npy(const bytes *b) {
    qt_array a = {0};
    qrn_status s = qt_npy_parse("file", b->data, b->n, &a);
    qt_array_free(&a);
    return s == QRN_OK;
}

static bool read_npz(const bytes *b) {
    qt_npz z = {0};
    save(b);
    qrn_status s = qt_npz_read(path, &z);
    qt_npz_free(&z);
    return s == QRN_OK;
}

static bool read_picture(const bytes *b) {
    qt_picture p = {0};
    save(b);
    qrn_status s = qt_picture_read(path, 3, &p);
    free(p.pixels);
    return s == QRN_OK;
}

static void add(bytes *b, const void *data, size_t n) {
    assert_true(b->n + n <= sizeof b->data);
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void add_number(bytes *b, uint64_t v, size_t size) {
    for (size_t i = 0; i < size; i++)
        add(b, &(uint8_t){(uint8_t)(v >> (8 * i))}, 1);
}

static void make_npy(bytes *b, const char *header, size_t payload) {
    b->n = 0;
    add(b, "\x93NUMPY\x01\x00", 8);
    add_number(b, strlen(header), 2);
    add(b, header, strlen(header));
    for (size_t i = 0; i < payload; i++)
        add_number(b, i & 0xff, 1);
}

#define GOOD_HEADER "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }   \n"

// An archive with one deflated and one stored copy of a .npy file.
static void make_npz(bytes *b) {
    bytes npy, packed;
    make_npy(&npy, GOOD_HEADER, 96);
    z_stream s = {0};
    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    s.next_in = npy.data;
    s.avail_in = (uInt)npy.n;
    s.next_out = packed.data;
    s.avail_out = sizeof packed.data;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    packed.n = s.total_out;
    deflateEnd(&s);
    const bytes *parts[] = {&packed, &npy};
    uint32_t offsets[2], crc = (uint32_t)crc32(0, npy.data, (uInt)npy.n);
    b->n = 0;
    for (int i = 0; i < 2; i++) {
        offsets[i] = (uint32_t)b->n;
        add(b, "PK\3\4", 4);
        add_number(b, 20, 4); // version, flags
        add_number(b, i ? 0 : 8, 2);
        add_number(b, 0, 4);
        add_number(b, crc, 4);
        add_number(b, parts[i]->n, 4);
        add_number(b, npy.n, 4);
        add_number(b, 5, 4); // name, no extra field
        add(b, i ? "b.npy" : "a.npy", 5);
        add(b, parts[i]->data, parts[i]->n);
    }
    uint32_t directory = (uint32_t)b->n;
    for (int i = 0; i < 2; i++) {
        add(b, "PK\1\2", 4);
        add_number(b, 20, 2);
        add_number(b, 20, 4);
        add_number(b, i ? 0 : 8, 2);
        add_number(b, 0, 4);
        add_number(b, crc, 4);
        add_number(b, parts[i]->n, 4);
        add_number(b, npy.n, 4);
        add_number(b, 5, 2);
        add_number(b, 0, 8); // extra, comment, disk, attributes
        add_number(b, 0, 4);
        add_number(b, offsets[i], 4);
        add(b, i ? "b.npy" : "a.npy", 5);
    }
    uint32_t length = (uint32_t)b->n - directory;
    add(b, "PK\5\6", 4);
    add_number(b, 0, 4);
    add_number(b, 2, 2);
    add_number(b, 2, 2);
    add_number(b, length, 4);
    add_number(b, directory, 4);
    add_number(b, 0, 2);
}

static void make_png(bytes *b) {
    uint8_t pixels[9 * 7 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = 9, .height = 7, .format = PNG_FORMAT_RGB};
    png_alloc_size_t n = sizeof b->data;
    assert_int_not_equal(png_image_write_to_memory(&image, b->data, &n, 0, pixels, 0, NULL), 0);
    b->n = n;
}

static void make_jpeg(bytes *b) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long n = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &n);
    c.image_width = c.image_height = 24;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        uint8_t row[24 * 3];
        for (size_t i = 0; i < sizeof row; i++)
            row[i] = (uint8_t)(i * 5 + c.next_scanline * 11);
        JSAMPROW p = row;
        jpeg_write_scanlines(&c, &p, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    b->n = 0;
    add(b, out, n);
    free(out);
}

static long peak_kb(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

// The whole file is read; every proper beginning and most changes are not, and none does harm.
static void mistreat(const bytes *good, bool (*read)(const bytes *), bool every_cut_fails) {
    bytes b = *good;
    long before = peak_kb();
    assert_true(read(&b));
    for (b.n = 0; b.n < good->n; b.n++)
        assert_true(!read(&b) || !every_cut_fails);
    b = *good;
    uint32_t seed = 12345;
    for (int round = 0; round < 3000; round++) {
        for (int k = 0; k < (round % 2 ? 1 : 3); k++) {
            static const uint8_t hard[] = {0xff, 0x7f, 0x80, 0};
            seed = seed * 1664525u + 1013904223u;
            uint8_t *at = &b.data[(seed >> 8) % good->n];
            *at = round % 3 == 0 ? (uint8_t)(*at ^ 1u << (seed & 7)) : hard[(seed >> 4) % 4];
        }
        read(&b);
        b = *good;
    }
    // Sanitizers hold freed memory back for a while.
    assert_true(peak_kb() - before < 400 * 1024);
}

static void damaged_npy_files_do_no_harm(void **state) {
    (void)state;
    bytes b;
    make_npy(&b, GOOD_HEADER, 96);
    mistreat(&b, read_npy, true);
}

static void damaged_npz_files_do_no_harm(void **state) {
    (void)state;
    bytes b;
    make_npz(&b);
    mistreat(&b, read_npz, true);
}

static void damaged_png_files_do_no_harm(void **state) {
    (void)state;
    bytes b;
    make_png(&b);
    mistreat(&b, read_picture, false); // the last bytes of a PNG say nothing about pixels
}

static void damaged_jpeg_files_do_no_harm(void **state) {
    (void)state;
    bytes b;
    make_jpeg(&b);
    mistreat(&b, read_picture, true);
}

static void npy_headers_that_lie_are_refused(void **state) {
    (void)state;
    const struct {
        const char *header, *says;
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
         "needs more than"},
        {"{'descr': '<f8', 'fortran_order': True, 'shape': (4294967296, 4294967296, 2), }",
         "needs more than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
         "expected a dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "expected a dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
         "more than 8 dimensions"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "'|O' are not supported"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "not supported"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "records"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "True or False"},
        {"{'descr': '<f4', 'shape': (1,), }", "descr, fortran_order and shape"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "once"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}", "expected descr"},
        {"", "expected '{'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bytes b;
        qt_array a = {0};
        make_npy(&b, rows[i].header, 64);
        assert_int_not_equal(qt_npy_parse("f.npy", b.data, b.n, &a), QRN_OK);
        if (!strstr(qrn_message(), rows[i].says) || strncmp(qrn_message(), "f.npy: ", 7) != 0)
            fail_msg("%s: %s", rows[i].header, qrn_message());
        assert_null(a.data);
    }
}

static void npz_files_that_share_bytes_are_refused(void **state) {
    (void)state;
    bytes b;
    make_npz(&b);
    // The first entry of the directory comes again and again.
    size_t end = b.n - 22, directory = end - 2 * 51;
    bytes many = {.n = 0};
    add(&many, b.data, directory);
    for (int i = 0; i < 60; i++)
        add(&many, b.data + directory, 51);
    bytes tail = {.n = 0};
    add(&tail, b.data + end, 22);
    tail.data[8] = tail.data[10] = 60;
    add(&many, tail.data, 22);
    assert_false(read_npz(&many));
    assert_non_null(strstr(qrn_message(), "files overlap"));
}

static void values_pass_through_qnn_types(void **state) {
    (void)state;
    const uint64_t dims[] = {4};
    qt_array a = {0}, back = {0};
    assert_int_equal(qt_array_create("a", OX_I64, 1, dims, &a), QRN_OK);
    assert_int_equal(qt_array_create("b", OX_I64, 1, dims, &back), QRN_OK);
    const int64_t values[] = {-8, 7, -1, 3};
    const Qnn_DataType_t types[] = {QNN_DATATYPE_INT_64, QNN_DATATYPE_INT_32, QNN_DATATYPE_INT_8,
                                    QNN_DATATYPE_SFIXED_POINT_4};
    memcpy(a.data, values, sizeof values);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        uint64_t buffer[4] = {0};
        memset(back.data, 0x55, back.bytes);
        assert_int_equal(qt_to_qnn("t", &a, types[i], buffer), QRN_OK);
        assert_int_equal(qt_from_qnn("t", buffer, types[i], &back), QRN_OK);
        assert_memory_equal(back.data, values, sizeof values);
    }
    ((int64_t *)a.data)[2] = (int64_t)1 << 40;
    uint64_t buffer[4];
    assert_int_not_equal(qt_to_qnn("ids", &a, QNN_DATATYPE_INT_32, buffer), QRN_OK);
    assert_non_null(strstr(qrn_message(), "'ids': value 1099511627776 at index 2"));
    qt_array_free(&a);
    qt_array_free(&back);
}

static void casts_go_to_the_nearest_that_fits(void **state) {
    (void)state;
    const uint64_t dims[] = {5};
    qt_array a = {0}, b = {0};
    assert_int_equal(qt_array_create("a", OX_F64, 1, dims, &a), QRN_OK);
    memcpy(a.data, (const double[]){-1e30, -1.9, 300.5, 1e30, 200}, 5 * sizeof(double));
    assert_int_equal(qt_array_cast("a", &a, OX_U8, &b), QRN_OK);
    assert_memory_equal(b.data, ((const uint8_t[]){0, 0, 255, 255, 200}), 5);
    qt_array_free(&b);
    assert_int_equal(qt_array_cast("a", &a, OX_I32, &b), QRN_OK);
    assert_memory_equal(b.data, ((const int32_t[]){INT32_MIN, -1, 300, INT32_MAX, 200}), 20);
    qt_array_free(&b);
    qt_array_free(&a);
}

int main(void) {
    memory_file = memfd_create("file", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_npy_files_do_no_harm),
        cmocka_unit_test(damaged_npz_files_do_no_harm),
        cmocka_unit_test(damaged_png_files_do_no_harm),
        cmocka_unit_test(damaged_jpeg_files_do_no_harm),
        cmocka_unit_test(npy_headers_that_lie_are_refused),
        cmocka_unit_test(npz_files_that_share_bytes_are_refused),
        cmocka_unit_test(values_pass_through_qnn_types),
        cmocka_unit_test(casts_go_to_the_nearest_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
