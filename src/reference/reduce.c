// SPDX-License-Identifier: MIT
//
// Reductions: a walk over the dimensions that stay, and for each of their places one over those
// that go.
#include "reference/reduce.h"

#include "reference/elementwise.h"

#include <math.h>

#define RUN 256 // elements that are numbers at a time

uint32_t qrn_nd_reduced(const qrn_nd *x, uint32_t mask, bool keep, size_t *dims) {
    uint32_t rank = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        if (keep || !(mask >> d & 1))
            dims[rank++] = mask >> d & 1 ? 1 : x->dims[d];
    return rank;
}

// The dimensions of x in two views, and y without those that go.
typedef struct split {
    qrn_nd y, kept, gone;
    qrn_kind domain;
} split;

static split split_by(const qrn_nd *y, const qrn_nd *x, uint32_t mask) {
    split s = {*y, *x, *x, qrn_nd_domain(y, x, 1)};
    for (uint32_t d = x->rank; d-- > 0;) {
        if (mask >> d & 1 && y->rank == x->rank)
            qrn_nd_drop(&s.y, d);
        qrn_nd_drop(mask >> d & 1 ? &s.kept : &s.gone, d);
    }
    qrn_nd_merge(&s.gone, NULL, 0);
    return s;
}

// What has been seen of the elements of one reduction.
typedef struct state {
    qrn_num sum; // or product, or extreme
    double top;  // of LOG_SUM_EXP
} state;

static void add_floats(qrn_nd_reduction r, state *s, const qrn_num *v, size_t n) {
    double sum = s->sum.f;
    for (size_t i = 0; i < n; i++) {
        double x = v[i].f;
        switch (r) {
        case QRN_ND_MAX:
            sum = isnan(sum) || !(x > sum || isnan(x)) ? sum : x;
            break;
        case QRN_ND_MIN:
            sum = isnan(sum) || !(x < sum || isnan(x)) ? sum : x;
            break;
        case QRN_ND_PROD:
            sum *= x;
            break;
        case QRN_ND_SUM_SQUARE:
        case QRN_ND_L2:
            sum += x * x;
            break;
        case QRN_ND_LOG_SUM_EXP:
            sum += exp(x - s->top);
            break;
        default:
            sum += r == QRN_ND_L1 ? fabs(x) : x;
        }
    }
    s->sum.f = sum;
}

static void add_ints(qrn_nd_reduction r, state *s, const qrn_num *v, size_t n, qrn_kind kind) {
    for (size_t i = 0; i < n; i++) {
        bool less = qrn_num_less(v[i], s->sum, kind);
        switch (r) {
        case QRN_ND_MAX:
        case QRN_ND_MIN:
            s->sum = less == (r == QRN_ND_MIN) ? v[i] : s->sum;
            break;
        case QRN_ND_PROD:
            s->sum.u *= v[i].u;
            break;
        case QRN_ND_SUM_SQUARE:
            s->sum.u += v[i].u * v[i].u;
            break;
        default:
            s->sum.u +=
                r == QRN_ND_L1 && kind == QRN_KIND_SIGNED && v[i].i < 0 ? 0 - v[i].u : v[i].u;
        }
    }
}

// What the reduction of no elements gives.
static qrn_num neutral(qrn_nd_reduction r, const qrn_nd *x, qrn_kind domain) {
    qrn_num lo, hi, zero = {.u = 0};
    qrn_range_of(x->kind == QRN_KIND_FLOAT ? QRN_DTYPE_I64 : x->dtype, &lo, &hi);
    if (domain == QRN_KIND_FLOAT) {
        lo.f = -INFINITY;
        hi.f = INFINITY;
    }
    if (r == QRN_ND_PROD)
        return domain == QRN_KIND_FLOAT ? (qrn_num){.f = 1} : (qrn_num){.u = 1};
    return r == QRN_ND_MAX ? lo : r == QRN_ND_MIN ? hi : zero;
}

// All elements of one reduction, which begins at `start`.
static void add_all(qrn_nd_reduction r, state *s, const split *p, const unsigned char *start) {
    qrn_num v[RUN];
    qrn_index i = {{0}};
    const qrn_nd *x = &p->gone;
    uint32_t inner = x->rank - 1;
    s->sum = neutral(r, x, p->domain);
    if (x->count == 0)
        return;
    do {
        const unsigned char *row = start + qrn_index_offset(&i, inner, x->steps);
        size_t n;
        for (size_t done = 0; done < x->dims[inner]; done += n) {
            n = x->dims[inner] - done < RUN ? x->dims[inner] - done : RUN;
            qrn_nums_read(v, x->dtype, row + (ptrdiff_t)done * x->steps[inner], x->steps[inner], n,
                          p->domain);
            if (p->domain == QRN_KIND_FLOAT)
                add_floats(r, s, v, n);
            else
                add_ints(r, s, v, n, p->domain);
        }
    } while (qrn_index_next(&i, inner, x->dims));
}

static qrn_num reduce_one(qrn_nd_reduction r, const split *p, const unsigned char *start) {
    state s = {.top = 0};
    if (r == QRN_ND_LOG_SUM_EXP) {
        add_all(QRN_ND_MAX, &s, p, start);
        s.top = s.sum.f;
        if (!isfinite(s.top))
            return s.sum;
    }
    add_all(r, &s, p, start);
    size_t n = p->gone.count;
    if (r == QRN_ND_MEAN && p->domain == QRN_KIND_FLOAT)
        s.sum.f /= (double)n;
    else if (r == QRN_ND_MEAN && p->domain == QRN_KIND_SIGNED)
        s.sum.i /= (int64_t)n;
    else if (r == QRN_ND_MEAN)
        s.sum.u /= n;
    else if (r == QRN_ND_L2)
        s.sum.f = sqrt(s.sum.f);
    else if (r == QRN_ND_LOG_SUM)
        s.sum.f = log(s.sum.f);
    else if (r == QRN_ND_LOG_SUM_EXP)
        s.sum.f = s.top + log(s.sum.f);
    return s.sum;
}

void qrn_nd_reduce(qrn_nd_reduction r, const qrn_nd *y, const qrn_nd *x, uint32_t mask,
                   qrn_cast rule) {
    split p = split_by(y, x, mask);
    qrn_index i = {{0}};
    if (r >= QRN_ND_L2)
        p.domain = QRN_KIND_FLOAT;
    if (y->count == 0)
        return;
    do {
        qrn_num v = reduce_one(r, &p, x->data + qrn_index_offset(&i, p.kept.rank, p.kept.steps));
        qrn_nums_cast(&v, 1, p.domain, y->dtype, rule);
        qrn_nums_store(&v, y->dtype, y->data + qrn_index_offset(&i, p.kept.rank, p.y.steps), 0, 1);
    } while (qrn_index_next(&i, p.kept.rank, p.kept.dims));
}

// --- Places of extremes

// a before b in the order sought; NaN comes first, equal ones do not.
static bool before(qrn_num a, qrn_num b, qrn_kind kind, bool smallest) {
    if (kind == QRN_KIND_FLOAT && (isnan(a.f) || isnan(b.f)))
        return isnan(a.f) && !isnan(b.f);
    return smallest ? qrn_num_less(a, b, kind) : qrn_num_less(b, a, kind);
}

void qrn_nd_arg(const qrn_nd *y, const qrn_nd *x, uint32_t mask, bool smallest, bool last) {
    split p = split_by(y, x, mask);
    qrn_index i = {{0}};
    if (y->count == 0)
        return;
    do {
        const unsigned char *start = x->data + qrn_index_offset(&i, p.kept.rank, p.kept.steps);
        qrn_index k = {{0}};
        qrn_num top = {.u = 0}, v, place = {.u = 0};
        uint64_t at = 0;
        do {
            qrn_nums_load(&v, x->dtype, start + qrn_index_offset(&k, p.gone.rank, p.gone.steps), 0,
                          1);
            if (at == 0 || before(v, top, x->kind, smallest) ||
                (last && !before(top, v, x->kind, smallest))) {
                place.u = at;
                top = v;
            }
            at++;
        } while (qrn_index_next(&k, p.gone.rank, p.gone.dims));
        qrn_nums_cast(&place, 1, QRN_KIND_UNSIGNED, y->dtype, QRN_CAST_WRAP);
        qrn_nums_store(&place, y->dtype, y->data + qrn_index_offset(&i, p.kept.rank, p.y.steps), 0,
                       1);
    } while (qrn_index_next(&i, p.kept.rank, p.kept.dims));
}
