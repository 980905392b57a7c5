// SPDX-License-Identifier: MIT
//
// What the detection kernels share: reals of a view, boxes with ordered corners, candidates with a
// strict order, and non-maximum suppression over them. Everything is computed in double. The order
// of candidates is total (score, then order), so no result depends on how they are sorted. No data
// makes these loop or index outside: NaN and infinity in boxes give overlaps in [0, 1].
#ifndef QRN_KERNELS_DETECT_CANDIDATES_H
#define QRN_KERNELS_DETECT_CANDIDATES_H

#include "kernels/kernel.h"

// Elements of views in the F32 and F64 domains.
static inline double qrn_real_get(const qrn_view *v, size_t i) {
    return v->dtype == QRN_DTYPE_F32 ? (double)((const float *)v->data)[i]
                                     : ((const double *)v->data)[i];
}
static inline void qrn_real_put(qrn_view *v, size_t i, double x) {
    if (v->dtype == QRN_DTYPE_F32)
        ((float *)v->data)[i] = (float)x;
    else
        ((double *)v->data)[i] = x;
}
// i32 or u32.
static inline void qrn_int_put(qrn_view *v, size_t i, int64_t x) {
    ((uint32_t *)v->data)[i] = (uint32_t)x;
}

// Corners; which pair is y and which is x does not matter to overlaps.
typedef struct qrn_box {
    double at[4];
} qrn_box;

// The four values at element `first` of a view.
qrn_box qrn_box_get(const qrn_view *v, size_t first);
void qrn_box_put(qrn_view *v, size_t first, const qrn_box *b);
// Area of the intersection by area of the union; 0 when the union is empty. Corners in any order.
double qrn_box_iou(const qrn_box *a, const qrn_box *b);

typedef struct qrn_candidate {
    double score;
    uint32_t order; // of equal scores the smaller one comes first; unique
    uint32_t box;   // index of its box
} qrn_candidate;

// Higher scores first.
void qrn_candidates_sort(qrn_candidate *c, size_t n);

typedef enum qrn_nms_method {
    QRN_NMS_ABOVE,        // drop when the overlap is above the limit
    QRN_NMS_FROM,         // drop when it is the limit or above
    QRN_NMS_LINEAR,       // score *= 1 - overlap, from the limit on
    QRN_NMS_GAUSSIAN,     // score *= exp(-overlap^2 / sigma)
    QRN_NMS_GAUSSIAN_HALF // score *= exp(-overlap^2 / (2 sigma)), dropped above the limit
} qrn_nms_method;

typedef struct qrn_nms {
    uint32_t method;    // qrn_nms_method
    double limit;       // of the overlap
    double sigma;       // GAUSSIAN forms
    double score_least; // decayed scores below it are dropped
    double eta;  // the limit shrinks by this factor after each pick while above 0.5; 0 or 1: no
    size_t most; // picks
} qrn_nms;

// Picks the best candidate, lets it suppress the others, and so on. The picked ones end up first in
// c, in order, with their decayed scores; returns how many.
size_t qrn_nms_pick(const qrn_nms *p, qrn_candidate *c, size_t n, const qrn_box *boxes);

// Clears the elements of a view from `first` on.
void qrn_view_clear_from(qrn_view *v, size_t first);

// Two arrays in one scratch block.
static inline size_t qrn_candidates_bytes(size_t n_boxes, size_t n_candidates) {
    return n_boxes * sizeof(qrn_box) + n_candidates * sizeof(qrn_candidate);
}

#endif
