// SPDX-License-Identifier: MIT
//
// Normalization of quantized values in contiguous sets, compiled for AVX512: sums with the byte and
// word instructions, and whole blocks of a set at a time. Results of 8 bits are computed in single
// precision, and a block with one in doubt again in double.
#include "kernels/load_q_avx512.h"
#include "kernels/norm/norm_q.h"
#include "kernels/store_q.h"

#include <immintrin.h>

// Elements of a block, and of the parts of it that are computed in double.
#define BLOCK QRN_LOAD_Q
#define PART 32

// Sums of so many values fit 32 bits, of bytes their squares as well.
#define SUM_RUN 16384

// At most SUM_RUN bytes u = q or q + 128, as sums of u and of its square: c = u - 128.
static qrn_norm_sums sums_of_bytes(const uint8_t *q, size_t n, uint8_t flip) {
    const __m512i f = _mm512_set1_epi8((char)flip), null = _mm512_set1_epi8((char)(0x80 ^ flip));
    __m512i linear = _mm512_setzero_si512(), squares = linear;
    for (size_t i = 0; i < n; i += 64) {
        __mmask64 some = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        __m512i u = _mm512_xor_si512(_mm512_mask_loadu_epi8(null, some, q + i), f);
        __m512i low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(u));
        __m512i high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(u, 1));
        linear = _mm512_add_epi64(linear, _mm512_sad_epu8(u, _mm512_setzero_si512()));
        squares = _mm512_add_epi32(squares, _mm512_madd_epi16(low, low));
        squares = _mm512_add_epi32(squares, _mm512_madd_epi16(high, high));
    }
    const int64_t count = (int64_t)((n + 63) / 64 * 64), sum = _mm512_reduce_add_epi64(linear);
    return (qrn_norm_sums){sum - 128 * count,
                           _mm512_reduce_add_epi32(squares) - 256 * sum + 16384 * count};
}

// At most SUM_RUN words c = q or q - 32768. The squares of two are below 2^32, without a sign.
static qrn_norm_sums sums_of_words(const uint16_t *q, size_t n, uint16_t flip) {
    const __m512i f = _mm512_set1_epi16((short)flip), one = _mm512_set1_epi16(1);
    const __m512i lower = _mm512_set1_epi64(UINT32_MAX);
    __m512i linear = _mm512_setzero_si512(), even = linear, odd = linear;
    for (size_t i = 0; i < n; i += 32) {
        __mmask32 some = n - i < 32 ? ((__mmask32)1 << (n - i)) - 1 : ~(__mmask32)0;
        __m512i c = _mm512_xor_si512(_mm512_mask_loadu_epi16(f, some, q + i), f);
        __m512i two = _mm512_madd_epi16(c, c);
        linear = _mm512_add_epi32(linear, _mm512_madd_epi16(c, one));
        even = _mm512_add_epi64(even, _mm512_and_si512(two, lower));
        odd = _mm512_add_epi64(odd, _mm512_srli_epi64(two, 32));
    }
    return (qrn_norm_sums){_mm512_reduce_add_epi32(linear),
                           _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd))};
}

static qrn_norm_sums sums_avx512(const qrn_view *x, size_t at, size_t n) {
    const bool is_signed = x->dtype == QRN_DTYPE_SQ8 || x->dtype == QRN_DTYPE_SQ16;
    qrn_norm_sums s = {0, 0}, part;
    for (size_t from = at, to; from < at + n; from = to) {
        to = at + n - from < SUM_RUN ? at + n : from + SUM_RUN;
        if (qrn_view_elem(x) == 1)
            part = sums_of_bytes((const uint8_t *)x->data + from, to - from, is_signed ? 0x80 : 0);
        else
            part =
                sums_of_words((const uint16_t *)x->data + from, to - from, is_signed ? 0 : 0x8000);
        s.linear += part.linear;
        s.squares += part.squares;
    }
    return s;
}

#define SUMS_OF sums_avx512
#define BLOCKS blocks
typedef struct set set;
static size_t blocks(const set *s);

#define FN qrn_norm_q_avx512
#include "kernels/norm/norm_q_fast.inc"

// 4 vectors of 8 quantized values.
static inline void load_longs(const qrn_view *x, size_t at, __m512i *v) {
    const uint8_t *bytes = (const uint8_t *)x->data + at;
    const uint16_t *words = (const uint16_t *)x->data + at;
#define EACH(convert, load)                                                                        \
    for (size_t j = 0; j < 4; j++)                                                                 \
        v[j] = convert(load);                                                                      \
    break
    switch (x->dtype) {
    case QRN_DTYPE_UQ8:
        EACH(_mm512_cvtepu8_epi64, _mm_loadl_epi64((const __m128i *)(bytes + 8 * j)));
    case QRN_DTYPE_SQ8:
        EACH(_mm512_cvtepi8_epi64, _mm_loadl_epi64((const __m128i *)(bytes + 8 * j)));
    case QRN_DTYPE_UQ16:
        EACH(_mm512_cvtepu16_epi64, _mm_loadu_si128((const __m128i *)(words + 8 * j)));
    default:
        EACH(_mm512_cvtepi16_epi64, _mm_loadu_si128((const __m128i *)(words + 8 * j)));
    }
#undef EACH
}

// 32 whole numbers as words, clamped: the lower 8 bytes of each 16 are from a.
static inline __m512i pack_words(__m512i a, __m512i b, bool is_signed) {
    return is_signed ? _mm512_packs_epi32(a, b) : _mm512_packus_epi32(a, b);
}

// PART elements in double; is none in doubt? The sum with 1.5 * 2^52 is a whole number in the low
// half of its bits. The product of mean and factor is rounded: by no more than what 2^-37 of a step
// of the input is, which UNSURE covers.
static bool part_f64(const set *s, size_t from) {
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512d magic = _mm512_set1_pd(0x1.8p52), factor = _mm512_set1_pd(s->c.factor);
    const __m512d shift = _mm512_set1_pd(s->c.shift * s->c.factor);
    qrn_view *y = s->k->out[0];
    __m512d worst = _mm512_setzero_pd(), sum[4];
    __m512i v[4];
    load_longs(s->k->in[0], s->base + from, v);
    for (size_t j = 0; j < 4; j++) {
        __m512d t = _mm512_fmsub_pd(_mm512_cvtepi64_pd(v[j]), factor, shift);
        t = _mm512_fmadd_pd(t, _mm512_loadu_pd(s->g + from + 8 * j),
                            _mm512_loadu_pd(s->b + from + 8 * j));
        sum[j] = _mm512_add_pd(t, magic);
        // The larger size of both, of which one is 0 or more.
        worst = _mm512_range_pd(worst, _mm512_sub_pd(t, _mm512_sub_pd(sum[j], magic)), 11);
    }
    __m512i low =
        _mm512_permutex2var_epi32(_mm512_castpd_si512(sum[0]), even, _mm512_castpd_si512(sum[1]));
    __m512i high =
        _mm512_permutex2var_epi32(_mm512_castpd_si512(sum[2]), even, _mm512_castpd_si512(sum[3]));
    if (qrn_view_elem(y) == 2) {
        __m512i p = pack_words(low, high, y->dtype == QRN_DTYPE_SQ16);
        p = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), p);
        _mm512_storeu_si512((uint16_t *)y->data + s->base + from, p);
    } else {
        const bool is_signed = y->dtype == QRN_DTYPE_SQ8;
        const __m512i least = _mm512_set1_epi32(is_signed ? INT32_MIN : 0);
        __m128i *to = (__m128i *)((uint8_t *)y->data + s->base + from);
        low = _mm512_max_epi32(low, least);
        high = _mm512_max_epi32(high, least);
        _mm_storeu_si128(to, is_signed ? _mm512_cvtsepi32_epi8(low) : _mm512_cvtusepi32_epi8(low));
        _mm_storeu_si128(to + 1,
                         is_signed ? _mm512_cvtsepi32_epi8(high) : _mm512_cvtusepi32_epi8(high));
    }
    return _mm512_cmp_pd_mask(worst, _mm512_set1_pd(s->sure), _CMP_NLE_UQ) == 0;
}

// Constants of a set whose results are computed in single precision: a quantized value less `whole`
// is exact, `rest` is what is left of the mean, times the factor.
typedef struct single {
    __m512i whole;
    __m512 factor, rest, sure;
} single;

// What single precision takes off a result t below 512, u = 2^-24: 2 u of the product of factor and
// distance from the mean, and u of less than 3/2 factors; this times g, u of that product, u of b
// and u of t. That product is below |t| + |b|.
static single single_of(const set *s) {
    const double whole = rint(s->c.shift), u = 0x1.1p-24;
    double off = u * (4 * (512 + s->p->most_b) + 1.5 * fabs(s->c.factor) * s->p->most_g);
    return (single){_mm512_set1_epi32((int32_t)whole), _mm512_set1_ps((float)s->c.factor),
                    _mm512_set1_ps((float)((s->c.shift - whole) * s->c.factor)),
                    _mm512_set1_ps((float)(s->sure - off))};
}

// BLOCK elements with results of 8 bits in single precision; is none in doubt?
static inline bool block_f32(const set *s, const single *c, size_t from) {
    const float *g = s->p->g_f32 + s->channel + from, *b = s->p->b_f32 + s->channel + from;
    qrn_view *y = s->k->out[0];
    __m512 worst = _mm512_setzero_ps();
    __m512i v[4];
    qrn_load_q_avx512(s->k->in[0], s->base + from, v);
    for (size_t j = 0; j < 4; j++) {
        __m512 t = _mm512_cvtepi32_ps(_mm512_sub_epi32(v[j], c->whole));
        t = _mm512_fmsub_ps(t, c->factor, c->rest);
        t = _mm512_fmadd_ps(t, _mm512_loadu_ps(g + 16 * j), _mm512_loadu_ps(b + 16 * j));
        v[j] = _mm512_cvtps_epi32(t);
        worst = _mm512_range_ps(worst, _mm512_sub_ps(t, _mm512_cvtepi32_ps(v[j])), 11);
    }
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i low = _mm512_packs_epi32(v[0], v[1]), high = _mm512_packs_epi32(v[2], v[3]);
    low =
        y->dtype == QRN_DTYPE_SQ8 ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    _mm512_storeu_si512((uint8_t *)y->data + s->base + from, _mm512_permutexvar_epi32(order, low));
    return _mm512_cmp_ps_mask(worst, c->sure, _CMP_NLE_UQ) == 0;
}

// The last block may begin inside the one before. Results that are not clamped yet stay below 2^30.
static size_t blocks(const set *s) {
    const qrn_view *y = s->k->out[0];
    const double most =
        (65536 + fabs(s->c.shift)) * fabs(s->c.factor) * s->p->most_g + s->p->most_b;
    const bool bytes = qrn_view_elem(y) == 1;
    const size_t each = bytes && s->n >= BLOCK ? BLOCK : PART;
    if (!(s->sure > 0 && most < 0x1p30) || s->n < PART)
        return 0;
    const single c = single_of(s);
    for (size_t at = 0, from; at < s->n; at += each) {
        from = at + each < s->n ? at : s->n - each;
        if (each == BLOCK && block_f32(s, &c, from))
            continue;
        for (size_t i = from; i < from + each; i += PART)
            if (!part_f64(s, i))
                settle(s, i, PART);
    }
    return s->n;
}
