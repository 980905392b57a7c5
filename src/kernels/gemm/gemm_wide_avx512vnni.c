// SPDX-License-Identifier: MIT
//
// Products of bytes for AVX-512 VNNI. Where 16-bit codes are multiplied by bytes and become 16-bit
// codes, a tile goes from the accumulators to the codes without a detour.
#include "kernels/gemm/gemm_wide_avx512vnni.h"

void qrn_wide_sums_avx512vnni(const qrn_wide_tile *t) {
    qrn_wide_tile part = *t;
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

// Asks for a part of the panel behind this one, so that all of it has come when all rows are done.
static void ask(const qrn_wide_rows *r, const qrn_wide_panel *p, size_t row) {
    size_t bytes = p->steps * QRN_PANEL * QRN_Q8_DEPTH, part = bytes / (r->n / 6 * 64) * 64;
    const char *next = (const char *)p->plane[0] + bytes + row / 6 * part;
    for (size_t i = 0; i < part; i += 64)
        _mm_prefetch(next + i, _MM_HINT_T1);
}

// What is left of a panel from `row` on, in tiles of all columns.
INLINE void rest(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o, size_t row,
                 const bool narrow) {
#define CODES(n) codes(r, p, o, row, n, QRN_PANEL, narrow, false);
    for (; row < r->n; row += 6) {
        if (!narrow && r->n >= 24)
            ask(r, p, row);
        UP_TO_6(r->n - row < 6 ? r->n - row : 6, CODES)
    }
}

// Whole sums fit 32 bits.
static void narrow_panel(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o) {
    size_t row = 0;
    if (o->cols <= 16 && r->n >= 6 && p->steps >= 6)
        row = o->cols <= 8 ? stream(r, p, o, 6, 8) : stream(r, p, o, 6, 16);
    else if (r->n >= 3 && p->steps >= 3)
        row = o->cols <= 24 ? stream(r, p, o, 3, 24) : stream(r, p, o, 3, 32);
    rest(r, p, o, row, true);
}

static void wide_panel(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o) {
    size_t row = 0;
    if (o->cols <= 8)
        for (; row + 12 <= r->n; row += 12)
            codes(r, p, o, row, 12, 8, false, false);
    else if (o->cols <= 16)
        for (; row + 12 <= r->n; row += 12)
            codes(r, p, o, row, 12, 16, false, false);
    else if (o->cols <= 24)
        for (; row + 6 <= r->n; row += 6)
            codes(r, p, o, row, 6, 24, false, false);
    rest(r, p, o, row, false);
}

void qrn_wide_codes_avx512vnni(const qrn_wide_rows *r, const qrn_wide_panel *p,
                               const qrn_wide_out *o) {
    if (p->add32)
        narrow_panel(r, p, o);
    else
        wide_panel(r, p, o);
}
