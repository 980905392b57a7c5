// SPDX-License-Identifier: MIT
//
// Strips of depthwise16.h for AVX-512 VNNI: an instruction adds two taps to each of sixteen sums.
// Results of 32 channels leave together, be they of one cell or of two.
//
// Sums and results pass between 32 bits and doubles by the bits of numbers from 2^52 on, whose last
// ones are a whole number.
#include "kernels/conv/depthwise16.h"
#include "kernels/conv/depthwise_tiles_avx512.h"
#include "kernels/conv/depthwise_wide.h"

#define MOST_UNITS QRN_DEPTHWISE16_UNITS
#define DOWN (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define SUMS_AT 0x1.000008p52 // 2^52 + 2^31: a sum of 0
#define RESULTS_AT 0x1.8p52   // a result of 0

// _mm512_dpwssd_epi32, around which gcc 12 copies accumulators.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i w) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}

typedef struct constants {
    __m512i flip;
    __m512i high;  // dword of SUMS_AT
    __m512i cells; // of quadwords: those of two cells that lie in one vector
    // Copies of what a strip says: stores of words might change it, as far as the compiler knows.
    const qrn_depthwise16_terms *terms;
    size_t cell, channels;
} constants;

INLINE constants constants_of(const qrn_strip *s, const int units) {
    (void)units;
    return (constants){
        .flip = _mm512_set1_epi16((short)((const qrn_depthwise16_job *)s->plan->job)->y_flip),
        .high = _mm512_set1_epi32(0x43300000),
        .cells = _mm512_setr_epi64(0, 4, 2, 6, 1, 5, 3, 7),
        .terms = s->terms,
        .cell = s->cell,
        .channels = s->block->channels,
    };
}

// Eight results, as the lower halves of quadwords; they fit 32 bits.
INLINE __m512 round_eight(__m512i sums, const double *m, const double *start) {
    __m512d v = _mm512_sub_pd(_mm512_castsi512_pd(sums), _mm512_set1_pd(SUMS_AT));
    v = _mm512_fmadd_pd(v, _mm512_load_pd(m), _mm512_load_pd(start));
    return _mm512_castpd_ps(_mm512_add_round_pd(v, _mm512_set1_pd(RESULTS_AT), DOWN));
}

INLINE __m512i rounded(const qrn_depthwise16_terms *b, const constants *c, const int unit,
                       __m512i acc) {
    __m512 low = round_eight(_mm512_unpacklo_epi32(acc, c->high), b->m[unit][0], b->start[unit][0]);
    __m512 more =
        round_eight(_mm512_unpackhi_epi32(acc, c->high), b->m[unit][1], b->start[unit][1]);
    return _mm512_castps_si512(_mm512_shuffle_ps(low, more, 0x88));
}

INLINE void store_unit(const constants *c, uint8_t *y, __m256i v) {
    if (c->channels == 16) // masked stores are slow
        _mm256_storeu_si256((__m256i *)y, v);
    else
        _mm256_mask_storeu_epi16(y, (__mmask16)((1u << c->channels) - 1), v);
}

// Results of 2 / units cells, of which only the first counts where `one`: of two units, or cells.
INLINE void store(const constants *c, const int units, const bool one, uint8_t *y, __m512i a,
                  __m512i b) {
    __m512i v = _mm512_xor_si512(_mm512_packus_epi32(a, b), c->flip);
    if (units == 2) {
        _mm512_storeu_si512(y, v);
        return;
    }
    v = _mm512_permutexvar_epi64(c->cells, v);
    store_unit(c, y, _mm512_castsi512_si256(v));
    if (!one)
        store_unit(c, y + c->cell, _mm512_extracti64x4_epi64(v, 1));
}

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

INLINE void finish(tile_part *p, const int units, const int first, const int m, const int o,
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

#include "kernels/conv/depthwise_strips.inc"

static void pack(const qrn_strip_block *b, const int8_t *const *rows, uint8_t *packed) {
    static const size_t step[2];
    int16_t wide[2][2 * QRN_STRIP_UNIT] = {{0}};
    const uint8_t *src[2] = {(const uint8_t *)wide[0], (const uint8_t *)wide[1]};
    for (int r = 0; r < 2; r++)
        for (uint32_t i = 0; i < b->channels; i++)
            wide[r][i] = rows[r][i];
    if (b->units == 2)
        columns_of_two(src, step, 1, _mm512_setzero_si512(), packed);
    else
        columns_of_one(src, step, 1, 0xffff, _mm256_setzero_si256(), packed);
}

qrn_status qrn_depthwise16_avx512vnni(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack};
    return qrn_depthwise16_run(k, &kernel, qrn_depthwise_wide_avx512);
}
