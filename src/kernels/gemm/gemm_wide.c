// SPDX-License-Identifier: MIT
//
// Products over byte planes: tile by tile, run by run.
#include "kernels/gemm/gemm_wide.h"

#include <string.h>

#define TABLE qrn_wide_ops_ref
#include "kernels/gemm/gemm_wide.inc"

#if defined(__x86_64__)
const qrn_wide_kernel qrn_wide_avx512vnni = {&qrn_gemm_q8_12x32_avx512vnni, &qrn_wide_ops_avx512};
const qrn_wide_kernel qrn_wide_avx2 = {&qrn_gemm_q8_2x32_avx2, &qrn_wide_ops_avx2};
#elif defined(__aarch64__)
const qrn_wide_kernel qrn_wide_neondot = {&qrn_gemm_q8_6x32_neondot, &qrn_wide_ops_neon};
#endif
const qrn_wide_kernel qrn_wide_ref = {&qrn_gemm_q8_ref, &qrn_wide_ops_ref};

// Sums of the rows of a tile, in as many tiles as the kernel needs.
static void byte_sums(const qrn_gemm_q8_kernel *k, qrn_gemm_q8_tile t) {
    for (uint32_t left = t.rows; left; left -= t.rows) {
        t.rows = left < k->rows ? left : k->rows;
        k->tile(&t);
        t.a += t.rows * t.a_row;
        t.acc += (size_t)t.rows * QRN_PANEL;
    }
}

void qrn_wide_product(const qrn_wide_kernel *k, const qrn_wide_rows *r, const qrn_wide_panel *p,
                      const qrn_wide_out *o) {
    static const int32_t nothing[QRN_PANEL];
    int32_t acc[QRN_WIDE_TILE * QRN_PANEL] = {0}; // columns beyond o->cols are never written
    double sum[QRN_WIDE_TILE * QRN_PANEL], t[QRN_WIDE_TILE * QRN_PANEL];
    uint32_t tile = QRN_WIDE_TILE / r->planes;
    for (size_t first = 0; first < r->n; first += tile) {
        uint32_t rows = (uint32_t)(r->n - first < tile ? r->n - first : tile);
        const uint8_t *a = r->a + first * r->planes * r->row_bytes;
        for (uint32_t i = 0; i < rows; i++)
            memcpy(t + i * QRN_PANEL, p->start, QRN_PANEL * sizeof *t);
        for (uint32_t run = 0; run < p->n_runs; run++) {
            size_t s0 = p->starts[run] / QRN_Q8_DEPTH, at = (size_t)run * QRN_PANEL;
            size_t s1 = run + 1 < p->n_runs ? p->starts[run + 1] / QRN_Q8_DEPTH : p->steps;
            memset(sum, 0, rows * QRN_PANEL * sizeof *sum);
            for (uint32_t q = 0; q < p->planes; q++) {
                byte_sums(k->tile,
                          (qrn_gemm_q8_tile){.a = a + s0 * QRN_Q8_DEPTH,
                                             .a_row = r->row_bytes,
                                             .b = p->plane[q] + s0 * QRN_PANEL * QRN_Q8_DEPTH,
                                             .steps = s1 - s0,
                                             .column = nothing,
                                             .acc = acc,
                                             .rows = rows * r->planes,
                                             .cols = o->cols});
                k->ops->join(sum, acc, rows, r->planes, q ? 256.0 : 1.0);
            }
            k->ops->scale(t, sum, p->add + at, p->offset ? p->offset + at : NULL,
                          r->sums ? r->sums + first * p->n_runs + run : NULL, p->n_runs, p->m + at,
                          rows);
        }
        k->ops->store((char *)o->y + first * o->y_row * o->elem, o->elem, o->y_row, t, rows,
                      o->cols, o->lo, o->hi);
    }
}

void qrn_wide_split(const qrn_wide_ops *ops, const void *x, size_t elem, size_t n, bool is_signed,
                    uint8_t *row, size_t row_bytes) {
    uint8_t flip = is_signed ? 0x80 : 0;
    if (elem == 2) {
        ops->split(x, n, flip, row, row + row_bytes);
        memset(row + row_bytes + n, 0, row_bytes - n);
    } else {
        memcpy(row, x, n);
        for (size_t i = 0; flip && i < n; i++)
            row[i] ^= flip;
    }
    memset(row + n, 0, row_bytes - n); // meets weights of 0
}

void qrn_wide_row_sums(const uint8_t *row, size_t row_bytes, uint32_t planes, size_t depth,
                       const uint32_t *starts, uint32_t n_runs, double *sums) {
    for (uint32_t run = 0; run < n_runs; run++) {
        size_t end = run + 1 < n_runs ? starts[run + 1] : depth;
        uint32_t sum[2] = {0, 0}; // QRN_WIDE_DEPTH_MAX bytes stay below 2^24
        for (uint32_t q = 0; q < planes; q++)
            for (size_t i = starts[run]; i < end; i++)
                sum[q] += row[q * row_bytes + i];
        sums[run] = (double)sum[0] + 256.0 * (double)sum[1];
    }
}
