// SPDX-License-Identifier: MIT
//
// What is prepared in the same way for strips of all types.
#include "kernels/conv/depthwise_strips.h"

#include "kernels/gemm/requant.h"

#include <string.h>

const int8_t *qrn_strip_weights(const qrn_view *w, size_t channels, int8_t *room) {
    bool plain = w->dtype == QRN_DTYPE_SQ8 && (w->quant->bits == 0 || w->quant->bits >= 8);
    for (size_t c = 0; plain && c < channels; c++)
        plain = qrn_group_offset(w->quant, c) == 0;
    if (plain)
        return w->data;
    for (size_t i = 0; i < qrn_view_count(w); i += channels)
        for (size_t c = 0; c < channels; c++) {
            int32_t v = qrn_code(w, i + c) + qrn_group_offset(w->quant, c);
            if (v < INT8_MIN || v > INT8_MAX)
                return NULL;
            room[i + c] = (int8_t)v;
        }
    return room;
}

void qrn_strip_pack(const qrn_strip_kernel *kernel, const qrn_conv_geometry *g,
                    const qrn_strip_block *b, const int8_t *w, size_t elem, size_t rows,
                    size_t packed_bytes, uint8_t *packed) {
    static const int8_t zeros[QRN_STRIP_VECTOR];
    int8_t copy[4][QRN_STRIP_VECTOR] = {{0}}; // of rows that share a vector or do not fill it
    size_t bytes = b->bytes / elem;
    for (int64_t t = 0; t < g->kernel[2]; t++)
        for (int64_t first = 0; first < g->kernel[1]; first += (int64_t)rows) {
            const int8_t *row[4];
            for (size_t n = 0; n < rows; n++) {
                int64_t r = first + (int64_t)n;
                row[n] = zeros;
                if (r >= g->kernel[1])
                    continue;
                row[n] = w + (size_t)(r * g->kernel[2] + t) * g->cin + b->first / elem;
                if (b->bytes == QRN_STRIP_VECTOR)
                    continue;
                for (size_t q = 0; q < b->pieces; q++)
                    memcpy(copy[n] + q * bytes, row[n], bytes);
                row[n] = copy[n];
            }
            kernel->pack(row, packed);
            packed += packed_bytes;
        }
}
