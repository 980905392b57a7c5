// SPDX-License-Identifier: MIT
//
// Strips of depthwise8.h for AVX-512 VNNI: an instruction adds four taps to each of sixteen sums.
// Cells of four units are tiles of two units and two more; results of 64 channels leave together,
// be they of one cell or of two or four.
#include "kernels/conv/depthwise8_avx512.h"
#include "kernels/conv/depthwise_q8.h"
#include "kernels/conv/depthwise_tiles_avx512.h"

#define MOST_UNITS QRN_DEPTHWISE8_UNITS

// Any window, one cell, by the definition.
static __attribute__((noinline)) void single(const qrn_strip *s, const qrn_strip_row *row,
                                             size_t cell) {
    const qrn_depthwise8_job *j = s->plan->job;
    const qrn_depthwise8_terms *b = s->terms;
    const uint32_t units = s->block->units;
    const constants c = constants_of(s, (int)units);
    uint8_t *y = row->y + cell * c.cell;
    __m512i v[4] = {_mm512_setzero_si512()};
    for (size_t u = 0; u < units; u++) {
        __m512i acc = cell_sums(s, row, cell, u, _mm512_load_si512(b->bias[u]));
        v[u] = decided_unit(j, b->exact[u], acc);
    }
    __m512i a = whole(&c, v[0], v[units > 1]);
    if (units == 4)
        store(&c, 4, true, y, a, whole(&c, v[2], v[3]));
    else if (units == 2)
        store(&c, 2, true, y, a, a);
    else
        store(&c, 1, true, y, a, a);
}

// Some units of a tile. Whole parts that wait for their neighbours are in v.
struct tile_part {
    const constants *c;
    uint8_t *y;
    __m512i v[MOST_CELLS];
    uint32_t unsure[MOST_CELLS]; // lanes, of a result that leaves together with others
};

INLINE __m512i begun(const tile_part *p, const int unit) {
    return _mm512_load_si512(p->c->terms->bias[unit]);
}

INLINE void epilogue(tile_part *p, const int units, const int first, const int m, const int o,
                     __m512i (*acc)[4]) {
    const qrn_depthwise8_terms *b = p->c->terms;
    const constants *c = p->c;
    const int cells = 4 / units, at = o / cells;
    __m512i x[4];
    if (m == 1 && o % 2 == 0)
        return;
#pragma GCC unroll 4
    for (int u = 0; u < m; u++)
        x[u] = fixed_point(c, acc[o][u], b->m[first + u]);
    if (m == 1) {
        x[1] = x[0];
        x[0] = fixed_point(c, acc[o - 1][0], b->m[0]);
    }
    __m512i v = whole(c, x[0], x[1]), least = _mm512_min_epu16(x[0], x[1]);
    if (m == 4) {
        least = _mm512_min_epu16(least, _mm512_min_epu16(x[2], x[3]));
        p->unsure[o] = _mm512_mask_cmple_epu16_mask(0x55555555, least, c->edge);
        store(c, 4, false, p->y + (size_t)o * c->cell, v, whole(c, x[2], x[3]));
        return;
    }
    uint32_t unsure = _mm512_mask_cmple_epu16_mask(0x55555555, least, c->edge);
    if (units == 4 ? first == 0 : units == 2 ? o % 2 == 0 : o % 4 == 1) {
        p->v[at] = v;
        p->unsure[at] = unsure;
        return;
    }
    p->unsure[at] |= unsure;
    store(c, units, false, p->y + (size_t)(at * cells) * c->cell, p->v[at], v);
}

INLINE void tile(const qrn_strip *s, const qrn_strip_row *row, const constants *c, size_t cell,
                 const int units, const int n, const int k, const int step) {
    const int groups = (k + 3) / 4, m = units == 4 && k > 3 ? 2 : units;
    tile_part p;
    uint32_t any = 0;
    p.c = c;
    p.y = row->y + cell * c->cell;
    tile_run(s, row, cell, units, 0, m, n, k, groups, step, &p);
    if (m < units) {
        tile_run(s, row, cell, units, 2, m, n, k, groups, step, &p);
    }
#pragma GCC unroll 8
    for (int o = 0; o < n * units / 4; o++)
        any |= p.unsure[o];
    for (int o = 0; __builtin_expect(any, 0) && o < n; o++)
        if (p.unsure[o * units / 4])
            single(s, row, cell + (size_t)o);
}

TILES_OF_UNITS(4, 7)
TILES_APART(4, 7)
TILES_OF_UNITS(2, 8)
TILES_OF_UNITS(1, 8)

static void strip(const qrn_strip *s) {
    static const strip_fn tiles[5][2][3] = {
        [1] = {{NULL, tiles_1_8_3_1, tiles_1_8_3_2}, {NULL, tiles_1_8_5_1, tiles_1_8_5_2}},
        [2] = {{NULL, tiles_2_8_3_1, tiles_2_8_3_2}, {NULL, tiles_2_8_5_1, tiles_2_8_5_2}},
        [4] = {{tiles_4_7_3_0, tiles_4_7_3_1, tiles_4_7_3_2},
               {tiles_4_7_5_0, tiles_4_7_5_1, tiles_4_7_5_2}}};
    const uint32_t units = s->block->units;
    if (!strip_tiles(s, units == 4 ? 7 : 8, tiles[units]))
        strip_singles(s, single);
}

// The four rows of a group side by side, with unpacking instructions of the width of the block.
#define GROUP(bits, type, prefix, read)                                                            \
    INLINE void group_##bits(const type *row, const int rows, uint8_t *to) {                       \
        type low = prefix##unpacklo_epi8(row[0], row[1]), more = low;                              \
        type high = prefix##unpackhi_epi8(row[0], row[1]), most = high;                            \
        if (rows > 2) {                                                                            \
            more = prefix##unpacklo_epi8(row[2], row[3]);                                          \
            most = prefix##unpackhi_epi8(row[2], row[3]);                                          \
        }                                                                                          \
        type *v = (type *)to;                                                                      \
        v[0] = prefix##unpacklo_epi16(low, more);                                                  \
        v[1] = prefix##unpackhi_epi16(low, more);                                                  \
        v[2] = prefix##unpacklo_epi16(high, most);                                                 \
        v[3] = prefix##unpackhi_epi16(high, most);                                                 \
    }                                                                                              \
    INLINE void columns_##bits(__mmask16 mask, const uint8_t *const *src, const size_t *step,      \
                               size_t n, const int rows, const bool flip, uint8_t *to) {           \
        const uint8_t *x[4] = {src[0], src[1], src[2], src[3]};                                    \
        for (size_t i = 0; i < n; i++, to += bits / 2) {                                           \
            type row[4];                                                                           \
            _Pragma("GCC unroll 4") for (int r = 0; r < rows; r++) {                               \
                row[r] = read(mask, x[r]);                                                         \
                if (flip)                                                                          \
                    row[r] = FLIPPED_##bits(row[r]);                                               \
                x[r] += step[r];                                                                   \
            }                                                                                      \
            group_##bits(row, rows, to);                                                           \
        }                                                                                          \
    }
#define READ_512(mask, p) ((void)(mask), _mm512_loadu_si512(p))
#define READ_256(mask, p) ((void)(mask), _mm256_loadu_si256((const __m256i *)(p)))
#define READ_128(mask, p) _mm_maskz_loadu_epi8(mask, p)
#define FLIPPED_512(v) _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80))
#define FLIPPED_256(v) _mm256_xor_si256(v, _mm256_set1_epi8((char)0x80))
#define FLIPPED_128(v) _mm_xor_si128(v, _mm_set1_epi8((char)0x80))
GROUP(512, __m512i, _mm512_, READ_512)
GROUP(256, __m256i, _mm256_, READ_256)
GROUP(128, __m128i, _mm_, READ_128)

INLINE void columns(const qrn_strip_block *b, const uint8_t *const *src, const size_t *step,
                    size_t n, const int rows, const bool flip, uint8_t *to) {
    if (b->units == 4)
        columns_512(0, src, step, n, rows, flip, to);
    else if (b->units == 2)
        columns_256(0, src, step, n, rows, flip, to);
    else
        columns_128((__mmask16)((1u << b->channels) - 1), src, step, n, rows, flip, to);
}

static void strip_gather(const qrn_strip_plan *p, const qrn_strip_block *b, size_t rows,
                         const uint8_t *const *src, const size_t *step, size_t n, uint8_t *to) {
    if (p->flip)
        columns(b, src, step, n, 4, true, to);
    else if (rows > 2)
        columns(b, src, step, n, 4, false, to);
    else
        columns(b, src, step, n, 2, false, to);
}

static void strip_pad(const qrn_strip_plan *p, uint8_t *to, size_t bytes) {
    __m512i pad = _mm512_set1_epi8((char)(p->pad[0] ^ (p->flip ? 0x80 : 0)));
    for (size_t i = 0; i < bytes; i += 64)
        _mm512_store_si512(to + i, pad);
}

#define STRIP_DIRECT qrn_depthwise8_three
#include "kernels/conv/depthwise_strips.inc"

static void pack(const qrn_strip_block *b, const int8_t *const *rows, uint8_t *packed) {
    static const size_t step[4];
    columns(b, (const uint8_t *const *)rows, step, 1, 4, false, packed);
}

qrn_status qrn_depthwise8_avx512vnni(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack, false};
    return qrn_depthwise8_run(k, &kernel, qrn_depthwise_q8_avx512);
}
