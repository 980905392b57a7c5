// SPDX-License-Identifier: MIT
//
// Number formats of buffer elements: one table row per type. A type's index is used in masks.
#ifndef QRN_BASE_DTYPE_H
#define QRN_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(NAME, token, code in the public API, bits, class)
#define QRN_DTYPE_LIST(X)                                                                          \
    X(F32, "f32", 0x0232, 32, FLOAT)                                                               \
    X(F16, "f16", 0x0216, 16, FLOAT)                                                               \
    X(BF16, "bf16", 0x0226, 16, FLOAT)                                                             \
    X(F64, "f64", 0x0264, 64, FLOAT)                                                               \
    X(I8, "i8", 0x0008, 8, SINT)                                                                   \
    X(I16, "i16", 0x0016, 16, SINT)                                                                \
    X(I32, "i32", 0x0032, 32, SINT)                                                                \
    X(I64, "i64", 0x0064, 64, SINT)                                                                \
    X(U8, "u8", 0x0108, 8, UINT)                                                                   \
    X(U16, "u16", 0x0116, 16, UINT)                                                                \
    X(U32, "u32", 0x0132, 32, UINT)                                                                \
    X(U64, "u64", 0x0164, 64, UINT)                                                                \
    X(SQ4, "sq4", 0x0304, 4, SFIXED)                                                               \
    X(SQ8, "sq8", 0x0308, 8, SFIXED)                                                               \
    X(SQ16, "sq16", 0x0316, 16, SFIXED)                                                            \
    X(SQ32, "sq32", 0x0332, 32, SFIXED)                                                            \
    X(UQ4, "uq4", 0x0404, 4, UFIXED)                                                               \
    X(UQ8, "uq8", 0x0408, 8, UFIXED)                                                               \
    X(UQ16, "uq16", 0x0416, 16, UFIXED)                                                            \
    X(UQ32, "uq32", 0x0432, 32, UFIXED)                                                            \
    X(B8, "b8", 0x0508, 8, BOOL)                                                                   \
    X(STR, "str", 0x0608, 8, STRING)

typedef enum qrn_dtype {
#define X(name, token, code, bits, cls) QRN_DTYPE_##name,
    QRN_DTYPE_LIST(X)
#undef X
        QRN_DTYPE_COUNT
} qrn_dtype;

typedef enum qrn_dtype_class {
    QRN_CLASS_FLOAT,
    QRN_CLASS_SINT,
    QRN_CLASS_UINT,
    QRN_CLASS_SFIXED, // quantized, signed
    QRN_CLASS_UFIXED, // quantized, unsigned
    QRN_CLASS_BOOL,
    QRN_CLASS_STRING
} qrn_dtype_class;

typedef struct qrn_dtype_info {
    const char *token; // "uq8"
    uint32_t code;     // value in the public API
    uint8_t bits;      // storage bits of one element (4-bit types are packed, low nibble first)
    uint8_t cls;       // qrn_dtype_class
} qrn_dtype_info;

extern const qrn_dtype_info qrn_dtypes[QRN_DTYPE_COUNT];

typedef uint32_t qrn_dtype_mask;
#define QRN_T(name) ((qrn_dtype_mask)1 << QRN_DTYPE_##name)

// QRN_DTYPE_COUNT when the code is unknown.
qrn_dtype qrn_dtype_from_code(uint32_t code);

static inline bool qrn_dtype_is_fixed(qrn_dtype t) {
    return qrn_dtypes[t].cls == QRN_CLASS_SFIXED || qrn_dtypes[t].cls == QRN_CLASS_UFIXED;
}
static inline bool qrn_dtype_is_float(qrn_dtype t) { return qrn_dtypes[t].cls == QRN_CLASS_FLOAT; }
// Plain integers and bool: no encoding, exact in 64 bits.
static inline bool qrn_dtype_is_int(qrn_dtype t) {
    uint8_t c = qrn_dtypes[t].cls;
    return c == QRN_CLASS_SINT || c == QRN_CLASS_UINT || c == QRN_CLASS_BOOL;
}

// Writes the tokens of a mask, "f32|uq8", into buf (always terminated); returns buf.
const char *qrn_dtype_mask_text(qrn_dtype_mask m, char *buf, size_t size);

// Bytes that `count` dense elements need; false on overflow.
bool qrn_dtype_bytes(qrn_dtype t, size_t count, size_t *bytes);

#endif
