// SPDX-License-Identifier: MIT
//
// Importers: transposed convolution and what is made of it. Of QNN's ops only the one over three
// dimensions knows dilations, so images with a dilated filter get a depth of 1.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <string.h>

#define MAX_FILTER (1u << 24) // elements of a filter that is made here

typedef struct transposed {
    ox_window w;
    uint32_t group;
    uint32_t extra[OX_MAX_SPATIAL]; // output cells behind the last window
    uint32_t dims[OX_MAX_RANK];     // of the output, as ONNX has them
} transposed;

// Pads and extra cells of dimension i for a wanted output size: what is too much is cut from both
// ends, what is missing comes at the end.
static void fit_output(transposed *t, uint32_t i, uint64_t full, uint64_t want, bool upper) {
    uint32_t total = full > want ? (uint32_t)(full - want) : 0;
    t->w.pad[2 * i] = upper ? total / 2 : total - total / 2;
    t->w.pad[2 * i + 1] = total - t->w.pad[2 * i];
    if (want > full)
        t->extra[i] += (uint32_t)(want - full);
}

static qrn_status read_extra(ox_import *im, const ox_node *n, transposed *t) {
    int64_t list[2 * OX_MAX_SPATIAL];
    uint32_t count = ox_attr_ints(n, "output_padding", list, 2 * OX_MAX_SPATIAL);
    for (uint32_t i = 0; i < t->w.n; i++) {
        int64_t v = i < count ? list[i] : 0;
        if (v < 0 || v > INT32_MAX / 64)
            return ox_fail(im, n, QRN_E_PARAM, "attribute output_padding: value %u is %lld", i,
                           (long long)v);
        t->extra[i] = (uint32_t)v;
    }
    return QRN_OK;
}

static qrn_status output_dims(ox_import *im, const ox_node *n, const ox_val *x, transposed *t) {
    int64_t want[OX_MAX_RANK];
    uint32_t count = ox_attr_ints(n, "output_shape", want, OX_MAX_RANK);
    const char *mode = ox_attr_string(n, "auto_pad", "NOTSET");
    bool same = strncmp(mode, "SAME", 4) == 0, upper = strcmp(mode, "SAME_UPPER") == 0;
    ox_window *w = &t->w;
    for (uint32_t i = 0; i < w->n; i++) {
        uint64_t full = (uint64_t)w->stride[i] * (x->dims[2 + i] - 1) +
                        (w->kernel[i] - 1) * w->dilation[i] + 1 + t->extra[i];
        uint64_t size = (uint64_t)x->dims[2 + i] * w->stride[i];
        if (count >= w->n) // may have batch and channels before
            size = (uint64_t)want[count - w->n + i];
        if (count >= w->n || same)
            fit_output(t, i, full, size, upper);
        else
            size = full - w->pad[2 * i] - w->pad[2 * i + 1];
        if (size == 0 || size > INT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "spatial dimension %u of the output is %lld", i,
                           (long long)size);
        if (t->extra[i] && t->extra[i] >= w->stride[i])
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "%u cells behind the last window with stride %u: QNN has fewer than the "
                           "stride; add them with Pad",
                           t->extra[i], w->stride[i]);
        t->dims[2 + i] = (uint32_t)size;
    }
    return QRN_OK;
}

static qrn_status read_transposed(ox_import *im, const ox_node *n, transposed *t) {
    const ox_val *x = ox_input(im, n, 0), *f = ox_input(im, n, 1);
    if (!x || !f || f->rank != x->rank)
        return ox_fail(im, n, QRN_E_SHAPE, "input and filter of the same rank are needed");
    *t = (transposed){.group = 1};
    QRN_TRY(ox_window_read(im, n, x, f->dims + 2, &t->w));
    int64_t group = ox_attr_int(n, "group", 1);
    if (group <= 0 || group > INT32_MAX || x->dims[1] % group || f->dims[0] != x->dims[1] ||
        f->dims[1] * group > INT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE,
                       "%lld groups of %u input channels with filters [%u, %u, ...]",
                       (long long)group, x->dims[1], f->dims[0], f->dims[1]);
    t->group = (uint32_t)group;
    t->dims[0] = x->dims[0];
    t->dims[1] = f->dims[1] * t->group;
    if (strncmp(ox_attr_string(n, "auto_pad", "NOTSET"), "SAME", 4) == 0)
        memset(t->w.pad, 0, sizeof t->w.pad);
    QRN_TRY(read_extra(im, n, t));
    return output_dims(im, n, x, t);
}

// One more spatial dimension, of size 1, before the others.
static void add_dimension(transposed *t) {
    ox_window *w = &t->w;
    memmove(w->kernel + 1, w->kernel, w->n * sizeof *w->kernel);
    memmove(w->stride + 1, w->stride, w->n * sizeof *w->stride);
    memmove(w->dilation + 1, w->dilation, w->n * sizeof *w->dilation);
    memmove(w->pad + 2, w->pad, 2 * w->n * sizeof *w->pad);
    memmove(t->extra + 1, t->extra, w->n * sizeof *t->extra);
    w->kernel[0] = w->stride[0] = w->dilation[0] = 1;
    w->pad[0] = w->pad[1] = t->extra[0] = 0;
    w->n++;
}

// Channel-last x with leading spatial dimensions of 1, so that n are there.
static void spread(const qc_tensor *x, uint32_t n, uint32_t *dims) {
    uint32_t lead = n + 2 - x->rank;
    dims[0] = x->dims[0];
    for (uint32_t i = 0; i < lead; i++)
        dims[1 + i] = 1;
    for (uint32_t i = 1; i < x->rank; i++)
        dims[lead + i] = x->dims[i];
}

static void emit(ox_expr *e, const transposed *t, qc_tensor *x, qc_tensor *filter, qc_tensor *bias,
                 qc_tensor *y) {
    const ox_window *w = &t->w;
    if (e->s != QRN_OK || !x || !filter || !y)
        return;
    qc_op o;
    ox_op(e->im, &o, e->n, w->n == 3 ? QNN_OP_TRANSPOSE_CONV_3D : QNN_OP_TRANSPOSE_CONV_2D);
    qc_in(&o, x);
    qc_in(&o, filter);
    if (bias)
        qc_in(&o, bias);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_TRANSPOSE_CONV_3D_PARAM_STRIDE, w->stride, w->n);
    qc_u32s_2d(&o, QNN_OP_TRANSPOSE_CONV_3D_PARAM_PAD_AMOUNT, w->pad, w->n, 2);
    qc_u32(&o, QNN_OP_TRANSPOSE_CONV_3D_PARAM_GROUP, t->group);
    qc_u32s(&o, QNN_OP_TRANSPOSE_CONV_3D_PARAM_OUTPUT_PADDING, t->extra, w->n);
    if (w->n == 3)
        qc_u32s(&o, QNN_OP_TRANSPOSE_CONV_3D_PARAM_DILATION, w->dilation, w->n);
    ox_end(e, &o);
}

static qrn_status import_transposed(ox_import *im, const ox_node *n) {
    transposed t;
    uint32_t perm[OX_MAX_RANK], dims[OX_MAX_RANK];
    QRN_TRY(read_transposed(im, n, &t));
    uint32_t rank = ox_input(im, n, 0)->rank, channels = t.dims[1];
    QRN_TRY(ox_set_output(im, n, 0, ox_input(im, n, 0)->type, rank, t.dims));
    while (t.w.n < (t.w.dilated ? 3 : 2))
        add_dimension(&t);
    for (uint32_t i = 0; i < rank; i++) // [C, M/group, k...] as [k..., C, M/group]
        perm[i] = i + 2 < rank ? i + 2 : i + 2 - rank;
    ox_expr e = ox_begin(im, n);
    bool real = !ox_filter_fits(&e, 1, 1);
    qc_tensor *x = real ? ox_in_real(&e, 0, OX_LAST) : ox_fixed_in(&e, 0, OX_LAST);
    qc_tensor *y = real ? ox_out_real(&e, 0, OX_LAST) : ox_fixed_out(&e, 0, OX_LAST);
    qc_tensor *filter = ox_filter(&e, 1, perm, t.w.n + 2, real);
    qc_tensor *bias = ox_bias(&e, 2, x, filter, channels);
    if (e.s != QRN_OK)
        return e.s;
    spread(x, t.w.n, dims);
    x = ox_reshape(&e, x, t.w.n + 2, dims);
    spread(y, t.w.n, dims);
    qc_tensor *wide = t.w.n + 2 == y->rank ? y : ox_result_like(&e, y, t.w.n + 2, dims);
    emit(&e, &t, x, filter, bias, wide);
    ox_image_end(&e, wide, y);
    return real ? ox_end_real(&e, 0, OX_LAST, y) : ox_fixed_end(&e, 0, OX_LAST, y);
}

// --- Col2Im

// A filter that puts cell c*cells + i of a column to cell i of the window, in channel c.
static qc_tensor *one_hot_filter(ox_expr *e, const qc_tensor *x, const transposed *t,
                                 uint32_t cells) {
    uint32_t dims[OX_MAX_RANK], rows = cells * t->group;
    for (uint32_t i = 0; i < t->w.n; i++)
        dims[i] = t->w.kernel[i];
    dims[t->w.n] = rows;
    dims[t->w.n + 1] = 1;
    float *f = ox_alloc(e->im, (size_t)cells * rows * sizeof *f);
    if (!f) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    for (uint32_t i = 0; i < cells; i++)
        for (uint32_t c = 0; c < t->group; c++)
            f[(size_t)i * rows + c * cells + i] = 1;
    return ox_floats(e, x, t->w.n + 2, dims, f);
}

static qrn_status read_columns(ox_import *im, const ox_node *n, transposed *t, uint32_t *steps) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t image[OX_MAX_SPATIAL], block[OX_MAX_SPATIAL];
    uint32_t n_image, n_block;
    if (!x || x->rank != 3)
        return ox_fail(im, n, QRN_E_SHAPE, "its input must have rank 3");
    if (!ox_const_ints(im, n, 1, image, OX_MAX_SPATIAL, &n_image) ||
        !ox_const_ints(im, n, 2, block, OX_MAX_SPATIAL, &n_block) || n_image != n_block ||
        n_image < 2)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "image_shape and block_shape must be constants of 2 or 3 values");
    ox_val shape = {.type = x->type, .rank = n_image + 2};
    uint32_t kernel[OX_MAX_SPATIAL];
    uint64_t columns = 1, cells = 1;
    for (uint32_t i = 0; i < n_image; i++) {
        if (image[i] <= 0 || block[i] <= 0 || image[i] > INT32_MAX || block[i] > x->dims[1])
            return ox_fail(im, n, QRN_E_SHAPE, "image_shape or block_shape is not possible");
        t->dims[2 + i] = shape.dims[2 + i] = (uint32_t)image[i];
        kernel[i] = (uint32_t)block[i];
        cells = cells > x->dims[1] ? cells : cells * kernel[i];
    }
    QRN_TRY(ox_window_read(im, n, &shape, kernel, &t->w));
    QRN_TRY(ox_window_dims(im, n, &t->w, shape.dims + 2, steps));
    for (uint32_t i = 0; i < n_image; i++) {
        // Cells of the image that no window reaches.
        uint64_t full =
            (uint64_t)t->w.stride[i] * (steps[i] - 1) + (t->w.kernel[i] - 1) * t->w.dilation[i] + 1;
        t->extra[i] = (uint32_t)((uint64_t)image[i] + t->w.pad[2 * i] + t->w.pad[2 * i + 1] - full);
        columns *= steps[i];
    }
    if (x->dims[1] % cells || columns != x->dims[2])
        return ox_fail(im, n, QRN_E_SHAPE, "columns [%u, %u] do not fit image and block",
                       x->dims[1], x->dims[2]);
    t->group = (uint32_t)(x->dims[1] / cells);
    t->dims[0] = x->dims[0];
    t->dims[1] = t->group;
    return QRN_OK;
}

static void begin_columns(ox_expr *e, qc_op *o, const transposed *t, const qc_tensor *x,
                          const qc_tensor *y) {
    ox_op(e->im, o, e->n, QNN_OP_COL2_IM);
    qc_in(o, x);
    qc_out(o, y);
    qc_u32s(o, QNN_OP_COL2_IM_PARAM_KERNEL_SIZE, t->w.kernel, 2);
    qc_u32s(o, QNN_OP_COL2_IM_PARAM_STRIDE, t->w.stride, 2);
    qc_u32s_2d(o, QNN_OP_COL2_IM_PARAM_PAD_AMOUNT, t->w.pad, 2, 2);
    qc_u32s(o, QNN_OP_COL2_IM_PARAM_DILATION, t->w.dilation, 2);
}

// Makes t a tensor between ops with another shape.
static void reshaped(qc_tensor *t, uint32_t rank, const uint32_t *dims) {
    t->t.v1.type = QNN_TENSOR_TYPE_NATIVE;
    t->rank = t->t.v1.rank = rank;
    memcpy(t->dims, dims, rank * sizeof *dims);
    t->t.v1.dimensions = t->dims;
}

// QNN's own op, where the backend has it. Channels are images there, so that each one lies as ONNX
// has it.
static bool native_columns(ox_expr *e, const transposed *t, qrn_status *s) {
    const uint32_t *v = ox_input(e->im, e->n, 0)->dims, images = v[0] * t->group;
    const uint32_t columns[] = {images, v[1] / t->group, v[2]};
    const uint32_t planes[] = {images, t->dims[2], t->dims[3], 1};
    qc_tensor *x = t->w.n == 2 ? ox_in_real(e, 0, OX_ONNX) : NULL, from, to;
    qc_op o;
    if (!x)
        return false;
    from = to = *x;
    reshaped(&from, 3, columns);
    reshaped(&to, 4, planes);
    begin_columns(e, &o, t, &from, &to);
    if (!ox_taken(e, &o))
        return false;
    qc_tensor *y = ox_out_real(e, 0, OX_ONNX);
    x = ox_reshape(e, x, 3, columns);
    qc_tensor *made = x ? ox_result_like(e, x, 4, planes) : NULL;
    if (made) {
        begin_columns(e, &o, t, x, made);
        ox_end(e, &o);
        ox_into(e, y);
        ox_reshape(e, ox_made(e, made), 4, t->dims);
    }
    *s = ox_end_real(e, 0, OX_ONNX, y);
    return true;
}

// Else a transposed convolution whose filter only places cells.
static qrn_status import_col2im(ox_import *im, const ox_node *n) {
    transposed t = {0};
    uint32_t steps[OX_MAX_SPATIAL], dims[OX_MAX_RANK];
    QRN_TRY(read_columns(im, n, &t, steps));
    const ox_val *v = ox_input(im, n, 0);
    uint32_t rank = t.w.n + 2, cells = v->dims[1] / t.group;
    QRN_TRY(ox_set_output(im, n, 0, v->type, rank, t.dims));
    ox_expr e = ox_begin(im, n);
    qrn_status s;
    if (native_columns(&e, &t, &s))
        return s;
    if ((uint64_t)cells * v->dims[1] > MAX_FILTER)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "blocks of %u cells in %u channels are too large",
                       cells, v->dims[1]);
    qc_tensor *x = ox_transpose(&e, ox_in_real(&e, 0, OX_ONNX), (const uint32_t[]){0, 2, 1});
    qc_tensor *y = ox_out_real(&e, 0, OX_LAST);
    dims[0] = v->dims[0];
    memcpy(dims + 1, steps, t.w.n * sizeof *steps);
    dims[rank - 1] = v->dims[1];
    x = ox_reshape(&e, x, rank, dims);
    if (t.w.dilated && t.w.n == 2)
        add_dimension(&t);
    qc_tensor *filter = one_hot_filter(&e, x, &t, cells);
    if (e.s != QRN_OK)
        return e.s;
    spread(x, t.w.n, dims);
    x = ox_reshape(&e, x, t.w.n + 2, dims);
    spread(y, t.w.n, dims);
    qc_tensor *wide = t.w.n + 2 == y->rank ? y : ox_result_like(&e, y, t.w.n + 2, dims);
    emit(&e, &t, x, filter, NULL, wide);
    ox_image_end(&e, wide, y);
    return ox_end_real(&e, 0, OX_LAST, y);
}

const ox_importer ox_import_conv_transpose[] = {
    {"ConvTranspose", "", import_transposed},
    {"Col2Im", "", import_col2im},
    {0},
};
