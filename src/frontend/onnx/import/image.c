// SPDX-License-Identifier: MIT
//
// Importers: sampling images on grids. Grids have the same layout in ONNX and QNN, images are taken
// channel last.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

// --- GridSample

typedef struct grid_mode {
    uint32_t mode; // of the QNN op
    bool cubic;    // which it lacks
    uint32_t padding;
    bool align;
} grid_mode;

static qrn_status read_grid_mode(ox_import *im, const ox_node *n, grid_mode *g) {
    const char *mode = ox_attr_string(n, "mode", "linear");
    const char *padding = ox_attr_string(n, "padding_mode", "zeros");
    g->align = ox_attr_int(n, "align_corners", 0) != 0;
    g->cubic = strcmp(mode, "bicubic") == 0 || strcmp(mode, "cubic") == 0;
    bool nearest = strcmp(mode, "nearest") == 0;
    if (!g->cubic && !nearest && strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "mode '%s' is not known", mode);
    g->mode =
        nearest || g->cubic ? QNN_OP_GRID_SAMPLE_MODE_NEAREST : QNN_OP_GRID_SAMPLE_MODE_BILINEAR;
    if (strcmp(padding, "border") == 0)
        g->padding = QNN_OP_GRID_SAMPLE_PADDING_MODE_BORDER;
    else if (strcmp(padding, "reflection") == 0)
        g->padding = QNN_OP_GRID_SAMPLE_PADDING_MODE_REFLECTION;
    else if (strcmp(padding, "zeros") == 0)
        g->padding = QNN_OP_GRID_SAMPLE_PADDING_MODE_ZEROS;
    else
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "padding_mode '%s' is not known", padding);
    return QRN_OK;
}

// y: image [N, ..., C] at the points of grid [N, ..., spatial].
static qc_tensor *sample(ox_expr *e, const grid_mode *g, qc_tensor *x, qc_tensor *grid) {
    uint32_t dims[OX_MAX_RANK];
    if (!x || !grid)
        return NULL;
    memcpy(dims, grid->dims, sizeof dims);
    dims[x->rank - 1] = x->dims[x->rank - 1];
    qc_tensor *y = ox_result_like(e, x, x->rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_GRID_SAMPLE);
    qc_in(&o, x);
    qc_in(&o, grid);
    qc_out(&o, y);
    qc_bool(&o, QNN_OP_GRID_SAMPLE_PARAM_ALIGN_CORNERS, g->align);
    qc_u32(&o, QNN_OP_GRID_SAMPLE_PARAM_MODE, g->mode);
    qc_u32(&o, QNN_OP_GRID_SAMPLE_PARAM_PADDING_MODE, g->padding);
    return ox_ended(e, &o, y);
}

#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define DIV QNN_OP_ELEMENT_WISE_DIVIDE

// One constant for each coordinate x, y, ...: dimensions of the image in reverse order.
static qc_tensor *per_axis(ox_expr *e, const qc_tensor *x, double scale, double shift) {
    float v[3];
    uint32_t n = x->rank - 2;
    for (uint32_t i = 0; i < n; i++)
        v[i] = (float)(scale * x->dims[x->rank - 2 - i] + shift);
    return ox_floats(e, x, 1, &n, v);
}

// Positions outside of the image are reflected before they are taken apart. Border pixels and zeros
// come with the positions around, as in torch and ONNX Runtime.
static qc_tensor *reflect(ox_expr *e, const grid_mode *g, const qc_tensor *x, qc_tensor *p) {
    double low = g->align ? 0 : -0.5;
    if (g->padding != QNN_OP_GRID_SAMPLE_PADDING_MODE_REFLECTION)
        return p;
    // A wave of twice the width.
    qc_tensor *width = per_axis(e, x, 1, g->align ? -1 : 0);
    qc_tensor *wave = per_axis(e, x, 2, g->align ? -2 : 0);
    qc_tensor *d = ox_with(e, SUB, p, low);
    qc_tensor *turns = ox_unary(e, QNN_OP_ELEMENT_WISE_FLOOR, ox_binary(e, DIV, d, wave));
    d = ox_binary(e, SUB, d, ox_binary(e, MUL, turns, wave));
    qc_tensor *back = ox_binary(e, SUB, wave, d);
    d = ox_select(e, ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, d, width), back, d);
    return ox_with(e, ADD, d, low);
}

// Cubic interpolation is a sum over whole positions: 4 in each dimension, each read by the op in
// mode NEAREST, which also applies the padding there.
typedef struct cubic {
    grid_mode g;
    qc_tensor *x;
    qc_tensor *base;          // [N, ..., spatial]: the second of the 4 positions, from -1 to 1
    qc_tensor *weights[4][3]; // [N, ..., 1] for each position and coordinate
    double step[3];           // one pixel
} cubic;

// ((a t + b) t + c) t + d.
static qc_tensor *polynomial(ox_expr *e, qc_tensor *t, double a, double b, double c, double d) {
    qc_tensor *y = ox_with(e, ADD, ox_with(e, MUL, t, a), b);
    y = ox_with(e, ADD, ox_binary(e, MUL, y, t), c);
    return ox_with(e, ADD, ox_binary(e, MUL, y, t), d);
}

static void begin_cubic(ox_expr *e, cubic *c, qc_tensor *grid) {
    const double k = -0.75;
    const qc_tensor *x = c->x;
    uint32_t spatial = x->rank - 2;
    bool align = c->g.align;
    qc_tensor *p =
        ox_binary(e, MUL, ox_with(e, ADD, grid, 1), per_axis(e, x, 0.5, align ? -0.5 : 0));
    if (!align)
        p = ox_with(e, SUB, p, 0.5);
    p = reflect(e, &c->g, x, p);
    qc_tensor *cell = ox_unary(e, QNN_OP_ELEMENT_WISE_FLOOR, p);
    qc_tensor *t = ox_binary(e, SUB, p, cell);
    qc_tensor *w[] = {polynomial(e, t, k, -2 * k, k, 0), polynomial(e, t, k + 2, -k - 3, 0, 1),
                      polynomial(e, t, -k - 2, 2 * k + 3, -k, 0), polynomial(e, t, -k, k, 0, 0)};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t d = 0; d < spatial; d++)
            c->weights[i][d] = ox_slice(e, w[i], x->rank - 1, d, 1, 1);
    // Zeros and borders are the same either way; without corners a single pixel is no exception.
    if (c->g.padding != QNN_OP_GRID_SAMPLE_PADDING_MODE_REFLECTION)
        align = c->g.align = false;
    float shift[3], scale[3];
    for (uint32_t d = 0; d < spatial; d++) {
        c->step[d] = 2.0 / (x->dims[x->rank - 2 - d] - (align ? 1.0 : 0.0));
        scale[d] = (float)c->step[d];
        shift[d] = align ? -1 : (float)(c->step[d] / 2 - 1);
    }
    c->base = ox_binary(e, MUL, cell, ox_floats(e, x, 1, &spatial, scale));
    c->base = ox_binary(e, ADD, c->base, ox_floats(e, x, 1, &spatial, shift));
}

// The weighted sum over the positions of coordinates `axis` and up; those below are at `at`.
static qc_tensor *cubic_sum(ox_expr *e, const cubic *c, uint32_t axis, float *at) {
    uint32_t spatial = c->x->rank - 2;
    if (axis == spatial)
        return sample(e, &c->g, c->x,
                      ox_binary(e, ADD, c->base, ox_floats(e, c->x, 1, &spatial, at)));
    qc_tensor *sum = NULL;
    for (uint32_t i = 0; i < 4 && e->s == QRN_OK; i++) {
        at[axis] = (float)(((double)i - 1) * c->step[axis]);
        qc_tensor *part = ox_binary(e, MUL, cubic_sum(e, c, axis + 1, at), c->weights[i][axis]);
        sum = i ? ox_binary(e, ADD, sum, part) : part;
    }
    return sum;
}

// Does the QNN op take the tensors as they are?
static bool samples_directly(const qc_tensor *x, const qc_tensor *grid, const grid_mode *g) {
    Qnn_DataType_t a = ox_type_of(x), b = ox_type_of(grid);
    bool fixed = a == QNN_DATATYPE_UFIXED_POINT_8 || a == QNN_DATATYPE_UFIXED_POINT_16;
    bool fixed_grid = b == QNN_DATATYPE_UFIXED_POINT_8 || b == QNN_DATATYPE_UFIXED_POINT_16;
    return !g->cubic && ((fixed && fixed_grid) ||
                         (a == b && (a == QNN_DATATYPE_FLOAT_32 || a == QNN_DATATYPE_FLOAT_16)));
}

static qrn_status check_grid(ox_import *im, const ox_node *n, const ox_val *x, const ox_val *grid,
                             const grid_mode *g) {
    if (!x || !grid || x->rank < 4 || x->rank > 5 || grid->rank != x->rank ||
        grid->dims[x->rank - 1] != x->rank - 2 || grid->dims[0] != x->dims[0])
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "needs an image of rank 4 or 5 and a grid of the same rank");
    if (ox_type_bits(x->type) > 16 && x->type != OX_F32)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "images of type %s cannot be sampled exactly",
                       ox_type_name(x->type));
    for (uint32_t d = 2; d < x->rank; d++)
        if (g->cubic && g->align && x->dims[d] == 1 &&
            g->padding == QNN_OP_GRID_SAMPLE_PADDING_MODE_REFLECTION)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "cubic reflection of a single pixel");
    return QRN_OK;
}

static qrn_status import_grid_sample(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *grid = ox_input(im, n, 1);
    cubic c;
    uint32_t dims[OX_MAX_RANK];
    qc_tensor *points, *out;
    QRN_TRY(read_grid_mode(im, n, &c.g));
    QRN_TRY(check_grid(im, n, x, grid, &c.g));
    memcpy(dims, grid->dims, sizeof dims);
    for (uint32_t d = x->rank - 1; d > 1; d--)
        dims[d] = grid->dims[d - 1];
    dims[1] = x->dims[1];
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, dims));
    QRN_TRY(ox_in(im, n, 0, OX_LAST, &c.x));
    QRN_TRY(ox_in(im, n, 1, OX_ONNX, &points));
    QRN_TRY(ox_out(im, n, 0, OX_LAST, &out));
    ox_expr e = ox_begin(im, n);
    bool direct = samples_directly(c.x, points, &c.g) && ox_type_of(out) == ox_type_of(c.x);
    if (direct) {
        ox_into(&e, out);
        sample(&e, &c.g, c.x, points);
        return ox_done(&e);
    }
    QRN_TRY(ox_in_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &c.x));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_FLOAT_32, &points));
    qc_tensor *y;
    if (c.g.cubic) {
        float at[3];
        begin_cubic(&e, &c, points);
        y = cubic_sum(&e, &c, 0, at);
    } else {
        y = sample(&e, &c.g, c.x, points);
    }
    QRN_TRY(ox_done(&e));
    if (ox_type_of(out) != QNN_DATATYPE_FLOAT_32)
        return ox_out_end(im, n, 0, OX_LAST, y);
    return ox_emit_reshape(im, n, y, out);
}

// --- AffineGrid

// The points of a regular grid with a 1 behind each: [points, spatial + 1].
static float *regular_grid(ox_import *im, const uint32_t *size, uint32_t spatial, bool align,
                           uint32_t points) {
    float *grid = ox_alloc(im, (size_t)points * (spatial + 1) * sizeof *grid);
    for (uint32_t i = 0; grid && i < points; i++) {
        uint32_t rest = i;
        for (uint32_t d = spatial; d-- > 0; rest /= size[d]) {
            double at = rest % size[d], n = size[d];
            double v = align ? (n > 1 ? at * 2 / (n - 1) - 1 : -1) : (2 * at + 1) / n - 1;
            grid[(size_t)i * (spatial + 1) + (spatial - 1 - d)] = (float)v;
        }
        grid[(size_t)i * (spatial + 1) + spatial] = 1;
    }
    return grid;
}

static qrn_status import_affine_grid(ox_import *im, const ox_node *n) {
    const ox_val *theta = ox_input(im, n, 0);
    int64_t size[5];
    uint32_t count, dims[5], sizes[3], points = 1;
    QRN_TRY(ox_ints_of(im, n, "size", 1, size, 5, &count));
    uint32_t spatial = count - 2;
    if (!theta || count < 4 || theta->rank != 3 || theta->dims[1] != spatial ||
        theta->dims[2] != spatial + 1 || size[0] != theta->dims[0])
        return ox_fail(im, n, QRN_E_SHAPE, "theta and size do not fit");
    dims[0] = theta->dims[0];
    for (uint32_t d = 0; d < spatial; d++) {
        if (size[d + 2] <= 0 || size[d + 2] > 65536 || points > UINT32_MAX / 65536)
            return ox_fail(im, n, QRN_E_SHAPE, "size %lld", (long long)size[d + 2]);
        dims[d + 1] = sizes[d] = (uint32_t)size[d + 2];
        points *= sizes[d];
    }
    dims[spatial + 1] = spatial;
    QRN_TRY(ox_set_output(im, n, 0, theta->type, spatial + 2, dims));
    bool align = ox_attr_int(n, "align_corners", 0) != 0;
    const float *grid = regular_grid(im, sizes, spatial, align, points);
    if (!grid)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    qc_tensor *t, *out;
    uint32_t flat[] = {1, points, spatial + 1};
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &t));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &out));
    ox_expr e = ox_begin(im, n);
    qc_tensor *y = ox_matmul(&e, ox_floats(&e, t, 3, flat, grid), t, false, true);
    ox_into(&e, out);
    ox_reshape(&e, y, spatial + 2, dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, out);
}

static qrn_status import_image_decoder(ox_import *im, const ox_node *n) {
    return ox_fail(im, n, QRN_E_UNSUPPORTED,
                   "images are decoded before the graph; give it pixels instead");
}

const ox_importer ox_import_image[] = {
    {"GridSample", "", import_grid_sample},
    {"AffineGrid", "", import_affine_grid},
    {"ImageDecoder", "", import_image_decoder},
    {0},
};
