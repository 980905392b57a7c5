// SPDX-License-Identifier: MIT
//
// What the GPU backend supports: types by two tables (the published one and our own), further
// limits by rule. Kernels have no limit of rank, axis, group or mode, so the published constraints
// in words do not bind us.
#include "backend/gpu/gpu.h"

#include "base/env.h"
#include "ir/support_words.h"

#include <string.h>

#define NUMBERS (F32 | F16 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | B8)
#define PLAIN(op)                                                                                  \
    ROW(op, "quern", YES, ALTS(ALT(INS_FROM(0, NUMBERS), OUTS_FROM(0, NUMBERS))), "", "", "")
#define WEIGHTS(op) ROW(op, "weights", YES, ALTS(ALT(IN(1, SQ8 | UQ8 | SQ4 | UQ4))), "", "", "")

// clang-format off
static const qrn_support_row rows[] = {
#include "backend/gpu/supported.def"
#include "backend/gpu/extended.def"
};
// clang-format on

bool qrn_gpu_host_steps(void) { return qrn_env_get(QRN_ENV_GPU_HOST_STEPS) != NULL; }

const qrn_support_table qrn_gpu_support = {
    .all = qrn_gpu_host_steps,
    .backend = "GPU",
    .mode = QRN_SUPPORT_UNION,
    .rows = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .no_quantized = "quantized activations are not supported by the GPU backend",
};

static const char *name_of(const qrn_tensor *t) { return t->name ? t->name : ""; }

static qrn_status check_tensor(const qrn_op_call *c, const qrn_tensor *t) {
    size_t count;
    if (t->shape.rank == 0)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "tensor '%s': rank 0 is not supported by the GPU backend", name_of(t));
    if (t->has_dynamic)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "tensor '%s': dynamic dimensions are not supported by the GPU backend",
                           name_of(t));
    if (t->updateable || t->n_sparse_elements)
        return qrn_op_fail(c, QRN_E_DTYPE,
                           "tensor '%s': %s tensors are not supported by the GPU "
                           "backend",
                           name_of(t), t->updateable ? "updateable" : "sparse");
    if (!qrn_shape_count(&t->shape, &count) || count > INT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "tensor '%s' has more elements than the GPU backend allows (%d)",
                           name_of(t), INT32_MAX);
    return QRN_OK;
}

// Fixed-point operands that the tables let through: weights and other constants, and what
// Dequantize and Cast read, such as rows that a Gather found in a table.
static qrn_status check_fixed(const qrn_op_call *c, uint32_t i) {
    const qrn_tensor *t = c->in[i];
    bool reads = strcmp(c->op->name, "Dequantize") == 0 || strcmp(c->op->name, "Cast") == 0;
    if (!reads && !qrn_tensor_is_static(t))
        return qrn_op_fail(c, QRN_E_DTYPE,
                           "input %u ('%s', %s): quantized activations are not supported by the "
                           "GPU backend, quantized weights must be static tensors",
                           i, name_of(t), qrn_dtypes[t->dtype].token);
    if (reads && t->quant.kind != QRN_QUANT_TENSOR)
        return qrn_op_fail(c, QRN_E_DTYPE,
                           "input 0 ('%s'): the GPU backend supports one scale and offset for the "
                           "tensor alone",
                           name_of(t));
    // Rows of a table are moved as they are.
    if (strcmp(c->op->name, "Gather") == 0 && c->n_out > 0 && c->out[0] &&
        (t->quant.kind != QRN_QUANT_TENSOR || !qrn_quant_equal(&t->quant, &c->out[0]->quant)))
        return qrn_op_fail(c, QRN_E_DTYPE,
                           "input 0 ('%s'): the GPU backend supports one scale and offset for a "
                           "table, and the same for the output",
                           name_of(t));
    return QRN_OK;
}

qrn_status qrn_gpu_op_check(const qrn_api_backend *b, const qrn_api_context *ctx,
                            const qrn_op_call *c) {
    (void)b;
    (void)ctx;
    if (qrn_gpu_host_steps() && !qrn_support_has(&qrn_gpu_support, c->op->name) &&
        (c->op->flags & (QRN_OP_CONTROL | QRN_OP_OUT_MAX | QRN_OP_SPARSE)))
        return qrn_op_fail(c, QRN_E_OP_UNKNOWN,
                           "op not supported by GPU: branches, sparse tensors and shapes that "
                           "depend on data are not");
    for (uint32_t i = 0; i < c->n_in; i++) {
        if (!c->in[i])
            continue;
        QRN_TRY(check_tensor(c, c->in[i]));
        if (qrn_dtype_is_fixed(c->in[i]->dtype) && !qrn_gpu_host_steps())
            QRN_TRY(check_fixed(c, i));
    }
    for (uint32_t i = 0; i < c->n_out; i++)
        if (c->out[i])
            QRN_TRY(check_tensor(c, c->out[i]));
    return QRN_OK;
}
