// SPDX-License-Identifier: MIT
//
// GEMM for AMX: blocks of up to 32 rows by 32 columns as two by two tiles of sums. A tile of a
// panel, 16 steps by 16 columns, is what the packing dense8 holds. Sums go through memory to the
// vectors that requantize them, which also add what is left of a depth that is no multiple of 64;
// they do so while the products of the next block are on their way. Few rows and short depths are
// left to the tiles of AVX-512 VNNI.
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx512.h"
#include "kernels/gemm/tiles/tiles_amx.h"

#include <string.h>

#define ROWS 32
#define HALF QRN_AMX_ROWS
#define STEPS QRN_AMX_STEPS
#define ROWS_MIN 8
#define STEP_LINES (STEPS * QRN_PANEL * QRN_Q8_DEPTH / 64) // of a panel

// What all blocks of a call share.
typedef struct panel {
    const qrn_gemm_q8_tile *t;
    qrn_requant8_vectors requant;
    __mmask32 mask;  // of the columns that exist
    size_t in_tiles; // steps
} panel;

// Rows in two tiles; where there is no second one, it may have any.
static void set_up(uint32_t rows) {
    qrn_amx_set_up(rows < HALF ? rows : HALF, rows > HALF ? rows - HALF : HALF);
}

// Sums of rows [first, first + rows) over whole tiles. ask: fetch the panel behind this one.
static inline void multiply(const panel *p, uint32_t first, uint32_t rows, bool ask) {
    const qrn_gemm_q8_tile *t = p->t;
    const uint8_t *a = t->a + first * t->a_row;
    const int8_t *b = t->b;
    const size_t b_row = QRN_PANEL * QRN_Q8_DEPTH;
    bool two = rows > HALF;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t s = 0; s < p->in_tiles; s += STEPS, a += 64, b += STEPS * b_row) {
        _tile_loadd(6, b, b_row);
        _tile_loadd(4, a, t->a_row);
        _tile_loadd(7, b + 64, b_row);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        if (two) {
            _tile_loadd(5, a + HALF * t->a_row, t->a_row);
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
        if (ask)
            qrn_amx_ask(b + t->next, STEP_LINES);
    }
}

static inline void store_sums(uint32_t rows, int32_t *acc) {
    const size_t acc_row = QRN_PANEL * sizeof *acc;
    _tile_stored(0, acc, acc_row);
    _tile_stored(1, acc + 16, acc_row);
    if (rows > HALF) {
        _tile_stored(2, acc + HALF * QRN_PANEL, acc_row);
        _tile_stored(3, acc + HALF * QRN_PANEL + 16, acc_row);
    }
}

static inline __m512i four_bytes(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

// Two vectors of sums of a row, with everything that tiles do not add.
static inline void whole_sums(const panel *p, uint32_t row, const int32_t *acc, __m512i *sums) {
    const qrn_gemm_q8_tile *t = p->t;
    __m512i term = _mm512_set1_epi32(t->row ? t->row[row] : 0);
    for (int v = 0; v < 2; v++) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(acc + 16 * v),
                                       _mm512_loadu_si512(t->column + 16 * v));
        sums[v] = _mm512_add_epi32(sum, term);
    }
    const uint8_t *a = t->a + row * t->a_row;
    for (size_t s = p->in_tiles; s < t->steps; s++) {
        __m512i x = four_bytes(a + s * QRN_Q8_DEPTH);
        const int8_t *b = t->b + s * QRN_PANEL * QRN_Q8_DEPTH;
        sums[0] = _mm512_dpbusd_epi32(sums[0], x, _mm512_loadu_si512(b));
        sums[1] = _mm512_dpbusd_epi32(sums[1], x, _mm512_loadu_si512(b + 64));
    }
}

// The results of two rows whose lanes are not sure.
static __attribute__((noinline)) void decide(const qrn_gemm_q8_tile *t, const __m512i *sums,
                                             __mmask16 sure, uint32_t row, uint32_t n) {
    int32_t acc[2 * QRN_PANEL];
    memcpy(acc, sums, sizeof acc);
    for (uint32_t i = 0; i < n * QRN_PANEL; i++) {
        uint32_t c = i % QRN_PANEL;
        if (!(sure >> c % 16 & 1) && c < t->cols)
            t->y[(row + i / QRN_PANEL) * t->y_row + c] = qrn_requant8_exact(t->requant, c, acc[i]);
    }
}

// Two rows, or the last one.
static void epilogue(const panel *p, uint32_t row, uint32_t n, const int32_t *acc) {
    const qrn_gemm_q8_tile *t = p->t;
    __m512i sums[4];
    whole_sums(p, row, acc, sums);
    whole_sums(p, row + n - 1, acc + (n - 1) * QRN_PANEL, sums + 2);
    if (t->acc) {
        int32_t *to = t->acc + (size_t)row * QRN_PANEL;
        for (uint32_t i = 0; i < 2 * n; i++)
            _mm512_mask_storeu_epi32(to + 16 * i, (__mmask16)(p->mask >> 16 * (i % 2)), sums[i]);
        return;
    }
    __mmask16 sure;
    __m512i q = qrn_requant8_clamp(&p->requant, qrn_requant8_four(&p->requant, sums, 2, &sure));
    uint8_t *y = t->y + row * t->y_row;
    _mm256_mask_storeu_epi8(y, p->mask, _mm512_castsi512_si256(q));
    if (n > 1)
        _mm256_mask_storeu_epi8(y + t->y_row, p->mask, _mm512_extracti64x4_epi64(q, 1));
    if (__builtin_expect(sure != 0xffff, 0))
        decide(t, sums, sure, row, n);
}

static inline void block_epilogue(const panel *p, uint32_t first, uint32_t rows,
                                  const int32_t *acc) {
    for (uint32_t r = 0; r < rows; r += 2)
        epilogue(p, first + r, rows - r < 2 ? 1 : 2, acc + r * QRN_PANEL);
}

static void product(const qrn_gemm_q8_tile *t) {
    if (t->rows < ROWS_MIN || t->steps < STEPS) {
        qrn_gemm_q8_12x32_avx512vnni.tile(t);
        return;
    }
    _Alignas(64) int32_t acc[ROWS * QRN_PANEL];
    panel p = {.t = t,
               .mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1,
               .in_tiles = t->steps / STEPS * STEPS};
    if (!t->acc)
        p.requant = qrn_requant8_vectors_of(t->requant);
    uint32_t n = (t->rows + ROWS - 1) / ROWS, done = 0, before = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rows = (t->rows - done - before + n - i - 1) / (n - i);
        if (rows != before)
            set_up(rows);
        multiply(&p, done + before, rows, i == 0 && t->next);
        block_epilogue(&p, done, before, acc);
        store_sums(rows, acc);
        done += before;
        before = rows;
    }
    block_epilogue(&p, done, before, acc);
    _tile_release();
}

static void row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                     int32_t *sums) {
    qrn_gemm_q8_12x32_avx512vnni.row_sums(a, a_row, depth, rows, factor, sums);
}

const qrn_gemm_q8_kernel qrn_gemm_q8_32x32_amx = {
    "gemm_q8_32x32_amx", UINT32_MAX, product, row_sums, qrn_dense_copy_avx512, ROWS};
