// SPDX-License-Identifier: MIT
//
// The vector rows of the convert and cast families, one file per ISA.
#ifndef QRN_KERNELS_CONVERT_ROWS_H
#define QRN_KERNELS_CONVERT_ROWS_H

#include "kernels/kernel.h"

qrn_status qrn_convert_avx2(const qrn_kcall *k);
qrn_status qrn_convert_avx512(const qrn_kcall *k);
qrn_status qrn_convert_neon(const qrn_kcall *k);

// Between the formats below, whatever the encodings say.
qrn_status qrn_convert_plain_avx2(const qrn_kcall *k);
qrn_status qrn_convert_plain_avx512(const qrn_kcall *k);
qrn_status qrn_convert_plain_neon(const qrn_kcall *k);

// How the numbers of a type are stored.
typedef enum qrn_plain {
    QRN_PLAIN_NONE,
    QRN_PLAIN_B8,
    QRN_PLAIN_U8,
    QRN_PLAIN_I8,
    QRN_PLAIN_U16,
    QRN_PLAIN_I16,
    QRN_PLAIN_U32,
    QRN_PLAIN_I32,
    QRN_PLAIN_I64,
    QRN_PLAIN_F16,
    QRN_PLAIN_F32,
    QRN_PLAIN_F64
} qrn_plain;

// NONE for types that the rows above do not know.
static inline qrn_plain qrn_plain_format(qrn_dtype t) {
    static const uint8_t formats[QRN_DTYPE_COUNT] = {
        [QRN_DTYPE_B8] = QRN_PLAIN_B8,    [QRN_DTYPE_U8] = QRN_PLAIN_U8,
        [QRN_DTYPE_UQ8] = QRN_PLAIN_U8,   [QRN_DTYPE_I8] = QRN_PLAIN_I8,
        [QRN_DTYPE_SQ8] = QRN_PLAIN_I8,   [QRN_DTYPE_U16] = QRN_PLAIN_U16,
        [QRN_DTYPE_UQ16] = QRN_PLAIN_U16, [QRN_DTYPE_I16] = QRN_PLAIN_I16,
        [QRN_DTYPE_SQ16] = QRN_PLAIN_I16, [QRN_DTYPE_U32] = QRN_PLAIN_U32,
        [QRN_DTYPE_UQ32] = QRN_PLAIN_U32, [QRN_DTYPE_I32] = QRN_PLAIN_I32,
        [QRN_DTYPE_SQ32] = QRN_PLAIN_I32, [QRN_DTYPE_I64] = QRN_PLAIN_I64,
        [QRN_DTYPE_F16] = QRN_PLAIN_F16,  [QRN_DTYPE_F32] = QRN_PLAIN_F32,
        [QRN_DTYPE_F64] = QRN_PLAIN_F64,
    };
    return (qrn_plain)formats[t];
}

#endif
