// SPDX-License-Identifier: MIT
//
// Resize along one axis, as ONNX defines it: which input samples an output sample is made of. Pure
// functions in double.
#ifndef QRN_FRONTEND_ONNX_IMPORT_RESAMPLE_H
#define QRN_FRONTEND_ONNX_IMPORT_RESAMPLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ox_place {
    OX_HALF_PIXEL,
    OX_HALF_PIXEL_SYMMETRIC,
    OX_PYTORCH_HALF_PIXEL,
    OX_ALIGN_CORNERS,
    OX_ASYMMETRIC,
    OX_HALF_PIXEL_NN, // tf_half_pixel_for_nn of opset 11
    OX_CROP           // tf_crop_and_resize
} ox_place;

typedef enum ox_filter_kind { OX_NEAREST, OX_LINEAR, OX_CUBIC } ox_filter_kind;

typedef enum ox_nearest {
    OX_ROUND_PREFER_FLOOR,
    OX_ROUND_PREFER_CEIL,
    OX_ROUND_FLOOR,
    OX_ROUND_CEIL,
    OX_ROUND_SIMPLE // of opset 10: down when enlarging, up when shrinking
} ox_nearest;

// How to resize: the same for all axes.
typedef struct ox_resample {
    ox_place place;
    ox_filter_kind filter;
    ox_nearest nearest;
    double cubic_a;
    bool antialias, exclude_outside;
} ox_resample;

// One axis. scale * in need not be a whole number: it is the width before rounding.
typedef struct ox_span {
    uint32_t in, out;
    double scale;
    double roi[2]; // of OX_CROP: start and end, normalized
} ox_span;

// Position of output sample i in the input.
double ox_position(const ox_resample *r, const ox_span *s, uint32_t i);
// The input sample that OX_NEAREST takes for output sample i.
uint32_t ox_nearest_sample(const ox_resample *r, const ox_span *s, uint32_t i);
// Weights of the input samples for output sample i: row[s->in], cleared before.
void ox_weights(const ox_resample *r, const ox_span *s, uint32_t i, float *row);

#endif
