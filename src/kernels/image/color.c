// SPDX-License-Identifier: MIT
//
// The colour families.
#include "kernels/image/color.h"

#include "kernels/walk.h"

#include <math.h>
#include <string.h>

static double clamp_byte(double x) { return fmin(fmax(x, 0.0), 255.0); }

#define T float
#define FN yuv_rgb_f32_ref
#include "kernels/image/color.inc"
#undef T
#undef FN
#define T double
#define FN yuv_rgb_f64_ref
#include "kernels/image/color.inc"

static qrn_status drop_alpha_ref(const qrn_kcall *k) {
    const qrn_drop_alpha_args *a = k->args;
    size_t elem = qrn_view_elem(k->in[0]), begin, end;
    qrn_split(qrn_view_count(k->out[0]) / 3, 1, k->task, k->n_tasks, &begin, &end);
    const char *src = (const char *)k->in[0]->data + (a->alpha_last ? 0 : elem);
    char *dst = k->out[0]->data;
    for (size_t p = begin; p < end; p++)
        for (size_t c = 0; c < 3; c++)
            memcpy(dst + (p * 3 + c) * elem, src + (p * 4 + (a->bgr ? 2 - c : c)) * elem, elem);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

static const qrn_kernel yuv_rgb_rows[] = {
    {.name = "yuv_rgb_f32_ref", .domain = QRN_DOMAIN_F32, .fn = yuv_rgb_f32_ref, .tasks = tasks},
    {.name = "yuv_rgb_f64_ref", .domain = QRN_DOMAIN_F64, .fn = yuv_rgb_f64_ref, .tasks = tasks},
};
QRN_FAMILY(yuv_rgb, sizeof(qrn_yuv_rgb_args));

static const qrn_kernel drop_alpha_rows[] = {
    {.name = "drop_alpha_ref", .domain = QRN_DOMAIN_RAW, .fn = drop_alpha_ref, .tasks = tasks},
};
QRN_FAMILY(drop_alpha, sizeof(qrn_drop_alpha_args));
