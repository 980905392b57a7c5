// SPDX-License-Identifier: MIT
//
// The fast RAW rows of the conv family for depthwise convolutions with one output per input
// channel: vectors run over the channels. Results are those of gemm/epilogue/requant.h to the bit.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_Q8_H
#define QRN_KERNELS_CONV_DEPTHWISE_Q8_H

#include "kernels/conv/conv.h"
#include "kernels/gemm/epilogue/requant8.h"

#define QRN_DEPTHWISE_TAPS 128 // most taps of a window

// One output cell: acc[c] = bias[c] + sum over taps t of ((x ^ flip) + offset_x) * w, where x is
// the byte at offset[t] + c and w the 16-bit weight, offset included, at weight[t] + c.
typedef struct qrn_depthwise_q8_cell {
    const uint8_t *x;
    const int16_t *w;
    const size_t *offset, *weight; // [taps]
    size_t taps, channels;
    uint8_t flip; // 0x80 for signed values, whose offset is 128 less
    int16_t x_offset;
    const int32_t *bias;         // [channels]
    const qrn_requant8 *requant; // of all channels
    uint8_t *y;                  // [channels]
    int32_t *acc;                // NULL, or [channels]: receives the sums instead of y
} qrn_depthwise_q8_cell;

void qrn_depthwise_q8_cell_avx512(const qrn_depthwise_q8_cell *d);
void qrn_depthwise_q8_cell_avx2(const qrn_depthwise_q8_cell *d);
void qrn_depthwise_q8_cell_neon(const qrn_depthwise_q8_cell *d);

// The taps of an output cell that read the input: offset[t] and weight[t], in elements. Returns how
// many.
size_t qrn_depthwise_taps(const qrn_conv_geometry *g, size_t cell, size_t *offset, size_t *weight);

// Channels [c, channels) in plain C: all of them, or what a vector loop leaves.
void qrn_depthwise_q8_tail(const qrn_depthwise_q8_cell *d, size_t c);

bool qrn_depthwise_q8_works(const qrn_kcall *k);
size_t qrn_depthwise_q8_scratch(const qrn_kcall *k);
qrn_status qrn_depthwise_q8_avx512(const qrn_kcall *k);
qrn_status qrn_depthwise_q8_avx2(const qrn_kcall *k);
qrn_status qrn_depthwise_q8_neon(const qrn_kcall *k);
qrn_status qrn_depthwise_q8_any(const qrn_kcall *k);

#endif
