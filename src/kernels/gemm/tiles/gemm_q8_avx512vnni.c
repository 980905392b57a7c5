// SPDX-License-Identifier: MIT
//
// Register tiles of up to 12 rows by 8 to 32 columns for AVX-512 VNNI: at most 24 accumulators,
// two vectors of b and broadcast elements of a. An instruction adds four products to each of 16
// sums. Rows are shared evenly among as few tiles as there can be.
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx512.h"

#include <string.h>

#define ROWS 12
#define GROUPS (ROWS * 2 / 4) // of four vectors

static inline int32_t four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// _mm512_dpbusd_epi32; around the intrinsic gcc 12 copies and spills every accumulator, which
// halves the speed.
static inline __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}
// The first 8 sums only, at half the price; the others become 0.
static inline __m512i dot_low(__m512i acc, __m512i x, __m512i b) {
#ifdef __clang__ // newer ones do not know the modifier t, and all use the intrinsic well
    return _mm512_zextsi256_si512(_mm256_dpbusd_epi32(
        _mm512_castsi512_si256(acc), _mm512_castsi512_si256(x), _mm512_castsi512_si256(b)));
#else
    __asm__("vpdpbusd %t2, %t1, %t0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
#endif
}

// What becomes of sums: WHOLE are requantized where all columns exist and nothing needs to be
// clamped, as in most panels.
typedef enum kind { SUMS, REQUANT, WHOLE, KINDS } kind;

// What all tiles of a call share.
typedef struct panel {
    const qrn_gemm_q8_tile *t;
    qrn_requant8_vectors requant;
    __mmask32 mask;    // of the columns that exist
    const char *ahead; // the tile's share of what is wanted next,
    size_t stride;     // and of that a step's
} panel;

// Groups of four vectors of a tile, and the lanes in which all four results are sure.
typedef struct lanes {
    __mmask16 sure[GROUPS];
} lanes;

static void product(const qrn_gemm_q8_tile *t);

// Results of the lanes that are not sure, from sums that are computed once more: keeping all sums
// for the one in a thousand groups that needs them would cost more.
static __attribute__((noinline)) void decide(const qrn_gemm_q8_tile *t, const lanes *l,
                                             uint32_t first, uint32_t rows, uint32_t group_rows) {
    int32_t acc[4 * QRN_PANEL];
    for (uint32_t g = 0; g * group_rows < rows; g++) {
        if (l->sure[g] == 0xffff)
            continue;
        uint32_t left = rows - g * group_rows, row = first + g * group_rows;
        qrn_gemm_q8_tile again = *t;
        again.rows = left < group_rows ? left : group_rows;
        again.a += row * t->a_row;
        again.row = t->row ? t->row + row : NULL;
        again.acc = acc;
        product(&again);
        for (uint32_t i = 0; i < 2 * again.rows; i++) {
            uint32_t col = i % 2 * 16;
            if (col >= t->cols)
                continue;
            uint32_t mask = t->cols < col + 16 ? 0xffffu >> (col + 16 - t->cols) : 0xffffu;
            __m512i sum = _mm512_loadu_si512(acc + i * 16);
            qrn_requant8_exact_lanes(t->requant, sum, col, (__mmask16)(mask & ~l->sure[g]),
                                     t->y + (row + i / 2) * t->y_row + col);
        }
    }
}

static inline __attribute__((always_inline)) void store_sums(const panel *p, const __m512i *acc,
                                                             uint32_t first, const int rows,
                                                             const int vectors) {
    int32_t *to = p->t->acc + (size_t)first * QRN_PANEL;
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++)
        _mm512_mask_storeu_epi32(to + i / vectors * QRN_PANEL + i % vectors * 16,
                                 (__mmask16)(p->mask >> i % vectors * 16), acc[i]);
}

// Whole vectors that need no clamping, `rows` of them from y on.
static inline __attribute__((always_inline)) void store_plain(const panel *p, __m512i q, uint8_t *y,
                                                              const int rows, const int vectors) {
    size_t step = p->t->y_row;
    q = qrn_requant8_order(&p->requant, q);
    if (vectors == 2) {
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(q));
        if (rows > 1)
            _mm256_storeu_si256((__m256i *)(y + step), _mm512_extracti64x4_epi64(q, 1));
        return;
    }
    _mm_storeu_si128((__m128i *)y, _mm512_castsi512_si128(q));
    if (rows > 1)
        _mm_storeu_si128((__m128i *)(y + step), _mm512_extracti32x4_epi32(q, 1));
    if (rows > 2)
        _mm_storeu_si128((__m128i *)(y + 2 * step), _mm512_extracti32x4_epi32(q, 2));
    if (rows > 3)
        _mm_storeu_si128((__m128i *)(y + 3 * step), _mm512_extracti32x4_epi32(q, 3));
}

// All others.
static inline __attribute__((always_inline)) void store_any(const panel *p, __m512i q, uint8_t *y,
                                                            const int rows, const int vectors) {
    size_t step = p->t->y_row;
    q = qrn_requant8_clamp(&p->requant, q);
    if (vectors == 2) {
        _mm256_mask_storeu_epi8(y, p->mask, _mm512_castsi512_si256(q));
        if (rows > 1)
            _mm256_mask_storeu_epi8(y + step, p->mask, _mm512_extracti64x4_epi64(q, 1));
        return;
    }
    __mmask16 mask = (__mmask16)p->mask;
    _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(q));
    if (rows > 1)
        _mm_mask_storeu_epi8(y + step, mask, _mm512_extracti32x4_epi32(q, 1));
    if (rows > 2)
        _mm_mask_storeu_epi8(y + 2 * step, mask, _mm512_extracti32x4_epi32(q, 2));
    if (rows > 3)
        _mm_mask_storeu_epi8(y + 3 * step, mask, _mm512_extracti32x4_epi32(q, 3));
}

static inline __attribute__((always_inline)) void epilogue(const panel *p, const __m512i *acc,
                                                           uint32_t first, const int rows,
                                                           const int vectors, const kind what) {
    lanes l;
    __mmask16 all = 0xffff;
    const int n = rows * vectors, step = 4 / vectors;
    uint8_t *y = p->t->y + first * p->t->y_row;
#pragma GCC unroll 6
    for (int g = 0; g * 4 < n; g++, y += (size_t)step * p->t->y_row) {
        __m512i four[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            four[i] = acc[g * 4 + i < n ? g * 4 + i : n - 1];
        __m512i q = qrn_requant8_four(&p->requant, four, vectors, &l.sure[g]);
        if (what == WHOLE)
            store_plain(p, q, y, rows - g * step, vectors);
        else
            store_any(p, q, y, rows - g * step, vectors);
        all &= l.sure[g];
    }
    if (__builtin_expect(all != 0xffff, 0))
        decide(p->t, &l, first, (uint32_t)rows, (uint32_t)step);
}

// Rows are reached from every third one, which needs no more than four base registers.
static inline __attribute__((always_inline)) void tile(const panel *p, uint32_t first,
                                                       const int rows, const int columns,
                                                       const kind what) {
    const int vectors = (columns + 15) / 16, last = vectors - 1;
    const qrn_gemm_q8_tile *t = p->t;
    __m512i acc[ROWS * 2];
    const int8_t *b = t->b;
    const uint8_t *a[(ROWS + 2) / 3];
    size_t step = t->a_row;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 3)
        a[r / 3] = t->a + (first + (size_t)r) * step;
#pragma GCC unroll 24
    for (int i = 0; i < rows * vectors; i++)
        acc[i] = _mm512_loadu_si512(t->column + 16 * (i % vectors));
    if (t->row)
#pragma GCC unroll 24
        for (int i = 0; i < rows * vectors; i++)
            acc[i] =
                _mm512_add_epi32(acc[i], _mm512_set1_epi32(t->row[first + (uint32_t)i / vectors]));
    const char *ahead = p->ahead;
    for (size_t k = 0; k < t->steps * 4; k += 4, b += 128, ahead += p->stride) {
        __m512i b0 = _mm512_loadu_si512(b), b1 = b0;
        if (vectors == 2)
            b1 = _mm512_loadu_si512(b + 64);
        _mm_prefetch(ahead, _MM_HINT_T1);
        _mm_prefetch(ahead + 64, _MM_HINT_T1);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            __m512i x = _mm512_set1_epi32(four_bytes(a[r / 3] + k + (size_t)(r % 3) * step));
            if (vectors == 2)
                acc[r * vectors] = dot(acc[r * vectors], x, b0);
            if (columns % 16)
                acc[r * vectors + last] = dot_low(acc[r * vectors + last], x, b1);
            else
                acc[r * vectors + last] = dot(acc[r * vectors + last], x, b1);
        }
    }
    if (what == SUMS)
        store_sums(p, acc, first, rows, vectors);
    else
        epilogue(p, acc, first, rows, vectors, what);
}

#define ONE(n, what, columns)                                                                      \
    static void what##_##n##x##columns(const panel *p, uint32_t first) {                           \
        tile(p, first, n, columns, what);                                                          \
    }
#define TILE(n)                                                                                    \
    ONE(n, SUMS, 16)                                                                               \
    ONE(n, SUMS, 32)                                                                               \
    ONE(n, REQUANT, 8)                                                                             \
    ONE(n, REQUANT, 16) ONE(n, REQUANT, 24) ONE(n, REQUANT, 32) ONE(n, WHOLE, 16) ONE(n, WHOLE, 32)
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
// By columns: up to 8, 16, 24, 32.
// clang-format off
#define ALL(n)                                                                                     \
    {{SUMS_##n##x16, SUMS_##n##x16, SUMS_##n##x32, SUMS_##n##x32},                                 \
     {REQUANT_##n##x8, REQUANT_##n##x16, REQUANT_##n##x24, REQUANT_##n##x32},                      \
     {NULL, WHOLE_##n##x16, NULL, WHOLE_##n##x32}}
// clang-format on
static void (*const tiles[ROWS][KINDS][4])(const panel *p, uint32_t first) = {
    ALL(1), ALL(2), ALL(3), ALL(4),  ALL(5),  ALL(6),
    ALL(7), ALL(8), ALL(9), ALL(10), ALL(11), ALL(12),
};

static void product(const qrn_gemm_q8_tile *t) {
    uint32_t done = qrn_gemm_q8_is_strip(t) ? qrn_gemm_q8_strip_avx512vnni(t) : 0;
    if (done == t->rows)
        return;
    panel p = {.t = t, .mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1};
    if (!t->acc)
        p.requant = qrn_requant8_vectors_of(t->requant);
    bool whole = p.requant.plain && t->cols % 16 == 0;
    kind what = t->acc ? SUMS : whole ? WHOLE : REQUANT;
    uint32_t left = t->rows - done, n = (left + ROWS - 1) / ROWS;
    p.ahead = (const char *)t->b + t->next;
    p.stride = t->next ? QRN_PANEL * QRN_Q8_DEPTH / n : 0;
    for (uint32_t first = done; n; n--, p.ahead += t->steps * p.stride) {
        uint32_t rows = (left + n - 1) / n;
        tiles[rows - 1][what][(t->cols - 1) / 8](&p, first);
        first += rows;
        left -= rows;
    }
}

static void row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                     int32_t *sums) {
    const __m512i ones = _mm512_set1_epi8(1);
    const __mmask64 rest = ((__mmask64)1 << depth % 64) - 1;
    for (size_t i = 0; i < rows; i++, a += a_row) {
        __m512i sum = _mm512_setzero_si512();
        size_t c = 0;
        for (; c + 64 <= depth; c += 64)
            sum = dot(sum, _mm512_loadu_si512(a + c), ones);
        sum = dot(sum, _mm512_maskz_loadu_epi8(rest, a + c), ones);
        sums[i] = (int32_t)((uint32_t)_mm512_reduce_add_epi32(sum) * (uint32_t)factor);
    }
}

const qrn_gemm_q8_kernel qrn_gemm_q8_12x32_avx512vnni = {.name = "gemm_q8_12x32_avx512vnni",
                                                         .rows = UINT32_MAX,
                                                         .tile = product,
                                                         .row_sums = row_sums,
                                                         .copy = qrn_dense_copy_avx512};
