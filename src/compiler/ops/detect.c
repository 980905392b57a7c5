// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group detect: attributes, and what makes a step safe to run. Candidates
// are numbered with 32 bits, so as many as an image can have must fit. Numbers of images and rows
// that come from data are checked by the rows; thresholds may be anything.
#include "compiler/ops/check.h"

#include "kernels/detect/candidates.h"
#include "kernels/detect/detection_output.h"
#include "kernels/detect/nms.h"
#include "kernels/detect/proposals.h"
#include "kernels/detect/roi.h"

#define INT_TYPES (QRN_T(I32) | QRN_T(U32))

// Types of operands: all dense, of the domain's type but those whose bits are set, which hold i32
// or u32.
static const char *check_types(const qrn_kcall *k, qrn_domain domain, uint32_t ints_in,
                               uint32_t ints_out) {
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    for (uint32_t i = 0; i < k->n_in; i++)
        QRN_NEED(ints_in >> i & 1 ? qrn_chk_type(k->in[i], INT_TYPES)
                                  : qrn_chk_real(k->in[i], domain),
                 "an input is not of its type");
    for (uint32_t o = 0; o < k->n_out; o++)
        QRN_NEED(ints_out >> o & 1 ? qrn_chk_type(k->out[o], INT_TYPES)
                                   : qrn_chk_real(k->out[o], domain),
                 "an output is not of its type");
    return NULL;
}

static bool is_matrix(const qrn_view *v, size_t rows, size_t columns) {
    return qrn_chk_dims(v, 2, (const size_t[]){rows, columns});
}

static bool is_block(const qrn_view *v, size_t a, size_t b, size_t c) {
    return qrn_chk_dims(v, 3, (const size_t[]){a, b, c});
}

// --- proposals

// rois [R, unit], deltas and boxes [R, unit * C]
static const char *check_deltas(const qrn_kcall *k, uint32_t unit) {
    const qrn_view *rois = k->in[0], *deltas = k->in[1];
    QRN_NEED(rois->rank == 2 && rois->dims[1] == unit, "in[0] is not a list of boxes");
    QRN_NEED(deltas->rank == 2 && deltas->dims[0] == rois->dims[0] && deltas->dims[1] % unit == 0,
             "in[1] does not hold deltas for the boxes of in[0]");
    QRN_NEED(qrn_chk_same_shape(deltas, k->out[0]), "in[1] and out[0] differ in shape");
    return NULL;
}

static const char *check_box_deltas(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *sizes = k->in[3], *splits = qrn_chk_out(k, 1);
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(k->in[0], domain) && qrn_chk_real(k->in[1], domain) &&
                 qrn_chk_real(k->out[0], domain),
             "in[0], in[1] or out[0] is not of the domain's type");
    QRN_NEED(qrn_chk_type(k->in[2], INT_TYPES) && qrn_chk_type(splits, INT_TYPES),
             "in[2] or out[1] is not of type i32 or u32");
    QRN_NEED_ALSO(check_deltas(k, 4));
    QRN_NEED(qrn_chk_vector(k->in[2], k->in[0]->dims[0]), "in[2] is not an image for each box");
    QRN_NEED(qrn_chk_bytes(sizes) && sizes->rank == 2 && sizes->dims[1] == 2,
             "in[3] does not hold sizes of images");
    QRN_NEED(!splits || qrn_chk_vector(splits, sizes->dims[0]),
             "out[1] is not a number for each image");
    return NULL;
}

static const char *check_rotated_deltas(const qrn_kcall *k, qrn_domain domain) {
    const qrn_rotated_deltas_args *a = k->args;
    const qrn_view *images = k->in[2], *numbers = qrn_chk_in(k, 3);
    QRN_NEED_ALSO(check_types(k, domain, 1u << 3, 0));
    QRN_NEED_ALSO(check_deltas(k, 5));
    QRN_NEED(images->rank == 2 && images->dims[1] == 3, "in[2] does not hold images");
    QRN_NEED(!numbers || qrn_chk_vector(numbers, k->in[0]->dims[0]),
             "in[3] is not an image for each box");
    QRN_NEED(qrn_chk_vector(k->out[1], images->dims[0]), "out[1] is not a number for each image");
    QRN_NEED(!a->bounded || a->low < a->high, "the bounds of angles are not in order");
    return NULL;
}

static const char *check_generate(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *scores = k->in[0], *deltas = k->in[1];
    size_t rows = k->out[0]->dims[0];
    QRN_NEED_ALSO(check_types(k, domain, 0, 1u << 2));
    QRN_NEED(scores->rank == 4 && qrn_view_span(scores, 1, 4) <= UINT32_MAX,
             "in[0] does not hold scores of anchors");
    QRN_NEED(qrn_chk_same_but(scores, deltas, 3) &&
                 deltas->dims[3] == 4 * (uint64_t)scores->dims[3],
             "in[1] does not hold deltas for the anchors of in[0]");
    QRN_NEED(is_matrix(k->in[2], scores->dims[3], 4), "in[2] does not hold the anchors of in[0]");
    QRN_NEED(is_matrix(k->in[3], scores->dims[0], 2), "in[3] is not a size for each image");
    QRN_NEED(qrn_chk_vector(k->out[0], rows) && is_matrix(k->out[1], rows, 4) &&
                 qrn_chk_vector(k->out[2], rows),
             "the outputs do not hold equally many rows");
    return NULL;
}

static const char *check_collect(const qrn_kcall *k, qrn_domain domain) {
    enum { LEVELS = 5 };
    size_t rows = 0;
    QRN_NEED_ALSO(check_types(k, domain, 0, 0));
    for (uint32_t l = 0; l < LEVELS; l++) {
        const qrn_view *rois = qrn_chk_in(k, l), *scores = qrn_chk_in(k, LEVELS + l);
        QRN_NEED(!rois == !scores, "a level has boxes or scores alone");
        if (!rois)
            continue;
        QRN_NEED(scores->rank == 1 && is_matrix(rois, scores->dims[0], 5),
                 "boxes and scores of a level differ");
        rows += scores->dims[0];
    }
    QRN_NEED(rows <= UINT32_MAX, "there are too many boxes");
    QRN_NEED(k->out[0]->rank == 2 && k->out[0]->dims[0] <= rows && k->out[0]->dims[1] == 5,
             "out[0] does not hold some of the boxes");
    return NULL;
}

static const char *check_distribute(const qrn_kcall *k, qrn_domain domain) {
    const qrn_distribute_args *a = k->args;
    const qrn_view *rois = k->in[0];
    QRN_NEED_ALSO(check_types(k, domain, 0, 1));
    QRN_NEED(rois->rank == 2 && (rois->dims[1] == 4 || rois->dims[1] == 5),
             "in[0] is not a list of boxes");
    QRN_NEED(qrn_chk_vector(k->out[0], rois->dims[0]), "out[0] is not a number for each box");
    QRN_NEED(a->min_level <= a->max_level && a->max_level - a->min_level < k->n_out - 1,
             "the levels are not those of the outputs");
    for (uint32_t o = 1; o < k->n_out; o++) {
        const qrn_view *y = k->out[o];
        QRN_NEED((y != NULL) == (o - 1 <= a->max_level - a->min_level),
                 "the levels are not those of the outputs");
        QRN_NEED(!y || (y->rank == 2 && y->dims[1] == rois->dims[1]),
                 "an output does not hold boxes as in[0]");
    }
    return NULL;
}

// --- suppression

static const char *check_nms(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *boxes = k->in[0], *scores = k->in[1], *rows = k->out[0];
    const qrn_view *count = qrn_chk_out(k, 1);
    QRN_NEED_ALSO(check_types(k, domain, 0, 3));
    QRN_NEED(scores->rank == 3 && is_block(boxes, scores->dims[0], scores->dims[2], 4),
             "in[0] does not hold the boxes of in[1]");
    QRN_NEED(rows->rank == 2 && rows->dims[1] == 3, "out[0] does not hold rows of 3");
    QRN_NEED(!count || qrn_chk_vector(count, 1) || qrn_chk_vector(count, scores->dims[0]),
             "out[1] is not one number, or one for each image");
    return NULL;
}

// Boxes [N, K, 4], scores [N, K], classes [N, K], counts [N] in four outputs that begin with
// `boxes` or `scores`.
static const char *check_found(const qrn_kcall *k, uint32_t boxes, uint32_t scores, size_t images) {
    const qrn_view *y = k->out[boxes];
    size_t most = k->out[2]->dims[1];
    QRN_NEED(is_matrix(k->out[2], images, most) && is_matrix(k->out[scores], images, most) &&
                 is_block(y, images, most, 4) && qrn_chk_vector(k->out[3], images),
             "the outputs do not hold the same rows for each image");
    return NULL;
}

// Scores [N, B, C], with 32 bits for each pair of box and class.
static bool are_scores(const qrn_view *v) {
    return v->rank == 3 && (uint64_t)v->dims[1] * v->dims[2] <= UINT32_MAX;
}

static const char *check_combined_nms(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *boxes = k->in[0], *scores = k->in[1];
    QRN_NEED_ALSO(check_types(k, domain, 0, 1u << 2 | 1u << 3));
    QRN_NEED(are_scores(scores), "in[1] does not hold scores of boxes and classes");
    QRN_NEED(boxes->rank == 4 && boxes->dims[0] == scores->dims[0] &&
                 boxes->dims[1] == scores->dims[1] && boxes->dims[3] == 4,
             "in[0] does not hold the boxes of in[1]");
    QRN_NEED(boxes->dims[2] == 1 || boxes->dims[2] == scores->dims[2],
             "in[0] has not a box for all or for each class");
    return check_found(k, 0, 1, scores->dims[0]);
}

static const char *check_multi_nms(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *boxes = k->in[0], *scores = k->in[1];
    QRN_NEED_ALSO(check_types(k, domain, 0, 1u << 2 | 1u << 3 | 1u << 4));
    QRN_NEED(are_scores(scores), "in[1] does not hold scores of boxes and classes");
    QRN_NEED(is_block(boxes, scores->dims[0], scores->dims[1], 4),
             "in[0] does not hold the boxes of in[1]");
    QRN_NEED_ALSO(check_found(k, 0, 1, scores->dims[0]));
    QRN_NEED(qrn_chk_same_shape(k->out[2], k->out[4]), "out[2] and out[4] differ in shape");
    return NULL;
}

static const char *check_detection_output(const qrn_kcall *k, qrn_domain domain) {
    const qrn_detection_output_args *a = k->args;
    const qrn_view *scores = k->in[0], *deltas = k->in[1], *anchors = k->in[2];
    QRN_NEED_ALSO(check_types(k, domain, 0, 1u << 2 | 1u << 3));
    QRN_NEED(are_scores(scores), "in[0] does not hold scores of anchors and classes");
    size_t images = scores->dims[0], n = scores->dims[1];
    QRN_NEED(is_block(deltas, images, a->shared ? n : n * scores->dims[2], 4),
             "in[1] does not hold deltas for the anchors of in[0]");
    QRN_NEED(is_matrix(anchors, n, 4) || is_matrix(anchors, images * n, 4),
             "in[2] does not hold the anchors of in[0]");
    return check_found(k, 1, 0, images);
}

static const char *check_pick_rows(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *chosen = k->in[1], *y = k->out[0];
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_bytes(x) && x->dtype == y->dtype,
             "in[0] and out[0] are not of one whole type");
    QRN_NEED(x->rank >= 2 && qrn_chk_same_but(x, y, 1), "in[0] and out[0] differ beside axis 1");
    QRN_NEED(qrn_chk_type(chosen, QRN_T(I32)) && is_matrix(chosen, y->dims[0], y->dims[1]),
             "in[1] is not a number of type i32 for each row of out[0]");
    return NULL;
}

static const char *check_nms_limit(const qrn_kcall *k, qrn_domain domain) {
    enum { SPLITS = 4, KEEPS, SIZES };
    const uint32_t row_outputs = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << KEEPS;
    const qrn_nms_limit_args *a = k->args;
    const qrn_view *scores = k->in[1], *splits = qrn_chk_out(k, SPLITS);
    const qrn_view *keeps = qrn_chk_out(k, KEEPS), *sizes = qrn_chk_out(k, SIZES);
    size_t rows = k->out[0]->dims[0];
    QRN_NEED_ALSO(check_types(k, domain, ~3u, ~3u));
    QRN_NEED(scores->rank == 2 && is_matrix(k->in[0], scores->dims[0], 4 * (size_t)scores->dims[1]),
             "in[0] does not hold the boxes of in[1]");
    QRN_NEED(qrn_chk_vector(k->in[2], scores->dims[0]), "in[2] is not an image for each box");
    QRN_NEED(is_matrix(k->out[0], rows, 4) && qrn_chk_vector(k->out[1], rows) &&
                 qrn_chk_vector(k->out[2], rows) && qrn_chk_vector(k->out[3], rows) &&
                 (!keeps || qrn_chk_vector(keeps, rows)),
             "the outputs do not hold equally many rows");
    QRN_NEED(!splits || splits->rank == 1, "out[4] is not a list of numbers");
    QRN_NEED(!sizes || qrn_chk_vector(sizes, scores->dims[1]),
             "out[6] is not a number for each class");
    QRN_NEED(a->method <= QRN_NMS_GAUSSIAN_HALF, "method is unknown");
    QRN_NEED((a->report & ~row_outputs) == 0, "report names an output that does not hold rows");
    return NULL;
}

// --- regions

static const char *check_roi(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *y = k->out[0];
    QRN_NEED_ALSO(check_types(k, domain, 1u << 2, 0));
    QRN_NEED(x->rank == 4 && y->rank == 4 && x->dims[3] == y->dims[3],
             "in[0] and out[0] are not images of equal channels");
    QRN_NEED(is_matrix(k->in[1], y->dims[0], 4), "in[1] is not a box for each image of out[0]");
    QRN_NEED(qrn_chk_vector(k->in[2], y->dims[0]), "in[2] is not an image for each box");
    return NULL;
}

// Samples cost time as their square.
static const char *check_roi_align(const qrn_kcall *k, qrn_domain domain) {
    enum { MOST = 256 };
    const qrn_roi_args *a = k->args;
    QRN_NEED(a->samples[0] <= MOST && a->samples[1] <= MOST, "a bin has more than 256 samples");
    return check_roi(k, domain);
}

static const char *check_keypoint(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *map = k->in[0];
    QRN_NEED_ALSO(check_types(k, domain, 0, 0));
    QRN_NEED(map->rank == 4, "in[0] does not hold heat maps");
    QRN_NEED(is_matrix(k->in[1], map->dims[0], 4), "in[1] is not a box for each heat map");
    QRN_NEED(is_matrix(k->out[0], map->dims[0], map->dims[3]) &&
                 is_block(k->out[1], map->dims[0], map->dims[3], 2),
             "the outputs do not hold the points of in[0]");
    return NULL;
}

// --- the ops

static const qrn_attr box_deltas_attrs[] = {QRN_ATTR_ARRAY(qrn_box_deltas_args, weights)};
const qrn_cop qrn_cop_box_deltas = {QRN_COP_HEAD(box_deltas), QRN_COP_ATTRS(box_deltas_attrs),
                                    QRN_COP_IN(4, 4, 15), QRN_COP_OUT(1, 2, 1),
                                    .check = check_box_deltas};

static const qrn_attr rotated_deltas_attrs[] = {
    QRN_ATTR_ARRAY(qrn_rotated_deltas_args, weights),
    QRN_ATTR(qrn_rotated_deltas_args, apply_scale),
    QRN_ATTR(qrn_rotated_deltas_args, bounded),
    QRN_ATTR(qrn_rotated_deltas_args, low),
    QRN_ATTR(qrn_rotated_deltas_args, high),
    QRN_ATTR(qrn_rotated_deltas_args, upright_degree),
};
const qrn_cop qrn_cop_rotated_deltas = {QRN_COP_HEAD(rotated_deltas),
                                        QRN_COP_ATTRS(rotated_deltas_attrs), QRN_COP_IN(3, 4, 7),
                                        QRN_COP_OUT(2, 2, 3), .check = check_rotated_deltas};

static const qrn_attr detection_output_attrs[] = {
    QRN_ATTR_ARRAY(qrn_detection_output_args, factors),
    QRN_ATTR(qrn_detection_output_args, confidence),
    QRN_ATTR(qrn_detection_output_args, iou_threshold),
    QRN_ATTR(qrn_detection_output_args, eta),
    QRN_ATTR(qrn_detection_output_args, limit),
    QRN_ATTR(qrn_detection_output_args, background),
    QRN_ATTR(qrn_detection_output_args, regular),
    QRN_ATTR(qrn_detection_output_args, use_background),
    QRN_ATTR(qrn_detection_output_args, number_background),
    QRN_ATTR(qrn_detection_output_args, shared),
};
const qrn_cop qrn_cop_detection_output = {
    QRN_COP_HEAD(detection_output), QRN_COP_ATTRS(detection_output_attrs), QRN_COP_IN(3, 3, 7),
    QRN_COP_OUT(4, 4, 15), .check = check_detection_output};

static const qrn_attr generate_attrs[] = {
    QRN_ATTR_ARRAY(qrn_generate_args, step),    QRN_ATTR(qrn_generate_args, min_size),
    QRN_ATTR(qrn_generate_args, iou_threshold), QRN_ATTR(qrn_generate_args, pre_limit),
    QRN_ATTR(qrn_generate_args, post_limit),    QRN_ATTR(qrn_generate_args, clip_deltas),
    QRN_ATTR(qrn_generate_args, report),
};
const qrn_cop qrn_cop_generate_proposals = {QRN_COP_HEAD(generate_proposals),
                                            QRN_COP_ATTRS(generate_attrs), QRN_COP_IN(4, 4, 15),
                                            QRN_COP_OUT(3, 3, 7), .check = check_generate};

const qrn_cop qrn_cop_collect_proposals = {QRN_COP_HEAD(collect_proposals),
                                           QRN_COP_IN(6, 10, 1u << 0 | 1u << 5),
                                           QRN_COP_OUT(1, 1, 1), .check = check_collect};

static const qrn_attr distribute_attrs[] = {
    QRN_ATTR(qrn_distribute_args, min_level),       QRN_ATTR(qrn_distribute_args, max_level),
    QRN_ATTR(qrn_distribute_args, canonical_level), QRN_ATTR(qrn_distribute_args, canonical_scale),
    QRN_ATTR(qrn_distribute_args, report),
};
const qrn_cop qrn_cop_distribute_proposals = {QRN_COP_HEAD(distribute_proposals),
                                              QRN_COP_ATTRS(distribute_attrs), QRN_COP_IN(1, 1, 1),
                                              QRN_COP_OUT(2, 5, 3), .check = check_distribute};

static const qrn_attr nms_limit_attrs[] = {
    QRN_ATTR(qrn_nms_limit_args, method),
    QRN_ATTR(qrn_nms_limit_args, iou_threshold),
    QRN_ATTR(qrn_nms_limit_args, score_threshold),
    QRN_ATTR(qrn_nms_limit_args, nms_score_threshold),
    QRN_ATTR(qrn_nms_limit_args, sigma),
    QRN_ATTR(qrn_nms_limit_args, pre_limit),
    QRN_ATTR(qrn_nms_limit_args, report),
};
const qrn_cop qrn_cop_nms_limit = {QRN_COP_HEAD(nms_limit), QRN_COP_ATTRS(nms_limit_attrs),
                                   QRN_COP_IN(3, 4, 7), QRN_COP_OUT(4, 7, 15),
                                   .check = check_nms_limit};

const qrn_cop qrn_cop_keypoint = {QRN_COP_HEAD(keypoint), QRN_COP_IN(2, 2, 3), QRN_COP_OUT(2, 2, 3),
                                  .check = check_keypoint};

static const qrn_attr nms_attrs[] = {
    QRN_ATTR(qrn_nms_args, iou_threshold),
    QRN_ATTR(qrn_nms_args, score_threshold),
    QRN_ATTR(qrn_nms_args, most),
    QRN_ATTR(qrn_nms_args, report),
};
const qrn_cop qrn_cop_nms = {QRN_COP_HEAD(nms), QRN_COP_ATTRS(nms_attrs), QRN_COP_IN(2, 2, 3),
                             QRN_COP_OUT(1, 2, 1), .check = check_nms};

static const qrn_attr combined_nms_attrs[] = {
    QRN_ATTR(qrn_combined_nms_args, iou_threshold),
    QRN_ATTR(qrn_combined_nms_args, score_threshold),
    QRN_ATTR(qrn_combined_nms_args, per_class),
    QRN_ATTR(qrn_combined_nms_args, clip),
};
const qrn_cop qrn_cop_combined_nms = {QRN_COP_HEAD(combined_nms), QRN_COP_ATTRS(combined_nms_attrs),
                                      QRN_COP_IN(2, 2, 3), QRN_COP_OUT(4, 4, 15),
                                      .check = check_combined_nms};

static const qrn_attr multi_nms_attrs[] = {
    QRN_ATTR(qrn_multi_nms_args, iou_threshold),
    QRN_ATTR(qrn_multi_nms_args, score_threshold),
    QRN_ATTR(qrn_multi_nms_args, sigma),
};
const qrn_cop qrn_cop_multi_nms = {QRN_COP_HEAD(multi_nms), QRN_COP_ATTRS(multi_nms_attrs),
                                   QRN_COP_IN(2, 2, 3), QRN_COP_OUT(5, 5, 31),
                                   .check = check_multi_nms};

const qrn_cop qrn_cop_pick_rows = {QRN_COP_HEAD(pick_rows), QRN_COP_IN(2, 2, 3),
                                   QRN_COP_OUT(1, 1, 1), .check = check_pick_rows};

static const qrn_attr roi_attrs[] = {
    QRN_ATTR_ARRAY(qrn_roi_args, ratio),
    QRN_ATTR_ARRAY(qrn_roi_args, samples),
    QRN_ATTR(qrn_roi_args, aligned),
    QRN_ATTR(qrn_roi_args, skip_empty),
};
const qrn_cop qrn_cop_roi_align = {QRN_COP_HEAD(roi_align), QRN_COP_ATTRS(roi_attrs),
                                   QRN_COP_IN(3, 3, 7), QRN_COP_OUT(1, 1, 1),
                                   .check = check_roi_align};
const qrn_cop qrn_cop_roi_pool = {QRN_COP_HEAD(roi_pool), QRN_COP_ATTRS(roi_attrs),
                                  QRN_COP_IN(3, 3, 7), QRN_COP_OUT(1, 1, 1), .check = check_roi};
