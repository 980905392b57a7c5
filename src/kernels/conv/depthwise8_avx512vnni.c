// SPDX-License-Identifier: MIT
//
// Strips of depthwise8.h for AVX-512 VNNI: an instruction adds four taps to each of sixteen sums.
// Windows of 3 by 3 and 5 by 5 are unrolled, four output vectors at a time, and each input column
// is unpacked once for all the windows it lies in; other windows take a plain loop.
//
// Quarters 0 and 1 of a tile come before 2 and 3: half the sums leave room for all weights of a
// window of 3 by 3.
#include "kernels/conv/depthwise8.h"
#include "kernels/conv/depthwise_avx512.h"
#include "kernels/conv/depthwise_q8.h"

#include <string.h>

#define LARGEST 0x7fff0000p0f // a fixed-point number with the largest word as its whole part

// _mm512_dpbusd_epi32, around which gcc 12 copies accumulators.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i w) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

// Whole parts and fractions of two quarters, a word each.
typedef struct rounded {
    __m512i whole, fraction;
} rounded;

typedef struct constants {
    __m512 start;
    __m512i largest;
    __m512i high, edge; // high: the upper words
    __m512i order;      // of the bytes of packed whole parts
    __m512i flip;
} constants;

INLINE constants constants_of(const qrn_strip *s) {
    const qrn_depthwise8_job *j = s->job;
    return (constants){
        .start = _mm512_set1_ps(j->start),
        .largest = _mm512_castps_si512(_mm512_set1_ps(LARGEST)),
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
    __m512i bits = _mm512_min_epi32(_mm512_castps_si512(v), c->largest); // numbers keep their order
    return _mm512_cvtps_epi32(_mm512_castsi512_ps(bits));
}

INLINE rounded round_two(const constants *c, __m512i a, __m512i b, const float (*m)[16]) {
    a = fixed_point(c, a, _mm512_load_ps(m[0]));
    b = _mm512_rol_epi32(fixed_point(c, b, _mm512_load_ps(m[1])), 16);
    return (rounded){_mm512_ternarylogic_epi32(c->high, a, b, 0xca),
                     _mm512_ternarylogic_epi32(c->high, b, a, 0xca)};
}

INLINE void store_rounded(const target *to, const bool whole, const constants *c, size_t cell,
                          const rounded r[2]) {
    __m512i v = _mm512_packus_epi16(r[0].whole, r[1].whole);
    store(to, whole, cell, _mm512_xor_si512(_mm512_shuffle_epi8(v, c->order), c->flip));
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

// Half h of a tile of a window of k by k whose first input vectors are at x.
INLINE void half_tile(const qrn_strip *s, const qrn_depthwise8_block *b, const constants *c,
                      const uint8_t *const *x, const int h, const int n, const int k,
                      const int share, rounded (*r)[2]) {
    const int groups = (k + 3) / 4;
    __m512i acc[LONG][2];
#pragma GCC unroll 7
    for (int o = 0; o < n; o++)
        for (int q = 0; q < 2; q++)
            acc[o][q] = _mm512_load_si512(b->bias[2 * h + q]);
#pragma GCC unroll 20
    for (int i = 0; i < columns_of(n, k, share); i++)
#pragma GCC unroll 2
        for (int g = 0; g < groups; g++) {
            const int rows = k - 4 * g < 4 ? k - 4 * g : 4;
            __m512i row[4], v[2];
#pragma GCC unroll 4
            for (int m = 0; m < rows; m++)
                row[m] = _mm512_loadu_si512(x[4 * g + m] + column_at(s, n, k, share, i));
            unpack(row, rows, h, v);
#pragma GCC unroll 7
            for (int o = 0; o < n; o++) {
                const int t = tap_of(n, k, share, i, o);
                if (t < 0 || t >= k)
                    continue;
                const int8_t *w = b->w + ((t * groups + g) * 4 + 2 * h) * 64;
                acc[o][0] = dot(acc[o][0], v[0], _mm512_load_si512(w));
                acc[o][1] = dot(acc[o][1], v[1], _mm512_load_si512(w + 64));
            }
        }
#pragma GCC unroll 7
    for (int o = 0; o < n; o++)
        r[o][h] = round_two(c, acc[o][0], acc[o][1], b->m + 2 * h);
}

// Any window, one output vector. Where a fraction is too close to one the definition decides.
static __attribute__((noinline)) void single(const qrn_strip *s, size_t cell) {
    const qrn_depthwise8_job *j = s->job;
    const qrn_depthwise8_block *b = qrn_depthwise8_block_of(j, s->index);
    const constants c = constants_of(s);
    const target to = target_of(s);
    __m512i acc[4];
    for (int q = 0; q < 4; q++)
        acc[q] = _mm512_load_si512(b->bias[q]);
    const int8_t *w = b->w;
    for (size_t t = 0; t < s->taps; t++)
        for (size_t g = 0; g < j->groups; g++, w += 256) {
            size_t at = cell * (64 / to.pieces) + s->tap[t];
            __m512i row[4], v[4];
            for (size_t n = 0; n < 4; n++) { // further rows have weights of 0
                bool is = 4 * g + n < s->rows;
                row[n] = is ? _mm512_loadu_si512(s->x[4 * g + n] + at) : _mm512_setzero_si512();
            }
            unpack(row, 4, 0, v);
            unpack(row, 4, 1, v + 2);
            for (int q = 0; q < 4; q++)
                acc[q] = dot(acc[q], v[q], _mm512_load_si512(w + 64 * q));
        }
    rounded r[2] = {round_two(&c, acc[0], acc[1], b->m), round_two(&c, acc[2], acc[3], b->m + 2)};
    store_rounded(&to, to.whole, &c, cell, r);
    for (uint32_t h = 0; h < 2; h++) { // bit 2l + i: number l of quarter 2h + i
        uint32_t unsure = _mm512_cmpge_epu16_mask(r[h].fraction, c.edge);
        for (; __builtin_expect(unsure, 0); unsure &= unsure - 1) {
            uint32_t at = (uint32_t)__builtin_ctz(unsure);
            qrn_depthwise8_decide(s, cell, 2 * h + at % 2, at / 2);
        }
    }
}

INLINE void tile(const qrn_strip *s, const constants *c, const target *to, const bool whole,
                 size_t cell, const int n, const int k, const int share) {
    const qrn_depthwise8_block *b = qrn_depthwise8_block_of(s->job, s->index);
    const uint8_t *x[5];
    rounded r[LONG][2];
    uint32_t unsure[LONG], any = 0;
#pragma GCC unroll 5
    for (int m = 0; m < k; m++)
        x[m] = s->x[m] + cell * (64 / to->pieces);
    half_tile(s, b, c, x, 0, n, k, share, r);
#pragma GCC unroll 5
    for (int m = 0; m < k; m++)
        __asm__("" : "+r"(x[m])); // reading again is cheaper than keeping
    half_tile(s, b, c, x, 1, n, k, share, r);
#pragma GCC unroll 7
    for (int o = 0; o < n; o++) {
        __m512i worst = _mm512_max_epu16(r[o][0].fraction, r[o][1].fraction);
        any |= unsure[o] = _mm512_cmpge_epu16_mask(worst, c->edge);
        store_rounded(to, whole, c, cell + (size_t)o * to->pieces, r[o]);
    }
    for (size_t o = 0; __builtin_expect(any, 0) && o < (size_t)n; o++)
        if (unsure[o])
            single(s, cell + o * to->pieces);
}

STRIP_FUNCTIONS

#define STRIP strip
#include "kernels/conv/depthwise_strips.inc"

static void pack(const int8_t *const *rows, void *packed) {
    __m512i row[4], v[4];
    for (int n = 0; n < 4; n++)
        row[n] = _mm512_loadu_si512(rows[n]);
    unpack(row, 4, 0, v);
    unpack(row, 4, 1, v + 2);
    for (int q = 0; q < 4; q++)
        _mm512_store_si512((int8_t *)packed + 64 * q, v[q]);
}

qrn_status qrn_depthwise8_avx512vnni(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack};
    return qrn_depthwise8_run(k, &kernel, qrn_depthwise_q8_avx512);
}
