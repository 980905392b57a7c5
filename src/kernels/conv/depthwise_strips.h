// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of one output per input channel, cut into strips: one row of output cells,
// a vector of channels each. What is common to all element types and instruction sets is the
// cutting, in bytes, and a copy of the input rows under a strip: padded, and with the channels of
// the strip next to each other. Rows are copied once and kept for the windows that need them again.
// depthwise_strips.inc does it; the file that includes it computes the strips.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_STRIPS_H
#define QRN_KERNELS_CONV_DEPTHWISE_STRIPS_H

#include "kernels/conv/conv.h"

#define QRN_STRIP_VECTOR 64 // bytes
#define QRN_STRIP_TILE 4    // output vectors that are computed together
#define QRN_STRIP_TAPS 128  // most taps of a window

// Channels that are computed together, as bytes [first, first + bytes) of a cell. A vector holds
// `pieces` cells side by side, of 64 / pieces bytes each. With one piece, fewer than 64 bytes are a
// vector that is filled in part, which happens only where cells are smaller than a vector.
typedef struct qrn_strip_block {
    size_t first, bytes;
    uint32_t pieces; // 1, 2 or 4
} qrn_strip_block;

// A row of output cells. The vector of cells [c, c + pieces) takes, for tap t of row r of the
// window, the 64 bytes at x[r] + c * (64 / pieces) + tap[t].
typedef struct qrn_strip {
    const uint8_t *x[QRN_STRIP_TAPS]; // [rows]
    size_t tap[QRN_STRIP_TAPS];       // [taps]
    uint32_t rows, taps;              // of the window
    // With taps next to each other, 0 where they are not or vectors have no input in common:
    // 1: tap[t] = 64*t; 2: tap[t] = tap[t%2] + 64*(t/2)
    int share;
    uint8_t *y;   // bytes of the block in the first cell
    size_t cell;  // bytes between cells of y
    size_t cells; // at least a tile, or one piece
    const qrn_strip_block *block;
    size_t index;    // of the block
    const void *job; // of the kernel
} qrn_strip;

// A call.
typedef struct qrn_strip_plan {
    const qrn_kcall *k;
    qrn_conv_geometry g;
    size_t elem;                    // bytes
    size_t cell;                    // bytes of all channels
    uint8_t pad[QRN_STRIP_VECTOR];  // a vector of what lies outside x
    uint8_t flip[QRN_STRIP_VECTOR]; // XOR of all vectors of x and pad
    uint8_t *ring;                  // qrn_strip_ring(g) bytes, aligned to a vector
    const void *job;
} qrn_strip_plan;

// What the file of an instruction set gives.
typedef struct qrn_strip_kernel {
    // Output rows [begin, end), counted over all images.
    void (*rows)(const qrn_strip_plan *p, size_t begin, size_t end);
    // m[c] = scale_x * scale_w[c] / scale_y; sums[c] = sum over taps of w[t][c].
    void (*channels)(const qrn_kcall *k, const int8_t *w, size_t taps, size_t channels, double *m,
                     int32_t *sums);
    // Rows of weights of a vector of channels, side by side in the order of vectors of x.
    void (*pack)(const int8_t *const *rows, void *packed);
} qrn_strip_kernel;

// Can a call be cut into strips?
static inline bool qrn_strips_work(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    uint32_t last = a->n_spatial + 1;
    return a->n_spatial <= 2 && !a->transposed && a->group == k->in[0]->dims[last] &&
           a->group == k->out[0]->dims[last] &&
           qrn_view_span(k->in[1], 0, a->n_spatial) <= QRN_STRIP_TAPS;
}

// Copied rows have their columns in `stride` planes, every stride-th column in one, so that
// neighbouring windows lie next to each other.
static inline size_t qrn_strip_plane(const qrn_conv_geometry *g) {
    int64_t columns = (g->out[2] - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1;
    return (size_t)((columns + g->stride[2] - 1) / g->stride[2]) * QRN_STRIP_VECTOR;
}
static inline size_t qrn_strip_row(const qrn_conv_geometry *g) {
    return qrn_strip_plane(g) * (size_t)g->stride[2];
}
// Rows that are kept, and one of padding.
static inline size_t qrn_strip_rows_kept(const qrn_conv_geometry *g) {
    return (size_t)((g->kernel[1] - 1) * g->dilation[1] + 1);
}
static inline size_t qrn_strip_ring(const qrn_conv_geometry *g) {
    return (qrn_strip_rows_kept(g) + 1) * qrn_strip_row(g);
}

// Weights [taps][channels], with their offset, as signed bytes: w's own or a copy in `room`, which
// has as many. NULL: they are none.
const int8_t *qrn_strip_weights(const qrn_view *w, size_t channels, int8_t *room);

// Packs the weights of a block: for each tap of a row, groups of so many rows, packed to so many
// bytes each; further rows are zero. Elements of x have `elem` bytes.
void qrn_strip_pack(const qrn_strip_kernel *kernel, const qrn_conv_geometry *g,
                    const qrn_strip_block *b, const int8_t *w, size_t elem, size_t rows,
                    size_t packed_bytes, uint8_t *packed);

static inline size_t qrn_strip_blocks(size_t cell) {
    return (cell + QRN_STRIP_VECTOR - 1) / QRN_STRIP_VECTOR;
}

// Block i of cells of so many bytes. What is left over after whole vectors shares one with other
// cells, or is done together with some of what was done before.
static inline qrn_strip_block qrn_strip_block_at(const qrn_conv_geometry *g, size_t cell,
                                                 size_t i) {
    size_t first = i * QRN_STRIP_VECTOR, left = cell - first;
    if (left >= QRN_STRIP_VECTOR)
        return (qrn_strip_block){first, QRN_STRIP_VECTOR, 1};
    for (uint32_t p = 2; p <= 4; p *= 2)
        if (left == QRN_STRIP_VECTOR / p && g->out[2] >= QRN_STRIP_TILE * (int64_t)p)
            return (qrn_strip_block){first, left, p};
    if (cell >= QRN_STRIP_VECTOR)
        return (qrn_strip_block){cell - QRN_STRIP_VECTOR, QRN_STRIP_VECTOR, 1};
    return (qrn_strip_block){first, left, 1};
}

#endif
