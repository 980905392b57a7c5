// SPDX-License-Identifier: MIT
//
// What the rows of the reduce and moments families share.
#ifndef QRN_KERNELS_REDUCE_REDUCE_ROWS_H
#define QRN_KERNELS_REDUCE_REDUCE_ROWS_H

#include "kernels/reduce/reduce.h"
#include "kernels/walk.h"

// Splits the elements of x: `outer` walks the first element of every result, `inner` the elements
// that belong to one result, as offsets from its first.
void qrn_reduce_walks(const qrn_view *x, uint32_t axes, qrn_walk *outer, qrn_walk *inner);

// May a vector row run the call? Rows reduce the innermost axis, columns keep it. A dynamic
// dimension that shrinks to 1 can change the answer, so the rows ask again and hand over to the
// reference.
bool qrn_reduce_rows_work(const qrn_kcall *k);
bool qrn_reduce_columns_work(const qrn_kcall *k);

qrn_status qrn_reduce_f32_ref(const qrn_kcall *k);
qrn_status qrn_reduce_f64_ref(const qrn_kcall *k);
qrn_status qrn_reduce_i64_ref(const qrn_kcall *k);

// The vector rows, one file per ISA.
qrn_status qrn_extremes_f32_avx2(const qrn_kcall *k);
qrn_status qrn_reduce_rows_f32_avx2(const qrn_kcall *k);
qrn_status qrn_reduce_columns_f32_avx2(const qrn_kcall *k);
qrn_status qrn_extremes_f64_avx2(const qrn_kcall *k);
qrn_status qrn_reduce_rows_f64_avx2(const qrn_kcall *k);
qrn_status qrn_reduce_columns_f64_avx2(const qrn_kcall *k);
qrn_status qrn_extremes_f32_avx512(const qrn_kcall *k);
qrn_status qrn_reduce_rows_f32_avx512(const qrn_kcall *k);
qrn_status qrn_reduce_columns_f32_avx512(const qrn_kcall *k);
qrn_status qrn_extremes_f64_avx512(const qrn_kcall *k);
qrn_status qrn_reduce_rows_f64_avx512(const qrn_kcall *k);
qrn_status qrn_reduce_columns_f64_avx512(const qrn_kcall *k);
qrn_status qrn_extremes_f32_neon(const qrn_kcall *k);
qrn_status qrn_reduce_rows_f32_neon(const qrn_kcall *k);
qrn_status qrn_reduce_columns_f32_neon(const qrn_kcall *k);
qrn_status qrn_extremes_f64_neon(const qrn_kcall *k);
qrn_status qrn_reduce_rows_f64_neon(const qrn_kcall *k);
qrn_status qrn_reduce_columns_f64_neon(const qrn_kcall *k);

#endif
