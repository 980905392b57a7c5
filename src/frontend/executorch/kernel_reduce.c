// SPDX-License-Identifier: MIT
//
// Operators over whole dimensions: sums, means, extremes, softmax and layer norm.
#include "frontend/executorch/kernel.h"

#include "reference/reduce.h"

#include <math.h>

// The result is argument `out_at`; `arg`: places of extremes instead of them.
static qrn_status reduce(et_call *c, qrn_nd_reduction r, bool arg, uint32_t out_at) {
    qrn_nd x = et_in(c, 0);
    uint32_t mask = et_dims(c, 1, x.rank);
    size_t dims[ET_MAX_RANK];
    bool keep = et_int(c, 2) != 0;
    if (c->status == QRN_OK && (r == QRN_ND_MAX || r == QRN_ND_MIN) && x.count == 0)
        return et_refuse(c, "a tensor without elements has no extreme");
    qrn_nd y = et_result(c, out_at, qrn_nd_reduced(&x, mask, keep, dims), dims);
    if (c->status == QRN_OK && r == QRN_ND_MEAN && x.count == 0 && y.kind != QRN_KIND_FLOAT)
        return et_refuse(c, "a tensor without elements has no mean of type %s",
                         et_type_name((unsigned)y.type));
    if (!et_apart(c, &y, &x))
        return c->status;
    if (arg)
        qrn_nd_arg(&y, &x, mask, r == QRN_ND_MIN, false);
    else
        qrn_nd_reduce(r, &y, &x, mask, QRN_CAST_WRAP);
    return QRN_OK;
}

static qrn_status sum_mean(et_call *c, int r) { return reduce(c, (qrn_nd_reduction)r, false, 4); }
static qrn_status extreme(et_call *c, int r) { return reduce(c, (qrn_nd_reduction)r, false, 3); }
static qrn_status place(et_call *c, int r) { return reduce(c, (qrn_nd_reduction)r, true, 3); }

// --- Lines of elements as doubles

typedef struct line {
    unsigned char *data;
    qrn_dtype dtype;
    ptrdiff_t step;
} line;

static double get(const line *x, size_t i) {
    qrn_num v;
    qrn_nums_read(&v, x->dtype, x->data + (ptrdiff_t)i * x->step, 0, 1, QRN_KIND_FLOAT);
    return v.f;
}

static void set(const line *y, size_t i, double v) {
    qrn_num num = {.f = v};
    qrn_nums_cast(&num, 1, QRN_KIND_FLOAT, y->dtype, QRN_CAST_WRAP);
    qrn_nums_store(&num, y->dtype, y->data + (ptrdiff_t)i * y->step, 0, 1);
}

static void soften(const line *y, const line *x, size_t n, bool log_form) {
    double most = -HUGE_VAL, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double v = get(x, i);
        most = v > most || isnan(v) ? v : most;
    }
    for (size_t i = 0; i < n; i++)
        sum += exp(get(x, i) - most);
    for (size_t i = 0; i < n; i++) {
        double v = get(x, i) - most;
        set(y, i, log_form ? v - log(sum) : exp(v) / sum);
    }
}

static qrn_status softmax(et_call *c, int log_form) {
    qrn_nd x = et_in(c, 0), y = et_result(c, 3, x.rank, x.dims);
    uint32_t dim = et_dim(c, 1, x.rank);
    qrn_index i = {{0}};
    if (!et_apart(c, &y, &x) || x.count == 0)
        return c->status;
    size_t n = x.rank ? x.dims[dim] : 1;
    line from = {.dtype = x.dtype, .step = x.steps[dim]}, to = {.dtype = y.dtype};
    to.step = y.steps[dim];
    if (x.rank)
        x.dims[dim] = 1;
    do {
        from.data = x.data + qrn_index_offset(&i, x.rank, x.steps);
        to.data = y.data + qrn_index_offset(&i, x.rank, y.steps);
        soften(&to, &from, n, log_form != 0);
    } while (qrn_index_next(&i, x.rank, x.dims));
    return QRN_OK;
}

// --- Layer norm

// Are elements dense, in C order?
static bool dense(const qrn_nd *t) {
    ptrdiff_t step = (ptrdiff_t)t->elem;
    for (uint32_t d = t->rank; d-- > 0 && t->count;) {
        if (t->dims[d] != 1 && t->steps[d] != step)
            return false;
        step *= (ptrdiff_t)t->dims[d];
    }
    return true;
}

static line line_of(const qrn_nd *t) { return (line){t->data, t->dtype, (ptrdiff_t)t->elem}; }

// n weights; without data where there are none.
static line weights(et_call *c, uint32_t i, size_t n) {
    if (et_absent(c, i))
        return (line){.data = NULL};
    qrn_nd t = et_in(c, i);
    if (c->status == QRN_OK && (t.count != n || !dense(&t)))
        et_refuse(c, "argument %u has %zu elements, expected %zu", i, t.count, n);
    return line_of(&t);
}

static void normalize(const line *out, line x, const line *w, const line *b, size_t row, size_t n,
                      double eps) {
    double sum = 0, squares = 0;
    line y = out[0];
    x.data += row * n * (size_t)x.step;
    y.data += row * n * (size_t)y.step;
    for (size_t i = 0; i < n; i++)
        sum += get(&x, i);
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double v = get(&x, i) - mean;
        squares += v * v;
    }
    double scale = 1 / sqrt(squares / (double)n + eps);
    for (size_t i = 0; i < n; i++) {
        double v = (get(&x, i) - mean) * scale;
        set(&y, i, v * (w->data ? get(w, i) : 1) + (b->data ? get(b, i) : 0));
    }
    set(&out[1], row, mean);
    set(&out[2], row, scale);
}

static qrn_status layer_norm(et_call *c, int h) {
    qrn_nd x = et_in(c, 0), y[3];
    int64_t shape[ET_MAX_RANK];
    size_t dims[ET_MAX_RANK], n = 1;
    uint32_t k = et_ints(c, 1, shape);
    double eps = et_number(c, 4);
    (void)h;
    for (uint32_t d = 0; d < k; d++) {
        if (c->status != QRN_OK || k > x.rank || (size_t)shape[d] != x.dims[x.rank - k + d])
            return et_refuse(c, "the normalized shape is not the end of the input's");
        n *= (size_t)shape[d];
    }
    line w = weights(c, 2, n), b = weights(c, 3, n), out[3];
    for (uint32_t d = 0; d < x.rank; d++)
        dims[d] = d + k < x.rank ? x.dims[d] : 1;
    for (uint32_t i = 0; i < 3; i++) {
        y[i] = et_result(c, 5 + i, x.rank, i == 0 ? x.dims : dims);
        out[i] = line_of(&y[i]);
        et_apart(c, &y[i], i ? &y[0] : &x);
    }
    if (c->status != QRN_OK || !dense(&x) || !dense(&y[0]))
        return et_refuse(c, "its tensors must be dense in C order and different");
    for (size_t row = 0; n && row < x.count / n; row++)
        normalize(out, line_of(&x), &w, &b, row, n, eps);
    return QRN_OK;
}

// clang-format off
const et_kernel et_kernels_reduce[] = {
    {"aten::sum.IntList_out", 5, sum_mean, QRN_ND_SUM},
    {"aten::mean.out", 5, sum_mean, QRN_ND_MEAN},
    {"aten::amax.out", 4, extreme, QRN_ND_MAX},
    {"aten::amin.out", 4, extreme, QRN_ND_MIN},
    {"aten::argmax.out", 4, place, QRN_ND_MAX},
    {"aten::argmin.out", 4, place, QRN_ND_MIN},
    {"aten::_softmax.out", 4, softmax, 0},
    {"aten::_log_softmax.out", 4, softmax, 1},
    {"aten::native_layer_norm.out", 8, layer_norm, 0},
    {0},
};
