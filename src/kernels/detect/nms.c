// SPDX-License-Identifier: MIT
//
// The families that keep a fixed shape for each image or class: nms, combined_nms, multi_nms,
// pick_rows.
#include "kernels/detect/nms.h"

#include "kernels/convert.h"
#include "kernels/detect/candidates.h"

#include <math.h>
#include <string.h>

static size_t nms_scratch(const qrn_kcall *k) {
    size_t boxes = k->in[0]->dims[1];
    return qrn_candidates_bytes(boxes, boxes);
}

static void get_boxes(const qrn_view *v, size_t first, size_t n, qrn_box *boxes) {
    if (v->dtype == QRN_DTYPE_F32) {
        const float *from = (const float *)v->data + first;
        for (size_t b = 0; b < n; b++)
            for (size_t i = 0; i < 4; i++)
                boxes[b].at[i] = (double)from[4 * b + i];
        return;
    }
    for (size_t b = 0; b < n; b++)
        boxes[b] = qrn_box_get(v, first + 4 * b);
}

// The boxes whose scores are above a limit, in their order; returns how many there are.
static size_t above(const qrn_view *scores, size_t first, size_t n, double limit,
                    qrn_candidate *c) {
    const float *floats = scores->dtype == QRN_DTYPE_F32 ? scores->data : NULL;
    size_t found = 0;
    for (size_t b = 0; b < n; b++) {
        double s = floats ? (double)floats[first + b] : qrn_real_get(scores, first + b);
        c[found] = (qrn_candidate){s, (uint32_t)b, (uint32_t)b};
        found += s > limit; // no branch: it would be a guess
    }
    return found;
}

static qrn_status nms_ref(const qrn_kcall *k) {
    const qrn_nms_args *a = k->args;
    const qrn_view *scores = k->in[1];
    qrn_view *rows = k->out[0], *count = k->n_out > 1 ? k->out[1] : NULL;
    size_t n_boxes = k->in[0]->dims[1], n_classes = scores->dims[1], used = 0;
    size_t capacity = rows->dims[0];
    qrn_box *boxes = k->scratch;
    qrn_candidate *c = (qrn_candidate *)(boxes + n_boxes);
    qrn_nms rule = {.method = QRN_NMS_ABOVE, .limit = a->iou_threshold, .most = a->most};
    for (size_t image = 0; image < scores->dims[0]; image++) {
        size_t before = used;
        get_boxes(k->in[0], image * n_boxes * 4, n_boxes, boxes);
        for (size_t cls = 0; cls < n_classes; cls++) {
            size_t first = (image * n_classes + cls) * n_boxes;
            size_t n = above(scores, first, n_boxes, a->score_threshold, c);
            n = qrn_nms_pick(&rule, c, n, boxes);
            for (size_t i = 0; i < n && used < capacity; i++, used++) {
                qrn_int_put(rows, used * 3, (int64_t)image);
                qrn_int_put(rows, used * 3 + 1, (int64_t)cls);
                qrn_int_put(rows, used * 3 + 2, c[i].box);
            }
        }
        if (count)
            qrn_int_put(count, count->dims[0] == 1 ? 0 : image,
                        (int64_t)(count->dims[0] == 1 ? used : used - before));
    }
    qrn_view_clear_from(rows, used * 3);
    if (a->report & 1u)
        rows->dims[0] = (uint32_t)used;
    return QRN_OK;
}

// Every (box, class) pair may be a candidate.
static size_t combined_nms_scratch(const qrn_kcall *k) {
    const qrn_view *boxes = k->in[0], *scores = k->in[1];
    return qrn_candidates_bytes((size_t)boxes->dims[1] * boxes->dims[2],
                                (size_t)scores->dims[1] * scores->dims[2]);
}

// Greedy choice among candidates of all classes: at most `most`, of each class at most `per_class`.
// A candidate that its class has no room for suppresses nobody. The class is order % n_classes.
static size_t pick_together(const qrn_combined_nms_args *a, qrn_candidate *c, size_t n,
                            const qrn_box *boxes, size_t n_classes, size_t most) {
    size_t kept = 0;
    qrn_candidates_sort(c, n);
    for (size_t i = 0; i < n && kept < most; i++) {
        size_t same = 0;
        bool covered = false;
        for (size_t j = 0; j < kept && !covered; j++) {
            covered = qrn_box_iou(&boxes[c[i].box], &boxes[c[j].box]) > a->iou_threshold;
            same += c[j].order % n_classes == c[i].order % n_classes;
        }
        if (!covered && same < a->per_class)
            c[kept++] = c[i];
    }
    return kept;
}

// The choice for one image by descending score; order = box * n_classes + class.
static size_t combined_choice(const qrn_kcall *k, size_t image, const qrn_box *boxes,
                              qrn_candidate *c) {
    const qrn_combined_nms_args *a = k->args;
    const qrn_view *scores = k->in[1];
    size_t n_boxes = scores->dims[1], n_classes = scores->dims[2], q = k->in[0]->dims[2], total = 0;
    size_t most = k->out[0]->dims[1];
    bool together = q == 1 && n_classes > 1;
    qrn_nms rule = {.method = QRN_NMS_ABOVE,
                    .limit = a->iou_threshold,
                    .most = a->per_class < most ? a->per_class : most};
    for (size_t cls = 0; cls < n_classes; cls++) {
        size_t n = 0;
        for (size_t b = 0; b < n_boxes; b++) {
            double s = qrn_real_get(scores, (image * n_boxes + b) * n_classes + cls);
            if (s >= a->score_threshold)
                c[total + n++] = (qrn_candidate){s, (uint32_t)(b * n_classes + cls),
                                                 (uint32_t)(b * q + (q > 1 ? cls : 0))};
        }
        total += together ? n : qrn_nms_pick(&rule, c + total, n, boxes);
    }
    if (together)
        return pick_together(a, c, total, boxes, n_classes, most);
    qrn_candidates_sort(c, total);
    return total < most ? total : most;
}

static qrn_status combined_nms_ref(const qrn_kcall *k) {
    const qrn_combined_nms_args *a = k->args;
    const qrn_view *scores = k->in[1];
    size_t per_image = (size_t)k->in[0]->dims[1] * k->in[0]->dims[2], most = k->out[0]->dims[1];
    size_t n_classes = scores->dims[2];
    qrn_box *boxes = k->scratch;
    qrn_candidate *c = (qrn_candidate *)(boxes + per_image);
    for (size_t o = 0; o < 3; o++)
        qrn_view_clear_from(k->out[o], 0);
    for (size_t image = 0; image < scores->dims[0]; image++) {
        for (size_t b = 0; b < per_image; b++)
            boxes[b] = qrn_box_get(k->in[0], (image * per_image + b) * 4);
        size_t n = combined_choice(k, image, boxes, c);
        for (size_t i = 0; i < n; i++) {
            size_t at = image * most + i;
            qrn_box b = boxes[c[i].box];
            for (size_t e = 0; e < 4 && a->clip; e++)
                b.at[e] = fmin(fmax(b.at[e], 0.0), 1.0);
            qrn_box_put(k->out[0], at * 4, &b);
            qrn_real_put(k->out[1], at, c[i].score);
            qrn_int_put(k->out[2], at, (int64_t)(c[i].order % n_classes));
        }
        qrn_int_put(k->out[3], image, (int64_t)n);
    }
    return QRN_OK;
}

static size_t multi_nms_scratch(const qrn_kcall *k) {
    const qrn_view *scores = k->in[1];
    return qrn_candidates_bytes(k->in[0]->dims[1], (size_t)scores->dims[1] * scores->dims[2]);
}

static qrn_status multi_nms_ref(const qrn_kcall *k) {
    const qrn_multi_nms_args *a = k->args;
    const qrn_view *scores = k->in[1];
    size_t n_boxes = scores->dims[1], n_classes = scores->dims[2], most = k->out[0]->dims[1];
    qrn_box *boxes = k->scratch;
    qrn_candidate *c = (qrn_candidate *)(boxes + n_boxes);
    qrn_nms rule = {.method = a->sigma > 0.0 ? QRN_NMS_GAUSSIAN_HALF : QRN_NMS_ABOVE,
                    .limit = a->iou_threshold,
                    .sigma = a->sigma,
                    .score_least = a->score_threshold,
                    .most = most};
    for (size_t o = 0; o < 3; o++)
        qrn_view_clear_from(k->out[o], 0);
    for (size_t image = 0; image < scores->dims[0]; image++) {
        size_t total = 0;
        for (size_t b = 0; b < n_boxes; b++)
            boxes[b] = qrn_box_get(k->in[0], (image * n_boxes + b) * 4);
        for (size_t cls = 0; cls < n_classes; cls++) {
            size_t n = 0;
            for (size_t b = 0; b < n_boxes; b++) {
                size_t at = b * n_classes + cls;
                double s = qrn_real_get(scores, image * n_boxes * n_classes + at);
                if (s >= a->score_threshold)
                    c[total + n++] = (qrn_candidate){s, (uint32_t)at, (uint32_t)b};
            }
            total += qrn_nms_pick(&rule, c + total, n, boxes);
        }
        qrn_candidates_sort(c, total);
        total = total < most ? total : most;
        for (size_t i = 0; i < most; i++) {
            size_t at = image * most + i;
            qrn_int_put(k->out[4], at, i < total ? (int64_t)c[i].box : -1);
            if (i >= total)
                continue;
            qrn_box_put(k->out[0], at * 4, &boxes[c[i].box]);
            qrn_real_put(k->out[1], at, c[i].score);
            qrn_int_put(k->out[2], at, (int64_t)(c[i].order % n_classes));
        }
        qrn_int_put(k->out[3], image, (int64_t)total);
    }
    return QRN_OK;
}

// Bytes of one element that reads 0 in the format of `v`.
static void zero_element(const qrn_view *v, void *bytes) {
    double zero = 0.0;
    qrn_view src = {.data = &zero, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {1}};
    qrn_view dst = {.data = bytes, .quant = v->quant, .dtype = v->dtype, .rank = 1, .dims = {1}};
    if (v->quant && v->quant->kind > QRN_QUANT_TENSOR)
        memset(bytes, 0, qrn_view_elem(v)); // no single value reads 0 everywhere
    else
        qrn_convert_range(&src, &dst, 0, 1, false);
}

static qrn_status pick_rows_ref(const qrn_kcall *k) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    const int32_t *chosen = k->in[1]->data;
    size_t elem = qrn_view_elem(x), row = qrn_view_span(x, 2, x->rank);
    unsigned char zero[8];
    zero_element(y, zero);
    for (size_t i = 0; i < (size_t)y->dims[0] * y->dims[1]; i++) {
        char *dst = (char *)y->data + i * row * elem;
        if (chosen[i] >= 0 && (uint32_t)chosen[i] >= x->dims[1])
            return QRN_E_ARGUMENT;
        if (chosen[i] < 0)
            for (size_t e = 0; e < row; e++)
                memcpy(dst + e * elem, zero, elem);
        else
            memcpy(dst,
                   (const char *)x->data +
                       (i / y->dims[1] * x->dims[1] + (size_t)chosen[i]) * row * elem,
                   row * elem);
    }
    return QRN_OK;
}

#define ROWS(fam)                                                                                  \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_f32_ref",                                                                  \
         .domain = QRN_DOMAIN_F32,                                                                 \
         .fn = fam##_ref,                                                                          \
         .scratch = fam##_scratch},                                                                \
        {.name = #fam "_f64_ref",                                                                  \
         .domain = QRN_DOMAIN_F64,                                                                 \
         .fn = fam##_ref,                                                                          \
         .scratch = fam##_scratch},                                                                \
    }

ROWS(nms);
QRN_FAMILY(nms, sizeof(qrn_nms_args));
ROWS(combined_nms);
QRN_FAMILY(combined_nms, sizeof(qrn_combined_nms_args));
ROWS(multi_nms);
QRN_FAMILY(multi_nms, sizeof(qrn_multi_nms_args));

static const qrn_kernel pick_rows_rows[] = {
    {.name = "pick_rows_ref", .domain = QRN_DOMAIN_RAW, .fn = pick_rows_ref},
};
QRN_FAMILY(pick_rows, 0);
