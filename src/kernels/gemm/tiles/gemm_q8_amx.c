// SPDX-License-Identifier: MIT
//
// GEMM for AMX: blocks of up to 32 rows by 32 columns as two by two tiles of sums, which begin with
// the terms of their columns. A tile of a panel, 16 steps by 16 columns, is what the packing dense8
// holds. Sums go through memory to the vectors that requantize them. What a tile stores reaches the
// first cache late, and a load whose address is equal modulo 4 KiB to that of a store on its way
// waits for it. So the upper 16 rows of a block are requantized behind the stores of its lower
// ones, and its lower rows behind the products of the next block, which need other units: no load
// is near a store of the same half. What is left of a depth that is no multiple of 64 is one more
// step: the last 64 bytes of each row times weights of which those that were multiplied before are
// 0. Few rows, short depths and results that are sums are left to the tiles of AVX-512 VNNI.
#include "kernels/gemm/tiles/gemm_q8.h"
#include "kernels/gemm/epilogue/requant8_avx512.h"
#include "kernels/gemm/tiles/tiles_amx.h"

#define INLINE static inline __attribute__((always_inline))
#define ROWS 32
#define HALF QRN_AMX_ROWS
#define PAIRS (HALF / 2) // of rows, in half a block
#define STEPS QRN_AMX_STEPS
#define ROWS_MIN 8
#define STEP_BYTES (QRN_PANEL * QRN_Q8_DEPTH)
#define STEP_LINES (STEPS * STEP_BYTES / 64) // of a panel
#define NEAR_BYTES (1 << 20)                 // half of the second cache of every CPU that has AMX

// What requantization needs. A local variable of which no address is given away: stores of bytes
// would have the compiler load every member again.
typedef struct epilogue {
    qrn_requant8_vectors v;
    const qrn_gemm_q8_tile *t;
    const int32_t *row; // terms of rows
    size_t y_row;
    __mmask32 mask; // of the columns that exist
} epilogue;

// Rows whose sums are in memory.
typedef struct waiting {
    const int32_t *acc;
    uint8_t *y;
    uint32_t row, end;
} waiting;

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

// So many pairs of rows, or what is left. plain: all columns exist and results are bytes as they
// come; terms: rows have some.
INLINE void requantize(const epilogue *e, waiting *w, uint32_t pairs, const bool plain,
                       const bool terms) {
    for (; pairs > 0 && w->row < w->end; pairs--) {
        const uint32_t n = w->end - w->row > 1 ? 2 : 1;
        __m512i sums[4]; // there is memory of two rows, always
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; i++)
            sums[i] = _mm512_loadu_si512(w->acc + 16 * i);
        if (terms)
#pragma GCC unroll 4
            for (uint32_t i = 0; i < 4; i++)
                sums[i] =
                    _mm512_add_epi32(sums[i], _mm512_set1_epi32(e->row[w->row + i / 2 * (n - 1)]));
        __mmask16 sure;
        __m512i q = qrn_requant8_four(&e->v, sums, 2, &sure);
        q = plain ? qrn_requant8_order(&e->v, q) : qrn_requant8_clamp(&e->v, q);
        _mm256_mask_storeu_epi8(w->y, e->mask, _mm512_castsi512_si256(q));
        if (n > 1)
            _mm256_mask_storeu_epi8(w->y + e->y_row, e->mask, _mm512_extracti64x4_epi64(q, 1));
        if (__builtin_expect(sure != 0xffff, 0))
            decide(e->t, w->acc, w->y, w->row, n, sure);
        w->acc += 2 * QRN_PANEL;
        w->y += 2 * e->y_row;
        w->row += n;
    }
}

// below: bytes from the upper rows to the lower ones.
INLINE void step(const uint8_t *a, size_t a_row, size_t below, const int8_t *b, bool two) {
    _tile_loadd(6, b, STEP_BYTES);
    _tile_loadd(4, a, a_row);
    _tile_loadd(7, b + 64, STEP_BYTES);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if (two) {
        _tile_loadd(5, a + below, a_row);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
}

INLINE void load_columns(const int32_t *column, bool two) {
    _tile_loadd(0, column, 0);
    _tile_loadd(1, column + 16, 0);
    if (two) {
        _tile_loadd(2, column, 0);
        _tile_loadd(3, column + 16, 0);
    }
}

INLINE void store_half(const int half, int32_t *acc) {
    const size_t acc_row = QRN_PANEL * sizeof *acc;
    if (half == 0) {
        _tile_stored(0, acc, acc_row);
        _tile_stored(1, acc + 16, acc_row);
    } else {
        _tile_stored(2, acc, acc_row);
        _tile_stored(3, acc + 16, acc_row);
    }
}

// All rows. plain, terms: see requantize; height: rows of tiles.
INLINE void run(const qrn_gemm_q8_tile *t, uint32_t height, const bool plain, const bool terms) {
    _Alignas(64) int32_t acc[(ROWS + 1) * QRN_PANEL]; // the last row may be the first of a pair
    _Alignas(64) int8_t end[STEPS * STEP_BYTES];
    const epilogue e = {.v = qrn_requant8_vectors_of(t->requant),
                        .t = t,
                        .row = t->row,
                        .y_row = t->y_row,
                        .mask = t->cols >= 32 ? 0xffffffffu : (1u << t->cols) - 1};
    const size_t whole = t->steps / STEPS, a_row = t->a_row, blocks = (t->rows + ROWS - 1) / ROWS;
    const uint32_t each = (uint32_t)((PAIRS + whole - 1) / whole);
    const size_t lines = t->next ? (STEP_LINES + blocks - 1) / blocks : 0;
    const int8_t *ahead = t->b + t->next, *last = NULL;
    if (t->steps % STEPS) {
        qrn_amx_copy_end(t->b, t->steps, STEP_BYTES, end);
        last = end;
    }
    waiting lower = {0};
    for (uint32_t done = 0, n; done < t->rows; done += n) {
        n = t->rows - done < ROWS ? t->rows - done : ROWS;
        // The last tile of fewer rows begins with some that are done, or that the other one has.
        const bool two = n > HALF;
        const uint32_t skip = two ? ROWS - n : height - n;
        const size_t below = (n - HALF) * a_row;
        const uint8_t *a = t->a + (two ? done : done - skip) * a_row;
        const int8_t *b = t->b;
        load_columns(t->column, two);
        for (size_t s = 0; s < whole; s++, a += QRN_AMX_BYTES, b += STEPS * STEP_BYTES) {
            step(a, a_row, below, b, two);
            ahead = qrn_amx_ask(ahead, lines);
            requantize(&e, &lower, each, plain, terms);
        }
        if (last)
            step(a + t->steps % STEPS * QRN_Q8_DEPTH - QRN_AMX_BYTES, a_row, below, last, two);
        store_half(0, acc);
        requantize(&e, &lower, PAIRS, plain, terms);
        if (two)
            store_half(1, acc + HALF * QRN_PANEL);
        waiting upper = {acc + (two ? 0 : skip) * QRN_PANEL, t->y + done * t->y_row, done,
                         done + (two ? HALF : n)};
        requantize(&e, &upper, PAIRS, plain, terms);
        lower = (waiting){acc + (HALF + skip) * QRN_PANEL, upper.y, upper.row, done + n};
    }
    requantize(&e, &lower, PAIRS, plain, terms);
}

static void run_rows(const qrn_gemm_q8_tile *t, uint32_t height) {
    if (t->row)
        run(t, height, false, true);
    else if (t->requant->low == 0 && t->requant->high == UINT8_MAX && t->requant->flip == 0)
        run(t, height, true, false);
    else
        run(t, height, false, false);
}

static void enter(void) { qrn_amx_set_up(QRN_AMX_ROWS); }
static void leave(void) { _tile_release(); }

static void product(const qrn_gemm_q8_tile *t) {
    if (t->rows < ROWS_MIN || t->steps < STEPS || t->acc) {
        qrn_gemm_q8_12x32_avx512vnni.tile(t);
    } else if (t->rows < QRN_AMX_ROWS) {
        qrn_amx_set_up(t->rows);
        run_rows(t, t->rows);
        enter();
    } else {
        run_rows(t, QRN_AMX_ROWS);
    }
}

static void row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                     int32_t *sums) {
    qrn_gemm_q8_12x32_avx512vnni.row_sums(a, a_row, depth, rows, factor, sums);
}

const qrn_gemm_q8_kernel qrn_gemm_q8_32x32_amx = {.name = "gemm_q8_32x32_amx",
                                                  .rows = UINT32_MAX,
                                                  .tile = product,
                                                  .row_sums = row_sums,
                                                  .copy = qrn_dense_copy_avx512,
                                                  .block = ROWS,
                                                  .near_bytes = NEAR_BYTES,
                                                  .enter = enter,
                                                  .leave = leave};
