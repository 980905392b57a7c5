// SPDX-License-Identifier: MIT
//
// GEMM of few rows with 4-bit weights for AVX-512 VNNI: weights go from memory to registers and
// nowhere else. With many rows it is cheaper to unpack a panel first.
#include "kernels/gemm/tiles/gemm_planes_avx512vnni.h"

void qrn_planes_sums4_avx512vnni(const qrn_planes_tile *t) {
    qrn_planes_tile part = *t;
    for (uint32_t row = 0; row < t->rows; row += 6) {
        part.a = t->a + row * t->row_bytes;
        part.acc = t->acc + (size_t)row * t->planes * QRN_PANEL;
        part.rows = t->rows - row < 6 ? t->rows - row : 6;
#define ONE_PLANE(n) sums(&part, n, 1, true);
#define TWO_PLANES(n) sums(&part, n, 2, true);
        if (t->planes == 2)
            UP_TO_6(part.rows, TWO_PLANES)
        else
            UP_TO_6(part.rows, ONE_PLANE)
    }
}

void qrn_planes_requant4_avx512vnni(const qrn_planes_rows *r, const qrn_planes_panel *p,
                                    const qrn_planes_out *o) {
#define REQUANT(n) requant_tile(r, p, &t, o, row, n, QRN_PANEL, false, true);
    _Alignas(64) terms t;
    prepare(p, &t, QRN_PANEL, false);
    for (size_t row = 0; row < r->n; row += 6)
        UP_TO_6(r->n - row < 6 ? r->n - row : 6, REQUANT)
}
