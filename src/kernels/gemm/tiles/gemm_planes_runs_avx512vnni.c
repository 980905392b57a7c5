// SPDX-License-Identifier: MIT
//
// GEMM with weights that change their scale within a sum, for AVX-512 VNNI: the sums of a run go
// from the accumulators to the scaled ones of their tile, which stay in the first cache.
#include "kernels/gemm/tiles/gemm_planes_avx512vnni.h"

// What a run adds to row `row` of a tile: t = fma(sum + add + row sum * offset, m, t).
INLINE void add_run(const qrn_planes_panel *p, size_t run, const __m512i acc[2], double row_sum,
                    double *t) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        size_t at = run * QRN_PANEL + 8 * (size_t)i;
        __m512i sums = acc[i / 2];
        __m512d v = _mm512_cvtepi32_pd(i % 2 ? _mm512_extracti64x4_epi64(sums, 1)
                                             : _mm512_castsi512_si256(sums));
        v = _mm512_add_pd(v, _mm512_loadu_pd(p->add + at));
        if (p->offset)
            v = _mm512_fmadd_pd(_mm512_set1_pd(row_sum), _mm512_loadu_pd(p->offset + at), v);
        v = _mm512_fmadd_pd(v, _mm512_loadu_pd(p->m + at), _mm512_loadu_pd(t + 8 * i));
        _mm512_storeu_pd(t + 8 * i, v);
    }
}

// All runs of a tile.
INLINE void tile(const qrn_planes_rows *r, const qrn_planes_panel *p, size_t row, double *t,
                 const int rows, const int planes, const bool nibbles) {
    const size_t step = QRN_PANEL * QRN_Q8_DEPTH / (nibbles ? 2 : 1);
    for (size_t run = 0; run < p->n_runs; run++) {
        size_t first = p->starts[run] / QRN_Q8_DEPTH;
        size_t end = run + 1 < p->n_runs ? p->starts[run + 1] / QRN_Q8_DEPTH : p->steps;
        __m512i acc[ACCS];
#pragma GCC unroll 24
        for (int i = 0; i < rows * planes * 2; i++)
            acc[i] = _mm512_setzero_si512();
        dots(acc, r->a + row * r->row_bytes + first * (size_t)planes * QRN_Q8_DEPTH, r->row_bytes,
             p->plane[0] + first * step, end - first, rows, planes, QRN_PANEL, nibbles);
        if (planes == 2)
            join(acc, rows, QRN_PANEL);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            double sum = p->offset ? r->sums[(row + (size_t)i) * p->n_runs + run] : 0;
            add_run(p, run, acc + i * planes * 2, sum, t + i * QRN_PANEL);
        }
    }
}

void qrn_planes_runs_avx512vnni(const qrn_planes_rows *r, const qrn_planes_panel *p,
                                const qrn_planes_out *o) {
    double t[6 * QRN_PANEL];
    for (size_t row = 0; row < r->n; row += 6) {
        uint32_t n = (uint32_t)(r->n - row < 6 ? r->n - row : 6);
        for (uint32_t i = 0; i < n; i++)
            memcpy(t + i * QRN_PANEL, p->start, QRN_PANEL * sizeof *t);
#define ONE(rows) tile(r, p, row, t, rows, 1, false);
#define TWO(rows) tile(r, p, row, t, rows, 2, false);
#define ONE_NIBBLES(rows) tile(r, p, row, t, rows, 1, true);
#define TWO_NIBBLES(rows) tile(r, p, row, t, rows, 2, true);
        if (r->planes == 1 && !p->nibbles)
            UP_TO_6(n, ONE)
        else if (!p->nibbles)
            UP_TO_6(n, TWO)
        else if (r->planes == 1)
            UP_TO_6(n, ONE_NIBBLES)
        else
            UP_TO_6(n, TWO_NIBBLES)
        qrn_planes_ops_avx512.store((char *)o->y + row * o->y_row * o->elem, o->elem, o->y_row, t,
                                    n, o->cols, o->lo, o->hi);
    }
}
