// SPDX-License-Identifier: MIT
//
// The names of formats that are not ONNX, for the message about a file that cannot be read: by the
// bytes that such files begin with.
#include "frontend/onnx/reader/reader.h"

#include <stdio.h>
#include <string.h>

typedef struct signature {
    uint8_t at, n; // where the bytes are, and how many
    const char *bytes;
    const char *what;
} signature;

#define BYTES(text) sizeof(text) - 1, text

static const signature signatures[] = {
    {4, BYTES("TFL3"), "a .tflite model"},
    {4, BYTES("ORTM"), "an .ort model of ONNX Runtime; use the .onnx file that it was made from"},
    {4, BYTES("ET12"), "an ExecuTorch program (.pte)"},
    {0, BYTES("QUERNCTX"), "a context binary"},
    {30, BYTES("dlc.metadata"), "a DLC file"},
    {0, BYTES("\x89PNG"), "a PNG picture"},
    {0, BYTES("\xff\xd8\xff"), "a JPEG picture"},
    {0, BYTES("GIF8"), "a GIF picture"},
    {8, BYTES("WEBP"), "a WebP picture"},
    {0, BYTES("PK\3\4"),
     "a zip archive; export a PyTorch model (.pt, .pt2, .pth) with torch.onnx.export"},
    {0, BYTES("\x80\2"),
     "a Python pickle; export a PyTorch model (.pt, .pth) with torch.onnx.export"},
    {0, BYTES("\x80\4"),
     "a Python pickle; export a PyTorch model (.pt, .pth) with torch.onnx.export"},
    {0, BYTES("\x89HDF\r\n"), "an HDF5 file; convert a Keras model with tf2onnx"},
    {0, BYTES("GGUF"), "a GGUF file; 'quern import' converts it"},
    {0, BYTES("\x93NUMPY"), "a NumPy array"},
    {0,
     BYTES("\x7f"
           "ELF"),
     "a program or library"},
    {0, BYTES("\x1f\x8b"), "compressed by gzip; unpack it first"},
    {0, BYTES("version https://git-lfs"),
     "a pointer of Git LFS; fetch the file with 'git lfs "
     "pull'"},
    {0, BYTES("<!DOCTYPE"), "an HTML page"},
    {0, BYTES("<html"), "an HTML page"},
    {0, BYTES("<?xml"), "an XML file; use the ONNX model that an OpenVINO model was made from"},
    {8, BYTES("{\""), "a safetensors file: weights without a graph"},
};

static bool has(const uint8_t *data, size_t size, const signature *s) {
    return size >= (size_t)s->at + s->n && memcmp(data + s->at, s->bytes, s->n) == 0;
}

// All of the first bytes are printed: no ONNX model is like that, whose first fields are numbers.
static bool is_text(const uint8_t *data, size_t size) {
    size_t n = size < 64 ? size : 64;
    for (size_t i = 0; i < n; i++)
        if ((data[i] < ' ' || data[i] > '~') && !memchr("\t\n\r", data[i], 3))
            return false;
    return n > 0;
}

// Does an archive begin with a file of this ending? Its name stands behind 30 bytes.
static bool is_archive_of(const uint8_t *data, size_t size, const char *ending) {
    size_t n = strlen(ending), len = size >= 30 ? (size_t)(data[26] | data[27] << 8) : 0;
    return size >= 30 && memcmp(data, "PK\3\4", 4) == 0 && len >= n && size - 30 >= len &&
           memcmp(data + 30 + len - n, ending, n) == 0;
}

const char *ox_foreign_format(const void *data, size_t size) {
    const uint8_t *first = data;
    if (is_archive_of(data, size, ".npy"))
        return "a NumPy archive (.npz)";
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
        if (has(data, size, &signatures[i]))
            return signatures[i].what;
    if (!size || is_text(data, size))
        return size ? "a text file" : "an empty file";
    // Field 1 of an ONNX model is a number, that of a TensorFlow graph a message.
    return *first == 0x0a
               ? "a protobuf file of another kind; convert a TensorFlow graph (.pb) with "
                 "tf2onnx"
               : NULL;
}

qrn_status ox_fail_file(const char *path, qrn_status s, const void *data, size_t size) {
    char why[QRN_MESSAGE_MAX];
    const char *other = s == QRN_E_MEM ? NULL : ox_foreign_format(data, size);
    if (other)
        return QRN_FAIL(s, "%.500s: not an ONNX model but %s", path, other);
    snprintf(why, sizeof why, "%s", qrn_message());
    return QRN_FAIL(s, "%.500s: %s", path, why);
}
