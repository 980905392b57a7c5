// SPDX-License-Identifier: MIT
//
// Columns back to images, compiled for AVX512.
#include "kernels/columns/columns_rows.h"

#include <immintrin.h>

#define AHEAD 256 // floats that are fetched before they are needed

#define T float
#define FN qrn_col2im_f32_avx512
#define ADD_CELLS add_cells_f32
#include "kernels/columns/col2im.inc"
#define T double
#define FN qrn_col2im_f64_avx512
#define ADD_CELLS add_cells_f64
#include "kernels/columns/col2im.inc"

// Of 8 lanes those from `first` on and below `end`.
static __mmask8 lanes(int64_t first, int64_t end) {
    unsigned low = first <= 0 ? 0 : first < 8 ? (unsigned)first : 8;
    unsigned high = end <= 0 ? 0 : end < 8 ? (unsigned)end : 8;
    return (__mmask8)(((1u << high) - 1) & ~((1u << low) - 1));
}

// The sums of 8 cells from column x on. src: the columns of the image; row: where, for each row of
// window cells, its line begins in a row of columns, or -1.
static __m512d cells_avx512(const float *src, const qrn_columns_args *a, const int64_t *row,
                            int64_t x, int64_t across, size_t cells) {
    __m512d sum = _mm512_setzero_pd();
    for (size_t i = 0; i < a->kernel[0]; i++) {
        int64_t at = x + a->before[1]; // window position of lane 0
        for (size_t j = 0; row[i] >= 0 && j < a->kernel[1]; j++, at -= a->dilation[1]) {
            const float *line = src + (i * a->kernel[1] + j) * cells + row[i];
            __mmask8 in = lanes(-at, across - at);
            if (in == 0xff)
                sum = _mm512_add_pd(sum, _mm512_cvtps_pd(_mm256_loadu_ps(line + at)));
            else if (in)
                sum = _mm512_mask_add_pd(sum, in, sum,
                                         _mm512_cvtps_pd(_mm256_maskz_loadu_ps(in, line + at)));
        }
    }
    return sum;
}

#define WIDE 4 // vectors that are summed side by side

// WIDE vectors of cells that all windows reach.
static void inner_avx512(const float *src, const qrn_columns_args *a, const int64_t *row, int64_t x,
                         size_t cells, float *dst) {
    __m512d sum[WIDE];
    for (int v = 0; v < WIDE; v++)
        sum[v] = _mm512_setzero_pd();
    for (size_t i = 0; i < a->kernel[0]; i++) {
        if (row[i] < 0)
            continue;
        const float *line = src + i * a->kernel[1] * cells + row[i] + x + a->before[1];
        for (size_t j = 0; j < a->kernel[1]; j++, line += (int64_t)cells - a->dilation[1]) {
            _mm_prefetch((const char *)(line + AHEAD), _MM_HINT_T0);
            _mm_prefetch((const char *)(line + AHEAD + 16), _MM_HINT_T0);
            for (int v = 0; v < WIDE; v++)
                sum[v] = _mm512_add_pd(sum[v], _mm512_cvtps_pd(_mm256_loadu_ps(line + 8 * v)));
        }
    }
    for (int v = 0; v < WIDE; v++)
        _mm256_storeu_ps(dst + 8 * v, _mm512_cvtpd_ps(sum[v]));
}

qrn_status qrn_col2im_dense_avx512(const qrn_kcall *k) {
    const qrn_columns_args *a = k->args;
    const qrn_view *columns = k->in[0], *image = k->out[0];
    size_t height = image->dims[1], width = image->dims[2], cells = columns->dims[2];
    size_t across = qrn_columns_positions(a, 1, image->dims[2]), begin, end;
    size_t down = qrn_columns_positions(a, 0, image->dims[1]);
    int64_t row[QRN_COLUMNS_DENSE], last = (int64_t)(a->kernel[1] - 1) * a->dilation[1];
    size_t reach = last > a->before[1] ? (size_t)(last - a->before[1]) : 0; // of the first window
    qrn_split(image->dims[0] * height, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t r = begin; r < end; r++) {
        const float *src =
            (const float *)columns->data + r / height * a->kernel[0] * a->kernel[1] * cells;
        for (size_t i = 0; i < a->kernel[0]; i++) {
            row[i] = qrn_columns_position_of(a, 0, r % height, i, down);
            row[i] *= row[i] < 0 ? 1 : (int64_t)across;
        }
        for (size_t x = 0; x < width; x += 8) {
            if (x >= reach && x + 8 * WIDE + a->before[1] <= across && x + 8 * WIDE <= width) {
                inner_avx512(src, a, row, (int64_t)x, cells, (float *)image->data + r * width + x);
                x += 8 * (WIDE - 1);
                continue;
            }
            __m512d sum = cells_avx512(src, a, row, (int64_t)x, (int64_t)across, cells);
            _mm256_mask_storeu_ps((float *)image->data + r * width + x,
                                  lanes(0, (int64_t)(width - x)), _mm512_cvtpd_ps(sum));
        }
    }
    return QRN_OK;
}
