// SPDX-License-Identifier: MIT
//
// Quantization with ties to even for AVX512: 16 numbers at a time, the last ones under a mask.
#include "kernels/eltwise/round_to.h"

#include <immintrin.h>

typedef struct limits {
    __m512 scale, zero, low, high;
} limits;

static inline __m512i rounded(__m512 x, const limits *l) {
    __m512 v = _mm512_roundscale_ps(_mm512_div_ps(x, l->scale), _MM_FROUND_TO_NEAREST_INT);
    v = _mm512_max_ps(l->low, _mm512_add_ps(v, l->zero)); // of NaN: NaN
    v = _mm512_min_ps(l->high, v);
    return _mm512_maskz_cvttps_epi32(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
}

static void bytes(const float *x, uint8_t *y, size_t n, const limits *l) {
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (size_t j = i; j < i + 64; j += 16)
            _mm_storeu_si128((__m128i *)(void *)(y + j),
                             _mm512_cvtepi32_epi8(rounded(_mm512_loadu_ps(x + j), l)));
    for (; i < n; i += 16) {
        __mmask16 some = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        _mm512_mask_cvtepi32_storeu_epi8(y + i, some,
                                         rounded(_mm512_maskz_loadu_ps(some, x + i), l));
    }
}

static void words(const float *x, uint16_t *y, size_t n, const limits *l) {
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (size_t j = i; j < i + 64; j += 16)
            _mm256_storeu_si256((__m256i *)(void *)(y + j),
                                _mm512_cvtepi32_epi16(rounded(_mm512_loadu_ps(x + j), l)));
    for (; i < n; i += 16) {
        __mmask16 some = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xffff);
        _mm512_mask_cvtepi32_storeu_epi16(y + i, some,
                                          rounded(_mm512_maskz_loadu_ps(some, x + i), l));
    }
}

qrn_status qrn_round_to_avx512(const qrn_kcall *k) {
    const qrn_round_to_args *a = k->args;
    const float *x = k->in[0]->data;
    const float zero = k->n_in > 2 && k->in[2] ? *(const float *)k->in[2]->data : 0;
    const limits l = {_mm512_set1_ps(*(const float *)k->in[1]->data), _mm512_set1_ps(zero),
                      _mm512_set1_ps(a->low), _mm512_set1_ps(a->high)};
    size_t begin, end;
    qrn_elements(k, 64, &begin, &end);
    if (begin >= end)
        return QRN_OK;
    if (qrn_view_elem(k->out[0]) == 1)
        bytes(x + begin, (uint8_t *)k->out[0]->data + begin, end - begin, &l);
    else
        words(x + begin, (uint16_t *)k->out[0]->data + begin, end - begin, &l);
    return QRN_OK;
}
