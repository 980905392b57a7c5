// SPDX-License-Identifier: MIT
//
// The compiled graph: its end, its values as kernels see them, and constants that are described.
#include "compiler/compiled.h"

#include "base/cpu.h"
#include "kernels/convert.h"
#include "kernels/fp16/round_fp16.h"

#include <string.h>

void qrn_compiled_destroy(qrn_compiled *cg) {
    if (cg)
        qrn_arena_destroy(cg->arena);
}

qrn_view qrn_compiled_view(const qrn_compiled *cg, qrn_val v) {
    const qrn_cvalue *val = &cg->values[v];
    qrn_view view = {.quant = qrn_cvalue_quant(val),
                     .dtype = val->dtype,
                     .rank = val->shape.rank,
                     .n_sparse = val->n_sparse,
                     .n_sparse_dims = val->n_sparse_dims};
    memcpy(view.dims, val->shape.dims, sizeof view.dims);
    if (val->kind == QRN_CV_CONST) // kernels never write inputs
        view.data = (void *)(uintptr_t)cg->constants[val->constant].data;
    return view;
}

void qrn_round_view(const qrn_view *src, qrn_fp16_rule rule, void *dst) {
    qrn_round_fp16_args args = {rule};
    qrn_view in = *src, out = {.data = dst, .dtype = QRN_DTYPE_F32, .rank = src->rank};
    memcpy(out.dims, src->dims, sizeof out.dims);
    if (rule == QRN_FP16_AS_F32 || rule == QRN_FP16_OFF) {
        qrn_convert_range(&in, &out, 0, qrn_view_count(&in), false);
        return;
    }
    qrn_view *ins[] = {&in}, *outs[] = {&out};
    qrn_kcall k = {.args = &args, .in = ins, .out = outs, .n_in = 1, .n_out = 1, .n_tasks = 1};
    qrn_kernel_select(&qrn_family_round_fp16, QRN_DOMAIN_RAW, &k, qrn_cpu_isa())
        ->fn(&k); // cannot fail
}

void qrn_round_constant(const qrn_view *src, qrn_fp16_rule rule, float *dst) {
    const float most = (float)QRN_FP16_WIDE_RANGE_CONSTANT;
    qrn_round_view(src, rule, dst);
    for (size_t i = 0, n = qrn_view_count(src); rule == QRN_FP16_WIDE_RANGE && i < n; i++)
        dst[i] = dst[i] > most ? most : dst[i] < -most ? -most : dst[i];
}

// Element i belongs to index i / inner % n of the axis.
static void scale(const qrn_view *w, uint32_t axis, const float *factors, float *dst) {
    size_t count = qrn_view_count(w), n = w->dims[axis];
    size_t inner = qrn_view_span(w, axis + 1, w->rank);
    for (size_t i = 0; i < count; i++)
        dst[i] = (float)((double)((const float *)w->data)[i] * (double)factors[i / inner % n]);
}

const void *qrn_compiled_data(qrn_compiled *cg, qrn_val v) {
    const qrn_cvalue *val = &cg->values[v];
    qrn_cconst *c = val->kind == QRN_CV_CONST ? &cg->constants[val->constant] : NULL;
    if (!c || c->data || (c->kind != QRN_CONST_ROUNDED && c->kind != QRN_CONST_SCALED))
        return c ? c->data : NULL;
    const float *factors = c->kind == QRN_CONST_SCALED ? qrn_compiled_data(cg, c->factors) : NULL;
    if (!qrn_compiled_data(cg, c->source) || (c->kind == QRN_CONST_SCALED && !factors))
        return NULL;
    qrn_view source = qrn_compiled_view(cg, c->source);
    void *data = qrn_arena_alloc(cg->arena, val->size_bytes);
    if (data && c->kind == QRN_CONST_ROUNDED)
        qrn_round_constant(&source, cg->half, data);
    else if (data)
        scale(&source, c->axis, factors, data);
    return c->data = data;
}
