// SPDX-License-Identifier: MIT
//
// Rows of floats as integers, for products with 4- and 8-bit weights by instructions on bytes. A
// run of a row is a power of two times integers of 24 bits, each the sum of three signed bytes
// (planes) times 1, 256 and 65536. Elements lose what is below 2^-23 of the largest of their run,
// which is what single precision loses when it sums them; sums of products are exact. Rows of fp16
// numbers in short runs, whose results are rounded to fp16, have two planes: an element loses up to
// 2^-15 of the largest one of its run, an 8th of what fp16 itself may lose of that one.
#ifndef QRN_KERNELS_GEMM_GEMV_PLANES_H
#define QRN_KERNELS_GEMM_GEMV_PLANES_H

#include "kernels/gemm/gemv/weight_only.h"

#define QRN_GEMV_PLANES 3 // at most
#define QRN_GEMV_STEP 8   // elements of the depth that lie together

// What a run of a row is multiplied with.
typedef struct qrn_gemv_run {
    // What sums of the planes start with, where weights are shifted to be unsigned. Where all
    // planes together fit 32 bits, [0] has what belongs to all.
    int32_t first[QRN_GEMV_PLANES];
    float sum;       // of the integers
    float scale;     // of one
    float unused[3]; // 32 bytes
} qrn_gemv_run;

// Rows in that form.
typedef struct qrn_gemv_rows {
    int8_t *planes;     // [row][depth / 8][plane][8]; 4-bit weights: elements 0 2 4 6 1 3 5 7
    qrn_gemv_run *runs; // [row][runs]
} qrn_gemv_rows;

// Do the sums of a run fit 32 bits, all planes together?
static inline bool qrn_gemv_fits_32(const qrn_gemv_panel *b, uint32_t planes) {
    const double most = planes == 3 ? 8355711 : 32639; // of an element
    return (double)b->run * most * (b->w_bits == 4 ? 8 : 128) < 0x1p31;
}

static inline size_t qrn_gemv_row_bytes(size_t depth, uint32_t planes) { return planes * depth; }

// Writes one row. False: it has numbers that are not finite, or runs that are too small or large.
typedef bool (*qrn_gemv_planes_fn)(const qrn_gemv_panel *b, const float *x, int8_t *planes,
                                   qrn_gemv_run *runs);
// As qrn_gemv_fn, with the rows of the strip given in this form.
typedef void (*qrn_gemv_products_fn)(const qrn_gemv_strip *t, const qrn_gemv_rows *x);

// Writes the weights of a panel as [depth / 8][4][64] unsigned bytes: two vectors of columns for
// the first four bytes of a step of a plane, two for the others.
typedef void (*qrn_gemv_bytes_fn)(const qrn_gemv_panel *b, uint8_t *dst);

#define QRN_GEMV_MANY 8 // rows of a tile of qrn_gemv_many_*

bool qrn_gemv_planes_avx512vnni(const qrn_gemv_panel *b, const float *x, int8_t *planes,
                                qrn_gemv_run *runs);
void qrn_gemv_products_avx512vnni(const qrn_gemv_strip *t, const qrn_gemv_rows *x);
// Up to QRN_GEMV_MANY rows, where sums of all planes fit 32 bits; b.w are bytes as above.
void qrn_gemv_many_avx512vnni(const qrn_gemv_strip *t, const qrn_gemv_rows *x);
void qrn_gemv_bytes_avx512vnni(const qrn_gemv_panel *b, uint8_t *dst);

// Weights are multiplied as signed bytes: sums start with 0.
bool qrn_gemv_planes_neondot(const qrn_gemv_panel *b, const float *x, int8_t *planes,
                             qrn_gemv_run *runs);
void qrn_gemv_products_neondot(const qrn_gemv_strip *t, const qrn_gemv_rows *x);

#endif
