// SPDX-License-Identifier: MIT
//
// Epilogue of tiles of 256-bit vectors: accumulators are requantized or stored, two rows by 16
// columns at a time.
#ifndef QRN_KERNELS_GEMM_EPILOGUE_Q8_AVX2_H
#define QRN_KERNELS_GEMM_EPILOGUE_Q8_AVX2_H

#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx2.h"

// Rows `row` and, where it is one of the tile, row + 1; columns [first, first + 16). sums: two
// vectors of each row, to which column and row terms have been added.
static inline void qrn_q8_epilogue(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first,
                                   const __m256i *sums) {
    uint32_t left = t->cols - first, n = left < 16 ? left : 16, rows = t->rows - row > 1 ? 2 : 1;
    if (!t->acc) {
        uint8_t *y = t->y + row * t->y_row + first;
        qrn_requant8_two_rows(t->requant, sums, first, n, y, rows > 1 ? y + t->y_row : NULL);
        return;
    }
    int32_t lane[32];
    memcpy(lane, sums, sizeof lane);
    for (uint32_t r = 0; r < rows; r++)
        memcpy(t->acc + (row + r) * QRN_PANEL + first, lane + 16 * r, n * sizeof *lane);
}

// Column and row terms of 8 columns.
static inline __m256i qrn_q8_terms(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first) {
    return _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(t->column + first)),
                            _mm256_set1_epi32(t->row ? t->row[row] : 0));
}

#endif
