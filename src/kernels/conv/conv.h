// SPDX-License-Identifier: MIT
//
// Convolutions over one, two or three spatial dimensions, channels last.
//   in[0]  x       [N, S..., Cin]
//   in[1]  filter  [K..., Cin/group, Cout], transposed: [K..., Cin, Cout/group]
//   in[2]  bias    [Cout], may be absent
//   out[0] y       [N, So..., Cout]
// With g = co / (Cout/group) the group of output channel co, and ci counting the channels of a
// group:
//   y[n,o,co] = bias[co] + sum_{k,ci} x[n, o*stride - before + k*dilation, g*Cin/group + ci] *
//   filter[k,ci,co]
// and transposed, the adjoint:
//   y[n, i*stride - before + k*dilation, co] receives
//       x[n, i, g*Cin/group + ci] * filter[k, g*Cin/group + ci, co - g*Cout/group]
// Cells outside the input count as zero. A depthwise convolution has group = Cin.
//
// Domains F32 and F64: real numbers; the reference rows sum in double, in the order k, ci.
// Domain RAW: quantized, as src/kernels/gemm/epilogue/requant.h defines it; w is the filter.
#ifndef QRN_KERNELS_CONV_H
#define QRN_KERNELS_CONV_H

#include "kernels/kernel.h"

// Floats are brought into [low, high]; NaN stays.
typedef struct qrn_clamp {
    bool on;
    float low, high;
} qrn_clamp;

#define QRN_CLAMPED(v, c) ((v) < (c)->low ? (c)->low : (v) > (c)->high ? (c)->high : (v))

typedef struct qrn_conv_args {
    uint32_t n_spatial; // 1 to 3
    uint32_t group;
    uint32_t stride[3], dilation[3], before[3]; // n_spatial entries each
    bool transposed;
    qrn_clamp clamp; // of the results, domain F32
} qrn_conv_args;

extern const qrn_family qrn_family_conv; // F32, F64, RAW

// Outputs summed side by side by the reference rows.
#define QRN_CONV_CHANNELS 32

// A call with all sizes brought to three spatial dimensions (leading ones where there are fewer).
typedef struct qrn_conv_geometry {
    size_t batch, cin, cout, group;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3];
    bool transposed;
} qrn_conv_geometry;

// An output cell.
typedef struct qrn_conv_cell {
    int64_t n, at[3];
} qrn_conv_cell;

// kernel_dims: the K... of the filter, args->n_spatial entries.
qrn_conv_geometry qrn_conv_geometry_of(const qrn_conv_args *a, const qrn_view *x, const qrn_view *y,
                                       const uint32_t *kernel_dims);
// Output cells and filter taps, and where they are.
size_t qrn_conv_cells(const qrn_conv_geometry *g);
size_t qrn_conv_taps(const qrn_conv_geometry *g);
qrn_conv_cell qrn_conv_cell_at(const qrn_conv_geometry *g, size_t cell);
// Number of the input cell that a tap reads for an output cell; -1 when there is none.
int64_t qrn_conv_source(const qrn_conv_geometry *g, const qrn_conv_cell *cell, size_t tap);
// The taps of a forward convolution that read an input cell, for one output cell. At most `max`
// taps from number `first` on are looked at; writes source[i] and tap[i] in order, returns how
// many.
size_t qrn_conv_inside(const qrn_conv_geometry *g, const qrn_conv_cell *cell, size_t first,
                       size_t max, size_t *source, size_t *tap);
// Has an output cell the taps of the one before it, each reading the input cell that lies a stride
// behind that one's?
bool qrn_conv_slides(const qrn_conv_geometry *g, size_t cell);
// Position in the filter of (tap, channel ci of the group, output channel co); the next output
// channels of the group follow it.
size_t qrn_conv_weight(const qrn_conv_geometry *g, size_t tap, size_t ci, size_t co);
// How many output channels from co on, at most QRN_CONV_CHANNELS, belong to one group.
size_t qrn_conv_run(const qrn_conv_geometry *g, size_t co);

uint32_t qrn_conv_tasks(const qrn_kcall *k, uint32_t n_threads);

// Rows of other files.
qrn_status qrn_conv_q8_ref(const qrn_kcall *k);
qrn_status qrn_conv_q8_block_ref(const qrn_kcall *k);

#endif
