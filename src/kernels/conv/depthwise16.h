// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 16-bit codes with two taps to an instruction: the columns of a window
// are cut into pairs of rows, whose words lie side by side. For weights that are signed bytes once
// their offset is added, so that sums of 32 bits are exact, and results of 16 bits, which are
// rounded in double. Results are those of gemm/requant.h to the bit.
//
// With s = codes of x as signed words (unsigned ones minus 2^15) and os their offset, the sum over
// taps of (s + os) * w is sum s*w + os * sum w; the second part goes into the bias. What lies
// outside x is -os.
#ifndef QRN_KERNELS_CONV_DEPTHWISE16_H
#define QRN_KERNELS_CONV_DEPTHWISE16_H

#include "kernels/conv/depthwise_strips.h"

#define QRN_DEPTHWISE16_ROWS 2 // of a group

// Position in a vector of number l, 0 to 15, of half h: unpacking and packing work on eight words
// at a time.
static inline uint32_t qrn_depthwise16_at(uint32_t h, uint32_t l) {
    return l / 4 * 8 + h * 4 + l % 4;
}

// What all strips of a block need: two halves of sixteen channels.
typedef struct qrn_depthwise16_block {
    int32_t bias[2][16];
    double m[2][16], start[2][16]; // result = floor(fma(sum, m, start))
    int16_t w[];                   // [taps of a row][pairs of rows][2][16][2]
} qrn_depthwise16_block;

typedef struct qrn_depthwise16_job {
    const uint8_t *blocks; // qrn_depthwise16_block, block_bytes apart
    size_t block_bytes;
    size_t groups;   // pairs of rows
    uint16_t y_flip; // XOR of results: 0x8000 for signed ones, which are computed plus 2^15
} qrn_depthwise16_job;

static inline const qrn_depthwise16_block *qrn_depthwise16_block_of(const qrn_depthwise16_job *j,
                                                                    size_t index) {
    return (const qrn_depthwise16_block *)(const void *)(j->blocks + index * j->block_bytes);
}

// A call, for kernels that pack two rows of 32 weights into w[2][16][2]; `otherwise` does those
// whose encodings the strips do not know.
qrn_status qrn_depthwise16_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                               qrn_kernel_fn otherwise);

bool qrn_depthwise16_works(const qrn_kcall *k);
size_t qrn_depthwise16_scratch(const qrn_kcall *k);
qrn_status qrn_depthwise16_avx512vnni(const qrn_kcall *k);

#endif
