// SPDX-License-Identifier: MIT
//
// Channels of a depthwise convolution whose bias the fast rows have no room for, which is that of
// channels whose weights are almost 0: its unit is scale_x * scale_w. The fast rows leave such
// channels to this file, which sums in 64 bits, and keep the others.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_WIDE_H
#define QRN_KERNELS_CONV_DEPTHWISE_WIDE_H

#include "kernels/conv/conv.h"

static inline bool qrn_depthwise_is_wide(int32_t bias, int32_t most) {
    return bias > most || bias < -most;
}

// Writes channels of [c0, c1) whose bias is beyond +-most, for cells [begin, end), as
// gemm/epilogue/requant.h defines them. x has 8 bits, and a window QRN_DEPTHWISE_TAPS at most. No
// sum of products may be larger than `most`.
void qrn_depthwise_wide(const qrn_kcall *k, const qrn_conv_geometry *g, int32_t most, size_t c0,
                        size_t c1, size_t begin, size_t end);

#endif
