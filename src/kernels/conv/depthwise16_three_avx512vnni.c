// SPDX-License-Identifier: MIT
//
// Windows of 3 by 3 on blocks of 32 channels, for AVX-512 VNNI: the rows of depthwise16.h are put
// side by side in registers, column by column, and never written.
#include "kernels/conv/depthwise16_avx512.h"

#define CELLS QRN_STRIP_CELLS

typedef struct near_call {
    constants c;
    __m512i flip;     // XOR of x
    const uint8_t *w; // [2 groups][3 taps][2 units][64]
} near_call;

// A tile; copies of what others say, which stores of words cannot change.
typedef struct near_tile {
    near_call k;
    qrn_strip_tile at;
    __m512i weight[2][3][2];
} near_tile;

// The groups of a column: rows 0 and 1, and row 2 with itself, as its neighbour has weights of 0.
INLINE void near_units(const near_tile *q, bool outside, __m512i (*v)[2]) {
    __m512i row[3];
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++)
        row[r] = _mm512_xor_si512(_mm512_loadu_si512(outside ? q->at.pad : q->at.x[r]), q->k.flip);
    v[0][0] = _mm512_unpacklo_epi16(row[0], row[1]);
    v[0][1] = _mm512_unpackhi_epi16(row[0], row[1]);
    v[1][0] = _mm512_unpacklo_epi16(row[2], row[2]);
    v[1][1] = _mm512_unpackhi_epi16(row[2], row[2]);
}

// Column i, and the cell that is complete with the one before it: results have to wait for sums.
INLINE void near_column(near_tile *q, const int i, const int step, __m512i (*acc)[2]) {
    const int last = (CELLS - 1) * step + 2, ends = i - 3;
    const constants *c = &q->k.c;
    const qrn_depthwise16_terms *b = c->terms;
    if (i <= last) {
        __m512i v[2][2];
        near_units(q, i == 0 ? q->at.left : i == last && q->at.right, v);
#pragma GCC unroll 3
        for (int r = 0; r < 3; r++)
            q->at.x[r] += c->cell;
#pragma GCC unroll 7
        for (int o = 0; o < CELLS; o++)
#pragma GCC unroll 2
            for (int u = 0; u < 2; u++) {
                const int t = i - o * step;
                if (t == 0)
                    acc[o][u] = _mm512_load_si512(b->bias[u]);
                if (t < 0 || t > 2)
                    continue;
                acc[o][u] = dot(acc[o][u], v[0][u], q->weight[0][t][u]);
                acc[o][u] = dot(acc[o][u], v[1][u], q->weight[1][t][u]);
            }
    }
    if (ends >= 0 && ends % step == 0)
        store(c, 2, false, q->at.y + (size_t)(ends / step) * c->cell,
              rounded(b, c, 0, acc[ends / step][0]), rounded(b, c, 1, acc[ends / step][1]));
}

INLINE void near_run(const qrn_strip_tile *t, const near_call *call, const int step) {
    const int columns = (CELLS - 1) * step + 3;
    near_tile q = {.k = *call, .at = *t};
    __m512i acc[CELLS][2];
#pragma GCC unroll 2
    for (int g = 0; g < 2; g++)
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++)
#pragma GCC unroll 2
            for (int u = 0; u < 2; u++)
                q.weight[g][k][u] = vector_at(call->w + ((g * 3 + k) * 2 + u) * 64);
#define COLUMN(i)                                                                                  \
    if (i <= columns)                                                                              \
    near_column(&q, i, step, acc)
    SIXTEEN(COLUMN);
#undef COLUMN
}

static void near_1(const qrn_strip_tile *t, const void *of) { near_run(t, of, 1); }
static void near_2(const qrn_strip_tile *t, const void *of) { near_run(t, of, 2); }

bool qrn_depthwise16_three(const qrn_strip_plan *p, const qrn_strip_block *b, const uint8_t *terms,
                           size_t row, size_t n_rows) {
    static const qrn_strip_tile_fn steps[2] = {near_1, near_2};
    const qrn_strip s = {.terms = terms, .cell = 2 * p->g.cin, .block = b, .plan = p};
    const near_call call = {.c = constants_of(&s, 2),
                            .flip = _mm512_set1_epi16((short)(p->flip ? 0x8000 : 0)),
                            .w = terms + p->terms_bytes};
    return qrn_strip_three(p, b, row, n_rows, steps, &call);
}
