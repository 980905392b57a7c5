// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 8-bit codes with four taps to an instruction: the columns of a window
// are cut into groups of four rows, whose bytes lie side by side. For weights that are signed bytes
// once their offset is added. Results are those of gemm/requant.h to the bit.
//
// With u = codes of x as unsigned bytes and ou their offset, the sum over taps of (u + ou) * w is
// sum u*w + ou * sum w; the second part goes into the bias. What lies outside x is -ou.
//
// Rounding is that of gemm/round8.h in fixed point: 16 bits behind the point, so that whole part
// and fraction are a word each, and a fraction close to one leaves the decision to the double.
#ifndef QRN_KERNELS_CONV_DEPTHWISE8_H
#define QRN_KERNELS_CONV_DEPTHWISE8_H

#include "kernels/conv/depthwise_strips.h"
#include "kernels/gemm/round8.h"

#define QRN_DEPTHWISE8_ROWS 4 // of a group

// Position in a vector of byte b of number l, 0 to 15, of quarter v: unpacking and packing work on
// sixteen bytes at a time.
static inline uint32_t qrn_depthwise8_at(uint32_t v, uint32_t l) {
    return l / 4 * 16 + v * 4 + l % 4;
}

// What all strips of a block need: four quarters of sixteen channels.
typedef struct qrn_depthwise8_block {
    int32_t bias[4][16];
    float m[4][16]; // times 2^16
    int8_t w[];     // [taps of a row][groups of rows][4][16][4]
} qrn_depthwise8_block;

typedef struct qrn_depthwise8_job {
    const uint8_t *blocks; // qrn_depthwise8_block, block_bytes apart
    size_t block_bytes;
    size_t groups;    // of rows
    float start;      // of the fixed-point number, less what float and double can differ by
    uint16_t edge;    // first fraction that float does not decide
    uint8_t flip;     // XOR of results: 0x80 for signed ones, which are computed plus 128
    qrn_round8 round; // of all channels
} qrn_depthwise8_job;

static inline const qrn_depthwise8_block *qrn_depthwise8_block_of(const qrn_depthwise8_job *j,
                                                                  size_t index) {
    return (const qrn_depthwise8_block *)(const void *)(j->blocks + index * j->block_bytes);
}

// The result of number l of quarter v of the vector of cells from `cell` on, by the definition.
void qrn_depthwise8_decide(const qrn_strip *s, size_t cell, uint32_t v, uint32_t l);

// A call, for kernels that pack four rows of 64 weights into w[4][16][4]; `otherwise` does those
// whose encodings the strips do not know.
qrn_status qrn_depthwise8_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                              qrn_kernel_fn otherwise);

bool qrn_depthwise8_works(const qrn_kcall *k);
size_t qrn_depthwise8_scratch(const qrn_kcall *k);
qrn_status qrn_depthwise8_avx512vnni(const qrn_kcall *k);

#endif
