// SPDX-License-Identifier: MIT
//
// Histograms of a layer's values in two executions. Files are read twice, first for the range:
// no more than one pair of tensors is in memory, however many executions there are.
#include "tools/quern/compare.h"

#include <math.h>

// --- ranges

static void widen(qt_histogram *h, int side, const qt_array *a) {
    for (size_t i = 0; i < a->count; i++) {
        double x = qt_array_at(a, i);
        if (isfinite(x)) {
            h->min[side] = fmin(h->min[side], x);
            h->max[side] = fmax(h->max[side], x);
        }
    }
}

// Whole steps, their values in the middle.
static bool bins_of_steps(qt_histogram *h, double low, double high, double step) {
    if (!(step > 0) || !((high - low) / step < 1e15))
        return false;
    h->low = (floor(low / step + 0.5) - 0.5) * step;
    h->width = fmax(1, ceil((high - h->low) / step / QT_BINS)) * step;
    h->n = (size_t)fmin(QT_BINS + 1, floor((high - h->low) / h->width) + 1);
    return true;
}

static void choose_bins(qt_histogram *h, double step) {
    double low = fmin(h->min[0], h->min[1]), high = fmax(h->max[0], h->max[1]);
    if (low > high || bins_of_steps(h, low, high, step))
        return;
    if (low == high) {
        low -= 0.5;
        high += 0.5;
    }
    double width = high / QT_BINS - low / QT_BINS; // the difference itself may be too large
    *h = (qt_histogram){.low = low,
                        .width = width,
                        .n = width > 0 ? QT_BINS : 0, // 0: all of one value at this magnitude
                        .min = {h->min[0], h->min[1]},
                        .max = {h->max[0], h->max[1]}};
}

// --- counts

static size_t bin_of(const qt_histogram *h, double x) {
    double at = (x - h->low) / h->width, last = (double)(h->n - 1);
    size_t i = (size_t)fmin(last, fmax(0, floor(at)));
    // The division may round across an edge.
    if (i > 0 && x < h->low + (double)i * h->width)
        i--;
    else if (i + 1 < h->n && x >= h->low + (double)(i + 1) * h->width)
        i++;
    return i;
}

static void count(qt_histogram *h, int side, const qt_array *a) {
    for (size_t i = 0; i < a->count; i++) {
        double x = qt_array_at(a, i);
        if (isfinite(x) && h->n)
            h->counts[side][bin_of(h, x)]++;
    }
}

// Beyond half a step a value is cut off; up to it, it is rounded.
static void count_clipped(qt_histogram *h, const qt_dumped *t, const qt_array *a) {
    double low, high, half = qt_dump_step(t) / 2;
    h->has_range = qt_dump_range(t, &low, &high);
    for (size_t i = 0; h->has_range && i < a->count; i++) {
        double x = qt_array_at(a, i);
        h->n_values += isfinite(x) != 0;
        h->n_clipped += isfinite(x) && (x < low - half || x > high + half);
    }
}

static qrn_status visit(const qt_match *m, const qt_layer *l, qt_histogram *h, bool counting) {
    for (size_t r = 0; r < m->n_runs; r++) {
        qt_array a, b;
        QRN_TRY(qt_layer_load(m, r, l, &a, &b));
        if (counting) {
            count(h, 0, &a);
            count(h, 1, &b);
            count_clipped(h, l->pair.b, &a);
        } else {
            widen(h, 0, &a);
            widen(h, 1, &b);
        }
        qt_array_free(&a);
        qt_array_free(&b);
    }
    return QRN_OK;
}

qrn_status qt_layer_histogram(const qt_match *m, const qt_layer *l, qt_histogram *out) {
    *out = (qt_histogram){.min = {INFINITY, INFINITY}, .max = {-INFINITY, -INFINITY}};
    QRN_TRY(visit(m, l, out, false));
    choose_bins(out, qt_dump_step(l->pair.b));
    return visit(m, l, out, true);
}
