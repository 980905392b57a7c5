// SPDX-License-Identifier: MIT
//
// Positions and weights of a resize along one axis.
#include "frontend/onnx/import/resample.h"

#include <math.h>

double ox_position(const ox_resample *r, const ox_span *s, uint32_t i) {
    double in = s->in, width = s->scale * in, last = in - 1, x = i;
    switch (r->place) {
    case OX_ALIGN_CORNERS:
        return width == 1 || s->out == 1 ? 0 : x * last / (width - 1);
    case OX_ASYMMETRIC:
        return x / s->scale;
    case OX_CROP:
        if (s->out == 1)
            return (s->roi[0] + s->roi[1]) * last / 2;
        // In single precision, as roi is given: 0.1 of 5 is to be the half that ties are made of.
        return (double)((float)s->roi[0] * (float)last + (float)x * (float)(s->roi[1] - s->roi[0]) *
                                                             (float)last / (float)(width - 1));
    case OX_HALF_PIXEL_NN:
        return (x + 0.5) / s->scale;
    case OX_PYTORCH_HALF_PIXEL:
        return s->out == 1 ? 0 : (x + 0.5) / s->scale - 0.5;
    case OX_HALF_PIXEL_SYMMETRIC:
        return in / 2 * (1 - s->out / width) + (x + 0.5) / s->scale - 0.5;
    case OX_HALF_PIXEL:
    default:
        return (x + 0.5) / s->scale - 0.5;
    }
}

static uint32_t clamp(double x, uint32_t n) { return x < 0 ? 0 : x > n - 1 ? n - 1 : (uint32_t)x; }

uint32_t ox_nearest_sample(const ox_resample *r, const ox_span *s, uint32_t i) {
    double x = ox_position(r, s, i);
    switch (r->nearest) {
    case OX_ROUND_PREFER_CEIL:
        x = floor(x + 0.5);
        break;
    case OX_ROUND_FLOOR:
        x = floor(x);
        break;
    case OX_ROUND_CEIL:
        x = ceil(x);
        break;
    case OX_ROUND_SIMPLE:
        x = s->scale < 1 ? ceil(x) : floor(x);
        break;
    case OX_ROUND_PREFER_FLOOR:
    default:
        x = ceil(x - 0.5);
        break;
    }
    return clamp(x, s->in);
}

// Value of the filter at distance d.
static double kernel(const ox_resample *r, double d) {
    double a = r->cubic_a;
    d = fabs(d);
    if (r->filter == OX_LINEAR)
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

void ox_weights(const ox_resample *r, const ox_span *s, uint32_t i, float *row) {
    double x = ox_position(r, s, i), left = floor(x), sum = 0;
    // Antialiasing widens the filter when the axis shrinks.
    double squeeze = r->antialias && s->scale < 1 ? s->scale : 1;
    double reach = r->filter == OX_CUBIC ? 2 : 1;
    if (left == x)
        left -= 1; // a sample that is hit is the right one of its pair
    int32_t first = (int32_t)floor(-reach / squeeze) + 1, last = 1 - first;
    bool inside_only = r->exclude_outside;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t k = first; k <= last; k++) {
            double at = left + k, w = kernel(r, squeeze * (at - x));
            if (inside_only && (at < 0 || at >= s->in))
                continue;
            if (pass == 0)
                sum += w;
            else if (sum != 0)
                row[clamp(at, s->in)] += (float)(w / sum);
        }
}
