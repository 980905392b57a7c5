// SPDX-License-Identifier: MIT
//
// The float reference of a quantized model: a QuantizeLinear whose result is only dequantized again
// becomes a clip to what the quantized type can hold. It must clip: quantizers drop a Relu that the
// range of the type implies.
#include "frontend/onnx/driver/internal.h"

#include <math.h>
#include <string.h>

static bool is_dequantize(const ox_node *n) {
    return strcmp(n->op, "DequantizeLinear") == 0 &&
           (n->domain[0] == '\0' || strcmp(n->domain, "com.microsoft") == 0);
}

bool ox_stays_float(const ox_import *im, const ox_val *quantized) {
    const ox_graph *g = im->model->graph;
    if (!im->opt->as_float || im->depth || !quantized->enc || quantized->enc->n != 1)
        return false;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (strcmp(g->outputs[i].name, quantized->name) == 0)
            return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += is_dequantize(&g->nodes[i]) && g->nodes[i].n_in &&
             strcmp(g->nodes[i].in[0], quantized->name) == 0;
    return n == quantized->n_uses;
}

qrn_status ox_clip_to_range(ox_import *im, const ox_node *n, int type) {
    const ox_val *x = ox_input(im, n, 0);
    ox_val *y = ox_scope_find(im->scope, n->out[0]);
    bool is_signed = type == OX_I4 || type == OX_I8 || type == OX_I16 || type == OX_I32;
    double steps = ldexp(1, (int)ox_type_bits(type)), low = is_signed ? -steps / 2 : 0;
    double scale = (double)y->enc->scales[0], zero = y->enc->zeros ? y->enc->zeros[0] : 0;
    ox_layout layout = ox_layout_of(im, n);
    qc_tensor *in, *out;
    qc_op o;
    y->enc = NULL;
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, x->dims));
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    ox_op(im, &o, n, QNN_OP_RELU_MIN_MAX);
    qc_in(&o, in);
    qc_out(&o, out);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE, (float)((low - zero) * scale));
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE, (float)((low + steps - 1 - zero) * scale));
    return qc_op_end(&o);
}
