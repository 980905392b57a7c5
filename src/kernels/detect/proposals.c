// SPDX-License-Identifier: MIT
//
// The families generate, collect and distribute.
#include "kernels/detect/proposals.h"

#include "kernels/detect/deltas.h"

#include <string.h>

// Writes the number of rows where the caller can use it.
static void report_rows(const qrn_kcall *k, uint32_t report, uint32_t o, size_t rows) {
    if (report >> o & 1u)
        k->out[o]->dims[0] = (uint32_t)rows;
}

static size_t generate_scratch(const qrn_kcall *k) {
    size_t n = qrn_view_span(k->in[0], 1, 4);
    return qrn_candidates_bytes(n, n);
}

// Candidates of one image: anchors moved by their deltas, clipped, not too small.
static size_t generate_candidates(const qrn_kcall *k, size_t image, qrn_box *boxes,
                                  qrn_candidate *c) {
    const qrn_generate_args *a = k->args;
    const double most = a->clip_deltas ? log(1000.0 / 16.0) : INFINITY;
    const qrn_view *scores = k->in[0];
    size_t n_anchors = scores->dims[3], width = scores->dims[2], n = 0;
    size_t per_image = qrn_view_span(scores, 1, 4);
    double image_h = qrn_real_get(k->in[3], image * 2),
           image_w = qrn_real_get(k->in[3], image * 2 + 1);
    for (size_t i = 0; i < per_image; i++) {
        size_t cell = i / n_anchors, row = cell / width, col = cell % width;
        double shift[2] = {(double)col * a->step[1], (double)row * a->step[0]};
        double score = qrn_real_get(scores, image * per_image + i), d[4];
        qrn_box anchor = qrn_box_get(k->in[2], i % n_anchors * 4);
        for (size_t e = 0; e < 4; e++) {
            anchor.at[e] += shift[e % 2];
            d[e] = qrn_real_get(k->in[1], (image * per_image + i) * 4 + e);
        }
        d[2] = fmin(d[2], most);
        d[3] = fmin(d[3], most);
        boxes[i] = qrn_box_moved(&anchor, d);
        qrn_box_clip(&boxes[i], image_h, image_w);
        bool large = boxes[i].at[2] - boxes[i].at[0] >= a->min_size &&
                     boxes[i].at[3] - boxes[i].at[1] >= a->min_size;
        if (large && !isnan(score))
            c[n++] = (qrn_candidate){score, (uint32_t)i, (uint32_t)i};
    }
    return n;
}

static qrn_status generate_ref(const qrn_kcall *k) {
    const qrn_generate_args *a = k->args;
    size_t capacity = k->out[0]->dims[0], used = 0;
    qrn_box *boxes = k->scratch;
    qrn_candidate *c = (qrn_candidate *)(boxes + qrn_view_span(k->in[0], 1, 4));
    qrn_nms rule = {.method = QRN_NMS_FROM, .limit = a->iou_threshold, .most = a->post_limit};
    for (size_t image = 0; image < k->in[0]->dims[0]; image++) {
        size_t n = generate_candidates(k, image, boxes, c);
        if (n > a->pre_limit) {
            qrn_candidates_sort(c, n);
            n = a->pre_limit;
        }
        n = qrn_nms_pick(&rule, c, n, boxes);
        for (size_t i = 0; i < n && used < capacity; i++, used++) {
            qrn_real_put(k->out[0], used, c[i].score);
            qrn_box_put(k->out[1], used * 4, &boxes[c[i].box]);
            qrn_int_put(k->out[2], used, (int64_t)image);
        }
    }
    for (uint32_t o = 0; o < 3; o++) {
        qrn_view_clear_from(k->out[o], o == 1 ? used * 4 : used);
        report_rows(k, a->report, o, used);
    }
    return QRN_OK;
}

enum { LEVELS = 5 };

static const qrn_view *collect_input(const qrn_kcall *k, uint32_t i) {
    return i < k->n_in ? k->in[i] : NULL;
}

static size_t collect_scratch(const qrn_kcall *k) {
    size_t n = 0;
    for (uint32_t l = 0; l < LEVELS; l++)
        n += collect_input(k, LEVELS + l) ? k->in[LEVELS + l]->dims[0] : 0;
    return qrn_candidates_bytes(0, n);
}

static qrn_status collect_ref(const qrn_kcall *k) {
    qrn_candidate *c = k->scratch;
    size_t first[LEVELS + 1] = {0}, n = 0;
    for (uint32_t l = 0; l < LEVELS; l++) {
        const qrn_view *scores = collect_input(k, LEVELS + l);
        for (size_t i = 0; scores && i < scores->dims[0]; i++, n++) {
            double s = qrn_real_get(scores, i);
            c[n] = (qrn_candidate){isnan(s) ? -INFINITY : s, (uint32_t)n, l};
        }
        first[l + 1] = n;
    }
    qrn_candidates_sort(c, n);
    for (size_t r = 0; r < k->out[0]->dims[0] && r < n; r++)
        for (size_t e = 0; e < 5; e++)
            qrn_real_put(k->out[0], r * 5 + e,
                         qrn_real_get(k->in[c[r].box], (c[r].order - first[c[r].box]) * 5 + e));
    return QRN_OK;
}

// Level of a roi, counted from min_level; -1 for an empty one.
static int level_of(const qrn_distribute_args *a, const qrn_view *rois, size_t row) {
    size_t columns = rois->dims[1], at = row * columns + columns - 4;
    double w = qrn_real_get(rois, at + 2) - qrn_real_get(rois, at);
    double h = qrn_real_get(rois, at + 3) - qrn_real_get(rois, at + 1);
    if (w <= 0.0 && h <= 0.0)
        return -1;
    double level = floor(a->canonical_level + log2(sqrt(w * h) / a->canonical_scale));
    return (int)(fmin(fmax(level, a->min_level), a->max_level) - a->min_level);
}

static qrn_status distribute_ref(const qrn_kcall *k) {
    const qrn_distribute_args *a = k->args;
    const qrn_view *rois = k->in[0];
    size_t row = 0, columns = rois->dims[1];
    for (size_t p = 0; p < rois->dims[0]; p++)
        qrn_int_put(k->out[0], p, -1);
    for (uint32_t l = 0; l <= a->max_level - a->min_level; l++) {
        qrn_view *y = k->out[1 + l];
        size_t used = 0;
        for (size_t p = 0; p < rois->dims[0]; p++) {
            if (level_of(a, rois, p) != (int)l)
                continue;
            if (used == y->dims[0])
                return QRN_E_ARGUMENT;
            for (size_t e = 0; e < columns; e++)
                qrn_real_put(y, used * columns + e, qrn_real_get(rois, p * columns + e));
            qrn_int_put(k->out[0], p, (int64_t)(row + used++));
        }
        row += used;
        qrn_view_clear_from(y, used * columns);
        report_rows(k, a->report, 1 + l, used);
    }
    return QRN_OK;
}

static const qrn_kernel generate_proposals_rows[] = {
    {.name = "generate_proposals_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = generate_ref,
     .scratch = generate_scratch},
    {.name = "generate_proposals_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = generate_ref,
     .scratch = generate_scratch},
};
QRN_FAMILY(generate_proposals, sizeof(qrn_generate_args));

static const qrn_kernel collect_proposals_rows[] = {
    {.name = "collect_proposals_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = collect_ref,
     .scratch = collect_scratch},
    {.name = "collect_proposals_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = collect_ref,
     .scratch = collect_scratch},
};
QRN_FAMILY(collect_proposals, 0);

static const qrn_kernel distribute_proposals_rows[] = {
    {.name = "distribute_proposals_f32_ref", .domain = QRN_DOMAIN_F32, .fn = distribute_ref},
    {.name = "distribute_proposals_f64_ref", .domain = QRN_DOMAIN_F64, .fn = distribute_ref},
};
QRN_FAMILY(distribute_proposals, sizeof(qrn_distribute_args));
