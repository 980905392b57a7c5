// SPDX-License-Identifier: MIT
//
// Steps that the convolution behind them does on the way, on tensor cores: a depthwise convolution
// that only a 1x1 convolution reads (its results are computed where they are needed), and the
// transpose of a picture before the first layer. At batch 1 a launch costs more than computing a
// result once for each tile of columns.
#include "bind/gpu/gemm.h"
#include "bind/gpu/strided.h"

#include <string.h>

static bool is_float_conv(const qrn_cstep *s) {
    return s->kind == QRN_CSTEP_OP && s->op == &qrn_cop_conv && s->domain == QRN_DOMAIN_F32;
}

// Does the step only turn planes of channels, [N, C, H, W], into the cells that s reads?
static bool is_from_planes(const qrn_gpu_binder *b, const qrn_cstep *s, const qrn_cstep *before) {
    qrn_gpu_strided v = qrn_gpu_strided_of(b, s->in[0]);
    const qrn_shape *y = qrn_gpu_shape(b, s->in[0]);
    int64_t plane = (int64_t)y->dims[1] * y->dims[2], stride;
    const int64_t want[4] = {plane * y->dims[3], y->dims[2], 1, plane};
    bool same = v.base == before->in[0] && v.offset == 0 && v.scale == 1.0;
    for (uint32_t d = 0; d < 4 && same; d++)
        same = qrn_gpu_stride_of(&v, d, &stride) && (y->dims[d] == 1 || stride == want[d]);
    return same;
}

static bool is_done_by(const qrn_gpu_binder *b, const qrn_cstep *s, const qrn_cstep *before) {
    if (before->kind != QRN_CSTEP_OP)
        return false;
    if (before->op == &qrn_cop_transpose)
        return qrn_gpu_reads_planes(b, s) && is_from_planes(b, s, before);
    return is_float_conv(before) && qrn_gpu_is_pointwise(b, s) && qrn_gpu_is_front(b, before);
}

// The step that makes what step i reads and nothing else, if i can do it; UINT32_MAX: none.
static uint32_t front_of(const qrn_gpu_binder *b, uint32_t i) {
    const qrn_cstep *s = &b->cg->steps[i];
    qrn_val x = s->in[0], owner = qrn_compiled_owner(b->cg, x);
    uint32_t at = b->writer[owner] - 1;
    if (b->writer[owner] == 0 || b->readers[owner] != 1 || !qrn_gpu_is_whole(b, x) ||
        b->cg->values[owner].kind == QRN_CV_IO || b->skip[at])
        return UINT32_MAX;
    return is_done_by(b, s, &b->cg->steps[at]) ? at : UINT32_MAX;
}

qrn_status qrn_gpu_find_fronts(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    const qrn_gpu_device *d = b->opt->device;
    b->front = qrn_arena_alloc(cg->arena, (cg->n_steps + 1u) * sizeof *b->front);
    if (!b->front)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    memset(b->front, 0, cg->n_steps * sizeof *b->front);
    if (!d || !d->mma || b->opt->keep_nodes || !qrn_gpu_kind_enabled("mma") ||
        !qrn_gpu_kind_enabled("depthwise"))
        return QRN_OK;
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        uint32_t at = !b->skip[i] && is_float_conv(&cg->steps[i]) ? front_of(b, i) : UINT32_MAX;
        if (at == UINT32_MAX)
            continue;
        b->front[i] = at + 1;
        b->skip[at] = true;
    }
    return QRN_OK;
}
