// SPDX-License-Identifier: MIT
//
// Sparse constants, stored as a tree of dimensions: each level is dense, or lists which of its
// indices are there. They are expanded when the file is read.
#include "frontend/tflite/internal.h"
#include "frontend/tflite/schema.h"

#include <string.h>

#define MAX_LEVELS (2 * OX_MAX_RANK)
#define MAX_GROWTH 64 // of the expanded constant, over what is stored

typedef struct level {
    uint32_t dim;                // the tensor's dimension, or that of a block behind them
    bool dense;                  // `size` indices; else listed
    uint32_t size;               // of a dense one
    qc_vector segments, indices; // of a listed one: where each list begins, and what is in it
    size_t width[2];             // bytes of their elements
} level;

typedef struct expansion {
    level levels[MAX_LEVELS];
    uint32_t n_levels, rank;
    const int64_t *dims;
    uint32_t block_map[MAX_LEVELS], block_size[MAX_LEVELS];
    const uint8_t *from;
    uint8_t *to;
    size_t elem, n_values, next; // bytes of an element; values stored, and used so far
    uint32_t at[MAX_LEVELS];     // index by dimension, blocks behind the tensor's own
} expansion;

static uint32_t element(const qc_vector *v, size_t width, uint32_t i) {
    if (width == 4)
        return (uint32_t)qc_vector_i32(v, i);
    uint32_t low = qc_vector_u8(v, (uint32_t)(i * width));
    return width == 1 ? low : low | (uint32_t)qc_vector_u8(v, (uint32_t)(i * width + 1)) << 8;
}

// A union of vectors: int32, uint16 or uint8.
static bool read_list(const qc_table *t, unsigned field, qc_vector *out, size_t *width) {
    static const uint8_t widths[] = {0, 4, 2, 1};
    uint8_t type = qc_flat_u8(t, field, 0);
    qc_table list;
    if (type < 1 || type > 3 || !qc_flat_table(t, field + 1, &list))
        return false;
    *width = widths[type];
    return qc_flat_vector(&list, 0, *width, out);
}

static bool read_level(const qc_table *t, level *out) {
    out->dense = qc_flat_u8(t, 0, 0) == 0;
    out->size = qc_flat_u32(t, 1, 0);
    return out->dense || (read_list(t, 2, &out->segments, &out->width[0]) &&
                          read_list(t, 4, &out->indices, &out->width[1]));
}

// Stores the next value at the place that `at` gives; false: outside.
static bool store(expansion *x) {
    uint32_t index[OX_MAX_RANK];
    size_t place = 0;
    memcpy(index, x->at, x->rank * sizeof *index);
    for (uint32_t b = x->rank; b < x->n_levels; b++) {
        uint32_t d = x->block_map[b - x->rank];
        uint64_t moved = (uint64_t)index[d] * x->block_size[b - x->rank] + x->at[b];
        if (moved > UINT32_MAX)
            return false;
        index[d] = (uint32_t)moved;
    }
    for (uint32_t d = 0; d < x->rank; d++) {
        if (index[d] >= x->dims[d])
            return false;
        place = place * (size_t)x->dims[d] + index[d];
    }
    if (x->next >= x->n_values)
        return false;
    memcpy(x->to + place * x->elem, x->from + x->next++ * x->elem, x->elem);
    return true;
}

// `list` is the number of this level's list: one for each index of the level above.
static bool expand(expansion *x, uint32_t depth, uint64_t list) {
    if (depth == x->n_levels)
        return store(x);
    const level *l = &x->levels[depth];
    if (l->dense) {
        for (uint32_t i = 0; i < l->size; i++) {
            x->at[l->dim] = i;
            if (!expand(x, depth + 1, list * l->size + i))
                return false;
        }
        return true;
    }
    if (list + 1 >= l->segments.n)
        return false;
    uint32_t first = element(&l->segments, l->width[0], (uint32_t)list);
    uint32_t end = element(&l->segments, l->width[0], (uint32_t)list + 1);
    if (first > end || end > l->indices.n)
        return false;
    for (uint32_t i = first; i < end; i++) {
        x->at[l->dim] = element(&l->indices, l->width[1], i);
        if (!expand(x, depth + 1, i))
            return false;
    }
    return true;
}

// Levels in the order in which they are stored, and where blocks belong. Dense levels must not have
// more indices than the tensor has elements: they are walked through whatever lies below them.
static bool read_levels(const qc_table *sparsity, size_t count, expansion *x) {
    qc_vector order, map, metadata;
    qc_flat_vector(sparsity, 0, 4, &order);
    qc_flat_vector(sparsity, 1, 4, &map);
    qc_flat_vector(sparsity, 2, 4, &metadata);
    x->n_levels = order.n;
    if (order.n > MAX_LEVELS || metadata.n != order.n || map.n + x->rank != order.n)
        return false;
    size_t walked = 1;
    for (uint32_t i = 0; i < order.n; i++) {
        qc_table t;
        level *l = &x->levels[i];
        l->dim = (uint32_t)qc_vector_i32(&order, i);
        if (!qc_vector_table(&metadata, i, &t) || !read_level(&t, l) || l->dim >= order.n)
            return false;
        if (l->dense && (l->size == 0 || l->size > count / walked))
            return false;
        walked *= l->dense ? l->size : 1;
        if (l->dim >= x->rank)
            x->block_size[l->dim - x->rank] = l->dense ? l->size : 0;
    }
    for (uint32_t b = 0; b < map.n; b++) {
        x->block_map[b] = (uint32_t)qc_vector_i32(&map, b);
        if (x->block_map[b] >= x->rank || x->block_size[b] == 0)
            return false;
    }
    return true;
}

qrn_status tl_expand_sparse(tl_reader *r, const qc_table *sparsity, const tl_tensor *t,
                            const uint8_t *data, size_t bytes, uint8_t **out, size_t *out_bytes) {
    size_t elem = ox_type_bits(t->info.type) / 8, count = 1;
    for (uint32_t d = 0; d < t->info.rank; d++) {
        if (t->info.dims[d] < 1 || (size_t)t->info.dims[d] > SIZE_MAX / 8 / count)
            return tl_broken(r, "tensor '%s': sparse, of an impossible shape", t->name);
        count *= (size_t)t->info.dims[d];
    }
    if (elem == 0 || count * elem > MAX_GROWTH * bytes + (1 << 16))
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%.500s: tensor '%s': a sparse constant of %zu values in %zu bytes",
                        r->m->path, t->name, count, bytes);
    expansion x = {.rank = t->info.rank,
                   .dims = t->info.dims,
                   .from = data,
                   .elem = elem,
                   .n_values = bytes / elem};
    QRN_TRY(tl_room(r, count, elem, &x.to));
    bool ok = read_levels(sparsity, count, &x) && expand(&x, 0, 0) && x.next == x.n_values;
    QRN_TRY(tl_flat_status(r));
    if (!ok)
        return tl_broken(r, "tensor '%s': its sparse values do not fit its shape", t->name);
    *out = x.to;
    *out_bytes = count * elem;
    return QRN_OK;
}
