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

// All rows of a panel: tiles of 6 rows, or, with at most 16 columns, of 12.
INLINE void panel(const qrn_wide_rows *r, const qrn_wide_panel *p, const qrn_wide_out *o,
                  const bool narrow) {
    size_t row = 0;
    if (o->cols <= QRN_PANEL / 2)
        for (; row + 12 <= r->n; row += 12)
            codes(r, p, o, row, 12, 1, narrow, false);
#define CODES(n) codes(r, p, o, row, n, 2, narrow, false);
    for (; row < r->n; row += 6)
        UP_TO_6(r->n - row < 6 ? r->n - row : 6, CODES)
}

static __attribute__((noinline)) void narrow_panel(const qrn_wide_rows *r, const qrn_wide_panel *p,
                                                   const qrn_wide_out *o) {
    panel(r, p, o, true);
}

static __attribute__((noinline)) void wide_panel(const qrn_wide_rows *r, const qrn_wide_panel *p,
                                                 const qrn_wide_out *o) {
    panel(r, p, o, false);
}

void qrn_wide_codes_avx512vnni(const qrn_wide_rows *r, const qrn_wide_panel *p,
                               const qrn_wide_out *o) {
    if (p->add32)
        narrow_panel(r, p, o);
    else
        wide_panel(r, p, o);
}
