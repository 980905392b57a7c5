// SPDX-License-Identifier: MIT
//
// Joining, cutting, padding, copying: contiguous runs of bytes.
#include "kernels/move/join.h"

#include "kernels/move/strided.h"

#include <string.h>

// Copies a run; with few runs all tasks share each of them, else whole runs are shared out.
typedef struct sharing {
    size_t begin, end; // runs of this task
    bool cut_runs;
    uint32_t task, n_tasks;
} sharing;

static sharing share(const qrn_kcall *k, size_t n_runs) {
    sharing s = {0, n_runs, n_runs < 4u * k->n_tasks, k->task, k->n_tasks};
    if (!s.cut_runs)
        qrn_split(n_runs, 1, k->task, k->n_tasks, &s.begin, &s.end);
    return s;
}

static void copy_run(const sharing *s, char *dst, const char *src, size_t bytes) {
    size_t begin = 0, end = bytes;
    if (dst == src) // lies in its place already
        return;
    if (s->cut_runs)
        qrn_split(bytes, 64, s->task, s->n_tasks, &begin, &end);
    if (end > begin)
        memcpy(dst + begin, src + begin, end - begin);
}

static qrn_status concat_raw(const qrn_kcall *k) {
    const qrn_join_args *a = k->args;
    const qrn_view *y = k->out[0];
    size_t elem = qrn_view_elem(y), row_bytes = elem * qrn_view_span(y, a->axis, y->rank);
    sharing s = share(k, qrn_view_span(y, 0, a->axis));
    size_t at = 0;
    for (uint32_t i = 0; i < k->n_in; i++) {
        const qrn_view *x = k->in[i];
        size_t run = elem * qrn_view_span(x, a->axis, x->rank);
        for (size_t row = s.begin; row < s.end; row++)
            copy_run(&s, (char *)y->data + row * row_bytes + at, (const char *)x->data + row * run,
                     run);
        at += run;
    }
    return QRN_OK;
}

static qrn_status split_raw(const qrn_kcall *k) {
    const qrn_join_args *a = k->args;
    const qrn_view *x = k->in[0];
    size_t elem = qrn_view_elem(x), row_bytes = elem * qrn_view_span(x, a->axis, x->rank);
    sharing s = share(k, qrn_view_span(x, 0, a->axis));
    size_t at = 0;
    for (uint32_t i = 0; i < k->n_out; i++) {
        const qrn_view *y = k->out[i];
        size_t run = elem * qrn_view_span(y, a->axis, y->rank);
        for (size_t row = s.begin; row < s.end; row++)
            copy_run(&s, (char *)y->data + row * run, (const char *)x->data + row * row_bytes + at,
                     run);
        at += run;
    }
    return QRN_OK;
}

// Position in x of position i of y along one dimension; -1: the fill value.
static int64_t pad_source(const qrn_pad_args *a, uint32_t d, int64_t i, int64_t dim) {
    i -= a->before[d];
    if (i >= 0 && i < dim)
        return i;
    switch (a->scheme) {
    case QRN_PAD_SYMMETRIC:
        return i < 0 ? -1 - i : 2 * dim - 1 - i;
    case QRN_PAD_REFLECT:
        return i < 0 ? -i : 2 * dim - 2 - i;
    case QRN_PAD_EDGE:
        return i < 0 ? 0 : dim - 1;
    default:
        return -1;
    }
}

#define FILL(T)                                                                                    \
    do {                                                                                           \
        T value;                                                                                   \
        memcpy(&value, elem, sizeof value);                                                        \
        for (size_t i = 0; i < bytes; i += sizeof value)                                           \
            memcpy(dst + i, &value, sizeof value);                                                 \
        return;                                                                                    \
    } while (0)

static void fill_run(char *dst, const uint8_t *elem, size_t elem_bytes, size_t bytes) {
    switch (elem_bytes) {
    case 1:
        memset(dst, *elem, bytes);
        return;
    case 2:
        FILL(uint16_t);
    case 4:
        FILL(uint32_t);
    default:
        FILL(uint64_t);
    }
}

// Dimensions behind the last padded one move as one unit.
typedef struct pad_plan {
    uint32_t axis; // last padded dimension
    size_t unit;   // bytes of one step along it
} pad_plan;

static pad_plan plan_pad(const qrn_view *x, const qrn_view *y) {
    uint32_t axis = x->rank - 1;
    while (axis > 0 && x->dims[axis] == y->dims[axis])
        axis--;
    return (pad_plan){axis, qrn_view_elem(x) * qrn_view_span(x, axis + 1, x->rank)};
}

// Row of x, of those before dimension `axis`, that row `row` of y copies; -1: fill.
static int64_t pad_row(const qrn_pad_args *a, const qrn_view *x, const qrn_view *y, uint32_t axis,
                       size_t row) {
    int64_t from = 0;
    size_t scale = 1;
    for (uint32_t d = axis; d-- > 0;) {
        int64_t i = pad_source(a, d, (int64_t)(row % y->dims[d]), x->dims[d]);
        if (i < 0)
            return -1;
        from += i * (int64_t)scale;
        scale *= x->dims[d];
        row /= y->dims[d];
    }
    return from;
}

// Single elements, as images with channels first have them, are not worth a call each.
#define MIRROR(T)                                                                                  \
    for (size_t i = 0; i < count; i++)                                                             \
        memcpy(dst + i * sizeof(T), src - (ptrdiff_t)i * step, sizeof(T));                         \
    return

// `count` units at dst from src on; each next one comes from `step` bytes before.
static void mirror(char *dst, const char *src, size_t count, ptrdiff_t step, size_t unit) {
    switch (unit) {
    case 1:
        MIRROR(uint8_t);
    case 2:
        MIRROR(uint16_t);
    case 4:
        MIRROR(uint32_t);
    case 8:
        MIRROR(uint64_t);
    default:
        for (size_t i = 0; i < count; i++)
            memcpy(dst + i * unit, src - (ptrdiff_t)i * step, unit);
    }
}

// Positions [begin, end) of a row of y, which lie outside x on one side.
static void pad_edge(const qrn_pad_args *a, const pad_plan *p, size_t elem, const char *src,
                     size_t n, size_t begin, size_t end, char *dst) {
    if (begin == end)
        return;
    if (a->scheme == QRN_PAD_CONSTANT) {
        fill_run(dst + begin * p->unit, a->fill, elem, (end - begin) * p->unit);
        return;
    }
    size_t at = (size_t)pad_source(a, p->axis, (int64_t)begin, (int64_t)n);
    mirror(dst + begin * p->unit, src + at * p->unit, end - begin,
           a->scheme == QRN_PAD_EDGE ? 0 : (ptrdiff_t)p->unit, p->unit);
}

// Rows are those along the last padded dimension; they are counted within planes, those of the
// dimension before it, so that only a plane takes divisions.
static qrn_status pad_raw(const qrn_kcall *k) {
    const qrn_pad_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    pad_plan p = plan_pad(x, y);
    size_t elem = qrn_view_elem(x), n = x->dims[p.axis], before = a->before[p.axis];
    size_t row_bytes = y->dims[p.axis] * p.unit, begin, end;
    uint32_t outer = p.axis ? p.axis - 1 : 0;
    size_t rows = p.axis ? y->dims[outer] : 1, x_rows = p.axis ? x->dims[outer] : 1;
    qrn_split(qrn_view_span(y, 0, p.axis), 1, k->task, k->n_tasks, &begin, &end);
    size_t at = begin < end ? begin % rows : 0;
    int64_t plane = begin < end ? pad_row(a, x, y, outer, begin / rows) : 0;
    for (size_t row = begin; row < end; row++, at++) {
        if (at == rows) {
            at = 0;
            plane = pad_row(a, x, y, outer, row / rows);
        }
        char *dst = (char *)y->data + row * row_bytes;
        int64_t from = p.axis ? pad_source(a, outer, (int64_t)at, (int64_t)x_rows) : 0;
        if (from < 0 || plane < 0) {
            fill_run(dst, a->fill, elem, row_bytes);
            continue;
        }
        const char *src =
            (const char *)x->data + ((size_t)plane * x_rows + (size_t)from) * n * p.unit;
        pad_edge(a, &p, elem, src, n, 0, before, dst);
        memcpy(dst + before * p.unit, src, n * p.unit);
        pad_edge(a, &p, elem, src, n, before + n, y->dims[p.axis], dst);
    }
    return QRN_OK;
}

static qrn_status copy_raw(const qrn_kcall *k) {
    size_t begin, end;
    const qrn_view *x = k->in[0];
    qrn_split(qrn_view_count(x) * qrn_view_elem(x), 64, k->task, k->n_tasks, &begin, &end);
    if (end > begin && x->data != k->out[0]->data)
        memcpy((char *)k->out[0]->data + begin, (const char *)x->data + begin, end - begin);
    return QRN_OK;
}

// The dims that in[1] asks for, which must fit the largest ones of out[0].
static bool wanted_dims(const qrn_kcall *k, uint32_t *dims) {
    const qrn_view *x = k->in[0], *shape = k->in[1], *y = k->out[0];
    size_t count = qrn_view_count(x), known = 1;
    uint32_t open = UINT32_MAX;
    if (qrn_view_count(shape) != y->rank)
        return false;
    for (uint32_t d = 0; d < y->rank; d++) {
        int64_t v = qrn_view_int(shape, d);
        if (v == -1 && open == UINT32_MAX) {
            open = d;
            continue;
        }
        if (v == 0 && d < x->rank)
            v = x->dims[d];
        if (v < 0 || v > y->dims[d])
            return false;
        dims[d] = (uint32_t)v;
        known *= dims[d];
    }
    if (open == UINT32_MAX)
        return known == count;
    if (known == 0 || count % known || count / known > y->dims[open])
        return false;
    dims[open] = (uint32_t)(count / known);
    return true;
}

static qrn_status reshape_raw(const qrn_kcall *k) {
    const qrn_reshape_args *a = k->args;
    uint32_t dims[QRN_MAX_RANK];
    if (a->read_shape) { // one task
        if (!wanted_dims(k, dims))
            return QRN_E_ARGUMENT;
        memcpy(k->out[0]->dims, dims, k->out[0]->rank * sizeof dims[0]);
    }
    return copy_raw(k);
}

static uint32_t reshape_tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_reshape_args *a = k->args;
    return a->read_shape ? 1 : qrn_move_tasks(k, n_threads);
}

static uint32_t split_tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_view *x = k->in[0];
    return qrn_view_count(x) * qrn_view_elem(x) < 65536 ? 1 : n_threads;
}

static const qrn_kernel concat_rows[] = {
    {.name = "concat_raw", .domain = QRN_DOMAIN_RAW, .fn = concat_raw, .tasks = qrn_move_tasks},
};
QRN_FAMILY(concat, sizeof(qrn_join_args));

static const qrn_kernel split_rows[] = {
    {.name = "split_raw", .domain = QRN_DOMAIN_RAW, .fn = split_raw, .tasks = split_tasks},
};
QRN_FAMILY(split, sizeof(qrn_join_args));

static const qrn_kernel pad_rows[] = {
    {.name = "pad_raw", .domain = QRN_DOMAIN_RAW, .fn = pad_raw, .tasks = qrn_move_tasks},
};
QRN_FAMILY(pad, sizeof(qrn_pad_args));

static const qrn_kernel copy_rows[] = {
    {.name = "copy_raw", .domain = QRN_DOMAIN_RAW, .fn = copy_raw, .tasks = qrn_move_tasks},
};
QRN_FAMILY(copy, 0);

static const qrn_kernel reshape_rows[] = {
    {.name = "reshape_raw", .domain = QRN_DOMAIN_RAW, .fn = reshape_raw, .tasks = reshape_tasks},
};
QRN_FAMILY(reshape, sizeof(qrn_reshape_args));
