// SPDX-License-Identifier: MIT
//
// Depthwise convolutions of one output per input channel, for instructions that add the products of
// a few neighbouring numbers to one sum. The numbers of a dword are those of a group of input rows
// (4 bytes or 2 words) at one column and channel; 16 such dwords, a unit of channels, are a vector.
// Input rows are put side by side once for up to two output rows, which differ by their weights
// alone: those of rows outside a window are 0. What is common to all element types and instruction
// sets is the cutting, here and in depthwise_strips.inc; the file that includes it does the rest.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_STRIPS_H
#define QRN_KERNELS_CONV_DEPTHWISE_STRIPS_H

#include "kernels/conv/depthwise_wide.h"
#include "kernels/grid.h"

#define QRN_STRIP_VECTOR 64  // bytes
#define QRN_STRIP_UNIT 16    // channels of a vector of groups
#define QRN_STRIP_TAPS 128   // most taps of a window
#define QRN_STRIP_TOGETHER 2 // most output rows of a strip
#define QRN_STRIP_FAR 1024   // columns beyond those of the input, at least

// Channels that are computed together: `units` units from channel `first` on. One unit may hold
// less than 16 channels, where there are no more.
typedef struct qrn_strip_block {
    size_t first;
    uint32_t units; // 1, 2 or 4
    uint32_t channels;
} qrn_strip_block;

// How a call is cut: rows of a group, output rows that share groups, groups of a window and of all
// windows of a strip.
typedef struct qrn_strip_shape {
    int64_t rows, together, groups, all_groups;
} qrn_strip_shape;

// A row of output cells. The sums of cell c are, over groups g and taps t, those of the vectors at
// x + g * plane + (c * step + t * spread) * units * 64 times those at
// w + (g * taps + t) * units * 64.
typedef struct qrn_strip_row {
    const uint8_t *x, *w;
    uint8_t *y; // the block in the first cell
} qrn_strip_row;

// Some rows that share groups.
typedef struct qrn_strip {
    qrn_strip_row row[QRN_STRIP_TOGETHER];
    size_t n_rows, cells;
    size_t plane;
    const void *terms; // of the block: what the kernel prepared
    size_t rows, taps; // of the window
    size_t groups;
    size_t step, spread; // columns between cells and between taps
    size_t cell;         // bytes between cells of y
    const qrn_strip_block *block;
    const struct qrn_strip_plan *plan;
} qrn_strip;

// A call.
typedef struct qrn_strip_plan {
    const qrn_kcall *k;
    qrn_conv_geometry g;
    qrn_strip_shape shape;
    size_t elem;                   // bytes
    uint8_t pad[QRN_STRIP_VECTOR]; // a vector of what lies outside x
    bool flip;                     // x and pad are to change their highest bit
    const uint8_t *blocks;         // terms and weights, block_bytes apart
    size_t terms_bytes, block_bytes;
    uint8_t *groups;        // qrn_strip_room() bytes, aligned to a vector
    const uint8_t *outside; // a line of padding: QRN_STRIP_OUTSIDE vectors, a cell apart
    qrn_grid_part part;     // output rows, counted over all images, and blocks of this task
    int32_t bias_most;      // channels beyond it are those of depthwise_wide.h; 0: there are none
    const void *job;
} qrn_strip_plan;

// What the file of an instruction set gives.
typedef struct qrn_strip_kernel {
    // The part of the plan.
    void (*rows)(const qrn_strip_plan *p);
    // m[c] = scale_x * scale_w[c] / scale_y; sums[c] = sum over taps of w[t][c].
    void (*channels)(const qrn_kcall *k, const int8_t *w, size_t taps, size_t channels, double *m,
                     int32_t *sums);
    // The vectors of a block for a group of rows of weights.
    void (*pack)(const qrn_strip_block *b, const int8_t *const *rows, uint8_t *packed);
    bool is_signed; // of 8-bit values: it multiplies x as signed bytes
} qrn_strip_kernel;

// Can a call be cut into strips? A strip holds all columns from its first cell to its last one, so
// far padding and large steps between cells are left to others.
static inline bool qrn_strips_work(const qrn_kcall *k) {
    const qrn_conv_args *a = k->args;
    uint32_t last = a->n_spatial + 1, d = a->n_spatial - 1; // the dimension of columns
    uint64_t columns = (uint64_t)(k->out[0]->dims[1 + d] - 1) * a->stride[d] +
                       (uint64_t)(k->in[1]->dims[d] - 1) * a->dilation[d];
    if (columns > 4 * (uint64_t)k->in[0]->dims[1 + d] + QRN_STRIP_FAR)
        return false;
    return a->n_spatial <= 2 && !a->transposed && a->group == k->in[0]->dims[last] &&
           a->group == k->out[0]->dims[last] &&
           qrn_view_span(k->in[1], 0, a->n_spatial) <= QRN_STRIP_TAPS;
}

// Output rows share groups where that takes no more of them for either.
static inline qrn_strip_shape qrn_strip_shape_of(const qrn_conv_geometry *g, int64_t rows) {
    int64_t k = g->kernel[1], s = g->stride[1], groups = (k + rows - 1) / rows;
    bool two =
        g->dilation[1] == 1 && (s % rows + k + rows - 1) / rows == groups && g->out[1] > 1 && s < k;
    return (qrn_strip_shape){.rows = rows,
                             .together = two ? 2 : 1,
                             .groups = groups,
                             .all_groups = groups + (two ? s / rows : 0)};
}

// Cells of a strip, and the columns under them: groups should stay in the nearest cache.
#define QRN_STRIP_NEAR (20 * 1024)
static inline int64_t qrn_strip_columns(const qrn_conv_geometry *g, int64_t cells) {
    return (cells - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1;
}
static inline int64_t qrn_strip_cells(const qrn_conv_geometry *g, const qrn_strip_shape *s,
                                      uint32_t units) {
    int64_t n = 1, bytes = s->all_groups * units * QRN_STRIP_VECTOR;
    while (g->out[2] > 16 * n &&
           qrn_strip_columns(g, (g->out[2] + n - 1) / n) * bytes > QRN_STRIP_NEAR)
        n++;
    return (g->out[2] + n - 1) / n;
}
static inline size_t qrn_strip_room(const qrn_conv_geometry *g, const qrn_strip_shape *s) {
    size_t most = 0;
    for (uint32_t units = 1; units <= 4; units *= 2) {
        int64_t columns = qrn_strip_columns(g, qrn_strip_cells(g, s, units));
        size_t bytes = (size_t)(columns * s->all_groups) * units * QRN_STRIP_VECTOR;
        most = bytes > most ? bytes : most;
    }
    return most;
}

// The block of channels that follows the first `done` ones. What is left over after the largest
// ones is done together with some channels before it, which are computed again.
static inline qrn_strip_block qrn_strip_block_at(size_t channels, uint32_t most_units,
                                                 size_t done) {
    size_t left = channels - done;
    uint32_t units = most_units;
    while (units > 1 && (left <= units / 2 * QRN_STRIP_UNIT || channels < units * QRN_STRIP_UNIT))
        units /= 2;
    size_t size = units * QRN_STRIP_UNIT;
    if (channels < size)
        return (qrn_strip_block){0, 1, (uint32_t)channels};
    return (qrn_strip_block){left < size ? channels - size : done, units, (uint32_t)size};
}
// For each of them: b, and its number i.
#define QRN_STRIP_BLOCKS(b, i, total, most_units)                                                  \
    size_t i = 0;                                                                                  \
    for (qrn_strip_block b = qrn_strip_block_at(total, most_units, 0); b.units;                    \
         b = qrn_strip_block_after(&b, total, most_units), i++)
static inline qrn_strip_block qrn_strip_block_after(const qrn_strip_block *b, size_t channels,
                                                    uint32_t most_units) {
    size_t done = b->first + b->channels;
    return done < channels ? qrn_strip_block_at(channels, most_units, done) : (qrn_strip_block){0};
}
static inline size_t qrn_strip_blocks(size_t channels, uint32_t most_units) {
    QRN_STRIP_BLOCKS(b, n, channels, most_units) {}
    return n;
}

// Windows of 3 by 3 can do without groups in memory, for blocks whose channels fill a vector: a
// tile is seven cells of a row. Columns outside the input are a vector of padding, rows outside it
// a line of padding.
#define QRN_STRIP_CELLS 7
#define QRN_STRIP_OUTSIDE 15 // columns of a line of padding: those under cells that are two apart
typedef struct qrn_strip_tile {
    const uint8_t *x[3]; // rows of the input at the first column
    const uint8_t *pad;  // a vector of padding
    bool left, right;    // the first or the last column lies outside
    uint8_t *y;
} qrn_strip_tile;
typedef void (*qrn_strip_tile_fn)(const qrn_strip_tile *t, const void *of);

// Rows [row, row + n_rows) of a block by step[0] for cells next to each other or step[1] for those
// two apart; false: the call does not have the form.
bool qrn_strip_three(const qrn_strip_plan *p, const qrn_strip_block *b, size_t row, size_t n_rows,
                     const qrn_strip_tile_fn *step, const void *of);

// The part of a task: rows, and blocks where no channel is in two of them.
qrn_grid_part qrn_strip_part_of(const qrn_kcall *k, const qrn_conv_geometry *g,
                                uint32_t most_units);

// Weights [taps][channels], with their offset, as signed bytes: w's own or a copy in `room`, which
// has as many. NULL: they are none.
const int8_t *qrn_strip_weights(const qrn_view *w, size_t channels, int8_t *room);

static inline size_t qrn_strip_weights_bytes(const qrn_conv_geometry *g, const qrn_strip_shape *s,
                                             uint32_t units) {
    return (size_t)(s->together * s->groups * g->kernel[2]) * units * QRN_STRIP_VECTOR;
}
// Packs the weights of a block for each output row of a strip.
void qrn_strip_pack(const qrn_strip_kernel *kernel, const qrn_conv_geometry *g,
                    const qrn_strip_shape *s, const qrn_strip_block *b, const int8_t *w,
                    uint8_t *packed);

#endif
