// SPDX-License-Identifier: MIT
//
// The fast F32 rows of the conv family for depthwise convolutions with one output per input
// channel: vectors run over the channels. Results are one chain of fused multiply-adds each, in the
// order of the taps and starting from the bias, the same for every row here. Taps outside the input
// are left out.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_F32_H
#define QRN_KERNELS_CONV_DEPTHWISE_F32_H

#include "kernels/conv/conv.h"

#define QRN_DEPTHWISE_ROWS 128 // most rows of a window

// One row of output cells. Cell o is bias + the sum over rows r and taps t of the window of
// x[r][o*stride - before + t*dilation] * w[r][t], without the columns that do not exist.
typedef struct qrn_depthwise_line {
    const float *x[QRN_DEPTHWISE_ROWS]; // [rows] rows of the input under the window
    const float *w[QRN_DEPTHWISE_ROWS]; // [rows] their weights, [taps][channels]
    const float *bias;                  // [channels], NULL: zeros
    float *y;                           // [cells][channels]
    size_t rows;                        // of the window that lie inside the input
    size_t taps;                        // of a row
    size_t channels;                    // of a cell
    size_t first, end;                  // channels that are wanted
    int64_t width, cells;               // columns of x and of y
    int64_t stride, dilation;           // between columns
    int64_t before;                     // columns before the input
    const qrn_clamp *clamp;             // of the results
} qrn_depthwise_line;

void qrn_depthwise_line_avx512(const qrn_depthwise_line *l);
void qrn_depthwise_line_avx2(const qrn_depthwise_line *l);
void qrn_depthwise_line_neon(const qrn_depthwise_line *l);

bool qrn_depthwise_f32_works(const qrn_kcall *k);
qrn_status qrn_depthwise_f32_avx512(const qrn_kcall *k);
qrn_status qrn_depthwise_f32_avx2(const qrn_kcall *k);
qrn_status qrn_depthwise_f32_neon(const qrn_kcall *k);

#endif
