// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of 16-bit values with two taps to an instruction: the columns of a window
// are cut into pairs of rows, whose words lie side by side. For weights that are signed bytes once
// their offset is added, so that sums of 32 bits are exact, and results of 16 bits, which are
// rounded in double. Results are those of gemm/epilogue/requant.h to the bit.
//
// With s = x as signed words (unsigned ones minus 2^15) and os their offset, the sum over taps of
// (s + os) * w is sum s*w + os * sum w; the second part goes into the bias. What lies outside x is
// -os.
#ifndef QRN_KERNELS_CONV_DEPTHWISE16_H
#define QRN_KERNELS_CONV_DEPTHWISE16_H

#include "kernels/conv/depthwise_strips.h"

#define QRN_DEPTHWISE16_ROWS 2 // of a group
// Units of a block at most: those that vectors of words unpack together.
#if defined(__aarch64__)
#define QRN_DEPTHWISE16_UNITS 1
#else
#define QRN_DEPTHWISE16_UNITS 2
#endif

// Where four neighbouring channels of a block lie, as a number of lanes of all its units: unpacking
// works on eight words at a time.
static inline uint32_t qrn_depthwise16_lane(uint32_t units, uint32_t channel) {
    return channel % 8 / 4 * 8 * units + channel / 8 * 4;
}

// What all strips of a block need. Sums become doubles in two vectors, the first of lanes 0, 1, 4,
// 5, ..., the second of lanes 2, 3, 6, 7, ...
typedef struct qrn_depthwise16_terms {
    int32_t bias[QRN_DEPTHWISE16_UNITS][16]; // plus 2^31
    double m[QRN_DEPTHWISE16_UNITS][2][8];
    double start[QRN_DEPTHWISE16_UNITS][2][8]; // result = floor(fma(sum, m, start))
} qrn_depthwise16_terms;

typedef struct qrn_depthwise16_job {
    uint16_t y_flip; // XOR of results: 0x8000 for signed ones, which are computed plus 2^15
} qrn_depthwise16_job;

// Rows [row, row + n_rows) of a block, for calls that have the form; see depthwise_strips.inc.
bool qrn_depthwise16_three(const qrn_strip_plan *p, const qrn_strip_block *b, const uint8_t *terms,
                           size_t row, size_t n_rows);

// A call, for kernels that pack two rows of weights together, as words; `otherwise` does those
// whose encodings the strips do not know.
qrn_status qrn_depthwise16_run(const qrn_kcall *k, const qrn_strip_kernel *kernel,
                               qrn_kernel_fn otherwise);

bool qrn_depthwise16_works(const qrn_kcall *k);
size_t qrn_depthwise16_scratch(const qrn_kcall *k);
qrn_status qrn_depthwise16_avx512vnni(const qrn_kcall *k);
qrn_status qrn_depthwise16_neon(const qrn_kcall *k);

#endif
