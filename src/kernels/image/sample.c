// SPDX-License-Identifier: MIT
//
// The sampling families. Positions are made finite and close to the image before they index it.
#include "kernels/image/sample.h"

#include "kernels/walk.h"

#include <math.h>

// A position far enough outside that no pixel beside it is inside; also for what is no number.
#define OUTSIDE (-4.0)

static double near_image(double p, double size) {
    return p >= OUTSIDE && p <= size + 4.0 ? p : OUTSIDE;
}

// Mirrors p at low and high until it lies between them.
static double reflect(double p, double low, double high) {
    double span = high - low;
    if (span <= 0.0)
        return 0.0;
    double far = fmod(fabs(p - low), 2.0 * span);
    return low + (far > span ? 2.0 * span - far : far);
}

static double grid_position(const qrn_grid_sample_args *a, double g, double size) {
    double p = a->align_corners ? (g + 1.0) / 2.0 * (size - 1.0) : ((g + 1.0) * size - 1.0) / 2.0;
    if (a->border == QRN_SAMPLE_BORDER)
        p = fmin(fmax(p, 0.0), size - 1.0);
    if (a->border == QRN_SAMPLE_REFLECT) {
        double edge = a->align_corners ? 0.0 : 0.5;
        p = fmin(fmax(reflect(p, -edge, size - 1.0 + edge), 0.0), size - 1.0);
    }
    p = near_image(p, size);
    return a->nearest ? nearbyint(p) : p;
}

// Negative when output position i of n lies outside the image.
static double crop_position(double from, double to, size_t i, size_t n, size_t size, bool nearest) {
    double last = (double)size - 1.0;
    double p = n > 1 ? from * last + (double)i * ((to - from) * last / ((double)n - 1.0))
                     : 0.5 * (from + to) * last;
    if (!(p >= 0.0 && p <= last))
        return -1.0;
    return nearest ? round(p) : p;
}

static double project_position(double p, size_t size, bool nearest) {
    p = near_image(p, (double)size);
    return nearest ? round(p) : p;
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/image/sample.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/image/sample.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

#define ROWS(fam)                                                                                  \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_f32_ref", .domain = QRN_DOMAIN_F32, .fn = fam##_f32_ref, .tasks = tasks},  \
        {.name = #fam "_f64_ref", .domain = QRN_DOMAIN_F64, .fn = fam##_f64_ref, .tasks = tasks},  \
    }

ROWS(grid_sample);
QRN_FAMILY(grid_sample, sizeof(qrn_grid_sample_args));
ROWS(crop_resize);
QRN_FAMILY(crop_resize, sizeof(qrn_crop_resize_args));
ROWS(project);
QRN_FAMILY(project, sizeof(qrn_project_args));
