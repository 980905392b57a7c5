// SPDX-License-Identifier: MIT
//
// GEMM for AMX: blocks of up to 32 rows by 32 columns as two by two tiles of sums, which begin with
// the terms of their columns. A tile of a panel, 16 steps by 16 columns, is what the packing dense8
// holds. Sums go through memory to the vectors that requantize them. What a tile stores reaches the
// first cache late, and no load can have it before; so vectors work on an earlier block, some rows
// after each step of the products, which need other units. What is left of a depth that is no
// multiple of 64 is one more step: the last 64 bytes of each row times weights of which those that
// were multiplied before are 0. Few rows, short depths and results that are sums are left to the
// tiles of AVX-512 VNNI.
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx512.h"
#include "kernels/gemm/tiles/tiles_amx.h"

#define INLINE static inline __attribute__((always_inline))
#define ROWS 32
#define HALF QRN_AMX_ROWS
#define STEPS QRN_AMX_STEPS
#define ROWS_MIN 8
#define STEP_BYTES (QRN_PANEL * QRN_Q8_DEPTH)
#define STEP_LINES (STEPS * STEP_BYTES / 64) // of a panel
#define LONG_DEPTH 16 // tiles: products of a few steps outlast the stores of the block before

// What all blocks of a call share.
typedef struct panel {
    const qrn_gemm_q8_tile *t;
    qrn_requant8_vectors requant;
    __mmask32 mask;    // of the columns that exist
    size_t whole;      // tiles of the depth
    const int8_t *end; // of the panel, 16 steps; NULL: the depth has only whole tiles
    uint32_t pairs;    // of rows that are requantized after each step
    uint32_t lines;    // of what is wanted next that are asked for in each step
} panel;

// Rows of a block whose sums are in memory.
typedef struct waiting {
    const int32_t *acc;
    uint8_t *y;
    uint32_t row, left; // rows
} waiting;

// Rows in two tiles; where there is no second one, it may have any.
static void set_up(uint32_t rows) {
    qrn_amx_set_up(rows < HALF ? rows : HALF, rows > HALF ? rows - HALF : HALF);
}

// The results of n rows, 1 or 2, whose lanes are not sure.
static __attribute__((noinline)) void decide(const qrn_gemm_q8_tile *t, const int32_t *acc,
                                             uint8_t *y, uint32_t row, uint32_t n, __mmask16 sure) {
    for (uint32_t i = 0; i < n * QRN_PANEL; i++) {
        uint32_t c = i % QRN_PANEL, r = i / QRN_PANEL;
        int32_t sum = acc[i] + (t->row ? t->row[row + r] : 0);
        if (!(sure >> c % 16 & 1) && c < t->cols)
            y[r * t->y_row + c] = qrn_requant8_exact(t->requant, c, sum);
    }
}

// So many pairs of rows, or what is left. v and w are the caller's, which stay in registers.
INLINE void requantize(const panel *p, const qrn_requant8_vectors *v, waiting *w, uint32_t pairs) {
    const qrn_gemm_q8_tile *t = p->t;
    for (; pairs > 0 && w->left > 0; pairs--) {
        const uint32_t n = w->left > 1 ? 2 : 1;
        __m512i sums[4]; // there is memory of two rows, always
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++)
            sums[i] = _mm512_loadu_si512(w->acc + 16 * i);
        if (t->row)
#pragma GCC unroll 4
            for (uint32_t i = 0; i < 4; i++)
                sums[i] =
                    _mm512_add_epi32(sums[i], _mm512_set1_epi32(t->row[w->row + i / 2 * (n - 1)]));
        __mmask16 sure;
        __m512i q = qrn_requant8_four(v, sums, 2, &sure);
        q = p->requant.plain ? qrn_requant8_order(v, q) : qrn_requant8_clamp(v, q);
        _mm256_mask_storeu_epi8(w->y, p->mask, _mm512_castsi512_si256(q));
        if (n > 1)
            _mm256_mask_storeu_epi8(w->y + t->y_row, p->mask, _mm512_extracti64x4_epi64(q, 1));
        if (__builtin_expect(sure != 0xffff, 0))
            decide(p->t, w->acc, w->y, w->row, n, sure);
        w->acc += 2 * QRN_PANEL;
        w->y += 2 * t->y_row;
        w->row += n;
        w->left -= n;
    }
}

static void requantize_all(const panel *p, waiting w) {
    const qrn_requant8_vectors v = p->requant;
    requantize(p, &v, &w, ROWS / 2);
}

INLINE void step(const uint8_t *a, size_t a_row, const int8_t *b, bool two) {
    _tile_loadd(6, b, STEP_BYTES);
    _tile_loadd(4, a, a_row);
    _tile_loadd(7, b + 64, STEP_BYTES);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if (two) {
        _tile_loadd(5, a + HALF * a_row, a_row);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
}

static inline void load_columns(const int32_t *column, bool two) {
    _tile_loadd(0, column, 0);
    _tile_loadd(1, column + 16, 0);
    if (two) {
        _tile_loadd(2, column, 0);
        _tile_loadd(3, column + 16, 0);
    }
}

// Sums of rows [first, first + rows), while all of w is requantized. ahead: what to ask for.
static inline void multiply(const panel *p, uint32_t first, uint32_t rows, const int8_t *ahead,
                            waiting w) {
    const qrn_gemm_q8_tile *t = p->t;
    const uint8_t *a = t->a + first * t->a_row;
    const int8_t *b = t->b;
    const bool two = rows > HALF;
    const qrn_requant8_vectors v = p->requant;
    load_columns(t->column, two);
    size_t left = p->whole;
    for (; left && w.left; left--, a += QRN_AMX_BYTES, b += STEPS * STEP_BYTES) {
        step(a, t->a_row, b, two);
        ahead = qrn_amx_ask(ahead, p->lines);
        requantize(p, &v, &w, p->pairs);
    }
    for (; left; left--, a += QRN_AMX_BYTES, b += STEPS * STEP_BYTES) { // with more registers
        step(a, t->a_row, b, two);
        ahead = qrn_amx_ask(ahead, p->lines);
    }
    if (p->end)
        step(a + t->steps % STEPS * QRN_Q8_DEPTH - QRN_AMX_BYTES, t->a_row, p->end, two);
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

static void product(const qrn_gemm_q8_tile *t) {
    if (t->rows < ROWS_MIN || t->steps < STEPS || t->acc) {
        qrn_gemm_q8_12x32_avx512vnni.tile(t);
        return;
    }
    _Alignas(64) int32_t acc[2][ROWS * QRN_PANEL];
    _Alignas(64) int8_t end[STEPS * STEP_BYTES];
    const uint32_t n = (t->rows + ROWS - 1) / ROWS;
    panel p = {.t = t,
               .requant = qrn_requant8_vectors_of(t->requant),
               .mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1,
               .whole = t->steps / STEPS,
               .end = t->steps % STEPS ? end : NULL,
               .lines = t->next ? (STEP_LINES + n - 1) / n : 0};
    p.pairs = (uint32_t)((ROWS / 2 + p.whole - 1) / p.whole);
    if (p.end)
        qrn_amx_copy_end(t->b, t->steps, STEP_BYTES, end);
    // Block i is requantized with the products of block i + behind, whose sums may replace its own.
    const uint32_t behind = p.whole < LONG_DEPTH ? 2 : 1;
    const int8_t *ahead = t->b + t->next;
    waiting queue[2] = {{0}};
    uint32_t done = 0, before = 0;
    for (uint32_t i = 0; i < n; i++, ahead += p.whole * p.lines * 64) {
        uint32_t rows = (t->rows - done + n - i - 1) / (n - i);
        if (rows != before)
            set_up(rows);
        multiply(&p, done, rows, ahead, queue[(i + behind) % 2]);
        queue[(i + behind) % 2].left = 0;
        store_sums(rows, acc[i % 2]);
        queue[i % 2] = (waiting){acc[i % 2], t->y + done * t->y_row, done, rows};
        done += rows;
        before = rows;
    }
    requantize_all(&p, queue[n % 2]); // the older one
    requantize_all(&p, queue[(n + 1) % 2]);
    _tile_release();
}

static void row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                     int32_t *sums) {
    qrn_gemm_q8_12x32_avx512vnni.row_sums(a, a_row, depth, rows, factor, sums);
}

const qrn_gemm_q8_kernel qrn_gemm_q8_32x32_amx = {
    "gemm_q8_32x32_amx", UINT32_MAX, product, row_sums, qrn_dense_copy_avx512, ROWS};
