// SPDX-License-Identifier: MIT
//
// Rounding that makes up for its own errors: what one weight loses, the weights that are rounded
// after it take over, as far as the inputs of the layer go together. Needs the sums of products of
// these inputs, which calibration collects.
#ifndef QRN_QUANTIZER_GRAM_H
#define QRN_QUANTIZER_GRAM_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

// Sums of x[i] * x[j] over rows of `depth` numbers; the upper half, i <= j, is kept.
typedef struct qz_gram {
    uint32_t depth;
    uint64_t n_rows;
    float *sums; // [depth * depth]
} qz_gram;

qrn_status qz_gram_init(qz_gram *g, uint32_t depth);
void qz_gram_free(qz_gram *g);
void qz_gram_add(qz_gram *g, const float *rows, size_t n_rows);

// A matrix [depth, columns] to be rounded to integers of [low, high].
typedef struct qz_rounding {
    const float *weights;
    uint32_t depth, columns;
    const float *scales; // [columns], or with a block [depth / block, columns]
    uint32_t block;
    float low, high;
    int8_t *out; // [depth, columns]
} qz_rounding;

// Fails for lack of memory only. Where inputs are 0 or depend on each other, a small number is
// added to their own sums.
qrn_status qz_round(const qz_rounding *r, const qz_gram *g);

#endif
