// SPDX-License-Identifier: MIT
//
// Softmax of quantized values along the last axis, compiled for AVX512. As in softmax_q_fast.inc
// exponentials are floats, of the distance of a quantized value from the largest one. Those of
// 8-bit values are products of two table entries: 6 operations where a power of two has 14. A
// result is rounded twice, from a factor that is a little too small and from one that is a little
// too large; where both differ it is computed in double or by the definition.
#include "kernels/load_q_avx512.h"
#include "kernels/softmax/softmax_q.h"
#include "kernels/softmax/softmax_rows.h"
#include "kernels/store_q.h"

#include <immintrin.h>

// More than the relative error of a result: 1.8e-7 of its power, which has three parts below 6e-8
// (of 8-bit values two table entries and a product, else a table entry, the polynomial and the last
// operation), as much of the others, 1.2e-7 of adding them and 6e-8 of the factor.
#define UNSURE 6e-7
// The same of a result whose own power is exact.
#define UNSURE_SUM 3.2e-7

// 1.5 * 2^23: added to a smaller number than 2^22 it leaves a whole one in the low bits.
#define MAGIC 0x1.8p23f
#define MAGIC_BITS 0x4b400000

// Elements of a row that are handled at a time, as far as there are so many.
#define BLOCK QRN_LOAD_Q

static __mmask16 first_of(size_t n) { return n < 16 ? (__mmask16)((1u << n) - 1) : 0xffff; }

// Up to 16 quantized values; those beyond `n` are 0.
static inline __m512i load_some(const qrn_view *x, size_t at, size_t n) {
    __m128i bytes = _mm_setzero_si128();
    __m256i words = _mm256_setzero_si256();
    if (qrn_view_elem(x) == 1)
        bytes = _mm_maskz_loadu_epi8(first_of(n), (const uint8_t *)x->data + at);
    else
        words = _mm256_maskz_loadu_epi16(first_of(n), (const uint16_t *)x->data + at);
    switch (x->dtype) {
    case QRN_DTYPE_UQ8:
        return _mm512_cvtepu8_epi32(bytes);
    case QRN_DTYPE_SQ8:
        return _mm512_cvtepi8_epi32(bytes);
    case QRN_DTYPE_UQ16:
        return _mm512_cvtepu16_epi32(words);
    default:
        return _mm512_cvtepi16_epi32(words);
    }
}

// The largest of n bytes, or of n words; `flip` makes them numbers without a sign.
static int32_t top_byte(const uint8_t *q, size_t n, uint8_t flip) {
    const __m512i f = _mm512_set1_epi8((char)flip);
    __m512i most = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 64) {
        __mmask64 some = n - i < 64 ? ((__mmask64)1 << (n - i)) - 1 : ~(__mmask64)0;
        __m512i u = _mm512_xor_si512(_mm512_mask_loadu_epi8(f, some, q + i), f);
        most = _mm512_max_epu8(most, u);
    }
    __m256i half =
        _mm256_max_epu8(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    __m128i m = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    m = _mm_max_epu8(m, _mm_srli_epi16(m, 8)); // in the low byte of each word
    m = _mm_andnot_si128(m, _mm_set1_epi16(0xff));
    return 0xff - (_mm_cvtsi128_si32(_mm_minpos_epu16(m)) & 0xff) - flip;
}

static int32_t top_word(const uint16_t *q, size_t n, uint16_t flip) {
    const __m512i f = _mm512_set1_epi16((short)flip);
    __m512i most = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 32) {
        __mmask32 some = n - i < 32 ? ((__mmask32)1 << (n - i)) - 1 : ~(__mmask32)0;
        __m512i u = _mm512_xor_si512(_mm512_mask_loadu_epi16(f, some, q + i), f);
        most = _mm512_max_epu16(most, u);
    }
    __m256i half =
        _mm256_max_epu16(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    __m128i m = _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    m = _mm_xor_si128(m, _mm_set1_epi16(-1));
    return 0xffff - (_mm_cvtsi128_si32(_mm_minpos_epu16(m)) & 0xffff) - flip;
}

static int32_t top_of(const qrn_view *x, size_t at, size_t n) {
    if (qrn_view_elem(x) == 1)
        return top_byte((const uint8_t *)x->data + at, n, x->dtype == QRN_DTYPE_SQ8 ? 0x80 : 0);
    return top_word((const uint16_t *)x->data + at, n, x->dtype == QRN_DTYPE_SQ16 ? 0x8000 : 0);
}

// A distance d from the top becomes 2^-cd. That of 8 bits is the product of two powers from tables,
// of the upper and of the lower 4 bits of d; powers below 2^-59 are 0 there.
typedef struct power {
    __m512 high, low; // -c in two parts
    __m512 most;      // the largest d; beyond it nothing is left: between 2^-120 and 2^-60
    __m512 upper, lower;
} power;

// 2^-cd is e^-sd.
static power power_of(double s, bool bytes) {
    const double c = s * 1.44269504088896340736;
    float high = (float)c, upper[16] = {0}, lower[16] = {0};
    for (int i = 0; bytes && i < 16; i++) {
        upper[i] = 16 * i * s < 41 ? (float)qrn_exp_f64(-16 * i * s) : 0;
        lower[i] = i * s < 41 ? (float)qrn_exp_f64(-i * s) : 0;
    }
    return (power){_mm512_set1_ps(-high), _mm512_set1_ps((float)((double)high - c)),
                   _mm512_set1_ps((float)floor(120 / c)), _mm512_loadu_ps(upper),
                   _mm512_loadu_ps(lower)};
}

static inline __m512 raise(const power *c, __m512i distance, bool bytes) {
    if (bytes)
        return _mm512_mul_ps(_mm512_permutexvar_ps(_mm512_srli_epi32(distance, 4), c->upper),
                             _mm512_permutexvar_ps(distance, c->lower));
    const __m512 shift = _mm512_set1_ps(0x1.8p18f); // its last digit is 1/32
    __m512 d = _mm512_min_ps(c->most, _mm512_cvtepi32_ps(distance));
    __m512 t = _mm512_fmadd_ps(d, c->high, shift);
    __m512 f = _mm512_fmadd_ps(d, c->high, _mm512_sub_ps(shift, t)), p = qrn_vf_32nds(t);
    f = _mm512_fmadd_ps(d, c->low, f);
    __m512 q = _mm512_fmadd_ps(f, _mm512_set1_ps(0.2402265072f), _mm512_set1_ps(0.6931573153f));
    return _mm512_fmadd_ps(_mm512_mul_ps(f, q), p, p);
}

// The exponentials of n elements, whole vectors of which are written to e; their sum. A float is
// added to three others at most before it becomes double: less than 2^-23 is lost.
static inline double powers(const qrn_view *x, size_t at, size_t n, int32_t top, const power *c,
                            float *e, bool bytes) {
    const __m512i from = _mm512_set1_epi32(top);
    qrn_vs total = qrn_vs_zero();
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        __m512i v[BLOCK / 16];
        __m512 p[BLOCK / 16];
        qrn_load_q_avx512(x, at + i, v);
        for (size_t j = 0; j < BLOCK / 16; j++) {
            p[j] = raise(c, _mm512_sub_epi32(from, v[j]), bytes);
            _mm512_storeu_ps(e + i + 16 * j, p[j]);
        }
        total = qrn_vs_add(total, (p[0] + p[1]) + (p[2] + p[3]));
    }
    __m512 rest = _mm512_setzero_ps(), last = rest; // the sums of every other vector
    for (; i < n; i += 16) {
        __m512 p = raise(c, _mm512_sub_epi32(from, load_some(x, at + i, n - i)), bytes);
        p = _mm512_maskz_mov_ps(first_of(n - i), p);
        _mm512_storeu_ps(e + i, p);
        p += last;
        last = rest;
        rest = p;
    }
    return qrn_vs_total(qrn_vs_add(total, rest + last));
}

// Results are products with both of these, rounded, less the offset.
typedef struct factors {
    __m512 less, more;
} factors;

static factors factors_of(double factor) {
    return (factors){_mm512_set1_ps((float)(factor * (1 - UNSURE))),
                     _mm512_set1_ps((float)(factor * (1 + UNSURE)))};
}

// 16 results with MAGIC_BITS in them; bits of `apart` are set where both factors differ.
static inline __m512i round_16(const factors *f, const float *e, __m512i *apart) {
    const __m512 magic = _mm512_set1_ps(MAGIC), v = _mm512_loadu_ps(e);
    __m512i low = _mm512_castps_si512(_mm512_fmadd_ps(v, f->less, magic));
    __m512i high = _mm512_castps_si512(_mm512_fmadd_ps(v, f->more, magic));
    *apart = _mm512_ternarylogic_epi32(*apart, low, high, 0xf6); // or of the exclusive or
    return low;
}

// BLOCK results, clamped.
static inline void pack_block(const qrn_view *y, size_t at, const __m512i *v) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i words = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    uint8_t *to = (uint8_t *)y->data + at * qrn_view_elem(y);
    __m512i a, b;
    if (y->dtype == QRN_DTYPE_UQ16) {
        a = _mm512_packus_epi32(v[0], v[1]);
        b = _mm512_packus_epi32(v[2], v[3]);
    } else {
        a = _mm512_packs_epi32(v[0], v[1]);
        b = _mm512_packs_epi32(v[2], v[3]);
    }
    if (qrn_view_elem(y) == 2) {
        _mm512_storeu_si512(to, _mm512_permutexvar_epi64(words, a));
        _mm512_storeu_si512(to + 64, _mm512_permutexvar_epi64(words, b));
    } else {
        a = y->dtype == QRN_DTYPE_UQ8 ? _mm512_packus_epi16(a, b) : _mm512_packs_epi16(a, b);
        _mm512_storeu_si512(to, _mm512_permutexvar_epi32(order, a));
    }
}

// Up to 16 results, clamped.
static inline void pack_some(const qrn_view *y, size_t at, size_t n, __m512i v) {
    const bool is_signed = y->dtype == QRN_DTYPE_SQ8 || y->dtype == QRN_DTYPE_SQ16;
    __m512i u = _mm512_max_epi32(v, _mm512_setzero_si512());
    if (qrn_view_elem(y) == 1)
        _mm_mask_storeu_epi8((uint8_t *)y->data + at, first_of(n),
                             is_signed ? _mm512_cvtsepi32_epi8(v) : _mm512_cvtusepi32_epi8(u));
    else
        _mm256_mask_storeu_epi16((uint16_t *)y->data + at, first_of(n),
                                 is_signed ? _mm512_cvtsepi32_epi16(v)
                                           : _mm512_cvtusepi32_epi16(u));
}

// The results of n exponentials; is each of them sure?
static bool round_row(const factors *f, const float *e, const qrn_view *y, size_t at, size_t n) {
    const __m512i offset = _mm512_set1_epi32(MAGIC_BITS + y->quant->offset);
    __m512i apart = _mm512_setzero_si512();
    size_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        __m512i v[BLOCK / 16];
        for (size_t j = 0; j < BLOCK / 16; j++)
            v[j] = _mm512_sub_epi32(round_16(f, e + i + 16 * j, &apart), offset);
        pack_block(y, at + i, v);
    }
    for (; i < n; i += 16)
        pack_some(y, at + i, n - i, _mm512_sub_epi32(round_16(f, e + i, &apart), offset));
    return _mm512_test_epi32_mask(apart, apart) == 0;
}

// Results in doubt. Every other one is sure with a power in double; that needs no other sum of the
// row, which takes longer than the row did.
static void settle(qrn_softmax_row *r, int32_t top, double factor, const float *e, qrn_view *y) {
    const factors f = factors_of(factor);
    qrn_softmax_exact x = qrn_softmax_exact_of(r, top);
    for (size_t i = 0; i < r->n; i += 16) {
        __m512i apart = _mm512_setzero_si512();
        round_16(&f, e + i, &apart);
        unsigned unsure = _mm512_test_epi32_mask(apart, apart);
        for (size_t j = i; unsure; unsure >>= 1, j++) {
            float whole[QRN_VF] = {0};
            if (!(unsure & 1))
                continue;
            double t = qrn_softmax_exact_power(&x, j) * factor;
            whole[0] = (float)(rint(t) - (double)y->quant->offset);
            if (!(fabs(t - rint(t)) < 0.5 - UNSURE_SUM * t))
                whole[0] = qrn_softmax_exact_at(&x, y->quant, j);
            qrn_store_q(y, r->at + j, 1, whole);
        }
    }
}

// Some rows at a time, each step for all of them: their long chains of operations overlap.
static void rows_of(const qrn_kcall *k, qrn_softmax_row *r, const power *c, size_t first,
                    size_t count, float *e) {
    const qrn_view *x = k->in[0];
    qrn_view *y = k->out[0];
    const size_t n = r->n, room = qrn_softmax_room(n);
    const double scale = (double)y->quant->scale;
    const bool bytes = qrn_view_elem(x) == 1;
    int32_t top[QRN_SOFTMAX_ROWS];
    double sum[QRN_SOFTMAX_ROWS];
    for (size_t j = 0; j < count; j++)
        top[j] = top_of(x, (first + j) * n, n);
    for (size_t j = 0; j < count; j++) {
        float *to = e + j * room;
        size_t at = (first + j) * n;
        sum[j] =
            bytes ? powers(x, at, n, top[j], c, to, true) : powers(x, at, n, top[j], c, to, false);
    }
    for (size_t j = 0; j < count; j++) {
        const double factor = 1 / (sum[j] * scale);
        const factors f = factors_of(factor);
        r->at = (first + j) * n;
        if (!round_row(&f, e + j * room, y, r->at, n))
            settle(r, top[j], factor, e + j * room, y);
    }
}

qrn_status qrn_softmax_q_avx512(const qrn_kcall *k) {
    const qrn_softmax_args *a = k->args;
    const qrn_view *x = k->in[0];
    size_t n = x->dims[x->rank - 1], rows = qrn_softmax_rows(n), begin, end;
    float *e = (float *)k->scratch + k->task * rows * qrn_softmax_room(n);
    qrn_softmax_row r = {.x = x, .beta = (double)a->beta, .n = n, .step = 1};
    const power c = power_of(r.beta * (double)x->quant->scale, qrn_view_elem(x) == 1);
    qrn_split(qrn_view_span(x, 0, x->rank - 1), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; n && row < end; row += rows)
        rows_of(k, &r, &c, row, end - row < rows ? end - row : rows, e);
    return QRN_OK;
}
