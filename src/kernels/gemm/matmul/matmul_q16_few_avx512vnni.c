// SPDX-License-Identifier: MIT
//
// Matmul of a few rows of 16-bit values by such of 16 bits, which are read once, where they lie:
// for attention on a cache, where packing would take longer than multiplying. Rows are cut into
// bytes, a = 256 * high + low, whose products with words can be summed in 32 bits; such sums are
// put together in double, where they stay exact.
#include "kernels/gemm/matmul/matmul_q16_few.h"

#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/pack/transpose_avx512.h"

#include <immintrin.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define ROWS QRN_Q16_FEW_ROWS
#define WORDS 32    // of a vector
#define STRETCH 256 // of the depth: sums of products of bytes and words fit 32 bits

static bool is_words(const qrn_view *v) {
    return qrn_dtypes[v->dtype].bits == 16 && (v->quant->bits == 0 || v->quant->bits >= 16);
}

// Columns along the depth; what fits both ways is read side by side.
static bool is_deep(const qrn_matmul_geometry *g) { return g->b_col != 1; }

// Results fit 32 bits before they are clamped, sums fit a double.
bool qrn_matmul_q16_few_works(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    if (!is_words(a) || !is_words(b) || !is_words(c) || (k->n_in > 2 && k->in[2]) ||
        b->quant->kind != QRN_QUANT_TENSOR)
        return false;
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    qrn_requant r = qrn_requant_of(a, b, 0, c);
    double most = (double)g.depth * (65536 + fabs((double)a->quant->offset)) *
                  (65536 + fabs((double)b->quant->offset));
    bool lies_well = !is_deep(&g) || (g.b_depth == 1 && g.depth <= STRETCH);
    return g.rows <= ROWS && g.depth > 0 && g.depth <= QRN_Q16_FEW_DEPTH && lies_well &&
           most < 0x1p52 && fabs(r.zero_half) + most * fabs(r.m) < 0x1p30;
}

// A call, and what a task has of its rows.
typedef struct job {
    const qrn_kcall *k;
    qrn_matmul_geometry g;
    qrn_requant out;
    uint16_t a_flip, b_flip;   // make the operands signed
    double a_offset, b_offset; // of operands so made
    double row_term[ROWS];     // what belongs to all results of a row
    // scratch, in words: [2 * ROWS][depth in whole vectors]: low bytes of a row, high bytes
    int16_t *bytes;
    size_t row; // words
} job;

static size_t padded(size_t depth) { return (depth + WORDS - 1) / WORDS * WORDS; }

size_t qrn_matmul_q16_few_scratch(const qrn_kcall *k) {
    return k->n_tasks * 2 * ROWS * padded(qrn_matmul_geometry_of(k).depth) * sizeof(int16_t);
}

static uint16_t flip_of(const qrn_view *v) {
    return qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED ? 0 : 0x8000;
}

static job job_of(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1];
    job j = {.k = k, .g = qrn_matmul_geometry_of(k), .out = qrn_requant_of(a, b, 0, k->out[0])};
    j.a_flip = flip_of(a);
    j.b_flip = flip_of(b);
    j.a_offset = (double)a->quant->offset + j.a_flip;
    j.b_offset = (double)b->quant->offset + j.b_flip;
    j.row = padded(j.g.depth);
    j.bytes = (int16_t *)k->scratch + k->task * 2 * ROWS * j.row;
    return j;
}

// n words from p on, the others of a vector being 0.
INLINE __m512i load_words(const uint16_t *p, size_t n, __m512i flip) {
    if (n >= WORDS)
        return _mm512_xor_si512(_mm512_loadu_si512(p), flip);
    __mmask32 m = (__mmask32)((UINT32_C(1) << n) - 1);
    return _mm512_xor_si512(_mm512_maskz_loadu_epi16(m, p), _mm512_maskz_mov_epi16(m, flip));
}

// The rows of a matrix that begins at element `from`.
static void take_rows(job *j, size_t from) {
    const uint16_t *a = (const uint16_t *)j->k->in[0]->data + from;
    const qrn_matmul_geometry *g = &j->g;
    const __m512i flip = _mm512_set1_epi16((int16_t)j->a_flip), ones = _mm512_set1_epi16(1);
    for (size_t r = 0; r < g->rows; r++) {
        int16_t *low = j->bytes + 2 * r * j->row, *high = low + j->row;
        int64_t sum = 0;
        for (size_t d = 0; d < j->row; d += WORDS) {
            const uint16_t *p = a + r * g->a_row + d * g->a_depth;
            size_t n = g->depth - d < WORDS ? g->depth - d : WORDS;
            uint16_t apart[WORDS];
            for (size_t i = 0; i < n && g->a_depth != 1; i++)
                apart[i] = p[i * g->a_depth];
            __m512i v = load_words(g->a_depth != 1 ? apart : p, n, flip);
            _mm512_storeu_si512(low + d, _mm512_and_si512(v, _mm512_set1_epi16(0xff)));
            _mm512_storeu_si512(high + d, _mm512_srai_epi16(v, 8));
            sum += _mm512_reduce_add_epi32(_mm512_madd_epi16(v, ones));
        }
        j->row_term[r] = j->b_offset * (double)sum + (double)g->depth * j->a_offset * j->b_offset;
    }
}

// _mm512_dpwssd_epi32; around the intrinsic gcc 12 copies and spills every accumulator.
INLINE __m512i dot(__m512i acc, __m512i a, __m512i b) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(acc) : "v"(a), "vm"(b));
    return acc;
}

INLINE __m512i pair_of(const int16_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// --- results

// 8 sums of products and of columns become results.
INLINE __m256i finish(const job *j, __m512d sum, __m512d columns, size_t row) {
    sum = _mm512_fmadd_pd(columns, _mm512_set1_pd(j->a_offset), sum);
    sum = _mm512_add_pd(sum, _mm512_set1_pd(j->row_term[row]));
    __m512d t = _mm512_floor_pd(
        _mm512_fmadd_pd(sum, _mm512_set1_pd(j->out.m), _mm512_set1_pd(j->out.zero_half)));
    t = _mm512_max_pd(t, _mm512_set1_pd((double)j->out.lo));
    return _mm512_cvttpd_epi32(_mm512_min_pd(t, _mm512_set1_pd((double)j->out.hi)));
}

INLINE __m512d low_half(__m512i v) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(v)); }
INLINE __m512d high_half(__m512i v) { return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v, 1)); }

INLINE void store(const job *j, __m256i a, __m256i b, size_t at, size_t n) {
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    __mmask16 m = n < 16 ? (__mmask16)((1u << n) - 1) : 0xffff;
    _mm512_mask_cvtepi32_storeu_epi16((uint16_t *)j->k->out[0]->data + at, m, v);
}

// --- columns along the depth: keys

#define KEYS 16 // done together

// Columns [col, col + n) of the matrix at element b: a key in each lane.
INLINE void multiply_keys(const job *j, size_t b, size_t col, size_t n, size_t y, const int rows) {
    const qrn_matmul_geometry *g = &j->g;
    const uint16_t *from = (const uint16_t *)j->k->in[1]->data + b + col * g->b_col;
    const __m512i flip = _mm512_set1_epi16((int16_t)j->b_flip), one = _mm512_set1_epi16(1);
    const __m512d next = _mm512_set1_pd(256);
    __m512i acc[2 * ROWS], columns = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int i = 0; i < 2 * rows; i++)
        acc[i] = _mm512_setzero_si512();
    for (size_t d = 0; d < j->row; d += WORDS) {
        __m512i keys[KEYS];
#pragma GCC unroll 16
        for (size_t i = 0; i < KEYS; i++)
            keys[i] = load_words(from + (i < n ? i : 0) * g->b_col + d, g->depth - d, flip);
        qrn_transpose_16x16(keys);
#pragma GCC unroll 16
        for (size_t i = 0; i < KEYS; i++) {
            columns = dot(columns, one, keys[i]);
#pragma GCC unroll 8
            for (int r = 0; r < 2 * rows; r++)
                acc[r] = dot(acc[r], pair_of(j->bytes + (size_t)r * j->row + d + 2 * i), keys[i]);
        }
    }
    for (int r = 0; r < rows; r++) {
        __m512i low = acc[2 * r], high = acc[2 * r + 1];
        __m512d first = _mm512_fmadd_pd(low_half(high), next, low_half(low));
        __m512d second = _mm512_fmadd_pd(high_half(high), next, high_half(low));
        store(j, finish(j, first, low_half(columns), (size_t)r),
              finish(j, second, high_half(columns), (size_t)r), y + (size_t)r * g->cols, n);
    }
}

static void run_keys(const job *j, size_t b, size_t col, size_t n, size_t y) {
    switch (j->g.rows) {
    case 1:
        multiply_keys(j, b, col, n, y, 1);
        break;
    case 2:
        multiply_keys(j, b, col, n, y, 2);
        break;
    case 3:
        multiply_keys(j, b, col, n, y, 3);
        break;
    default:
        multiply_keys(j, b, col, n, y, 4);
    }
}

// --- columns side by side: values

#define ACROSS WORDS // columns done together

// Sums of stretches of the depth, in double: of columns, and of products with each row.
typedef struct totals {
    double columns[ACROSS], of[ROWS][ACROSS];
} totals;

// Adds sums of two vectors that have every other four columns, times a power of two.
INLINE void add_to(double *to, __m512i even, __m512i odd, double factor) {
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    const __m512d f = _mm512_set1_pd(factor);
    __m512i v[2] = {_mm512_permutex2var_epi32(even, first, odd),
                    _mm512_permutex2var_epi32(even, second, odd)};
    for (int i = 0; i < 2; i++, to += 16) {
        _mm512_storeu_pd(to, _mm512_fmadd_pd(low_half(v[i]), f, _mm512_loadu_pd(to)));
        _mm512_storeu_pd(to + 8, _mm512_fmadd_pd(high_half(v[i]), f, _mm512_loadu_pd(to + 8)));
    }
}

// Values [d0, d1) of n columns with `rows` rows.
INLINE void add_stretch(const job *j, const uint16_t *b, size_t n, size_t d0, size_t d1,
                        const int rows, totals *t) {
    const __m512i flip = _mm512_set1_epi16((int16_t)j->b_flip), one = _mm512_set1_epi16(1);
    __m512i acc[ROWS][2][2], sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
#pragma GCC unroll 16
    for (int i = 0; i < 4 * rows; i++)
        acc[i / 4][i / 2 % 2][i % 2] = _mm512_setzero_si512();
    for (size_t d = d0; d < d1; d += 2) {
        __m512i x = load_words(b + d * j->g.b_depth, n, flip), y = _mm512_setzero_si512();
        if (d + 1 < d1)
            y = load_words(b + (d + 1) * j->g.b_depth, n, flip);
        const __m512i v[2] = {_mm512_unpacklo_epi16(x, y), _mm512_unpackhi_epi16(x, y)};
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++)
            sum[h] = dot(sum[h], v[h], one);
#pragma GCC unroll 8
        for (int i = 0; i < 2 * rows; i++) {
            __m512i a = pair_of(j->bytes + (size_t)i * j->row + d);
            acc[i / 2][i % 2][0] = dot(acc[i / 2][i % 2][0], v[0], a);
            acc[i / 2][i % 2][1] = dot(acc[i / 2][i % 2][1], v[1], a);
        }
    }
    add_to(t->columns, sum[0], sum[1], 1);
    for (int i = 0; i < 2 * rows; i++)
        add_to(t->of[i / 2], acc[i / 2][i % 2][0], acc[i / 2][i % 2][1], i % 2 ? 256 : 1);
}

static void run_values(const job *j, size_t b, size_t col, size_t n, size_t y) {
    const qrn_matmul_geometry *g = &j->g;
    const uint16_t *from = (const uint16_t *)j->k->in[1]->data + b + col;
    totals t = {0};
    for (size_t d = 0; d < g->depth; d += STRETCH) {
        size_t end = g->depth - d < STRETCH ? g->depth : d + STRETCH;
        if (g->rows == 1)
            add_stretch(j, from, n, d, end, 1, &t);
        else if (g->rows == 2)
            add_stretch(j, from, n, d, end, 2, &t);
        else if (g->rows == 3)
            add_stretch(j, from, n, d, end, 3, &t);
        else
            add_stretch(j, from, n, d, end, 4, &t);
    }
    for (size_t r = 0; r < g->rows; r++)
        for (size_t i = 0; i < n; i += 16) {
            const double *s = t.of[r] + i, *c = t.columns + i;
            store(j, finish(j, _mm512_loadu_pd(s), _mm512_loadu_pd(c), r),
                  finish(j, _mm512_loadu_pd(s + 8), _mm512_loadu_pd(c + 8), r), y + r * g->cols + i,
                  n - i);
        }
}

qrn_status qrn_matmul_q16_few_avx512vnni(const qrn_kcall *k) {
    job j = job_of(k);
    const qrn_matmul_geometry *g = &j.g;
    bool deep = is_deep(g);
    size_t most = deep ? KEYS : ACROSS, groups = (g->cols + most - 1) / most;
    size_t begin, end, last = SIZE_MAX;
    qrn_split(g->batch * groups, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t batch = i / groups, col = i % groups * most, a, b;
        size_t n = g->cols - col < most ? g->cols - col : most;
        qrn_matmul_batch(g, batch, &a, &b);
        if (batch != last)
            take_rows(&j, a);
        last = batch;
        (deep ? run_keys : run_values)(&j, b, col, n, batch * g->rows * g->cols + col);
    }
    return QRN_OK;
}
