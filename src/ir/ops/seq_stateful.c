// SPDX-License-Identifier: MIT
//
// Rules of Buffer, If and the random generators, and what the rules of the group share.
#include "ir/ops/seq.h"

#include <math.h>

qrn_status qrn_seq_expect(const qrn_op_call *c, uint32_t i, uint32_t rank, const uint32_t *dims) {
    if (!qrn_seq_has(c, i))
        return QRN_OK;
    qrn_shape want = {.rank = rank};
    for (uint32_t d = 0; d < rank; d++)
        want.dims[d] = dims[d];
    if (qrn_shape_equal(&c->in_shape[i], &want))
        return QRN_OK;
    char a[128], b[128];
    return qrn_op_fail(c, QRN_E_SHAPE, "input %u '%s': shape %s, expected %s", i,
                       c->op->ins[i].name, qrn_shape_text(&c->in_shape[i], a, sizeof a),
                       qrn_shape_text(&want, b, sizeof b));
}

qrn_status qrn_seq_single(const qrn_op_call *c, uint32_t i) {
    size_t count;
    if (!qrn_seq_has(c, i) || (qrn_shape_count(&c->in_shape[i], &count) && count == 1))
        return QRN_OK;
    char text[128];
    return qrn_op_fail(c, QRN_E_SHAPE, "input %u '%s': shape %s, expected a single value", i,
                       c->op->ins[i].name, qrn_shape_text(&c->in_shape[i], text, sizeof text));
}

qrn_status qrn_rule_buffer(const qrn_op_call *c) {
    uint32_t size = qrn_op_u32(c, "buffer_size", 0), dim = qrn_op_u32(c, "buffer_dim", 0);
    qrn_shape y = c->in_shape[0];
    if (dim >= y.rank)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'buffer_dim': %u, input 0 has rank %u", dim,
                           y.rank);
    // The default of 1 means the smallest stride there is: the frames of one call.
    uint32_t frames = y.dims[dim], stride = qrn_op_u32(c, "stride", frames);
    if (size == 0 || size % frames)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'buffer_size': %u, expected a multiple of the %u frames of "
                           "one call",
                           size, frames);
    if (stride < frames || stride > size || stride % frames)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'stride': %u, expected a multiple of %u up to %u", stride,
                           frames, size);
    if (qrn_op_u32(c, "buffer_padding", 0) != 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'buffer_padding': %u, expected 0",
                           qrn_op_u32(c, "buffer_padding", 0));
    if (c->in[0]->quant.kind > QRN_QUANT_TENSOR || c->out[0]->quant.kind > QRN_QUANT_TENSOR)
        return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                           "an encoding per axis or block, expected one for the tensor");
    QRN_TRY(qrn_seq_single(c, 1));
    y.dims[dim] = size;
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_if(const qrn_op_call *c) {
    QRN_TRY(qrn_seq_single(c, 0));
    if (c->n_out && !qrn_op_param(c, "else_graph")->present)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'else_graph': missing, but the op has %u outputs that it "
                           "would have to write",
                           c->n_out);
    return QRN_OK;
}

static qrn_status check_spread(const qrn_op_call *c) {
    for (uint32_t i = 0; i < c->op->n_params; i++) {
        const qrn_param *p = &c->params[i];
        if (p->present && !isfinite(p->value.f))
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %g, expected a finite number",
                               c->op->params[i].name, p->value.f);
    }
    return QRN_OK;
}

qrn_status qrn_rule_random(const qrn_op_call *c) {
    QRN_TRY(check_spread(c));
    bool uniform = c->op->name[6] == 'U'; // RandomUniformLike, RandomNormalLike
    if (uniform && qrn_op_f32(c, "low", 0.0f) > qrn_op_f32(c, "high", 1.0f))
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'low': %g is above 'high' %g",
                           (double)qrn_op_f32(c, "low", 0.0f), (double)qrn_op_f32(c, "high", 1.0f));
    if (!uniform && qrn_op_f32(c, "scale", 1.0f) < 0.0f)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'scale': %g, expected 0 or more",
                           (double)qrn_op_f32(c, "scale", 1.0f));
    QRN_TRY(qrn_seq_single(c, 1));
    uint32_t rank = c->in_shape[0].dims[0];
    if (rank > QRN_MAX_RANK)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0 'shape': %u dimensions, expected at most %u",
                           rank, QRN_MAX_RANK);
    const uint32_t *dims = c->in[0]->data;
    if (!dims) { // known when the graph runs: the kernel compares
        if (rank != c->out_shape[0].rank)
            return qrn_op_fail(c, QRN_E_SHAPE, "input 0 'shape': %u dimensions, output 0 has %u",
                               rank, c->out_shape[0].rank);
        return QRN_OK;
    }
    c->out_shape[0] = (qrn_shape){.rank = rank};
    for (uint32_t d = 0; d < rank; d++)
        c->out_shape[0].dims[d] = dims[d];
    return QRN_OK;
}
