// SPDX-License-Identifier: MIT
//
// Conversions between common formats, compiled for AVX512.
#include "kernels/convert_rows.h"
#include "kernels/words_avx512.h"

static bool is_words(const qrn_view *v) {
    return v->dtype == QRN_DTYPE_UQ16 || v->dtype == QRN_DTYPE_SQ16;
}

// Elements [at, at + n) of x as 16-bit values. x and y may be the same memory, and x is needed
// where a result is in doubt.
static bool words(const qrn_view *x, size_t at, size_t n, qrn_view *y) {
    if (!is_words(y) || !(is_words(x) || x->dtype == QRN_DTYPE_F32))
        return false;
    const qrn_quant_grid to = qrn_quant_grid_of(y);
    uint16_t *q = (uint16_t *)y->data + at, room[QRN_IO_RUN];
    if (x->dtype == QRN_DTYPE_F32)
        return qrn_words_of_floats((const float *)x->data + at, n, &to, q);
    const qrn_quant_grid from = qrn_quant_grid_of(x);
    if (!qrn_words_of_words((const uint16_t *)x->data + at, n, &from, &to, room))
        return false;
    memcpy(q, room, n * sizeof *q);
    return true;
}

#define FN qrn_convert_avx512
#define WORDS words
#include "kernels/convert_fast.inc"
