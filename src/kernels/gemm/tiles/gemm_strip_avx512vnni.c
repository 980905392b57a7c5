// SPDX-License-Identifier: MIT
//
// Many rows times one panel for AVX-512 VNNI, where sums are short: 6 rows of 32 columns or 12 rows
// of 16 at a time, and while one tile is multiplied, the accumulators of the tile before it are
// requantized. Multiplications keep half of the machine's pipes busy, requantization the others,
// but only where both stand close enough to each other in the code. So doubtful results are found
// without comparisons, which would compete with the multiplications for their pipes: see `convert`.
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx512.h"

#include <string.h>

#define VECTORS 12 // of a tile
#define TILES 64   // of a call
#define SHARES 4   // steps of a tile that see to the tile before
#define INLINE static inline __attribute__((always_inline))

// A call.
typedef struct strip {
    qrn_requant8_vectors requant;
    __m512i less, last, ones, column[2];
    const qrn_gemm_q8_tile *t;
    size_t a_row, y_row;
    uint8_t *y;
    __mmask32 mask; // of the columns that exist
} strip;

// A tile whose sums are there.
typedef struct done {
    __m512i acc[VECTORS];
    __m512i u[4]; // of the vectors at hand
    __m512i sure; // bit 15 of lanes in which all results are
    size_t tile;  // its number
    size_t n_open;
    uint16_t open[TILES]; // numbers of tiles with results that are not sure
} done;

static inline int32_t four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

// _mm512_dpbusd_epi32; around the intrinsic gcc 12 copies and spills every accumulator.
static inline __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

// u of sums, not clamped, from the bits of t less the fractions that are not sure. A fraction that
// is one of these borrows from u, whose last bit then is another than that of t.
INLINE void convert(const strip *s, done *d, const int i, const int vectors) {
    __m512 sum = _mm512_cvtepi32_ps(d->acc[i]);
    __m512i bits =
        _mm512_castps_si512(_mm512_fmadd_ps(sum, s->requant.m[i % vectors], s->requant.base));
    __m512i less = _mm512_sub_epi32(bits, s->less);
    d->sure = i == 0 ? _mm512_ternarylogic_epi32(bits, less, bits, 0x99) // ~(less ^ bits)
                     : _mm512_ternarylogic_epi32(d->sure, less, bits, 0x90);
    d->u[i % 4] = _mm512_srai_epi32(less, QRN_REQUANT8_FRACTION);
}

// Stores the results of four vectors, the last of which is number i.
INLINE void store(const strip *s, const done *d, const int i, const int vectors, const bool whole) {
    const int first = (i - 3) / vectors;
    const size_t step = s->y_row;
    uint8_t *y = s->y + (d->tile * (VECTORS / (size_t)vectors) + (size_t)first) * step;
    __m512i words = _mm512_xor_si512(_mm512_packus_epi32(d->u[0], d->u[1]), s->ones);
    __m512i more = _mm512_xor_si512(_mm512_packus_epi32(d->u[2], d->u[3]), s->ones);
    __m512i q = _mm512_packus_epi16(words, more);
    q = whole ? qrn_requant8_order(&s->requant, q) : qrn_requant8_clamp(&s->requant, q);
    if (vectors == 1 && whole) { // rows lie side by side
        _mm512_storeu_si512(y, q);
    } else if (vectors == 2 && whole) {
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(q));
        _mm256_storeu_si256((__m256i *)(y + step), _mm512_extracti64x4_epi64(q, 1));
    } else if (vectors == 2) {
        _mm256_mask_storeu_epi8(y, s->mask, _mm512_castsi512_si256(q));
        _mm256_mask_storeu_epi8(y + step, s->mask, _mm512_extracti64x4_epi64(q, 1));
    } else {
        __mmask16 mask = (__mmask16)s->mask;
        _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(q));
        _mm_mask_storeu_epi8(y + step, mask, _mm512_extracti32x4_epi32(q, 1));
        _mm_mask_storeu_epi8(y + 2 * step, mask, _mm512_extracti32x4_epi32(q, 2));
        _mm_mask_storeu_epi8(y + 3 * step, mask, _mm512_extracti32x4_epi32(q, 3));
    }
}

INLINE void epilogue(const strip *s, done *d, const int i, const int vectors, const bool whole) {
    convert(s, d, i, vectors);
    if (i % 4 == 3)
        store(s, d, i, vectors, whole);
}

// Keeps the number of a tile for later where some result is not sure: a call between products would
// cost more than all that follows from it.
INLINE void check(const strip *s, done *d) {
    d->open[d->n_open] = (uint16_t)d->tile;
    d->n_open += _mm512_test_epi32_mask(d->sure, s->last) != 0xffff;
}

// One step of a tile; share: of the tile before that is done along with it, or -1.
INLINE void add_step(const strip *s, const uint8_t *a, const int8_t *b, __m512i *acc, done *d,
                     const int share, const int vectors, const bool whole) {
    const int rows = VECTORS / vectors, each = VECTORS / SHARES;
    size_t step = s->a_row;
    __m512i b0 = _mm512_loadu_si512(b), b1 = b0;
    if (vectors == 2)
        b1 = _mm512_loadu_si512(b + 64);
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        __m512i x = _mm512_set1_epi32(four_bytes(a + (size_t)r * step));
        acc[r * vectors] = dot(acc[r * vectors], x, b0);
        if (vectors == 2)
            acc[r * vectors + 1] = dot(acc[r * vectors + 1], x, b1);
        if (share >= 0 && (r + 1) * each / rows > r * each / rows)
            epilogue(s, d, share * each + r * each / rows, vectors, whole);
    }
}

// The sums of tile `number`; meanwhile d, unless it is the first, is requantized, and then the next
// to do so.
INLINE void tile(const strip *s, size_t number, const char *ahead, size_t stride, done *d,
                 const bool first, const int vectors, const bool whole) {
    const uint8_t *a = s->t->a + number * (VECTORS / (size_t)vectors) * s->a_row;
    const int8_t *b = s->t->b;
    size_t k = 0, depth = s->t->steps * QRN_Q8_DEPTH;
    __m512i acc[VECTORS];
#pragma GCC unroll 12
    for (int i = 0; i < VECTORS; i++)
        acc[i] = s->column[i % vectors];
    if (!first) {
#pragma GCC unroll 4
        for (int share = 0; share < SHARES; share++, b += 128, ahead += stride) {
            _mm_prefetch(ahead, _MM_HINT_T1);
            add_step(s, a + share * QRN_Q8_DEPTH, b, acc, d, share, vectors, whole);
        }
        check(s, d);
        k = SHARES * QRN_Q8_DEPTH;
    }
    for (; k < depth; k += QRN_Q8_DEPTH, b += 128, ahead += stride) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        add_step(s, a + k, b, acc, d, -1, vectors, whole);
    }
#pragma GCC unroll 12
    for (int i = 0; i < VECTORS; i++)
        d->acc[i] = acc[i];
    d->tile = number;
}

// The results of a tile that are not sure, from sums that are computed once more.
INLINE void decide(const strip *s, size_t number, const int vectors) {
    const size_t row = number * (VECTORS / (size_t)vectors);
    const __m512i sure = _mm512_set1_epi32((int32_t)s->t->requant->sure);
    __m512i acc[VECTORS];
    __mmask16 lanes[VECTORS];
#pragma GCC unroll 12
    for (int i = 0; i < VECTORS; i++)
        acc[i] = s->column[i % vectors];
    for (size_t k = 0; k < s->t->steps; k++)
        add_step(s, s->t->a + row * s->a_row + k * QRN_Q8_DEPTH, s->t->b + k * 128, acc, NULL, -1,
                 vectors, false);
#pragma GCC unroll 12
    for (int i = 0; i < VECTORS; i++) {
        __m512 t =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[i]), s->requant.m[i % vectors], s->requant.base);
        lanes[i] = _mm512_mask_testn_epi32_mask((__mmask16)(s->mask >> i % vectors * 16),
                                                _mm512_castps_si512(t), sure);
    }
    for (size_t i = 0; i < VECTORS; i++) {
        size_t col = i % (size_t)vectors * 16;
        if (lanes[i])
            qrn_requant8_exact_lanes(s->t->requant, acc[i], col, lanes[i],
                                     s->y + (row + i / (size_t)vectors) * s->y_row + col);
    }
}

// n tiles.
INLINE void run(const strip *s, size_t n, const int vectors, const bool whole) {
    const char *ahead = (const char *)s->t->b + s->t->next;
    size_t stride = s->t->next ? QRN_PANEL * QRN_Q8_DEPTH / n : 0;
    done d = {.n_open = 0};
    tile(s, 0, ahead, stride, &d, true, vectors, whole);
    for (size_t i = 1; i < n; i++) {
        ahead += s->t->steps * stride;
        tile(s, i, ahead, stride, &d, false, vectors, whole);
    }
#pragma GCC unroll 12
    for (int i = 0; i < VECTORS; i++)
        epilogue(s, &d, i, vectors, whole);
    check(s, &d);
    for (size_t i = 0; i < d.n_open; i++)
        decide(s, d.open[i], vectors);
}

uint32_t qrn_gemm_q8_strip_avx512vnni(const qrn_gemm_q8_tile *t) {
    const uint32_t vectors = t->cols > 16 ? 2 : 1, height = VECTORS / vectors;
    const uint32_t n = t->rows / height < TILES ? t->rows / height : TILES;
    strip s = {.t = t, .requant = qrn_requant8_vectors_of(t->requant)};
    // With t from 2 to 4 instead of 256 to 512 the bits above the fraction are 2^15 + u, which
    // becomes u by a change of sign.
    const __m512 scale = _mm512_set1_ps(0x1p-7f);
    s.requant.base = _mm512_mul_ps(s.requant.base, scale);
    s.requant.m[0] = _mm512_mul_ps(s.requant.m[0], scale);
    s.requant.m[1] = _mm512_mul_ps(s.requant.m[1], scale);
    s.ones = _mm512_set1_epi16(INT16_MIN);
    s.less = _mm512_set1_epi32((int32_t)(0x8000 - t->requant->sure));
    s.last = _mm512_set1_epi32(1 << QRN_REQUANT8_FRACTION);
    s.column[0] = _mm512_loadu_si512(t->column);
    s.column[1] = _mm512_loadu_si512(t->column + 16);
    s.mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1;
    s.a_row = t->a_row;
    s.y_row = t->y_row;
    s.y = t->y;
    if (vectors == 1 && s.requant.plain && t->cols == 16 && t->y_row == 16)
        run(&s, n, 1, true);
    else if (vectors == 1)
        run(&s, n, 1, false);
    else if (s.requant.plain && t->cols == 32)
        run(&s, n, 2, true);
    else
        run(&s, n, 2, false);
    return n * height;
}
