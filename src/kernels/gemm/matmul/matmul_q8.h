// SPDX-License-Identifier: MIT
//
// Matmul of 8-bit values with 8-bit results, the RAW rows of the matmul family that use the tiles
// of gemm_q8.h. b is packed in every call, some panels at a time, into the scratch of the task that
// needs them. Results are those of requant.h to the bit.
#ifndef QRN_KERNELS_GEMM_MATMUL_Q8_H
#define QRN_KERNELS_GEMM_MATMUL_Q8_H

#include "kernels/gemm/tiles/gemm_q8.h"

qrn_status qrn_matmul_q8_amx(const qrn_kcall *k);
qrn_status qrn_matmul_q8_avx512vnni(const qrn_kcall *k);
qrn_status qrn_matmul_q8_avx2(const qrn_kcall *k);
qrn_status qrn_matmul_q8_neoni8mm(const qrn_kcall *k);
qrn_status qrn_matmul_q8_neondot(const qrn_kcall *k);

bool qrn_matmul_q8_works(const qrn_kcall *k);
size_t qrn_matmul_q8_scratch(const qrn_kcall *k);

// Some columns of a matrix: element (k, j) lies at data[k*b_depth + j*b_col]; one of the two is 1.
typedef struct qrn_q8_columns {
    const uint8_t *data; // of the first column
    size_t b_depth, b_col;
    size_t depth;
    uint32_t n;   // columns, 1 to 32
    uint8_t flip; // 0x80 for unsigned values, else 0
} qrn_q8_columns;

// Some rows of a matrix: element (i, k) lies at data[i*a_row + k*a_depth].
typedef struct qrn_q8_rows {
    const uint8_t *data;
    size_t a_row, a_depth;
    size_t n, depth;
    uint8_t flip; // 0x80 for signed values, else 0
} qrn_q8_rows;

// How operands are packed for the tiles, one table per ISA.
typedef struct qrn_q8_packing {
    // dst [ceil(depth/4)][32][4], the values XOR flip, zeros beyond depth and n; sums [32] of what
    // is stored.
    void (*columns)(const qrn_q8_columns *c, int8_t *dst, int32_t *sums);
    // dst [n][ceil(depth/4)*4], the values XOR flip, zeros beyond depth; NULL: sums alone. sums [n]
    // of what is, or would be, stored.
    void (*rows)(const qrn_q8_rows *r, uint8_t *dst, int32_t *sums);
} qrn_q8_packing;

extern const qrn_q8_packing qrn_q8_packing_avx512vnni, qrn_q8_packing_avx2, qrn_q8_packing_neondot,
    qrn_q8_packing_ref;

#endif
