// SPDX-License-Identifier: MIT
//
// Averages of bytes for AVX-512: sums of a window in 16 bits, 64 channels at a time, rounded as
// gemm/epilogue/requant8.h has it. Results that this leaves open are those of qrn_pool_average.
#include "kernels/gemm/epilogue/requant8_avx512.h"
#include "kernels/pooling/pooling.h"

#define MULTIPLIERS 32 // that the constants of a panel take
#define INLINE static inline __attribute__((always_inline))

// A task and the window it is at.
typedef struct job {
    qrn_pool_q q;
    const uint8_t *x;
    size_t channels;
    size_t first, end; // channels that are wanted
    bool is_signed;
    const uint8_t *cells[QRN_POOL_BYTES_CELLS]; // of the window, channel 0
    size_t n, count;                            // cells, and what sums are divided by
    int32_t start;                              // of sums
    float m[MULTIPLIERS];
    qrn_requant8_vectors requant;
} job;

// What a count changes.
static void prepare(job *j, size_t count) {
    const qrn_pool_q *c = &j->q;
    double m = count ? c->scale_x / c->scale_y / (double)count : 0.0;
    for (int i = 0; i < MULTIPLIERS; i++)
        j->m[i] = (float)m;
    qrn_requant8 r = qrn_requant8_of(j->m, NULL, 0.5 - (double)c->offset_y, c->lo, c->hi);
    int64_t largest = 255 + (int64_t)(c->offset_x < 0 ? -c->offset_x : c->offset_x);
    qrn_requant8_widen(&r, 0, 1, largest * QRN_POOL_BYTES_CELLS);
    j->requant = qrn_requant8_vectors_of(&r);
    j->count = count;
}

static void find_cells(job *j, const qrn_pool_window *w) {
    j->n = 0;
    for (size_t a = 0; a < w->span[0].size; a++)
        for (size_t b = 0; b < w->span[1].size; b++) {
            const uint8_t *line = j->x + qrn_pool_line(w, a, b) * j->channels;
            for (size_t c = 0; c < w->span[2].size; c++)
                j->cells[j->n++] = line + c * j->channels;
        }
    // Signed values are summed as unsigned ones.
    j->start = (j->q.offset_x - (j->is_signed ? 128 : 0)) * (int32_t)j->n;
}

// Results of the lanes that are not sure; lane i of vector v is channel 4*i + place[v].
static __attribute__((noinline)) void decide(const job *j, const __m512i *acc, __mmask16 sure,
                                             uint8_t *y, size_t n) {
    static const uint8_t place[4] = {0, 2, 1, 3};
    for (size_t v = 0; v < 4; v++) {
        int32_t sums[16];
        _mm512_storeu_si512(sums, acc[v]);
        for (size_t i = 0; i < 16; i++)
            if (!(sure >> i & 1) && 4 * i + place[v] < n)
                y[4 * i + place[v]] = (uint8_t)qrn_pool_average(&j->q, sums[i], j->count);
    }
}

// Sums of 64 channels: of pairs of bytes as words, modulo 2^16, and of the second of each pair.
INLINE void add_cells(const job *j, size_t c, __mmask64 mask, const bool whole,
                      const bool is_signed, __m512i *acc) {
    __m512i both = _mm512_setzero_si512(), odd = both;
    for (size_t i = 0; i < j->n; i++) {
        const uint8_t *x = j->cells[i] + c;
        __m512i v = whole ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi8(mask, x);
        if (is_signed)
            v = _mm512_xor_si512(v, _mm512_set1_epi8((char)0x80));
        both = _mm512_add_epi16(both, v);
        odd = _mm512_add_epi16(odd, _mm512_srli_epi16(v, 8));
    }
    const __m512i start = _mm512_set1_epi32(j->start), low = _mm512_set1_epi32(0xffff);
    __m512i even = _mm512_sub_epi16(both, _mm512_slli_epi16(odd, 8));
    acc[0] = _mm512_add_epi32(start, _mm512_and_si512(even, low));
    acc[1] = _mm512_add_epi32(start, _mm512_srli_epi32(even, 16));
    acc[2] = _mm512_add_epi32(start, _mm512_and_si512(odd, low));
    acc[3] = _mm512_add_epi32(start, _mm512_srli_epi32(odd, 16));
}

// 64 channels from number c on, or n.
INLINE void average(const job *j, uint8_t *y, size_t c, size_t n, const bool whole,
                    const bool is_signed) {
    // Packing leaves four neighbours of each vector side by side.
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15));
    __mmask64 mask = whole ? ~(__mmask64)0 : ~(__mmask64)0 >> (64 - n);
    __m512i acc[4];
    __mmask16 sure;
    add_cells(j, c, mask, whole, is_signed, acc);
    __m512i q = qrn_requant8_four(&j->requant, acc, 1, &sure);
    q = _mm512_min_epu8(_mm512_max_epu8(q, j->requant.low), j->requant.high);
    q = _mm512_shuffle_epi8(_mm512_xor_si512(q, j->requant.flip), order);
    if (whole)
        _mm512_storeu_si512(y + c, q);
    else
        _mm512_mask_storeu_epi8(y + c, mask, q);
    if (__builtin_expect(sure != 0xffff, 0))
        decide(j, acc, sure, y + c, n);
}

INLINE void average_cell(const job *j, uint8_t *y, const bool is_signed) {
    size_t c = j->first, left = (j->end - j->first) % 64;
    for (; c + 64 <= j->end; c += 64)
        average(j, y, c, 64, true, is_signed);
    if (left)
        average(j, y, c, left, false, is_signed);
}

qrn_status qrn_pool_avg_bytes_avx512(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    job j = {.q = qrn_pool_q_of(k),
             .x = x->data,
             .channels = x->dims[x->rank - 1],
             .is_signed = x->dtype == QRN_DTYPE_SQ8};
    size_t columns = y->dims[y->rank - 2];
    qrn_grid_part part = qrn_pool_part_of(k, QRN_POOL_UNIT);
    j.first = part.c0 * QRN_POOL_UNIT;
    j.end = part.c1 * QRN_POOL_UNIT < j.channels ? part.c1 * QRN_POOL_UNIT : j.channels;
    qrn_pool_window w;
    for (size_t cell = part.r0; cell < part.r1; cell++) {
        if (cell == part.r0 || cell % columns == 0)
            w = qrn_pool_window_at(k, cell);
        else
            qrn_pool_window_move(k, &w, cell % columns);
        find_cells(&j, &w);
        size_t count = qrn_pool_count(&w, k->args);
        if (cell == part.r0 || count != j.count)
            prepare(&j, count);
        uint8_t *to = (uint8_t *)y->data + cell * j.channels;
        if (j.is_signed)
            average_cell(&j, to, true);
        else
            average_cell(&j, to, false);
    }
    return QRN_OK;
}
