// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of one output per input channel, cut into strips: neighbouring cells of
// one output row, a vector of channels each. What is common to all element types and instruction
// sets is the cutting, in bytes: which channels share a vector, which columns make a tile, and a
// padded copy of the input where a window leaves it. depthwise_strips.inc does it; the file that
// includes it computes the strips.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_STRIPS_H
#define QRN_KERNELS_CONV_DEPTHWISE_STRIPS_H

#include "kernels/conv/conv.h"

#define QRN_STRIP_VECTOR 64 // bytes
#define QRN_STRIP_TILE 4    // output vectors that are computed together
#define QRN_STRIP_TAPS 128  // most taps of a window
#define QRN_STRIP_PATCH (16 * 1024)

// Channels that are computed together, as bytes [first, first + bytes) of a cell. A vector holds
// `pieces` cells side by side, of 64 / pieces bytes each. With one piece, fewer than 64 bytes are a
// vector that is filled in part, which happens only where cells are smaller than a vector.
typedef struct qrn_strip_block {
    size_t first, bytes;
    uint32_t pieces; // 1, 2 or 4
} qrn_strip_block;

// n output vectors in a row, n = 1 or a multiple of the tile. Byte i of piece q of the input for
// tap (r, t) of vector o lies at x + o*x_out + q*x_piece + r*x_row + t*x_tap + i.
typedef struct qrn_strip {
    const uint8_t *x;
    size_t x_out, x_piece, x_row, x_tap;
    uint8_t *y;
    size_t y_out, y_piece;
    size_t n;
    const qrn_strip_block *block;
    size_t index;       // of the block
    uint32_t kernel[2]; // rows and taps of a row
    const void *job;    // of the kernel
} qrn_strip;

// A call.
typedef struct qrn_strip_plan {
    qrn_conv_geometry g;
    const uint8_t *x;
    uint8_t *y;
    size_t cell;                   // bytes of all channels
    uint8_t pad[QRN_STRIP_VECTOR]; // a vector of what lies outside x
    uint8_t flip;                  // XOR of all bytes of x; other than 0: x is always copied
    uint8_t *patch;                // [QRN_STRIP_PATCH]
    const void *job;
} qrn_strip_plan;

// Can a call be cut into strips?
static inline bool qrn_strips_work(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    uint32_t last = a->n_spatial + 1;
    return a->n_spatial <= 2 && !a->transposed && a->group == k->in[0]->dims[last] &&
           a->group == k->out[0]->dims[last] &&
           qrn_view_span(k->in[1], 0, a->n_spatial) <= QRN_STRIP_TAPS;
}

static inline size_t qrn_strip_blocks(size_t cell) {
    return (cell + QRN_STRIP_VECTOR - 1) / QRN_STRIP_VECTOR;
}

// Can `pieces` cells share a vector? There must be enough columns for a tile, and its input, should
// it have to be copied, must fit the patch.
static inline bool qrn_strip_tiles(const qrn_conv_geometry *g, uint32_t pieces) {
    int64_t cells = QRN_STRIP_TILE * (int64_t)pieces;
    int64_t width = (cells - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1;
    return g->out[2] >= cells &&
           width <= QRN_STRIP_PATCH * (int64_t)pieces / QRN_STRIP_VECTOR / g->kernel[1];
}

// Block i of cells of so many bytes. What is left over after whole vectors shares one with other
// cells, or is done together with some of what was done before.
static inline qrn_strip_block qrn_strip_block_at(const qrn_conv_geometry *g, size_t cell,
                                                 size_t i) {
    size_t first = i * QRN_STRIP_VECTOR, left = cell - first;
    if (left >= QRN_STRIP_VECTOR)
        return (qrn_strip_block){first, QRN_STRIP_VECTOR, 1};
    for (uint32_t p = 2; p <= 4; p *= 2)
        if (left == QRN_STRIP_VECTOR / p && qrn_strip_tiles(g, p))
            return (qrn_strip_block){first, left, p};
    if (cell >= QRN_STRIP_VECTOR)
        return (qrn_strip_block){cell - QRN_STRIP_VECTOR, QRN_STRIP_VECTOR, 1};
    return (qrn_strip_block){first, left, 1};
}

#endif
