// SPDX-License-Identifier: MIT
//
// GEMM over byte planes for AMX: 16 rows by 32 columns, the sums of their low bytes in two tiles
// and those of their high bytes in two others, so that a panel is loaded once for both. As in
// gemm_q8_amx.c, sums begin with the terms of their columns and go through memory to vectors, which
// requantize some rows of an earlier block after each step of the products, and the end of a depth
// that is no multiple of 64 is one more step. Depths below 64, which parts of transposed
// convolutions have, are left to vectors.
#include "kernels/gemm/tiles/gemm_planes_avx512vnni.h"
#include "kernels/gemm/tiles/tiles_amx.h"

#define ROWS QRN_AMX_ROWS
#define STEPS QRN_AMX_STEPS
#define STEP_BYTES (QRN_PANEL * QRN_Q8_DEPTH)
#define STEP_LINES (STEPS * STEP_BYTES / 64) // of a panel
#define SUMS (ROWS * 2 * QRN_PANEL)          // sums of a block; of a row: 32 of low bytes, then 32
#define LONG_DEPTH 16 // tiles: products of a few steps outlast the stores of the block before

// What all rows of a call share.
typedef struct whole {
    const qrn_planes_rows *r;
    const qrn_planes_panel *p;
    size_t y_row;
    size_t plane;      // bytes of a plane of a row
    size_t tiles;      // of the depth, whole ones
    const int8_t *end; // of the panel, 16 steps; NULL: the depth has only whole tiles
    size_t each;       // rows that are requantized after each step
    size_t lines;      // of the next panel that are asked for in each step
    range to;
    terms of;
} whole;

// Rows of a block whose sums are in memory.
typedef struct waiting {
    const int32_t *acc;
    uint16_t *y;
    size_t left;
} waiting;

// So many rows, or what is left.
INLINE void requantize(const whole *w, waiting *rest, size_t rows, const bool fits32) {
    for (; rows > 0 && rest->left > 0; rows--) {
        __m512i acc[ACCS]; // the first 4
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            acc[v] = _mm512_loadu_si512(rest->acc + 16 * v);
        if (fits32)
            join(acc, 1, QRN_PANEL);
        epilogue(&w->of, &w->to, acc, rest->y, QRN_PANEL, fits32);
        rest->acc += 2 * QRN_PANEL;
        rest->y += w->y_row;
        rest->left--;
    }
}

static inline void step(const uint8_t *a, size_t plane, size_t row_bytes, const int8_t *b) {
    _tile_loadd(6, b, STEP_BYTES);
    _tile_loadd(4, a, row_bytes);
    _tile_loadd(7, b + 64, STEP_BYTES);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_loadd(5, a + plane, row_bytes);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
}

// Sums of a block of rows, while all of `rest` is requantized. begin: of a row of sums; ahead: what
// to ask for.
INLINE void multiply(const whole *w, size_t row, const int32_t *begin, const int8_t *ahead,
                     waiting rest, const bool fits32) {
    const uint8_t *a = w->r->a + row * w->r->row_bytes;
    const int8_t *b = w->p->plane[0];
    _tile_loadd(0, begin, 0);
    _tile_loadd(1, begin + 16, 0);
    _tile_loadd(2, begin + 32, 0);
    _tile_loadd(3, begin + 48, 0);
    for (size_t s = 0; s < w->tiles; s++, a += QRN_AMX_BYTES, b += STEPS * STEP_BYTES) {
        step(a, w->plane, w->r->row_bytes, b);
        ahead = qrn_amx_ask(ahead, w->lines);
        requantize(w, &rest, w->each, fits32);
    }
    if (w->end)
        step(a + w->plane % QRN_AMX_BYTES - QRN_AMX_BYTES, w->plane, w->r->row_bytes, w->end);
}

static inline void store_sums(int32_t *acc) {
    const size_t row = 2 * QRN_PANEL * sizeof *acc;
    _tile_stored(0, acc, row);
    _tile_stored(1, acc + 16, row);
    _tile_stored(2, acc + 32, row);
    _tile_stored(3, acc + 48, row);
}

// fits32: whole sums do.
INLINE void run_blocks(const whole *w, uint16_t *y, const bool fits32) {
    _Alignas(64) int32_t acc[2][SUMS], begin[2 * QRN_PANEL] = {0};
    memcpy(begin, w->of.low, sizeof w->of.low);
    if (!fits32)
        memcpy(begin + QRN_PANEL, w->of.high, sizeof w->of.high);
    // Only this copy is seen by tiles: the constants of w stay in registers.
    __asm__ volatile("" : : "r"(begin) : "memory");
    // Block i is requantized with the products of block i + behind, whose sums may replace its own.
    const size_t n = (w->r->n + ROWS - 1) / ROWS, behind = w->tiles < LONG_DEPTH ? 2 : 1;
    const int8_t *ahead = w->p->plane[0] + w->p->steps * STEP_BYTES;
    waiting queue[2] = {{0}};
    size_t done = 0, before = 0;
    for (size_t i = 0; i < n; i++, ahead += w->tiles * w->lines * 64) {
        size_t rows = (w->r->n - done + n - i - 1) / (n - i);
        if (rows != before)
            qrn_amx_set_up((uint32_t)rows, (uint32_t)rows);
        multiply(w, done, begin, ahead, queue[(i + behind) % 2], fits32);
        queue[(i + behind) % 2].left = 0;
        store_sums(acc[i % 2]);
        queue[i % 2] = (waiting){acc[i % 2], y + done * w->y_row, rows};
        done += rows;
        before = rows;
    }
    requantize(w, &queue[n % 2], ROWS, fits32); // the older one
    requantize(w, &queue[(n + 1) % 2], ROWS, fits32);
    _tile_release();
}

// Rows of a depth that fills no tile.
static void run_short(const whole *w, uint16_t *y) {
    const uint8_t *a = w->r->a;
    for (size_t i = 0; i < w->r->n; i++, a += w->r->row_bytes, y += w->y_row) {
        const int8_t *b = w->p->plane[0];
        __m512i acc[ACCS]; // the first 4
        zero(acc, 4);
        add_begin(&w->of, acc);
        for (size_t s = 0; s < w->p->steps; s++, b += STEP_BYTES)
            for (int v = 0; v < 4; v++)
                acc[v] = dot(acc[v], four_bytes(a + v / 2 * w->plane + s * QRN_Q8_DEPTH),
                             _mm512_loadu_si512(b + v % 2 * 64));
        epilogue(&w->of, &w->to, acc, y, QRN_PANEL, false);
    }
}

void qrn_planes_requant_amx(const qrn_planes_rows *r, const qrn_planes_panel *p,
                            const qrn_planes_out *o) {
    _Alignas(64) int8_t end[STEPS * STEP_BYTES];
    const size_t n = (r->n + ROWS - 1) / ROWS, tiles = p->steps / STEPS;
    _Alignas(64) whole w = {.r = r,
                            .p = p,
                            .y_row = o->y_row,
                            .plane = r->row_bytes / 2,
                            .tiles = tiles,
                            .end = p->steps % STEPS ? end : NULL,
                            .each = tiles ? (ROWS + tiles - 1) / tiles : 0,
                            .lines = (STEP_LINES + n - 1) / n,
                            .to = range_of(o)};
    const bool fits32 = tiles && p->add32;
    prepare(p, &w.of, QRN_PANEL, fits32);
    if (!tiles) {
        run_short(&w, o->y);
        return;
    }
    if (w.end)
        qrn_amx_copy_end(p->plane[0], p->steps, STEP_BYTES, end);
    if (fits32)
        run_blocks(&w, o->y, true);
    else
        run_blocks(&w, o->y, false);
}
