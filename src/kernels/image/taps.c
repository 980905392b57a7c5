// SPDX-License-Identifier: MIT
//
// Tap tables. Coordinates are one division of exact integers in double, so that positions halfway
// between two pixels are met exactly whatever the lengths.
#include "kernels/image/taps.h"

#include <math.h>

static double coordinate(const qrn_tap_rule *r, uint32_t in, uint32_t out, uint32_t o) {
    double centre = (2.0 * o + 1.0) * in / (2.0 * out);
    switch (r->coordinate) {
    case QRN_TAP_PYTORCH_HALF_PIXEL:
        return out == 1 ? 0.0 : centre - 0.5;
    case QRN_TAP_ALIGN_CORNERS:
        return out == 1 ? 0.0 : (double)o * (in - 1.0) / (out - 1.0);
    case QRN_TAP_ASYMMETRIC:
        return (double)o * in / out;
    case QRN_TAP_PIXEL_CENTER:
        return centre;
    default:
        return centre - 0.5;
    }
}

static double nearest(double x, uint32_t rounding) {
    switch (rounding) {
    case QRN_TAP_ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case QRN_TAP_FLOOR:
        return floor(x);
    case QRN_TAP_CEIL:
        return ceil(x);
    default:
        return ceil(x - 0.5);
    }
}

// Half the width of the triangle filter, in input pixels.
static double triangle_support(uint32_t in, uint32_t out) {
    return in > out ? (double)in / out : 1.0;
}

size_t qrn_taps_count(const qrn_tap_rule *r, uint32_t in, uint32_t out) {
    switch (r->interpolation) {
    case QRN_TAP_NEAREST:
        return 1;
    case QRN_TAP_LINEAR:
        return 2;
    case QRN_TAP_CUBIC:
        return 4;
    default:
        return 2 * (size_t)ceil(triangle_support(in, out)) + 1;
    }
}

// Keys' cubic convolution kernel at distance d >= 0.
static double keys(double d, double a) {
    if (d <= 1.0)
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    return d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a : 0.0;
}

static double weight_of(const qrn_tap_rule *r, double distance, double support) {
    switch (r->interpolation) {
    case QRN_TAP_CUBIC:
        return keys(distance, r->cubic);
    case QRN_TAP_TRIANGLE:
        return fmax(0.0, 1.0 - distance / support);
    default:
        return 1.0 - distance;
    }
}

void qrn_taps_fill(const qrn_tap_rule *r, uint32_t in, uint32_t out, int32_t *index,
                   double *weight) {
    size_t n = qrn_taps_count(r, in, out);
    double support = triangle_support(in, out), last = (double)in - 1.0;
    // A filter that was widened for shrinking must not count the border more than once.
    bool exclude = r->exclude_outside || r->interpolation == QRN_TAP_TRIANGLE;
    for (uint32_t o = 0; o < out; o++, index += n, weight += n) {
        double x = coordinate(r, in, out, o), sum = 0.0, first = floor(x);
        if (r->interpolation == QRN_TAP_NEAREST)
            first = nearest(x, r->rounding);
        else if (r->interpolation == QRN_TAP_CUBIC)
            first -= 1.0;
        else if (r->interpolation == QRN_TAP_TRIANGLE)
            first = ceil(x - support);
        for (size_t t = 0; t < n; t++) {
            double at = first + (double)t;
            bool outside = at < 0.0 || at > last;
            weight[t] = n == 1               ? 1.0
                        : outside && exclude ? 0.0
                                             : weight_of(r, fabs(at - x), support);
            index[t] = (int32_t)fmin(fmax(at, 0.0), last);
            sum += weight[t];
        }
        for (size_t t = 0; t < n && exclude && sum != 0.0; t++)
            weight[t] /= sum;
    }
}
