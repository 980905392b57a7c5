// SPDX-License-Identifier: MIT
//
// Pictures as inputs: scaled with a triangle filter that widens when shrinking (what image
// libraries call bilinear with antialiasing), cut, normalised and laid out as the model wants.
#include "tools/quern/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What the input's shape says.
typedef struct frame {
    uint32_t height, width, channels;
    bool channels_first;
} frame;

static bool is_channels(uint64_t n) { return n == 1 || n == 3; }

static qrn_status frame_of(const char *path, const char *input, const qt_picture_options *opt,
                           const qt_array *a, frame *f) {
    uint64_t d[4] = {1, 1, 1, 1};
    char shape[256];
    qt_shape_text(a->rank, a->dims, shape, sizeof shape);
    if (a->rank < 2 || a->rank > 4)
        return QRN_FAIL(QRN_E_SHAPE, "%s: input '%s' has shape %s: not a picture's", path, input,
                        shape);
    bool forced_first = opt->layout && strcmp(opt->layout, "nchw") == 0;
    bool forced_last = opt->layout && strcmp(opt->layout, "nhwc") == 0;
    for (uint32_t i = 0; i < a->rank; i++)
        d[4 - a->rank + i] = a->dims[i];
    if (a->rank == 2) // height and width alone
        forced_first = true;
    bool first = forced_first || (!forced_last && is_channels(d[1]));
    uint64_t c = first ? d[1] : d[3], h = first ? d[2] : d[1], w = first ? d[3] : d[2];
    if (d[0] != 1 || !is_channels(c) || h > INT32_MAX || w > INT32_MAX || !h || !w)
        return QRN_FAIL(QRN_E_SHAPE,
                        "%s: input '%s' has shape %s: expected one picture of 1 or 3 channels "
                        "(--layout nchw or nhwc says where they are)",
                        path, input, shape);
    *f = (frame){(uint32_t)h, (uint32_t)w, (uint32_t)c, first};
    return QRN_OK;
}

// Scales one axis: `lines` lines of `from` samples, `step` apart, become `to` samples each. The
// window [start, start + extent) of the source is what is shown.
typedef struct axis {
    uint32_t from, to;
    double start, extent;
} axis;

static void scale_line(const axis *x, const float *src, size_t src_step, float *dst,
                       size_t dst_step) {
    double scale = x->extent / x->to;
    double support = scale > 1 ? scale : 1;
    for (uint32_t i = 0; i < x->to; i++) {
        double centre = x->start + (i + 0.5) * scale;
        long first = lround(floor(centre - support)), last = lround(ceil(centre + support));
        double sum = 0, weights = 0;
        for (long k = first < 0 ? 0 : first; k < last && k < (long)x->from; k++) {
            double w = 1 - fabs(((double)k + 0.5 - centre) / support);
            if (w <= 0)
                continue;
            sum += w * (double)src[(size_t)k * src_step];
            weights += w;
        }
        dst[i * dst_step] = (float)(sum / weights);
    }
}

// Which part of the picture is shown, so that its proportions are kept or not.
static void windows(const qt_picture *p, const frame *f, bool stretch, axis *x, axis *y) {
    *x = (axis){p->width, f->width, 0, p->width};
    *y = (axis){p->height, f->height, 0, p->height};
    if (stretch)
        return;
    double sx = (double)p->width / f->width, sy = (double)p->height / f->height;
    double s = sx < sy ? sx : sy;
    x->extent = s * f->width;
    y->extent = s * f->height;
    x->start = (p->width - x->extent) / 2;
    y->start = (p->height - y->extent) / 2;
}

// The picture in floats of 0 to 255 at the frame's size, channels last; NULL when out of memory.
static float *scaled_picture(const qt_picture *p, const frame *f, bool stretch) {
    axis x, y;
    windows(p, f, stretch, &x, &y);
    size_t c = p->channels, n_src = (size_t)p->height * p->width * c;
    float *src = calloc(n_src, sizeof *src);
    float *rows = calloc((size_t)p->height * f->width * c, sizeof *rows);
    float *out = calloc((size_t)f->height * f->width * c, sizeof *out);
    if (src && rows && out) {
        for (size_t i = 0; i < n_src; i++)
            src[i] = p->pixels[i];
        for (size_t row = 0; row < p->height; row++)
            for (size_t k = 0; k < c; k++)
                scale_line(&x, src + row * p->width * c + k, c, rows + row * f->width * c + k, c);
        for (size_t i = 0; i < (size_t)f->width * c; i++)
            scale_line(&y, rows + i, f->width * c, out + i, f->width * c);
    }
    free(src);
    free(rows);
    if (src && rows && out)
        return out;
    free(out);
    return NULL;
}

static void fill(const float *pixels, const frame *f, const qt_picture_options *opt, qt_array *a) {
    size_t area = (size_t)f->height * f->width;
    double largest = opt->largest > 0 ? opt->largest : 1;
    for (size_t i = 0; i < area; i++)
        for (size_t k = 0; k < f->channels; k++) {
            size_t from = opt->bgr ? f->channels - 1 - k : k;
            size_t at = f->channels_first ? k * area + i : i * f->channels + k;
            double v = (double)pixels[i * f->channels + from];
            if (a->type == OX_U8) {
                ((uint8_t *)a->data)[at] = (uint8_t)lround(v);
                continue;
            }
            v = v / 255 * largest;
            if (opt->n_mean)
                v -= opt->mean[opt->n_mean == 1 ? 0 : k];
            if (opt->n_std)
                v /= opt->std[opt->n_std == 1 ? 0 : k];
            ((float *)a->data)[at] = (float)v;
        }
}

qrn_status qt_picture_load(const char *path, const char *input, const qt_picture_options *opt,
                           qt_array *into) {
    frame f;
    QRN_TRY(frame_of(path, input, opt, into, &f));
    if ((opt->n_mean > 1 && opt->n_mean != f.channels) ||
        (opt->n_std > 1 && opt->n_std != f.channels))
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: input '%s' has %u channels, --mean and --std differ",
                        path, input, f.channels);
    if (into->type != OX_F32 && into->type != OX_F16 && into->type != OX_U8)
        return QRN_FAIL(QRN_E_DTYPE, "%s: input '%s' expects %s, not a picture", path, input,
                        ox_type_name(into->type));
    qt_picture p = {0};
    QRN_TRY(qt_picture_read(path, f.channels, &p));
    bool stretch = opt->fit && strcmp(opt->fit, "stretch") == 0;
    if (opt->fit && strcmp(opt->fit, "none") == 0 && (p.width != f.width || p.height != f.height)) {
        free(p.pixels);
        return QRN_FAIL(QRN_E_SHAPE, "%s: %u x %u pixels, input '%s' expects %u x %u", path,
                        p.width, p.height, input, f.width, f.height);
    }
    float *pixels = scaled_picture(&p, &f, stretch);
    free(p.pixels);
    if (!pixels)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory to scale the picture", path);
    qrn_status s = QRN_OK;
    if (into->type == OX_F16) { // through float32: the filter's own precision
        qt_array f32 = {0}, f16 = {0};
        s = qt_array_create(path, OX_F32, into->rank, into->dims, &f32);
        if (s == QRN_OK) {
            fill(pixels, &f, opt, &f32);
            s = qt_array_cast(path, &f32, OX_F16, &f16);
        }
        if (s == QRN_OK)
            memcpy(into->data, f16.data, into->bytes);
        qt_array_free(&f32);
        qt_array_free(&f16);
    } else {
        fill(pixels, &f, opt, into);
    }
    free(pixels);
    return s;
}
