// SPDX-License-Identifier: MIT
//
// The nms_limit family: suppression within each class of each image, images given by a number
// beside each row. Images are visited by their numbers, found anew each time, so that no number
// makes a long loop.
#include "kernels/detect/candidates.h"
#include "kernels/detect/nms.h"

enum { BOXES, SCORES, CLASSES, IMAGES, SPLITS, KEEPS, SIZES }; // outputs

static qrn_view *output(const qrn_kcall *k, uint32_t o) { return o < k->n_out ? k->out[o] : NULL; }

static size_t nms_limit_scratch(const qrn_kcall *k) {
    size_t rows = k->in[0]->dims[0];
    return qrn_candidates_bytes(rows, rows);
}

// The smallest image number from `from` on; -1 when there is none.
static int64_t next_image(const qrn_view *images, int64_t from) {
    int64_t next = -1;
    for (size_t r = 0; r < images->dims[0]; r++) {
        int64_t n = qrn_view_int(images, r);
        if (n >= from && (next < 0 || n < next))
            next = n;
    }
    return next;
}

static qrn_status check_images(const qrn_kcall *k) {
    const qrn_view *images = k->in[2], *splits = output(k, SPLITS);
    for (size_t r = 0; r < images->dims[0]; r++) {
        int64_t n = qrn_view_int(images, r);
        if (n < 0 || (splits && n >= (int64_t)splits->dims[0]))
            return QRN_E_ARGUMENT;
    }
    return QRN_OK;
}

// Picks of one class in one image; c holds them in order, box is the row.
static size_t pick_class(const qrn_kcall *k, int64_t image, size_t cls, qrn_box *boxes,
                         qrn_candidate *c) {
    const qrn_nms_limit_args *a = k->args;
    size_t rows = k->in[0]->dims[0], n_classes = k->in[1]->dims[1], n = 0;
    for (size_t r = 0; r < rows; r++) {
        double s = qrn_real_get(k->in[1], r * n_classes + cls);
        if (qrn_view_int(k->in[2], r) != image || !(s >= a->score_threshold))
            continue;
        boxes[r] = qrn_box_get(k->in[0], (r * n_classes + cls) * 4);
        c[n++] = (qrn_candidate){s, (uint32_t)r, (uint32_t)r};
    }
    if (a->pre_limit >= 0 && n > (size_t)a->pre_limit) {
        qrn_candidates_sort(c, n);
        n = (size_t)a->pre_limit;
    }
    qrn_nms rule = {.method = a->method,
                    .limit = a->iou_threshold,
                    .sigma = a->sigma,
                    .score_least = a->nms_score_threshold,
                    .most = n};
    return qrn_nms_pick(&rule, c, n, boxes);
}

static void count_up(qrn_view *v, size_t i, size_t n) {
    if (v)
        ((uint32_t *)v->data)[i] += (uint32_t)n;
}

static qrn_status nms_limit_ref(const qrn_kcall *k) {
    const qrn_nms_limit_args *a = k->args;
    size_t capacity = k->out[BOXES]->dims[0], n_classes = k->in[1]->dims[1], used = 0;
    qrn_box *boxes = k->scratch;
    qrn_candidate *c = (qrn_candidate *)(boxes + k->in[0]->dims[0]);
    QRN_TRY(check_images(k));
    for (uint32_t o = 0; o < SPLITS; o++)
        qrn_view_clear_from(k->out[o], 0);
    for (uint32_t o = SPLITS; o <= SIZES; o++)
        if (output(k, o))
            qrn_view_clear_from(output(k, o), 0);
    for (int64_t image = 0; (image = next_image(k->in[2], image)) >= 0; image++) {
        for (size_t cls = 0; cls < n_classes && used < capacity; cls++) {
            size_t n = pick_class(k, image, cls, boxes, c);
            n = n < capacity - used ? n : capacity - used;
            for (size_t i = 0; i < n; i++, used++) {
                qrn_box_put(k->out[BOXES], used * 4, &boxes[c[i].box]);
                qrn_real_put(k->out[SCORES], used, c[i].score);
                qrn_int_put(k->out[CLASSES], used, (int64_t)cls);
                qrn_int_put(k->out[IMAGES], used, image);
                if (output(k, KEEPS))
                    qrn_int_put(output(k, KEEPS), used, c[i].box);
            }
            count_up(output(k, SPLITS), (size_t)image, n);
            count_up(output(k, SIZES), cls, n);
        }
    }
    for (uint32_t o = 0; o < k->n_out; o++)
        if (k->out[o] && (a->report >> o & 1u))
            k->out[o]->dims[0] = (uint32_t)used;
    return QRN_OK;
}

static const qrn_kernel nms_limit_rows[] = {
    {.name = "nms_limit_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = nms_limit_ref,
     .scratch = nms_limit_scratch},
    {.name = "nms_limit_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = nms_limit_ref,
     .scratch = nms_limit_scratch},
};
QRN_FAMILY(nms_limit, sizeof(qrn_nms_limit_args));
