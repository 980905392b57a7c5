// SPDX-License-Identifier: MIT
//
// Strips of depthwise16.h for AVX-512 VNNI: an instruction adds two taps to each of sixteen sums.
// Results of 32 channels leave together, be they of one cell or of two.
#include "kernels/conv/depthwise16_avx512.h"
#include "kernels/conv/depthwise_tiles_avx512.h"
#include "kernels/conv/depthwise_q16.h"

#define MOST_UNITS QRN_DEPTHWISE16_UNITS
// Any window, one cell.
static __attribute__((noinline)) void single(const qrn_strip *s, const qrn_strip_row *row,
                                             size_t cell) {
    const qrn_depthwise16_terms *b = s->terms;
    const constants c = constants_of(s, 0);
    uint8_t *y = row->y + cell * c.cell;
    __m512i v = rounded(b, &c, 0, cell_sums(s, row, cell, 0, _mm512_load_si512(b->bias[0])));
    if (s->block->units == 1) {
        store(&c, 1, true, y, v, v);
        return;
    }
    __m512i more = cell_sums(s, row, cell, 1, _mm512_load_si512(b->bias[1]));
    store(&c, 2, true, y, v, rounded(b, &c, 1, more));
}

struct tile_part {
    const constants *c;
    uint8_t *y;
};

INLINE __m512i begun(const tile_part *p, const int unit) {
    return _mm512_load_si512(p->c->terms->bias[unit]);
}

INLINE void epilogue(tile_part *p, const int units, const int first, const int m, const int o,
                     __m512i (*acc)[4]) {
    (void)first, (void)m; // all units
    const qrn_depthwise16_terms *b = p->c->terms;
    if (units == 2)
        store(p->c, 2, false, p->y + (size_t)o * p->c->cell, rounded(b, p->c, 0, acc[o][0]),
              rounded(b, p->c, 1, acc[o][1]));
    else if (o % 2)
        store(p->c, 1, false, p->y + (size_t)(o - 1) * p->c->cell,
              rounded(b, p->c, 0, acc[o - 1][0]), rounded(b, p->c, 0, acc[o][0]));
}

INLINE void tile(const qrn_strip *s, const qrn_strip_row *row, const constants *c, size_t cell,
                 const int units, const int n, const int k, const int step) {
    tile_part p = {.c = c, .y = row->y + cell * c->cell};
    tile_run(s, row, cell, units, 0, units, n, k, (k + 1) / 2, step, &p);
}

TILES_OF_UNITS(2, 7)
TILES_APART(2, 7)
TILES_OF_UNITS(1, 8)

static void strip(const qrn_strip *s) {
    static const strip_fn tiles[3][2][3] = {
        [1] = {{NULL, tiles_1_8_3_1, tiles_1_8_3_2}, {NULL, tiles_1_8_5_1, tiles_1_8_5_2}},
        [2] = {{tiles_2_7_3_0, tiles_2_7_3_1, tiles_2_7_3_2},
               {tiles_2_7_5_0, tiles_2_7_5_1, tiles_2_7_5_2}}};
    const uint32_t units = s->block->units;
    if (!strip_tiles(s, units == 2 ? 7 : 8, tiles[units]))
        strip_singles(s, single);
}

// The two rows of a group side by side, as words.
INLINE void columns_of_two(const uint8_t *const *src, const size_t *step, size_t n, __m512i flip,
                           uint8_t *to) {
    const uint8_t *x[2] = {src[0], src[1]};
    for (size_t i = 0; i < n; i++, to += 128) {
        __m512i a = _mm512_xor_si512(_mm512_loadu_si512(x[0] + i * step[0]), flip);
        __m512i b = _mm512_xor_si512(_mm512_loadu_si512(x[1] + i * step[1]), flip);
        _mm512_store_si512(to, _mm512_unpacklo_epi16(a, b));
        _mm512_store_si512(to + 64, _mm512_unpackhi_epi16(a, b));
    }
}
INLINE void columns_of_one(const uint8_t *const *src, const size_t *step, size_t n, __mmask16 m,
                           __m256i flip, uint8_t *to) {
    const uint8_t *x[2] = {src[0], src[1]};
    for (size_t i = 0; i < n; i++, to += 64) {
        __m256i a = _mm256_xor_si256(_mm256_maskz_loadu_epi16(m, x[0] + i * step[0]), flip);
        __m256i b = _mm256_xor_si256(_mm256_maskz_loadu_epi16(m, x[1] + i * step[1]), flip);
        _mm256_store_si256((__m256i *)to, _mm256_unpacklo_epi16(a, b));
        _mm256_store_si256((__m256i *)(to + 32), _mm256_unpackhi_epi16(a, b));
    }
}

static __m512i flip_of(const qrn_strip_plan *p) {
    return _mm512_set1_epi16((short)(p->flip ? 0x8000 : 0));
}

static void strip_gather(const qrn_strip_plan *p, const qrn_strip_block *b, size_t rows,
                         const uint8_t *const *src, const size_t *step, size_t n, uint8_t *to) {
    (void)rows; // a second one that does not matter is the first one again
    const __m512i flip = flip_of(p);
    if (b->units == 2)
        columns_of_two(src, step, n, flip, to);
    else
        columns_of_one(src, step, n, (__mmask16)((1u << b->channels) - 1),
                       _mm512_castsi512_si256(flip), to);
}

static void strip_pad(const qrn_strip_plan *p, uint8_t *to, size_t bytes) {
    __m512i pad = _mm512_xor_si512(_mm512_loadu_si512(p->pad), flip_of(p));
    for (size_t i = 0; i < bytes; i += 64)
        _mm512_store_si512(to + i, pad);
}

#define STRIP_DIRECT qrn_depthwise16_three
#include "kernels/conv/depthwise_strips.inc"

static void pack(const qrn_strip_block *b, const int8_t *const *rows, uint8_t *packed) {
    static const size_t step[2];
    int16_t words[2][2 * QRN_STRIP_UNIT] = {{0}};
    const uint8_t *src[2] = {(const uint8_t *)words[0], (const uint8_t *)words[1]};
    for (int r = 0; r < 2; r++)
        for (uint32_t i = 0; i < b->channels; i++)
            words[r][i] = rows[r][i];
    if (b->units == 2)
        columns_of_two(src, step, 1, _mm512_setzero_si512(), packed);
    else
        columns_of_one(src, step, 1, 0xffff, _mm256_setzero_si256(), packed);
}

qrn_status qrn_depthwise16_avx512vnni(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack, false};
    return qrn_depthwise16_run(k, &kernel, qrn_depthwise_q16_avx512);
}
