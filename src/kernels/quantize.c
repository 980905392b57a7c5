// SPDX-License-Identifier: MIT
//
// The quantize family.
#include "kernels/quantize.h"

#include "kernels/codes.h"

#define FAR 0x1p30 // beyond every code

// The nearest whole number, halves away from zero.
static double nearest_away(double t) {
    double a = fabs(t);
    a = a < FAR ? a : FAR; // NaN is not here any more
    double whole = (double)(int32_t)a;
    whole += a - whole >= 0.5 ? 1.0 : 0.0;
    return t < 0 ? -whole : whole;
}

static qrn_status quantize_ref(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    double scale = (double)y->quant->scale, offset = (double)y->quant->offset;
    double run[QRN_CODES_RUN];
    int32_t codes[QRN_CODES_RUN];
    bool wide = qrn_view_elem(y) == 2;
    int64_t lo, hi;
    size_t begin, end;
    qrn_code_range(y->dtype, y->quant->bits, &lo, &hi);
    double low = (double)lo, high = (double)hi;
    qrn_elements(k, QRN_CODES_RUN, &begin, &end);
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < QRN_CODES_RUN ? end - at : QRN_CODES_RUN;
        qrn_codes_load(x, at, n, run);
        for (size_t i = 0; i < n; i++) {
            double t = nearest_away(run[i] != run[i] ? 0 : run[i] / scale) - offset;
            t = t > low ? t : low;
            codes[i] = (int32_t)(t < high ? t : high);
        }
        for (size_t i = 0; wide && i < n; i++)
            ((uint16_t *)y->data)[at + i] = (uint16_t)codes[i];
        for (size_t i = 0; !wide && i < n; i++)
            ((uint8_t *)y->data)[at + i] = (uint8_t)codes[i];
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

static const qrn_kernel quantize_rows[] = {
    {.name = "quantize_ref", .domain = QRN_DOMAIN_RAW, .fn = quantize_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(quantize, 0, 0);
