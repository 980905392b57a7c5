// SPDX-License-Identifier: MIT
//
// Packing of 16-bit values for the GEMMs of gemm_q16.h by AVX-512; sums come from products with
// ones.
#include "kernels/gemm/tiles/gemm_q16.h"
#include "kernels/gemm/pack/transpose_avx512.h"

#include <string.h>

static inline __mmask32 first_bits(size_t n) {
    return n >= 32 ? ~(__mmask32)0 : ((__mmask32)1 << n) - 1;
}

static inline __m512i load(const uint16_t *p, __mmask32 mask, uint16_t flip) {
    __m512i v = _mm512_maskz_loadu_epi16(mask, p);
    return _mm512_xor_si512(v, _mm512_maskz_set1_epi16(mask, (short)flip));
}

// Sums of 16 columns.
typedef struct sums16 {
    __m512i words, high;
} sums16;

// Stores one step of 16 columns, given as pairs of neighbours.
static inline void put(__m512i p01, __m512i p23, int8_t *dst, sums16 *s) {
    __m512i high = _mm512_or_si512(_mm512_srli_epi16(p01, 8),
                                   _mm512_and_si512(p23, _mm512_set1_epi16((short)0xff00)));
    _mm512_storeu_si512(dst, p01);
    _mm512_storeu_si512(dst + 128, p23);
    _mm512_storeu_si512(dst + 256, high);
    s->words = _mm512_dpwssd_epi32(s->words, p01, _mm512_set1_epi16(1));
    s->words = _mm512_dpwssd_epi32(s->words, p23, _mm512_set1_epi16(1));
    s->high = _mm512_dpbusd_epi32(s->high, _mm512_set1_epi8(1), high);
}

static inline __m512i row_of(const qrn_q16_columns *c, size_t k, __mmask32 mask) {
    return k < c->depth ? load(c->data + k * c->b_depth, mask, c->flip) : _mm512_setzero_si512();
}

// Columns that lie side by side: two rows become pairs.
static void interleave(const qrn_q16_columns *c, int8_t *dst, sums16 *s) {
    uint16_t order[64];
    for (uint16_t i = 0; i < 64; i++)
        order[i] = (uint16_t)(i / 2 + i % 2 * 32);
    const __m512i low = _mm512_loadu_si512(order), high = _mm512_loadu_si512(order + 32);
    __mmask32 mask = first_bits(c->n);
    for (size_t k = 0; k < c->depth; k += QRN_Q16_STEP, dst += QRN_Q16_PANEL_STEP) {
        __m512i r0 = row_of(c, k, mask), r1 = row_of(c, k + 1, mask);
        __m512i r2 = row_of(c, k + 2, mask), r3 = row_of(c, k + 3, mask);
        put(_mm512_permutex2var_epi16(r0, low, r1), _mm512_permutex2var_epi16(r2, low, r3), dst,
            &s[0]);
        put(_mm512_permutex2var_epi16(r0, high, r1), _mm512_permutex2var_epi16(r2, high, r3),
            dst + 64, &s[1]);
    }
}

// Columns whose elements lie side by side, 16 of them and 8 steps at a time.
static void transpose(const qrn_q16_columns *c, uint32_t first, int8_t *dst, sums16 *s) {
    size_t steps = qrn_q16_steps(c->depth);
    for (size_t at = 0; at < steps; at += 8) {
        __mmask32 mask = first_bits(c->depth - at * QRN_Q16_STEP);
        __m512i r[16];
#pragma GCC unroll 16
        for (uint32_t j = 0; j < 16; j++)
            r[j] = first + j < c->n
                       ? load(c->data + (first + j) * c->b_col + at * QRN_Q16_STEP, mask, c->flip)
                       : _mm512_setzero_si512();
        qrn_transpose_16x16(r);
        for (size_t i = 0; i < 8 && at + i < steps; i++)
            put(r[2 * i], r[2 * i + 1], dst + (at + i) * QRN_Q16_PANEL_STEP + first * 4, s);
    }
}

void qrn_q16_pack_columns_avx512vnni(const qrn_q16_columns *c, int8_t *dst, int32_t *sums,
                                     int32_t *high) {
    sums16 s[2] = {{_mm512_setzero_si512(), _mm512_setzero_si512()},
                   {_mm512_setzero_si512(), _mm512_setzero_si512()}};
    if (c->b_col == 1) {
        interleave(c, dst, s);
    } else { // b_depth is 1
        transpose(c, 0, dst, &s[0]);
        transpose(c, 16, dst, &s[1]);
    }
    for (int i = 0; i < 2; i++) {
        _mm512_storeu_si512(sums + 16 * i, s[i].words);
        _mm512_storeu_si512(high + 16 * i, s[i].high);
    }
}

static inline int32_t sum_of_bytes(__m256i sums) { // four sums of 64 bits
    __m128i s = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_cvtsi128_si32(_mm_add_epi64(s, _mm_unpackhi_epi64(s, s)));
}

// A row whose elements lie side by side.
static inline __attribute__((always_inline)) void pack_row(const uint16_t *from, size_t depth,
                                                           uint16_t flip, uint8_t *words,
                                                           uint8_t *bytes, int32_t *sum,
                                                           int32_t *high) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
    const __m512i top = _mm512_set1_epi16((short)0x8000);
    size_t whole = qrn_q16_steps(depth) * QRN_Q16_STEP;
    __m512i s = _mm512_setzero_si512();
    __m256i h = _mm256_setzero_si256();
    for (size_t k = 0; k < whole; k += 32) {
        __mmask32 in = first_bits(depth - k), out = first_bits(whole - k);
        __m512i v = load(from + k, in, flip);
        __m512i u = _mm512_srli_epi16(_mm512_xor_si512(v, top), 8);
        __m256i b = _mm256_shuffle_epi8(_mm512_maskz_cvtepi16_epi8(in, u), order);
        _mm512_mask_storeu_epi16(words + 2 * k, out, v);
        _mm256_mask_storeu_epi8(bytes + k, out, b);
        h = _mm256_add_epi64(h, _mm256_sad_epu8(b, _mm256_setzero_si256()));
        if (sum)
            s = _mm512_dpwssd_epi32(s, v, _mm512_set1_epi16(1));
    }
    if (sum)
        *sum = _mm512_reduce_add_epi32(s);
    *high = sum_of_bytes(h);
}

void qrn_q16_pack_rows_avx512vnni(const qrn_q16_rows *r, uint8_t *dst, int32_t *sums,
                                  int32_t *high) {
    uint16_t gathered[QRN_Q16_DEPTH];
    size_t steps = qrn_q16_steps(r->depth);
    for (size_t i = 0; i < r->n; i++, dst += steps * QRN_Q16_ROW_STEP) {
        const uint16_t *from = r->data + i * r->a_row;
        for (size_t k = 0; r->a_depth != 1 && k < r->depth; k++)
            gathered[k] = from[k * r->a_depth];
        from = r->a_depth == 1 ? from : gathered;
        if (sums)
            pack_row(from, r->depth, r->flip, dst, dst + steps * 8, &sums[i], &high[i]);
        else
            pack_row(from, r->depth, r->flip, dst, dst + steps * 8, NULL, &high[i]);
    }
}
