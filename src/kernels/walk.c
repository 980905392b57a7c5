// SPDX-License-Identifier: MIT
//
// Building and stepping walks.
#include "kernels/walk.h"

// Tasks begin at multiples of this many elements, so that rows keep their alignment.
#define GRAIN 64

void qrn_walk_init(qrn_walk *w, uint32_t n) {
    w->rank = 1;
    w->n = n;
    w->dims[0] = 1;
    for (uint32_t k = 0; k < n; k++)
        w->stride[k][0] = 0;
}

void qrn_walk_push(qrn_walk *w, size_t dim, const size_t *strides) {
    if (dim == 1)
        return;
    uint32_t last = w->rank - 1;
    bool merge = true, first = w->dims[last] == 1;
    for (uint32_t k = 0; k < w->n && !first; k++)
        merge = merge && w->stride[k][last] == dim * strides[k];
    if (first) {
        w->dims[last] = dim;
    } else if (merge) {
        w->dims[last] *= dim;
    } else {
        last = w->rank++;
        w->dims[last] = dim;
    }
    for (uint32_t k = 0; k < w->n; k++)
        w->stride[k][last] = strides[k];
}

void qrn_walk_broadcast(qrn_walk *w, const qrn_view *out, qrn_view *const *in, uint32_t n) {
    size_t stride[QRN_WALK_OPERANDS][QRN_MAX_RANK];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t missing = out->rank - in[k]->rank;
        size_t step = 1;
        for (uint32_t d = out->rank; d-- > 0;) {
            size_t dim = d < missing ? 1 : in[k]->dims[d - missing];
            stride[k][d] = dim == 1 ? 0 : step;
            step *= dim;
        }
    }
    qrn_walk_init(w, n);
    for (uint32_t d = 0; d < out->rank; d++) {
        size_t here[QRN_WALK_OPERANDS];
        for (uint32_t k = 0; k < n; k++)
            here[k] = stride[k][d];
        qrn_walk_push(w, out->dims[d], here);
    }
}

size_t qrn_walk_count(const qrn_walk *w) {
    size_t count = 1;
    for (uint32_t d = 0; d < w->rank; d++)
        count *= w->dims[d];
    return count;
}

size_t qrn_walk_row_at(const qrn_walk *w, uint32_t operand, size_t row) {
    size_t at = 0;
    for (uint32_t d = w->rank - 1; d-- > 0 && row;) {
        at += row % w->dims[d] * w->stride[operand][d];
        row /= w->dims[d];
    }
    return at;
}

qrn_walk_run qrn_walk_begin(const qrn_walk *w, const qrn_kcall *k) {
    qrn_walk_run r = {0};
    size_t from = k->end ? k->begin : 0, to = k->end ? k->end : qrn_walk_count(w);
    qrn_split(to - from, GRAIN, k->task, k->n_tasks, &r.next, &r.end);
    r.next += from;
    r.end += from;
    return r;
}

bool qrn_walk_next(const qrn_walk *w, qrn_walk_run *r) {
    if (r->next >= r->end)
        return false;
    size_t length = qrn_walk_row(w), row = r->next / length, within = r->next % length;
    r->first = r->next;
    r->count = length - within < r->end - r->next ? length - within : r->end - r->next;
    for (uint32_t k = 0; k < w->n; k++)
        r->at[k] = qrn_walk_row_at(w, k, row) + within * qrn_walk_step(w, k);
    r->next += r->count;
    return true;
}
