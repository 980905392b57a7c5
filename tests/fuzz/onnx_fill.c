// SPDX-License-Identifier: MIT
//
// Contents of constants. A filler is what an op reads them as: axes, a shape, pads, a scale; a list
// after '#', the sizes of named dimensions after '@'. Without one: any small numbers.
#include "onnx_draw.h"

#include "base/fp16.h"

#include <stdlib.h>

typedef struct filling {
    source *s;
    const d_base *b;
    int type;
    uint32_t n; // wanted; 0: any number
    double *out;
    uint32_t cap;
} filling;

static double pick(source *s, const double *list, uint32_t n) { return list[draw_below(s, n)]; }
#define PICK(s, ...)                                                                               \
    pick((s), (const double[]){__VA_ARGS__},                                                       \
         (uint32_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

static uint32_t rank_of(const filling *f) { return f->b->rank > 0 ? (uint32_t)f->b->rank : 0; }

static double any_axis(const filling *f) {
    uint32_t r = rank_of(f);
    int32_t a = r ? (int32_t)draw_below(f->s, r) : 0;
    return draw_chance(f->s, 30) ? a - (int32_t)r : a;
}

static uint32_t fill_axes(const filling *f) {
    uint32_t r = rank_of(f), n = 0;
    for (uint32_t i = 0; i < r && n < f->cap; i++)
        if (draw_chance(f->s, 50))
            f->out[n++] = draw_chance(f->s, 20) ? (double)i - r : i;
    if (n == 0 && draw_chance(f->s, 80))
        f->out[n++] = any_axis(f);
    return n;
}

// The elements of the first input in another shape.
static uint32_t fill_shape(const filling *f) {
    uint32_t n = 0, r = rank_of(f);
    for (uint32_t i = 0; i < r && n + 2 < f->cap; i++) {
        if (n && draw_chance(f->s, 40))
            f->out[n - 1] *= (double)f->b->dims[i];
        else
            f->out[n++] = (double)f->b->dims[i];
        if (draw_chance(f->s, 10))
            f->out[n++] = 1;
    }
    if (n && draw_chance(f->s, 40))
        f->out[draw_below(f->s, n)] = -1;
    return n;
}

static uint32_t fill_list(const filling *f, const char *text, size_t len) {
    uint32_t n = 0;
    for (const char *p = text, *end = text + len; p < end && n < f->cap; p++) {
        char *after;
        f->out[n++] = strtod(p, &after);
        p = after;
    }
    return n;
}

static double smallest_dim(const filling *f) {
    int64_t least = 4;
    for (int32_t i = 0; i < f->b->rank; i++)
        least = f->b->dims[i] < least ? f->b->dims[i] : least;
    return least > 0 ? (double)least : 1;
}

static double any_number(const filling *f) {
    switch (f->type) {
    case 1:
    case 10:
    case 11:
    case 16:
        return !f->b->whole && draw_chance(f->s, 3)
                   ? PICK(f->s, 0, -0.0, 1e30, -1e9, 1e-30, 65504, 3e38)
                   : (draw_below(f->s, 256) - 128.0) / 64;
    case 2:
        return draw_u8(f->s);
    case 3:
        return (int8_t)draw_u8(f->s);
    case 9:
        return draw_below(f->s, 2);
    default:
        return draw_below(f->s, 4);
    }
}

static double zero_point(const filling *f) {
    double near = (double)draw_below(f->s, 21) - 10;
    return f->type == 2 ? 128 + near : f->type == 4 ? 32768 + near : f->type == 6 ? 0 : near;
}

// Element i for fillers of one number each.
static double one_number(const filling *f, const char *word, size_t len, uint32_t i) {
    source *s = f->s;
#define IS(text) (len == sizeof(text) - 1 && memcmp(word, text, len) == 0)
    if (IS("none"))
        return 0;
    if (IS("one"))
        return 1;
    if (IS("two"))
        return 2;
    if (IS("bit"))
        return draw_below(s, 2);
    if (IS("scale"))
        return !f->b->whole && draw_chance(s, 3)
                   ? PICK(s, 0, -1, 1e-30, 1e30, 65536)
                   : PICK(s, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 1.0 / 256);
    if (IS("zero"))
        return zero_point(f);
    if (IS("low"))
        return PICK(s, -1, 0, -6);
    if (IS("high"))
        return PICK(s, 1, 6, 0.5);
    if (IS("pos"))
        return 1 + draw_below(s, 3);
    if (IS("index") || IS("pool"))
        return draw_chance(s, 10) && IS("index") ? -1.0 : draw_below(s, (uint32_t)smallest_dim(f));
    if (IS("length"))
        return 1 + draw_below(s, 2);
    if (IS("axis"))
        return any_axis(f);
    if (IS("start"))
        return PICK(s, 0, 0, 0, 1, -1, -2, -9);
    if (IS("end"))
        return PICK(s, 1, 2, 9, 9, -1, 2147483647.0);
    if (IS("step"))
        return PICK(s, 1, 2, 3);
    if (IS("repeats"))
        return PICK(s, 1, 1, 2, 3);
    if (IS("pads"))
        return PICK(s, 0, 0, 1, 2, -1);
    if (IS("dims"))
        return 1 + draw_below(s, 5);
    if (IS("up"))
        return i < 2 ? 1 : f->b->whole ? PICK(s, 1, 2, 3) : PICK(s, 1, 2, 2, 0.5, 1.5, 3);
    if (IS("roi"))
        return i % 5 ? draw_below(s, 6) : 0;
    return any_number(f);
#undef IS
}

uint32_t fill_numbers(source *s, const d_base *b, const char *filler, size_t len, int type,
                      uint32_t n, double *out, uint32_t cap) {
    filling f = {s, b, type, n, out, cap};
    uint32_t r = rank_of(&f), made = 0;
    if (n == 0 && len == 4 && memcmp(filler, "axes", 4) == 0)
        return fill_axes(&f);
    if (n == 0 && len == 5 && memcmp(filler, "shape", 5) == 0)
        return fill_shape(&f);
    if (len && filler[0] == '#')
        return fill_list(&f, filler + 1, len - 1);
    if (len == 6 && memcmp(filler, "common", 6) == 0) {
        for (; made < r && made < cap; made++)
            out[made] = (double)b->dims[made];
        return made;
    }
    for (; len && filler[0] == '@' && made + 1 < len && made < cap; made++) {
        char c = filler[made + 1];
        out[made] = c >= '0' && c <= '9' ? c - '0' : (double)b->letters[c - 'a'];
    }
    if (len && filler[0] == '@')
        return made;
    if (n == 0)
        n = len == 4 && memcmp(filler, "pads", 4) == 0 ? 2 * r : draw_below(s, 4);
    for (; made < n && made < cap; made++)
        out[made] = one_number(&f, filler, len, made);
    return made;
}

void fill_store(int type, const double *v, uint32_t n, void *out) {
    for (uint32_t i = 0; i < n; i++) {
        double x = v[i];
        int64_t whole = x > -9e18 && x < 9e18 ? (int64_t)x : 0;
        uint16_t half;
        float single = (float)x;
        uint8_t *at = (uint8_t *)out + i * m_type_bytes(type);
        if (type == 1) {
            memcpy(at, &single, 4);
        } else if (type == 11) {
            memcpy(at, &x, 8);
        } else if (type == 10 || type == 16) {
            half = type == 10 ? qrn_f16_from_f64(x) : qrn_bf16_from_f64(x);
            memcpy(at, &half, 2);
        } else {
            memcpy(at, &whole, m_type_bytes(type)); // the low bytes
        }
    }
}
