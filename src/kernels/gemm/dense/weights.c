// SPDX-License-Identifier: MIT
//
// Packing of quantized weights of 4, 8 and 16 bits (dense_planes.h).
#include "kernels/gemm/dense/dense_planes.h"

#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant.h"

#include <string.h>

static bool is_signed(const qrn_weights *w) { return qrn_dtypes[w->dtype].cls == QRN_CLASS_SFIXED; }

// Bytes in, bytes out: there are faster functions for that.
static bool whole_bytes(const qrn_weights *w) {
    return w->packed == 8 && w->bits == 8 && qrn_dtypes[w->dtype].bits == 8;
}

int32_t qrn_weights_shift(const qrn_weights *w) {
    int32_t half = is_signed(w) ? 0 : INT32_C(1) << (w->bits - 1);
    return half + (w->packed == 16 ? 128 : 0);
}

// Reads stored weights: values minus the shift.
typedef struct reader {
    qrn_quant quant;
    qrn_view view;
    int32_t shift;
} reader;

static void reader_of(const qrn_weights *w, const void *w_data, reader *r) {
    *r = (reader){.quant = {.bits = (uint8_t)w->bits}, .shift = qrn_weights_shift(w)};
    r->view = (qrn_view){.data = (void *)(uintptr_t)w_data, .quant = &r->quant, .dtype = w->dtype};
}

static int32_t stored(const reader *r, size_t i) { return qrn_q_load(&r->view, i) - r->shift; }

bool qrn_weights_fit(const qrn_weights *w, const void *w_data) {
    reader r;
    reader_of(w, w_data, &r);
    int32_t limit = INT32_C(1) << (w->packed - 1);
    size_t n = (size_t)w->dense.group * w->dense.cols * w->dense.depth;
    for (size_t i = 0; i < n; i++)
        if (stored(&r, i) < -limit || stored(&r, i) >= limit)
            return false;
    return true;
}

bool qrn_weights_shape(const qrn_weights *w, uint32_t *rank, uint32_t *dims) {
    uint64_t panels = (uint64_t)qrn_panels(w->dense.cols) * w->dense.group;
    if (panels > UINT32_MAX)
        return false;
    *rank = 0;
    if (w->packed == 16)
        dims[(*rank)++] = 2;
    dims[(*rank)++] = (uint32_t)panels;
    dims[(*rank)++] = (uint32_t)qrn_q8_steps(w->dense.depth);
    dims[(*rank)++] = QRN_PANEL;
    dims[(*rank)++] = w->packed == 4 ? QRN_Q8_DEPTH / 2 : QRN_Q8_DEPTH;
    return true;
}

// Puts stored weight v at position `at` of the packed bytes of the whole tensor; plane: bytes of a
// plane of 16-bit weights.
static void put(uint32_t packed, int32_t v, size_t at, size_t plane, int8_t *dst) {
    if (packed == 4) {
        uint8_t *byte = (uint8_t *)dst + at / 2;
        *byte = (uint8_t)(*byte | ((unsigned)v & 15u) << (at % 2 * 4));
    } else if (packed == 8) {
        dst[at] = (int8_t)v;
    } else { // v = 256 * h + l with both signed
        int32_t h = (v + 128) >> 8;
        dst[at] = (int8_t)(v - 256 * h);
        dst[plane + at] = (int8_t)h;
    }
}

void qrn_weights_pack(const qrn_weights *w, const void *w_data, int8_t *packed) {
    const qrn_dense_args *d = &w->dense;
    size_t panel = qrn_q8_steps(d->depth) * QRN_PANEL * QRN_Q8_DEPTH;
    size_t all = panel * qrn_panels(d->cols) * d->group;
    reader r;
    if (whole_bytes(w)) {
        qrn_dense8_pack(d, w_data, w->w_depth, w->w_col, is_signed(w) ? 0 : 0x80, packed);
        return;
    }
    reader_of(w, w_data, &r);
    memset(packed, 0, w->packed == 4 ? all / 2 : w->packed == 8 ? all : 2 * all);
    for (size_t g = 0; g < d->group; g++)
        for (size_t k = 0; k < d->depth; k++)
            for (size_t j = 0; j < d->cols; j++) {
                size_t p = g * qrn_panels(d->cols) + j / QRN_PANEL;
                size_t at = p * panel + (k / QRN_Q8_DEPTH * QRN_PANEL + j % QRN_PANEL) * 4 + k % 4;
                size_t from = k * w->w_depth + (g * d->cols + j) * w->w_col;
                put(w->packed, stored(&r, from), at, all, packed);
            }
}

void qrn_weights_sums(const qrn_weights *w, const void *w_data, const uint32_t *starts,
                      uint32_t n_runs, int32_t *sums, int64_t *sums64) {
    size_t channels = (size_t)w->dense.group * w->dense.cols;
    reader r;
    if (whole_bytes(w) && n_runs == 1 && sums) {
        qrn_dense8_sums(&w->dense, w_data, w->w_depth, w->w_col, is_signed(w) ? 0 : 0x80, sums);
        return;
    }
    reader_of(w, w_data, &r);
    for (uint32_t run = 0; run < n_runs; run++) {
        size_t end = run + 1 < n_runs ? starts[run + 1] : w->dense.depth;
        for (size_t j = 0; j < channels; j++) {
            int64_t sum = 0;
            for (size_t k = starts[run]; k < end; k++)
                sum += stored(&r, k * w->w_depth + j * w->w_col);
            if (sums)
                sums[run * channels + j] = (int32_t)sum;
            else
                sums64[run * channels + j] = sum;
        }
    }
}
