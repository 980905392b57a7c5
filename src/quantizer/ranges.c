// SPDX-License-Identifier: MIT
//
// Ranges of histograms.
#include "quantizer/stats.h"

#include <math.h>

#define HALF (QZ_BINS / 2)
#define CLIPPED 3.0  // weight of clipped values, as AIMET's enhanced scheme has it
#define NOTHING 1e-3 // values in a bin that has none: a distribution must not be 0

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

// --- searching for the least cost

// What a range of that many steps costs; less is better.
typedef double (*cost)(const qz_stats *s, double low, double high, double steps);

// Squared error of the values in a histogram that are clipped to [low, high] in steps of that; what
// is clipped counts `clipped` times.
static double error_of(const qz_stats *s, double low, double high, double steps, double clipped) {
    double width = ldexp(1, s->exponent), step = (high - low) / steps, sum = 0;
    for (int i = 0; i < QZ_BINS; i++) {
        if (!s->bins[i])
            continue;
        double x = width * (i - HALF + 0.5), d = x < low ? low - x : x > high ? x - high : 0;
        sum += (double)s->bins[i] * (clipped * d * d + step * step / 12);
    }
    return sum;
}

static double squared_error(const qz_stats *s, double low, double high, double steps) {
    return error_of(s, low, high, steps, 1);
}

static double weighted_error(const qz_stats *s, double low, double high, double steps) {
    return error_of(s, low, high, steps, CLIPPED);
}

// How far the distribution is from what is left of it in that many levels (Kullback and Leibler):
// values outside go to the ends, those of a level are spread evenly over its bins that have any.
static double divergence(const qz_stats *s, double low, double high, double steps) {
    double width = ldexp(1, s->exponent), per = (steps + 1) / (high - low), sum = 0;
    int first = (int)floor(low / width) + HALF, last = (int)ceil(high / width) + HALF - 1;
    first = first < 0 ? 0 : first;
    last = last >= QZ_BINS ? QZ_BINS - 1 : last;
    double outside[2] = {0, 0};
    for (int i = 0; i < first; i++)
        outside[0] += (double)s->bins[i];
    for (int i = last + 1; i < QZ_BINS; i++)
        outside[1] += (double)s->bins[i];
    for (int i = first, end; i <= last; i = end) {
        double level = floor((width * (i - HALF + 0.5) - low) * per), inside = 0;
        int filled = 0;
        for (end = i; end <= last; end++) {
            if (end > i && floor((width * (end - HALF + 0.5) - low) * per) != level)
                break;
            inside += (double)s->bins[end];
            filled += s->bins[end] != 0;
        }
        for (int k = i; k < end; k++) {
            double p = (double)s->bins[k] + (k == first ? outside[0] : 0);
            p += k == last ? outside[1] : 0;
            double q = s->bins[k] && filled ? inside / filled : NOTHING;
            sum += p > 0 ? p * log(p / q) : 0;
        }
    }
    return sum / (double)s->n;
}

static void search(const qz_stats *s, unsigned bits, cost cost_of, double *low, double *high) {
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
                double e = tb > ta ? cost_of(s, ta, tb, steps) : INFINITY;
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

void qz_stats_least_error(const qz_stats *s, unsigned bits, double *low, double *high) {
    search(s, bits, squared_error, low, high);
}

void qz_stats_best_sqnr(const qz_stats *s, unsigned bits, double *low, double *high) {
    search(s, bits, weighted_error, low, high);
}

void qz_stats_entropy(const qz_stats *s, unsigned bits, double *low, double *high) {
    search(s, bits, divergence, low, high);
}
