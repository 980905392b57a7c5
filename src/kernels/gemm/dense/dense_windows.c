// SPDX-License-Identifier: MIT
//
// Windows as overlapping rows: geometry, and lines of the image with their padding.
#include "kernels/gemm/dense/dense_windows.h"

#include <string.h>

#define LEAST_CELLS 12 // of a line of the output: shorter ones leave tiles half empty

// Lines of the image under n lines of the output.
static size_t lines_under(const qrn_conv_geometry *g, size_t n) {
    return (n - 1) * (size_t)g->stride[1] + (size_t)((g->kernel[1] - 1) * g->dilation[1]) + 1;
}

static bool flat(const qrn_conv_geometry *g) {
    return g->kernel[0] == 1 && g->stride[0] == 1 && g->before[0] == 0 && g->in[0] == g->out[0];
}

// Do windows read cells more than once? Where they leave some out, there is less to gather.
static bool overlap(const qrn_conv_geometry *g) {
    return g->kernel[1] >= g->stride[1] && g->kernel[2] >= g->stride[2] &&
           g->kernel[1] * g->kernel[2] > 1;
}

static void make_parts(qrn_windows *w) {
    const qrn_conv_geometry *g = w->g;
    int64_t columns = g->dilation[2] == 1 ? 1 : g->kernel[2];
    for (int64_t i = 0; i < g->kernel[1]; i++)
        for (int64_t j = 0; j < columns; j++)
            w->parts[w->n_parts++] =
                (size_t)(i * g->dilation[1]) * w->line + (size_t)(j * g->dilation[2]) * w->cell;
}

qrn_windows qrn_windows_of(const qrn_dense_plan *p, const qrn_view *x) {
    const qrn_conv_geometry *g = &p->geo;
    qrn_windows w = {.g = g};
    if (p->args->rows || p->direct || g->transposed || g->group != 1 || !flat(g) || !overlap(g) ||
        qrn_view_elem(x) != 2 || g->cin % QRN_Q8_DEPTH || g->out[2] < LEAST_CELLS ||
        g->kernel[1] * g->kernel[2] > QRN_WINDOW_PARTS || p->rows == 0)
        return w;
    w.cell = g->cin * 2;
    w.line =
        (size_t)((g->out[2] - 1) * g->stride[2] + (g->kernel[2] - 1) * g->dilation[2] + 1) * w.cell;
    w.lines = (size_t)g->out[1];
    while (w.lines && lines_under(g, w.lines) * w.line > QRN_WINDOWS_BYTES)
        w.lines--;
    make_parts(&w);
    return w;
}

size_t qrn_windows_bytes(const qrn_windows *w) {
    return w->lines ? lines_under(w->g, w->lines) * w->line : 0;
}

// Cells outside the image: a multiple of 4 elements.
static void fill(uint8_t *dst, size_t bytes, const uint8_t four[8]) {
    for (size_t i = 0; i < bytes; i += 8)
        memcpy(dst + i, four, 8);
}

void qrn_windows_make(const qrn_windows *w, const qrn_planes_ops *ops, const qrn_view *x,
                      size_t first, size_t n, uint8_t *dst) {
    const qrn_conv_geometry *g = w->g;
    uint8_t flip = qrn_dtypes[x->dtype].cls == QRN_CLASS_SFIXED ? 0x80 : 0, four[8];
    uint16_t zero[4];
    for (int i = 0; i < 4; i++)
        zero[i] = (uint16_t)-x->quant->offset;
    ops->pairs(zero, 4, flip, four);
    size_t image = first / (size_t)g->out[1], width = (size_t)g->in[2];
    int64_t y = (int64_t)(first % (size_t)g->out[1]) * g->stride[1] - g->before[1];
    size_t before = (size_t)g->before[2] * w->cell;
    before = before < w->line ? before : w->line;
    size_t inside = w->line - before < width * w->cell ? w->line - before : width * w->cell;
    const char *lines = (const char *)x->data + image * (size_t)g->in[1] * width * w->cell;
    for (size_t i = 0; i < lines_under(g, n); i++, y++, dst += w->line) {
        if (y < 0 || y >= g->in[1]) {
            fill(dst, w->line, four);
            continue;
        }
        fill(dst, before, four);
        ops->pairs((const uint16_t *)(const void *)(lines + (size_t)y * width * w->cell),
                   inside / 2, flip, dst + before);
        fill(dst + before + inside, w->line - before - inside, four);
    }
}
