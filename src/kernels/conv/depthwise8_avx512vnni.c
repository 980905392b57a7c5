// SPDX-License-Identifier: MIT
//
// Strips of depthwise8.h for AVX-512 VNNI: an instruction adds four taps to each of sixteen sums.
// Windows of 3 by 3 and 5 by 5 are unrolled, four output vectors at a time, and each input column
// is unpacked once for all the windows it lies in; other windows take a plain loop.
//
// Quarters 0 and 1 of a tile come before 2 and 3: half the sums leave room for all weights of a
// window of 3 by 3.
#include "kernels/conv/depthwise8.h"
#include "kernels/conv/depthwise_q8.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define TILE QRN_STRIP_TILE
#define LARGEST 0x7fff0000p0f // a fixed-point number with the largest word as its whole part

// How the bytes of a vector lie in memory.
typedef enum layout { WHOLE, PARTLY, TWO, FOUR } layout;

// _mm512_dpbusd_epi32, around which gcc 12 copies accumulators.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i w) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

INLINE __mmask64 part(const qrn_strip *s) {
    return s->block->bytes < 64 ? ((__mmask64)1 << s->block->bytes) - 1 : ~(__mmask64)0;
}

INLINE __m256i load32(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
INLINE __m128i load16(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }

INLINE __m512i load(const qrn_strip *s, const uint8_t *p, const layout how) {
    if (how == WHOLE)
        return _mm512_loadu_si512(p);
    if (how == PARTLY)
        return _mm512_maskz_loadu_epi8(part(s), p);
    if (how == TWO)
        return _mm512_inserti64x4(_mm512_castsi256_si512(load32(p)), load32(p + s->x_piece), 1);
    __m512i v = _mm512_castsi128_si512(load16(p));
    v = _mm512_inserti32x4(v, load16(p + s->x_piece), 1);
    v = _mm512_inserti32x4(v, load16(p + 2 * s->x_piece), 2);
    return _mm512_inserti32x4(v, load16(p + 3 * s->x_piece), 3);
}

INLINE void store(const qrn_strip *s, uint8_t *y, __m512i v, const layout how) {
    if (how == WHOLE)
        _mm512_storeu_si512(y, v);
    if (how == PARTLY)
        _mm512_mask_storeu_epi8(y, part(s), v);
    if (how == TWO) {
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(v));
        _mm256_storeu_si256((__m256i *)(y + s->y_piece), _mm512_extracti64x4_epi64(v, 1));
    }
    if (how == FOUR) {
        _mm_storeu_si128((__m128i *)y, _mm512_castsi512_si128(v));
        _mm_storeu_si128((__m128i *)(y + s->y_piece), _mm512_extracti32x4_epi32(v, 1));
        _mm_storeu_si128((__m128i *)(y + 2 * s->y_piece), _mm512_extracti32x4_epi32(v, 2));
        _mm_storeu_si128((__m128i *)(y + 3 * s->y_piece), _mm512_extracti32x4_epi32(v, 3));
    }
}

// Whole parts and fractions of two quarters, a word each.
typedef struct rounded {
    __m512i whole, fraction;
} rounded;

typedef struct constants {
    __m512 start, largest;
    __m512i high, edge; // high: the upper words
    __m512i order;      // of the bytes of packed whole parts
    __m512i flip;
} constants;

INLINE constants constants_of(const qrn_depthwise8_job *j) {
    return (constants){
        .start = _mm512_set1_ps(j->start),
        .largest = _mm512_set1_ps(LARGEST),
        .high = _mm512_set1_epi32((int)0xffff0000),
        .edge = _mm512_set1_epi16((short)j->edge),
        .order = _mm512_broadcast_i32x4(
            _mm_setr_epi8(1, 3, 5, 7, 0, 2, 4, 6, 9, 11, 13, 15, 8, 10, 12, 14)),
        .flip = _mm512_set1_epi8((char)j->flip),
    };
}

// Too small a number becomes INT32_MIN, which is small enough.
INLINE __m512i fixed_point(const constants *c, __m512i acc, __m512 m) {
    __m512 v = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), m, c->start);
    return _mm512_cvtps_epi32(_mm512_min_ps(v, c->largest));
}

INLINE rounded round_two(const constants *c, __m512i a, __m512i b, const float (*m)[16]) {
    a = fixed_point(c, a, _mm512_load_ps(m[0]));
    b = _mm512_rol_epi32(fixed_point(c, b, _mm512_load_ps(m[1])), 16);
    return (rounded){_mm512_ternarylogic_epi32(c->high, a, b, 0xca),
                     _mm512_ternarylogic_epi32(c->high, b, a, 0xca)};
}

INLINE void store_rounded(const qrn_strip *s, const constants *c, size_t o, const rounded r[2],
                          const layout how) {
    __m512i v = _mm512_packus_epi16(r[0].whole, r[1].whole);
    v = _mm512_xor_si512(_mm512_shuffle_epi8(v, c->order), c->flip);
    store(s, s->y + o * s->y_out, v, how);
}

// Bit 2l + i of word h: number l of quarter 2h + i.
static __attribute__((noinline)) void decide(const qrn_strip *s, size_t o, const uint32_t *unsure) {
    for (uint32_t h = 0; h < 2; h++)
        for (uint32_t bits = unsure[h]; bits; bits &= bits - 1) {
            uint32_t at = (uint32_t)__builtin_ctz(bits);
            qrn_depthwise8_decide(s, o, 2 * h + at % 2, at / 2);
        }
}

// Quarters 2h and 2h+1 of up to four rows; one row has no neighbours to lie beside.
INLINE void unpack(const __m512i *r, const int rows, const int h, __m512i *v) {
    const __m512i quarters = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1));
    if (rows == 1) {
        __m512i at = _mm512_set1_epi32(8 * h);
        v[0] = _mm512_shuffle_epi8(r[0], _mm512_add_epi32(quarters, at));
        v[1] = _mm512_shuffle_epi8(
            r[0], _mm512_add_epi32(quarters, _mm512_add_epi32(at, _mm512_set1_epi32(4))));
        return;
    }
    __m512i third = rows > 2 ? r[2] : r[0], fourth = rows > 3 ? r[3] : third;
    __m512i a = h ? _mm512_unpackhi_epi8(r[0], r[1]) : _mm512_unpacklo_epi8(r[0], r[1]);
    __m512i b = h ? _mm512_unpackhi_epi8(third, fourth) : _mm512_unpacklo_epi8(third, fourth);
    v[0] = _mm512_unpacklo_epi16(a, b);
    v[1] = _mm512_unpackhi_epi16(a, b);
}

// Half h of a tile of a window of k by k. share: taps from one output vector to the next, 0 where
// vectors have no input in common.
INLINE void half_tile(const qrn_strip *s, const qrn_depthwise8_block *b, const constants *c,
                      const uint8_t *x, const int h, const int k, const int share, const layout how,
                      rounded (*r)[2]) {
    const int groups = (k + 3) / 4, between = share ? share : k;
    __m512i acc[TILE][2];
#pragma GCC unroll 20
    for (int i = 0; i < (TILE - 1) * between + k; i++) {
        const uint8_t *column = share ? x + (size_t)i * s->x_tap
                                      : x + (size_t)(i / k) * s->x_out + (size_t)(i % k) * s->x_tap;
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            const int rows = k - 4 * g < 4 ? k - 4 * g : 4;
            __m512i row[4], v[2];
#pragma GCC unroll 4
            for (int n = 0; n < rows; n++)
                row[n] = load(s, column + (size_t)(4 * g + n) * s->x_row, how);
            unpack(row, rows, h, v);
#pragma GCC unroll 4
            for (int o = 0; o < TILE; o++) {
                const int t = i - o * between;
                if (t < 0 || t >= k)
                    continue;
                const int8_t *w = b->w + ((t * groups + g) * 4 + 2 * h) * 64;
#pragma GCC unroll 2
                for (int q = 0; q < 2; q++) {
                    if (t == 0 && g == 0)
                        acc[o][q] = _mm512_load_si512(b->bias[2 * h + q]);
                    acc[o][q] = dot(acc[o][q], v[q], _mm512_load_si512(w + 64 * q));
                }
                if (t == k - 1 && g == groups - 1)
                    r[o][h] = round_two(c, acc[o][0], acc[o][1], b->m + 2 * h);
            }
        }
    }
}

INLINE void tiles(const qrn_strip *s, const int k, const int share, const layout how) {
    const qrn_depthwise8_job *j = s->job;
    const qrn_depthwise8_block *b = qrn_depthwise8_block_of(j, s->index);
    const constants c = constants_of(j);
    const uint8_t *x = s->x;
    for (size_t first = 0; first < s->n; first += TILE, x += TILE * s->x_out) {
        rounded r[TILE][2];
        uint32_t unsure[TILE][2], any = 0;
        half_tile(s, b, &c, x, 0, k, share, how, r);
        half_tile(s, b, &c, x, 1, k, share, how, r);
#pragma GCC unroll 4
        for (int o = 0; o < TILE; o++) {
            store_rounded(s, &c, first + (size_t)o, r[o], how);
            for (int h = 0; h < 2; h++)
                any |= unsure[o][h] = _mm512_cmpge_epu16_mask(r[o][h].fraction, c.edge);
        }
        for (size_t o = 0; __builtin_expect(any, 0) && o < TILE; o++)
            decide(s, first + o, unsure[o]);
    }
}

// Any window, one output vector at a time.
INLINE void singles(const qrn_strip *s, const layout how) {
    const qrn_depthwise8_job *j = s->job;
    const qrn_depthwise8_block *b = qrn_depthwise8_block_of(j, s->index);
    const constants c = constants_of(j);
    for (size_t o = 0; o < s->n; o++) {
        __m512i acc[4];
        for (int q = 0; q < 4; q++)
            acc[q] = _mm512_load_si512(b->bias[q]);
        const int8_t *w = b->w;
        for (size_t t = 0; t < s->kernel[1]; t++)
            for (size_t g = 0; g < j->groups; g++, w += 256) {
                const uint8_t *x = s->x + o * s->x_out + t * s->x_tap + 4 * g * s->x_row;
                __m512i row[4], v[4];
                for (size_t n = 0; n < 4; n++) { // further rows have weights of 0
                    bool is = 4 * g + n < s->kernel[0];
                    row[n] = is ? load(s, x + n * s->x_row, how) : _mm512_setzero_si512();
                }
                unpack(row, 4, 0, v);
                unpack(row, 4, 1, v + 2);
                for (int q = 0; q < 4; q++)
                    acc[q] = dot(acc[q], v[q], _mm512_load_si512(w + 64 * q));
            }
        rounded r[2] = {round_two(&c, acc[0], acc[1], b->m),
                        round_two(&c, acc[2], acc[3], b->m + 2)};
        store_rounded(s, &c, o, r, how);
        uint32_t unsure[2] = {_mm512_cmpge_epu16_mask(r[0].fraction, c.edge),
                              _mm512_cmpge_epu16_mask(r[1].fraction, c.edge)};
        if (how == PARTLY) { // quarters of the channels that are there
            for (uint32_t l = 0; l < 16; l++)
                for (uint32_t v = 0; v < 4; v++)
                    if (qrn_depthwise8_at(v, l) >= s->block->bytes)
                        unsure[v / 2] &= ~(UINT32_C(1) << (2 * l + v % 2));
        }
        if (__builtin_expect(unsure[0] | unsure[1], 0))
            decide(s, o, unsure);
    }
}

#define TILES(k, share, how)                                                                       \
    static __attribute__((noinline)) void tiles_##k##_##share##_##how(const qrn_strip *s) {        \
        tiles(s, k, share, how);                                                                   \
    }
TILES(3, 0, WHOLE)
TILES(3, 1, WHOLE)
TILES(3, 2, WHOLE)
TILES(3, 0, TWO)
TILES(3, 2, TWO)
TILES(3, 0, FOUR)
TILES(5, 0, WHOLE)
TILES(5, 1, WHOLE)
TILES(5, 2, WHOLE)
TILES(5, 0, TWO)
TILES(5, 2, TWO)
TILES(5, 0, FOUR)

static __attribute__((noinline)) void singles_whole(const qrn_strip *s) { singles(s, WHOLE); }
static __attribute__((noinline)) void singles_partly(const qrn_strip *s) { singles(s, PARTLY); }
static __attribute__((noinline)) void singles_two(const qrn_strip *s) { singles(s, TWO); }
static __attribute__((noinline)) void singles_four(const qrn_strip *s) { singles(s, FOUR); }

static void strip(const qrn_strip *s) {
    typedef void (*strip_fn)(const qrn_strip *);
    static const strip_fn any[] = {singles_whole, singles_partly, singles_two, singles_four};
    static const strip_fn tiled[2][4][3] = {
        {[WHOLE] = {tiles_3_0_WHOLE, tiles_3_1_WHOLE, tiles_3_2_WHOLE},
         [TWO] = {tiles_3_0_TWO, tiles_3_0_TWO, tiles_3_2_TWO},
         [FOUR] = {tiles_3_0_FOUR, tiles_3_0_FOUR, tiles_3_0_FOUR}},
        {[WHOLE] = {tiles_5_0_WHOLE, tiles_5_1_WHOLE, tiles_5_2_WHOLE},
         [TWO] = {tiles_5_0_TWO, tiles_5_0_TWO, tiles_5_2_TWO},
         [FOUR] = {tiles_5_0_FOUR, tiles_5_0_FOUR, tiles_5_0_FOUR}}};
    uint32_t k = s->kernel[0], pieces = s->block->pieces;
    layout how = pieces == 4 ? FOUR : pieces == 2 ? TWO : s->block->bytes < 64 ? PARTLY : WHOLE;
    if (pieces > 1 && s->x_piece == s->block->bytes && s->y_piece == s->block->bytes)
        how = WHOLE; // neighbours lie side by side
    int share = s->x_out == s->x_tap ? 1 : s->x_out == 2 * s->x_tap ? 2 : 0;
    if (s->n % TILE || k != s->kernel[1] || (k != 3 && k != 5) || how == PARTLY)
        any[how](s);
    else
        tiled[k == 5][how][share](s);
}

#define STRIP strip
#include "kernels/conv/depthwise_strips.inc"

static void pack(const int8_t *const rows[QRN_DEPTHWISE8_ROWS], int8_t *w) {
    __m512i row[4], v[4];
    for (int n = 0; n < 4; n++)
        row[n] = _mm512_loadu_si512(rows[n]);
    unpack(row, 4, 0, v);
    unpack(row, 4, 1, v + 2);
    for (int q = 0; q < 4; q++)
        _mm512_storeu_si512(w + 64 * q, v[q]);
}

qrn_status qrn_depthwise8_avx512vnni(const qrn_kcall *k) {
    static const qrn_depthwise8_kernel kernel = {strip_rows, pack};
    return qrn_depthwise8_run(k, &kernel, qrn_depthwise_q8_avx512);
}
