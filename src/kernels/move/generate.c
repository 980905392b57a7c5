// SPDX-License-Identifier: MIT
//
// NonZero, OneHot and ConstantOfShape.
#include "kernels/move/generate.h"

#include "kernels/move/strided.h"

#include <string.h>

static qrn_status nonzero_raw(const qrn_kcall *k) {
    const qrn_nonzero_args *a = k->args;
    const qrn_view *x = k->in[0];
    qrn_view *y = k->out[0];
    size_t n = qrn_view_count(x), rows = 0, max_rows = y->dims[0];
    int32_t *dst = y->data; // u32 has the same bits
    for (size_t i = 0; i < n; i++) {
        if (qrn_view_real(x, i) == 0.0)
            continue;
        if (rows == max_rows)
            return QRN_E_ARGUMENT;
        size_t rest = i;
        for (uint32_t d = x->rank; d-- > 0;) {
            dst[rows * x->rank + d] = (int32_t)(rest % x->dims[d]);
            rest /= x->dims[d];
        }
        rows++;
    }
    for (size_t i = rows * x->rank; i < max_rows * x->rank; i++)
        dst[i] = -1;
    if (a->write_dims)
        y->dims[0] = (uint32_t)rows;
    return QRN_OK;
}

// n times the element.
static void repeat(char *to, const void *value, size_t elem, size_t n) {
    memcpy(to, value, elem);
    for (size_t done = 1, part; done < n; done += part) {
        part = done < n - done ? done : n - done;
        part = part * elem < 4096 ? part : 4096 / elem; // what is copied stays in a near cache
        memcpy(to + done * elem, to, part * elem);
    }
}

static qrn_status one_hot_raw(const qrn_kcall *k) {
    const qrn_one_hot_args *a = k->args;
    const qrn_view *idx = k->in[0], *y = k->out[0];
    size_t elem = qrn_view_elem(y), depth = y->dims[a->axis];
    size_t inner = qrn_view_span(idx, a->axis, idx->rank), begin, end;
    qrn_split(qrn_view_count(y), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t i = begin, n; i < end; i += n) { // runs of one d
        size_t d = i / inner % depth, from = i / inner / depth * inner + i % inner;
        char *to = (char *)y->data + i * elem;
        if (inner == 1) { // all of an index: off, but for one
            n = depth - d < end - i ? depth - d : end - i;
            int64_t at = qrn_view_int(idx, from);
            repeat(to, a->off, elem, n);
            if (at >= (int64_t)d && at < (int64_t)(d + n))
                memcpy(to + ((size_t)at - d) * elem, a->on, elem);
            continue;
        }
        n = inner - i % inner < end - i ? inner - i % inner : end - i;
        for (size_t l = 0; l < n; l++) {
            bool on = qrn_view_int(idx, from + l) == (int64_t)d;
            memcpy(to + l * elem, on ? a->on : a->off, elem);
        }
    }
    return QRN_OK;
}

static qrn_status fill_raw(const qrn_kcall *k) {
    const qrn_fill_args *a = k->args;
    const qrn_view *y = k->out[0];
    size_t elem = qrn_view_elem(y), n = qrn_view_count(k->in[0]);
    bool scalar = y->rank == 0 && n == 1 && qrn_view_int(k->in[0], 0) == 1;
    if (n != y->rank && !scalar)
        return QRN_E_ARGUMENT;
    for (uint32_t d = 0; d < y->rank; d++)
        if (qrn_view_int(k->in[0], d) != y->dims[d])
            return QRN_E_ARGUMENT;
    qrn_strided s = {0};
    qrn_strided_loop(&s, qrn_view_count(y), 0);
    qrn_strided_copy(&s, a->value, y->data, elem, k->task, k->n_tasks);
    return QRN_OK;
}

static const qrn_kernel nonzero_rows[] = {
    {.name = "nonzero_raw", .domain = QRN_DOMAIN_RAW, .fn = nonzero_raw},
};
QRN_FAMILY(nonzero, sizeof(qrn_nonzero_args));

static const qrn_kernel one_hot_rows[] = {
    {.name = "one_hot_raw", .domain = QRN_DOMAIN_RAW, .fn = one_hot_raw, .tasks = qrn_move_tasks},
};
QRN_FAMILY(one_hot, sizeof(qrn_one_hot_args));

static const qrn_kernel fill_rows[] = {
    {.name = "fill_raw", .domain = QRN_DOMAIN_RAW, .fn = fill_raw, .tasks = qrn_move_tasks},
};
QRN_FAMILY(fill, sizeof(qrn_fill_args));
