// SPDX-License-Identifier: MIT
//
// Packing for matmuls of 8-bit values by AVX-512: rows of the matrix are interleaved, columns are
// transposed 16 by 16 words of four bytes; sums come from products with ones.
#include "kernels/gemm/matmul/matmul_q8.h"
#include "kernels/gemm/pack/transpose_avx512.h"

#include <immintrin.h>

static inline __mmask64 first_bits(size_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

// The bytes of `v` that exist XOR flip.
static inline __m512i flipped(__m512i v, __mmask64 mask, uint8_t flip) {
    return _mm512_xor_si512(v, _mm512_maskz_set1_epi8(mask, (char)flip));
}

// One row of up to 32 columns.
static inline __m256i row_of(const qrn_q8_columns *c, size_t k, __mmask32 mask) {
    if (k >= c->depth)
        return _mm256_setzero_si256();
    __m256i v = _mm256_maskz_loadu_epi8(mask, c->data + k * c->b_depth);
    return _mm256_xor_si256(v, _mm256_maskz_set1_epi8(mask, (char)c->flip));
}

// Columns that lie side by side: four rows become words of four bytes.
static void interleave(const qrn_q8_columns *c, int8_t *dst, int32_t *sums) {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum0 = _mm512_setzero_si512(), sum1 = sum0;
    __mmask32 mask = (__mmask32)first_bits(c->n);
    for (size_t k = 0; k < c->depth; k += QRN_Q8_DEPTH, dst += 128) {
        __m256i r0 = row_of(c, k, mask), r1 = row_of(c, k + 1, mask);
        __m256i r2 = row_of(c, k + 2, mask), r3 = row_of(c, k + 3, mask);
        __m256i t0 = _mm256_unpacklo_epi8(r0, r1), t1 = _mm256_unpackhi_epi8(r0, r1);
        __m256i u0 = _mm256_unpacklo_epi8(r2, r3), u1 = _mm256_unpackhi_epi8(r2, r3);
        __m512i p = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_unpacklo_epi16(t0, u0)),
                                       _mm256_unpackhi_epi16(t0, u0), 1);
        __m512i q = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_unpacklo_epi16(t1, u1)),
                                       _mm256_unpackhi_epi16(t1, u1), 1);
        __m512i low = _mm512_shuffle_i64x2(p, q, 0x88), high = _mm512_shuffle_i64x2(p, q, 0xdd);
        _mm512_storeu_si512(dst, low);
        _mm512_storeu_si512(dst + 64, high);
        sum0 = _mm512_dpbusd_epi32(sum0, ones, low);
        sum1 = _mm512_dpbusd_epi32(sum1, ones, high);
    }
    _mm512_storeu_si512(sums, sum0);
    _mm512_storeu_si512(sums + 16, sum1);
}

// Columns whose elements lie side by side, 16 of them and 16 steps at a time.
static void transpose(const qrn_q8_columns *c, uint32_t first, int8_t *dst, int32_t *sums) {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512();
    size_t steps = (c->depth + QRN_Q8_DEPTH - 1) / QRN_Q8_DEPTH;
    for (size_t s = 0; s < steps; s += 16) {
        __mmask64 mask = first_bits(c->depth - s * QRN_Q8_DEPTH);
        __m512i r[16];
#pragma GCC unroll 16
        for (uint32_t j = 0; j < 16; j++) {
            const uint8_t *from = c->data + (first + j) * c->b_col + s * QRN_Q8_DEPTH;
            r[j] = first + j < c->n ? flipped(_mm512_maskz_loadu_epi8(mask, from), mask, c->flip)
                                    : _mm512_setzero_si512();
        }
        qrn_transpose_16x16(r);
        for (size_t i = 0; i < 16 && s + i < steps; i++) {
            _mm512_storeu_si512(dst + (s + i) * 128 + first * QRN_Q8_DEPTH, r[i]);
            sum = _mm512_dpbusd_epi32(sum, ones, r[i]);
        }
    }
    _mm512_storeu_si512(sums + first, sum);
}

static void columns(const qrn_q8_columns *c, int8_t *dst, int32_t *sums) {
    if (c->b_col == 1) {
        interleave(c, dst, sums);
    } else { // b_depth is 1
        transpose(c, 0, dst, sums);
        transpose(c, 16, dst, sums);
    }
}

static void rows(const qrn_q8_rows *r, uint8_t *dst, int32_t *sums) {
    const __m512i ones = _mm512_set1_epi8(1);
    size_t bytes = (r->depth + QRN_Q8_DEPTH - 1) / QRN_Q8_DEPTH * QRN_Q8_DEPTH;
    if (r->a_depth != 1) {
        qrn_q8_packing_ref.rows(r, dst, sums);
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        const uint8_t *from = r->data + i * r->a_row;
        __m512i sum = _mm512_setzero_si512();
        for (size_t k = 0; k < bytes; k += 64) {
            __mmask64 mask = first_bits(r->depth - k);
            __m512i v = flipped(_mm512_maskz_loadu_epi8(mask, from + k), mask, r->flip);
            sum = _mm512_dpbusd_epi32(sum, v, ones);
            if (dst)
                _mm512_mask_storeu_epi8(dst + i * bytes + k, first_bits(bytes - k), v);
        }
        sums[i] = _mm512_reduce_add_epi32(sum);
    }
}

const qrn_q8_packing qrn_q8_packing_avx512vnni = {columns, rows};
