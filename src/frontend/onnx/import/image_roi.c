// SPDX-License-Identifier: MIT
//
// Importers: regions of images and the choice among boxes.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

#include <math.h>
#include <string.h>

#define MAX_TAPS ((size_t)16 << 20) // of a RoiAlign that is done by Gather

// Boxes times the scale. A power of two is left to the QNN op, which divides by its inverse.
static qc_tensor *scaled_rois(ox_expr *e, qc_tensor *rois, float scale, float *ratio) {
    int exponent;
    *ratio = 1;
    if (frexpf(scale, &exponent) == 0.5f) {
        *ratio = 1 / scale;
        return rois;
    }
    return ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, rois, (double)scale);
}

// --- RoiAlign

typedef struct align {
    uint32_t rois, height, width; // of the output
    int32_t samples;              // 0: by the size of the box
    float scale;
    bool half_pixel, max;
} align;

static qrn_status read_align(ox_import *im, const ox_node *n, const ox_val *x, const ox_val *rois,
                             const ox_val *index, align *a) {
    const char *mode = ox_attr_string(n, "mode", "avg");
    const char *place = ox_attr_string(n, "coordinate_transformation_mode",
                                       ox_version(im, n) < 16 ? "output_half_pixel" : "half_pixel");
    int64_t height = ox_attr_int(n, "output_height", 1), width = ox_attr_int(n, "output_width", 1);
    int64_t samples = ox_attr_int(n, "sampling_ratio", 0);
    if (!x || !rois || !index || x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 ||
        index->rank != 1 || index->dims[0] != rois->dims[0])
        return ox_fail(im, n, QRN_E_SHAPE, "image, rois and batch_indices do not fit");
    if (height <= 0 || width <= 0 || height > 65536 || width > 65536 || samples < 0 ||
        samples > 256)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "output size or sampling_ratio is out of range");
    if (strcmp(mode, "avg") != 0 && strcmp(mode, "max") != 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "mode '%s' is not known", mode);
    *a = (align){.rois = rois->dims[0],
                 .height = (uint32_t)height,
                 .width = (uint32_t)width,
                 .samples = (int32_t)samples,
                 .scale = ox_attr_float(n, "spatial_scale", 1),
                 .half_pixel = strcmp(place, "half_pixel") == 0,
                 .max = strcmp(mode, "max") == 0};
    return QRN_OK;
}

static qrn_status align_avg(ox_import *im, const ox_node *n, const align *a) {
    qc_tensor *x, *rois, *index, *out;
    float ratio[2];
    QRN_TRY(ox_in_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &x));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_FLOAT_32, &rois));
    QRN_TRY(ox_in_as(im, n, 2, OX_ONNX, QNN_DATATYPE_INT_32, &index));
    QRN_TRY(ox_out_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &out));
    ox_expr e = ox_begin(im, n);
    rois = scaled_rois(&e, rois, a->scale, &ratio[0]);
    ratio[1] = ratio[0];
    qc_op o;
    ox_op(im, &o, n, QNN_OP_ROI_ALIGN);
    qc_in(&o, x);
    qc_in(&o, rois);
    qc_in(&o, index);
    qc_out(&o, out);
    qc_f32s(&o, QNN_OP_ROI_ALIGN_PARAM_IMG_SIZE_RATIO, ratio, 2);
    qc_i32(&o, QNN_OP_ROI_ALIGN_PARAM_NUM_SAMPLES_Y, a->samples ? a->samples : -1);
    qc_i32(&o, QNN_OP_ROI_ALIGN_PARAM_NUM_SAMPLES_X, a->samples ? a->samples : -1);
    qc_bool(&o, QNN_OP_ROI_ALIGN_PARAM_ALIGNED, a->half_pixel);
    ox_end(&e, &o);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_LAST, out);
}

// Mode max is the largest of the weighted corners of all samples. QNN has nothing like it; with
// constant boxes it is a Gather of pixels, times constant weights, and a ReduceMax.
typedef struct taps {
    uint32_t per_bin; // pixels of an output position
    int32_t *index;   // row of the image as [N * H * W, C]
    float *weight;
} taps;

typedef struct axis_place {
    double start, bin;
    uint32_t samples;
} axis_place;

static axis_place place_axis(const align *a, float low, float high, uint32_t bins) {
    double shift = a->half_pixel ? 0.5 : 0;
    double start = (double)low * (double)a->scale - shift;
    double length = (double)high * (double)a->scale - shift - start;
    if (!a->half_pixel && length < 1)
        length = 1;
    axis_place p = {.start = start, .bin = length / bins};
    double samples = a->samples ? a->samples : ceil(p.bin);
    p.samples = samples >= 1 ? (uint32_t)fmin(samples, 65536) : 0;
    return p;
}

// The two pixels around position p and their weights; false outside of the image.
static bool corners(double p, uint32_t size, uint32_t *low, uint32_t *high, double *w_high) {
    if (!(p >= -1 && p <= size))
        return false;
    p = fmin(fmax(p, 0), size - 1);
    *low = (uint32_t)p;
    *high = *low + 1 < size ? *low + 1 : *low;
    *w_high = p - *low;
    return true;
}

static void put_sample(const ox_val *x, int64_t image, double py, double px, int32_t *index,
                       float *weight) {
    uint32_t y[2], z[2], h = x->dims[2], w = x->dims[3];
    double wy, wz;
    if (!corners(py, h, &y[0], &y[1], &wy) || !corners(px, w, &z[0], &z[1], &wz))
        return; // weights stay 0
    for (uint32_t i = 0; i < 4; i++) {
        index[i] = (int32_t)(((uint32_t)image * h + y[i / 2]) * w + z[i % 2]);
        weight[i] = (float)((i / 2 ? wy : 1 - wy) * (i % 2 ? wz : 1 - wz));
    }
}

// All samples of one bin. Boxes with fewer than others repeat theirs, which changes no maximum.
static void fill_bin(const ox_val *x, int64_t image, const axis_place *py, const axis_place *px,
                     uint32_t row, uint32_t column, const taps *t, size_t at) {
    uint32_t samples = py->samples * px->samples;
    for (uint32_t i = 0; samples && i < t->per_bin / 4; i++) {
        uint32_t s = i % samples;
        double fy = row + (s / px->samples + 0.5) / py->samples;
        double fx = column + (s % px->samples + 0.5) / px->samples;
        put_sample(x, image, py->start + fy * py->bin, px->start + fx * px->bin,
                   t->index + at + 4 * (size_t)i, t->weight + at + 4 * (size_t)i);
    }
}

static qrn_status make_taps(ox_import *im, const ox_node *n, const align *a, taps *t) {
    const ox_val *x = ox_input(im, n, 0), *rois = ox_input(im, n, 1);
    const float *box = ox_const_reals(im, n, 1);
    int64_t *image = ox_alloc(im, a->rois * sizeof *image);
    uint32_t count, bins = a->height * a->width, most = 1;
    if (!box || !image || !ox_const_ints(im, n, 2, image, a->rois, &count))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "mode max needs constant rois and batch_indices: '%s' is not", rois->name);
    for (uint32_t r = 0; r < a->rois; r++) {
        if (image[r] < 0 || image[r] >= x->dims[0])
            return ox_fail(im, n, QRN_E_SHAPE, "batch index %lld", (long long)image[r]);
        uint32_t s = place_axis(a, box[4 * r + 1], box[4 * r + 3], a->height).samples *
                     place_axis(a, box[4 * r], box[4 * r + 2], a->width).samples;
        most = s > most ? s : most;
    }
    size_t total = (size_t)a->rois * bins * most * 4;
    if (most > MAX_TAPS || total > MAX_TAPS)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "mode max with %zu samples, at most %zu", total,
                       MAX_TAPS);
    *t = (taps){most * 4, ox_alloc(im, total * sizeof *t->index),
                ox_alloc(im, total * sizeof *t->weight)};
    if (!t->index || !t->weight)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t r = 0; r < a->rois; r++) {
        axis_place py = place_axis(a, box[4 * r + 1], box[4 * r + 3], a->height);
        axis_place px = place_axis(a, box[4 * r], box[4 * r + 2], a->width);
        for (uint32_t b = 0; b < bins; b++) {
            size_t at = ((size_t)r * bins + b) * t->per_bin;
            fill_bin(x, image[r], &py, &px, b / a->width, b % a->width, t, at);
        }
    }
    return QRN_OK;
}

static qrn_status align_max(ox_import *im, const ox_node *n, const align *a) {
    const ox_val *v = ox_input(im, n, 0);
    uint32_t channels = v->dims[1], bins = a->rois * a->height * a->width, axis = 1;
    uint32_t rows[] = {v->dims[0] * v->dims[2] * v->dims[3], channels};
    taps t = {0};
    qc_tensor *x, *out;
    QRN_TRY(make_taps(im, n, a, &t));
    QRN_TRY(ox_in_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &x));
    QRN_TRY(ox_out_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &out));
    uint32_t n_taps = bins * t.per_bin, per_tap[] = {n_taps, 1};
    uint32_t split[] = {bins, t.per_bin, channels};
    ox_expr e = ox_begin(im, n);
    x = ox_gather(&e, ox_reshape(&e, x, 2, rows), ox_ints(&e, 1, &n_taps, t.index), 0);
    x = ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, ox_floats(&e, x, 2, per_tap, t.weight));
    x = ox_reduce(&e, QNN_OP_REDUCE_MAX, ox_reshape(&e, x, 3, split), &axis, 1, false);
    ox_into(&e, out);
    ox_reshape(&e, x, 4, out->dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_LAST, out);
}

static qrn_status import_roi_align(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    align a = {0};
    QRN_TRY(read_align(im, n, x, ox_input(im, n, 1), ox_input(im, n, 2), &a));
    uint32_t dims[] = {a.rois, x->dims[1], a.height, a.width};
    QRN_TRY(ox_set_output(im, n, 0, x->type, 4, dims));
    return a.max ? align_max(im, n, &a) : align_avg(im, n, &a);
}

// --- MaxRoiPool

static qrn_status import_max_roi_pool(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *rois = ox_input(im, n, 1);
    int64_t size[2];
    float ratio[2];
    if (!x || !rois || x->rank != 4 || rois->rank != 2 || rois->dims[1] != 5 ||
        ox_attr_ints(n, "pooled_shape", size, 2) != 2 || size[0] <= 0 || size[1] <= 0 ||
        size[0] > 65536 || size[1] > 65536)
        return ox_fail(im, n, QRN_E_SHAPE, "image, rois and pooled_shape do not fit");
    uint32_t dims[] = {rois->dims[0], x->dims[1], (uint32_t)size[0], (uint32_t)size[1]};
    uint32_t flat[] = {rois->dims[0]};
    qc_tensor *in, *boxes, *out;
    QRN_TRY(ox_set_output(im, n, 0, x->type, 4, dims));
    QRN_TRY(ox_in_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &in));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_FLOAT_32, &boxes));
    QRN_TRY(ox_out_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &out));
    ox_expr e = ox_begin(im, n);
    qc_tensor *index = ox_reshape(&e, ox_slice(&e, boxes, 1, 0, 1, 1), 1, flat);
    index = ox_as(&e, index, QNN_DATATYPE_UINT_32);
    boxes = scaled_rois(&e, ox_slice(&e, boxes, 1, 1, 4, 1), ox_attr_float(n, "spatial_scale", 1),
                        &ratio[0]);
    ratio[1] = ratio[0];
    qc_op o;
    ox_op(im, &o, n, QNN_OP_ROI_POOLING);
    qc_in(&o, in);
    qc_in(&o, boxes);
    qc_in(&o, index);
    qc_out(&o, out);
    qc_f32s(&o, QNN_OP_ROI_POOLING_PARAM_IMG_SIZE_RATIO, ratio, 2);
    ox_end(&e, &o);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_LAST, out);
}

// --- CropAndResize
// --------------------------------------------------------------------------------------

static qrn_status import_crop(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *rois = ox_input(im, n, 1), *index = ox_input(im, n, 2);
    int64_t size[2];
    uint32_t count;
    if (!rois || !index || x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 ||
        index->rank != 1 || index->dims[0] != rois->dims[0])
        return ox_fail(im, n, QRN_E_SHAPE, "image, rois and batch_indices do not fit");
    if (!ox_const_ints(im, n, 3, size, 2, &count) || count != 2 || size[0] <= 0 || size[1] <= 0 ||
        size[0] > 65536 || size[1] > 65536)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "crop_size must be two constant numbers");
    uint32_t crop[] = {(uint32_t)size[0], (uint32_t)size[1]};
    uint32_t dims[] = {rois->dims[0], x->dims[1], crop[0], crop[1]};
    bool nearest = strcmp(ox_attr_string(n, "mode", "bilinear"), "nearest") == 0;
    qc_tensor *in, *boxes, *image, *out;
    QRN_TRY(ox_set_output(im, n, 0, x->type, 4, dims));
    QRN_TRY(ox_in_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &in));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_FLOAT_32, &boxes));
    QRN_TRY(ox_in_as(im, n, 2, OX_ONNX, QNN_DATATYPE_INT_32, &image));
    QRN_TRY(ox_out_as(im, n, 0, OX_LAST, QNN_DATATYPE_FLOAT_32, &out));
    qc_op o;
    ox_op(im, &o, n, QNN_OP_CROP_AND_RESIZE);
    qc_in(&o, in);
    qc_in(&o, boxes);
    qc_in(&o, image);
    qc_out(&o, out);
    qc_u32s(&o, QNN_OP_CROP_AND_RESIZE_PARAM_RESIZE_DIMS, crop, 2);
    qc_u32(&o, QNN_OP_CROP_AND_RESIZE_PARAM_INTERPOLATION_MODE,
           nearest ? QNN_OP_CROP_AND_RESIZE_INTERPOLATION_MODE_NEAREST_NEIGHBOR
                   : QNN_OP_CROP_AND_RESIZE_INTERPOLATION_MODE_BILINEAR);
    qc_f32(&o, QNN_OP_CROP_AND_RESIZE_PARAM_EXTRAPOLATION_VALUE,
           ox_attr_float(n, "extrapolation_value", 0));
    QRN_TRY(qc_op_end(&o));
    return ox_out_end(im, n, 0, OX_LAST, out);
}

const ox_importer ox_import_image_roi[] = {
    {"CropAndResize", "com.microsoft", import_crop},
    {"RoiAlign", "", import_roi_align},
    {"MaxRoiPool", "", import_max_roi_pool},
    {0},
};
