// SPDX-License-Identifier: MIT
//
// Importers: pooling. Images are taken and made channel last. Windows that QNN's pools do not have
// (dilated ones, other powers than 2) are summed by slices.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <string.h>

qrn_status ox_pool_read(ox_import *im, const ox_node *n, ox_pool *p) {
    const ox_val *x = ox_input(im, n, 0);
    if (!x)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    QRN_TRY(ox_window_read(im, n, x, NULL, &p->w));
    p->dims[0] = x->dims[0];
    p->dims[1] = x->dims[1];
    QRN_TRY(ox_window_dims(im, n, &p->w, x->dims + 2, p->dims + 2));
    p->out[0] = 1;
    memcpy(p->out + (p->w.n == 1), p->dims + 2, p->w.n * sizeof *p->out);
    ox_window_widen(&p->w);
    return ox_set_output(im, n, 0, x->type, x->rank, p->dims);
}

static void emit_pool(ox_expr *e, const char *op2, const char *op3, const ox_window *w,
                      bool count_pads, const qc_tensor *x, const qc_tensor *y) {
    if (e->s != QRN_OK || !x || !y)
        return;
    qc_op o;
    ox_op(e->im, &o, e->n, w->n == 3 ? op3 : op2);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_POOL_AVG_2D_PARAM_FILTER_SIZE, w->kernel, w->n);
    qc_u32s(&o, QNN_OP_POOL_AVG_2D_PARAM_STRIDE, w->stride, w->n);
    qc_u32s_2d(&o, QNN_OP_POOL_AVG_2D_PARAM_PAD_AMOUNT, w->pad, w->n, 2);
    if (count_pads)
        qc_bool(&o, QNN_OP_POOL_AVG_2D_PARAM_COUNT_PAD_FOR_EDGES, true);
    if (w->ceil)
        qc_u32(&o, QNN_OP_POOL_AVG_2D_PARAM_ROUNDING_MODE, QNN_OP_POOL_AVG_2D_ROUNDING_MODE_CEIL);
    ox_end(e, &o);
}

// --- MaxPool

static bool wants(const ox_node *n, uint32_t i) { return i < n->n_out && n->out[i][0]; }

// QNN's op over three dimensions supports f32 and u8 alone; maxima of slices have every type.
static bool supports(const ox_pool *p, const qc_tensor *x) {
    return p->w.n == 2 || p->w.dilated || ox_type_of(x) == QNN_DATATYPE_FLOAT_32 ||
           ox_type_of(x) == QNN_DATATYPE_UFIXED_POINT_8;
}

static void emit_max(ox_expr *e, const ox_pool *p, qc_tensor *x, qc_tensor *y) {
    if (!x || !y)
        return;
    if (!p->w.dilated) {
        emit_pool(e, QNN_OP_POOL_MAX_2D, QNN_OP_POOL_MAX_3D, &p->w, false, x, y);
        return;
    }
    qc_tensor *max = ox_taps(e, QNN_OP_ELEMENT_WISE_MAXIMUM, &p->w, x, p->out);
    ox_into(e, y);
    ox_reshape(e, max, y->rank, y->dims);
}

static qrn_status import_max_pool(ox_import *im, const ox_node *n) {
    ox_pool p;
    QRN_TRY(ox_pool_read(im, n, &p));
    if (wants(n, 1))
        return ox_pool_indices(im, n, &p);
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_image_in(&e, ox_fixed_in(&e, 0, OX_LAST));
    qc_tensor *y = ox_fixed_out(&e, 0, OX_LAST), *image = ox_image_out(&e, y);
    if (e.s != QRN_OK)
        return e.s;
    if (supports(&p, x)) {
        emit_max(&e, &p, x, image);
    } else {
        qc_tensor *real = ox_result_typed(&e, QNN_DATATYPE_FLOAT_32, image->rank, image->dims);
        emit_max(&e, &p, ox_convert(&e, x, real), real);
        ox_into(&e, image);
        ox_convert(&e, real, image);
    }
    ox_image_end(&e, image, y);
    return ox_fixed_end(&e, 0, OX_LAST, y);
}

// --- AveragePool

// Cells that count in window o of dimension i: inside the input, or inside the padded input.
static uint32_t counted(const ox_window *w, uint32_t i, uint32_t in, uint32_t o, bool pads) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < w->kernel[i]; k++) {
        uint64_t at = (uint64_t)o * w->stride[i] + (uint64_t)k * w->dilation[i];
        uint64_t low = pads ? 0 : w->pad[2 * i];
        uint64_t high = (uint64_t)w->pad[2 * i] + in + (pads ? w->pad[2 * i + 1] : 0);
        count += at >= low && at < high;
    }
    return count;
}

// 1 / (number of cells) for every window: [1, out..., 1].
static qc_tensor *reciprocals(ox_expr *e, const ox_pool *p, const qc_tensor *x, bool pads) {
    uint32_t dims[OX_MAX_RANK] = {1}, rank = p->w.n + 2, index[OX_MAX_SPATIAL] = {0};
    size_t total = 1;
    for (uint32_t i = 0; i < p->w.n; i++)
        total *= dims[1 + i] = p->out[i];
    dims[rank - 1] = 1;
    float *values = ox_alloc(e->im, total * sizeof *values);
    if (!values) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    for (size_t at = 0; at < total; at++) {
        double count = 1;
        for (uint32_t i = 0; i < p->w.n; i++)
            count *= counted(&p->w, i, x->dims[1 + i], index[i], pads);
        values[at] = count > 0 ? (float)(1 / count) : 0;
        for (uint32_t i = p->w.n; i-- > 0 && ++index[i] == p->out[i];)
            index[i] = 0;
    }
    return ox_floats(e, x, rank, dims, values);
}

static qrn_status import_average_pool(ox_import *im, const ox_node *n) {
    ox_pool p;
    QRN_TRY(ox_pool_read(im, n, &p));
    bool pads = ox_attr_int(n, "count_include_pad", 0) != 0;
    ox_expr e = ox_begin(im, n);
    bool real = p.w.dilated;
    qc_tensor *x = ox_image_in(&e, real ? ox_in_real(&e, 0, OX_LAST) : ox_fixed_in(&e, 0, OX_LAST));
    qc_tensor *y = real ? ox_out_real(&e, 0, OX_LAST) : ox_fixed_out(&e, 0, OX_LAST);
    qc_tensor *image = ox_image_out(&e, y);
    if (!real) {
        emit_pool(&e, QNN_OP_POOL_AVG_2D, QNN_OP_POOL_AVG_3D, &p.w, pads, x, image);
    } else if (x) {
        qc_tensor *sum = ox_taps(&e, QNN_OP_ELEMENT_WISE_ADD, &p.w, x, p.out);
        qc_tensor *scale = reciprocals(&e, &p, x, pads);
        ox_into(&e, image);
        ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, sum, scale);
    }
    ox_image_end(&e, image, y);
    return real ? ox_end_real(&e, 0, OX_LAST, y) : ox_fixed_end(&e, 0, OX_LAST, y);
}

// --- LpPool

// |x| ^ p
static qc_tensor *power(ox_expr *e, qc_tensor *x, double p) {
    if (p == 2)
        return ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, x);
    x = ox_unary(e, QNN_OP_ELEMENT_WISE_ABS, x);
    return p == 1 ? x : ox_with(e, QNN_OP_ELEMENT_WISE_POWER, x, p);
}

static qc_tensor *root(ox_expr *e, qc_tensor *x, double p) {
    if (p == 2)
        return ox_unary(e, QNN_OP_ELEMENT_WISE_SQUARE_ROOT, x);
    if (p != 1)
        return ox_with(e, QNN_OP_ELEMENT_WISE_POWER, x, 1 / p);
    return x && e->to ? ox_reshape(e, x, x->rank, x->dims) : x;
}

// An integer, in opset 1 a float.
static qrn_status read_p(ox_import *im, const ox_node *n, double *p) {
    *p = (double)ox_attr_float(n, "p", (float)ox_attr_int(n, "p", 2));
    return *p > 0 ? QRN_OK : ox_fail(im, n, QRN_E_PARAM, "attribute p is %g", *p);
}

static qrn_status import_lp_pool(ox_import *im, const ox_node *n) {
    ox_pool p;
    double power_of;
    QRN_TRY(read_p(im, n, &power_of));
    QRN_TRY(ox_pool_read(im, n, &p));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_image_in(&e, ox_in_real(&e, 0, OX_LAST));
    qc_tensor *y = ox_out_real(&e, 0, OX_LAST), *image = ox_image_out(&e, y);
    if (power_of == 2 && p.w.n == 2 && !p.w.dilated && !p.w.ceil) {
        emit_pool(&e, QNN_OP_L2_POOL_2D, NULL, &p.w, false, x, image);
    } else {
        qc_tensor *sum = ox_taps(&e, QNN_OP_ELEMENT_WISE_ADD, &p.w, power(&e, x, power_of), p.out);
        ox_into(&e, image);
        root(&e, sum, power_of);
    }
    ox_image_end(&e, image, y);
    return ox_end_real(&e, 0, OX_LAST, y);
}

// --- global pools

// All spatial dimensions at once; one of rank 2 or above 5 is reduced instead.
static qrn_status read_global(ox_import *im, const ox_node *n, ox_pool *p) {
    const ox_val *x = ox_input(im, n, 0);
    if (!x || x->rank < 3)
        return ox_fail(im, n, QRN_E_SHAPE, "its input must have rank 3 or more");
    *p = (ox_pool){.w.n = x->rank - 2};
    for (uint32_t i = 0; i < x->rank; i++)
        p->dims[i] = i < 2 ? x->dims[i] : 1;
    for (uint32_t i = 0; i < p->w.n && i < OX_MAX_SPATIAL; i++) {
        p->w.kernel[i] = p->w.stride[i] = x->dims[2 + i];
        p->w.dilation[i] = p->out[i] = 1;
    }
    if (p->w.n <= OX_MAX_SPATIAL)
        ox_window_widen(&p->w);
    p->w.stride[0] = p->w.kernel[0];
    return ox_set_output(im, n, 0, x->type, x->rank, p->dims);
}

static uint32_t spatial_axes(uint32_t rank, uint32_t *axes) {
    for (uint32_t i = 0; i + 2 < rank; i++)
        axes[i] = 1 + i; // channel last
    return rank - 2;
}

// Channels come first: each has its numbers side by side, and no Transpose is needed.
static qrn_status reduce_planes(ox_expr *e, bool max) {
    uint32_t axes[OX_MAX_RANK], count = 0;
    qc_tensor *x = ox_in_real(e, 0, OX_ONNX), *y = ox_out_real(e, 0, OX_ONNX);
    for (uint32_t i = 2; x && i < x->rank; i++)
        axes[count++] = i;
    ox_into(e, y);
    ox_reduce(e, max ? QNN_OP_REDUCE_MAX : QNN_OP_REDUCE_MEAN, x, axes, count, true);
    return ox_end_real(e, 0, OX_ONNX, y);
}

static qrn_status import_global_pool(ox_import *im, const ox_node *n) {
    ox_pool p;
    uint32_t axes[OX_MAX_RANK];
    bool max = strcmp(n->op, "GlobalMaxPool") == 0;
    QRN_TRY(read_global(im, n, &p));
    ox_expr e = ox_begin(im, n);
    if (!ox_is_quantized(im, n) && ox_layout_of(im, n) == OX_ONNX)
        return reduce_planes(&e, max);
    qc_tensor *x = ox_fixed_in(&e, 0, OX_LAST), *y = ox_fixed_out(&e, 0, OX_LAST);
    if (e.s != QRN_OK)
        return e.s;
    if (p.w.n > OX_MAX_SPATIAL || (max && !supports(&p, x))) {
        ox_into(&e, y);
        ox_reduce(&e, max ? QNN_OP_REDUCE_MAX : QNN_OP_REDUCE_MEAN, x, axes,
                  spatial_axes(x->rank, axes), true);
    } else {
        qc_tensor *image = ox_image_out(&e, y);
        emit_pool(&e, max ? QNN_OP_POOL_MAX_2D : QNN_OP_POOL_AVG_2D,
                  max ? QNN_OP_POOL_MAX_3D : QNN_OP_POOL_AVG_3D, &p.w, false, ox_image_in(&e, x),
                  image);
        ox_image_end(&e, image, y);
    }
    return ox_fixed_end(&e, 0, OX_LAST, y);
}

static qrn_status import_global_lp_pool(ox_import *im, const ox_node *n) {
    ox_pool p;
    double power_of;
    uint32_t axes[OX_MAX_RANK];
    QRN_TRY(read_p(im, n, &power_of));
    QRN_TRY(read_global(im, n, &p));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = power(&e, ox_in_real(&e, 0, OX_LAST), power_of);
    qc_tensor *y = ox_out_real(&e, 0, OX_LAST);
    if (e.s != QRN_OK)
        return e.s;
    x = ox_reduce(&e, QNN_OP_REDUCE_SUM, x, axes, spatial_axes(x->rank, axes), true);
    ox_into(&e, y);
    root(&e, x, power_of);
    return ox_end_real(&e, 0, OX_LAST, y);
}

const ox_importer ox_import_pool[] = {
    {"MaxPool", "", import_max_pool},
    {"AveragePool", "", import_average_pool},
    {"LpPool", "", import_lp_pool},
    {"GlobalAveragePool", "", import_global_pool},
    {"GlobalMaxPool", "", import_global_pool},
    {"GlobalLpPool", "", import_global_lp_pool},
    {0},
};
