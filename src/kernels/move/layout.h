// SPDX-License-Identifier: MIT
//
// Ops that rearrange every element of in[0] into out[0], RAW: both have one type and encoding.
#ifndef QRN_KERNELS_LAYOUT_H
#define QRN_KERNELS_LAYOUT_H

#include "kernels/move/strided.h"

// y[i...] = x[i permuted]: dimension d of y is dimension perm[d] of x.
typedef struct qrn_transpose_args {
    uint32_t perm[QRN_MAX_RANK];
} qrn_transpose_args;

// NHWC. To depth: y[n,h,w,k] = x[n,h*bh+i,w*bw+j,c]; from depth: the other way round. The channel
// k is (i*bw+j)*C+c (DCR) or c*bh*bw+i*bw+j (CRD), C the channels on the space side.
typedef struct qrn_depth_space_args {
    uint32_t block[2]; // bh, bw
    bool crd, to_depth;
} qrn_depth_space_args;

// NHWC. To batch: y[(i*bw+j)*N+n, h, w, c] = x[n, h*bh+i-pad[0][0], w*bw+j-pad[1][0], c], `fill`
// outside of x; from batch: the other way round, pad being what is cropped.
typedef struct qrn_batch_space_args {
    uint32_t block[2];  // bh, bw
    uint32_t pad[2][2]; // top, bottom, left, right
    uint8_t fill[8];    // one element
    bool to_batch;
} qrn_batch_space_args;

// y[i*G+g] = x[g*S+i] along the axis, G groups of S.
typedef struct qrn_shuffle_args {
    uint32_t axis, groups;
} qrn_shuffle_args;

// How StridedSlice treats one row of its ranges.
typedef enum qrn_slice_kind { QRN_SLICE_KEEP, QRN_SLICE_SHRINK, QRN_SLICE_NEW } qrn_slice_kind;

// KEEP and SHRINK rows take the next dimension of x, KEEP and NEW rows make the next one of y,
// whose size says how many elements are taken.
typedef struct qrn_slice_args {
    uint32_t n_rows;
    struct qrn_slice_row {
        uint8_t kind;        // qrn_slice_kind
        bool open;           // begin at the edge, whatever `begin` says
        int32_t begin, step; // in the dimension of x
    } rows[QRN_MAX_RANK];
} qrn_slice_args;

// Where the elements of y come from: loops over x, and the element of x that the first iteration
// reads. Whoever moves elements runs these, on any device. QRN_E_ARGUMENT: outside of x.
typedef qrn_status (*qrn_layout_fn)(const void *args, const qrn_view *x, const qrn_view *y,
                                    qrn_strided *s, size_t *first);
qrn_status qrn_transpose_nest(const void *args, const qrn_view *x, const qrn_view *y,
                              qrn_strided *s, size_t *first);
qrn_status qrn_depth_space_nest(const void *args, const qrn_view *x, const qrn_view *y,
                                qrn_strided *s, size_t *first);
qrn_status qrn_shuffle_nest(const void *args, const qrn_view *x, const qrn_view *y, qrn_strided *s,
                            size_t *first);
qrn_status qrn_tile_nest(const void *args, const qrn_view *x, const qrn_view *y, qrn_strided *s,
                         size_t *first);
// A slice of a tensor whose neighbours along dimension d are step[d] elements apart.
qrn_status qrn_slice_nest(const qrn_slice_args *a, const qrn_view *x, const qrn_view *y,
                          const size_t *step, qrn_strided *s, size_t *first);
// Elements between neighbours along each dimension of a dense tensor.
void qrn_dense_steps(const qrn_view *v, size_t *step);

extern const qrn_family qrn_family_transpose;
qrn_status qrn_transpose_raw(const qrn_kcall *k);
// Channels of three planes of bytes go last.
bool qrn_transpose_is_weave(const qrn_kcall *k);
qrn_status qrn_transpose_weave_avx512vbmi(const qrn_kcall *k);

extern const qrn_family qrn_family_depth_space;
extern const qrn_family qrn_family_batch_space;
extern const qrn_family qrn_family_shuffle;
extern const qrn_family qrn_family_slice;
extern const qrn_family qrn_family_tile; // repeats: dims of y are multiples of those of x

#endif
