// SPDX-License-Identifier: MIT
//
// GEMM kernels for devices without tensor cores: weights packed in panels of columns.
#include "bind/gpu/gemm.h"

#include <stdio.h>

#define CPU_PANEL 32
#define MOST_ROWS 4 // choices for the rows of a work item
#define TILE 64
#define TILE_DEPTH 16

// [n / panel][depth, rounded up][panel], zeros where there are no weights.
static qrn_status pack(qrn_gpu_binder *b, const qrn_gpu_gemm *g, size_t panel, size_t deep,
                       qrn_val *out) {
    size_t panels = (g->cols + panel - 1) / panel;
    void *data;
    QRN_TRY(qrn_gpu_make_packed(b, g->step, g->step->in[1],
                                panel == TILE ? QRN_GPU_PACKING_PANEL64 : QRN_GPU_PACKING_PANEL32,
                                QRN_DTYPE_F32, panels * deep * panel, out, &data));
    if (!data)
        return QRN_OK;
    const float *w = qrn_compiled_data(b->cg, g->step->in[1]);
    if (!w)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': the weights '%s' have no data", b->cg->name,
                        qrn_gpu_value(b, g->step->in[1])->name);
    float *dst = data;
    for (size_t first = 0; first < g->cols; first += panel)
        for (size_t k = 0; k < g->depth; k++)
            for (size_t j = first; j < first + panel && j < g->cols; j++)
                dst[(first / panel * deep + k) * panel + j - first] =
                    w[k * g->w_depth + j * g->w_col];
    return QRN_OK;
}

// Rows of a work item.
typedef struct cpu_rows {
    uint32_t n, rows[MOST_ROWS];
    qrn_val w;
} cpu_rows;

static void describe_cpu(const void *ctx, uint32_t i, qrn_gpu_variant *out) {
    *out =
        (qrn_gpu_variant){.kernel = "gemm_cpu", .local = "1x1x1", .layout = "panel32", .split = 1};
    snprintf(out->tile, sizeof out->tile, "%ux%d", ((const cpu_rows *)ctx)->rows[i], CPU_PANEL);
}

static qrn_status add_cpu(qrn_gpu_binder *b, const qrn_gpu_gemm *g, const void *ctx, uint32_t i) {
    const cpu_rows *c = ctx;
    uint32_t rows = c->rows[i];
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_cpu, "gemm_cpu");
    qrn_gpu_gemm_operands(&k, g, c->w);
    qrn_gpu_params(&k, "P", g->params, 14);
    qrn_gpu_int(&k, (int64_t)g->rows);
    qrn_gpu_int(&k, (int64_t)g->cols);
    qrn_gpu_int(&k, (int64_t)g->depth);
    qrn_gpu_define(&k, "ROWS", "%u", rows);
    qrn_gpu_clamp(&k, g->clamp);
    size_t global[2] = {(g->cols + CPU_PANEL - 1) / CPU_PANEL, (g->rows + rows - 1) / rows};
    return qrn_gpu_kernel_end(&k, 2, global, (size_t[]){1, 1});
}

static qrn_status on_cpu(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    static const uint32_t others[] = {2, 4, 6, 8}; // those near the rule may be faster
    uint32_t rule = b->opt->device->info->vector_width >= 16 ? 8 : 3;
    cpu_rows c = {.n = 1, .rows = {rule}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] != rule && 2 * others[i] >= rule && others[i] <= 2 * rule &&
            others[i] <= g->rows && c.n < MOST_ROWS)
            c.rows[c.n++] = others[i];
    QRN_TRY(pack(b, g, CPU_PANEL, g->depth, &c.w));
    return qrn_gpu_gemm_tuned(b, g, &(qrn_gpu_gemm_variants){c.n, describe_cpu, add_cpu, &c});
}

static qrn_status in_tiles(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    qrn_val w;
    size_t deep = (g->depth + TILE_DEPTH - 1) / TILE_DEPTH * TILE_DEPTH;
    QRN_TRY(pack(b, g, TILE, deep, &w));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemm_tile, "gemm_tile");
    qrn_gpu_gemm_operands(&k, g, w);
    qrn_gpu_params(&k, "P", g->params, 14);
    qrn_gpu_int(&k, (int64_t)g->rows);
    qrn_gpu_int(&k, (int64_t)g->cols);
    qrn_gpu_int(&k, (int64_t)g->depth);
    qrn_gpu_clamp(&k, g->clamp);
    size_t global[2] = {(g->cols + TILE - 1) / TILE * 256, (g->rows + TILE - 1) / TILE};
    return qrn_gpu_kernel_end(&k, 2, global, (size_t[]){256, 1});
}

qrn_status qrn_gpu_gemm_panels(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    const qrn_cl_device *d = b->opt->device ? b->opt->device->info : NULL;
    if (!g->fixed || g->batch != 1 || !d)
        return QRN_E_UNSUPPORTED;
    if (qrn_cl_is_cpu(d) && qrn_gpu_kind_enabled("cpu"))
        return on_cpu(b, g);
    bool fits = d->max_group >= 256 && d->local_bytes >= 16384;
    return fits && qrn_gpu_kind_enabled("tile") ? in_tiles(b, g) : QRN_E_UNSUPPORTED;
}
