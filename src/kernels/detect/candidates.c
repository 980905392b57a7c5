// SPDX-License-Identifier: MIT
//
// Boxes, candidates, suppression.
#include "kernels/detect/candidates.h"

#include <math.h>
#include <string.h>

qrn_box qrn_box_get(const qrn_view *v, size_t first) {
    qrn_box b;
    for (size_t i = 0; i < 4; i++)
        b.at[i] = qrn_real_get(v, first + i);
    return b;
}

void qrn_box_put(qrn_view *v, size_t first, const qrn_box *b) {
    for (size_t i = 0; i < 4; i++)
        qrn_real_put(v, first + i, b->at[i]);
}

// As fmin and fmax: the number where the other one is NaN.
static inline double lesser(double a, double b) { return a < b || b != b ? a : b; }
static inline double larger(double a, double b) { return a > b || b != b ? a : b; }

// A box with its corners in order.
typedef struct ordered {
    double low[2], high[2], area;
} ordered;

static inline ordered ordered_of(const qrn_box *b) {
    return (ordered){{lesser(b->at[0], b->at[2]), lesser(b->at[1], b->at[3])},
                     {larger(b->at[0], b->at[2]), larger(b->at[1], b->at[3])},
                     fabs(b->at[2] - b->at[0]) * fabs(b->at[3] - b->at[1])};
}

static inline double overlap(const ordered *a, const ordered *b) {
    double h = lesser(a->high[0], b->high[0]) - larger(a->low[0], b->low[0]);
    if (!(h > 0.0))
        return 0.0;
    double w = lesser(a->high[1], b->high[1]) - larger(a->low[1], b->low[1]);
    if (!(w > 0.0))
        return 0.0;
    double both = h * w, iou = both / (a->area + b->area - both);
    return iou > 0.0 ? lesser(iou, 1.0) : 0.0;
}

double qrn_box_iou(const qrn_box *a, const qrn_box *b) {
    ordered x = ordered_of(a), y = ordered_of(b);
    return overlap(&x, &y);
}

static bool before(const qrn_candidate *a, const qrn_candidate *b) {
    return a->score > b->score || (a->score == b->score && a->order < b->order);
}

static void swap(qrn_candidate *a, qrn_candidate *b) {
    qrn_candidate held = *a;
    *a = *b;
    *b = held;
}

// Moves c[i] down to its place in a heap whose root is the first in order.
static void sift_first(qrn_candidate *c, size_t i, size_t n) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&c[child + 1], &c[child]))
            child++;
        if (!before(&c[child], &c[i]))
            return;
        swap(&c[i], &c[child]);
    }
}

// The same for a heap whose root is the last in order.
static void sift(qrn_candidate *c, size_t i, size_t n) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&c[child], &c[child + 1]))
            child++;
        if (!before(&c[i], &c[child]))
            return;
        swap(&c[i], &c[child]);
    }
}

void qrn_candidates_sort(qrn_candidate *c, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift(c, i, n);
    for (size_t last = n; last-- > 1;) {
        swap(&c[0], &c[last]);
        sift(c, 0, last);
    }
}

// What is left of a score at this overlap; negative: nothing.
static double kept_share(const qrn_nms *p, double limit, double iou) {
    switch (p->method) {
    case QRN_NMS_ABOVE:
        return iou > limit ? -1.0 : 1.0;
    case QRN_NMS_FROM:
        return iou >= limit ? -1.0 : 1.0;
    case QRN_NMS_LINEAR:
        return iou < limit ? 1.0 : 1.0 - iou;
    case QRN_NMS_GAUSSIAN:
        return exp(-iou * iou / p->sigma);
    default:
        return iou > limit ? -1.0 : exp(-iou * iou / (2.0 * p->sigma));
    }
}

#define FEW 512 // picked boxes that are kept in order on the stack
#define BLOCK 16

// The first picked boxes, and their corners in single precision.
typedef struct picks {
    ordered box[FEW];
    float low[2][FEW], high[2][FEW];
} picks;

static void keep(picks *near, size_t i, const ordered *box) {
    near->box[i] = *box;
    for (int d = 0; d < 2; d++) {
        near->low[d][i] = (float)box->low[d];
        near->high[d][i] = (float)box->high[d];
    }
}

// Is it certain that the box touches none of BLOCK picks from number i on? Rounding keeps the order
// of numbers or makes them equal, so that "less" stays true.
static bool is_apart(const picks *near, size_t i, const ordered *box) {
    const float *low0 = near->low[0] + i, *high0 = near->high[0] + i;
    const float *low1 = near->low[1] + i, *high1 = near->high[1] + i;
    const float top = (float)box->low[0], bottom = (float)box->high[0];
    const float left = (float)box->low[1], right = (float)box->high[1];
    int some = 0;
    for (int j = 0; j < BLOCK; j++)
        some |= !((high0[j] < top) | (bottom < low0[j]) | (high1[j] < left) | (right < low1[j]));
    return !some;
}

// Does the box overlap one of the picked ones too much? The first FEW of those are in `near`, all
// of them in c, from the end.
static bool is_covered(const qrn_nms *p, const ordered *box, const picks *near,
                       const qrn_candidate *last, size_t picked, const qrn_box *boxes) {
    bool only_touching = kept_share(p, p->limit, 0.0) >= 0.0;
    for (size_t j = 0; j < picked; j++) {
        ordered far;
        if (only_touching && j % BLOCK == 0 && j + BLOCK <= picked && j + BLOCK <= FEW &&
            is_apart(near, j, box)) {
            j += BLOCK - 1;
            continue;
        }
        if (j >= FEW)
            far = ordered_of(&boxes[last[-(ptrdiff_t)j].box]);
        if (kept_share(p, p->limit, overlap(j < FEW ? &near->box[j] : &far, box)) < 0.0)
            return true;
    }
    return false;
}

// Where a pick drops others or leaves them as they are: candidates come from a heap in order and
// are held against those picked before, so that the rest need not be looked at.
static size_t pick_in_order(const qrn_nms *p, qrn_candidate *c, size_t n, const qrn_box *boxes) {
    picks near;
    size_t picked = 0, left = n;
    for (size_t i = n / 2; i-- > 0;)
        sift_first(c, i, n);
    while (left && picked < p->most) {
        swap(&c[0], &c[--left]);
        sift_first(c, 0, left);
        ordered box = ordered_of(&boxes[c[left].box]);
        if (is_covered(p, &box, &near, &c[n - 1], picked, boxes))
            continue;
        if (picked < FEW)
            keep(&near, picked, &box);
        c[n - 1 - picked++] = c[left];
    }
    for (size_t i = 0; i < picked && i < n - 1 - i; i++)
        swap(&c[i], &c[n - 1 - i]);
    return picked;
}

size_t qrn_nms_pick(const qrn_nms *p, qrn_candidate *c, size_t n, const qrn_box *boxes) {
    if (p->method <= QRN_NMS_FROM && !(p->eta > 0.0 && p->eta < 1.0))
        return pick_in_order(p, c, n, boxes);
    size_t picked = 0;
    double limit = p->limit;
    bool soft = p->method >= QRN_NMS_LINEAR;
    while (picked < n && picked < p->most) {
        size_t best = picked;
        for (size_t i = picked + 1; i < n; i++)
            if (before(&c[i], &c[best]))
                best = i;
        swap(&c[picked], &c[best]);
        const qrn_box *b = &boxes[c[picked++].box];
        for (size_t i = picked; i < n;) {
            double share = kept_share(p, limit, qrn_box_iou(b, &boxes[c[i].box]));
            if (soft)
                c[i].score *= share;
            if (share < 0.0 || (soft && c[i].score < p->score_least))
                c[i] = c[--n];
            else
                i++;
        }
        if (p->eta > 0.0 && p->eta < 1.0 && limit > 0.5)
            limit *= p->eta;
    }
    return picked;
}

void qrn_view_clear_from(qrn_view *v, size_t first) {
    size_t count = qrn_view_count(v), elem = qrn_view_elem(v);
    if (first < count)
        memset((char *)v->data + first * elem, 0, (count - first) * elem);
}
