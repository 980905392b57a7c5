// SPDX-License-Identifier: MIT
//
// Sliding windows: the spatial parameters that convolutions, pooling and Im2Col share, read from an
// op and checked. For the rules of src/ir/ops alone.
#ifndef QRN_IR_OPS_WINDOW_H
#define QRN_IR_OPS_WINDOW_H

#include "ir/op.h"

#define QRN_WINDOW_MAX 3 // spatial dimensions

typedef struct qrn_window {
    uint32_t n;                    // spatial dimensions, 1 to 3
    bool known;                    // false: a parameter has no data yet, sizes are open
    uint32_t size[QRN_WINDOW_MAX]; // of the filter; filled by the rule or by filter_size
    uint32_t stride[QRN_WINDOW_MAX];
    uint32_t dilation[QRN_WINDOW_MAX];                      // 1 for ops without dilation
    uint32_t before[QRN_WINDOW_MAX], after[QRN_WINDOW_MAX]; // padding
    uint32_t output_padding[QRN_WINDOW_MAX];                // 0 for ops without it
} qrn_window;

// Reads stride, pad_amount and, where the op has them, dilation, output_padding, filter_size and
// kernel_size, as scalars or tensors. Refuses a wrong number of values and zero sizes, strides and
// dilations.
qrn_status qrn_window_read(const qrn_op_call *c, uint32_t n, qrn_window *w);

// Output size along spatial dimension i (needs w->known):
//   R((before + in + after - ((size - 1) * dilation + 1)) / stride) + 1,   R = floor or ceil
qrn_status qrn_window_forward(const qrn_op_call *c, const qrn_window *w, uint32_t i, uint32_t in,
                              bool ceil, uint32_t *out);
// Output size of a transposed convolution:
//   stride * (in - 1) + (size - 1) * dilation + 1 - before - after + output_padding
qrn_status qrn_window_transposed(const qrn_op_call *c, const qrn_window *w, uint32_t i, uint32_t in,
                                 uint32_t *out);

#endif
