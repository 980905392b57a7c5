// SPDX-License-Identifier: MIT
//
// Ranges of quantized values, scales in packed forms, and comparison of encodings.
#include "base/quant.h"

#include "base/fp16.h"

#include <string.h>

#define PANEL 32u // columns of a panel of packed weights

static size_t place_of(const qrn_quant_packed *p, size_t g) {
    size_t column = p->by_column ? g / p->runs : g % p->columns;
    size_t run = p->by_column ? g % p->runs : g / p->columns;
    return (column / PANEL * p->runs + run) * PANEL + column % PANEL;
}

float qrn_quant_packed_scale(const qrn_quant_packed *p, size_t g) {
    size_t at = place_of(p, g);
    return p->fp16 ? qrn_f16_to_f32(((const uint16_t *)p->scales)[at])
                   : ((const float *)p->scales)[at];
}

int32_t qrn_quant_packed_offset(const qrn_quant_packed *p, size_t g) {
    return (p->offsets ? p->offsets[place_of(p, g)] : 0) - p->shift;
}

void qrn_quant_range(qrn_dtype t, uint32_t bits, int64_t *lo, int64_t *hi) {
    uint32_t width = qrn_dtypes[t].bits;
    if (bits != 0 && bits < width)
        width = bits;
    switch ((qrn_dtype_class)qrn_dtypes[t].cls) {
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        *hi = (int64_t)((UINT64_C(1) << (width - 1)) - 1);
        *lo = -*hi - 1;
        return;
    case QRN_CLASS_UINT:
    case QRN_CLASS_UFIXED:
        *lo = 0;
        *hi = width < 64 ? (int64_t)(UINT64_MAX >> (64 - width)) : INT64_MAX;
        return;
    case QRN_CLASS_BOOL:
        *lo = 0;
        *hi = 1;
        return;
    case QRN_CLASS_FLOAT:
    case QRN_CLASS_STRING:
        break;
    }
    *lo = 0; // not quantized
    *hi = 0;
}

static bool equal_pairs(const qrn_quant *a, const qrn_quant *b) {
    for (uint32_t i = 0; i < a->n_groups; i++)
        if (qrn_quant_scale(a, i) != qrn_quant_scale(b, i) ||
            qrn_quant_offset(a, i) != qrn_quant_offset(b, i))
            return false;
    return true;
}

static bool equal_f32s(const float *a, const float *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if ((a ? a[i] : 0.0f) != (b ? b[i] : 0.0f))
            return false;
    return true;
}

bool qrn_quant_equal(const qrn_quant *a, const qrn_quant *b) {
    uint8_t ka = a ? a->kind : QRN_QUANT_NONE;
    uint8_t kb = b ? b->kind : QRN_QUANT_NONE;
    if (ka != kb)
        return false;
    if (ka == QRN_QUANT_NONE)
        return true;
    if (a->bits != b->bits || a->shift != b->shift)
        return false;
    if (ka == QRN_QUANT_TENSOR)
        return a->scale == b->scale && a->offset == b->offset;
    if (a->n_groups != b->n_groups)
        return false;
    if (ka == QRN_QUANT_AXIS && a->axis != b->axis)
        return false;
    if (ka == QRN_QUANT_BLOCK && memcmp(a->block, b->block, sizeof a->block) != 0)
        return false;
    bool same = a->packed == b->packed && a->scales == b->scales && a->offsets == b->offsets;
    return (same || equal_pairs(a, b)) && equal_f32s(a->real_offsets, b->real_offsets, a->n_groups);
}
