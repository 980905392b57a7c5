// SPDX-License-Identifier: MIT
//
// The grouped-query attention family.
#include "kernels/attention/attention.h"

#include "kernels/walk.h"

#include <math.h>
#include <string.h>

typedef struct gqa_sizes {
    size_t batch, queries, keys, past, total, q_heads, kv_heads, size;
    size_t mask_stride[4]; // of batch, head, query, key; 0 where the mask repeats
} gqa_sizes;

static const qrn_view *operand(const qrn_kcall *k, uint32_t i) {
    return i < k->n_in ? k->in[i] : NULL;
}

static gqa_sizes sizes_of(const qrn_kcall *k) {
    const qrn_gqa_args *a = k->args;
    const qrn_view *past = operand(k, 3), *mask = operand(k, 5);
    gqa_sizes n = {.batch = k->in[0]->dims[0],
                   .queries = k->in[0]->dims[1],
                   .keys = k->in[1]->dims[1],
                   .past = past ? past->dims[2] : 0,
                   .q_heads = a->q_heads,
                   .kv_heads = a->kv_heads,
                   .size = k->in[0]->dims[2] / a->q_heads};
    n.total = n.past + n.keys;
    size_t stride = 1;
    for (uint32_t i = 0; mask && i < mask->rank; i++) { // from the last dimension
        size_t dim = mask->dims[mask->rank - 1 - i];
        n.mask_stride[3 - i] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return n;
}

static size_t mask_at(const gqa_sizes *n, size_t batch, size_t head, size_t query, size_t key) {
    return batch * n->mask_stride[0] + head * n->mask_stride[1] + query * n->mask_stride[2] +
           key * n->mask_stride[3];
}

// How many keys a batch has.
static size_t valid_keys(const qrn_kcall *k, const gqa_sizes *n, size_t batch) {
    const qrn_view *counts = operand(k, 6);
    return counts ? (size_t)qrn_view_int(counts, batch) : n->total;
}

static qrn_status check_counts(const qrn_kcall *k, const gqa_sizes *n) {
    for (size_t b = 0; operand(k, 6) && b < n->batch; b++) {
        int64_t count = qrn_view_int(k->in[6], b);
        if (count < 0 || count > (int64_t)n->total)
            return QRN_E_ARGUMENT;
    }
    return QRN_OK;
}

// Keys 0 .. result-1 are seen by this query.
static size_t visible_keys(const qrn_kcall *k, const gqa_sizes *n, size_t batch, size_t query) {
    const qrn_gqa_args *a = k->args;
    size_t valid = valid_keys(k, n, batch), own = n->total - n->queries + query + 1;
    return a->causal && own < valid ? own : valid;
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/attention/gqa.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/attention/gqa.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    gqa_sizes n = sizes_of(k);
    return qrn_walk_tasks(qrn_view_count(k->in[0]) * n.total, n_threads);
}

static size_t scratch(const qrn_kcall *k) {
    gqa_sizes n = sizes_of(k);
    return k->n_tasks * (n.total + n.size) * sizeof(double);
}

static const qrn_kernel gqa_rows[] = {
    {.name = "gqa_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = gqa_f32_ref,
     .tasks = tasks,
     .scratch = scratch},
    {.name = "gqa_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = gqa_f64_ref,
     .tasks = tasks,
     .scratch = scratch},
};
QRN_FAMILY_FAILS(gqa, sizeof(qrn_gqa_args),
                 "a sequence is shorter than 0 or longer than the cache");
