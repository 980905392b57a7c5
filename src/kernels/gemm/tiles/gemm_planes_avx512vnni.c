// SPDX-License-Identifier: MIT
//
// GEMM over byte planes for AVX-512 VNNI. Where 16-bit activations are multiplied by bytes and the
// results have 16 bits, a tile is requantized from its accumulators without a detour.
#include "kernels/gemm/tiles/gemm_planes_avx512vnni.h"

#define STREAM_STEPS                                                                               \
    256 // longer ones take larger tiles: their weights do not stay in the first cache

void qrn_planes_sums_avx512vnni(const qrn_planes_tile *t) {
    qrn_planes_tile part = *t;
    if (t->planes == 2) {
#define SUMS(n) sums(t, n, 2, false);
        UP_TO_6(t->rows, SUMS)
#undef SUMS
        return;
    }
    if (t->rows == 12) {
        sums(t, 12, 1, false);
        return;
    }
    if (t->rows > 6) {
        sums(t, 6, 1, false);
        part.a += 6 * part.row_bytes;
        part.acc += 6 * QRN_PANEL;
        part.rows -= 6;
    }
#define SUMS(n) sums(&part, n, 1, false);
    UP_TO_6(part.rows, SUMS)
}

// What is left of a panel from `row` on, in tiles of all columns.
INLINE void rest(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o,
                 size_t row, const bool fits32) {
#define REQUANT(n) requant_tile(r, p, &t, o, row, n, QRN_PANEL, fits32, false);
    if (row >= r->n)
        return;
    _Alignas(64) terms t;
    prepare(p, &t, QRN_PANEL, fits32);
    for (; row < r->n; row += 6) {
        if (!fits32)
            ask(r, p, row, 6);
        UP_TO_6(r->n - row < 6 ? r->n - row : 6, REQUANT)
    }
}

// Tiles in functions of their own, where the compiler has all registers for one.
#define STREAM(rows, cols, fits32)                                                                 \
    static __attribute__((noinline)) size_t stream_##rows##x##cols##_##fits32(                     \
        const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o) {            \
        return stream(r, p, o, rows, cols, fits32);                                                \
    }
STREAM(3, 32, false)
STREAM(3, 32, true)
STREAM(4, 16, true)
STREAM(4, 24, false)
STREAM(4, 24, true)
STREAM(6, 16, false)
STREAM(6, 16, true)
STREAM(6, 8, false)
STREAM(6, 8, true)

static void panel_32(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o) {
    size_t row = 0;
    if (o->cols <= 16 && r->n >= 6 && p->steps >= 6)
        row = o->cols <= 8 ? stream_6x8_true(r, p, o) : stream_6x16_true(r, p, o);
    else if (o->cols <= 24 && r->n >= 4 && p->steps >= 4)
        row = o->cols <= 16 ? stream_4x16_true(r, p, o) : stream_4x24_true(r, p, o);
    else if (r->n >= 3 && p->steps >= 3)
        row = stream_3x32_true(r, p, o);
    rest(r, p, o, row, true);
}

static void panel_64(const qrn_planes_rows *r, const qrn_planes_panel *p, const qrn_planes_out *o) {
    size_t row = 0;
    bool enough = r->n >= 6 && p->steps / r->n_parts >= 6;
    if (o->cols <= 16 && enough)
        row = o->cols <= 8 ? stream_6x8_false(r, p, o) : stream_6x16_false(r, p, o);
    else if (o->cols <= 24 && enough)
        row = stream_4x24_false(r, p, o);
    else if (p->steps <= STREAM_STEPS && enough)
        row = stream_3x32_false(r, p, o);
    rest(r, p, o, row, false);
}

void qrn_planes_requant_avx512vnni(const qrn_planes_rows *r, const qrn_planes_panel *p,
                                   const qrn_planes_out *o) {
    if (p->add32)
        panel_32(r, p, o);
    else
        panel_64(r, p, o);
}
