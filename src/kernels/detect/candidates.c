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

// Length of the part that two intervals share.
static double shared(double a1, double a2, double b1, double b2) {
    return fmin(fmax(a1, a2), fmax(b1, b2)) - fmax(fmin(a1, a2), fmin(b1, b2));
}

static double area(const qrn_box *b) {
    return fabs(b->at[2] - b->at[0]) * fabs(b->at[3] - b->at[1]);
}

double qrn_box_iou(const qrn_box *a, const qrn_box *b) {
    double h = shared(a->at[0], a->at[2], b->at[0], b->at[2]);
    double w = shared(a->at[1], a->at[3], b->at[1], b->at[3]);
    if (!(h > 0.0 && w > 0.0))
        return 0.0;
    double both = h * w, iou = both / (area(a) + area(b) - both);
    return iou > 0.0 ? fmin(iou, 1.0) : 0.0;
}

static bool before(const qrn_candidate *a, const qrn_candidate *b) {
    return a->score > b->score || (a->score == b->score && a->order < b->order);
}

static void swap(qrn_candidate *a, qrn_candidate *b) {
    qrn_candidate held = *a;
    *a = *b;
    *b = held;
}

// Moves c[i] down to its place in a heap whose root is the last in order.
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

size_t qrn_nms_pick(const qrn_nms *p, qrn_candidate *c, size_t n, const qrn_box *boxes) {
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
