// SPDX-License-Identifier: MIT
//
// Statistics of tensors.
#include "quantizer/stats.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define HALF (QZ_BINS / 2)
#define LEAST_EXPONENT (-140) // below the smallest float: an empty histogram

qrn_status qz_stats_init(qz_stats *s, bool bins) {
    *s = (qz_stats){.above = INFINITY, .exponent = LEAST_EXPONENT};
    if (bins && !(s->bins = qrn_calloc(QZ_BINS * sizeof *s->bins)))
        return QRN_FAIL(QRN_E_MEM, "out of memory for a histogram");
    return QRN_OK;
}

void qz_stats_free(qz_stats *s) {
    qrn_free(s->bins);
    s->bins = NULL;
}

// Doubles the width of the bins until it is 2^exponent.
static void widen(qz_stats *s, int exponent) {
    int by = exponent - s->exponent;
    if (by <= 0)
        return;
    s->exponent = exponent;
    uint64_t merged[QZ_BINS] = {0};
    for (int i = -HALF; i < HALF; i++) // the shift of a negative number rounds down
        merged[(by > 11 ? (i < 0 ? -1 : 0) : i >> by) + HALF] += s->bins[i + HALF];
    memcpy(s->bins, merged, sizeof merged);
}

// The least exponent whose bins reach x.
static int exponent_for(double x) {
    int e;
    if (x == 0)
        return LEAST_EXPONENT;
    double m = frexp(fabs(x), &e); // |x| = m * 2^e, m in [0.5, 1)
    bool edge = m == 0.5 && x < 0; // -HALF itself is the first bin
    return e - 10 - (edge ? 1 : 0);
}

static void count(qz_stats *s, const float *x, size_t n, double low, double high) {
    int a = exponent_for(low), b = exponent_for(high);
    widen(s, a > b ? a : b);
    double per = ldexp(1, -s->exponent);
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            s->bins[(int)floor((double)x[i] * per) + HALF]++;
}

static void count_sizes(qz_stats *s, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        int e = (int)(bits >> 23 & 255) - 127 + 40;
        if (bits << 1 != 0 && e < 128 + 40)
            s->sizes[e < 0 ? 0 : e >= QZ_SIZES ? QZ_SIZES - 1 : e]++;
    }
}

double qz_stats_middle(const qz_stats *s) {
    uint64_t all = 0, below = 0;
    int i = 0;
    for (int k = 0; k < QZ_SIZES; k++)
        all += s->sizes[k];
    while (i < QZ_SIZES - 1 && 2 * (below + s->sizes[i]) < all)
        below += s->sizes[i++];
    return all ? ldexp(1.5, i - 40) : 0;
}

void qz_stats_add(qz_stats *s, const float *x, size_t n) {
    float low = INFINITY, high = -INFINITY, above = INFINITY;
    uint64_t finite = 0, masked = 0, bad = 0;
    for (size_t i = 0; i < n; i++) {
        float v = x[i];
        if (!isfinite(v)) {
            masked += v < 0;
            bad += !(v < 0);
            continue;
        }
        finite++;
        low = v < low ? v : low;
        high = v > high ? v : high;
        if ((double)v <= QZ_MASKED)
            masked++;
        else if (v < above)
            above = v;
    }
    count_sizes(s, x, n);
    s->n_nan += bad;
    s->n_masked += masked;
    if ((double)above < s->above)
        s->above = (double)above;
    if (!finite)
        return;
    s->min = s->n && s->min < (double)low ? s->min : (double)low;
    s->max = s->n && s->max > (double)high ? s->max : (double)high;
    s->n += finite;
    if (s->bins)
        count(s, x, n, (double)low, (double)high);
}

void qz_stats_merge(qz_stats *s, const qz_stats *from) {
    s->n_nan += from->n_nan;
    s->n_masked += from->n_masked;
    for (int i = 0; i < QZ_SIZES; i++)
        s->sizes[i] += from->sizes[i];
    s->above = from->above < s->above ? from->above : s->above;
    if (!from->n)
        return;
    s->min = s->n && s->min < from->min ? s->min : from->min;
    s->max = s->n && s->max > from->max ? s->max : from->max;
    s->n += from->n;
    if (!from->bins)
        qz_stats_free(s);
    if (!s->bins)
        return;
    widen(s, from->exponent);
    int by = s->exponent - from->exponent;
    for (int i = -HALF; i < HALF; i++)
        s->bins[(by > 11 ? (i < 0 ? -1 : 0) : i >> by) + HALF] += from->bins[i + HALF];
}

void qz_stats_percentile(const qz_stats *s, double tail, double *low, double *high) {
    double width = ldexp(1, s->exponent), most = tail * (double)s->n;
    uint64_t below = 0, over = 0;
    int first = 0, last = QZ_BINS - 1;
    *low = s->min;
    *high = s->max;
    if (!s->bins || !s->n)
        return;
    while (first < last && (double)(below + s->bins[first]) <= most)
        below += s->bins[first++];
    while (last > first && (double)(over + s->bins[last]) <= most)
        over += s->bins[last--];
    double a = width * (first - HALF), b = width * (last - HALF + 1);
    *low = a > s->min ? a : s->min;
    *high = b < s->max ? b : s->max;
}

// Squared error of the values in a histogram that are clipped to [low, high] in steps of that.
static double error_of(const qz_stats *s, double low, double high, double steps) {
    double width = ldexp(1, s->exponent), step = (high - low) / steps, sum = 0;
    for (int i = 0; i < QZ_BINS; i++) {
        if (!s->bins[i])
            continue;
        double x = width * (i - HALF + 0.5), d = x < low ? low - x : x > high ? x - high : 0;
        sum += (double)s->bins[i] * (d * d + step * step / 12);
    }
    return sum;
}

void qz_stats_least_error(const qz_stats *s, unsigned bits, double *low, double *high) {
    double steps = ldexp(1, (int)bits) - 1, best = INFINITY;
    double a0 = s->min < 0 ? s->min : 0, b0 = s->max > 0 ? s->max : 0, a = a0, b = b0;
    *low = s->min;
    *high = s->max;
    if (!s->bins || !s->n || bits > 8) // the bins are wider than the steps
        return;
    for (int round = 0; round < 2; round++) // one end after the other, twice
        for (int end = 0; end < 2; end++) {
            double kept_a = a, kept_b = b;
            for (int k = 20; k <= 100; k++) {
                double ta = end == 0 ? a0 * k / 100 : kept_a, tb = end ? b0 * k / 100 : kept_b;
                double e = tb > ta ? error_of(s, ta, tb, steps) : INFINITY;
                if (e < best) {
                    best = e;
                    a = ta;
                    b = tb;
                }
            }
        }
    *low = a;
    *high = b;
}
