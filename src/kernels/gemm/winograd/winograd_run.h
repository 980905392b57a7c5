// SPDX-License-Identifier: MIT
//
// What Winograd's convolutions share: the loops, for weights that were transformed before and for
// fp16 weights, which every block of tiles transforms again. Y = At [ (G g Gt) * (Bt d B) ] A for
// tiles of 4x4 (winograd.h) and of 2x2 output cells (winograd_f16.h).
#ifndef QRN_KERNELS_GEMM_WINOGRAD_RUN_H
#define QRN_KERNELS_GEMM_WINOGRAD_RUN_H

#include "kernels/gemm/tiles/gemm_f32.h"

// Windows of 3x3 cells, one cell apart, in one group: what the method is for.
bool qrn_winograd_shape(const qrn_dense_args *a);

// Tiles of an image [N, H, W, C] whose sides have `side` cells.
static inline size_t qrn_winograd_tiles(const qrn_view *y, size_t side) {
    return ((size_t)y->dims[1] + side - 1) / side * (((size_t)y->dims[2] + side - 1) / side);
}

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
