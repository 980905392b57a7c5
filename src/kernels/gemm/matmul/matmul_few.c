// SPDX-License-Identifier: MIT
//
// When a quantized matmul of few rows is done without packing.
#include "kernels/gemm/matmul/matmul_few.h"

#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/matmul/matmul.h"

static bool plain_q(const qrn_view *v) {
    uint32_t bits = qrn_dtypes[v->dtype].bits;
    return (bits == 8 || bits == 16) && (v->quant->bits == 0 || v->quant->bits >= bits);
}

// Largest |q + offset|.
static double largest(const qrn_view *v) { return 65536.0 + fabs((double)v->quant->offset); }

// b has one scale and lies along a row or a column; no sum has more digits than a double.
bool qrn_matmul_few_works(const qrn_kcall *k) {
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    return plain_q(a) && plain_q(b) && plain_q(c) && !(k->n_in > 2 && k->in[2]) &&
           b->quant->kind == QRN_QUANT_TENSOR && g.rows <= QRN_FEW_ROWS &&
           (g.b_col == 1 || g.b_depth == 1) && (double)g.depth * largest(a) * largest(b) < 0x1p53;
}

size_t qrn_matmul_few_scratch(const qrn_kcall *k) {
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    return k->n_tasks * g.rows * (g.depth + QRN_FEW_COLS) * sizeof(double);
}
