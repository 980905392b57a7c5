// SPDX-License-Identifier: MIT
//
// The families box_deltas and rotated_deltas.
#include "kernels/detect/deltas.h"
#include "kernels/detect/proposals.h"

#include <string.h>

static qrn_status image_of(const qrn_view *images, size_t row, uint32_t n_images, size_t *image) {
    int64_t n = images ? qrn_view_int(images, row) : 0;
    if (n < 0 || n >= (int64_t)n_images)
        return QRN_E_ARGUMENT;
    *image = (size_t)n;
    return QRN_OK;
}

static qrn_status box_deltas_ref(const qrn_kcall *k) {
    const qrn_box_deltas_args *a = k->args;
    const qrn_view *deltas = k->in[1], *sizes = k->in[3];
    qrn_view *splits = k->n_out > 1 ? k->out[1] : NULL;
    size_t n_classes = deltas->dims[1] / 4;
    if (splits)
        qrn_view_clear_from(splits, 0);
    for (size_t r = 0; r < k->in[0]->dims[0]; r++) {
        size_t image;
        QRN_TRY(image_of(k->in[2], r, sizes->dims[0], &image));
        double height = qrn_view_real(sizes, image * 2);
        double width = qrn_view_real(sizes, image * 2 + 1);
        qrn_box roi = qrn_box_get(k->in[0], r * 4);
        for (size_t cls = 0; cls < n_classes; cls++) {
            double d[4];
            size_t at = (r * n_classes + cls) * 4;
            for (size_t i = 0; i < 4; i++)
                d[i] = qrn_real_get(deltas, at + i) / (double)a->weights[i];
            qrn_box b = qrn_box_moved(&roi, d);
            qrn_box_clip(&b, height, width);
            qrn_box_put(k->out[0], at, &b);
        }
        if (splits)
            ((uint32_t *)splits->data)[image]++;
    }
    return QRN_OK;
}

// b: centre x, centre y, width, height, angle; an upright box is cut at the borders of the image.
static void clip_upright(const qrn_rotated_deltas_args *a, double *b, double height, double width) {
    double limit = fmax((double)a->upright_degree, 0.0);
    if (!(fabs(b[4]) <= limit))
        return;
    b[4] = 0.0;
    for (size_t i = 0; i < 2; i++) {
        double end = i ? height : width;
        double low = fmin(fmax(b[i] - b[2 + i] / 2.0, 0.0), end);
        double high = fmin(fmax(b[i] + b[2 + i] / 2.0, 0.0), end);
        b[i] = (low + high) / 2.0;
        b[2 + i] = high - low;
    }
}

static double wrapped(const qrn_rotated_deltas_args *a, double angle) {
    double period = (double)a->high - (double)a->low;
    if (!a->bounded || (angle >= a->low && angle <= a->high))
        return angle;
    double from = fmod(angle - a->low, period);
    return a->low + (from < 0.0 ? from + period : from);
}

static void rotate_one(const qrn_rotated_deltas_args *a, const double *roi, const double *d,
                       const double *image, double *b) {
    const double degrees = 57.29577951308232; // in a radian
    double scale = image[2];
    for (size_t i = 0; i < 2; i++) {
        double size = roi[2 + i] / scale;
        b[i] = roi[i] / scale + d[i] / (double)a->weights[i] * size;
        b[2 + i] = exp(d[2 + i] / (double)a->weights[2 + i]) * size;
    }
    b[4] = wrapped(a, roi[4] + d[4] * degrees);
    clip_upright(a, b, floor(image[0] / scale + 0.5), floor(image[1] / scale + 0.5));
    for (size_t i = 0; i < 4 && a->apply_scale; i++)
        b[i] *= scale;
}

static qrn_status rotated_deltas_ref(const qrn_kcall *k) {
    const qrn_view *deltas = k->in[1], *images = k->in[2];
    const qrn_view *numbers = k->n_in > 3 ? k->in[3] : NULL;
    qrn_view *counts = k->out[1];
    size_t n_classes = deltas->dims[1] / 5;
    qrn_view_clear_from(counts, 0);
    for (size_t r = 0; r < k->in[0]->dims[0]; r++) {
        size_t n;
        double image[3], roi[5], d[5], b[5];
        QRN_TRY(image_of(numbers, r, images->dims[0], &n));
        for (size_t i = 0; i < 3; i++)
            image[i] = qrn_real_get(images, n * 3 + i);
        for (size_t i = 0; i < 5; i++)
            roi[i] = qrn_real_get(k->in[0], r * 5 + i);
        for (size_t cls = 0; cls < n_classes; cls++) {
            size_t at = (r * n_classes + cls) * 5;
            for (size_t i = 0; i < 5; i++)
                d[i] = qrn_real_get(deltas, at + i);
            rotate_one(k->args, roi, d, image, b);
            for (size_t i = 0; i < 5; i++)
                qrn_real_put(k->out[0], at + i, b[i]);
        }
        qrn_real_put(counts, n, qrn_real_get(counts, n) + 1.0);
    }
    return QRN_OK;
}

#define ROWS(fam)                                                                                  \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_f32_ref", .domain = QRN_DOMAIN_F32, .fn = fam##_ref},                      \
        {.name = #fam "_f64_ref", .domain = QRN_DOMAIN_F64, .fn = fam##_ref},                      \
    }

ROWS(box_deltas);
QRN_FAMILY(box_deltas, sizeof(qrn_box_deltas_args));
ROWS(rotated_deltas);
QRN_FAMILY(rotated_deltas, sizeof(qrn_rotated_deltas_args));
