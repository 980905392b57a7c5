// SPDX-License-Identifier: MIT
//
// GEMM over byte planes for AMX: 16 rows by 32 columns, the sums of their low bytes in two tiles
// and those of their high bytes in two others, so that a panel is loaded once for both. As in
// gemm_q8_amx.c, sums begin with the terms of their columns and go through memory to vectors; half
// a block, 16 columns of both planes, is requantized behind the stores of the other half or behind
// the products of the next block, and the end of a depth that is no multiple of 64 is one more
// step. Depths below 64, which parts of transposed convolutions have, are left to vectors.
#include "kernels/gemm/tiles/gemm_planes_avx512vnni.h"
#include "kernels/gemm/tiles/tiles_amx.h"

#define ROWS QRN_AMX_ROWS
#define HALF (QRN_PANEL / 2) // columns
#define PAIRS (ROWS / 2)     // of rows
#define STEPS QRN_AMX_STEPS
#define STEP_BYTES (QRN_PANEL * QRN_Q8_DEPTH)
#define STEP_LINES (STEPS * STEP_BYTES / 64) // of a panel
#define PLANE (ROWS * HALF)                  // sums of a tile
#define HALF_SUMS (2 * PLANE)

// What requantization of 16 columns needs. A local variable of which no address is given away, so
// that stores do not have the compiler load it again.
typedef struct half_terms {
    __m512d m[2], start[2];
    __mmask16 mask; // of the columns that exist
} half_terms;

// Rows of half a block whose sums are in memory.
typedef struct waiting {
    const int32_t *acc;
    uint16_t *y;
    size_t left;
} waiting;

INLINE half_terms half_terms_of(const terms *t, int half, uint32_t cols) {
    const double *m = t->m + half * HALF, *start = t->start + half * HALF;
    const uint32_t n = cols > (uint32_t)half * HALF ? cols - (uint32_t)half * HALF : 0;
    return (half_terms){
        .m = {_mm512_load_pd(m), _mm512_load_pd(m + 8)},
        .start = {_mm512_load_pd(start), _mm512_load_pd(start + 8)},
        .mask = n >= HALF ? 0xffff : (__mmask16)((1u << n) - 1),
    };
}

// 16 results of a row, whose sums are at acc.
INLINE __m512i whole_numbers(const half_terms *t, const int32_t *acc, const bool fits32) {
    __m512i low = _mm512_load_si512(acc), high = _mm512_load_si512(acc + PLANE);
    __m512d v[2];
    if (fits32)
        low = _mm512_add_epi32(low, _mm512_slli_epi32(high, 8));
    qrn_requant16_doubles(low, fits32 ? low : high, fits32 ? 0 : 8, v);
    return qrn_requant16_whole(_mm512_fmadd_pd(v[0], t->m[0], t->start[0]),
                               _mm512_fmadd_pd(v[1], t->m[1], t->start[1]));
}

// So many pairs of rows, or what is left; there are sums of whole pairs, always.
INLINE void requantize(const half_terms *t, const range *to, size_t y_row, waiting *w, size_t pairs,
                       const bool fits32) {
    for (; pairs > 0 && w->left > 0; pairs--) {
        __m512i q =
            clamped(to, whole_numbers(t, w->acc, fits32), whole_numbers(t, w->acc + HALF, fits32));
        _mm256_mask_storeu_epi16(w->y, t->mask, _mm512_castsi512_si256(q));
        if (w->left > 1)
            _mm256_mask_storeu_epi16(w->y + y_row, t->mask, _mm512_extracti64x4_epi64(q, 1));
        w->acc += 2 * HALF;
        w->y += 2 * y_row;
        w->left -= w->left > 1 ? 2 : 1;
    }
}

INLINE void step(const uint8_t *a, size_t plane, size_t row_bytes, const int8_t *b) {
    _tile_loadd(6, b, STEP_BYTES);
    _tile_loadd(4, a, row_bytes);
    _tile_loadd(7, b + 64, STEP_BYTES);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_loadd(5, a + plane, row_bytes);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
}

INLINE void store_half(const int half, int32_t *acc) {
    if (half == 0) {
        _tile_stored(0, acc, 64);
        _tile_stored(2, acc + PLANE, 64);
    } else {
        _tile_stored(1, acc, 64);
        _tile_stored(3, acc + PLANE, 64);
    }
}

// fits32: whole sums do. end: 16 last steps of the panel; NULL: the depth has only whole tiles.
// height: rows of tiles.
INLINE void run_blocks(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o,
                       const terms *of, const int8_t *end, size_t height, const bool fits32) {
    _Alignas(64) int32_t begin[2 * QRN_PANEL] = {0};
    _Alignas(64) int32_t acc[2 * HALF_SUMS + HALF]; // the last row may be the first of a pair
    memcpy(begin, of->low, sizeof of->low);
    if (!fits32)
        memcpy(begin + QRN_PANEL, of->high, sizeof of->high);
    __asm__ volatile("" : : "r"(begin) : "memory"); // tiles are loaded from it
    const range to = range_of(o);
    const half_terms left = half_terms_of(of, 0, o->cols), right = half_terms_of(of, 1, o->cols);
    const size_t y_row = o->y_row, row_bytes = r->row_bytes, plane = row_bytes / 2;
    const size_t n = (r->n + ROWS - 1) / ROWS, tiles = p->steps / STEPS;
    const size_t each = (PAIRS + tiles - 1) / tiles, lines = (STEP_LINES + n - 1) / n;
    const int8_t *ahead = p->plane[0] + p->steps * STEP_BYTES;
    uint16_t *y = o->y;
    waiting second = {0};
    for (size_t done = 0, rows; done < r->n; done += rows) {
        rows = r->n - done < ROWS ? r->n - done : ROWS;
        const size_t skip = height - rows; // the last tile begins with rows that are done
        const uint8_t *a = r->a + (done - skip) * row_bytes;
        const int8_t *b = p->plane[0];
        _tile_loadd(0, begin, 0);
        _tile_loadd(1, begin + 16, 0);
        _tile_loadd(2, begin + 32, 0);
        _tile_loadd(3, begin + 48, 0);
        for (size_t s = 0; s < tiles; s++, a += QRN_AMX_BYTES, b += STEPS * STEP_BYTES) {
            step(a, plane, row_bytes, b);
            ahead = qrn_amx_ask(ahead, lines);
            requantize(&right, &to, y_row, &second, each, fits32);
        }
        if (end)
            step(a + plane % QRN_AMX_BYTES - QRN_AMX_BYTES, plane, row_bytes, end);
        store_half(0, acc);
        requantize(&right, &to, y_row, &second, PAIRS, fits32);
        store_half(1, acc + HALF_SUMS);
        waiting first = {acc + skip * HALF, y + done * y_row, rows};
        requantize(&left, &to, y_row, &first, PAIRS, fits32);
        second = (waiting){acc + HALF_SUMS + skip * HALF, y + done * y_row + HALF,
                           right.mask ? rows : 0};
    }
    requantize(&right, &to, y_row, &second, PAIRS, fits32);
}

// Rows of a depth that fills no tile.
static void run_short(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o,
                      const terms *of) {
    const range to = range_of(o);
    const uint8_t *a = r->a;
    uint16_t *y = o->y;
    for (size_t i = 0; i < r->n; i++, a += r->row_bytes, y += o->y_row) {
        const int8_t *b = p->plane[0];
        __m512i acc[ACCS]; // the first 4
        zero(acc, 4);
        add_begin(of, acc);
        for (size_t s = 0; s < p->steps; s++, b += STEP_BYTES)
            for (int v = 0; v < 4; v++)
                acc[v] = dot(acc[v], four_bytes(a + v / 2 * (r->row_bytes / 2) + s * QRN_Q8_DEPTH),
                             _mm512_loadu_si512(b + v % 2 * 64));
        epilogue(of, &to, acc, y, QRN_PANEL, false);
    }
}

void qrn_planes_requant_amx(const qrn_planes_rows *r, const qrn_planes_panel *p,
                            const qrn_planes_out *o) {
    _Alignas(64) int8_t end[STEPS * STEP_BYTES];
    _Alignas(64) terms of;
    const bool tiles = p->steps >= STEPS, fits32 = tiles && p->add32;
    prepare(p, &of, QRN_PANEL, fits32);
    if (!tiles) {
        run_short(r, p, o, &of);
        return;
    }
    if (p->steps % STEPS)
        qrn_amx_copy_end(p->plane[0], p->steps, STEP_BYTES, end);
    const int8_t *rest = p->steps % STEPS ? end : NULL;
    const size_t height = r->n < ROWS ? r->n : ROWS;
    if (height < ROWS)
        qrn_amx_set_up((uint32_t)height);
    if (fits32)
        run_blocks(r, p, o, &of, rest, height, true);
    else
        run_blocks(r, p, o, &of, rest, height, false);
    if (height < ROWS)
        qrn_planes_enter_amx();
}

void qrn_planes_enter_amx(void) { qrn_amx_set_up(QRN_AMX_ROWS); }
void qrn_planes_leave_amx(void) { _tile_release(); }
