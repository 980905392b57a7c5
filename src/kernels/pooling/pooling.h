// SPDX-License-Identifier: MIT
//
// Pooling over two or three spatial dimensions, channels last.
//   in[0] x [N, S..., C], out[0] y [N, So..., C]; window o covers [o*stride - before, + size)
// pool_max:  largest cell of the window. Cells outside the input never win; a window without any
//            cell of the input gives the lowest value (-inf, or the lowest of the type). NaN wins.
//            F32 and F64 on numbers, RAW on 8 and 16 bits (x and y of one encoding).
// pool_avg:  sum / count in double. count: cells inside the input, or with count_pad cells inside
//            the padded input, never those behind the padding (which rounding up can reach). Count
//            0 gives 0. F32 and F64 on numbers. RAW on 8 and 16 bits with one scale each:
//            scale_x * sum (q + offset_x), of an exact sum of up to qrn_pool_cells_most cells,
//            divided by count, and rounded to y as kernels/convert.h says. Fast rows for floats
//            sum windows of few cells in single precision and multiply by 1 / count.
// pool_l2:   sqrt(sum of squares), no division.
#ifndef QRN_KERNELS_POOLING_H
#define QRN_KERNELS_POOLING_H

#include "kernels/grid.h"
#include "kernels/kernel.h"

#define QRN_POOL_BYTES_CELLS 256 // whose sum fits 16 bits

typedef struct qrn_pooling_args {
    uint32_t n_spatial;                               // 1 to 3
    uint32_t size[3], stride[3], before[3], after[3]; // n_spatial entries each
    bool count_pad;
} qrn_pooling_args;

extern const qrn_family qrn_family_pool_max; // F32, F64, RAW
extern const qrn_family qrn_family_pool_avg; // F32, F64, RAW
extern const qrn_family qrn_family_pool_l2;  // F32, F64

// Cells whose sum has 32 bits, at most: of bytes and an offset of 9 bits, of 16 bits and a zero
// point among them, which makes no number above 65535, and of any others.
static inline uint32_t qrn_pool_cells_most(qrn_dtype dtype, int32_t offset) {
    int32_t least = qrn_dtypes[dtype].cls == QRN_CLASS_SFIXED ? INT16_MIN : 0;
    if (qrn_dtypes[dtype].bits == 8)
        return offset >= -256 && offset <= 256 ? 1u << 20 : 1u << 12;
    return -offset >= least && -offset <= least + UINT16_MAX ? 1u << 15 : 1u << 12;
}

// The part of a window along one dimension that lies inside the input.
typedef struct qrn_pool_span {
    size_t first, size;
    size_t padded; // cells inside the padded input
} qrn_pool_span;

// The part of a window that lies inside the input, with leading ones where there are fewer than
// three dimensions.
typedef struct qrn_pool_window {
    qrn_pool_span span[3];
    size_t in[3]; // size of the input
    size_t batch;
} qrn_pool_window;

// The window of an output cell, and that of its right neighbour at column `col`.
qrn_pool_window qrn_pool_window_at(const qrn_kcall *k, size_t cell);
void qrn_pool_window_move(const qrn_kcall *k, qrn_pool_window *w, size_t col);

static inline size_t qrn_pool_cells(const qrn_pool_window *w) {
    return w->span[0].size * w->span[1].size * w->span[2].size;
}
// What an average is divided by.
static inline size_t qrn_pool_count(const qrn_pool_window *w, const qrn_pooling_args *a) {
    return a->count_pad ? w->span[0].padded * w->span[1].padded * w->span[2].padded
                        : qrn_pool_cells(w);
}
// Number of the input cell at (i, j) of the first two dimensions of the window, first column.
static inline size_t qrn_pool_line(const qrn_pool_window *w, size_t i, size_t j) {
    return ((w->batch * w->in[0] + w->span[0].first + i) * w->in[1] + w->span[1].first + j) *
               w->in[2] +
           w->span[2].first;
}

// The part of a task: output cells, and units of so many channels.
#define QRN_POOL_UNIT 64 // bytes, or 16-bit values
qrn_grid_part qrn_pool_part_of(const qrn_kcall *k, size_t unit);
uint32_t qrn_pool_tasks(const qrn_kcall *k, uint32_t n_threads);

// Floats by lines (pool_lines.inc): numbers of a line that are done together, and cells of a
// window.
#define QRN_POOL_LINE 4096
#define QRN_POOL_LINE_CELLS 64
bool qrn_pool_lines_work(const qrn_kcall *k);

// Averages of quantized values.
typedef struct qrn_pool_q {
    double scale_x, scale_y;
    int32_t offset_x, offset_y;
    int32_t lo, hi; // range of y
} qrn_pool_q;

bool qrn_pool_is_quantized(const qrn_kcall *k);
bool qrn_pool_avg_q_works(const qrn_kcall *k);
bool qrn_pool_avg_bytes_works(const qrn_kcall *k); // bytes to bytes
qrn_pool_q qrn_pool_q_of(const qrn_kcall *k);
// The average of quantized values plus their offset, quantized.
int32_t qrn_pool_average(const qrn_pool_q *c, int64_t sum, size_t count);
qrn_status qrn_pool_avg_q_ref(const qrn_kcall *k);

qrn_status qrn_pool_max_f32_lines_avx512(const qrn_kcall *k);
qrn_status qrn_pool_avg_f32_lines_avx512(const qrn_kcall *k);
qrn_status qrn_pool_max_f32_lines_avx2(const qrn_kcall *k);
qrn_status qrn_pool_avg_f32_lines_avx2(const qrn_kcall *k);
qrn_status qrn_pool_max_f32_lines_neon(const qrn_kcall *k);
qrn_status qrn_pool_avg_f32_lines_neon(const qrn_kcall *k);
qrn_status qrn_pool_max_f32_avx512(const qrn_kcall *k);
qrn_status qrn_pool_max_q_avx512(const qrn_kcall *k);
qrn_status qrn_pool_avg_f32_avx512(const qrn_kcall *k);
qrn_status qrn_pool_avg_q_avx512(const qrn_kcall *k);
qrn_status qrn_pool_avg_bytes_avx512(const qrn_kcall *k);
qrn_status qrn_pool_max_f32_avx2(const qrn_kcall *k);
qrn_status qrn_pool_max_q_avx2(const qrn_kcall *k);
qrn_status qrn_pool_avg_f32_avx2(const qrn_kcall *k);
qrn_status qrn_pool_avg_q_avx2(const qrn_kcall *k);
qrn_status qrn_pool_max_f32_neon(const qrn_kcall *k);
qrn_status qrn_pool_max_q_neon(const qrn_kcall *k);
qrn_status qrn_pool_avg_f32_neon(const qrn_kcall *k);
qrn_status qrn_pool_avg_q_neon(const qrn_kcall *k);

#endif
