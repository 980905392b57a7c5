// SPDX-License-Identifier: MIT
//
// Detection: regions, key points, detection output on the GPU.
#include "bind/gpu/binder.h"

#include "kernels/detect/detection_output.h"
#include "kernels/detect/roi.h"

#include <math.h>

#define GROUP 64 // work items of a search, as in detect.cl

static qrn_status bind_roi(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_roi_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims, *y = qrn_gpu_shape(b, s->out[0])->dims;
    const uint32_t sizes[] = {x[0], x[1], x[2], x[3], y[1], y[2]};
    size_t total = qrn_gpu_count(b, s->out[0]);
    int32_t p[10] = {
        [6] = a->samples[0], [7] = a->samples[1], [8] = a->aligned, [9] = a->skip_empty};
    for (int i = 0; i < 6; i++)
        p[i] = (int32_t)sizes[i];
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_detect,
                                            s->op == &qrn_cop_roi_align ? "roi_align" : "roi_pool");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "R", s->in[1]);
    qrn_gpu_in(&k, "I", s->in[2]);
    qrn_gpu_define_real(&k, "I_REAL", s->in[2]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_fault(&k, s);
    qrn_gpu_params(&k, "P", p, 10);
    qrn_gpu_float(&k, (float)a->ratio[0]);
    qrn_gpu_float(&k, (float)a->ratio[1]);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_keypoint(qrn_gpu_binder *b, const qrn_cstep *s) {
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims;
    size_t total = (size_t)x[0] * x[3];
    if (total == 0 || x[1] == 0 || x[2] == 0)
        return qrn_gpu_reject(b, s, "a heat map is empty");
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_detect, "keypoint");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "B", s->in[1]);
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_out(&k, "Z", s->out[1]);
    QRN_GPU_INTS(&k, x[1], x[2], x[3], (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

// --- DetectionOutput

typedef struct job {
    qrn_gpu_binder *b;
    const qrn_cstep *s;
    const qrn_detection_output_args *a;
    int64_t images, anchors, classes, boxes; // boxes of an image
    int64_t rows;                            // of candidates, of an image
    int64_t skipped;                         // class that is not searched, or -1
    float confidence;
    qrn_val decoded, score, box, state, marks;
} job;

// The least float that is not below x: comparing floats with it is comparing them with x.
static float least_float(double x) {
    float f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

static int64_t limit_of(const job *j) {
    return j->a->limit < 0 || j->a->limit > INT32_MAX ? INT32_MAX : j->a->limit;
}

static qrn_status decode(job *j) {
    const uint32_t *anchors = qrn_gpu_shape(j->b, j->s->in[2])->dims;
    size_t total = (size_t)(j->images * j->boxes);
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_F32, total * 4, &j->decoded));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(j->b, qrn_cl_detect, "decode");
    qrn_gpu_in(&k, "D", j->s->in[1]);
    qrn_gpu_in(&k, "A", j->s->in[2]);
    qrn_gpu_out(&k, "B", j->decoded);
    QRN_GPU_INTS(&k, j->boxes, j->a->shared ? 1 : j->classes,
                 anchors[0] > j->anchors ? j->anchors : 0);
    for (int i = 0; i < 4; i++)
        qrn_gpu_float(&k, j->a->factors[i]);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status list_candidates(job *j) {
    size_t total = (size_t)(j->images * j->rows * j->anchors);
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_F32, total, &j->score));
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_I32, total, &j->box));
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_U8, total, &j->state));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(j->b, qrn_cl_detect, "candidates");
    qrn_gpu_in(&k, "S", j->s->in[0]);
    qrn_gpu_out(&k, "C", j->score);
    qrn_gpu_out(&k, "B", j->box);
    qrn_gpu_out(&k, "T", j->state);
    QRN_GPU_INTS(&k, j->anchors, j->classes, j->rows, j->skipped, j->a->shared);
    qrn_gpu_float(&k, j->confidence);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status suppress(job *j) {
    size_t local = GROUP, total = (size_t)(j->images * j->rows) * GROUP;
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(j->b, qrn_cl_detect, "suppress");
    qrn_gpu_in(&k, "C", j->score);
    qrn_gpu_in(&k, "B", j->box);
    qrn_gpu_out(&k, "T", j->state);
    qrn_gpu_in(&k, "D", j->decoded);
    QRN_GPU_INTS(&k, j->anchors, j->rows, j->boxes, j->a->regular ? limit_of(j) : INT32_MAX);
    qrn_gpu_float(&k, (float)j->a->iou_threshold);
    qrn_gpu_float(&k, j->a->regular ? (float)j->a->eta : 0.0f);
    return qrn_gpu_kernel_end(&k, 1, &total, &local);
}

// FAST: the classes of each picked anchor.
static qrn_status list_classes(job *j) {
    size_t total = (size_t)(j->images * j->anchors);
    QRN_TRY(qrn_gpu_scratch(j->b, QRN_DTYPE_U8, total * (size_t)j->classes, &j->marks));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(j->b, qrn_cl_detect, "list_classes");
    qrn_gpu_in(&k, "S", j->s->in[0]);
    qrn_gpu_in(&k, "T", j->state);
    qrn_gpu_out(&k, "M", j->marks);
    QRN_GPU_INTS(&k, j->anchors, j->classes, j->skipped, limit_of(j));
    qrn_gpu_float(&k, j->confidence);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status report(job *j) {
    static const char *const names[] = {"Y", "Z", "L", "N"};
    size_t local = GROUP, total = (size_t)j->images * GROUP;
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(j->b, qrn_cl_detect, "report");
    qrn_gpu_in(&k, "S", j->s->in[0]);
    qrn_gpu_out(&k, "M", j->marks);
    qrn_gpu_in(&k, "D", j->decoded);
    for (int i = 0; i < 4; i++)
        qrn_gpu_out(&k, names[i], j->s->out[i]);
    bool listed = j->a->background < j->classes;
    QRN_GPU_INTS(&k, j->anchors, j->classes, j->boxes, j->a->shared,
                 qrn_gpu_shape(j->b, j->s->out[0])->dims[1],
                 listed ? (int64_t)j->a->background : INT32_MAX, j->a->number_background);
    return qrn_gpu_kernel_end(&k, 1, &total, &local);
}

static qrn_status bind_detection_output(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_detection_output_args *a = s->args;
    const uint32_t *scores = qrn_gpu_shape(b, s->in[0])->dims;
    job j = {.b = b,
             .s = s,
             .a = a,
             .images = scores[0],
             .anchors = scores[1],
             .classes = scores[2],
             .boxes = qrn_gpu_shape(b, s->in[1])->dims[1],
             .rows = a->regular ? scores[2] : 1,
             .skipped =
                 a->use_background || a->background >= scores[2] ? -1 : (int64_t)a->background,
             .confidence = least_float(a->confidence)};
    if (qrn_gpu_count(b, s->in[0]) == 0 || qrn_gpu_count(b, s->out[0]) == 0)
        return qrn_gpu_reject(b, s, "a dimension is 0");
    QRN_TRY(decode(&j));
    QRN_TRY(list_candidates(&j));
    QRN_TRY(suppress(&j));
    j.marks = j.state;
    if (!a->regular)
        QRN_TRY(list_classes(&j));
    return report(&j);
}

const qrn_gpu_op qrn_gpu_ops_detect[] = {
    {.op = &qrn_cop_roi_align, .bind = bind_roi, .epilogue = true},
    {.op = &qrn_cop_roi_pool, .bind = bind_roi, .epilogue = true},
    {.op = &qrn_cop_keypoint, .bind = bind_keypoint},
    {.op = &qrn_cop_detection_output, .bind = bind_detection_output},
    {0},
};
