// SPDX-License-Identifier: MIT
//
// Pictures: decoding PNG and JPEG into bytes. Damaged files are refused, not half-decoded, and a
// picture that claims more pixels than its bytes can hold is refused before memory is taken.
#include "tools/quern/files.h"

#include "base/file.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jpeglib.h>

// Neither format gets more pixels than this out of a byte: deflate reaches 1032 bytes a byte, and a
// JPEG block of 64 pixels takes at least one bit.
#define PIXELS_PER_BYTE 1100
#define SMALL_PICTURE 65536 // pixels that are always allowed

bool qt_is_picture(const char *path) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t len = strlen(endings[i]);
        if (n > len && strcasecmp(path + n - len, endings[i]) == 0)
            return true;
    }
    return false;
}

static qrn_status make_room(const char *path, size_t file_bytes, uint64_t width, uint64_t height,
                            uint32_t channels, qt_picture *p) {
    if (!width || !height)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: the picture is empty", path);
    uint64_t pixels = width * height; // both fit 32 bits
    if (pixels > SMALL_PICTURE && pixels / PIXELS_PER_BYTE > file_bytes)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%s: %llu x %llu pixels cannot come from a file of %zu bytes", path,
                        (unsigned long long)width, (unsigned long long)height, file_bytes);
    *p = (qt_picture){(uint32_t)height, (uint32_t)width, channels, NULL};
    p->pixels = malloc((size_t)pixels * channels);
    return p->pixels ? QRN_OK : QRN_FAIL(QRN_E_MEM, "%s: out of memory for the picture", path);
}

// The decoders have words only: no memory is no fault of the file.
static qrn_status damaged(const char *path, const char *kind, const char *why) {
    if (strcasestr(why, "memory"))
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory for the picture", path);
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: damaged %s: %s", path, kind, why);
}

static qrn_status read_png(const char *path, const qrn_file *f, uint32_t channels,
                           qt_picture *out) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, f->data, f->size))
        return damaged(path, "PNG", image.message);
    image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    qt_picture p = {0};
    qrn_status s = make_room(path, f->size, image.width, image.height, channels, &p);
    const png_color black = {0, 0, 0};
    if (s == QRN_OK &&
        (!png_image_finish_read(&image, &black, p.pixels, 0, NULL) || PNG_IMAGE_FAILED(image)))
        s = damaged(path, "PNG", image.message);
    png_image_free(&image);
    if (s != QRN_OK) {
        free(p.pixels);
        return s;
    }
    *out = p;
    return QRN_OK;
}

// libjpeg reports errors through a callback that must not return.
typedef struct jpeg_errors {
    struct jpeg_error_mgr base;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
} jpeg_errors;

static void jpeg_failed(j_common_ptr cinfo) {
    jpeg_errors *e = (jpeg_errors *)cinfo->err;
    cinfo->err->format_message(cinfo, e->text);
    longjmp(e->back, 1);
}

// Warnings of libjpeg are damage too: it would fill the missing part with grey.
static void jpeg_warned(j_common_ptr cinfo, int level) {
    if (level < 0)
        jpeg_failed(cinfo);
}

// What changes between setjmp and longjmp lives in *p, which the caller owns.
static qrn_status decode_jpeg(const char *path, const qrn_file *f, uint32_t channels,
                              qt_picture *p) {
    struct jpeg_decompress_struct c;
    jpeg_errors errors;
    c.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = jpeg_failed;
    errors.base.emit_message = jpeg_warned;
    if (setjmp(errors.back)) {
        jpeg_destroy_decompress(&c);
        return damaged(path, "JPEG", errors.text);
    }
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, f->data, (unsigned long)f->size);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    qrn_status s = make_room(path, f->size, c.image_width, c.image_height, channels, p);
    if (s == QRN_OK) {
        jpeg_start_decompress(&c);
        while (c.output_scanline < c.output_height) {
            JSAMPROW row = p->pixels + (size_t)c.output_scanline * p->width * channels;
            jpeg_read_scanlines(&c, &row, 1);
        }
        jpeg_finish_decompress(&c);
    }
    jpeg_destroy_decompress(&c);
    return s;
}

qrn_status qt_picture_read(const char *path, uint32_t channels, qt_picture *out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s;
    qt_picture p = {0};
    if (f.size >= 8 && memcmp(f.data, "\x89PNG\r\n\x1a\n", 8) == 0)
        s = read_png(path, &f, channels, &p);
    else if (f.size >= 3 && memcmp(f.data, "\xff\xd8\xff", 3) == 0)
        s = decode_jpeg(path, &f, channels, &p);
    else
        s = qt_not_a(path, "a PNG or JPEG picture", f.data, f.size);
    qrn_file_unmap(&f);
    if (s != QRN_OK) {
        free(p.pixels);
        return s;
    }
    *out = p;
    return QRN_OK;
}
