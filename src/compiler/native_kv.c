// SPDX-License-Identifier: MIT
//
// A head of a native KV tensor is a matrix [rows, cols] in tiles of T columns: flat, its dimensions
// are [rows/32][8][4][cols/T][T/32][32]; stored, [cols/T][rows/32][T/32][8][32][4]. One transpose
// with all heads in front goes from one to the other.
#include "compiler/native_kv.h"

#include "kernels/move/join.h"
#include "kernels/move/layout.h"

enum { HEADS, ROW_BLOCKS, ROWS_8, ROWS_4, TILES, COLUMN_BLOCKS, COLUMNS_32, RANK };

// The flat dimensions in the order of the stored ones.
static const uint32_t stored_order[RANK] = {HEADS,  TILES,      ROW_BLOCKS, COLUMN_BLOCKS,
                                            ROWS_8, COLUMNS_32, ROWS_4};

static qrn_shape flat_shape(const qrn_tensor *t) {
    uint32_t rank = t->shape.rank, rows = t->shape.dims[rank - 2], cols = t->shape.dims[rank - 1];
    uint32_t tile = t->native_tile, heads = 1;
    for (uint32_t d = 0; d + 2 < rank; d++)
        heads *= t->shape.dims[d];
    return (qrn_shape){.rank = RANK, .dims = {heads, rows / 32, 8, 4, cols / tile, tile / 32, 32}};
}

static qrn_shape permuted(const qrn_shape *s, const uint32_t *perm) {
    qrn_shape r = {.rank = s->rank};
    for (uint32_t d = 0; d < s->rank; d++)
        r.dims[d] = s->dims[perm[d]];
    return r;
}

// `v` with another shape.
static qrn_status reshaped(qrn_lowering *lo, qrn_val v, const qrn_shape *shape, qrn_val *out) {
    const qrn_reshape_args args = {0};
    qrn_cvalue from = lo->cg->values[v];
    if (*out == QRN_VAL_NONE)
        QRN_TRY(qrn_lo_temp(lo, from.dtype, shape, &from.quant, out));
    return qrn_lo_step(lo, &qrn_cop_reshape, QRN_DOMAIN_RAW, &args, &v, 1, out, 1, 0);
}

// From value `from` to value `to`, of the same tensor: one is stored, the other flat.
static qrn_status rearrange(qrn_lowering *lo, const qrn_tensor *t, qrn_val from, qrn_val to,
                            bool to_stored) {
    qrn_shape flat = flat_shape(t), stored = permuted(&flat, stored_order);
    qrn_transpose_args args = {0};
    for (uint32_t d = 0; d < RANK; d++)
        args.perm[to_stored ? d : stored_order[d]] = to_stored ? stored_order[d] : d;
    qrn_val x = QRN_VAL_NONE, y;
    QRN_TRY(reshaped(lo, from, to_stored ? &flat : &stored, &x));
    QRN_TRY(
        qrn_lo_temp(lo, t->dtype, to_stored ? &stored : &flat, &lo->cg->values[from].quant, &y));
    QRN_TRY(qrn_lo_step(lo, &qrn_cop_transpose, QRN_DOMAIN_RAW, &args, &x, 1, &y, 1, 0));
    return reshaped(lo, y, &lo->cg->values[to].shape, &to);
}

static bool is_native(const qrn_tensor *t, qrn_role role) {
    return t->format == QRN_FORMAT_NATIVE_KV && t->role == role;
}

qrn_status qrn_lo_native_enter(qrn_lowering *lo) {
    for (uint32_t i = 0; lo->graph->n_nodes && i < lo->graph->n_tensors; i++) {
        const qrn_tensor *t = lo->graph->tensors[i];
        bool input = is_native(t, QRN_ROLE_INPUT);
        if (!input && !is_native(t, QRN_ROLE_OUTPUT))
            continue;
        qrn_val io = lo->by_id[t->id], flat;
        QRN_TRY(qrn_lo_temp(lo, t->dtype, &t->shape, &t->quant, &flat));
        lo->node = lo->graph->nodes[0]; // the steps count as its own
        if (input)
            QRN_TRY(rearrange(lo, t, io, flat, false));
        else
            lo->cg->values[flat].tensor_id = t->id, lo->cg->values[flat].name = t->name;
        lo->by_id[t->id] = flat;
    }
    return QRN_OK;
}

qrn_status qrn_lo_native_leave(qrn_lowering *lo) {
    for (uint32_t k = 0; k < lo->graph->n_tensors; k++) {
        const qrn_tensor *t = lo->graph->tensors[k];
        for (uint32_t i = 0; is_native(t, QRN_ROLE_OUTPUT) && i < lo->cg->n_io; i++) {
            const qrn_cio io = lo->cg->io[i];
            if (io.is_output && io.tensor_id == t->id)
                QRN_TRY(rearrange(lo, t, lo->by_id[t->id], io.value, true));
        }
    }
    return QRN_OK;
}
