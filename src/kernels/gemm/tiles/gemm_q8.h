// SPDX-License-Identifier: MIT
//
// Quantized GEMM with packed 8-bit weights: the packing, the register tiles and the sums of columns
// and rows that encodings with offsets need. Results are those of requant.h to the bit.
//
// Packing dense8: weights [depth, cols] as signed bytes in panels of 32 columns,
// [ceil(cols/32)][ceil(depth/32)*8][32][4]: four neighbours in depth of one column lie side by
// side; what lies beyond depth or cols is zero. Unsigned weights are stored XOR 0x80, which is
// minus 128.
//
// With u = activations as unsigned bytes (signed ones XOR 0x80, plus 128), s = stored weights, and
// offsets ou, os changed accordingly:
//   sum (u + ou) * (s + os) = sum u*s + ou * sum s + depth*ou*os      (a column: `column`)
//                             + os * sum u                            (a row: `row`)
// All of it is done in 32 bits; the caller makes sure that results fit (they may wrap on the way).
#ifndef QRN_KERNELS_GEMM_Q8_H
#define QRN_KERNELS_GEMM_Q8_H

#include "base/cpu.h"
#include "kernels/gemm/dense/dense_plan.h"
#include "kernels/gemm/epilogue/requant8.h"

#define QRN_Q8_DEPTH 4 // neighbours in depth

// Some rows times one panel: cols 1..32.
typedef struct qrn_gemm_q8_tile {
    const uint8_t *a; // [rows][steps][4], rows a_row bytes apart
    size_t a_row;
    const int8_t *b; // [steps][32][4]
    size_t steps;
    size_t next;                 // bytes from b to what will be wanted next; 0: not known
    const int32_t *column;       // [32] added to every sum of a column
    const int32_t *row;          // [rows] added to every sum of a row, NULL: zeros
    const qrn_requant8 *requant; // of 32 columns, not wanted with acc
    int32_t *acc;                // NULL, or [rows][32]: receives the sums instead of y
    uint8_t *y;                  // [rows][cols], rows y_row bytes apart
    size_t y_row;
    uint32_t rows, cols;
} qrn_gemm_q8_tile;

typedef struct qrn_gemm_q8_kernel {
    const char *name;
    uint32_t rows; // that it takes at most
    void (*tile)(const qrn_gemm_q8_tile *t);
    // sums[i] = factor * the sum of row i, modulo 2^32
    void (*row_sums)(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                     int32_t *sums);
    qrn_dense_copy_fn copy;
    uint32_t block;    // rows that are done together, 0: QRN_DENSE_GRAIN; blocks are whole ones
    size_t near_bytes; // of rows that stay near while panels pass, 0: as for every CPU
    // (both or none) A thread calls `enter` before the first of some calls of `tile`, `leave` after
    // the last one, and no other kernel in between.
    void (*enter)(void);
    void (*leave)(void);
} qrn_gemm_q8_kernel;

extern const qrn_gemm_q8_kernel qrn_gemm_q8_32x32_amx;
extern const qrn_gemm_q8_kernel qrn_gemm_q8_12x32_avx512vnni;
extern const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_avxvnni;
extern const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_avx2;
extern const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_neoni8mm;
extern const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_neondot;
extern const qrn_gemm_q8_kernel qrn_gemm_q8_ref;

// Many rows times a panel of a short depth: what qrn_gemm_q8_12x32_avx512vnni does where it gains.
// Returns how many rows are done, from the first on. With many steps there is little to gain; with
// few rows those beside whole tiles count too much; half of the columns of a vector cost as much as
// all.
#define QRN_STRIP_STEPS_LEAST 4
#define QRN_STRIP_STEPS_MOST 64
#define QRN_STRIP_ROWS_LEAST 96
uint32_t qrn_gemm_q8_strip_avx512vnni(const qrn_gemm_q8_tile *t);

static inline bool qrn_gemm_q8_is_strip(const qrn_gemm_q8_tile *t) {
    return !t->acc && !t->row && t->steps >= QRN_STRIP_STEPS_LEAST &&
           t->steps <= QRN_STRIP_STEPS_MOST && t->rows >= QRN_STRIP_ROWS_LEAST &&
           (t->cols - 1) % 16 >= 8;
}

// row_sums of all rows that have nothing better.
void qrn_gemm_q8_row_sums(const uint8_t *a, size_t a_row, size_t depth, size_t rows, int32_t factor,
                          int32_t *sums);

// Steps of 4 in depth that a panel holds.
static inline size_t qrn_q8_steps(size_t depth) { return (depth + 31) / 32 * 8; }

// Packs columns [first, first + 32) of w, of which `cols` exist in all. Element (k, j) lies at
// k*w_depth + j*w_col; flip: 0x80 for unsigned values, else 0.
void qrn_gemm_q8_pack_panel(const uint8_t *w, size_t w_depth, size_t w_col, size_t depth,
                            size_t cols, size_t first, uint8_t flip, int8_t *dst);

#endif
