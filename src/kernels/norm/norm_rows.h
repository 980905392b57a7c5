// SPDX-License-Identifier: MIT
//
// What the rows of the norm family share.
#ifndef QRN_KERNELS_NORM_NORM_ROWS_H
#define QRN_KERNELS_NORM_NORM_ROWS_H

#include "kernels/lanes.h"
#include "kernels/norm/norm.h"
#include "kernels/walk.h"

typedef struct qrn_norm_stats {
    double shift, factor;
} qrn_norm_stats;

// `outer` walks the first element of every set, `inner` the elements of a set as offsets from it;
// operand 0 is x, operand 1 gamma and beta.
void qrn_norm_walks(const qrn_norm_args *a, const qrn_view *x, qrn_walk *outer, qrn_walk *inner);

// From the mean (0 where the kind has none), the sum of squares around it and the count.
qrn_norm_stats qrn_norm_finish(const qrn_norm_args *a, double mean, double squares, double n);

// May a vector row run the call: do the elements of each set lie in one piece? A dynamic dimension
// that shrinks to 1 can change the answer, so the rows ask again and hand over to the reference.
bool qrn_norm_contiguous(const qrn_kcall *k);

// Sets that are rows and channels of [batch, rows, channels]: all rows, `each` neighbouring
// channels.
typedef struct qrn_norm_columns {
    size_t batch, rows, channels, each;
    size_t width; // channels done at a time, whole sets of them
} qrn_norm_columns;

// Are the sets of the call like that?
bool qrn_norm_columns_of(const qrn_kcall *k, qrn_norm_columns *n);

qrn_status qrn_norm_columns_f32_avx2(const qrn_kcall *k);
qrn_status qrn_norm_columns_f32_avx512(const qrn_kcall *k);
qrn_status qrn_norm_columns_f32_neon(const qrn_kcall *k);

qrn_status qrn_norm_f32_ref(const qrn_kcall *k);
qrn_status qrn_norm_f64_ref(const qrn_kcall *k);
qrn_status qrn_norm_f32_avx2(const qrn_kcall *k);
qrn_status qrn_norm_f64_avx2(const qrn_kcall *k);
qrn_status qrn_norm_f32_avx512(const qrn_kcall *k);
qrn_status qrn_norm_f64_avx512(const qrn_kcall *k);
qrn_status qrn_norm_f32_neon(const qrn_kcall *k);
qrn_status qrn_norm_f64_neon(const qrn_kcall *k);

qrn_status qrn_affine_f32_avx2(const qrn_kcall *k);
qrn_status qrn_affine_f32_avx512(const qrn_kcall *k);
qrn_status qrn_affine_f32_neon(const qrn_kcall *k);

#endif
