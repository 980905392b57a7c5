// SPDX-License-Identifier: MIT
//
// Strips of depthwise_strips.h in vectors of AVX-512: stores, and which function does a strip.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_AVX512_H
#define QRN_KERNELS_CONV_DEPTHWISE_AVX512_H

#include "kernels/conv/depthwise_strips.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))
#define TILE QRN_STRIP_TILE
#define LONG 7 // vectors of a long tile: most pictures are a multiple of 7 wide

// Where results go. A copy of what a strip says: stores of bytes might change the strip, as far as
// the compiler knows.
typedef struct target {
    uint8_t *y;
    size_t cell, bytes, pieces;
    bool whole; // vectors are stored as they are
} target;

INLINE target target_of(const qrn_strip *s) {
    target t = {s->y, s->cell, s->block->bytes, s->block->pieces, false};
    t.whole = t.bytes == 64 || (t.cell == t.bytes && t.pieces > 1); // cells may lie side by side
    return t;
}

// The vector of cells from `cell` on; whole: see target.
INLINE void store(const target *t, const bool whole, size_t cell, __m512i v) {
    uint8_t *y = t->y + cell * t->cell;
    if (whole) {
        _mm512_storeu_si512(y, v);
    } else if (t->pieces == 1) {
        _mm512_mask_storeu_epi8(y, ((__mmask64)1 << t->bytes) - 1, v);
    } else if (t->pieces == 2) {
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(y + t->cell), _mm512_extracti64x4_epi64(v, 1));
    } else {
        _mm_storeu_si128((__m128i *)y, _mm512_castsi512_si128(v));
        _mm_storeu_si128((__m128i *)(y + t->cell), _mm512_extracti32x4_epi32(v, 1));
        _mm_storeu_si128((__m128i *)(y + 2 * t->cell), _mm512_extracti32x4_epi32(v, 2));
        _mm_storeu_si128((__m128i *)(y + 3 * t->cell), _mm512_extracti32x4_epi32(v, 3));
    }
}

// Column i of a tile of n vectors, of a window with k taps: where it lies, and which tap it is for
// output o, something outside 0..k-1 for none. share: see qrn_strip. Columns of share 2 come in two
// planes.
INLINE int columns_of(const int n, const int k, const int share) {
    return share == 0 ? n * k : share == 1 ? n - 1 + k : 2 * (n - 1) + k;
}
INLINE int plane_of(const int n, const int k, const int i) { return i >= n + (k - 1) / 2; }
INLINE size_t column_at(const qrn_strip *s, const int n, const int k, const int share,
                        const int i) {
    if (share == 0)
        return (size_t)(i / k) * 64 + s->tap[i % k];
    if (share == 1)
        return (size_t)i * 64;
    return plane_of(n, k, i) ? s->tap[1] + (size_t)(i - n - (k - 1) / 2) * 64 : (size_t)i * 64;
}
INLINE int tap_of(const int n, const int k, const int share, const int i, const int o) {
    if (share == 0)
        return i / k == o ? i % k : -1;
    if (share == 1)
        return i - o;
    int t = plane_of(n, k, i) ? 2 * (i - n - (k - 1) / 2 - o) + 1 : 2 * (i - o);
    return t;
}

// The functions of a file that has `tiles` and `singles`, and `strip`, which calls the one that
// fits: windows of 3 by 3 and 5 by 5 are unrolled.
#define TILES(n, k, share)                                                                         \
    static __attribute__((noinline)) void tiles_##n##_##k##_##share(const qrn_strip *s) {          \
        const target to = target_of(s);                                                            \
        const constants c = constants_of(s);                                                       \
        const size_t step = n * to.pieces, cells = s->cells;                                       \
        if (to.whole)                                                                              \
            for (size_t cell = 0; cell < cells; cell += step)                                      \
                tile(s, &c, &to, true, cell + step <= cells ? cell : cells - step, n, k, share);   \
        else                                                                                       \
            for (size_t cell = 0; cell < cells; cell += step)                                      \
                tile(s, &c, &to, false, cell + step <= cells ? cell : cells - step, n, k, share);  \
    }
#define STRIP_FUNCTIONS                                                                            \
    TILES(4, 3, 0)                                                                                 \
    TILES(4, 3, 1)                                                                                 \
    TILES(4, 3, 2)                                                                                 \
    TILES(4, 5, 0)                                                                                 \
    TILES(4, 5, 1)                                                                                 \
    TILES(4, 5, 2)                                                                                 \
    TILES(7, 3, 1)                                                                                 \
    TILES(7, 5, 1)                                                                                 \
    TILES(7, 3, 2)                                                                                 \
    TILES(7, 5, 2)                                                                                 \
    static void strip(const qrn_strip *s) {                                                        \
        typedef void (*strip_fn)(const qrn_strip *);                                               \
        static const strip_fn tiled[2][3] = {{tiles_4_3_0, tiles_4_3_1, tiles_4_3_2},              \
                                             {tiles_4_5_0, tiles_4_5_1, tiles_4_5_2}};             \
        static const strip_fn longer[2][3] = {{NULL, tiles_7_3_1, tiles_7_3_2},                    \
                                              {NULL, tiles_7_5_1, tiles_7_5_2}};                   \
        const size_t pieces = s->block->pieces, k = s->rows;                                       \
        const bool known = k == s->taps && (k == 3 || k == 5);                                     \
        if (known && s->share && s->cells % (LONG * pieces) == 0)                                  \
            longer[k == 5][s->share](s);                                                           \
        else if (known && s->cells >= TILE * pieces)                                               \
            tiled[k == 5][s->share](s);                                                            \
        else                                                                                       \
            for (size_t cell = 0; cell < s->cells; cell += pieces)                                 \
                single(s, cell + pieces <= s->cells ? cell : s->cells - pieces);                   \
    }

#endif
