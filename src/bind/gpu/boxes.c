// SPDX-License-Identifier: MIT
//
// Boxes on the GPU: moved by deltas, collected and distributed proposals, picked rows.
#include "bind/gpu/binder.h"

#include "kernels/detect/nms.h"
#include "kernels/detect/proposals.h"

static qrn_val input(const qrn_cstep *s, uint32_t i) {
    return i < s->n_in ? s->in[i] : QRN_VAL_NONE;
}
static qrn_val output(const qrn_cstep *s, uint32_t i) {
    return i < s->n_out ? s->out[i] : QRN_VAL_NONE;
}

// REAL is double where the device has it.
static qrn_gpu_kernel begin(qrn_gpu_binder *b, const char *entry) {
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_boxes, entry);
    bool doubles = b->opt->device && b->opt->device->info->fp64;
    qrn_gpu_define(&k, "REAL", "%s", doubles ? "double" : "float");
    return k;
}

static qrn_status count_images(qrn_gpu_binder *b, qrn_val images, qrn_val y, int64_t n_rois) {
    if (y == QRN_VAL_NONE)
        return QRN_OK;
    size_t n = qrn_gpu_count(b, y);
    qrn_gpu_kernel k = begin(b, "count_images");
    qrn_gpu_in(&k, "I", images);
    qrn_gpu_out(&k, "Y", y);
    QRN_GPU_INTS(&k, n_rois, (int64_t)n);
    return qrn_gpu_kernel_items(&k, n);
}

static qrn_status bind_box_deltas(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_box_deltas_args *a = s->args;
    int64_t classes = qrn_gpu_shape(b, s->in[1])->dims[1] / 4;
    int64_t rois = qrn_gpu_shape(b, s->in[0])->dims[0];
    qrn_gpu_kernel k = begin(b, "box_deltas");
    qrn_gpu_in(&k, "R", s->in[0]);
    qrn_gpu_in(&k, "D", s->in[1]);
    qrn_gpu_in(&k, "I", s->in[2]);
    qrn_gpu_in(&k, "Z", s->in[3]);
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_fault(&k, s);
    QRN_GPU_INTS(&k, classes, qrn_gpu_shape(b, s->in[3])->dims[0]);
    for (int i = 0; i < 4; i++)
        qrn_gpu_float(&k, a->weights[i]);
    qrn_gpu_int(&k, rois * classes);
    QRN_TRY(qrn_gpu_kernel_items(&k, (size_t)(rois * classes)));
    return count_images(b, s->in[2], output(s, 1), rois);
}

static qrn_status bind_rotated_deltas(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_rotated_deltas_args *a = s->args;
    int32_t classes = (int32_t)(qrn_gpu_shape(b, s->in[1])->dims[1] / 5);
    int64_t rois = qrn_gpu_shape(b, s->in[0])->dims[0];
    const int32_t p[] = {classes,        (int32_t)qrn_gpu_shape(b, s->in[2])->dims[0],
                         a->apply_scale, a->bounded,
                         a->low,         a->high};
    qrn_gpu_kernel k = begin(b, "rotated_deltas");
    qrn_gpu_in(&k, "R", s->in[0]);
    qrn_gpu_in(&k, "D", s->in[1]);
    qrn_gpu_in(&k, "Z", s->in[2]);
    qrn_gpu_in(&k, "I", input(s, 3));
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_fault(&k, s);
    qrn_gpu_params(&k, "P", p, 6);
    for (int i = 0; i < 4; i++)
        qrn_gpu_float(&k, a->weights[i]);
    qrn_gpu_float(&k, a->upright_degree);
    qrn_gpu_int(&k, rois * classes);
    QRN_TRY(qrn_gpu_kernel_items(&k, (size_t)(rois * classes)));
    return count_images(b, input(s, 3), s->out[1], rois);
}

#define LEVELS 5 // lists that can be collected; one more than levels to distribute to

static qrn_status bind_collect(qrn_gpu_binder *b, const qrn_cstep *s) {
    static const char *const names[] = {"R0", "R1", "R2", "R3", "R4", "S0", "S1", "S2", "S3", "S4"};
    int32_t p[LEVELS + 1] = {0};
    qrn_gpu_kernel k = begin(b, "collect");
    for (uint32_t i = 0; i < 2 * LEVELS; i++) { // what is absent is never read
        qrn_val v = input(s, i);
        qrn_gpu_in(&k, names[i], v == QRN_VAL_NONE ? s->in[0] : v);
        if (i >= LEVELS)
            p[i - LEVELS + 1] =
                p[i - LEVELS] + (int32_t)(v == QRN_VAL_NONE ? 0 : qrn_gpu_shape(b, v)->dims[0]);
    }
    qrn_gpu_out(&k, "Y", s->out[0]);
    qrn_gpu_params(&k, "P", p, LEVELS + 1);
    qrn_gpu_int(&k, qrn_gpu_shape(b, s->out[0])->dims[0]);
    return qrn_gpu_kernel_items(&k, (size_t)p[LEVELS]);
}

static qrn_status bind_distribute(qrn_gpu_binder *b, const qrn_cstep *s) {
    static const char *const names[] = {"L0", "L1", "L2", "L3"};
    const qrn_distribute_args *a = s->args;
    const uint32_t *x = qrn_gpu_shape(b, s->in[0])->dims;
    uint32_t levels = a->max_level - a->min_level + 1, items = x[0];
    int32_t p[3 + LEVELS] = {(int32_t)x[0], (int32_t)x[1], (int32_t)levels};
    if (levels > LEVELS - 1)
        return qrn_gpu_reject(b, s, "it has too many levels");
    qrn_gpu_kernel k = begin(b, "distribute");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", s->out[0]);
    for (uint32_t l = 0; l < LEVELS - 1; l++) {
        qrn_val v = l < levels ? output(s, 1 + l) : QRN_VAL_NONE;
        uint32_t rows = v == QRN_VAL_NONE ? 0 : qrn_gpu_shape(b, v)->dims[0];
        qrn_gpu_out(&k, names[l], v == QRN_VAL_NONE ? s->out[1] : v);
        items = rows > items ? rows : items;
        p[3 + l] = (int32_t)rows;
    }
    qrn_gpu_fault(&k, s);
    qrn_gpu_params(&k, "P", p, 3 + LEVELS);
    qrn_gpu_float(&k, (float)a->canonical_level);
    qrn_gpu_float(&k, (float)a->canonical_scale);
    qrn_gpu_float(&k, (float)a->min_level);
    qrn_gpu_float(&k, (float)a->max_level);
    for (uint32_t l = 0; l < LEVELS - 1; l++)
        qrn_gpu_rows_slot(&k, s, a->report & 2u << l);
    qrn_gpu_int(&k, items);
    return qrn_gpu_kernel_items(&k, items);
}

static qrn_status bind_pick_rows(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    qrn_gpu_kernel k = begin(b, "pick_rows");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_in(&k, "I", s->in[1]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_fault(&k, s);
    QRN_GPU_INTS(&k, x->dims[1], qrn_gpu_shape(b, s->out[0])->dims[1], qrn_gpu_span(x, 2, x->rank),
                 (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

const qrn_gpu_op qrn_gpu_ops_boxes[] = {
    {.op = &qrn_cop_box_deltas, .bind = bind_box_deltas},
    {.op = &qrn_cop_rotated_deltas, .bind = bind_rotated_deltas},
    {.op = &qrn_cop_collect_proposals, .bind = bind_collect},
    {.op = &qrn_cop_distribute_proposals, .bind = bind_distribute},
    {.op = &qrn_cop_pick_rows, .bind = bind_pick_rows, .epilogue = true},
    {0},
};
