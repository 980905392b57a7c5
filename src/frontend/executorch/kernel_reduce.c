// SPDX-License-Identifier: MIT
//
// Operators over whole dimensions: sums, means, extremes, softmax and layer norm.
#include "frontend/executorch/kernel.h"

#include <math.h>

typedef enum how { SUM, MEAN, AMAX, AMIN, ARGMAX, ARGMIN, SOFTMAX, LOG_SOFTMAX } how;

// The dimensions that go, as bits; all of them where none is named.
static uint32_t dims_of(et_call *c, uint32_t i, uint32_t rank) {
    int64_t dims[ET_MAX_RANK];
    uint32_t bits = 0, n = et_absent(c, i) ? 0 : et_ints(c, i, dims);
    for (uint32_t k = 0; k < n; k++)
        bits |= 1u << et_dim_of(c, dims[k], rank);
    return n ? bits : (1u << rank) - 1;
}

// A reduction as two walks: over what stays, and over what goes.
typedef struct plan {
    uint32_t kept, gone, rank;
    int64_t kept_sizes[ET_MAX_RANK], kept_steps[ET_MAX_RANK];
    int64_t gone_sizes[ET_MAX_RANK], gone_steps[ET_MAX_RANK];
    int64_t sizes[ET_MAX_RANK]; // of the result
} plan;

static void make_plan(plan *p, const et_tensor *a, uint32_t bits, bool keep) {
    *p = (plan){0};
    for (uint32_t d = 0; d < a->rank; d++) {
        if (bits >> d & 1) {
            p->gone_sizes[p->gone] = a->sizes[d];
            p->gone_steps[p->gone++] = a->strides[d];
            if (keep)
                p->sizes[p->rank++] = 1;
        } else {
            p->kept_sizes[p->kept] = a->sizes[d];
            p->kept_steps[p->kept++] = a->strides[d];
            p->sizes[p->rank++] = a->sizes[d];
        }
    }
}

static double reduced(const plan *p, const et_tensor *a, int64_t start, int h) {
    et_walk w;
    et_walk_shape(&w, p->gone, p->gone_sizes);
    et_walk_add_steps(&w, start, p->gone_steps);
    double sum = 0, best = 0;
    size_t n = w.left, best_at = 0;
    for (size_t i = 0; i < n; i++, et_walk_next(&w)) {
        double v = et_get(a, w.at[0]);
        sum += v;
        bool more = h == AMAX || h == ARGMAX ? v > best : v < best;
        if (i == 0 || (more && !isnan(best)) || (isnan(v) && !isnan(best))) {
            best = v;
            best_at = i;
        }
    }
    switch (h) {
    case SUM:
        return sum;
    case MEAN:
        return sum / (double)n;
    case ARGMAX:
    case ARGMIN:
        return (double)best_at;
    default:
        return best;
    }
}

static qrn_status run_reduce(et_call *c, int h, uint32_t bits, bool keep, uint32_t out_at) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, out_at);
    plan p;
    if (!a || !out)
        return c->status;
    make_plan(&p, a, bits, keep);
    if (a == out)
        return et_refuse(c, "its input is its output");
    if (h >= AMAX && a->count == 0)
        return et_refuse(c, "a tensor without elements has no extreme");
    if (!et_shape(c, out, p.rank, p.sizes))
        return c->status;
    et_walk from, to;
    et_walk_shape(&from, p.kept, p.kept_sizes);
    et_walk_add_steps(&from, 0, p.kept_steps);
    et_walk_shape(&to, out->rank, out->sizes);
    et_walk_add(&to, out);
    for (; to.left; et_walk_next(&to), et_walk_next(&from))
        et_set(out, to.at[0], reduced(&p, a, from.at[0], h));
    return QRN_OK;
}

static uint32_t rank_of(et_call *c) {
    const et_tensor *a = et_in(c, 0);
    return a ? a->rank : 0;
}

static qrn_status sum_mean(et_call *c, int h) {
    uint32_t bits = dims_of(c, 1, rank_of(c));
    return run_reduce(c, h, bits, et_int(c, 2) != 0, 4);
}

static qrn_status extreme(et_call *c, int h) {
    uint32_t bits = dims_of(c, 1, rank_of(c));
    return run_reduce(c, h, bits, et_int(c, 2) != 0, 3);
}

// One row of a softmax.
static void soften(et_tensor *out, const et_tensor *a, et_walk *w, size_t n, int64_t step_out,
                   int64_t step_a, bool log_form) {
    double most = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double v = et_get(a, w->at[1] + (int64_t)i * step_a);
        most = v > most || isnan(v) ? v : most;
    }
    for (size_t i = 0; i < n; i++)
        sum += exp(et_get(a, w->at[1] + (int64_t)i * step_a) - most);
    for (size_t i = 0; i < n; i++) {
        double v = et_get(a, w->at[1] + (int64_t)i * step_a) - most;
        et_set(out, w->at[0] + (int64_t)i * step_out, log_form ? v - log(sum) : exp(v) / sum);
    }
}

static qrn_status softmax(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 3);
    if (!a || !out || !et_shape(c, out, a->rank, a->sizes))
        return c->status;
    uint32_t dim = et_dim(c, 1, a->rank);
    if (c->status == QRN_OK && out->data < a->data + et_tensor_bytes(a) &&
        a->data < out->data + et_tensor_bytes(out))
        return et_refuse(c, "its input is its output");
    int64_t sizes[ET_MAX_RANK];
    for (uint32_t d = 0; d < a->rank; d++)
        sizes[d] = d == dim && a->sizes[d] ? 1 : a->sizes[d];
    if (c->status != QRN_OK)
        return c->status;
    et_walk w;
    et_walk_shape(&w, a->rank, sizes);
    et_walk_add_steps(&w, 0, out->strides);
    et_walk_add_steps(&w, 0, a->strides);
    size_t n = a->rank ? (size_t)a->sizes[dim] : 1;
    int64_t step_out = a->rank ? out->strides[dim] : 0, step_a = a->rank ? a->strides[dim] : 0;
    for (; w.left; et_walk_next(&w))
        soften(out, a, &w, n, step_out, step_a, h == LOG_SOFTMAX);
    return QRN_OK;
}

// Tensors of a layer norm that are dense, in C order, and as long as needed.
static bool dense(const et_tensor *t) {
    int64_t step = 1;
    for (uint32_t d = t->rank; d-- > 0;) {
        if (t->sizes[d] != 1 && t->strides[d] != step)
            return false;
        step *= t->count ? t->sizes[d] : 0;
    }
    return true;
}

static const et_tensor *weights(et_call *c, uint32_t i, size_t n) {
    const et_tensor *t = et_absent(c, i) ? NULL : et_in(c, i);
    if (t && (t->count != n || !dense(t)))
        et_refuse(c, "argument %u has %zu elements, expected %zu", i, t->count, n);
    return t;
}

static void normalize(et_tensor *const *out, const et_tensor *a, const et_tensor *w,
                      const et_tensor *b, int64_t row, size_t n, double eps) {
    double sum = 0, squares = 0;
    int64_t at = row * (int64_t)n;
    for (size_t i = 0; i < n; i++)
        sum += et_get(a, at + (int64_t)i);
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double v = et_get(a, at + (int64_t)i) - mean;
        squares += v * v;
    }
    double scale = 1 / sqrt(squares / (double)n + eps);
    for (int64_t i = 0; i < (int64_t)n; i++) {
        double v = (et_get(a, at + i) - mean) * scale;
        et_set(out[0], at + i, v * (w ? et_get(w, i) : 1) + (b ? et_get(b, i) : 0));
    }
    et_set(out[1], row, mean);
    et_set(out[2], row, scale);
}

static qrn_status layer_norm(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out[] = {et_out(c, 5), et_out(c, 6), et_out(c, 7)};
    int64_t shape[ET_MAX_RANK], sizes[ET_MAX_RANK];
    uint32_t k = et_ints(c, 1, shape);
    double eps = et_number(c, 4);
    size_t n = 1;
    (void)h;
    if (c->status != QRN_OK)
        return c->status;
    for (uint32_t d = 0; d < k; d++) {
        if (k > a->rank || shape[d] != a->sizes[a->rank - k + d])
            return et_refuse(c, "the normalized shape is not the end of the input's");
        n *= (size_t)shape[d];
    }
    const et_tensor *w = weights(c, 2, n), *b = weights(c, 3, n);
    for (uint32_t d = 0; d < a->rank; d++)
        sizes[d] = d + k < a->rank ? a->sizes[d] : 1;
    if (!et_shape(c, out[0], a->rank, a->sizes) || !et_shape(c, out[1], a->rank, sizes) ||
        !et_shape(c, out[2], a->rank, sizes))
        return c->status;
    if (!dense(a) || !dense(out[0]) || a == out[0] || out[1] == out[0] || out[2] == out[0])
        return et_refuse(c, "its tensors must be dense in C order and different");
    for (size_t row = 0; n && row < a->count / n; row++)
        normalize(out, a, w, b, (int64_t)row, n, eps);
    return QRN_OK;
}

// clang-format off
const et_kernel et_kernels_reduce[] = {
    {"aten::sum.IntList_out", 5, sum_mean, SUM},
    {"aten::mean.out", 5, sum_mean, MEAN},
    {"aten::amax.out", 4, extreme, AMAX},
    {"aten::amin.out", 4, extreme, AMIN},
    {"aten::argmax.out", 4, extreme, ARGMAX},
    {"aten::argmin.out", 4, extreme, ARGMIN},
    {"aten::_softmax.out", 4, softmax, SOFTMAX},
    {"aten::_log_softmax.out", 4, softmax, LOG_SOFTMAX},
    {"aten::native_layer_norm.out", 8, layer_norm, 0},
    {0},
};
