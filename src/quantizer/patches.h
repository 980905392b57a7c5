// SPDX-License-Identifier: MIT
//
// What a layer reads, for rounding its weights: sums of products of the numbers that each of its
// results is made of (one patch a result), and their means. Patches are drawn at positions spread
// over the tensor, a bounded number of each sample.
#ifndef QRN_QUANTIZER_PATCHES_H
#define QRN_QUANTIZER_PATCHES_H

#include "frontend/onnx/reader/model.h"
#include "quantizer/gram.h"

// Products of numbers further apart than this are not looked at: memory and time would grow with
// the square of the depth.
#define QZ_PART 1024
#define QZ_PATCHES 2048 // of all samples

typedef struct qz_patches {
    struct qz_patches *next; // of another node that reads the same value
    const ox_node *node;
    bool transposed;       // ConvTranspose
    bool matrix;           // Gemm or MatMul: rows of the last dimension
    uint32_t group, depth; // depth: numbers in a patch of one group ...
    uint32_t parts;        // ... which are cut into parts of at most QZ_PART numbers
    uint32_t channels;     // of the input, all groups
    uint32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2]; // height and width
    qz_gram *grams;                                                    // [group][parts]
    double *sums;                                                      // [group][depth]
    float *rows;                                                       // scratch
    uint32_t per_sample, drawn;                                        // patches
} qz_patches;

// A layer by the shapes of its input, weight and output. *out NULL: a form that is not handled,
// such as three spatial dimensions. In an arena, freed by qz_patches_free.
typedef struct qz_shape {
    uint32_t rank;
    const uint32_t *dims;
} qz_shape;
qrn_status qz_patches_create(qrn_arena *arena, const ox_node *n, qz_shape x, qz_shape w, qz_shape y,
                             uint32_t n_samples, qz_patches **out);
void qz_patches_free(qz_patches *p); // this one, not the next
size_t qz_patches_bytes(const ox_node *n, qz_shape w);
// Numbers of the input of one execution; channel_last: dims are 0, 2, 3, ..., 1.
void qz_patches_add(qz_patches *p, const float *x, size_t count, bool channel_last);

// Position of weight i of the layer: which gram, place in its part of the patch, and channel of the
// result in the group.
typedef struct qz_place {
    uint32_t gram, row, column;
} qz_place;
// Numbers of one part.
uint32_t qz_patches_depth(const qz_patches *p, uint32_t gram);
qz_place qz_patches_place(const qz_patches *p, const uint32_t *w_dims, size_t i);

#endif
