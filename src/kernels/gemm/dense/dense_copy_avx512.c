// SPDX-License-Identifier: MIT
//
// Copies of pieces for AVX-512: one masked move for each 64 bytes, so that nothing is read or
// written beside the pieces.
#include "kernels/gemm/dense/dense_plan.h"

#include <immintrin.h>

static inline __attribute__((always_inline)) void copy(char *dst, size_t dst_step, const char *src,
                                                       size_t src_step, size_t n, size_t bytes,
                                                       const int whole) {
    __mmask64 rest = bytes % 64 ? ~(__mmask64)0 >> (64 - bytes % 64) : 0;
    for (size_t i = 0; i < n; i++, dst += dst_step, src += src_step) {
        size_t at = 0;
        for (; whole && at + 64 <= bytes; at += 64)
            _mm512_storeu_si512(dst + at, _mm512_loadu_si512(src + at));
        if (rest)
            _mm512_mask_storeu_epi8(dst + at, rest, _mm512_maskz_loadu_epi8(rest, src + at));
    }
}

void qrn_dense_copy_avx512(void *dst, size_t dst_step, const void *src, size_t src_step, size_t n,
                           size_t bytes) {
    if (bytes <= 16)
        for (size_t i = 0; i < n; i++) {
            __mmask16 all = (__mmask16)((1u << bytes) - 1);
            _mm_mask_storeu_epi8((char *)dst + i * dst_step, all,
                                 _mm_maskz_loadu_epi8(all, (const char *)src + i * src_step));
        }
    else if (bytes <= 32)
        for (size_t i = 0; i < n; i++) {
            __mmask32 all = ~(__mmask32)0 >> (32 - bytes);
            _mm256_mask_storeu_epi8((char *)dst + i * dst_step, all,
                                    _mm256_maskz_loadu_epi8(all, (const char *)src + i * src_step));
        }
    else if (bytes < 64)
        copy(dst, dst_step, src, src_step, n, bytes, 0);
    else
        copy(dst, dst_step, src, src_step, n, bytes, 1);
}
