// SPDX-License-Identifier: MIT
//
// Scatter ops: a copy of x, then the updates in row-major order of the indices, so that repeated
// indices have one defined result. One task for that reason.
#include "kernels/move/gather.h"

#include <math.h>
#include <string.h>

// The elements of x that updates from number `at` on of ScatterElements go to, `n` of them in one
// row of the indices; false: an index is out of range.
static bool places(const qrn_kcall *k, size_t at, size_t n, size_t *to) {
    const qrn_scatter_args *a = k->args;
    const qrn_view *x = k->in[0], *idx = k->in[1];
    size_t rest = at, base = 0, step = 1, stride = 1;
    for (uint32_t d = x->rank; d-- > 0;) {
        size_t i = rest % idx->dims[d];
        rest /= idx->dims[d];
        if (d == a->axis)
            stride = step;
        else
            base += i * step;
        step *= x->dims[d];
    }
    return qrn_index_places(idx, at, n, x->dims[a->axis], base, stride,
                            a->axis + 1 == x->rank ? 0 : 1, to);
}

// The next run of updates; 0: none is left.
static size_t next_run(const qrn_kcall *k, size_t at) {
    const qrn_view *idx = k->in[1];
    size_t left = qrn_view_count(idx) - at, row = idx->rank ? idx->dims[idx->rank - 1] : 1;
    if (!left)
        return 0;
    size_t n = row - at % row;
    return n < QRN_PLACES ? n : QRN_PLACES;
}

// The result begins as x. An application may give one buffer for both, a cache into which only the
// updates are written; buffers that overlap otherwise are copied as well.
static void begin_as_x(const qrn_kcall *k, size_t elem) {
    const qrn_view *x = k->in[0];
    if (k->out[0]->data != x->data)
        memmove(k->out[0]->data, x->data, qrn_view_count(x) * elem);
}

// ScatterNd: n tuples of q indices, each naming a slice of `count` elements.
typedef struct slices {
    size_t n, count;
    uint32_t q;
} slices;

static slices slices_of(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *idx = k->in[1];
    uint32_t q = idx->dims[idx->rank - 1];
    return (slices){qrn_view_span(idx, 0, idx->rank - 1), qrn_view_span(x, q, x->rank), q};
}

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define LARGER(a, b) ((b) > (a) || isnan(b) ? (b) : (a)) // not a number stays
#define T float
#define COMBINE combine_f32
#define ELEMENTS scatter_elements_f32
#define ND scatter_nd_f32
#include "kernels/move/scatter.inc"
#undef T
#undef COMBINE
#undef ELEMENTS
#undef ND
#define T double
#define COMBINE combine_f64
#define ELEMENTS scatter_elements_f64
#define ND scatter_nd_f64
#include "kernels/move/scatter.inc"
#undef T
#undef COMBINE
#undef ELEMENTS
#undef ND
#undef ADD
#undef MUL
#undef LARGER
// Integers wrap around.
#define ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define MUL(a, b) ((int64_t)((uint64_t)(a) * (uint64_t)(b)))
#define LARGER(a, b) ((b) > (a) ? (b) : (a))
#define T int64_t
#define COMBINE combine_i64
#define ELEMENTS scatter_elements_i64
#define ND scatter_nd_i64
#include "kernels/move/scatter.inc"

#define PUT(T)                                                                                     \
    for (size_t j = 0; j < n; j++)                                                                 \
        ((T *)y)[to[j]] = ((const T *)from)[j];                                                    \
    break
#define PUT_BY(name, type)                                                                         \
    static void name(void *y, size_t elem, const type *to, size_t n, const void *from) {           \
        switch (elem) {                                                                            \
        case 1:                                                                                    \
            PUT(uint8_t);                                                                          \
        case 2:                                                                                    \
            PUT(uint16_t);                                                                         \
        case 4:                                                                                    \
            PUT(uint32_t);                                                                         \
        default:                                                                                   \
            PUT(uint64_t);                                                                         \
        }                                                                                          \
    }
PUT_BY(put, size_t)
PUT_BY(put_plain, int32_t)

static qrn_status scatter_elements_raw(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    size_t elem = qrn_view_elem(x), to[QRN_PLACES];
    bool flat = x->rank == 1; // indices are places
    begin_as_x(k, elem);
    for (size_t at = 0, n; (n = next_run(k, at)) > 0; at += n) {
        const char *from = (const char *)k->in[2]->data + at * elem;
        const int32_t *plain = flat ? qrn_index_plain(k->in[1], at, n, x->dims[0]) : NULL;
        if (plain) {
            put_plain(k->out[0]->data, elem, plain, n, from);
            continue;
        }
        if (!places(k, at, n, to))
            return QRN_E_ARGUMENT;
        put(k->out[0]->data, elem, to, n, from);
    }
    return QRN_OK;
}

static qrn_status scatter_nd_raw(const qrn_kcall *k) {
    slices s = slices_of(k);
    size_t elem = qrn_view_elem(k->in[0]), run = s.count * elem;
    char *y = k->out[0]->data;
    begin_as_x(k, elem);
    for (size_t i = 0; i < s.n; i++) {
        int64_t to = qrn_index_tuple(k->in[1], i, s.q, k->in[0]->dims);
        if (to < 0)
            return QRN_E_ARGUMENT;
        memcpy(y + (size_t)to * run, (const char *)k->in[2]->data + i * run, run);
    }
    return QRN_OK;
}

static const qrn_kernel scatter_elements_rows[] = {
    {.name = "scatter_elements_raw", .domain = QRN_DOMAIN_RAW, .fn = scatter_elements_raw},
    {.name = "scatter_elements_f32", .domain = QRN_DOMAIN_F32, .fn = scatter_elements_f32},
    {.name = "scatter_elements_f64", .domain = QRN_DOMAIN_F64, .fn = scatter_elements_f64},
    {.name = "scatter_elements_i64", .domain = QRN_DOMAIN_I64, .fn = scatter_elements_i64},
};
QRN_FAMILY_FAILS(scatter_elements, sizeof(qrn_scatter_args), QRN_BAD_INDEX);

static const qrn_kernel scatter_nd_rows[] = {
    {.name = "scatter_nd_raw", .domain = QRN_DOMAIN_RAW, .fn = scatter_nd_raw},
    {.name = "scatter_nd_f32", .domain = QRN_DOMAIN_F32, .fn = scatter_nd_f32},
    {.name = "scatter_nd_f64", .domain = QRN_DOMAIN_F64, .fn = scatter_nd_f64},
    {.name = "scatter_nd_i64", .domain = QRN_DOMAIN_I64, .fn = scatter_nd_i64},
};
QRN_FAMILY_FAILS(scatter_nd, sizeof(qrn_scatter_args), QRN_BAD_INDEX);
