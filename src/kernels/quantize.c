// SPDX-License-Identifier: MIT
//
// The quantize family.
#include "kernels/quantize.h"

#include "kernels/codes.h"

// The nearest whole number, halves away from zero.
static double nearest_away(double t) {
    double a = fabs(t), whole = floor(a);
    whole += a - whole >= 0.5 ? 1.0 : 0.0;
    return t < 0 ? -whole : whole;
}

static qrn_status quantize_ref(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    double scale = (double)y->quant->scale, offset = (double)y->quant->offset;
    double run[QRN_CODES_RUN];
    int64_t lo, hi;
    size_t begin, end;
    qrn_code_range(y->dtype, y->quant->bits, &lo, &hi);
    qrn_split(qrn_view_count(x), QRN_CODES_RUN, k->task, k->n_tasks, &begin, &end);
    for (size_t at = begin, n; at < end; at += n) {
        n = end - at < QRN_CODES_RUN ? end - at : QRN_CODES_RUN;
        qrn_codes_load(x, at, n, run);
        for (size_t i = 0; i < n; i++) {
            double t = nearest_away(run[i] != run[i] ? 0 : run[i] / scale) - offset;
            t = t > (double)lo ? t : (double)lo;
            t = t < (double)hi ? t : (double)hi;
            if (qrn_view_elem(y) == 2)
                ((uint16_t *)y->data)[at + i] = (uint16_t)(int32_t)t;
            else
                ((uint8_t *)y->data)[at + i] = (uint8_t)(int32_t)t;
        }
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

static const qrn_kernel quantize_rows[] = {
    {.name = "quantize_ref", .domain = QRN_DOMAIN_RAW, .fn = quantize_ref, .tasks = tasks},
};
QRN_FAMILY(quantize, 0);
