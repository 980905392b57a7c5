// SPDX-License-Identifier: MIT
//
// What convolutions and pools share: window attributes, filters, biases. Values of rank 3 are
// taken as images of height 1.
#ifndef QRN_FRONTEND_ONNX_IMPORT_WINDOW_H
#define QRN_FRONTEND_ONNX_IMPORT_WINDOW_H

#include "frontend/onnx/import/compose.h"

#define OX_MAX_SPATIAL 3

typedef struct ox_window {
    uint32_t n; // spatial dimensions
    uint32_t kernel[OX_MAX_SPATIAL], stride[OX_MAX_SPATIAL], dilation[OX_MAX_SPATIAL];
    uint32_t pad[2 * OX_MAX_SPATIAL]; // before, after per dimension
    bool ceil;                        // the last window may reach behind the padding
    bool dilated;                     // some dilation is not 1
} ox_window;

// Reads strides, dilations, pads, auto_pad and ceil_mode for input x of rank 3 to 5; kernel is the
// filter's size or NULL for the attribute kernel_shape.
qrn_status ox_window_read(ox_import *im, const ox_node *n, const ox_val *x, const uint32_t *kernel,
                          ox_window *w);
// Spatial output dimensions for spatial input dimensions.
qrn_status ox_window_dims(ox_import *im, const ox_node *n, const ox_window *w, const uint32_t *in,
                          uint32_t *out);
// Of one spatial dimension a window over two, the first of size 1.
void ox_window_widen(ox_window *w);

// Channel-last tensor [N, W, C] as [N, 1, W, C] and back; others stay. The result of an op on
// images is written to ox_image_out(y) and handed to ox_image_end.
qc_tensor *ox_image_in(ox_expr *e, qc_tensor *x);
qc_tensor *ox_image_out(ox_expr *e, qc_tensor *y);
void ox_image_end(ox_expr *e, qc_tensor *image, qc_tensor *y);

// Input i as a filter with its dimensions permuted, rank at least `rank` by leading 1s. Constants
// are permuted here and now; their encodings follow. `real`: as float even in a quantized unit.
qc_tensor *ox_filter(ox_expr *e, uint32_t i, const uint32_t *perm, uint32_t rank, bool real);
// May the filter (or matrix) of input i stay quantized: per tensor or along this axis?
bool ox_filter_fits(const ox_expr *e, uint32_t i, uint32_t axis);
// Input i as a bias of `channels` values for x and filter; NULL when absent. Of fixed-point x it is
// s32 in units of scale(x) * scale(filter).
qc_tensor *ox_bias(ox_expr *e, uint32_t i, const qc_tensor *x, const qc_tensor *filter,
                   uint32_t channels);
// The same of given real numbers.
qc_tensor *ox_bias_of(ox_expr *e, const float *values, const qc_tensor *x, const qc_tensor *filter,
                      uint32_t channels);

// A convolution as the node has it.
typedef struct ox_conv {
    ox_window w; // of images: rank 3 is widened
    uint32_t group;
    uint32_t dims[OX_MAX_RANK]; // of the output, as ONNX has them
} ox_conv;

// Reads it for input 0 and the filter of input `filter`.
qrn_status ox_conv_read(ox_import *im, const ox_node *n, uint32_t filter, ox_conv *c);
// Filter [O, I, k...] of ONNX as [k..., I, O] of QNN.
void ox_filter_perm(uint32_t rank, uint32_t *perm);

// A pool as the node has it.
typedef struct ox_pool {
    ox_window w;                  // of images: rank 3 is widened
    uint32_t dims[OX_MAX_RANK];   // of the output, as ONNX has them
    uint32_t out[OX_MAX_SPATIAL]; // its spatial dimensions, widened
} ox_pool;

// Reads it and sets the shape of output 0.
qrn_status ox_pool_read(ox_import *im, const ox_node *n, ox_pool *p);
// MaxPool with its second output.
qrn_status ox_pool_indices(ox_import *im, const ox_node *n, const ox_pool *p);

// Emits a convolution of images (rank 4 or 5).
void ox_convolve(ox_expr *e, const ox_window *w, uint32_t group, const qc_tensor *x,
                 const qc_tensor *filter, const qc_tensor *bias, const qc_tensor *y);
// The sum (or maximum) over the window, done by slices, for windows that the pool ops do not have.
qc_tensor *ox_taps(ox_expr *e, const char *op, const ox_window *w, qc_tensor *x,
                   const uint32_t *out);

#endif
