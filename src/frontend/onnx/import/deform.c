// SPDX-License-Identifier: MIT
//
// Importer: deformable convolution by sampling.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <string.h>

// --- DeformConv
//
// All taps of the kernel are sampled at once: the grid of one offset group has a row of taps for
// every output row. The samples, weighted by the mask, are a plain 1x1 convolution's channels.

enum { X, FILTER, OFFSET, BIAS, MASK };

typedef struct deform {
    ox_conv c;
    uint32_t parts; // offset groups
    uint32_t taps, rows, columns;
} deform;

static qrn_status read_deform(ox_import *im, const ox_node *n, deform *d) {
    const ox_val *x = ox_input(im, n, X), *offset = ox_input(im, n, OFFSET);
    const ox_val *mask = ox_input(im, n, MASK);
    if (!x || x->rank != 4 || !offset || offset->rank != 4 || (mask && mask->rank != 4))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "images and offsets of rank 4 are needed");
    QRN_TRY(ox_conv_read(im, n, FILTER, &d->c));
    int64_t parts = ox_attr_int(n, "offset_group", 1);
    d->taps = d->c.w.kernel[0] * d->c.w.kernel[1];
    d->rows = d->c.dims[2];
    d->columns = d->c.dims[3];
    if (parts <= 0 || parts > INT32_MAX || x->dims[1] % parts)
        return ox_fail(im, n, QRN_E_PARAM, "offset_group is %lld", (long long)parts);
    d->parts = (uint32_t)parts;
    bool fits = offset->dims[0] == x->dims[0] && offset->dims[1] == 2 * d->parts * d->taps &&
                offset->dims[2] == d->rows && offset->dims[3] == d->columns;
    if (mask)
        fits &= mask->dims[1] == d->parts * d->taps && mask->dims[2] == d->rows &&
                mask->dims[3] == d->columns;
    return fits ? QRN_OK : ox_fail(im, n, QRN_E_SHAPE, "offset or mask do not fit the output");
}

// Where the taps lie without offsets: coordinate `axis` of [rows, taps, columns].
static qc_tensor *regular_grid(ox_expr *e, const deform *d, const qc_tensor *like, uint32_t axis) {
    const ox_window *w = &d->c.w;
    size_t total = (size_t)d->rows * d->taps * d->columns, at = 0;
    float *values = ox_alloc(e->im, total * sizeof *values);
    if (!values) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    for (uint32_t i = 0; i < d->rows; i++)
        for (uint32_t k = 0; k < d->taps; k++)
            for (uint32_t j = 0; j < d->columns; j++) {
                uint32_t o = axis == 0 ? i : j;
                uint32_t tap = axis == 0 ? k / w->kernel[1] : k % w->kernel[1];
                values[at++] = (float)o * (float)w->stride[axis] +
                               (float)tap * (float)w->dilation[axis] - (float)w->pad[2 * axis];
            }
    return ox_floats(e, like, 4, (const uint32_t[]){1, d->rows, d->taps, d->columns}, values);
}

// Coordinate `axis` of the samples of one offset group, in GridSample's units (-1 to 1 from edge to
// edge): [N, rows, taps, columns, 1].
static qc_tensor *coordinate(ox_expr *e, const deform *d, qc_tensor *offset, uint32_t part,
                             uint32_t axis, uint32_t size) {
    if (!offset)
        return NULL;
    uint32_t batch = offset->dims[0];
    // Channels are [group, tap, axis].
    qc_tensor *t = ox_slice(e, offset, 1, part * 2 * d->taps + axis, d->taps, 2);
    t = ox_transpose(e, t, (const uint32_t[]){0, 2, 1, 3});
    t = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, t, regular_grid(e, d, offset, axis));
    t = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, t, 2.0 / size);
    t = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, t, 1.0 / size - 1);
    return ox_reshape(e, t, 5, (const uint32_t[]){batch, d->rows, d->taps, d->columns, 1});
}

// Samples of one offset group: [N, rows, taps, columns, channels].
static qc_tensor *sampled(ox_expr *e, const deform *d, qc_tensor *x, qc_tensor *offset,
                          uint32_t part) {
    if (!x)
        return NULL;
    uint32_t batch = x->dims[0], channels = x->dims[3] / d->parts;
    if (d->parts > 1)
        x = ox_slice(e, x, 3, part * channels, channels, 1);
    qc_tensor *xy[] = {coordinate(e, d, offset, part, 1, x ? x->dims[2] : 1),
                       coordinate(e, d, offset, part, 0, x ? x->dims[1] : 1)};
    const uint32_t dims[] = {batch, d->rows * d->taps, d->columns, 2};
    qc_tensor *grid = ox_reshape(e, ox_concat(e, xy, 2, 4), 4, dims);
    qc_tensor *y =
        ox_result_like(e, x, 4, (const uint32_t[]){batch, d->rows * d->taps, d->columns, channels});
    if (!grid || !y)
        return NULL;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_GRID_SAMPLE);
    qc_in(&o, x);
    qc_in(&o, grid);
    qc_out(&o, y);
    qc_bool(&o, QNN_OP_GRID_SAMPLE_PARAM_ALIGN_CORNERS, false);
    qc_u32(&o, QNN_OP_GRID_SAMPLE_PARAM_MODE, QNN_OP_GRID_SAMPLE_MODE_BILINEAR);
    qc_u32(&o, QNN_OP_GRID_SAMPLE_PARAM_PADDING_MODE, QNN_OP_GRID_SAMPLE_PADDING_MODE_ZEROS);
    ox_end(e, &o);
    return ox_reshape(e, y, 5, (const uint32_t[]){batch, d->rows, d->taps, d->columns, channels});
}

static qc_tensor *masked(ox_expr *e, const deform *d, qc_tensor *samples, qc_tensor *mask,
                         uint32_t part) {
    if (!mask || !samples)
        return samples;
    qc_tensor *m = ox_transpose(e, ox_slice(e, mask, 1, part * d->taps, d->taps, 1),
                                (const uint32_t[]){0, 2, 1, 3});
    m = ox_reshape(e, m, 5, (const uint32_t[]){samples->dims[0], d->rows, d->taps, d->columns, 1});
    return ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, samples, m);
}

// Images [N, rows, columns, C * taps] with the channels in the order of the filter's [C, taps].
static qc_tensor *columns_of(ox_expr *e, const deform *d, qc_tensor *x) {
    qc_tensor *offset = ox_in_real(e, OFFSET, OX_ONNX), *parts[64];
    qc_tensor *mask = ox_input(e->im, e->n, MASK) ? ox_in_real(e, MASK, OX_ONNX) : NULL;
    if (!x || e->s != QRN_OK)
        return NULL;
    if (d->parts > 64) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "more than 64 offset groups");
        return NULL;
    }
    for (uint32_t i = 0; i < d->parts; i++)
        parts[i] = masked(e, d, sampled(e, d, x, offset, i), mask, i);
    qc_tensor *all = d->parts > 1 ? ox_concat(e, parts, d->parts, 4) : parts[0];
    all = ox_transpose(e, all, (const uint32_t[]){0, 1, 3, 4, 2});
    return ox_reshape(e, all, 4,
                      (const uint32_t[]){x->dims[0], d->rows, d->columns, x->dims[3] * d->taps});
}

static qrn_status import_deform_conv(ox_import *im, const ox_node *n) {
    deform d;
    QRN_TRY(read_deform(im, n, &d));
    QRN_TRY(ox_set_output(im, n, 0, ox_input(im, n, X)->type, 4, d.c.dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = columns_of(&e, &d, ox_in_real(&e, X, OX_LAST));
    const ox_val *f = ox_input(im, n, FILTER);
    // [M, C/g, kh, kw] is [M, C/g * taps]; as a filter of 1x1 [1, 1, C/g * taps, M].
    qc_tensor *filter = ox_in_real(&e, FILTER, OX_ONNX);
    const uint32_t flat[] = {f->dims[0], f->dims[1] * d.taps};
    filter = ox_transpose(&e, ox_reshape(&e, filter, 2, flat), (const uint32_t[]){1, 0});
    filter = ox_reshape(&e, filter, 4, (const uint32_t[]){1, 1, flat[1], flat[0]});
    qc_tensor *bias = ox_bias(&e, BIAS, x, filter, d.c.dims[1]);
    qc_tensor *y = ox_out_real(&e, 0, OX_LAST);
    ox_window one = {.n = 2, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    ox_convolve(&e, &one, d.c.group, x, filter, bias, y);
    return ox_end_real(&e, 0, OX_LAST, y);
}

const ox_importer ox_import_deform[] = {
    {"DeformConv", "", import_deform_conv},
    {0},
};
