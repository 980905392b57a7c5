// SPDX-License-Identifier: MIT
//
// float64, of which QNN has no tensors. Constants stay float64 while nodes are computed at import,
// so that shape arithmetic is exact; what is left runs in float32, and the nodes are reported.
// Inputs and outputs of the model keep their type: whoever moves their values converts them.
#include "frontend/onnx/driver/internal.h"

// Once: nearly all nodes behind the first one follow.
static void report(ox_import *im, const ox_node *n) {
    if (n && !im->told_float64)
        ox_note(im, n, "and what follows are computed in float32", "QNN has no float64");
    im->told_float64 |= n != NULL;
}

int ox_held_type(ox_import *im, const ox_node *n, int type) {
    if (type != OX_F64)
        return type;
    report(im, n);
    return OX_F32;
}

bool ox_makes_float64(const ox_import *im, const ox_node *n, int type) {
    for (uint32_t i = 0; i < n->n_in && type == OX_F32; i++) {
        const ox_val *v = n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
        if (v && v->known && v->type == OX_F32) // results have the type of the first float
            return v->narrowed;
    }
    return false;
}

void ox_set_narrowed(ox_import *im, const ox_node *n, bool narrowed) {
    ox_val *v = ox_scope_find(im->scope, n->out[0]);
    if (v && v->type == OX_F32)
        v->narrowed = narrowed;
}

static qrn_status narrow(ox_import *im, ox_val *v) {
    size_t n = ox_count(v);
    QRN_TRY(ox_align(im, v));
    float *out = qrn_arena_alloc(im->arena, n * sizeof *out);
    if (!out)
        return ox_no_memory(im);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((const double *)v->data)[i];
    v->wide = v->data;
    v->narrowed = true;
    v->type = OX_F32;
    v->data = out;
    v->bytes = n * sizeof *out;
    return QRN_OK;
}

const ox_val *ox_in_float64(const ox_import *im, const ox_val *v) {
    ox_val *copy = v && v->wide ? qrn_arena_copy(im->arena, v, sizeof *v) : NULL;
    if (!copy)
        return v;
    copy->type = OX_F64;
    copy->data = v->wide;
    copy->bytes *= 2;
    return copy;
}

qrn_status ox_narrow_inputs(ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        ox_val *v = n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
        if (v && v->narrowed)
            report(im, n);
        if (v && v->known && v->type == OX_F64 && v->data && v->kind == OX_TENSOR)
            QRN_TRY(narrow(im, v));
    }
    return QRN_OK;
}

void ox_widen_port(ox_port *p, const ox_val *v, int declared) {
    if (p->type != OX_F32 || (v->data && !v->wide) || !(v->narrowed || declared == OX_F64))
        return;
    p->type = OX_F64;
    p->bytes *= 2;
    if (v->wide)
        p->data = v->wide;
}
