// SPDX-License-Identifier: MIT
//
// Strips of depthwise8.h for 64-bit ARM with dot products: an instruction adds four taps to each of
// four sums, and four registers are a unit of 16 channels. Both operands of the instruction are
// signed, so unsigned values are gathered XOR 0x80. Windows of 3 and 5 columns are unrolled: the
// weights of a row stay in registers for all cells of it.
#include "kernels/conv/depthwise8.h"
#include "kernels/conv/depthwise_q8.h"

#include <arm_neon.h>
#include <string.h>

#define MOST_UNITS QRN_DEPTHWISE8_UNITS
#define INLINE static inline __attribute__((always_inline))
#define QUADS 4 // registers of a unit
#define CELLS 4 // of a tile

_Static_assert(QRN_DEPTHWISE8_UNITS == 1, "channels of a block lie in their own order");

// Copies of what a strip says: stores of bytes might change it, as far as the compiler knows.
typedef struct constants {
    float32x4_t start;
    uint8x16_t flip;
    uint16_t edge;
    const qrn_depthwise8_terms *terms;
    size_t cell, channels;
} constants;

static constants constants_of(const qrn_strip *s) {
    const qrn_depthwise8_job *j = s->plan->job;
    return (constants){vdupq_n_f32(j->start), vdupq_n_u8(j->flip), j->edge, s->terms, s->cell,
                       s->block->channels};
}

INLINE void store(const constants *c, uint8_t *y, int16x8_t low, int16x8_t high) {
    uint8_t bytes[QRN_STRIP_UNIT];
    uint8x16_t v = veorq_u8(vqmovun_high_s16(vqmovun_s16(low), high), c->flip);
    if (c->channels == QRN_STRIP_UNIT) {
        vst1q_u8(y, v);
        return;
    }
    vst1q_u8(bytes, v);
    memcpy(y, bytes, c->channels);
}

// Sums [4h, 4h + 8) as fixed-point numbers, 16 bits behind the point: returns whole parts, and
// keeps the least fractions. Too large a number has the largest fraction, too small a number has 0.
INLINE int16x8_t whole_parts(const constants *c, const int h, const int32x4_t *acc,
                             uint16x8_t *least) {
    uint16x8_t v[2];
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++)
        v[u] = vreinterpretq_u16_s32(vcvtnq_s32_f32(
            vfmaq_f32(c->start, vcvtq_f32_s32(acc[u]), vld1q_f32(c->terms->m[0] + 4 * (h + u)))));
    *least = vminq_u16(*least, vuzp1q_u16(v[0], v[1]));
    return vreinterpretq_s16_u16(vuzp2q_u16(v[0], v[1]));
}

// Any window, one cell.
static void cell_sums(const qrn_strip *s, const qrn_strip_row *row, size_t cell, int32x4_t *acc) {
    const qrn_depthwise8_terms *b = s->terms;
    const int8_t *w = (const int8_t *)row->w;
    for (int i = 0; i < QUADS; i++)
        acc[i] = vld1q_s32(b->bias[0] + 4 * i);
    for (size_t g = 0; g < s->groups; g++) {
        const int8_t *x = (const int8_t *)row->x + g * s->plane + cell * s->step * QRN_STRIP_VECTOR;
        for (size_t t = 0; t < s->taps; t++, x += s->spread * QRN_STRIP_VECTOR, w += 64)
            for (int i = 0; i < QUADS; i++)
                acc[i] = vdotq_s32(acc[i], vld1q_s8(x + 16 * i), vld1q_s8(w + 16 * i));
    }
}

// The double decides.
static __attribute__((noinline)) void decide(const qrn_strip *s, const qrn_strip_row *row,
                                             size_t cell) {
    const qrn_depthwise8_job *j = s->plan->job;
    const qrn_depthwise8_terms *b = s->terms;
    qrn_requant8 r = j->requant;
    int32x4_t acc[QUADS];
    int32_t lane[QRN_STRIP_UNIT];
    cell_sums(s, row, cell, acc);
    r.exact = b->exact[0];
    for (int i = 0; i < QUADS; i++)
        vst1q_s32(lane + 4 * i, acc[i]);
    for (size_t c = 0; c < s->block->channels; c++)
        row->y[cell * s->cell + c] = qrn_requant8_exact(&r, c, lane[c]);
}

static void singles(const qrn_strip *s) {
    const constants c = constants_of(s);
    for (size_t r = 0; r < s->n_rows; r++)
        for (size_t cell = 0; cell < s->cells; cell++) {
            int32x4_t acc[QUADS];
            uint16x8_t least = vdupq_n_u16(UINT16_MAX);
            cell_sums(s, &s->row[r], cell, acc);
            int16x8_t low = whole_parts(&c, 0, acc, &least);
            store(&c, s->row[r].y + cell * c.cell, low, whole_parts(&c, 2, acc + 2, &least));
            if (vminvq_u16(least) <= c.edge)
                decide(s, &s->row[r], cell);
        }
}

// Where a tile lies.
typedef struct tile_place {
    const int8_t *x, *w;
    size_t plane;
    uint8_t *y;
} tile_place;

// Registers h and h + 1 of all cells of a tile, so that sums, weights and inputs have room. Each
// vector of groups is read once for all the windows it lies in.
INLINE void tile_sums(const tile_place *at, const constants *c, const int h, const int k,
                      const int step, int32x4_t (*acc)[2]) {
    const int8_t *x = at->x + 16 * h, *w = at->w + 16 * h;
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++) {
        const int32x4_t bias = vld1q_s32(c->terms->bias[0] + 4 * (h + u));
#pragma GCC unroll 4
        for (int o = 0; o < CELLS; o++)
            acc[o][u] = bias;
    }
#pragma GCC unroll 2
    for (int g = 0; g < (k + 3) / 4; g++, x += at->plane, w += k * QRN_STRIP_VECTOR) {
        int8x16_t weight[5][2];
#pragma GCC unroll 5
        for (int t = 0; t < k; t++)
#pragma GCC unroll 2
            for (int u = 0; u < 2; u++)
                weight[t][u] = vld1q_s8(w + t * QRN_STRIP_VECTOR + 16 * u);
#pragma GCC unroll 11
        for (int i = 0; i < (CELLS - 1) * step + k; i++)
#pragma GCC unroll 2
            for (int u = 0; u < 2; u++) {
                int8x16_t v = vld1q_s8(x + i * QRN_STRIP_VECTOR + 16 * u);
#pragma GCC unroll 4
                for (int o = 0; o < CELLS; o++)
                    if (i >= o * step && i < o * step + k)
                        acc[o][u] = vdotq_s32(acc[o][u], v, weight[i - o * step][u]);
            }
    }
}

// false: some result is not sure.
INLINE bool tile(const tile_place at, const constants *c, const int k, const int step) {
    int16x8_t low[CELLS];
    uint16x8_t least = vdupq_n_u16(UINT16_MAX);
    int32x4_t acc[CELLS][2];
    tile_sums(&at, c, 0, k, step, acc);
#pragma GCC unroll 4
    for (int o = 0; o < CELLS; o++)
        low[o] = whole_parts(c, 0, acc[o], &least);
    tile_sums(&at, c, 2, k, step, acc);
#pragma GCC unroll 4
    for (int o = 0; o < CELLS; o++)
        store(c, at.y + (size_t)o * c->cell, low[o], whole_parts(c, 2, acc[o], &least));
    return vminvq_u16(least) > c->edge;
}

// The last tile of a row ends with it and may compute some cells again.
#define TILES(K, STEP)                                                                             \
    static __attribute__((noinline)) void tiles_##K##_##STEP(const qrn_strip *s) {                 \
        const constants c = constants_of(s);                                                       \
        const size_t cells = s->cells, plane = s->plane;                                           \
        for (size_t r = 0; r < s->n_rows; r++) {                                                   \
            const qrn_strip_row row = s->row[r];                                                   \
            for (size_t cell = 0; cell < cells; cell += CELLS) {                                   \
                size_t o = cell + CELLS <= cells ? cell : cells - CELLS;                           \
                const int8_t *x = (const int8_t *)row.x + o * STEP * QRN_STRIP_VECTOR;             \
                tile_place at = {x, (const int8_t *)row.w, plane, row.y + o * c.cell};             \
                if (__builtin_expect(!tile(at, &c, K, STEP), 0))                                   \
                    for (size_t i = 0; i < CELLS; i++)                                             \
                        decide(s, &row, o + i);                                                    \
            }                                                                                      \
        }                                                                                          \
    }
TILES(3, 1)
TILES(3, 2)
TILES(5, 1)
TILES(5, 2)

static void strip(const qrn_strip *s) {
    static void (*const tiles[2][2])(const qrn_strip *) = {{tiles_3_1, tiles_3_2},
                                                           {tiles_5_1, tiles_5_2}};
    bool fits = (s->taps == 3 || s->taps == 5) && s->rows == s->taps && s->spread == 1 &&
                s->step <= 2 && s->cells >= CELLS;
    (fits ? tiles[s->taps == 5][s->step - 1] : singles)(s);
}

// n columns of four rows. ST4 puts their bytes side by side; llvm-mca 19 gives it 3.1 cycles on
// Cortex-X4, 6.0 on Neoverse V2 and 1.0 on Oryon, and 8 zips with 4 stores 6.0, 3.1 and 2.1.
INLINE void columns_of(size_t channels, const uint8_t *const *src, const size_t *step, size_t n,
                       uint8_t flip, uint8_t *to) {
    const uint8_t *x0 = src[0], *x1 = src[1], *x2 = src[2], *x3 = src[3];
    const size_t s0 = step[0], s1 = step[1], s2 = step[2], s3 = step[3];
    const uint8x16_t flips = vdupq_n_u8(flip);
    uint8_t part[4][QRN_STRIP_UNIT] = {{0}};
    for (size_t i = 0; i < n; i++, x0 += s0, x1 += s1, x2 += s2, x3 += s3) {
        uint8x16x4_t row;
        const uint8_t *at[4] = {x0, x1, x2, x3};
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            if (channels < QRN_STRIP_UNIT)
                at[r] = memcpy(part[r], at[r], channels);
            row.val[r] = veorq_u8(vld1q_u8(at[r]), flips);
        }
        vst4q_u8(to + i * QRN_STRIP_VECTOR, row);
    }
}

static void columns(const qrn_strip_block *b, const uint8_t *const *src, const size_t *step,
                    size_t n, uint8_t flip, uint8_t *to) {
    if (b->channels == QRN_STRIP_UNIT)
        columns_of(QRN_STRIP_UNIT, src, step, n, flip, to);
    else
        columns_of(b->channels, src, step, n, flip, to);
}

static void strip_gather(const qrn_strip_plan *p, const qrn_strip_block *b, size_t rows,
                         const uint8_t *const *src, const size_t *step, size_t n, uint8_t *to) {
    (void)rows; // those beyond have weights of 0
    columns(b, src, step, n, p->flip ? 0x80 : 0, to);
}

static void strip_pad(const qrn_strip_plan *p, uint8_t *to, size_t bytes) {
    memset(to, p->pad[0] ^ (p->flip ? 0x80 : 0), bytes);
}

#include "kernels/conv/depthwise_strips.inc"

static void pack(const qrn_strip_block *b, const int8_t *const *rows, uint8_t *packed) {
    static const size_t step[4];
    columns(b, (const uint8_t *const *)rows, step, 1, 0, packed);
}

qrn_status qrn_depthwise8_neondot(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack, .is_signed = true};
    return qrn_depthwise8_run(k, &kernel, qrn_depthwise_q8_neon);
}
