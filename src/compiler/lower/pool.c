// SPDX-License-Identifier: MIT
//
// Lowering rows of the pool group.
#include "compiler/lower/groups.h"
#include "kernels/pooling/pooling.h"

#include <math.h>

#define OFFSET_MAX 65535

static qrn_status pool_args(const qrn_node *n, void *args) {
    qrn_pooling_args *a = args;
    uint32_t pads[6] = {0};
    a->n_spatial = n->in[0]->shape.rank - 2;
    qrn_node_u32s(n, "filter_size", a->size, a->n_spatial);
    qrn_node_u32s(n, "stride", a->stride, a->n_spatial);
    qrn_node_u32s(n, "pad_amount", pads, 2 * a->n_spatial);
    for (uint32_t i = 0; i < a->n_spatial; i++) {
        a->before[i] = pads[2 * i];
        a->after[i] = pads[2 * i + 1];
    }
    a->count_pad = qrn_node_bool(n, "count_pad_for_edges", false);
    return QRN_OK;
}

// Quantized values of 8 or 16 bits whose every bit counts.
static bool is_quantized(const qrn_tensor *t) {
    uint8_t bits = qrn_dtypes[t->dtype].bits;
    return qrn_dtype_is_fixed(t->dtype) && (bits == 8 || bits == 16) &&
           (t->quant.bits == 0 || t->quant.bits >= bits);
}

// Fixed point: the largest quantized value stands for the largest real one, so they are compared as
// they are, after a conversion to the output's encoding where that differs.
static qrn_status lower_max(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *y = n->out[0];
    if (!is_quantized(n->in[0]) || !is_quantized(y) || y->quant.kind != QRN_QUANT_TENSOR ||
        !(y->quant.scale > 0.0f))
        return QRN_E_UNSUPPORTED;
    qrn_pooling_args args = {0};
    qrn_val in, out;
    QRN_TRY(pool_args(n, &args));
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &in));
    QRN_TRY(qrn_lo_as(lo, in, y->dtype, &y->quant, &in));
    QRN_TRY(qrn_lo_tensor(lo, y, &out));
    return qrn_lo_step(lo, &qrn_cop_pool_max, QRN_DOMAIN_RAW, &args, &in, 1, &out, 1, 0);
}

static bool one_scale(const qrn_quant *q) {
    return q->kind == QRN_QUANT_TENSOR && q->shift == 0.0f && isfinite(q->scale) && q->scale > 0.0f;
}

// Fixed point: sums of quantized values are exact integers.
static qrn_status lower_avg(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    if (!is_quantized(x) || !is_quantized(y) || !one_scale(&x->quant) || !one_scale(&y->quant) ||
        x->quant.offset < -OFFSET_MAX || x->quant.offset > OFFSET_MAX)
        return QRN_E_UNSUPPORTED;
    qrn_pooling_args args = {0};
    qrn_val in, out;
    uint64_t cells = 1;
    QRN_TRY(pool_args(n, &args));
    uint32_t most = qrn_pool_cells_most(x->dtype, x->quant.offset);
    for (uint32_t i = 0; i < args.n_spatial && cells <= most; i++)
        cells *= args.size[i];
    if (cells > most)
        return QRN_E_UNSUPPORTED;
    QRN_TRY(qrn_lo_tensor(lo, x, &in));
    QRN_TRY(qrn_lo_tensor(lo, y, &out));
    return qrn_lo_step(lo, &qrn_cop_pool_avg, QRN_DOMAIN_RAW, &args, &in, 1, &out, 1, 0);
}

#define AVG_POOL(name)                                                                             \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_pool_avg, .in = "r", .out = "r", .args = pool_args,          \
        .custom = lower_avg                                                                        \
    }
#define MAX_POOL(name)                                                                             \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_pool_max, .in = "r", .out = "r", .args = pool_args,          \
        .custom = lower_max                                                                        \
    }

const qrn_lower_row qrn_lower_pool[] = {
    AVG_POOL("PoolAvg2d"),
    AVG_POOL("PoolAvg3d"),
    MAX_POOL("PoolMax2d"),
    MAX_POOL("PoolMax3d"),
    {.op = "L2Pool2d", .emits = &qrn_cop_pool_l2, .in = "r", .out = "r", .args = pool_args},
    {0},
};
