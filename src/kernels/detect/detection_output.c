// SPDX-License-Identifier: MIT
//
// The detection_output family. A candidate's order is anchor * C + class.
#include "kernels/detect/detection_output.h"

#include "kernels/detect/deltas.h"

// Sizes of one image, and where its data begin.
typedef struct job {
    const qrn_kcall *k;
    const qrn_detection_output_args *a;
    size_t image, n_anchors, n_classes;
    qrn_box *boxes;
    qrn_candidate *c; // room for all pairs of anchor and class, and once more for all anchors
} job;

static size_t detection_output_scratch(const qrn_kcall *k) {
    size_t anchors = k->in[0]->dims[1], pairs = anchors * k->in[0]->dims[2];
    return qrn_candidates_bytes(k->in[1]->dims[1], pairs + anchors);
}

static size_t box_of(const job *j, size_t anchor, size_t cls) {
    return j->a->shared ? anchor : anchor * j->n_classes + cls;
}

static void decode(const job *j) {
    const qrn_view *deltas = j->k->in[1], *anchors = j->k->in[2];
    size_t n_boxes = deltas->dims[1], per_anchor = j->a->shared ? 1 : j->n_classes;
    size_t first = anchors->dims[0] > j->n_anchors ? j->image * j->n_anchors : 0;
    for (size_t i = 0; i < n_boxes; i++) {
        double d[4];
        qrn_box centred = qrn_box_get(anchors, (first + i / per_anchor) * 4), anchor;
        for (size_t e = 0; e < 4; e++) {
            double half = centred.at[2 + e % 2] / 2.0;
            anchor.at[e] = centred.at[e % 2] + (e < 2 ? -half : half);
            d[e] =
                qrn_real_get(deltas, (j->image * n_boxes + i) * 4 + e) * (double)j->a->factors[e];
        }
        j->boxes[i] = qrn_box_moved(&anchor, d);
    }
}

static bool is_searched(const job *j, size_t cls) {
    return cls != j->a->background || j->a->use_background;
}

static double score_of(const job *j, size_t anchor, size_t cls) {
    return qrn_real_get(j->k->in[0], (j->image * j->n_anchors + anchor) * j->n_classes + cls);
}

static size_t find_regular(const job *j) {
    size_t total = 0;
    qrn_nms rule = {.method = QRN_NMS_ABOVE,
                    .limit = j->a->iou_threshold,
                    .eta = j->a->eta,
                    .most = j->a->limit < 0 ? SIZE_MAX : (size_t)j->a->limit};
    for (size_t cls = 0; cls < j->n_classes; cls++) {
        size_t n = 0;
        for (size_t i = 0; i < j->n_anchors && is_searched(j, cls); i++)
            if (score_of(j, i, cls) >= j->a->confidence)
                j->c[total + n++] =
                    (qrn_candidate){score_of(j, i, cls), (uint32_t)(i * j->n_classes + cls),
                                    (uint32_t)box_of(j, i, cls)};
        total += qrn_nms_pick(&rule, j->c + total, n, j->boxes);
    }
    return total;
}

// The classes of one anchor that count, best first, behind the `total` candidates found so far.
static size_t list_classes(const job *j, size_t anchor, size_t total) {
    size_t n = 0;
    for (size_t cls = 0; cls < j->n_classes; cls++)
        if (is_searched(j, cls) && score_of(j, anchor, cls) >= j->a->confidence)
            j->c[total + n++] =
                (qrn_candidate){score_of(j, anchor, cls), (uint32_t)(anchor * j->n_classes + cls),
                                (uint32_t)box_of(j, anchor, cls)};
    qrn_candidates_sort(j->c + total, n);
    return n;
}

static size_t find_fast(const job *j) {
    qrn_candidate *picks = j->c + j->n_anchors * j->n_classes;
    qrn_nms rule = {.method = QRN_NMS_ABOVE, .limit = j->a->iou_threshold, .most = SIZE_MAX};
    size_t n = 0, total = 0;
    for (size_t i = 0; i < j->n_anchors; i++)
        if (list_classes(j, i, 0) > 0)
            picks[n++] = j->c[0];
    n = qrn_nms_pick(&rule, picks, n, j->boxes);
    for (size_t i = 0; i < n; i++) {
        size_t listed = list_classes(j, picks[i].order / j->n_classes, total);
        bool all = j->a->limit < 0 || listed < (size_t)j->a->limit;
        total += all ? listed : (size_t)j->a->limit;
    }
    return total;
}

// Writes the best of the `n` candidates found.
static void report(const job *j, size_t n) {
    qrn_view *const *out = j->k->out;
    size_t most = out[0]->dims[1], used = 0;
    qrn_candidates_sort(j->c, n);
    for (size_t i = 0; i < n && used < most; i++) {
        size_t cls = j->c[i].order % j->n_classes, at = j->image * most + used;
        bool numbered = j->a->number_background || cls < j->a->background;
        if (!j->a->number_background && cls == j->a->background)
            continue;
        qrn_real_put(out[0], at, j->c[i].score);
        qrn_box_put(out[1], at * 4, &j->boxes[j->c[i].box]);
        qrn_int_put(out[2], at, (int64_t)(numbered ? cls : cls - 1));
        used++;
    }
    qrn_int_put(out[3], j->image, (int64_t)used);
}

static qrn_status detection_output_ref(const qrn_kcall *k) {
    job j = {.k = k, .a = k->args, .n_anchors = k->in[0]->dims[1], .n_classes = k->in[0]->dims[2]};
    j.boxes = k->scratch;
    j.c = (qrn_candidate *)(j.boxes + k->in[1]->dims[1]);
    for (size_t o = 0; o < 3; o++)
        qrn_view_clear_from(k->out[o], 0);
    for (j.image = 0; j.image < k->in[0]->dims[0]; j.image++) {
        decode(&j);
        report(&j, j.a->regular ? find_regular(&j) : find_fast(&j));
    }
    return QRN_OK;
}

static const qrn_kernel detection_output_rows[] = {
    {.name = "detection_output_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = detection_output_ref,
     .scratch = detection_output_scratch},
    {.name = "detection_output_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = detection_output_ref,
     .scratch = detection_output_scratch},
};
QRN_FAMILY(detection_output, sizeof(qrn_detection_output_args));
