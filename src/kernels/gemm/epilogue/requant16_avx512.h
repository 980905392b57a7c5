// SPDX-License-Identifier: MIT
//
// Requantization of 32-bit accumulators to 16 bits by AVX-512: floor(fma(sum, m, zero + 0.5)) in
// double. A sum, flipped in its upper bit and with the upper half of the double 2^52 above it, is
// the double 2^52 + 2^31 + sum: unpacking does that, and costs less than a conversion. A second sum
// may count 2^shift times; its double is 2^(52 + shift) and so on. What is flipped costs nothing
// where sums begin with their terms.
#ifndef QRN_KERNELS_GEMM_REQUANT16_AVX512_H
#define QRN_KERNELS_GEMM_REQUANT16_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define QRN_REQUANT16_INLINE static inline __attribute__((always_inline))
#define QRN_REQUANT16_FLIP INT32_MIN
#define QRN_REQUANT16_NULL (0x1p52 + 0x1p31) // the double of a flipped sum of 0

// Columns 0, 1, 4, 5 and so on of 16 doubles, then the others: the order of
// qrn_requant16_doubles().
QRN_REQUANT16_INLINE void qrn_requant16_order(const double *src, double *dst) {
    const __m512i first = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
    const __m512i second = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);
    __m512d a = _mm512_loadu_pd(src), b = _mm512_loadu_pd(src + 8);
    _mm512_storeu_pd(dst, _mm512_permutex2var_pd(a, first, b));
    _mm512_storeu_pd(dst + 8, _mm512_permutex2var_pd(a, second, b));
}

// The upper half of 2^(52 + shift).
QRN_REQUANT16_INLINE __m512i qrn_requant16_upper(const int shift) {
    return _mm512_set1_epi32(0x43300000 + (shift << 20));
}

// Sums from vectors put together with qrn_requant16_upper(0) and qrn_requant16_upper(shift): low +
// 2^shift * high; shift 0: low alone. Exact where the result is below 2^52.
QRN_REQUANT16_INLINE __m512d qrn_requant16_join(__m512i low, __m512i high, const int shift) {
    __m512d v = _mm512_castsi512_pd(low);
    if (shift == 0)
        return _mm512_sub_pd(v, _mm512_set1_pd(QRN_REQUANT16_NULL));
    const double null = (double)(UINT64_C(1) << shift) * QRN_REQUANT16_NULL + QRN_REQUANT16_NULL;
    __m512d rest = _mm512_sub_pd(_mm512_castsi512_pd(high), _mm512_set1_pd(null));
    return _mm512_add_pd(v, rest);
}

// 16 flipped sums, or pairs of sums, in the order of qrn_requant16_order().
QRN_REQUANT16_INLINE void qrn_requant16_doubles(__m512i low, __m512i high, const int shift,
                                                __m512d v[2]) {
    const __m512i one = qrn_requant16_upper(0), many = qrn_requant16_upper(shift);
    v[0] = qrn_requant16_join(_mm512_unpacklo_epi32(low, one), _mm512_unpacklo_epi32(high, many),
                              shift);
    v[1] = qrn_requant16_join(_mm512_unpackhi_epi32(low, one), _mm512_unpackhi_epi32(high, many),
                              shift);
}

// floor(v) of numbers that fit 32 bits, in the lower halves: adding 1.5 * 2^52 rounds.
QRN_REQUANT16_INLINE __m512 qrn_requant16_floor(__m512d v) {
    return _mm512_castpd_ps(_mm512_add_round_pd(v, _mm512_set1_pd(0x1.8p52),
                                                _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
}

// 16 whole numbers, back in the order of columns.
QRN_REQUANT16_INLINE __m512i qrn_requant16_whole(__m512d v0, __m512d v1) {
    return _mm512_castps_si512(_mm512_shuffle_ps(qrn_requant16_floor(v0), qrn_requant16_floor(v1),
                                                 _MM_SHUFFLE(2, 0, 2, 0)));
}

// 32 whole numbers as values of all 16 bits, in the order of _mm512_packs_epi32, and brought into
// that of columns.
QRN_REQUANT16_INLINE __m512i qrn_requant16_pack(__m512i first, __m512i second, bool is_signed) {
    return is_signed ? _mm512_packs_epi32(first, second) : _mm512_packus_epi32(first, second);
}
QRN_REQUANT16_INLINE __m512i qrn_requant16_unpacked(__m512i words) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), words);
}

#endif
