// SPDX-License-Identifier: MIT
//
// What Winograd's convolutions share: the loops, for weights that were transformed before and for
// fp16 weights, which every block of tiles transforms again. Y = At [ (G g Gt) * (Bt d B) ] A for
// tiles of 4x4 (winograd.h) and of 2x2 output cells (winograd_f16.h).
#ifndef QRN_KERNELS_GEMM_WINOGRAD_RUN_H
#define QRN_KERNELS_GEMM_WINOGRAD_RUN_H

#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/grid.h"

// Windows of 3x3 cells, one cell apart, in one group: what the method is for.
bool qrn_winograd_shape(const qrn_dense_args *a);

// Tiles of an image [N, H, W, C] whose sides have `side` cells.
static inline size_t qrn_winograd_tiles(const qrn_view *y, size_t side) {
    return ((size_t)y->dims[1] + side - 1) / side * (((size_t)y->dims[2] + side - 1) / side);
}

// The tiles of a convolution, counted line by line over all images, and the block of them that is
// done at a time.
typedef struct qrn_winograd_grid {
    size_t tile;         // output cells along a side
    size_t down, across; // of an image
    size_t all;          // of all images
    size_t block;        // so many stay in the second cache
} qrn_winograd_grid;

// block_bytes: what a block may have in matrices; tile_bytes: what a tile has.
qrn_winograd_grid qrn_winograd_grid_of(const qrn_conv_geometry *g, size_t tile, size_t block_bytes,
                                       size_t tile_bytes);

// Where tile `at` is, and how many of its lines and cells exist.
typedef struct qrn_winograd_place {
    size_t image, top, left, lines, cells;
} qrn_winograd_place;
qrn_winograd_place qrn_winograd_place_of(const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                                         size_t at);

// The tile behind it; of the last one, the place is not used.
void qrn_winograd_next(const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                       qrn_winograd_place *p);

// The part of a task: tiles [r0, r1) times panels [c0, c1).
qrn_grid_part qrn_winograd_part_of(const qrn_winograd_grid *w, const qrn_kcall *k, size_t panels);
uint32_t qrn_winograd_tasks_of(const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                               uint32_t n_threads);
// Tiles of the next block of a part that has n of them: no small rest.
size_t qrn_winograd_block(const qrn_winograd_grid *w, size_t n);
// Reports tiles [at, at + n) of panels [c0, c1).
void qrn_winograd_report(const qrn_kcall *k, const qrn_winograd_grid *w, const qrn_conv_geometry *g,
                         size_t at, size_t n, size_t c0, size_t c1);

// One tile of input: the cells under it from (top, left) on, zero where the image has none.
typedef struct qrn_winograd_input {
    const float *x;
    int64_t height, width, top, left;
    size_t channels; // a multiple of 16
    float *v;        // matrix p of the result at p*plane, `channels` elements
    size_t plane;
} qrn_winograd_input;

// One tile of output, up to 32 channels.
typedef struct qrn_winograd_output {
    const float *m; // matrix p at p*plane
    size_t plane;
    const float *bias; // NULL: zeros
    float *y;
    size_t y_line, y_cell; // elements between lines and cells
    size_t lines, cells;   // 1 to the side of a tile: what of it exists
    size_t channels;       // a multiple of 16
    const qrn_clamp *clamp;
} qrn_winograd_output;

// One file per ISA.
typedef struct qrn_winograd_kernel {
    const qrn_gemm_f32_kernel *gemm;
    size_t tile; // output cells along a side: 2 or 4
    void (*transform_input)(const qrn_winograd_input *t);
    void (*transform_output)(const qrn_winograd_output *t);
    // Weights: the nine taps [n] one after the other to matrix p at p*plane. Tiles of 2x2
    void (*transform_weights)(const float *taps, size_t n, float *u, size_t plane);
} qrn_winograd_kernel;

// `packed` or `f16`.
typedef struct qrn_winograd_weights {
    const float *packed; // G g Gt, [panels, planes*Cin, 32]
    const uint16_t *f16; // packing dense_f16, with the two below
    qrn_f16_to_f32_fn to_f32;
    bool wide_range;
} qrn_winograd_weights;

qrn_status qrn_winograd_run(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, const qrn_winograd_weights *w);
uint32_t qrn_winograd_tasks(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, uint32_t n_threads);
// Of w it counts whether there are fp16 weights.
size_t qrn_winograd_scratch(const qrn_kcall *k, const qrn_dense_args *a,
                            const qrn_winograd_kernel *kernel, const qrn_winograd_weights *w);

#endif
