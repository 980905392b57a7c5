// SPDX-License-Identifier: MIT
//
// Windows of 3 by 3 on blocks of 64 channels, for AVX-512 VNNI: the rows of depthwise8.h are put
// side by side in registers, column by column, and never written. A tile takes two units of its
// cells, then the other two, so that all it needs over and over stays in registers. Columns outside
// the input are a vector of padding, rows outside it a line of padding.
#include "kernels/conv/depthwise8_avx512.h"

#define CELLS QRN_STRIP_CELLS

typedef struct near_call {
    constants c;
    const qrn_depthwise8_job *job;
    const uint8_t *w; // [3 taps][4 units][64]
} near_call;

// Two units of a tile; copies of what the tile says, which stores of bytes cannot change.
typedef struct near_half {
    constants c;
    const uint8_t *x[3], *pad;
    bool left, right;
    uint8_t *y;
    __m512i weight[3][2], bias[2];
    __m512 m[2];
} near_half;

INLINE void near_load(const uint8_t *const *x, const uint8_t *pad, bool outside, __m512i *row) {
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++)
        row[r] = _mm512_loadu_si512(outside ? pad : x[r]);
}

// Units 2h and 2h + 1 of a column: the fourth row has weights of 0.
INLINE void near_units(const __m512i *row, const int h, __m512i *v) {
    __m512i a = h ? _mm512_unpackhi_epi8(row[0], row[1]) : _mm512_unpacklo_epi8(row[0], row[1]);
    __m512i b = h ? _mm512_unpackhi_epi8(row[2], row[2]) : _mm512_unpacklo_epi8(row[2], row[2]);
    v[0] = _mm512_unpacklo_epi16(a, b);
    v[1] = _mm512_unpackhi_epi16(a, b);
}

// The sums of cell o are there. part: whole parts of the first half.
INLINE void near_epilogue(const near_half *q, const int h, const int o, const __m512i *acc,
                          __m512i *part, __m512i *least, __m512i *worst) {
    __m512i x[2];
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++)
        x[u] = _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[u]), q->m[u], q->c.start));
    least[o] = _mm512_min_epu16(x[0], x[1]);
    *worst = _mm512_min_epu16(*worst, least[o]);
    if (h)
        store(&q->c, 4, false, q->y + (size_t)o * q->c.cell, part[o], whole(&q->c, x[0], x[1]));
    else
        part[o] = whole(&q->c, x[0], x[1]);
}

// Column i, and the cell that is complete with the one before it: results have to wait for sums.
INLINE void near_column(near_half *q, const int h, const int i, const int step, __m512i (*acc)[2],
                        __m512i *part, __m512i *least, __m512i *worst) {
    const int last = (CELLS - 1) * step + 2, ends = i - 3;
    if (i <= last) {
        __m512i row[3], v[2];
        near_load(q->x, q->pad, i == 0 ? q->left : i == last && q->right, row);
        near_units(row, h, v);
#pragma GCC unroll 3
        for (int r = 0; r < 3; r++)
            q->x[r] += q->c.cell;
#pragma GCC unroll 2
        for (int u = 0; u < 2; u++)
#pragma GCC unroll 7
            for (int o = 0; o < CELLS; o++) {
                if (i == o * step)
                    acc[o][u] = q->bias[u];
                if (i >= o * step && i < o * step + 3)
                    acc[o][u] = dot(acc[o][u], v[u], q->weight[i - o * step][u]);
            }
    }
    if (ends >= 0 && ends % step == 0)
        near_epilogue(q, h, ends / step, acc[ends / step], part, least, worst);
}

INLINE void near_pass(const qrn_strip_tile *t, const constants c, const uint8_t *w, const int h,
                      const int step, __m512i *part, __m512i *least, __m512i *worst) {
    const int columns = (CELLS - 1) * step + 3;
    const qrn_depthwise8_terms *terms = c.terms;
    __m512i acc[CELLS][2];
    near_half q;
    q.c = c;
    q.pad = t->pad;
    q.left = t->left;
    q.right = t->right;
    q.y = t->y;
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++)
        q.x[r] = t->x[r];
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++) {
        q.bias[u] = _mm512_load_si512(terms->bias[2 * h + u]);
        q.m[u] = _mm512_load_ps(terms->m[2 * h + u]);
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++)
            q.weight[k][u] = vector_at(w + k * 256 + (2 * h + u) * 64);
    }
#define COLUMN(i)                                                                                  \
    if (i <= columns)                                                                              \
    near_column(&q, h, i, step, acc, part, least, worst)
    SIXTEEN(COLUMN);
#undef COLUMN
}

// Cell o by the definition.
static __attribute__((noinline)) void near_single(const qrn_strip_tile *t, const near_call *call,
                                                  int step, int o) {
    const constants *c = &call->c;
    const int last = (CELLS - 1) * step + 2;
    __m512i acc[4];
    for (int u = 0; u < 4; u++)
        acc[u] = _mm512_load_si512(c->terms->bias[u]);
    for (int k = 0; k < 3; k++) {
        const int i = o * step + k;
        const uint8_t *x[3];
        __m512i row[3], v[4];
        for (int r = 0; r < 3; r++)
            x[r] = t->x[r] + (size_t)i * c->cell;
        near_load(x, t->pad, i == 0 ? t->left : i == last && t->right, row);
        near_units(row, 0, v);
        near_units(row, 1, v + 2);
        for (int u = 0; u < 4; u++)
            acc[u] = dot(acc[u], v[u], _mm512_load_si512(call->w + k * 256 + u * 64));
    }
    for (int u = 0; u < 4; u++)
        acc[u] = decided_unit(call->job, c->terms->exact[u], acc[u]);
    store(c, 4, true, t->y + (size_t)o * c->cell, whole(c, acc[0], acc[1]),
          whole(c, acc[2], acc[3]));
}

static __attribute__((noinline)) void near_unsure(const qrn_strip_tile *t, const near_call *call,
                                                  int step, const __m512i (*least)[CELLS]) {
    for (int o = 0; o < CELLS; o++) {
        __m512i worst = _mm512_min_epu16(least[0][o], least[1][o]);
        if (_mm512_mask_cmple_epu16_mask(0x55555555, worst, call->c.edge))
            near_single(t, call, step, o);
    }
}

#define NEAR(STEP)                                                                                 \
    static void near_##STEP(const qrn_strip_tile *t, const void *of) {                             \
        const near_call *call = of;                                                                \
        const constants c = call->c;                                                               \
        __m512i worst = _mm512_set1_epi8(-1), part[CELLS], least[2][CELLS];                        \
        near_pass(t, c, call->w, 0, STEP, part, least[0], &worst);                                 \
        near_pass(t, c, call->w, 1, STEP, part, least[1], &worst);                                 \
        if (__builtin_expect(_mm512_mask_cmple_epu16_mask(0x55555555, worst, c.edge), 0))          \
            near_unsure(t, call, STEP, least);                                                     \
    }
NEAR(1)
NEAR(2)

bool qrn_depthwise8_three(const qrn_strip_plan *p, const qrn_strip_block *b, const uint8_t *terms,
                          size_t row, size_t n_rows) {
    static const qrn_strip_tile_fn steps[2] = {near_1, near_2};
    const qrn_strip s = {.terms = terms, .cell = p->g.cin, .block = b, .plan = p};
    if (p->flip || b->units < 4)
        return false;
    const near_call call = {constants_of(&s, 4), p->job, terms + p->terms_bytes};
    return qrn_strip_three(p, b, row, n_rows, steps, &call);
}
