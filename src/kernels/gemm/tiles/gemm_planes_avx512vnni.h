// SPDX-License-Identifier: MIT
//
// Tiles of gemm_planes.h for AVX-512 VNNI, an instruction adding four products of bytes to each of
// 16 sums. 24 accumulators: 12 rows of bytes by 32 columns, or 24 by 16. Templates: numbers of
// rows, planes and vectors, and what weights are like, are constants where they are expanded.
#ifndef QRN_KERNELS_GEMM_PLANES_AVX512VNNI_H
#define QRN_KERNELS_GEMM_PLANES_AVX512VNNI_H

#include "kernels/gemm/tiles/gemm_planes.h"
#include "kernels/gemm/epilogue/requant16_avx512.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define ACCS 24
#define VECS(cols) ((cols) / 16)                               // of 16 columns
#define EIGHT(cols) ((cols) % 16 / 8)                          // and one of 8, with both planes
#define EACH(planes, cols) ((planes)*VECS(cols) + EIGHT(cols)) // accumulators of a row
#define AHEAD 2048       // bytes of weights that are asked for before they are needed
#define ALONE_AHEAD 8192 // by one row: into the second cache

// _mm512_dpbusd_epi32; around the intrinsic gcc 12 copies and spills every accumulator, which
// halves the speed.
INLINE __m512i dot(__m512i acc, __m512i x, __m512i b) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(b));
    return acc;
}

INLINE __m512i four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// Four bytes of both planes.
INLINE __m512i both_planes(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi64(v);
}

// 8 columns, each of them twice, for both planes.
INLINE __m512i twice(const int8_t *b) {
    const __m512i each = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)b);
    return _mm512_permutexvar_epi32(each, _mm512_castsi256_si512(w));
}

// Columns of one step, 32 columns of b from `b` on. w[2]: see EIGHT.
INLINE const int8_t *weights(const int8_t *b, const int cols, const bool nibbles, __m512i w[3]) {
    if (nibbles) {
        // The numbers times 16, as signed bytes. Vectors end up with every other 4 columns.
        const __m512i upper = _mm512_set1_epi8((char)0xf0);
        __m512i v = _mm512_loadu_si512(b), even = _mm512_and_si512(_mm512_slli_epi16(v, 4), upper);
        __m512i odd = _mm512_and_si512(v, upper);
        w[0] = _mm512_unpacklo_epi8(even, odd);
        w[1] = _mm512_unpackhi_epi8(even, odd);
        return b + QRN_PANEL * QRN_Q8_DEPTH / 2;
    }
    for (int v = 0; v < VECS(cols); v++)
        w[v] = _mm512_loadu_si512(b + 64 * v);
    if (EIGHT(cols))
        w[2] = twice(b + 64 * VECS(cols));
    return b + QRN_PANEL * QRN_Q8_DEPTH;
}

// What `weights` made of nibbles and sums put back into order.
INLINE void order(__m512i acc[2]) {
    const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i high =
        _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    __m512i a = _mm512_srai_epi32(acc[0], 4), b = _mm512_srai_epi32(acc[1], 4);
    acc[0] = _mm512_permutex2var_epi32(a, low, b);
    acc[1] = _mm512_permutex2var_epi32(a, high, b);
}

// acc[row * EACH(planes, cols) + plane * VECS(cols) + vector] += rows, row_bytes apart, times
// columns of b; 8 columns are the last of a row. Rows are reached from every third one, which needs
// no more than four base registers.
INLINE void dots(__m512i acc[ACCS], const uint8_t *a, size_t row_bytes, const int8_t *b,
                 size_t steps, const int rows, const int planes, const int cols,
                 const bool nibbles) {
    const int vecs = VECS(cols), each = EACH(planes, cols);
    const uint8_t *third[4];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += 3)
        third[r / 3] = a + (size_t)r * row_bytes;
    for (size_t s = 0; s < steps; s++) {
        __m512i w[3];
        b = weights(b, cols, nibbles, w);
        if (rows > 1) {
            _mm_prefetch((const char *)b + AHEAD, _MM_HINT_T0);
            _mm_prefetch((const char *)b + AHEAD + 64, _MM_HINT_T0);
        } else { // the memory is what limits one row
            _mm_prefetch((const char *)b + ALONE_AHEAD, _MM_HINT_T1);
            if (!nibbles)
                _mm_prefetch((const char *)b + ALONE_AHEAD + 64, _MM_HINT_T1);
        }
#pragma GCC unroll 24
        for (int i = 0; i < rows * planes; i++) {
            const int r = i / planes, plane = i % planes;
            const uint8_t *row = third[r / 3] + (size_t)(r % 3) * row_bytes;
            __m512i x = four_bytes(row + plane * QRN_Q8_DEPTH);
            __m512i *to = &acc[r * each + plane * vecs];
#pragma GCC unroll 2
            for (int v = 0; v < vecs; v++)
                to[v] = dot(to[v], x, w[v]);
            if (EIGHT(cols) && plane == 1)
                to[vecs] = dot(to[vecs], both_planes(row), w[2]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r += 3)
            third[r / 3] += planes * QRN_Q8_DEPTH;
    }
    if (nibbles)
#pragma GCC unroll 12
        for (int i = 0; i < rows * planes; i++)
            order(acc + 2 * i);
}

INLINE void zero(__m512i acc[ACCS], const int n) {
#pragma GCC unroll 24
    for (int i = 0; i < n; i++)
        acc[i] = _mm512_setzero_si512();
}

INLINE void sums(const qrn_planes_tile *t, const int rows, const int planes, const bool nibbles) {
    __m512i acc[ACCS];
    zero(acc, rows * planes * 2);
    dots(acc, t->a + t->first * (size_t)planes * QRN_Q8_DEPTH, t->row_bytes, t->b, t->steps, rows,
         planes, QRN_PANEL, nibbles);
#pragma GCC unroll 24
    for (int i = 0; i < rows * planes * 2; i++)
        _mm512_storeu_si512(t->acc + i * 16, acc[i]);
}

// Terms of a panel as requant16_avx512.h wants them.
typedef struct terms {
    double m[QRN_PANEL], start[QRN_PANEL];
    int32_t low[QRN_PANEL], high[QRN_PANEL]; // what sums of the planes begin with, flipped
    int32_t both[16];                        // the same of the last 8 columns
} terms;

// Terms of 8 columns that are not whole sums, halved.
INLINE void split(const double *of, __m256i *low, __m256i *high) {
    const __m256i flip = _mm256_set1_epi32(QRN_REQUANT16_FLIP);
    __m512d add = _mm512_loadu_pd(of);
    __m512d upper = _mm512_roundscale_pd(_mm512_mul_pd(add, _mm512_set1_pd(0x1p-8)),
                                         _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512d lower = _mm512_fnmadd_pd(upper, _mm512_set1_pd(256), add);
    *low = _mm256_xor_si256(_mm512_cvtpd_epi32(lower), flip);
    *high = _mm256_xor_si256(_mm512_cvtpd_epi32(upper), flip);
}

INLINE void prepare(const qrn_planes_panel *p, terms *t, const int cols, const bool fits32) {
    const __m512i flip = _mm512_set1_epi32(QRN_REQUANT16_FLIP);
    const int whole = VECS(cols) * 16;
    for (int i = 0; i < whole; i += 16) {
        qrn_requant16_order(p->m + i, t->m + i);
        qrn_requant16_order(p->start + i, t->start + i);
    }
    for (int i = 0; fits32 && i < whole; i += 16)
        _mm512_store_si512(t->low + i, _mm512_xor_si512(_mm512_loadu_si512(p->add32 + i), flip));
    for (int i = 0; !fits32 && i < whole; i += 8)
        split(p->add + i, (__m256i *)(t->low + i), (__m256i *)(t->high + i));
    if (EIGHT(cols)) {
        __m256i low, high;
        split(p->add + whole, &low, &high);
        __m512i wide = _mm512_slli_epi64(_mm512_cvtepu32_epi64(high), 32);
        _mm512_store_si512(t->both, _mm512_or_si512(_mm512_cvtepu32_epi64(low), wide));
        memcpy(t->m + whole, p->m + whole, 8 * sizeof(double));
        memcpy(t->start + whole, p->start + whole, 8 * sizeof(double));
    }
}

// Which elements of a row exist.
typedef struct range {
    int is_signed, limited; // limited: not all that 16 bits can be
    __m512i lo, hi;
    uint32_t cols;
} range;

INLINE range range_of(const qrn_planes_out *o) {
    range r = {.is_signed = o->lo < 0,
               .limited = o->hi - o->lo != UINT16_MAX,
               .lo = _mm512_set1_epi16((int16_t)(int32_t)o->lo),
               .hi = _mm512_set1_epi16((int16_t)(int32_t)o->hi),
               .cols = o->cols};
    __asm__("" : "+r"(r.is_signed), "+r"(r.limited)); // gcc would compare doubles for every row
    return r;
}

// 32 whole numbers, clamped.
INLINE __m512i clamped(const range *o, __m512i first, __m512i second) {
    __m512i c = qrn_requant16_pack(first, second, o->is_signed);
    if (o->limited && o->is_signed)
        c = _mm512_min_epi16(_mm512_max_epi16(c, o->lo), o->hi);
    else if (o->limited)
        c = _mm512_min_epu16(_mm512_max_epu16(c, o->lo), o->hi);
    return qrn_requant16_unpacked(c);
}

// The first n of 32 values; n is `cols` as a rule.
INLINE void store(uint16_t *y, __m512i q, uint32_t n, const uint32_t cols) {
    if (n != cols) {
        _mm512_mask_storeu_epi16(y, (__mmask32)((1u << n) - 1), q);
        return;
    }
    if (cols == 32)
        _mm512_storeu_si512(y, q);
    else if (cols >= 16)
        _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(q));
    if (cols == 24)
        _mm_storeu_si128((__m128i *)(y + 16), _mm512_extracti32x4_epi32(q, 2));
    if (cols == 8)
        _mm_storeu_si128((__m128i *)y, _mm512_castsi512_si128(q));
}

INLINE __m512d scaled(const terms *t, int first, __m512d sum) {
    return _mm512_fmadd_pd(sum, _mm512_load_pd(t->m + first), _mm512_load_pd(t->start + first));
}

// 8 sums of both planes as whole numbers.
INLINE __m512i eight(const terms *t, int first, __m512i acc) {
    __m512i low = _mm512_mask_mov_epi32(qrn_requant16_upper(0), 0x5555, acc);
    __m512i high = _mm512_mask_shuffle_epi32(qrn_requant16_upper(8), 0x5555, acc, _MM_PERM_DDBB);
    __m512 v = qrn_requant16_floor(scaled(t, first, qrn_requant16_join(low, high, 8)));
    return _mm512_castsi256_si512(_mm512_cvtepi64_epi32(_mm512_castps_si512(v)));
}

INLINE __m512i sixteen(const terms *t, int first, __m512i low, __m512i high, const int shift) {
    __m512d v[2];
    qrn_requant16_doubles(low, high, shift, v);
    return qrn_requant16_whole(scaled(t, first, v[0]), scaled(t, first + 8, v[1]));
}

// Requantizes the sums of one row. fits32: the low plane is all of whole vectors.
INLINE void epilogue(const terms *t, const range *o, const __m512i *acc, uint16_t *y,
                     const int cols, const bool fits32) {
    const int vecs = VECS(cols);
    __m512i q[2];
#pragma GCC unroll 2
    for (int v = 0; v < vecs; v++)
        q[v] = sixteen(t, 16 * v, acc[v], acc[fits32 ? v : v + vecs], fits32 ? 0 : 8);
    if (EIGHT(cols))
        q[vecs] = eight(t, 16 * vecs, acc[2 * vecs]);
    store(y, clamped(o, q[0], q[vecs + EIGHT(cols) - 1]), o->cols, cols);
}

// Accumulators of `rows` rows before the first step.
INLINE void begin(const terms *t, __m512i acc[ACCS], const int rows, const int cols,
                  const bool fits32) {
    const int vecs = VECS(cols), each = EACH(2, cols);
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++) {
            acc[r * each + v] = _mm512_load_si512(t->low + 16 * v);
            acc[r * each + vecs + v] =
                fits32 ? _mm512_setzero_si512() : _mm512_load_si512(t->high + 16 * v);
        }
        if (EIGHT(cols))
            acc[r * each + 2 * vecs] = _mm512_load_si512(t->both);
    }
}

// Adds to sums of a row of both planes what they should have begun with.
INLINE void add_begin(const terms *t, __m512i acc[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        acc[i] =
            _mm512_add_epi32(acc[i], _mm512_load_si512((i < 2 ? t->low : t->high) + i % 2 * 16));
}

// Accumulators of both planes to those of whole sums, in the place of the low one.
INLINE void join(__m512i acc[ACCS], const int rows, const int cols) {
    const int vecs = VECS(cols);
#pragma GCC unroll 12
    for (int i = 0; i < rows * vecs; i++) {
        __m512i *low = &acc[i / vecs * EACH(2, cols) + i % vecs];
        *low = _mm512_add_epi32(*low, _mm512_slli_epi32(low[vecs], 8));
    }
}

// All steps but the first `done` of the rows at `a`.
INLINE void all_dots(__m512i acc[ACCS], const qrn_planes_rows *r, const qrn_planes_panel *p,
                     const uint8_t *a, size_t done, const int rows, const int cols,
                     const bool fits32, const bool nibbles) {
    const size_t a_step = 2 * QRN_Q8_DEPTH, b_step = QRN_PANEL * QRN_Q8_DEPTH;
    if (fits32 || nibbles) {
        dots(acc, a + done * a_step, r->row_bytes, p->plane[0] + done * b_step, p->steps - done,
             rows, 2, cols, nibbles);
        return;
    }
    const int8_t *b = p->plane[0];
    size_t steps = p->steps / r->n_parts;
    for (uint32_t i = 0; i < r->n_parts; i++, b += steps * b_step, done = 0)
        dots(acc, a + r->parts[i] + done * a_step, r->row_bytes, b + done * b_step, steps - done,
             rows, 2, cols, false);
}

// A tile of requantized results, 8, 16, 24 or 32 columns. fits32: whole sums fit 32 bits; not with
// nibbles.
INLINE void requant_tile(const qrn_planes_rows *r, const qrn_planes_panel *p, const terms *t,
                         const qrn_planes_out *o, size_t row, const int rows, const int cols,
                         const bool fits32, const bool nibbles) {
    __m512i acc[ACCS];
    if (nibbles)
        zero(acc, rows * EACH(2, cols));
    else
        begin(t, acc, rows, cols, fits32);
    all_dots(acc, r, p, r->a + row * r->row_bytes, 0, rows, cols, fits32, nibbles);
    if (fits32)
        join(acc, rows, cols);
    uint16_t *y = (uint16_t *)o->y + row * o->y_row;
    const range to = range_of(o);
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++, y += o->y_row) {
        if (nibbles)
            add_begin(t, acc + i * 4);
        epilogue(t, &to, acc + i * EACH(2, cols), y, cols, fits32);
    }
}

// Asks for a part of the panel behind this one, so that all of it has come when all rows are done.
INLINE void ask(const qrn_planes_rows *r, const qrn_planes_panel *p, size_t row, const int rows) {
    if (r->n < 24)
        return;
    size_t bytes = p->steps * QRN_PANEL * QRN_Q8_DEPTH, tiles = r->n / (size_t)rows;
    size_t part = bytes / (tiles * 64) * 64;
    const char *next = (const char *)p->plane[0] + bytes + row / (size_t)rows * part;
    for (size_t i = 0; i < part; i += 64)
        _mm_prefetch(next + i, _MM_HINT_T1);
}

// Whole tiles of all rows, each tile requantized while the next one is multiplied, a row with every
// step: they need other units than the products. There are at least `rows` rows and, in the first
// part, steps. Returns how many rows are done.
INLINE size_t stream(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o,
                     const int rows, const int cols, const bool fits32) {
    const size_t a_step = 2 * QRN_Q8_DEPTH, b_step = QRN_PANEL * QRN_Q8_DEPTH;
    const int each = EACH(2, cols);
    size_t bytes = r->row_bytes, n = (size_t)rows, y_row = o->y_row;
    uint16_t *y = o->y;
    const uint8_t *a = r->a;
    const int8_t *b = p->plane[0];
    const range to = range_of(o);
    _Alignas(64) terms of;
    prepare(p, &of, cols, fits32);
    __m512i acc[ACCS], done[ACCS];
    begin(&of, acc, rows, cols, fits32);
    all_dots(acc, r, p, a, 0, rows, cols, fits32, false);
    if (fits32)
        join(acc, rows, cols);
    for (; n + (size_t)rows <= r->n; n += (size_t)rows) {
        a += (size_t)rows * bytes;
        if (!fits32)
            ask(r, p, n, rows);
#pragma GCC unroll 24
        for (int i = 0; i < rows * each; i++)
            done[i] = acc[i];
        begin(&of, acc, rows, cols, fits32);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++, y += y_row) {
            dots(acc, a + (size_t)i * a_step, bytes, b + (size_t)i * b_step, 1, rows, 2, cols,
                 false);
            epilogue(&of, &to, done + i * each, y, cols, fits32);
        }
        all_dots(acc, r, p, a, (size_t)rows, rows, cols, fits32, false);
        if (fits32)
            join(acc, rows, cols);
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++, y += y_row)
        epilogue(&of, &to, acc + i * each, y, cols, fits32);
    return n;
}

// DO with a constant for each number of rows up to 6.
#define UP_TO_6(rows, DO)                                                                          \
    switch (rows) {                                                                                \
    case 6:                                                                                        \
        DO(6) break;                                                                               \
    case 5:                                                                                        \
        DO(5) break;                                                                               \
    case 4:                                                                                        \
        DO(4) break;                                                                               \
    case 3:                                                                                        \
        DO(3) break;                                                                               \
    case 2:                                                                                        \
        DO(2) break;                                                                               \
    default:                                                                                       \
        DO(1) break;                                                                               \
    }

#endif
