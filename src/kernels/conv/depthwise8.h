// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 8-bit values with four taps to an instruction: the columns of a window
// are cut into groups of four rows, whose bytes lie side by side. For weights that are signed bytes
// once their offset is added. Results are those of gemm/epilogue/requant.h to the bit.
//
// With u = x as unsigned bytes and ou their offset, the sum over taps of (u + ou) * w is sum u*w +
// ou * sum w; the second part goes into the bias. What lies outside x is -ou. Kernels whose
// instruction multiplies signed bytes take u - 128 instead, whose offset is 128 more.
//
// Rounding is that of gemm/epilogue/requant8.h in fixed point: 16 bits behind the point, so that
// whole part and fraction are a word each, and a fraction close to zero leaves the decision to the
// double.
#ifndef QRN_KERNELS_CONV_DEPTHWISE8_H
#define QRN_KERNELS_CONV_DEPTHWISE8_H

#include "kernels/conv/depthwise_strips.h"
#include "kernels/gemm/epilogue/requant8.h"

#define QRN_DEPTHWISE8_ROWS 4 // of a group
// Units of a block at most: those that vectors of bytes unpack together.
#if defined(__aarch64__)
#define QRN_DEPTHWISE8_UNITS 1
#else
#define QRN_DEPTHWISE8_UNITS 4
#endif

// Where four neighbouring channels of a block lie, as a number of lanes of all its units: unpacking
// works on sixteen bytes at a time.
static inline uint32_t qrn_depthwise8_lane(uint32_t units, uint32_t channel) {
    return channel % 16 / 4 * 4 * units + channel / 16 * 4;
}

// What all strips of a block need.
typedef struct qrn_depthwise8_terms {
    double exact[QRN_DEPTHWISE8_UNITS][16]; // multipliers
    int32_t bias[QRN_DEPTHWISE8_UNITS][16];
    float m[QRN_DEPTHWISE8_UNITS][16]; // multipliers times 2^16
} qrn_depthwise8_terms;

typedef struct qrn_depthwise8_job {
    float start;          // of the fixed-point number, more what float and double can differ by
    uint16_t edge;        // last fraction that float does not decide
    uint8_t flip;         // XOR of results: 0x80 for signed ones, which are computed plus 128
    qrn_requant8 requant; // of all channels
} qrn_depthwise8_job;

// Rows [row, row + n_rows) of a block, for calls that have the form; see depthwise_strips.inc.
bool qrn_depthwise8_three(const qrn_strip_plan *p, const qrn_strip_block *b, const uint8_t *terms,
                          size_t row, size_t n_rows);

// A call, for kernels that pack four rows of weights side by side; `otherwise` does those whose
// encodings the strips do not know.
qrn_status qrn_depthwise8_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                              qrn_kernel_fn otherwise);

bool qrn_depthwise8_works(const qrn_kcall *k);
size_t qrn_depthwise8_scratch(const qrn_kcall *k);
qrn_status qrn_depthwise8_avx512vnni(const qrn_kcall *k);
qrn_status qrn_depthwise8_neondot(const qrn_kcall *k);

#endif
