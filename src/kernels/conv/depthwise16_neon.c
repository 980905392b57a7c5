// SPDX-License-Identifier: MIT
//
// Strips of depthwise16.h for 64-bit ARM: an instruction multiplies four words by four weights and
// adds them to four sums of 32 bits. The two rows of a group lie one behind the other, so a row
// without weights costs nothing. Results become doubles four at a time, and whole numbers of 64
// bits, which are narrowed with saturation. Windows of 3 and 5 columns are unrolled.
#include "kernels/conv/depthwise16.h"
#include "kernels/conv/depthwise_q16.h"

#include <arm_neon.h>
#include <string.h>

#define MOST_UNITS QRN_DEPTHWISE16_UNITS
#define INLINE static inline __attribute__((always_inline))
#define CELLS 4                     // of a tile
#define EIGHT 8                     // channels that are computed together
#define ROW_WORDS QRN_STRIP_UNIT    // of a row of a group
#define GROUP_WORDS (2 * ROW_WORDS) // of a vector

_Static_assert(QRN_DEPTHWISE16_UNITS == 1, "channels of a block lie in their own order");
_Static_assert(QRN_DEPTHWISE16_ROWS == 2, "a vector has two rows of words");

// What eight channels need. Copies of what a strip says: stores of results might change it, as far
// as the compiler knows.
typedef struct constants {
    int32x4_t bias[2];
    float64x2_t m[2][2], start[2][2];
    uint16x8_t flip;
    uint32_t n; // channels that exist
} constants;

INLINE constants constants_of(const qrn_strip *s, uint32_t first) {
    const qrn_depthwise16_terms *t = s->terms;
    const qrn_depthwise16_job *j = s->plan->job;
    uint32_t left = s->block->channels > first ? s->block->channels - first : 0;
    constants c = {.flip = vdupq_n_u16(j->y_flip), .n = left < EIGHT ? left : EIGHT};
    for (uint32_t q = 0; q < 2; q++) {
        uint32_t lane = qrn_depthwise16_lane(1, first + 4 * q);
        c.bias[q] = veorq_s32(vld1q_s32(t->bias[0] + lane), vdupq_n_s32(INT32_MIN));
        for (uint32_t h = 0; h < 2; h++) {
            c.m[q][h] = vld1q_f64(t->m[0][h] + lane / 2);
            c.start[q][h] = vld1q_f64(t->start[0][h] + lane / 2);
        }
    }
    return c;
}

// floor(fma(sum, m, start)) of four sums, as far as 32 bits go.
INLINE int32x4_t rounded(const constants *c, const int q, int32x4_t acc) {
    float64x2_t low = vcvtq_f64_s64(vmovl_s32(vget_low_s32(acc)));
    float64x2_t high = vcvtq_f64_s64(vmovl_high_s32(acc));
    low = vfmaq_f64(c->start[q][0], low, c->m[q][0]);
    high = vfmaq_f64(c->start[q][1], high, c->m[q][1]);
    return vqmovn_high_s64(vqmovn_s64(vcvtmq_s64_f64(low)), vcvtmq_s64_f64(high));
}

INLINE void store(const constants *c, uint8_t *y, const int32x4_t *acc) {
    uint16_t words[EIGHT];
    uint16x8_t v = vqmovun_high_s32(vqmovun_s32(rounded(c, 0, acc[0])), rounded(c, 1, acc[1]));
    v = veorq_u16(v, c->flip);
    if (c->n == EIGHT) {
        vst1q_u16((uint16_t *)(void *)y, v);
        return;
    }
    vst1q_u16(words, v);
    memcpy(y, words, c->n * sizeof *words);
}

INLINE void add(int32x4_t *acc, int16x8_t x, int16x8_t w) {
    acc[0] = vmlal_s16(acc[0], vget_low_s16(x), vget_low_s16(w));
    acc[1] = vmlal_high_s16(acc[1], x, w);
}

// Any window.
static void singles(const qrn_strip *s) {
    const size_t plane = s->plane / 2, step = s->step * GROUP_WORDS;
    for (uint32_t first = 0; first < s->block->channels; first += EIGHT) {
        const constants c = constants_of(s, first);
        for (size_t r = 0; r < s->n_rows; r++)
            for (size_t cell = 0; cell < s->cells; cell++) {
                const int16_t *x = (const int16_t *)(const void *)s->row[r].x + cell * step + first;
                const int16_t *w = (const int16_t *)(const void *)s->row[r].w + first;
                int32x4_t acc[2] = {c.bias[0], c.bias[1]};
                for (size_t g = 0; g < s->groups; g++, x += plane)
                    for (size_t t = 0; t < s->taps; t++, w += GROUP_WORDS) {
                        const int16_t *at = x + t * s->spread * GROUP_WORDS;
                        add(acc, vld1q_s16(at), vld1q_s16(w));
                        add(acc, vld1q_s16(at + ROW_WORDS), vld1q_s16(w + ROW_WORDS));
                    }
                store(&c, s->row[r].y + cell * s->cell + first * 2, acc);
            }
    }
}

// Eight channels of a tile. skip: rows of the first group that have no weights. Each vector of x is
// read once for all the windows it lies in.
INLINE void tile(const int16_t *x, const int16_t *w, size_t plane, const constants *c, uint8_t *y,
                 size_t y_cell, const int k, const int step, const int skip) {
    int32x4_t acc[CELLS][2];
#pragma GCC unroll 4
    for (int o = 0; o < CELLS; o++)
        acc[o][0] = c->bias[0], acc[o][1] = c->bias[1];
#pragma GCC unroll 5
    for (int j = skip; j < skip + k; j++) {
        const int16_t *at = x + (size_t)(j / 2) * plane + j % 2 * ROW_WORDS;
        const int16_t *of = w + j / 2 * k * GROUP_WORDS + j % 2 * ROW_WORDS;
        int16x8_t weight[5];
#pragma GCC unroll 5
        for (int t = 0; t < k; t++)
            weight[t] = vld1q_s16(of + t * GROUP_WORDS);
#pragma GCC unroll 11
        for (int i = 0; i < (CELLS - 1) * step + k; i++) {
            int16x8_t v = vld1q_s16(at + i * GROUP_WORDS);
#pragma GCC unroll 4
            for (int o = 0; o < CELLS; o++)
                if (i >= o * step && i < o * step + k)
                    add(acc[o], v, weight[i - o * step]);
        }
    }
#pragma GCC unroll 4
    for (int o = 0; o < CELLS; o++)
        store(c, y + (size_t)o * y_cell, acc[o]);
}

// The last tile of a row ends with it and may compute some cells again.
INLINE void row_tiles(const qrn_strip *s, const qrn_strip_row *row, const constants *c,
                      uint32_t first, const int k, const int step, const int skip) {
    const int16_t *x = (const int16_t *)(const void *)row->x + first;
    const int16_t *w = (const int16_t *)(const void *)row->w + first;
    const size_t cells = s->cells, plane = s->plane / 2, y_cell = s->cell;
    uint8_t *y = row->y + first * 2;
    for (size_t cell = 0; cell < cells; cell += CELLS) {
        size_t o = cell + CELLS <= cells ? cell : cells - CELLS;
        tile(x + o * (size_t)step * GROUP_WORDS, w, plane, c, y + o * y_cell, y_cell, k, step,
             skip);
    }
}

#define TILES(K, STEP)                                                                             \
    static __attribute__((noinline)) void tiles_##K##_##STEP(const qrn_strip *s) {                 \
        for (uint32_t first = 0; first < s->block->channels; first += EIGHT) {                     \
            const constants c = constants_of(s, first);                                            \
            row_tiles(s, &s->row[0], &c, first, K, STEP, 0);                                       \
            if (s->n_rows == 2 && s->plan->g.stride[1] % 2)                                        \
                row_tiles(s, &s->row[1], &c, first, K, STEP, 1);                                   \
            else if (s->n_rows == 2)                                                               \
                row_tiles(s, &s->row[1], &c, first, K, STEP, 0);                                   \
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

INLINE void columns_of(const size_t channels, const uint8_t *const *src, const size_t *step,
                       size_t n, uint16_t flip, uint8_t *to) {
    const uint16x8_t flips = vdupq_n_u16(flip);
    uint16_t part[QRN_STRIP_UNIT] = {0};
    for (int r = 0; r < 2; r++) {
        const uint8_t *x = src[r];
        uint16_t *row = (uint16_t *)(void *)to + r * ROW_WORDS;
        for (size_t i = 0; i < n; i++, x += step[r], row += GROUP_WORDS) {
            const uint16_t *at = (const uint16_t *)(const void *)x;
            if (channels < QRN_STRIP_UNIT)
                at = memcpy(part, x, channels * sizeof *part);
            vst1q_u16(row, veorq_u16(vld1q_u16(at), flips));
            vst1q_u16(row + EIGHT, veorq_u16(vld1q_u16(at + EIGHT), flips));
        }
    }
}

static void strip_gather(const qrn_strip_plan *p, const qrn_strip_block *b, size_t rows,
                         const uint8_t *const *src, const size_t *step, size_t n, uint8_t *to) {
    const uint16_t flip = p->flip ? 0x8000 : 0;
    (void)rows; // a second one that does not matter is the first one again
    if (b->channels == QRN_STRIP_UNIT)
        columns_of(QRN_STRIP_UNIT, src, step, n, flip, to);
    else
        columns_of(b->channels, src, step, n, flip, to);
}

static void strip_pad(const qrn_strip_plan *p, uint8_t *to, size_t bytes) {
    uint16x8_t pad = vld1q_u16((const uint16_t *)(const void *)p->pad);
    pad = veorq_u16(pad, vdupq_n_u16(p->flip ? 0x8000 : 0));
    for (size_t i = 0; i < bytes; i += sizeof pad)
        vst1q_u16((uint16_t *)(void *)(to + i), pad);
}

#include "kernels/conv/depthwise_strips.inc"

static void pack(const qrn_strip_block *b, const int8_t *const *rows, uint8_t *packed) {
    int16_t words[2][ROW_WORDS] = {{0}};
    for (int r = 0; r < 2; r++)
        for (uint32_t i = 0; i < b->channels; i++)
            words[r][i] = rows[r][i];
    memcpy(packed, words, sizeof words);
}

qrn_status qrn_depthwise16_neon(const qrn_kcall *k) {
    static const qrn_strip_kernel kernel = {strip_rows, strip_channels, pack, .is_signed = true};
    return qrn_depthwise16_run(k, &kernel, qrn_depthwise_q16_neon);
}
