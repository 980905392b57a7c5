// SPDX-License-Identifier: MIT
//
// Rows for the tiles of single precision.
#include "kernels/gemm/dense/dense_feed.h"

#include <string.h>

#define GATHER_ELEMENTS (64 * 1024) // copied at a time: they stay in the second cache
#define GATHER_MOST (256 * 1024)    // copied at a time where rows are very long
#define ROWS_WANTED 112             // done together: bringing the weights does not count then
#define BAND_ELEMENTS (64 * 1024)   // the same, of a band
#define BAND_MOST (1024 * 1024)     // a band of one line may have so many
#define LINE_ELEMENTS (64 * 1024)   // results of the lines that are done together
#define CACHE_PERIOD 1024           // floats: rows that far apart share their places in the cache

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t most_of(size_t a, size_t b) { return a > b ? a : b; }

static bool fights(size_t stride) { return stride > 0 && stride % CACHE_PERIOD == 0; }

// Lines of x under n lines of output cells.
static size_t lines_under(const qrn_conv_geometry *g, size_t n) {
    return (n - 1) * (size_t)g->stride[1] + (size_t)g->kernel[1];
}

void qrn_dense_plan_lines(qrn_dense_plan *p) {
    qrn_conv_geometry *g = &p->geo;
    int64_t *const all[] = {g->in, g->out, g->kernel, g->stride, g->dilation, g->before};
    if (p->args->rows || g->transposed || g->in[2] != 1 || g->out[2] != 1 || g->kernel[2] != 1 ||
        g->before[2] != 0)
        return;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i][2] = all[i][1];
        all[i][1] = all[i] != g->before;
    }
}

// Floats of a band of one line, where this image or a smaller one may be a column that counts as a
// line.
static size_t column_floats(const qrn_dense_plan *p) {
    const qrn_conv_geometry *g = &p->geo;
    if (p->args->rows || g->transposed || g->kernel[2] != 1 || p->rows == 0)
        return 0;
    size_t n = ((size_t)g->out[1] - 1) * (size_t)g->stride[1] + (size_t)g->kernel[1];
    return least(n * g->cin, BAND_MOST);
}

// Is the convolution one over lines of cells, with windows of more than one cell?
static bool has_lines(const qrn_dense_plan *p) {
    const qrn_conv_geometry *g = &p->geo;
    if (p->args->rows || g->transposed || g->group > 1 || p->rows == 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (g->dilation[i] > 1 && g->kernel[i] > 1)
            return false;
    return g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 && g->before[0] == 0 &&
           g->kernel[1] * g->kernel[2] > 1 && !fights((size_t)g->stride[2] * g->cin);
}

// Chooses windows or a band; false: one line would be too much to copy. The scratch is the most
// that any smaller image needs, either way.
static bool use_lines(qrn_dense_feed *f) {
    const qrn_conv_geometry *g = &f->plan->geo;
    size_t ow = (size_t)g->out[2], oh = (size_t)g->out[1];
    size_t width = (ow - 1) * (size_t)g->stride[2] + (size_t)g->kernel[2];
    size_t line = width * g->cin, few = lines_under(g, 1) * line;
    size_t most = few < BAND_ELEMENTS ? BAND_ELEMENTS : least(few, BAND_MOST);
    f->floats = most_of(f->floats, least(most, lines_under(g, oh) * line));
    if (g->before[1] == 0 && g->before[2] == 0 && width <= (size_t)g->in[2] &&
        lines_under(g, oh) <= (size_t)g->in[1]) {
        f->way = QRN_FEED_WINDOWS;
        f->stride = (size_t)g->in[2];
    } else if (few <= BAND_MOST) {
        f->way = QRN_FEED_BAND;
        f->stride = width;
    } else {
        return false;
    }
    f->step = most_of(LINE_ELEMENTS / (1 + ow * f->plan->cout), ROWS_WANTED / ow);
    if (f->way == QRN_FEED_BAND)
        f->step = least(f->step, 1 + (most - few) / (1 + line * (size_t)g->stride[1]));
    f->step = least(f->step ? f->step : 1, oh);
    return true;
}

qrn_dense_feed qrn_dense_feed_of(const qrn_dense_plan *p, const qrn_gemm_f32_kernel *kernel,
                                 bool near) {
    size_t depth = p->args->depth;
    qrn_dense_feed f = {.plan = p};
    if (p->direct && !(fights(p->a_row) && p->rows >= kernel->rows && p->args->cols > QRN_PANEL)) {
        f.step = qrn_gemm_f32_block_rows(kernel, depth, p->cout, p->rows, near);
        return f;
    }
    size_t stride = depth + (fights(depth) ? CACHE_PERIOD / 64 : 0);
    size_t n =
        most_of(GATHER_ELEMENTS / (1 + depth), least(ROWS_WANTED, GATHER_MOST / (1 + depth)));
    n = least(n < kernel->rows ? kernel->rows : n / kernel->rows * kernel->rows, p->rows);
    f.floats = most_of(n * stride, column_floats(p));
    if (!p->direct && has_lines(p) && use_lines(&f))
        return f;
    f.way = QRN_FEED_GATHER;
    f.stride = stride;
    f.step = n;
    return f;
}

static void copy_rows(const qrn_dense_feed *f, const float *x, size_t group, size_t r, size_t n,
                      float *dst) {
    const qrn_dense_plan *p = f->plan;
    size_t depth = p->args->depth;
    if (!p->direct) {
        qrn_dense_gather(p, x, r, n, group, sizeof *x, 0, dst, f->stride * sizeof *x);
        return;
    }
    for (size_t i = 0; i < n; i++, dst += f->stride)
        memcpy(dst, x + (r + i) * p->a_row + group * depth, depth * sizeof *x);
}

// Copies the lines of image n under output lines [y, y + lines), with zeros where x has no cells.
static void copy_band(const qrn_dense_feed *f, const float *x, size_t n, size_t y, size_t lines,
                      float *dst) {
    const qrn_conv_geometry *g = &f->plan->geo;
    size_t width = f->stride, cin = g->cin, before = least((size_t)g->before[2], width);
    size_t inner = least((size_t)g->in[2], width - before), after = width - before - inner;
    size_t under = lines_under(g, lines);
    for (size_t i = 0; i < under; i++, dst += width * cin) {
        int64_t at = (int64_t)(y * (size_t)g->stride[1] + i) - g->before[1];
        if (at < 0 || at >= g->in[1]) {
            memset(dst, 0, width * cin * sizeof *dst);
            continue;
        }
        const float *from = x + (n * (size_t)g->in[1] + (size_t)at) * (size_t)g->in[2] * cin;
        memset(dst, 0, before * cin * sizeof *dst);
        memcpy(dst + before * cin, from, inner * cin * sizeof *dst);
        memset(dst + (before + inner) * cin, 0, after * cin * sizeof *dst);
    }
}

static size_t feed_lines(const qrn_dense_feed *f, const float *x, size_t r, size_t end,
                         float *scratch, qrn_gemm_f32_block *b) {
    const qrn_conv_geometry *g = &f->plan->geo;
    size_t ow = (size_t)g->out[2], oh = (size_t)g->out[1], sh = (size_t)g->stride[1];
    size_t col = r % ow, y = r / ow % oh, n = r / ow / oh;
    b->lines = 1;
    b->rows = least(ow - col, end - r);
    if (b->rows == ow)
        b->lines = least(least((end - r) / ow, f->step), oh - y);
    if (f->way == QRN_FEED_BAND)
        copy_band(f, x, n, y, b->lines, scratch);
    b->a = f->way == QRN_FEED_BAND ? scratch
                                   : x + (n * (size_t)g->in[1] + y * sh) * f->stride * g->cin;
    b->a_row = (size_t)g->stride[2] * g->cin;
    b->a += col * b->a_row;
    b->a_segment = f->stride * g->cin;
    b->a_line = sh * b->a_segment;
    b->segments = (size_t)g->kernel[1];
    b->length = (size_t)g->kernel[2] * g->cin;
    return b->lines * b->rows;
}

size_t qrn_dense_feed_rows(const qrn_dense_feed *f, const float *x, size_t group, size_t r,
                           size_t end, float *scratch, qrn_gemm_f32_block *g) {
    const qrn_dense_plan *p = f->plan;
    if (f->way == QRN_FEED_WINDOWS || f->way == QRN_FEED_BAND)
        return feed_lines(f, x, r, end, scratch, g);
    g->lines = g->segments = 1;
    g->length = p->args->depth;
    g->rows = least(end - r, f->step);
    g->a = scratch;
    g->a_row = f->stride;
    if (f->way == QRN_FEED_GATHER) {
        copy_rows(f, x, group, r, g->rows, scratch);
    } else {
        g->a = x + r * p->a_row + group * p->args->depth;
        g->a_row = p->a_row;
    }
    return g->rows;
}
