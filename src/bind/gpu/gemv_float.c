// SPDX-License-Identifier: MIT
//
// Few rows times constant floats: heads of classifiers, layers of a language model that decodes.
// Every weight is read once, so columns are dealt out, not tiles.
#include "bind/gpu/gemm.h"

#include "base/mem.h"

#define MAX_ROWS 4
#define LEAST_COLUMNS 128 // fewer leave most of the device idle: a GEMM cuts its sums

static void to_rows(const qrn_gpu_gemm *g, const float *w, float *rows) {
    for (size_t k = 0; k < g->depth; k++)
        for (size_t j = 0; j < g->cols; j++)
            rows[j * g->depth + k] = w[k * g->w_depth + j * g->w_col];
}

static qrn_status pack_f16(const qrn_gpu_binder *b, const qrn_gpu_gemm *g, const float *w,
                           void *out) {
    size_t count = g->cols * g->depth;
    float *rows = qrn_alloc(count * sizeof *rows);
    if (!rows)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
    to_rows(g, w, rows);
    qrn_gpu_to_f16(rows, count, out);
    qrn_free(rows);
    return QRN_OK;
}

// [N][K]
static qrn_status pack(qrn_gpu_binder *b, const qrn_gpu_gemm *g, bool f16, qrn_val *out) {
    void *data;
    QRN_TRY(qrn_gpu_make_packed(
        b, g->step, g->step->in[1], f16 ? QRN_GPU_PACKING_ROWS_F16 : QRN_GPU_PACKING_ROWS_F32,
        f16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32, g->cols * g->depth, out, &data));
    if (!data)
        return QRN_OK;
    const float *w = qrn_compiled_data(b->cg, g->step->in[1]);
    if (!w)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': the weights '%s' have no data", b->cg->name,
                        qrn_gpu_value(b, g->step->in[1])->name);
    if (f16)
        return pack_f16(b, g, w, data);
    to_rows(g, w, data);
    return QRN_OK;
}

qrn_status qrn_gpu_gemv_float(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    const qrn_cl_device *d = b->opt->device ? b->opt->device->info : NULL;
    bool f16 = b->opt->precision == QRN_GPU_HYBRID || b->opt->precision == QRN_GPU_FP16;
    if (!d || (qrn_cl_is_cpu(d) && qrn_gpu_kind_enabled("cpu")) || d->max_group < 256 ||
        !qrn_gpu_kind_enabled("gemv") || !g->fixed || !g->direct || g->batch != 1 ||
        g->rows > MAX_ROWS || g->depth % 4 != 0 || g->cols < LEAST_COLUMNS ||
        g->cols * g->depth > INT32_MAX)
        return QRN_E_UNSUPPORTED;
    qrn_val w, x = g->step->in[0];
    size_t bytes = qrn_dtypes[b->plan->places[x].type].bits / 8u;
    QRN_TRY(pack(b, g, f16, &w));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemv_float, "gemv_float");
    qrn_gpu_gemm_operands(&k, g, w);
    QRN_GPU_INTS(&k, (int64_t)g->cols, (int64_t)g->depth);
    qrn_gpu_define(&k, "ALIGNED_X", "%d", b->plan->places[x].offset % (4 * bytes) == 0);
    qrn_gpu_clamp(&k, g->clamp);
    size_t global[2] = {(g->cols + 7) / 8 * 256, g->rows};
    return qrn_gpu_kernel_end(&k, 2, global, (size_t[]){256, 1});
}
