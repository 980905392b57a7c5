// SPDX-License-Identifier: MIT
//
// Look-up of bytes for AVX512 with VBMI: the table lies in four registers, two permutations look up
// all 64 indices in its halves, and the highest bit of an index chooses.
#include "kernels/eltwise/lut_rows.h"

#include <immintrin.h>

void qrn_lut_bytes_avx512vbmi(const uint8_t *table, const uint8_t *q, uint8_t *y, size_t n) {
    __m512i part[4];
    for (int i = 0; i < 4; i++)
        part[i] = _mm512_loadu_si512(table + 64 * i);
    for (size_t i = 0; i < n; i += 64) {
        __mmask64 here = n - i < 64 ? ~(__mmask64)0 >> (64 - (n - i)) : ~(__mmask64)0;
        __m512i c = _mm512_maskz_loadu_epi8(here, q + i);
        __m512i low = _mm512_permutex2var_epi8(part[0], c, part[1]);
        __m512i high = _mm512_permutex2var_epi8(part[2], c, part[3]);
        __m512i v = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(c), high);
        _mm512_mask_storeu_epi8(y + i, here, v);
    }
}
