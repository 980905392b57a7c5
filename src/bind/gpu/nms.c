// SPDX-License-Identifier: MIT
//
// Non-maximum suppression on the GPU: candidates, the picks of each row of them, what is reported.
#include "bind/gpu/binder.h"

#include "kernels/detect/candidates.h"
#include "kernels/detect/nms.h"
#include "kernels/detect/proposals.h"

#include <math.h>

#define GROUP 64 // work items of a row, as in nms.cl

// Candidates in rows: `rows` of each image, `n` in a row.
typedef struct job {
    qrn_gpu_binder *b;
    const qrn_cstep *s;
    int64_t images, rows, n, most; // most: picks of a row
    int64_t classes;               // of the scores
    int64_t score_stride[3];       // of image, candidate, row
    int64_t box_stride[3];         // the same of boxes
    int64_t shared;                // 0, or the classes that are in one row
    int64_t per_class;             // picks of each, then
    qrn_nms rule;
    qrn_val score, state, boxes, order, count,
        group; // group: QRN_VAL_NONE, or numbers beside boxes
} job;

static qrn_val output(const qrn_cstep *s, uint32_t i) {
    return i < s->n_out ? s->out[i] : QRN_VAL_NONE;
}

static qrn_dtype real_type(const qrn_gpu_binder *b) {
    return b->opt->device && b->opt->device->info->fp64 ? QRN_DTYPE_F64 : QRN_DTYPE_F32;
}

static qrn_gpu_kernel begin(const job *j, const char *entry) {
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(j->b, qrn_cl_nms, entry);
    qrn_gpu_define(&k, "REAL", "%s", qrn_gpu_type_name(real_type(j->b)));
    return k;
}

static void add_params(qrn_gpu_kernel *k, const int64_t *values, uint32_t n) {
    int32_t p[16];
    for (uint32_t i = 0; i < n; i++) {
        bool fits = values[i] >= INT32_MIN && values[i] <= INT32_MAX;
        if (!fits && k->status == QRN_OK)
            k->status =
                QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED, "graph '%s': a size of %lld is too large",
                         k->b->cg->name, (long long)values[i]);
        p[i] = (int32_t)values[i];
    }
    qrn_gpu_params(k, "P", p, n);
}
#define PARAMS(k, ...)                                                                             \
    add_params(k, (const int64_t[]){__VA_ARGS__},                                                  \
               sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static size_t total_of(const job *j) { return (size_t)(j->images * j->rows * j->n); }

static qrn_status make_lists(job *j) {
    if (j->most > j->n)
        j->most = j->n;
    QRN_TRY(qrn_gpu_scratch(j->b, real_type(j->b), total_of(j), &j->score));
    return qrn_gpu_scratch(j->b, QRN_DTYPE_U8, total_of(j), &j->state);
}

static qrn_status list_candidates(job *j, qrn_val scores, double threshold, bool above) {
    QRN_TRY(make_lists(j));
    qrn_gpu_kernel k = begin(j, "candidates");
    qrn_gpu_in(&k, "S", scores);
    qrn_gpu_out(&k, "C", j->score);
    qrn_gpu_out(&k, "T", j->state);
    PARAMS(&k, j->n, j->rows, j->score_stride[0], j->score_stride[1], j->score_stride[2], above);
    qrn_gpu_float(&k, (float)threshold);
    qrn_gpu_int(&k, (int64_t)total_of(j));
    return qrn_gpu_kernel_items(&k, total_of(j));
}

// Only the best of each row, and of each group in it, compete.
static qrn_status limit_best(job *j, int64_t most) {
    qrn_val state;
    if (most >= j->n)
        return QRN_OK;
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_U8, total_of(j), &state));
    qrn_gpu_kernel k = begin(j, "limit_best");
    qrn_gpu_in(&k, "C", j->score);
    qrn_gpu_in(&k, "T", j->state);
    qrn_gpu_in(&k, "G", j->group);
    qrn_gpu_out(&k, "U", state);
    QRN_GPU_INTS(&k, j->n, most, (int64_t)total_of(j));
    j->state = state;
    return qrn_gpu_kernel_items(&k, total_of(j));
}

static qrn_status pick(job *j) {
    size_t rows = (size_t)(j->images * j->rows), local = GROUP, total = rows * GROUP;
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_I32, rows * (size_t)j->most + 1, &j->order));
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_I32, rows, &j->count));
    qrn_gpu_kernel k = begin(j, "pick");
    qrn_gpu_out(&k, "C", j->score);
    qrn_gpu_out(&k, "T", j->state);
    qrn_gpu_in(&k, "D", j->boxes);
    qrn_gpu_in(&k, "G", j->group);
    qrn_gpu_out(&k, "O", j->order);
    qrn_gpu_out(&k, "N", j->count);
    PARAMS(&k, j->n, j->rows, j->box_stride[0], j->shared ? j->shared : 1, j->box_stride[1],
           j->box_stride[2], j->most, j->rule.method, j->shared, j->per_class);
    qrn_gpu_float(&k, (float)j->rule.limit);
    qrn_gpu_float(&k, (float)j->rule.sigma);
    qrn_gpu_float(&k, (float)j->rule.score_least);
    return qrn_gpu_kernel_end(&k, 1, &total, &local);
}

// Rows of all images behind each other; `boxes`: with their scores and boxes.
static qrn_status pack_rows(job *j, qrn_val counts, bool boxes, uint32_t report) {
    int64_t capacity = qrn_gpu_shape(j->b, j->s->out[0])->dims[0];
    int64_t n_counts = counts == QRN_VAL_NONE ? 0 : (int64_t)qrn_gpu_count(j->b, counts);
    int64_t items = capacity > n_counts ? capacity : n_counts;
    qrn_gpu_kernel k = begin(j, "pack_rows");
    qrn_gpu_in(&k, "N", j->count);
    qrn_gpu_in(&k, "O", j->order);
    qrn_gpu_in(&k, "C", j->score);
    qrn_gpu_in(&k, "D", boxes ? j->boxes : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Y", j->s->out[0]);
    qrn_gpu_out(&k, "B", boxes ? j->s->out[1] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "I", boxes ? j->s->out[2] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Z", counts);
    qrn_gpu_fault(&k, j->s);
    qrn_gpu_rows_slot(&k, j->s, report);
    PARAMS(&k, j->images * j->rows, j->rows, j->most, j->n, capacity, n_counts);
    qrn_gpu_int(&k, items);
    return qrn_gpu_kernel_items(&k, (size_t)items);
}

static bool is_empty(const qrn_gpu_binder *b, const qrn_cstep *s) {
    return qrn_gpu_count(b, s->in[0]) == 0 || qrn_gpu_count(b, s->in[1]) == 0 ||
           qrn_gpu_count(b, s->out[0]) == 0;
}

static qrn_status bind_nms(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_nms_args *a = s->args;
    const uint32_t *scores = qrn_gpu_shape(b, s->in[1])->dims;
    int64_t classes = scores[1], n = scores[2];
    if (is_empty(b, s))
        return qrn_gpu_reject(b, s, "a dimension is 0");
    job j = {.b = b,
             .s = s,
             .images = scores[0],
             .rows = classes,
             .n = n,
             .most = a->most,
             .score_stride = {classes * n, 1, n},
             .box_stride = {n, 1, 0},
             .boxes = s->in[0],
             .group = QRN_VAL_NONE,
             .rule = {.method = QRN_NMS_ABOVE, .limit = a->iou_threshold}};
    QRN_TRY(list_candidates(&j, s->in[1], a->score_threshold, true));
    QRN_TRY(pick(&j));
    return pack_rows(&j, output(s, 1), false, a->report);
}

static qrn_status bind_generate(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_generate_args *a = s->args;
    const qrn_shape *scores = qrn_gpu_shape(b, s->in[0]);
    job j = {.b = b,
             .s = s,
             .images = scores->dims[0],
             .rows = 1,
             .n = qrn_gpu_span(scores, 1, 4),
             .most = a->post_limit,
             .box_stride = {qrn_gpu_span(scores, 1, 4), 1, 0},
             .group = QRN_VAL_NONE,
             .rule = {.method = QRN_NMS_FROM, .limit = a->iou_threshold}};
    if (is_empty(b, s))
        return qrn_gpu_reject(b, s, "a dimension is 0");
    QRN_TRY(make_lists(&j));
    QRN_TRY(qrn_gpu_scratch(b, real_type(b), 4 * total_of(&j), &j.boxes));
    qrn_gpu_kernel k = begin(&j, "propose");
    qrn_gpu_in(&k, "S", s->in[0]);
    qrn_gpu_in(&k, "D", s->in[1]);
    qrn_gpu_in(&k, "A", s->in[2]);
    qrn_gpu_in(&k, "Z", s->in[3]);
    qrn_gpu_out(&k, "B", j.boxes);
    qrn_gpu_out(&k, "C", j.score);
    qrn_gpu_out(&k, "T", j.state);
    QRN_GPU_INTS(&k, j.n, scores->dims[3], scores->dims[2]);
    qrn_gpu_float(&k, (float)a->step[0]);
    qrn_gpu_float(&k, (float)a->step[1]);
    qrn_gpu_float(&k, (float)a->min_size);
    qrn_gpu_float(&k, a->clip_deltas ? (float)log(1000.0 / 16.0) : INFINITY);
    qrn_gpu_int(&k, (int64_t)total_of(&j));
    QRN_TRY(qrn_gpu_kernel_items(&k, total_of(&j)));
    QRN_TRY(limit_best(&j, a->pre_limit));
    QRN_TRY(pick(&j));
    return pack_rows(&j, QRN_VAL_NONE, true, a->report);
}

// --- the best of each image

static qrn_status best_of_image(job *j, bool clip, qrn_val chosen) {
    static const char *const names[] = {"Y", "S", "L", "Z"};
    int64_t kept = qrn_gpu_shape(j->b, j->s->out[0])->dims[1];
    int64_t items = j->images * j->rows * j->most;
    if (items < j->images * kept)
        items = j->images * kept;
    qrn_gpu_kernel k = begin(j, "best_of_image");
    qrn_gpu_in(&k, "N", j->count);
    qrn_gpu_in(&k, "O", j->order);
    qrn_gpu_in(&k, "C", j->score);
    qrn_gpu_in(&k, "D", j->boxes);
    for (uint32_t i = 0; i < 4; i++)
        qrn_gpu_out(&k, names[i], j->s->out[i]);
    qrn_gpu_out(&k, "H", chosen);
    PARAMS(&k, j->images, j->rows, j->most, j->n, j->classes, kept, j->shared != 0, clip,
           j->box_stride[0], j->box_stride[1], j->shared ? 0 : j->box_stride[2]);
    qrn_gpu_int(&k, items);
    return qrn_gpu_kernel_items(&k, (size_t)items);
}

// Scores [N, B, C]: a row for each class.
static job job_of_classes(qrn_gpu_binder *b, const qrn_cstep *s) {
    const uint32_t *scores = qrn_gpu_shape(b, s->in[1])->dims;
    int64_t n = scores[1], classes = scores[2];
    return (job){.b = b,
                 .s = s,
                 .images = scores[0],
                 .rows = classes,
                 .n = n,
                 .most = qrn_gpu_shape(b, s->out[0])->dims[1],
                 .classes = classes,
                 .score_stride = {n * classes, classes, 1},
                 .box_stride = {n, 1, 0},
                 .boxes = s->in[0],
                 .group = QRN_VAL_NONE};
}

static qrn_status bind_multi_nms(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_multi_nms_args *a = s->args;
    if (is_empty(b, s))
        return qrn_gpu_reject(b, s, "a dimension is 0");
    job j = job_of_classes(b, s);
    j.rule = (qrn_nms){.method = a->sigma > 0.0 ? QRN_NMS_GAUSSIAN_HALF : QRN_NMS_ABOVE,
                       .limit = a->iou_threshold,
                       .sigma = a->sigma,
                       .score_least = a->score_threshold};
    QRN_TRY(list_candidates(&j, s->in[1], a->score_threshold, false));
    QRN_TRY(pick(&j));
    return best_of_image(&j, false, s->out[4]);
}

static qrn_status bind_combined_nms(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_combined_nms_args *a = s->args;
    int64_t q = qrn_gpu_shape(b, s->in[0])->dims[2];
    if (is_empty(b, s))
        return qrn_gpu_reject(b, s, "a dimension is 0");
    job j = job_of_classes(b, s);
    j.rule = (qrn_nms){.method = QRN_NMS_ABOVE, .limit = a->iou_threshold};
    if (q == 1 && j.classes > 1) { // all classes compete
        j.shared = j.classes;
        j.per_class = a->per_class > INT32_MAX ? INT32_MAX : a->per_class;
        j.most = a->per_class ? j.most : 0;
        j.score_stride[1] = 1;
        j.n *= j.classes;
        j.rows = 1;
    } else {
        j.box_stride[0] = j.n * q;
        j.box_stride[1] = q;
        j.box_stride[2] = q > 1;
        j.most = j.most < a->per_class ? j.most : a->per_class;
    }
    QRN_TRY(list_candidates(&j, s->in[1], a->score_threshold, false));
    QRN_TRY(pick(&j));
    return best_of_image(&j, a->clip, QRN_VAL_NONE);
}

// --- images by number

enum { BOXES, SCORES, CLASSES, IMAGES, SPLITS, KEEPS, SIZES }; // outputs

static qrn_status count_packed(job *j) {
    const qrn_cstep *s = j->s;
    qrn_val splits = output(s, SPLITS), sizes = output(s, SIZES);
    int64_t groups = splits == QRN_VAL_NONE ? 0 : (int64_t)qrn_gpu_count(j->b, splits);
    int64_t classes = sizes == QRN_VAL_NONE ? 0 : (int64_t)qrn_gpu_count(j->b, sizes);
    int64_t items = groups > classes ? groups : classes;
    qrn_gpu_kernel k = begin(j, "count_packed");
    qrn_gpu_in(&k, "N", j->count);
    qrn_gpu_in(&k, "L", s->out[CLASSES]);
    qrn_gpu_in(&k, "I", s->out[IMAGES]);
    qrn_gpu_out(&k, "Z", splits);
    qrn_gpu_out(&k, "W", sizes);
    QRN_GPU_INTS(&k, j->rows, qrn_gpu_shape(j->b, s->out[BOXES])->dims[0], groups, classes, items);
    return qrn_gpu_kernel_items(&k, (size_t)items);
}

static qrn_status pack_groups(job *j) {
    static const char *const names[] = {"Y", "S", "L", "I"};
    int64_t capacity = qrn_gpu_shape(j->b, j->s->out[BOXES])->dims[0], items = j->rows * j->n;
    items = items > capacity ? items : capacity;
    qrn_gpu_kernel k = begin(j, "pack_groups");
    qrn_gpu_in(&k, "N", j->count);
    qrn_gpu_in(&k, "O", j->order);
    qrn_gpu_in(&k, "C", j->score);
    qrn_gpu_in(&k, "D", j->boxes);
    qrn_gpu_in(&k, "G", j->group);
    for (uint32_t i = 0; i < SPLITS; i++)
        qrn_gpu_out(&k, names[i], j->s->out[i]);
    qrn_gpu_out(&k, "H", output(j->s, KEEPS));
    qrn_gpu_fault(&k, j->s);
    qrn_gpu_rows_slot(&k, j->s, ((const qrn_nms_limit_args *)j->s->args)->report);
    PARAMS(&k, j->rows, j->n, capacity);
    qrn_gpu_int(&k, items);
    return qrn_gpu_kernel_items(&k, (size_t)items);
}

static qrn_status check_groups(job *j) {
    qrn_val splits = output(j->s, SPLITS);
    qrn_gpu_kernel k = begin(j, "check_groups");
    qrn_gpu_in(&k, "G", j->group);
    qrn_gpu_fault(&k, j->s);
    QRN_GPU_INTS(&k, splits == QRN_VAL_NONE ? 0 : (int64_t)qrn_gpu_count(j->b, splits), j->n);
    return qrn_gpu_kernel_items(&k, (size_t)j->n);
}

static qrn_status bind_nms_limit(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_nms_limit_args *a = s->args;
    const uint32_t *scores = qrn_gpu_shape(b, s->in[1])->dims;
    int64_t n = scores[0], classes = scores[1];
    if (is_empty(b, s))
        return qrn_gpu_reject(b, s, "a dimension is 0");
    job j = {.b = b,
             .s = s,
             .images = 1,
             .rows = classes,
             .n = n,
             .most = n,
             .classes = classes,
             .score_stride = {0, classes, 1},
             .box_stride = {0, classes, 1},
             .boxes = s->in[0],
             .group = s->in[2],
             .rule = {.method = a->method,
                      .limit = a->iou_threshold,
                      .sigma = a->sigma,
                      .score_least = a->nms_score_threshold}};
    QRN_TRY(check_groups(&j));
    QRN_TRY(list_candidates(&j, s->in[1], a->score_threshold, false));
    if (a->pre_limit >= 0)
        QRN_TRY(limit_best(&j, a->pre_limit));
    QRN_TRY(pick(&j));
    QRN_TRY(pack_groups(&j));
    return count_packed(&j);
}

const qrn_gpu_op qrn_gpu_ops_nms[] = {
    {.op = &qrn_cop_nms, .bind = bind_nms},
    {.op = &qrn_cop_generate_proposals, .bind = bind_generate},
    {.op = &qrn_cop_multi_nms, .bind = bind_multi_nms},
    {.op = &qrn_cop_combined_nms, .bind = bind_combined_nms},
    {.op = &qrn_cop_nms_limit, .bind = bind_nms_limit},
    {0},
};
