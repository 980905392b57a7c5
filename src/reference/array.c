// SPDX-License-Identifier: MIT
//
// Views of arrays, and moving elements between them.
#include "reference/array.h"

#include "base/mem.h"

#include <string.h>

#define RUN 256 // indices that are numbers at a time

static void count(qrn_nd *a) {
    a->count = 1;
    for (uint32_t d = 0; d < a->rank; d++)
        a->count *= a->dims[d];
}

bool qrn_nd_init(qrn_nd *a, qrn_dtype t, uint32_t rank, const size_t *dims, void *data) {
    size_t bytes = qrn_elem_of(t);
    bool fits = rank <= QRN_ND_RANK;
    *a = (qrn_nd){.dtype = t, .kind = qrn_kind_of(t), .elem = bytes, .data = data};
    a->rank = fits ? rank : 0;
    for (uint32_t d = a->rank; d-- > 0 && fits;) {
        a->dims[d] = dims[d];
        a->steps[d] = (ptrdiff_t)bytes;
        fits = dims[d] == 0 || (qrn_mul_size(bytes, dims[d], &bytes) && bytes <= SIZE_MAX / 8);
    }
    if (fits)
        count(a);
    return fits;
}

qrn_nd qrn_nd_scalar(qrn_dtype t, void *data) {
    qrn_nd a;
    qrn_nd_init(&a, t, 0, NULL, data);
    return a;
}

qrn_nd qrn_nd_bits(const qrn_nd *a) {
    qrn_nd b = *a;
    b.kind = QRN_KIND_UNSIGNED;
    b.dtype = a->elem == 1   ? QRN_DTYPE_U8
              : a->elem == 2 ? QRN_DTYPE_U16
              : a->elem == 4 ? QRN_DTYPE_U32
                             : QRN_DTYPE_U64;
    return b;
}

qrn_num qrn_nd_get(const qrn_nd *a, size_t i) {
    qrn_num v;
    qrn_nums_load(&v, a->dtype, a->data + i * a->elem, 0, 1);
    return v;
}

void qrn_nd_set(const qrn_nd *a, size_t i, qrn_num v) {
    qrn_nums_store(&v, a->dtype, a->data + i * a->elem, 0, 1);
}

// --- Views

bool qrn_nd_join(uint32_t *rank, size_t *dims, const qrn_nd *a) {
    uint32_t lead = a->rank > *rank ? a->rank - *rank : 0;
    if (lead) {
        memmove(dims + lead, dims, *rank * sizeof *dims);
        for (uint32_t d = 0; d < lead; d++)
            dims[d] = 1;
        *rank = a->rank;
    }
    for (uint32_t d = 0; d < a->rank; d++) {
        size_t *dim = &dims[*rank - a->rank + d];
        if (*dim != a->dims[d] && *dim != 1 && a->dims[d] != 1)
            return false;
        *dim = *dim == 1 ? a->dims[d] : *dim;
    }
    return true;
}

bool qrn_nd_expand(qrn_nd *a, uint32_t rank, const size_t *dims) {
    if (a->rank > rank)
        return false;
    while (a->rank < rank)
        qrn_nd_insert(a, 0, 1, 0);
    for (uint32_t d = 0; d < rank; d++) {
        if (a->dims[d] == dims[d])
            continue;
        if (a->dims[d] != 1)
            return false;
        a->dims[d] = dims[d];
        a->steps[d] = 0;
    }
    count(a);
    return true;
}

void qrn_nd_permute(qrn_nd *a, const uint32_t *perm) {
    qrn_nd b = *a;
    for (uint32_t d = 0; d < a->rank; d++) {
        a->dims[d] = b.dims[perm[d]];
        a->steps[d] = b.steps[perm[d]];
    }
}

void qrn_nd_slice(qrn_nd *a, uint32_t d, int64_t start, int64_t step, size_t n) {
    if (n)
        a->data += start * a->steps[d];
    a->steps[d] *= n > 1 ? step : 0;
    a->dims[d] = n;
    count(a);
}

void qrn_nd_drop(qrn_nd *a, uint32_t d) {
    a->rank--;
    memmove(a->dims + d, a->dims + d + 1, (a->rank - d) * sizeof *a->dims);
    memmove(a->steps + d, a->steps + d + 1, (a->rank - d) * sizeof *a->steps);
    count(a);
}

void qrn_nd_insert(qrn_nd *a, uint32_t d, size_t n, ptrdiff_t step) {
    memmove(a->dims + d + 1, a->dims + d, (a->rank - d) * sizeof *a->dims);
    memmove(a->steps + d + 1, a->steps + d, (a->rank - d) * sizeof *a->steps);
    a->dims[d] = n;
    a->steps[d] = step;
    a->rank++;
    count(a);
}

void qrn_nd_along(qrn_nd *a, uint32_t rank, uint32_t d) {
    ptrdiff_t step = a->count > 1 ? a->steps[0] : 0;
    size_t n = a->count;
    a->rank = 0;
    for (uint32_t k = 0; k < rank; k++)
        qrn_nd_insert(a, k, k == d ? n : 1, k == d ? step : 0);
}

size_t qrn_slice_of(size_t n, int64_t *start, int64_t end, int64_t *step) {
    int64_t size = (int64_t)n, low = *step < 0 ? -1 : 0, high = size + low;
    int64_t from = *start < 0 ? *start + size : *start, to = end < 0 ? end + size : end;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    *step = *step < -size ? -(size + 1) : *step > size ? size + 1 : *step;
    *start = from;
    int64_t span = *step < 0 ? from - to : to - from, stride = *step < 0 ? -*step : *step;
    return span <= 0 ? 0 : (size_t)((span + stride - 1) / stride);
}

void qrn_nd_merge(qrn_nd *y, qrn_nd *x, uint32_t n) {
    uint32_t rank = 0; // dimensions that are done
    for (uint32_t d = 0; d < y->rank; d++) {
        size_t dim = y->dims[d];
        if (dim == 1)
            continue;
        bool merge = rank > 0 && y->steps[rank - 1] == y->steps[d] * (ptrdiff_t)dim;
        for (uint32_t k = 0; k < n && merge; k++)
            merge = x[k].steps[rank - 1] == x[k].steps[d] * (ptrdiff_t)dim;
        uint32_t to = merge ? rank - 1 : rank++;
        y->dims[to] = merge ? y->dims[to] * dim : dim;
        y->steps[to] = y->steps[d];
        for (uint32_t k = 0; k < n; k++)
            x[k].steps[to] = x[k].steps[d];
    }
    if (rank == 0) { // one element
        y->dims[rank] = 1;
        y->steps[rank] = 0;
        for (uint32_t k = 0; k < n; k++)
            x[k].steps[rank] = 0;
        rank = 1;
    }
    y->rank = rank;
}

// --- Moving

// n elements of `elem` bytes.
static void copy_run(unsigned char *dst, ptrdiff_t to, const unsigned char *src, ptrdiff_t from,
                     size_t n, size_t elem) {
    if (to == (ptrdiff_t)elem && from == to) {
        memmove(dst, src, n * elem);
        return;
    }
#define EACH(size)                                                                                 \
    case size:                                                                                     \
        for (size_t i = 0; i < n; i++, dst += to, src += from)                                     \
            memmove(dst, src, size);                                                               \
        break
    switch (elem) {
        EACH(1);
        EACH(2);
        EACH(4);
        EACH(8);
    default:
        break;
    }
#undef EACH
}

#define TILE 64

// A tile in which dst[i * to + j] = src[j * from + i], elements of type T. Long lines are read
// whole, however far apart they lie.
#define TRANSPOSE(T)                                                                               \
    do {                                                                                           \
        T tile[TILE][TILE];                                                                        \
        bool whole = n > 16;                                                                       \
        for (size_t j = 0; j < m && whole; j++)                                                    \
            memcpy(tile[j], src + (ptrdiff_t)j * from, n * sizeof(T));                             \
        const unsigned char *lines = whole ? (const unsigned char *)tile : src;                    \
        ptrdiff_t step = whole ? (ptrdiff_t)sizeof tile[0] : from;                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            const unsigned char *s = lines + i * sizeof(T);                                        \
            unsigned char *d = dst + (ptrdiff_t)i * to;                                            \
            for (size_t j = 0; j < m; j++, s += step, d += sizeof(T))                              \
                memcpy(d, s, sizeof(T));                                                           \
        }                                                                                          \
    } while (0)

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint32_t words4 __attribute__((vector_size(16)));

// Sixteen vectors, of which each half goes between the elements of the other: four times that is a
// transposition.
static void interleave(const bytes16 *r, bytes16 *to) {
    for (int j = 0; j < 8; j++) {
        bytes16 a = r[j], b = r[j + 8];
        to[2 * j] =
            __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        to[2 * j + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                                14, 30, 15, 31);
    }
}

static void transpose_16x16(unsigned char *dst, ptrdiff_t to, const unsigned char *src,
                            ptrdiff_t from) {
    bytes16 r[16], s[16];
    for (ptrdiff_t j = 0; j < 16; j++)
        memcpy(&r[j], src + j * from, 16);
    interleave(r, s);
    interleave(s, r);
    interleave(r, s);
    interleave(s, r);
    for (ptrdiff_t i = 0; i < 16; i++)
        memcpy(dst + i * to, &r[i], 16);
}

// Elements of four bytes.
static void transpose_4x4(unsigned char *dst, ptrdiff_t to, const unsigned char *src,
                          ptrdiff_t from) {
    words4 r[4], s[4];
    for (ptrdiff_t j = 0; j < 4; j++)
        memcpy(&r[j], src + j * from, 16);
    for (int j = 0; j < 2; j++) {
        s[2 * j] = __builtin_shufflevector(r[j], r[j + 2], 0, 4, 1, 5);
        s[2 * j + 1] = __builtin_shufflevector(r[j], r[j + 2], 2, 6, 3, 7);
    }
    for (int j = 0; j < 2; j++) {
        r[2 * j] = __builtin_shufflevector(s[j], s[j + 2], 0, 4, 1, 5);
        r[2 * j + 1] = __builtin_shufflevector(s[j], s[j + 2], 2, 6, 3, 7);
    }
    for (ptrdiff_t i = 0; i < 4; i++)
        memcpy(dst + i * to, &r[i], 16);
}

// Blocks by `block`, and the elements beside them one by one.
#define TRANSPOSE_IN_BLOCKS(T, block, size)                                                        \
    do {                                                                                           \
        size_t whole_n = n / (size) * (size), whole_m = m / (size) * (size);                       \
        for (size_t i = 0; i < whole_n; i += (size))                                               \
            for (size_t j = 0; j < whole_m; j += (size))                                           \
                block(dst + (ptrdiff_t)i * to + j * sizeof(T), to,                                 \
                      src + (ptrdiff_t)j * from + i * sizeof(T), from);                            \
        for (size_t i = 0; i < n; i++)                                                             \
            for (size_t j = i < whole_n ? whole_m : 0; j < m; j++)                                 \
                memcpy(dst + (ptrdiff_t)i * to + j * sizeof(T),                                    \
                       src + (ptrdiff_t)j * from + i * sizeof(T), sizeof(T));                      \
    } while (0)

static void transpose_tile(unsigned char *dst, ptrdiff_t to, const unsigned char *src,
                           ptrdiff_t from, size_t n, size_t m, size_t elem) {
    if (elem == 1)
        TRANSPOSE_IN_BLOCKS(uint8_t, transpose_16x16, 16);
    else if (elem == 2)
        TRANSPOSE(uint16_t);
    else if (elem == 4)
        TRANSPOSE_IN_BLOCKS(uint32_t, transpose_4x4, 4);
    else
        TRANSPOSE(uint64_t);
}

// A plane whose columns are contiguous in dst and whose rows are in src.
static void transpose(unsigned char *dst, ptrdiff_t to, const unsigned char *src, ptrdiff_t from,
                      size_t rows, size_t columns, size_t elem) {
    for (size_t i = 0; i < rows; i += TILE)
        for (size_t j = 0; j < columns; j += TILE)
            transpose_tile(
                dst + (ptrdiff_t)i * to + j * elem, to, src + (ptrdiff_t)j * from + i * elem, from,
                rows - i < TILE ? rows - i : TILE, columns - j < TILE ? columns - j : TILE, elem);
}

// The dimension that is contiguous in x, when another one is in y; else the last one.
static uint32_t transposed_dim(const qrn_nd *y, const qrn_nd *x) {
    uint32_t last = y->rank - 1;
    ptrdiff_t elem = (ptrdiff_t)y->elem;
    for (uint32_t d = 0; d < last && y->steps[last] == elem && x->steps[last] != elem; d++)
        if (x->steps[d] == elem && y->dims[d] >= 4 && y->dims[last] >= 4)
            return d;
    return last;
}

// Copies between merged views that begin elsewhere.
static void copy_merged(const qrn_nd *y, unsigned char *dst, const qrn_nd *x,
                        const unsigned char *src) {
    qrn_index i = {{0}};
    uint32_t inner = y->rank - 1;
    size_t n = y->dims[inner];
    do
        copy_run(dst + qrn_index_offset(&i, inner, y->steps), y->steps[inner],
                 src + qrn_index_offset(&i, inner, x->steps), x->steps[inner], n, y->elem);
    while (qrn_index_next(&i, inner, y->dims));
}

void qrn_nd_copy(const qrn_nd *to, const qrn_nd *from) {
    if (to->count == 0)
        return;
    qrn_nd y = *to, x = *from;
    qrn_nd_merge(&y, &x, 1);
    uint32_t d = transposed_dim(&y, &x), last = y.rank - 1;
    if (d == last) {
        copy_merged(&y, y.data, &x, x.data);
        return;
    }
    size_t rows = y.dims[d], columns = y.dims[last];
    ptrdiff_t out = y.steps[d], in = x.steps[last];
    y.rank = last; // the plane leaves the walk
    x.rank = last;
    qrn_nd_drop(&y, d);
    qrn_nd_drop(&x, d);
    qrn_index i = {{0}};
    do
        transpose(y.data + qrn_index_offset(&i, y.rank, y.steps), out,
                  x.data + qrn_index_offset(&i, y.rank, x.steps), in, rows, columns, y.elem);
    while (qrn_index_next(&i, y.rank, y.dims));
}

void qrn_nd_fill(const qrn_nd *y, const void *element) {
    qrn_nd x = *y;
    x.data = (unsigned char *)(uintptr_t)element;
    memset(x.steps, 0, sizeof x.steps);
    qrn_nd_copy(y, &x);
}

void qrn_nd_paste(qrn_nd *y, qrn_nd *x, const int64_t *starts) {
    for (uint32_t d = 0; d < x->rank; d++) {
        int64_t first = starts[d] < 0 ? -starts[d] : 0, end = (int64_t)x->dims[d] - starts[d];
        end = end < (int64_t)y->dims[d] ? end : (int64_t)y->dims[d];
        if (end <= first)
            return;
        qrn_nd_slice(y, d, first, 1, (size_t)(end - first));
        qrn_nd_slice(x, d, first + starts[d], 1, (size_t)(end - first));
    }
    qrn_nd_copy(y, x);
}

// The rows that n indices name, of which each is `block` of x and y.
static bool gather_run(const qrn_nd *block, unsigned char *dst, ptrdiff_t to,
                       const unsigned char *src, ptrdiff_t from, const qrn_num *index, size_t n,
                       int64_t limit, int64_t *bad) {
    for (size_t k = 0; k < n; k++, dst += to) {
        int64_t at = *bad = index[k].i;
        if (at < -limit || at >= limit)
            return false;
        const unsigned char *row = src + (at < 0 ? at + limit : at) * from;
        if (block[0].rank == 1) // no walk: rows may be single elements
            copy_run(dst, block[0].steps[0], row, block[1].steps[0], block[0].dims[0],
                     block[0].elem);
        else
            copy_merged(&block[0], dst, &block[1], row);
    }
    return true;
}

bool qrn_nd_gather(const qrn_nd *y, const qrn_nd *x, uint32_t axis, const qrn_nd *index,
                   int64_t *bad) {
    qrn_nd block[2] = {*y, *x}, to = *y, from = *index; // a row, and what walks over the indices
    qrn_num v[RUN];
    qrn_index outer = {{0}};
    size_t n;
    if (y->count == 0)
        return true;
    for (uint32_t d = 0; d < axis + index->rank; d++)
        qrn_nd_drop(&block[0], 0);
    for (uint32_t d = 0; d <= axis; d++)
        qrn_nd_drop(&block[1], 0);
    for (uint32_t d = 0; d < axis; d++)
        qrn_nd_drop(&to, 0);
    to.rank = index->rank;
    qrn_nd_merge(&block[0], &block[1], 1);
    qrn_nd_merge(&to, &from, 1);
    uint32_t inner = to.rank - 1;
    do {
        qrn_index i = {{0}};
        do
            for (size_t done = 0; done < to.dims[inner]; done += n) {
                ptrdiff_t step = (ptrdiff_t)done;
                n = to.dims[inner] - done < RUN ? to.dims[inner] - done : RUN;
                qrn_nums_load(v, from.dtype,
                              from.data + qrn_index_offset(&i, inner, from.steps) +
                                  step * from.steps[inner],
                              from.steps[inner], n);
                if (!gather_run(block,
                                y->data + qrn_index_offset(&outer, axis, y->steps) +
                                    qrn_index_offset(&i, inner, to.steps) + step * to.steps[inner],
                                to.steps[inner], x->data + qrn_index_offset(&outer, axis, x->steps),
                                x->steps[axis], v, n, (int64_t)x->dims[axis], bad))
                    return false;
            }
        while (qrn_index_next(&i, inner, to.dims));
    } while (qrn_index_next(&outer, axis, x->dims));
    return true;
}
