// SPDX-License-Identifier: MIT
//
// Ops of the folder along axes: reductions, ArgMax and ArgMin, CumSum. Sums of floats are kept in
// double and rounded once at the end.
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <string.h>

// The axes that are reduced, as one walk, and those that stay, as another.
typedef struct split_axes {
    ox_walk kept, reduced;
    size_t n;                         // elements of each reduction
    uint32_t rank, dims[OX_MAX_RANK]; // of the output
} split_axes;

static void split_by(const ox_array *x, uint32_t mask, bool keep_dims, split_axes *s) {
    ptrdiff_t steps[OX_MAX_RANK];
    ox_dims_steps(x->rank, x->dims, steps);
    *s = (split_axes){.n = 1};
    for (uint32_t d = 0; d < x->rank; d++) {
        bool gone = mask >> d & 1;
        ox_walk *w = gone ? &s->reduced : &s->kept;
        w->dims[w->rank] = x->dims[d];
        w->steps[w->rank++] = steps[d];
        if (gone)
            s->n *= x->dims[d];
        if (!gone || keep_dims)
            s->dims[s->rank++] = gone ? 1 : x->dims[d];
    }
}

// --- reductions

static double largest(const ox_array *x, ptrdiff_t base, ox_walk w, size_t n, bool smallest) {
    double best = smallest ? INFINITY : -INFINITY;
    for (size_t i = 0; i < n; i++, ox_walk_next(&w)) {
        double v = ox_num_double(ox_array_get(x, (size_t)(base + w.index)), x->kind);
        if (isnan(v))
            return v;
        if (smallest ? v < best : v > best)
            best = v;
    }
    return best;
}

static double log_sum_exp(const ox_array *x, ptrdiff_t base, ox_walk w, size_t n) {
    double top = largest(x, base, w, n, false), sum = 0;
    if (!isfinite(top))
        return top;
    for (size_t i = 0; i < n; i++, ox_walk_next(&w))
        sum += exp(ox_num_double(ox_array_get(x, (size_t)(base + w.index)), x->kind) - top);
    return top + log(sum);
}

static double reduce_floats(int code, const ox_array *x, ptrdiff_t base, ox_walk w, size_t n) {
    if (code == OX_R_MAX || code == OX_R_MIN)
        return largest(x, base, w, n, code == OX_R_MIN);
    if (code == OX_R_LOG_SUM_EXP)
        return log_sum_exp(x, base, w, n);
    double sum = code == OX_R_PROD ? 1 : 0;
    for (size_t i = 0; i < n; i++, ox_walk_next(&w)) {
        double v = ox_num_double(ox_array_get(x, (size_t)(base + w.index)), x->kind);
        if (code == OX_R_PROD)
            sum *= v;
        else if (code == OX_R_SUM_SQUARE || code == OX_R_L2)
            sum += v * v;
        else
            sum += code == OX_R_L1 ? fabs(v) : v;
    }
    if (code == OX_R_MEAN)
        return sum / (double)n;
    return code == OX_R_L2 ? sqrt(sum) : code == OX_R_LOG_SUM ? log(sum) : sum;
}

static ox_num reduce_ints(int code, const ox_array *x, ptrdiff_t base, ox_walk w, size_t n) {
    ox_num r = {.u = code == OX_R_PROD}, lo, hi;
    ox_type_range(x->type, &lo, &hi);
    if (code == OX_R_MAX || code == OX_R_MIN)
        r = code == OX_R_MAX ? lo : hi;
    bool is_signed = x->kind == OX_SIGNED;
    for (size_t i = 0; i < n; i++, ox_walk_next(&w)) {
        ox_num v = ox_array_get(x, (size_t)(base + w.index));
        bool less = is_signed ? v.i < r.i : v.u < r.u;
        if (code == OX_R_MAX || code == OX_R_MIN)
            r = less == (code == OX_R_MIN) ? v : r;
        else if (code == OX_R_PROD)
            r.u *= v.u;
        else if (code == OX_R_SUM_SQUARE)
            r.u += v.u * v.u;
        else
            r.u += code == OX_R_L1 && is_signed && v.i < 0 ? 0 - v.u : v.u;
    }
    if (code == OX_R_MEAN && is_signed)
        r.i /= (int64_t)n;
    else if (code == OX_R_MEAN)
        r.u /= n;
    return r;
}

static qrn_status reduced_axes(ox_call *c, const ox_array *x, uint32_t *mask) {
    int64_t list[OX_MAX_RANK];
    uint32_t n;
    bool given;
    QRN_TRY(ox_call_list(c, 1, "axes", list, OX_MAX_RANK, &n, &given));
    QRN_TRY(ox_call_axes(c, list, n, x->rank, mask));
    if (n == 0 && ox_attr_int(c->node, "noop_with_empty_axes", 0) == 0)
        *mask = (1u << x->rank) - 1;
    return QRN_OK;
}

qrn_status ox_fold_reduce(ox_call *c) {
    ox_array x, y;
    split_axes s;
    uint32_t mask;
    int code = c->row->code;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(reduced_axes(c, &x, &mask));
    split_by(&x, mask, ox_attr_int(c->node, "keepdims", 1) != 0, &s);
    QRN_TRY(ox_call_new(c, x.type, s.rank, s.dims, &y));
    bool in_double =
        x.kind == OX_FLOAT || code == OX_R_L2 || code == OX_R_LOG_SUM || code == OX_R_LOG_SUM_EXP;
    if (x.type == OX_BOOL && code != OX_R_MAX && code != OX_R_MIN)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "input of type bool");
    if (s.n == 0 && code == OX_R_MEAN && !in_double)
        return OX_CALL_PASS(c, "a mean of no integers");
    for (size_t i = 0; i < y.count; i++, ox_walk_next(&s.kept)) {
        ox_num v;
        if (in_double) {
            v.f = reduce_floats(code, &x, s.kept.index, s.reduced, s.n);
            v = ox_num_cast(v, OX_FLOAT, y.type);
        } else {
            v = reduce_ints(code, &x, s.kept.index, s.reduced, s.n);
        }
        ox_array_set(&y, i, v);
    }
    return ox_call_put(c, 0, &y);
}

// --- ArgMax, ArgMin

// a before b in the order sought; NaN comes first, equal ones do not.
static bool before(int code, ox_kind kind, ox_num a, ox_num b) {
    if (kind == OX_FLOAT) {
        if (isnan(a.f) || isnan(b.f))
            return isnan(a.f) && !isnan(b.f);
        return code == OX_ARG_MAX ? a.f > b.f : a.f < b.f;
    }
    if (code == OX_ARG_MIN) {
        ox_num t = a;
        a = b;
        b = t;
    }
    return kind == OX_SIGNED ? a.i > b.i : a.u > b.u;
}

qrn_status ox_fold_arg(ox_call *c) {
    ox_array x, y;
    split_axes s;
    uint32_t axis;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", 0), x.rank, &axis));
    split_by(&x, 1u << axis, ox_attr_int(c->node, "keepdims", 1) != 0, &s);
    QRN_TRY(ox_call_new(c, OX_I64, s.rank, s.dims, &y));
    if (s.n == 0 && y.count)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u is 0", axis);
    bool last = ox_attr_int(c->node, "select_last_index", 0) != 0;
    for (size_t i = 0; i < y.count; i++, ox_walk_next(&s.kept)) {
        ox_walk w = s.reduced;
        int64_t best = 0;
        ox_num top = ox_array_get(&x, (size_t)s.kept.index);
        for (size_t k = 1; k < s.n; k++) {
            ox_walk_next(&w);
            ox_num v = ox_array_get(&x, (size_t)(s.kept.index + w.index));
            bool better = before(c->row->code, x.kind, v, top);
            if (better || (last && !before(c->row->code, x.kind, top, v))) {
                best = (int64_t)k;
                top = v;
            }
        }
        ox_array_set(&y, i, (ox_num){.i = best});
    }
    return ox_call_put(c, 0, &y);
}

// --- CumSum

qrn_status ox_fold_cum_sum(ox_call *c) {
    ox_array x, y;
    int64_t which;
    uint32_t axis;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_int(c, 1, &which));
    QRN_TRY(ox_call_axis(c, which, x.rank, &axis));
    if (x.type == OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "input of type bool");
    bool exclusive = ox_attr_int(c->node, "exclusive", 0) != 0;
    bool reverse = ox_attr_int(c->node, "reverse", 0) != 0;
    QRN_TRY(ox_call_new(c, x.type, x.rank, x.dims, &y));
    split_axes s;
    split_by(&x, 1u << axis, true, &s);
    ptrdiff_t step = s.reduced.steps[0], n = (ptrdiff_t)s.n;
    size_t lines = y.count ? y.count / s.n : 0;
    for (size_t i = 0; i < lines; i++, ox_walk_next(&s.kept)) {
        ox_num sum = {.u = 0}; // 0.0 too
        for (ptrdiff_t k = 0; k < n; k++) {
            size_t at = (size_t)(s.kept.index + (reverse ? n - 1 - k : k) * step);
            ox_num v = ox_array_get(&x, at), next = {.u = sum.u + v.u};
            if (x.kind == OX_FLOAT)
                next.f = sum.f + v.f;
            ox_array_set(&y, at, exclusive ? sum : next);
            sum = next;
        }
    }
    return ox_call_put(c, 0, &y);
}
