// SPDX-License-Identifier: MIT
//
// Cutting element-wise work with broadcasting into contiguous blocks.
#include "kernels/eltwise/blocks.h"

#include "kernels/walk.h"

#include <string.h>

#define BUFFER_BYTES 4096
#define LONG_ROW_BYTES 1024      // rows that are not worth a copy
#define BLOCK (BUFFER_BYTES / 8) // elements of a block that is laid out

typedef enum feed_kind {
    DENSE,  // element i of the output meets element i
    LONG,   // a row that repeats, used where it lies
    TILED,  // a row that repeats, several times in the buffer
    SAME,   // one element for each long row of the output: the buffer is filled once for a row
    SPREAD, // anything else: laid out in the buffer, block by block
} feed_kind;

typedef struct feed {
    feed_kind kind;
    const char *data;
    size_t elem;   // bytes
    size_t period; // LONG, TILED: elements of the row
    size_t origin; // TILED: element of the output that the buffer begins with
    size_t whole;  // TILED: elements in the buffer, a multiple of the period
    size_t row;    // SAME: whose element fills the buffer
    qrn_walk walk; // SAME, SPREAD
    _Alignas(64) char buffer[BUFFER_BYTES];
} feed;

bool qrn_block_repeats(const qrn_view *x, const qrn_view *out) {
    uint32_t first = 0;
    while (first < x->rank && x->dims[first] == 1)
        first++;
    return memcmp(x->dims + first, out->dims + out->rank - (x->rank - first),
                  (x->rank - first) * sizeof x->dims[0]) == 0;
}

#define FILL(type)                                                                                 \
    do {                                                                                           \
        type v, *to = (type *)(void *)dst;                                                         \
        memcpy(&v, value, sizeof v);                                                               \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = v;                                                                             \
    } while (0)

// n times the element.
static void fill(char *dst, const char *value, size_t elem, size_t n) {
    if (elem == 1)
        memset(dst, *value, n);
    else if (elem == 2)
        FILL(uint16_t);
    else if (elem == 4)
        FILL(uint32_t);
    else
        FILL(uint64_t);
}

// Fills the buffer with the row over and over, beginning where output element `origin` meets it,
// for up to `most` elements.
static void tile(feed *f, size_t origin, size_t most) {
    size_t bytes = f->period * f->elem, at = origin % f->period * f->elem;
    size_t times = BUFFER_BYTES / bytes, enough = (most + f->period - 1) / f->period;
    times = enough < times ? enough : times;
    memcpy(f->buffer, f->data + at, bytes - at);
    memcpy(f->buffer + bytes - at, f->data, at);
    for (size_t done = bytes, part; done < bytes * times; done += part) {
        part = done < bytes * times - done ? done : bytes * times - done;
        memcpy(f->buffer + done, f->buffer, part);
    }
    f->origin = origin;
    f->whole = times * f->period;
}

static void spread(feed *f, size_t i, size_t n) {
    size_t length = qrn_walk_row(&f->walk), step = qrn_walk_step(&f->walk, 0);
    char *dst = f->buffer;
    for (size_t part; n; i += part, n -= part) {
        size_t within = i % length;
        part = length - within < n ? length - within : n;
        const char *src =
            f->data + (qrn_walk_row_at(&f->walk, 0, i / length) + within * step) * f->elem;
        if (step)
            memcpy(dst, src, part * f->elem);
        else
            fill(dst, src, f->elem, part);
        dst += part * f->elem;
    }
}

static void open_feed(feed *f, const qrn_view *out, qrn_view *x, size_t begin, size_t end) {
    f->data = x->data;
    f->elem = qrn_view_elem(x);
    f->period = qrn_view_count(x);
    if (f->period == qrn_view_count(out)) {
        f->kind = DENSE;
    } else if (!qrn_block_repeats(x, out)) {
        qrn_walk_broadcast(&f->walk, out, &x, 1);
        bool same = qrn_walk_step(&f->walk, 0) == 0 && qrn_walk_row(&f->walk) >= BLOCK;
        f->kind = same ? SAME : SPREAD;
        f->row = SIZE_MAX;
    } else if (f->period * f->elem >= LONG_ROW_BYTES) {
        f->kind = LONG;
    } else {
        f->kind = TILED;
        tile(f, begin, end - begin);
    }
}

// The buffer, filled with the element of a row unless it is already.
static void fill_row(feed *f, size_t row) {
    if (row != f->row)
        fill(f->buffer, f->data + qrn_walk_row_at(&f->walk, 0, row) * f->elem, f->elem,
             BUFFER_BYTES / f->elem);
    f->row = row;
}

// Elements from i on that meet the same one, as many as the buffer holds.
static size_t row_most(const feed *f, size_t i) {
    size_t left = qrn_walk_row(&f->walk) - i % qrn_walk_row(&f->walk);
    size_t room = BUFFER_BYTES / f->elem;
    return left < room ? left : room;
}

// Elements from i on, no more than n, that feed_at() can give in one piece.
static size_t feed_most(const feed *f, size_t i, size_t n) {
    size_t most = n;
    if (f->kind == LONG)
        most = f->period - i % f->period;
    else if (f->kind == TILED)
        most = f->whole - (i - f->origin) % f->period;
    else if (f->kind == SPREAD)
        most = BLOCK;
    else if (f->kind == SAME)
        most = row_most(f, i);
    return most < n ? most : n;
}

static const void *feed_at(feed *f, size_t i, size_t n) {
    switch (f->kind) {
    case DENSE:
        return f->data + i * f->elem;
    case LONG:
        return f->data + i % f->period * f->elem;
    case TILED:
        return f->buffer + (i - f->origin) % f->period * f->elem;
    case SAME:
        fill_row(f, i / qrn_walk_row(&f->walk));
        return f->buffer;
    default:
        spread(f, i, n);
        return f->buffer;
    }
}

void qrn_binary_blocks(const qrn_kcall *k, qrn_block_fn fn, void *context) {
    feed a, b;
    size_t elem = qrn_view_elem(k->out[0]), begin, end;
    qrn_elements(k, 64, &begin, &end);
    if (begin >= end)
        return;
    open_feed(&a, k->out[0], k->in[0], begin, end);
    open_feed(&b, k->out[0], k->in[1], begin, end);
    for (size_t i = begin, n; i < end; i += n) {
        n = feed_most(&b, i, feed_most(&a, i, end - i));
        fn(context, feed_at(&a, i, n), feed_at(&b, i, n), (char *)k->out[0]->data + i * elem, n);
    }
}
