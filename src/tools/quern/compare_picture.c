// SPDX-License-Identifier: MIT
//
// What people look at first: the picture that went into a model, and what came out of it in both
// executions, as a picture, as a map of classes, or as the best classes. Shapes alone say what a
// tensor is; the first set of a batch is shown.
#include "tools/quern/compare.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 8     // height and width of a picture
#define MOST 192    // of what is shown of it
#define MAX_MAP 256 // classes of a map
#define MAX_SHOWN 4 // inputs, and outputs
#define N_BEST 5    // classes
#define MAX_CLASSES 300000

// A tensor seen as height x width x channels.
typedef struct view {
    const double *data;
    size_t high, wide, channels;
    size_t step_y, step_x, step_c;
} view;

static bool is_size(uint64_t n) { return n >= LEAST && n <= 1u << 20; }

// Channels last, or first when only that can be meant.
static bool view_of(const qt_array *a, size_t most_channels, view *out) {
    if ((a->rank != 3 && a->rank != 4) || !a->count)
        return false;
    const uint64_t *d = a->dims + (a->rank - 3);
    *out = (view){.data = a->data};
    if (is_size(d[0]) && is_size(d[1]) && d[2] <= most_channels &&
        (d[2] != 2 || most_channels > 3)) {
        out->high = (size_t)d[0], out->wide = (size_t)d[1], out->channels = (size_t)d[2];
        out->step_c = 1, out->step_x = out->channels, out->step_y = out->channels * out->wide;
    } else if (is_size(d[1]) && is_size(d[2]) && (d[0] == 1 || d[0] == 3)) {
        out->channels = (size_t)d[0], out->high = (size_t)d[1], out->wide = (size_t)d[2];
        out->step_x = 1, out->step_y = out->wide, out->step_c = out->wide * out->high;
    } else {
        return false;
    }
    return true;
}

static double value_at(const view *v, size_t y, size_t x, size_t c) {
    return v->data[y * v->step_y + x * v->step_x + c * v->step_c];
}

// --- pixels

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Base64; n is a multiple of 3.
static json_t *json_bytes(const uint8_t *p, size_t n) {
    char *text = malloc(n / 3 * 4 + 1), *at = text;
    if (!text)
        return NULL;
    for (; n >= 3; n -= 3, p += 3) {
        unsigned bits = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *at++ = digits[bits >> shift & 63];
    }
    json_t *s = json_stringn(text, (size_t)(at - text));
    free(text);
    return s;
}

// The range that becomes black to white; both executions share it.
typedef struct range {
    double low, high;
} range;

static range range_of(const view *v) {
    range r = {INFINITY, -INFINITY};
    size_t n = v->high * v->wide * v->channels;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v->data[i])) {
            r.low = fmin(r.low, v->data[i]);
            r.high = fmax(r.high, v->data[i]);
        }
    return r;
}

static uint8_t shade(range r, double v) {
    double at = r.high > r.low ? (v - r.low) / (r.high - r.low) : 0;
    return isfinite(at) ? (uint8_t)lrint(255 * fmin(1, fmax(0, at))) : 0;
}

// The class of a pixel as a colour; neighbours among the classes differ.
static void colour_class(const view *v, size_t y, size_t x, uint8_t rgb[3]) {
    size_t best = 0;
    for (size_t c = 1; c < v->channels; c++)
        if (value_at(v, y, x, c) > value_at(v, y, x, best))
            best = c;
    for (size_t k = 0; k < 3; k++)
        rgb[k] = (uint8_t)(best ? 55 + (best * (k * 62 + 97) + k * 71) % 201 : 0);
}

static json_t *json_pixels(const view *v, range r, bool is_map) {
    size_t longest = v->high > v->wide ? v->high : v->wide;
    size_t step = longest > MOST ? (longest + MOST - 1) / MOST : 1;
    size_t high = (v->high + step - 1) / step, wide = (v->wide + step - 1) / step;
    uint8_t *rgb = malloc(high * wide * 3);
    if (!rgb)
        return NULL;
    for (size_t y = 0; y < high; y++)
        for (size_t x = 0; x < wide; x++) {
            uint8_t *p = rgb + (y * wide + x) * 3;
            if (is_map)
                colour_class(v, y * step, x * step, p);
            for (size_t k = 0; !is_map && k < 3; k++)
                p[k] = shade(r, value_at(v, y * step, x * step, v->channels == 3 ? k : 0));
        }
    json_t *data = json_bytes(rgb, high * wide * 3);
    free(rgb);
    return data ? json_pack("{s:I,s:I,s:o}", "height", (json_int_t)high, "width", (json_int_t)wide,
                            "rgb", data)
                : NULL;
}

// --- best classes

// One dimension that is not 1.
static bool is_scores(const qt_array *a) {
    size_t wide = 0;
    for (uint32_t i = 0; i < a->rank; i++)
        wide += a->dims[i] > 1;
    return wide == 1 && a->count > 1 && a->count <= MAX_CLASSES;
}

static json_t *json_best(const qt_array *a) {
    json_t *list = json_array();
    size_t taken[N_BEST];
    for (size_t n = 0; n < N_BEST && n < a->count; n++) {
        size_t best = a->count;
        for (size_t i = 0; i < a->count; i++) {
            bool old = false;
            for (size_t k = 0; k < n; k++)
                old = old || taken[k] == i;
            if (!old && (best == a->count || qt_array_at(a, i) > qt_array_at(a, best)))
                best = i;
        }
        taken[n] = best;
        json_array_append_new(list, json_pack("{s:I,s:o}", "class", (json_int_t)best, "score",
                                              qt_json_number(qt_array_at(a, best))));
    }
    return list;
}

// --- layers

static json_t *json_shown(const qt_layer *l, const qt_array *a, const qt_array *b) {
    view va, vb;
    bool picture = view_of(a, 3, &va) && view_of(b, 3, &vb);
    bool map = !picture && view_of(a, MAX_MAP, &va) && view_of(b, MAX_MAP, &vb);
    const char *kind = picture ? "picture" : map ? "map" : is_scores(a) ? "classes" : NULL;
    bool input = strcmp(l->pair.b->role, "input") == 0;
    if (!kind || (input && !picture))
        return NULL;
    range r = {0, 1};
    if (picture)
        r = range_of(&va);
    json_t *first = picture || map ? json_pixels(&va, r, map) : json_best(a);
    json_t *second = picture || map ? json_pixels(&vb, r, map) : json_best(b);
    return json_pack("{s:s,s:b,s:o,s:o,s:o}", "kind", kind, "input", input, "name",
                     qt_json_text(l->pair.b->name), "first", first, "second", second);
}

json_t *qt_compare_pictures(const qt_match *m) {
    json_t *list = json_array();
    size_t shown[2] = {0, 0};
    for (size_t i = 0; i < m->n; i++) {
        const qt_layer *l = &m->layers[i];
        int output = strcmp(l->pair.b->role, "output") == 0;
        if ((!output && strcmp(l->pair.b->role, "input") != 0) || shown[output] == MAX_SHOWN)
            continue;
        qt_array a, b;
        if (qt_layer_load(m, 0, l, &a, &b) != QRN_OK) {
            json_decref(list);
            return NULL;
        }
        json_t *o = a.data ? json_shown(l, &a, &b) : NULL;
        if (o) {
            json_array_append_new(list, o);
            shown[output]++;
        }
        qt_array_free(&a);
        qt_array_free(&b);
    }
    return list;
}
