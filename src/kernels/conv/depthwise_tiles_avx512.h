// SPDX-License-Identifier: MIT
//
// Strips of depthwise_strips.h in vectors of AVX-512: sums, and which function does a strip. The
// file that includes it has `dot`, an instruction that adds the products of groups.
//
// Windows of 3 and 5 columns are unrolled. A tile is n cells of a row, some units each: the weights
// of a row of the window stay in registers, and each vector of groups is read once for all the
// windows it lies in. Cells are finished as soon as their sums are there, so that the instructions
// of both take turns.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_TILES_AVX512_H
#define QRN_KERNELS_CONV_DEPTHWISE_TILES_AVX512_H

#include "kernels/conv/depthwise_avx512.h"

#define MOST_CELLS 8    // of a tile
#define MOST_WEIGHTS 12 // vectors that stay in registers

// A tile, or some units of it; of the file.
typedef struct tile_part tile_part;

INLINE __m512i dot(__m512i acc, __m512i x, __m512i w);
// What sums of unit `unit` of a tile start with.
INLINE __m512i begun(const tile_part *p, const int unit);
// The sums of units [first, first + m) of cell o of a tile, of `units`, are there.
INLINE void epilogue(tile_part *p, const int units, const int first, const int m, const int o,
                     __m512i (*acc)[4]);

// Where a tile lies: its first vectors and weights.
typedef struct tile_place {
    const uint8_t *x, *w;
    size_t plane, column; // bytes
    size_t next, tap; // bytes from cell to cell and from tap to tap, where columns are not shared
} tile_place;

// How a tile is computed: all constants.
typedef struct tile_shape {
    int units, unit, m; // units [unit, unit + m) of `units`
    int n, k;           // cells, and columns of a window
    int step;           // columns from cell to cell, with taps next to each other; 0: any columns,
                        // which are not shared
    int groups;         // that are added
    bool first, last;   // sums begin with them, or are complete with them
} tile_shape;

// Column i of a tile, or all columns of cell i where they are not shared.
INLINE void tile_column(const tile_place *at, const tile_shape h, const int i,
                        __m512i (*weight)[5][4], tile_part *p, __m512i (*acc)[4]) {
    const int taps = h.step ? 1 : h.k, begins = h.step ? i / h.step : i;
    if (h.first && begins < h.n && (!h.step || i % h.step == 0))
#pragma GCC unroll 4
        for (int u = 0; u < h.m; u++)
            acc[begins][u] = begun(p, h.unit + u);
#pragma GCC unroll 3
    for (int g = 0; g < h.groups; g++)
#pragma GCC unroll 5
        for (int q = 0; q < taps; q++)
#pragma GCC unroll 4
            for (int u = 0; u < h.m; u++) {
                const size_t column =
                    h.step ? (size_t)i * at->column : (size_t)i * at->next + (size_t)q * at->tap;
                __m512i v = vector_at(at->x + (size_t)g * at->plane + column + (size_t)u * 64);
                if (!h.step)
                    acc[i][u] = dot(acc[i][u], v, weight[g][q][u]);
#pragma GCC unroll 8
                for (int o = 0; o < h.n; o++)
                    if (h.step && i >= o * h.step && i < o * h.step + h.k)
                        acc[o][u] = dot(acc[o][u], v, weight[g][i - o * h.step][u]);
            }
}

// What is complete with the column before column i: results have to wait for sums.
INLINE void tile_results(const tile_shape h, const int i, tile_part *p, __m512i (*acc)[4]) {
    const int since = h.step ? i - h.k : i - 1, step = h.step ? h.step : 1;
    if (since >= 0 && since % step == 0)
        epilogue(p, h.units, h.unit, h.m, since / step, acc);
}

// Adds some groups to the sums of all cells. gcc 12 does not unroll loops that become this long.
INLINE void tile_groups(const tile_place *at, const tile_shape h, tile_part *p, __m512i (*acc)[4]) {
    const int columns = h.step ? (h.n - 1) * h.step + h.k : h.n;
    __m512i weight[3][5][4];
#pragma GCC unroll 3
    for (int g = 0; g < h.groups; g++)
#pragma GCC unroll 5
        for (int t = 0; t < h.k; t++)
#pragma GCC unroll 4
            for (int u = 0; u < h.m; u++)
                weight[g][t][u] =
                    vector_at(at->w + (size_t)(g * h.k + t) * at->column + (size_t)u * 64);
#define COLUMN(i)                                                                                  \
    if (i < columns)                                                                               \
        tile_column(at, h, i, weight, p, acc);                                                     \
    if (i <= columns && h.last)                                                                    \
    tile_results(h, i, p, acc)
#ifdef __clang__
#pragma clang loop unroll(full)
    for (int i = 0; i <= columns; i++) {
        COLUMN(i);
    }
#else
    SIXTEEN(COLUMN);
    COLUMN(16);
    COLUMN(17);
    COLUMN(18);
    COLUMN(19);
#endif
#undef COLUMN
}

// Units [unit, unit + m) of a tile of n cells from `cell` on, for windows of so many groups.
INLINE void tile_run(const qrn_strip *s, const qrn_strip_row *row, size_t cell, const int units,
                     const int unit, const int m, const int n, const int k, const int groups,
                     const int step, tile_part *p) {
    const size_t column = (size_t)units * 64;
    const int together = k * groups * m <= MOST_WEIGHTS ? groups : 1;
    tile_place at = {.x = row->x + cell * (step ? (size_t)step : s->step) * column +
                          (size_t)unit * 64,
                     .w = row->w + (size_t)unit * 64,
                     .plane = s->plane,
                     .column = column,
                     .next = s->step * column,
                     .tap = s->spread * column};
    tile_shape h = {units, unit, m, n, k, step, 1, true, false};
    __m512i acc[MOST_CELLS][4];
#pragma GCC unroll 3
    for (int g = 0; g < groups - together; g++) {
        tile_groups(&at, h, p, acc);
        h.first = false;
        at.x += at.plane;
        at.w += (size_t)k * column;
    }
    h.groups = together;
    h.last = true;
    tile_groups(&at, h, p, acc);
}

// Sums of one unit of one cell of any window.
INLINE __m512i cell_sums(const qrn_strip *s, const qrn_strip_row *row, size_t cell, size_t unit,
                         __m512i acc) {
    const size_t column = s->block->units * 64;
    const uint8_t *w = row->w + unit * 64;
    for (size_t g = 0; g < s->groups; g++) {
        const uint8_t *x = row->x + g * s->plane + cell * s->step * column + unit * 64;
        for (size_t t = 0; t < s->taps; t++, x += s->spread * column, w += column)
            acc = dot(acc, _mm512_load_si512(x), _mm512_load_si512(w));
    }
    return acc;
}

// The functions of a file that has `tile`, for n cells from `cell` on, and `single`, for one of any
// window. The last tile of a strip ends with it and may compute some cells again.
#define TILES(U, N, K, STEP)                                                                       \
    static __attribute__((noinline)) void tiles_##U##_##N##_##K##_##STEP(const qrn_strip *s) {     \
        const constants c = constants_of(s, U);                                                    \
        const size_t cells = s->cells;                                                             \
        for (size_t r = 0; r < s->n_rows; r++)                                                     \
            for (size_t cell = 0; cell < cells; cell += N)                                         \
                tile(s, &s->row[r], &c, cell + N <= cells ? cell : cells - N, U, N, K, STEP);      \
    }
#define TILES_OF_UNITS(U, N) TILES(U, N, 3, 1) TILES(U, N, 3, 2) TILES(U, N, 5, 1) TILES(U, N, 5, 2)
#define TILES_APART(U, N) TILES(U, N, 3, 0) TILES(U, N, 5, 0)
typedef void (*strip_fn)(const qrn_strip *);

// Tiles of `size` cells, which are functions[k == 5][step]; false: they do not fit.
INLINE bool strip_tiles(const qrn_strip *s, size_t size, const strip_fn (*functions)[3]) {
    const size_t k = s->taps, step = s->spread == 1 && s->step <= 2 ? s->step : 0;
    if ((k != 3 && k != 5) || s->rows != k || s->cells < size || !functions[k == 5][step])
        return false;
    functions[k == 5][step](s);
    return true;
}
INLINE void strip_singles(const qrn_strip *s,
                          void (*single)(const qrn_strip *, const qrn_strip_row *, size_t)) {
    for (size_t r = 0; r < s->n_rows; r++)
        for (size_t cell = 0; cell < s->cells; cell++)
            single(s, &s->row[r], cell);
}

#endif
