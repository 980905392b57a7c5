// SPDX-License-Identifier: MIT
//
// Importers: Resize and Upsample. What the QNN ops compute (spatial dimensions, scale equal to the
// ratio of the sizes, four coordinate modes) becomes one op. Everything else is exact too: a resize
// is separable and linear with constant weights, so each axis is a Gather (nearest) or a matmul
// with a constant matrix.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/resample.h"
#include "frontend/onnx/import/table.h"

#include <math.h>
#include <string.h>

#define MAX_MATRIX ((size_t)64 << 20) // elements

typedef struct resize {
    ox_resample how;
    float outside; // value outside the image, of OX_CROP
    ox_span span[OX_MAX_RANK];
    uint32_t dims[OX_MAX_RANK];
    bool whole; // every scale is the ratio of the sizes
} resize;

// --- reading

typedef struct word {
    const char *text;
    int value;
} word;

static qrn_status read_word(ox_import *im, const ox_node *n, const char *attr, const char *fallback,
                            const word *words, uint32_t count, int *out) {
    const char *s = ox_attr_string(n, attr, fallback);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(words[i].text, s) == 0) {
            *out = words[i].value;
            return QRN_OK;
        }
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "%s '%s' is not known", attr, s);
}
#define READ_WORD(im, n, attr, fallback, words, out)                                               \
    read_word(im, n, attr, fallback, words, sizeof words / sizeof words[0], out)

static const word filters[] = {
    {"nearest", OX_NEAREST}, {"linear", OX_LINEAR}, {"bilinear", OX_LINEAR}, {"cubic", OX_CUBIC}};

static qrn_status read_modes(ox_import *im, const ox_node *n, resize *r) {
    static const word places[] = {{"half_pixel", OX_HALF_PIXEL},
                                  {"half_pixel_symmetric", OX_HALF_PIXEL_SYMMETRIC},
                                  {"pytorch_half_pixel", OX_PYTORCH_HALF_PIXEL},
                                  {"align_corners", OX_ALIGN_CORNERS},
                                  {"asymmetric", OX_ASYMMETRIC},
                                  {"tf_half_pixel_for_nn", OX_HALF_PIXEL_NN},
                                  {"tf_crop_and_resize", OX_CROP}};
    static const word roundings[] = {{"round_prefer_floor", OX_ROUND_PREFER_FLOOR},
                                     {"round_prefer_ceil", OX_ROUND_PREFER_CEIL},
                                     {"floor", OX_ROUND_FLOOR},
                                     {"ceil", OX_ROUND_CEIL}};
    int filter = OX_NEAREST, place = OX_ASYMMETRIC, nearest = OX_ROUND_SIMPLE;
    QRN_TRY(READ_WORD(im, n, "mode", "nearest", filters, &filter));
    if (ox_version(im, n) >= 11 && strcmp(n->op, "Resize") == 0) {
        QRN_TRY(READ_WORD(im, n, "coordinate_transformation_mode", "half_pixel", places, &place));
        QRN_TRY(READ_WORD(im, n, "nearest_mode", "round_prefer_floor", roundings, &nearest));
    }
    r->how = (ox_resample){.filter = (ox_filter_kind)filter,
                           .place = (ox_place)place,
                           .nearest = (ox_nearest)nearest,
                           .cubic_a = (double)ox_attr_float(n, "cubic_coeff_a", -0.75f),
                           .antialias = filter != OX_NEAREST && ox_attr_int(n, "antialias", 0),
                           .exclude_outside = ox_attr_int(n, "exclude_outside", 0) != 0};
    r->outside = ox_attr_float(n, "extrapolation_value", 0);
    return QRN_OK;
}

// Floats of input i: *count 0 when it is absent or empty.
static qrn_status read_floats(ox_import *im, const ox_node *n, uint32_t i, const char *what,
                              float *dst, uint32_t max, uint32_t *count) {
    const ox_val *v = ox_input(im, n, i);
    *count = 0;
    if (!v || (v->rank == 1 && v->dims[0] == 0))
        return QRN_OK;
    if (!v->data)
        return ox_needs_constant(im, n, i, what);
    if (v->type != OX_F32 || v->rank != 1 || v->dims[0] > max)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%s ('%s') must be a list of at most %u floats",
                       what, v->name, max);
    *count = v->dims[0];
    memcpy(dst, v->data, *count * sizeof *dst);
    return QRN_OK;
}

// Axes that scales, sizes and roi speak of.
static qrn_status read_axes(ox_import *im, const ox_node *n, uint32_t rank, uint32_t *axes,
                            uint32_t *count) {
    int64_t list[OX_MAX_RANK];
    uint32_t given = ox_attr_ints(n, "axes", list, OX_MAX_RANK);
    *count = given ? given : rank;
    for (uint32_t i = 0; i < *count; i++) {
        axes[i] = i;
        if (given)
            QRN_TRY(ox_axis(im, n, list[i], rank, &axes[i]));
    }
    return QRN_OK;
}

static qrn_status set_scales(ox_import *im, const ox_node *n, const float *scales,
                             const uint32_t *axes, uint32_t count, resize *r) {
    for (uint32_t i = 0; i < count; i++) {
        ox_span *s = &r->span[axes[i]];
        float width = scales[i] * (float)s->in;
        if (!(scales[i] > 0) || !(width < 4e9f))
            return ox_fail(im, n, QRN_E_SHAPE, "scale %g", (double)scales[i]);
        s->scale = (double)scales[i];
        s->out = (uint32_t)floorf(width);
        if (s->out == 0)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "scale %g leaves nothing of dimension %u",
                           (double)scales[i], axes[i]);
    }
    return QRN_OK;
}

static qrn_status set_sizes(ox_import *im, const ox_node *n, const int64_t *sizes,
                            const uint32_t *axes, uint32_t count, resize *r) {
    static const word policies[] = {{"stretch", 0}, {"not_larger", 1}, {"not_smaller", 2}};
    int policy = 0;
    QRN_TRY(READ_WORD(im, n, "keep_aspect_ratio_policy", "stretch", policies, &policy));
    double common = 0;
    for (uint32_t i = 0; i < count; i++) {
        ox_span *s = &r->span[axes[i]];
        if (sizes[i] <= 0 || sizes[i] > UINT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "size %lld", (long long)sizes[i]);
        s->out = (uint32_t)sizes[i];
        s->scale = (double)s->out / s->in;
        if (i == 0 || (policy == 1 ? s->scale < common : s->scale > common))
            common = s->scale;
    }
    for (uint32_t i = 0; policy && i < count; i++) {
        ox_span *s = &r->span[axes[i]];
        s->scale = common;
        s->out = (uint32_t)(common * s->in + 0.5);
        if (s->out == 0)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "nothing is left of dimension %u", axes[i]);
    }
    return QRN_OK;
}

static qrn_status read_roi(ox_import *im, const ox_node *n, const uint32_t *axes, uint32_t count,
                           resize *r) {
    float roi[2 * OX_MAX_RANK];
    uint32_t given;
    QRN_TRY(read_floats(im, n, 1, "roi", roi, 2 * OX_MAX_RANK, &given));
    if (given != 2 * count)
        return ox_fail(im, n, QRN_E_SHAPE, "%u numbers in roi, expected %u", given, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        r->span[axes[i]].roi[0] = (double)roi[i];
        r->span[axes[i]].roi[1] = (double)roi[i + count];
    }
    return QRN_OK;
}

// Scales of Upsample before opset 9 are attributes.
static qrn_status old_scales(ox_import *im, const ox_node *n, float *scales, uint32_t *count) {
    const ox_attr *list = ox_attr_find(n, "scales");
    if (list && list->type == OX_ATTR_FLOATS && list->n <= OX_MAX_RANK) {
        *count = list->n;
        memcpy(scales, list->floats, list->n * sizeof *scales);
        return QRN_OK;
    }
    if (!ox_attr_find(n, "height_scale") || !ox_attr_find(n, "width_scale"))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "it has no scales");
    scales[0] = scales[1] = 1;
    scales[2] = ox_attr_float(n, "height_scale", 1);
    scales[3] = ox_attr_float(n, "width_scale", 1);
    *count = 4;
    return QRN_OK;
}

static qrn_status read_target(ox_import *im, const ox_node *n, uint32_t rank, resize *r) {
    bool upsample = strcmp(n->op, "Upsample") == 0, newer = !upsample && ox_version(im, n) >= 11;
    uint32_t axes[OX_MAX_RANK], count, n_scales = 0, n_sizes = 0;
    float scales[OX_MAX_RANK];
    int64_t sizes[OX_MAX_RANK];
    QRN_TRY(read_axes(im, n, rank, axes, &count));
    if (upsample && ox_version(im, n) < 9)
        QRN_TRY(old_scales(im, n, scales, &n_scales));
    else
        QRN_TRY(read_floats(im, n, newer ? 2 : 1, "scales", scales, OX_MAX_RANK, &n_scales));
    if (newer && ox_input(im, n, 3))
        QRN_TRY(ox_ints_of(im, n, "sizes", 3, sizes, OX_MAX_RANK, &n_sizes));
    if ((n_scales ? n_scales : n_sizes) != count)
        return ox_fail(im, n, QRN_E_SHAPE, "%u scales or sizes for %u axes",
                       n_scales ? n_scales : n_sizes, count);
    if (r->how.place == OX_CROP)
        QRN_TRY(read_roi(im, n, axes, count, r));
    if (n_scales)
        return set_scales(im, n, scales, axes, count, r);
    return set_sizes(im, n, sizes, axes, count, r);
}

// Modes that are another one for these sizes.
static void simplify(uint32_t rank, resize *r) {
    bool grows = false, shrinks = false;
    for (uint32_t d = 0; d < rank; d++) {
        grows |= r->span[d].scale > 1;
        shrinks |= r->span[d].scale < 1;
    }
    if (r->how.nearest == OX_ROUND_SIMPLE && !(grows && shrinks))
        r->how.nearest = shrinks ? OX_ROUND_CEIL : OX_ROUND_FLOOR;
    if (r->how.place == OX_HALF_PIXEL_SYMMETRIC && r->whole)
        r->how.place = OX_HALF_PIXEL; // there is nothing to adjust
}

static qrn_status read_resize(ox_import *im, const ox_node *n, const ox_val *x, resize *r) {
    QRN_TRY(read_modes(im, n, r));
    for (uint32_t d = 0; d < x->rank; d++)
        r->span[d] = (ox_span){.in = x->dims[d], .out = x->dims[d], .scale = 1, .roi = {0, 1}};
    QRN_TRY(read_target(im, n, x->rank, r));
    r->whole = true;
    for (uint32_t d = 0; d < x->rank; d++) {
        ox_span *s = &r->span[d];
        r->dims[d] = s->out;
        // A scale such as 0.333 stands for the ratio of whole numbers that it rounds.
        if (fabs(s->scale * s->in - s->out) <= 1e-5 * s->out)
            s->scale = (double)s->out / s->in;
        else
            r->whole = false;
    }
    simplify(x->rank, r);
    return QRN_OK;
}

// --- one QNN op

// Does a QNN op do exactly this?
static bool is_one_op(const ox_import *im, const ox_node *n, const ox_val *x, const resize *r) {
    bool place = r->how.place == OX_HALF_PIXEL || r->how.place == OX_PYTORCH_HALF_PIXEL ||
                 r->how.place == OX_ALIGN_CORNERS || r->how.place == OX_ASYMMETRIC;
    bool real = x->type == OX_F32 || x->type == OX_F16;
    int type = ox_is_quantized(im, n) && x->quantized ? x->quantized->type : x->type;
    if (type != OX_F32 && type != OX_F16 && type != OX_U8 && type != OX_I8 && type != OX_U16)
        return false;
    return place && r->whole && !r->how.antialias && x->rank >= 3 && x->rank <= 5 &&
           (real || r->how.filter == OX_NEAREST) && r->how.nearest != OX_ROUND_SIMPLE &&
           r->span[0].in == r->span[0].out && r->span[1].in == r->span[1].out;
}

// On some backends only these two are fast; they exist for images alone.
static const char *image_op(const ox_val *x, const resize *r) {
    if (x->rank == 4 && r->how.filter == OX_LINEAR && r->how.place != OX_PYTORCH_HALF_PIXEL &&
        !r->how.exclude_outside)
        return QNN_OP_RESIZE_BILINEAR;
    if (x->rank == 4 && r->how.filter == OX_NEAREST && r->how.place == OX_ASYMMETRIC &&
        r->how.nearest == OX_ROUND_FLOOR)
        return QNN_OP_RESIZE_NEAREST_NEIGHBOR;
    return QNN_OP_RESIZE;
}

static void resize_params(qc_op *o, const resize *r) {
    uint32_t mode =
        r->how.place == OX_PYTORCH_HALF_PIXEL ? QNN_OP_RESIZE_TRANSFORMATION_MODE_PYTORCH_HALF_PIXEL
        : r->how.place == OX_ALIGN_CORNERS    ? QNN_OP_RESIZE_TRANSFORMATION_MODE_ALIGN_CORNERS
        : r->how.place == OX_ASYMMETRIC       ? QNN_OP_RESIZE_TRANSFORMATION_MODE_ASYMMETRIC
                                              : QNN_OP_RESIZE_TRANSFORMATION_MODE_HALF_PIXEL;
    qc_u32(o, QNN_OP_RESIZE_PARAM_TRANSFORMATION_MODE, mode);
    qc_bool(o, QNN_OP_RESIZE_PARAM_EXCLUDE_OUTSIDE, r->how.exclude_outside);
    switch (r->how.filter) {
    case OX_LINEAR:
        qc_u32(o, QNN_OP_RESIZE_PARAM_INTERPOLATION_MODE, QNN_OP_RESIZE_INTERPOLATION_MODE_LINEAR);
        break;
    case OX_CUBIC:
        qc_u32(o, QNN_OP_RESIZE_PARAM_INTERPOLATION_MODE, QNN_OP_RESIZE_INTERPOLATION_MODE_CUBIC);
        qc_f32(o, QNN_OP_RESIZE_PARAM_CUBIC_COEFF, (float)r->how.cubic_a);
        break;
    case OX_NEAREST:
    default:
        qc_u32(o, QNN_OP_RESIZE_PARAM_INTERPOLATION_MODE, QNN_OP_RESIZE_INTERPOLATION_MODE_NEAREST);
        qc_u32(o, QNN_OP_RESIZE_PARAM_NEAREST_MODE,
               (uint32_t)r->how.nearest); // the first four have QNN's numbers
        break;
    }
}

static qrn_status emit_one(ox_import *im, const ox_node *n, const ox_val *x, const resize *r) {
    const char *op = image_op(x, r);
    qc_tensor *in, *out;
    qc_op o;
    QRN_TRY(ox_in(im, n, 0, OX_LAST, &in));
    QRN_TRY(ox_out(im, n, 0, OX_LAST, &out));
    ox_op(im, &o, n, op);
    qc_in(&o, in);
    qc_out(&o, out);
    if (strcmp(op, QNN_OP_RESIZE) == 0) {
        resize_params(&o, r);
    } else {
        qc_bool(&o, QNN_OP_RESIZE_BILINEAR_PARAM_ALIGN_CORNERS, r->how.place == OX_ALIGN_CORNERS);
        qc_bool(&o, QNN_OP_RESIZE_BILINEAR_PARAM_HALF_PIXEL_CENTERS, r->how.place == OX_HALF_PIXEL);
    }
    return qc_op_end(&o);
}

// --- axis by axis

static qc_tensor *gather_axis(ox_expr *e, qc_tensor *x, uint32_t axis, const resize *r,
                              const ox_span *s) {
    int32_t *index = ox_alloc(e->im, s->out * sizeof *index);
    if (!index) {
        e->s = QRN_FAIL(QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < s->out; i++)
        index[i] = (int32_t)ox_nearest_sample(&r->how, s, i);
    return ox_gather(e, x, ox_ints(e, 1, &s->out, index), axis);
}

// x [outer, in, inner] becomes matrix [out, in] times x.
static qc_tensor *weigh_axis(ox_expr *e, qc_tensor *x, uint32_t axis, const resize *r,
                             const ox_span *s) {
    uint32_t dims[OX_MAX_RANK], flat[3] = {1, s->in, 1}, matrix[3] = {1, s->out, s->in};
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        flat[0] *= i < axis ? x->dims[i] : 1;
        flat[2] *= i > axis ? x->dims[i] : 1;
        dims[i] = i == axis ? s->out : x->dims[i];
    }
    float *weights = (size_t)s->in * s->out > MAX_MATRIX
                         ? NULL
                         : ox_alloc(e->im, (size_t)s->in * s->out * sizeof *weights);
    if (!weights) {
        e->s =
            ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                    "%u samples to %u are too many for this mode of interpolation", s->in, s->out);
        return NULL;
    }
    for (uint32_t i = 0; i < s->out; i++)
        ox_weights(&r->how, s, i, weights + (size_t)i * s->in);
    qc_tensor *m = ox_floats(e, x, 3, matrix, weights);
    qc_tensor *y = ox_matmul(e, m, ox_reshape(e, x, 3, flat), false, false);
    return ox_reshape(e, y, x->rank, dims);
}

// Where a position is outside of the input, all modes give the value for outside.
static qc_tensor *mask_axis(ox_expr *e, qc_tensor *x, uint32_t axis, const resize *r,
                            const ox_span *s) {
    uint32_t dims[OX_MAX_RANK];
    bool any = false;
    uint8_t *inside = ox_alloc(e->im, s->out);
    qc_tensor *mask = NULL, *value = NULL;
    if (!inside)
        e->s = QRN_FAIL(QRN_E_MEM, "out of memory");
    if (!x || !inside)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = i == axis ? s->out : 1;
    for (uint32_t i = 0; i < s->out; i++) {
        double p = ox_position(&r->how, s, i);
        inside[i] = p >= 0 && p <= s->in - 1;
        any |= !inside[i];
    }
    if (!any)
        return x;
    e->s = ox_static(e->im, QNN_DATATYPE_BOOL_8, x->rank, dims, inside, s->out, &mask);
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, ox_is_fixed(x) ? QNN_DATATYPE_FLOAT_32 : ox_type_of(x),
                         (double)r->outside, &value);
    return ox_select(e, mask, x, value);
}

static bool moves(const resize *r, const ox_span *s) {
    bool crop = r->how.place == OX_CROP && (s->roi[0] != 0 || s->roi[1] != 1);
    return crop || s->in != s->out || s->scale != 1;
}

static qrn_status emit_axes(ox_import *im, const ox_node *n, const ox_val *v, const resize *r) {
    ox_layout layout = ox_layout_of(im, n);
    bool real = v->type == OX_F32 || v->type == OX_F16 || r->how.filter != OX_NEAREST;
    Qnn_DataType_t dtype = real                                     ? QNN_DATATYPE_FLOAT_32
                           : v->type == OX_U32 || v->type == OX_U64 ? QNN_DATATYPE_UINT_32
                                                                    : QNN_DATATYPE_INT_32;
    ox_expr e = ox_begin(im, n);
    qc_tensor *x, *y;
    QRN_TRY(ox_in_as(im, n, 0, layout, dtype, &x));
    QRN_TRY(ox_out_as(im, n, 0, layout, dtype, &y));
    for (uint32_t d = 0; d < v->rank; d++) {
        const ox_span *s = &r->span[d];
        uint32_t axis = ox_axis_in(layout, d, v->rank);
        if (!moves(r, s))
            continue;
        x = r->how.filter == OX_NEAREST ? gather_axis(&e, x, axis, r, s)
                                        : weigh_axis(&e, x, axis, r, s);
        if (r->how.place == OX_CROP)
            x = mask_axis(&e, x, axis, r, s);
    }
    ox_into(&e, y);
    ox_reshape(&e, x, y->rank, y->dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, layout, y);
}

static qrn_status import_resize(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    resize r;
    if (!x || x->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "it has no input with dimensions");
    QRN_TRY(read_resize(im, n, x, &r));
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, r.dims));
    if (is_one_op(im, n, x, &r))
        return emit_one(im, n, x, &r);
    return emit_axes(im, n, x, &r);
}

const ox_importer ox_import_image_resize[] = {
    {"Resize", "", import_resize},
    {"Upsample", "", import_resize},
    {0},
};
