// SPDX-License-Identifier: MIT
//
// GEMM over byte planes for AMX: 16 rows by 32 columns, the sums of their low bytes in two tiles
// and those of their high bytes in two others, so that a panel is loaded once for both. Sums go
// through memory to the vectors that requantize them, which also add what is left of a depth that
// is no multiple of 64, while the products of the next rows are on their way.
#include "kernels/gemm/tiles/gemm_planes_avx512vnni.h"
#include "kernels/gemm/tiles/tiles_amx.h"

#define ROWS QRN_AMX_ROWS
#define STEPS QRN_AMX_STEPS
#define STEP_BYTES (QRN_PANEL * QRN_Q8_DEPTH)

// What all rows of a call share.
typedef struct whole {
    const qrn_planes_rows *r;
    const qrn_planes_panel *p;
    size_t plane;    // bytes of a plane of a row
    size_t in_tiles; // steps
    range to;
    terms of;
} whole;

static inline void multiply(const whole *w, size_t row, bool ask) {
    const uint8_t *a = w->r->a + row * w->r->row_bytes;
    const int8_t *b = w->p->plane[0];
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t s = 0; s < w->in_tiles; s += STEPS, a += 64, b += STEPS * STEP_BYTES) {
        _tile_loadd(6, b, STEP_BYTES);
        _tile_loadd(4, a, w->r->row_bytes);
        _tile_loadd(7, b + 64, STEP_BYTES);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_loadd(5, a + w->plane, w->r->row_bytes);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
        if (ask)
            qrn_amx_ask(b + w->p->steps * STEP_BYTES, STEPS * STEP_BYTES / 64);
    }
}

// A row of acc: 32 sums of low bytes, then 32 of high ones.
static inline void store_sums(int32_t *acc) {
    const size_t row = 2 * QRN_PANEL * sizeof *acc;
    _tile_stored(0, acc, row);
    _tile_stored(1, acc + 16, row);
    _tile_stored(2, acc + 32, row);
    _tile_stored(3, acc + 48, row);
}

static inline void block_epilogue(const whole *w, const qrn_planes_out *o, size_t first, size_t n,
                                  const int32_t *sums) {
    uint16_t *y = (uint16_t *)o->y + first * o->y_row;
    for (size_t i = 0; i < n; i++, y += o->y_row, sums += 2 * QRN_PANEL) {
        const uint8_t *a = w->r->a + (first + i) * w->r->row_bytes;
        __m512i acc[4];
        for (int v = 0; v < 4; v++)
            acc[v] = _mm512_loadu_si512(sums + 16 * v);
        for (size_t s = w->in_tiles; s < w->p->steps; s++) {
            const int8_t *b = w->p->plane[0] + s * STEP_BYTES;
            __m512i low = four_bytes(a + s * QRN_Q8_DEPTH);
            __m512i high = four_bytes(a + w->plane + s * QRN_Q8_DEPTH);
            for (int v = 0; v < 2; v++) {
                acc[v] = dot(acc[v], low, _mm512_loadu_si512(b + 64 * v));
                acc[2 + v] = dot(acc[2 + v], high, _mm512_loadu_si512(b + 64 * v));
            }
        }
        add_begin(&w->of, acc);
        epilogue(&w->of, &w->to, acc, y, QRN_PANEL, false);
    }
}

void qrn_planes_requant_amx(const qrn_planes_rows *r, const qrn_planes_panel *p,
                            const qrn_planes_out *o) {
    _Alignas(64) int32_t acc[ROWS * 2 * QRN_PANEL];
    _Alignas(64) whole w = {.r = r,
                            .p = p,
                            .plane = r->row_bytes / 2,
                            .in_tiles = p->steps / STEPS * STEPS,
                            .to = range_of(o)};
    prepare(p, &w.of, QRN_PANEL, false);
    size_t n = (r->n + ROWS - 1) / ROWS, done = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        size_t rows = (r->n - done - before + n - i - 1) / (n - i);
        if (rows != before)
            qrn_amx_set_up((uint32_t)rows, (uint32_t)rows);
        multiply(&w, done + before, i == 0);
        block_epilogue(&w, o, done, before, acc);
        store_sums(acc);
        done += before;
        before = rows;
    }
    block_epilogue(&w, o, done, before, acc);
    _tile_release();
}
