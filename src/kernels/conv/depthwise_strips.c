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
                    const qrn_strip_shape *s, const qrn_strip_block *b, const int8_t *w,
                    uint8_t *packed) {
    static const int8_t zeros[QRN_STRIP_VECTOR];
    for (int64_t r = 0; r < s->together; r++)
        for (int64_t n = 0; n < s->groups; n++)
            for (int64_t t = 0; t < g->kernel[2]; t++) {
                const int8_t *row[4];
                for (int64_t i = 0; i < s->rows; i++) {
                    int64_t at = n * s->rows + i - r * g->stride[1] % s->rows; // of the window
                    bool inside = at >= 0 && at < g->kernel[1];
                    row[i] =
                        inside ? w + (size_t)(at * g->kernel[2] + t) * g->cin + b->first : zeros;
                }
                kernel->pack(b, row, packed);
                packed += b->units * QRN_STRIP_VECTOR;
            }
}
