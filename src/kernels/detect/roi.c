// SPDX-License-Identifier: MIT
//
// The families roi_align and roi_pool.
#include "kernels/detect/roi.h"

#include "kernels/detect/candidates.h"
#include "kernels/walk.h"

#include <math.h>
#include <string.h>

// One axis of a roi on the map.
typedef struct span {
    double start, length;
    double bin;     // length of a bin
    double samples; // of a bin
    size_t size;    // of the map
} span;

// Samples of one bin that may lie on the map: [first, first + count).
typedef struct sample_run {
    double first;
    size_t count;
} sample_run;

// A roi of any size has few samples on the map; the others are 0 and need no visit.
static sample_run samples_on_map(const span *s, double bin_start) {
    double step = s->bin / s->samples, last = s->samples - 1.0;
    if (!(s->samples >= 1.0))
        return (sample_run){0.0, 0};
    if (step == 0.0)
        return (sample_run){0.0, (size_t)s->samples};
    double t0 = (-1.0 - bin_start) / step - 0.5, t1 = ((double)s->size - bin_start) / step - 0.5;
    double low = fmin(fmax(floor(fmin(t0, t1)) - 1.0, 0.0), last);
    double high = fmin(fmax(ceil(fmax(t0, t1)) + 1.0, 0.0), last);
    double count = high - low + 1.0;
    return (sample_run){low, count >= 1.0 ? (size_t)fmin(count, 0x1p31) : 0};
}

// Two neighbouring pixels of an axis and their weights; false when p is off the map.
typedef struct pair {
    size_t low, high;
    double w_low, w_high;
} pair;

static bool pair_at(double p, size_t size, pair *out) {
    if (!(p >= -1.0 && p <= (double)size))
        return false;
    p = fmin(fmax(p, 0.0), (double)size - 1.0);
    out->low = (size_t)p;
    out->high = out->low + 1 < size ? out->low + 1 : out->low;
    out->w_high = p - (double)out->low;
    out->w_low = 1.0 - out->w_high;
    return true;
}

#define CHANNELS 64 // summed at a time

// Adds one sample to sum[0..n): channels from `c` on.
static void add_sample(const qrn_view *x, size_t image, const pair *y, const pair *z, size_t c,
                       size_t n, double *sum) {
    size_t row = x->dims[2], channels = x->dims[3], base = image * x->dims[1];
    size_t a = ((base + y->low) * row + z->low) * channels + c;
    size_t b = ((base + y->low) * row + z->high) * channels + c;
    size_t d = ((base + y->high) * row + z->low) * channels + c;
    size_t e = ((base + y->high) * row + z->high) * channels + c;
    double wa = y->w_low * z->w_low, wb = y->w_low * z->w_high;
    double wd = y->w_high * z->w_low, we = y->w_high * z->w_high;
    for (size_t i = 0; i < n; i++)
        sum[i] += wa * qrn_real_get(x, a + i) + wb * qrn_real_get(x, b + i) +
                  wd * qrn_real_get(x, d + i) + we * qrn_real_get(x, e + i);
}

static void align_bin(const qrn_kcall *k, size_t image, const span *axis, const size_t *bin,
                      size_t out_at) {
    const qrn_view *x = k->in[0];
    double start[2], step[2];
    sample_run run[2];
    for (size_t i = 0; i < 2; i++) {
        start[i] = axis[i].start + (double)bin[i] * axis[i].bin;
        step[i] = axis[i].bin / axis[i].samples;
        run[i] = samples_on_map(&axis[i], start[i]);
    }
    double count = fmax(axis[0].samples * axis[1].samples, 1.0);
    for (size_t c = 0; c < x->dims[3]; c += CHANNELS) {
        size_t n = x->dims[3] - c < CHANNELS ? x->dims[3] - c : CHANNELS;
        double sum[CHANNELS] = {0};
        for (size_t i = 0; i < run[0].count; i++) {
            pair y, z;
            if (!pair_at(start[0] + (run[0].first + (double)i + 0.5) * step[0], axis[0].size, &y))
                continue;
            for (size_t j = 0; j < run[1].count; j++)
                if (pair_at(start[1] + (run[1].first + (double)j + 0.5) * step[1], axis[1].size,
                            &z))
                    add_sample(x, image, &y, &z, c, n, sum);
        }
        for (size_t i = 0; i < n; i++)
            qrn_real_put(k->out[0], out_at + c + i, sum[i] / count);
    }
}

// Places roi r on the map; false when its bins are to be 0.
static bool place_roi(const qrn_kcall *k, size_t r, span *axis) {
    const qrn_roi_args *a = k->args;
    for (size_t i = 0; i < 2; i++) {
        double low = qrn_real_get(k->in[1], r * 4 + 1 - i);
        double high = qrn_real_get(k->in[1], r * 4 + 3 - i);
        double shift = a->aligned ? 0.5 : 0.0, bins = k->out[0]->dims[1 + i];
        if (a->skip_empty && !(high > low))
            return false;
        axis[i].start = low / a->ratio[i] - shift;
        axis[i].length = high / a->ratio[i] - shift - axis[i].start;
        if (!isfinite(axis[i].start) || !isfinite(axis[i].length))
            return false;
        if (!a->aligned)
            axis[i].length = fmax(axis[i].length, 1.0);
        axis[i].bin = axis[i].length / bins;
        axis[i].samples = a->samples[i] > 0 ? a->samples[i] : fmax(ceil(axis[i].bin), 0.0);
        axis[i].size = k->in[0]->dims[1 + i];
    }
    return true;
}

static qrn_status roi_align_ref(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t bins = (size_t)y->dims[1] * y->dims[2], channels = y->dims[3], begin, end;
    qrn_split(y->dims[0] * bins, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t o = begin; o < end; o++) {
        span axis[2];
        size_t bin[2] = {o % bins / y->dims[2], o % y->dims[2]};
        int64_t image = qrn_view_int(k->in[2], o / bins);
        if (image < 0 || image >= (int64_t)x->dims[0])
            return QRN_E_ARGUMENT;
        if (place_roi(k, o / bins, axis))
            align_bin(k, (size_t)image, axis, bin, o * channels);
        else
            for (size_t c = 0; c < channels; c++)
                qrn_real_put(k->out[0], o * channels + c, 0.0);
    }
    return QRN_OK;
}

// Pixels [low, high) of a bin, in whole numbers.
static void pool_range(const qrn_kcall *k, size_t r, size_t axis, size_t bin, size_t *low,
                       size_t *high) {
    const qrn_roi_args *a = k->args;
    double from = round(qrn_real_get(k->in[1], r * 4 + 1 - axis) / a->ratio[axis]);
    double to = round(qrn_real_get(k->in[1], r * 4 + 3 - axis) / a->ratio[axis]);
    double size = k->in[0]->dims[1 + axis];
    double extent = fmax(to - from + 1.0, 1.0), bins = k->out[0]->dims[1 + axis];
    *low = (size_t)fmin(fmax(floor((double)bin * extent / bins) + from, 0.0), size);
    *high = (size_t)fmin(fmax(ceil(((double)bin + 1.0) * extent / bins) + from, 0.0), size);
}

// The pixels of a bin: rows [top, bottom), columns [left, right).
typedef struct bin_pixels {
    size_t image, top, bottom, left, right;
} bin_pixels;

static size_t first_channel(const qrn_view *x, const bin_pixels *b, size_t i, size_t j) {
    return ((b->image * x->dims[1] + i) * x->dims[2] + j) * x->dims[3];
}

// The largest pixels of a bin that is not empty, channel by channel; NaN does not count.
static void pool_bin_ref(const qrn_kcall *k, const bin_pixels *b, size_t out_at) {
    const qrn_view *x = k->in[0];
    for (size_t c = 0; c < x->dims[3]; c++) {
        double best = -INFINITY;
        for (size_t i = b->top; i < b->bottom; i++)
            for (size_t j = b->left; j < b->right; j++)
                best = fmax(best, qrn_real_get(x, first_channel(x, b, i, j) + c));
        qrn_real_put(k->out[0], out_at + c, best);
    }
}

// The same on floats, all channels of a pixel at once.
static void pool_bin_f32(const qrn_kcall *k, const bin_pixels *b, size_t out_at) {
    const qrn_view *x = k->in[0];
    for (size_t c = 0; c < x->dims[3]; c += CHANNELS) {
        size_t n = x->dims[3] - c < CHANNELS ? x->dims[3] - c : CHANNELS;
        float best[CHANNELS];
        for (size_t l = 0; l < CHANNELS; l++)
            best[l] = -INFINITY;
        for (size_t i = b->top; i < b->bottom; i++)
            for (size_t j = b->left; j < b->right; j++) {
                const float *p = (const float *)x->data + first_channel(x, b, i, j) + c;
                for (size_t l = 0; l < n; l++)
                    best[l] = p[l] > best[l] ? p[l] : best[l];
            }
        memcpy((float *)k->out[0]->data + out_at + c, best, n * sizeof *best);
    }
}

static qrn_status pool_rois(const qrn_kcall *k,
                            void (*pool_bin)(const qrn_kcall *, const bin_pixels *, size_t)) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    size_t bins = (size_t)y->dims[1] * y->dims[2], channels = y->dims[3], begin, end;
    qrn_split(y->dims[0] * bins, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t o = begin; o < end; o++) {
        size_t r = o / bins;
        bin_pixels b;
        int64_t image = qrn_view_int(k->in[2], r);
        if (image < 0 || image >= (int64_t)x->dims[0])
            return QRN_E_ARGUMENT;
        b.image = (size_t)image;
        pool_range(k, r, 0, o % bins / y->dims[2], &b.top, &b.bottom);
        pool_range(k, r, 1, o % y->dims[2], &b.left, &b.right);
        bool empty = b.top >= b.bottom || b.left >= b.right;
        if (!empty)
            pool_bin(k, &b, o * channels);
        for (size_t c = 0; empty && c < channels; c++)
            qrn_real_put(k->out[0], o * channels + c, 0.0);
    }
    return QRN_OK;
}

static qrn_status roi_pool_f32(const qrn_kcall *k) { return pool_rois(k, pool_bin_f32); }
static qrn_status roi_pool_ref(const qrn_kcall *k) { return pool_rois(k, pool_bin_ref); }

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

#define ROWS(fam)                                                                                  \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_f32_ref", .domain = QRN_DOMAIN_F32, .fn = fam##_ref, .tasks = tasks},      \
        {.name = #fam "_f64_ref", .domain = QRN_DOMAIN_F64, .fn = fam##_ref, .tasks = tasks},      \
    }

ROWS(roi_align);
QRN_FAMILY(roi_align, sizeof(qrn_roi_args));
static const qrn_kernel roi_pool_rows[] = {
    {.name = "roi_pool_f32", .domain = QRN_DOMAIN_F32, .fn = roi_pool_f32, .tasks = tasks},
    {.name = "roi_pool_f32_ref", .domain = QRN_DOMAIN_F32, .fn = roi_pool_ref, .tasks = tasks},
    {.name = "roi_pool_f64_ref", .domain = QRN_DOMAIN_F64, .fn = roi_pool_ref, .tasks = tasks},
};
QRN_FAMILY(roi_pool, sizeof(qrn_roi_args));
