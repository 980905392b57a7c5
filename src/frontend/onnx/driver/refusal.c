// SPDX-License-Identifier: MIT
//
// An import that goes on behind a refused node, so that all refusals are reported and the rest of
// the graph is tried as it would be alone.
#include "frontend/onnx/driver/internal.h"

#include <string.h>

static bool is_op(const ox_node *n, const char *op) { return strcmp(n->op, op) == 0; }

// The shape that the model itself declares for a value that no importer describes.
static void declare(const ox_import *im, ox_val *v) {
    const ox_graph *g = im->model->graph;
    const ox_info *info = v->known ? NULL : ox_declared(im, v->name);
    if (!info || info->type == OX_NONE || info < g->infos || info >= g->infos + g->n_infos)
        return;
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dims[d] < 1 || info->dims[d] > UINT32_MAX)
            return;
        v->dims[d] = (uint32_t)info->dims[d];
    }
    v->type = info->type == OX_F64 ? OX_F32 : info->type;
    v->rank = info->rank;
    v->known = true;
    if (info->enc)
        v->enc = info->enc;
}

static void forget(ox_val *v) {
    memset(v->at, 0, sizeof v->at);
    v->transposed = NULL;
}

// Tensors that a refused node was to write, those of its quantized unit included: nobody does.
static void forget_unit(ox_import *im, ox_val *v) {
    for (int i = 0; v && i < 3; i++) { // a unit: the value, behind a Relu or Clip, quantized
        forget(v);
        if (v->maker && !is_op(v->maker, "DequantizeLinear"))
            v->quantized = NULL; // made up for the unit
        const ox_node *reader = v->consumer;
        bool quantized = v->maker && is_op(v->maker, "QuantizeLinear");
        v = reader && !quantized && reader->n_out ? ox_scope_find(im->scope, reader->out[0]) : NULL;
        if (v && v->known && v->data)
            return;
    }
}

// The graph input that a value is computed from, by the first inputs that are not constant.
static const char *origin(const ox_import *im, const char *name) {
    for (int depth = 0; depth < 256; depth++) {
        const ox_val *v = ox_scope_find(im->scope, name);
        const ox_node *maker = v ? v->maker : NULL;
        if (!maker || maker->n_in == 0)
            return name;
        uint32_t i = 0;
        for (; i < maker->n_in; i++) {
            const ox_val *in = maker->in[i][0] ? ox_scope_find(im->scope, maker->in[i]) : NULL;
            if (in && !in->data)
                break;
        }
        if (i == maker->n_in)
            return name;
        name = maker->in[i];
    }
    return name;
}

qrn_status ox_needs_constant(const ox_import *im, const ox_node *n, uint32_t i, const char *what) {
    const char *from = origin(im, n->in[i]);
    if (strcmp(from, n->in[i]) == 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "input %u ('%s') must be constant: %s; it comes at run time, and QNN graphs "
                       "have fixed shapes",
                       i, n->in[i], what);
    return ox_fail(
        im, n, QRN_E_UNSUPPORTED,
        "input %u ('%s') must be constant: %s; it is computed at run time from '%s', and "
        "QNN graphs have fixed shapes",
        i, n->in[i], what, from);
}

void ox_note(const ox_import *im, const ox_node *n, const char *what, const char *why) {
    if (im->opt->note)
        im->opt->note(im->opt->note_ctx, n, what, why);
}

qrn_status ox_take_from_outside(ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        ox_val *v = n->out[i][0] ? ox_scope_find(im->scope, n->out[i]) : NULL;
        if (!v)
            continue;
        v->refused = true;
        declare(im, v);
        if (v->data || v->kind != OX_TENSOR)
            continue;
        if (ox_before_quantizer(im, v))
            forget_unit(im, v);
        else
            forget(v);
        if (!v->known)
            continue;
        qrn_status s =
            ox_tensor_create(im, v, OX_ONNX, QNN_TENSOR_TYPE_APP_WRITE, NULL, 0, &v->at[OX_ONNX]);
        if (s == QRN_E_MEM)
            return s;
        v->known = s == QRN_OK; // readers of what cannot come in are refused
    }
    return QRN_OK;
}

static const ox_node *maker_of(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t j = 0; j < g->nodes[i].n_out; j++)
            if (strcmp(g->nodes[i].out[j], name) == 0)
                return &g->nodes[i];
    return NULL;
}

qrn_status ox_refuse_maker(ox_import *im, const ox_graph *g, const char *name, qrn_status s) {
    const ox_node *n = maker_of(g, name);
    if (!im->opt->report || !n || s == QRN_E_MEM)
        return s;
    im->opt->report(im->opt->report_ctx, n, s, qrn_message());
    for (uint32_t i = 0; i < n->n_out; i++) {
        ox_val *v = n->out[i][0] ? ox_scope_find(im->scope, n->out[i]) : NULL;
        if (v)
            v->refused = true;
    }
    return QRN_OK;
}
