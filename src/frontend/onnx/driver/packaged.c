// SPDX-License-Identifier: MIT
//
// Nodes whose ops come from a package that the application registered. Inputs and outputs go as
// they are, in ONNX's layout; attributes become parameters of the same names. What the op computes
// is the package's affair, so the model must say what shapes its outputs have; where it does not,
// they are those of the first input.
#include "frontend/onnx/driver/internal.h"

#include <string.h>

const ox_package *ox_package_of(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < im->opt->n_packages; i++)
        if (strcmp(im->opt->packages[i].op, n->op) == 0)
            return &im->opt->packages[i];
    return NULL;
}

static const ox_info *find(const ox_info *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0 && list[i].type != OX_NONE && list[i].has_shape)
            return &list[i];
    return NULL;
}

static qrn_status set_output(ox_import *im, const ox_node *n, uint32_t i) {
    const ox_graph *g = im->model->graph;
    const ox_info *info = find(g->infos, g->n_infos, n->out[i]);
    const ox_val *like = ox_input(im, n, 0);
    uint32_t dims[OX_MAX_RANK];
    if (!info)
        info = find(g->outputs, g->n_outputs, n->out[i]);
    for (uint32_t d = 0; info && d < info->rank; d++) {
        if (info->dims[d] < 1 || info->dims[d] > UINT32_MAX)
            return ox_fail(im, n, QRN_E_DYNAMIC_SHAPE,
                           "the shape of output '%s' is not known before execution", n->out[i]);
        dims[d] = (uint32_t)info->dims[d];
    }
    if (info)
        return ox_set_output(im, n, i, info->type, info->rank, dims);
    if (!like)
        return ox_fail(im, n, QRN_E_DYNAMIC_SHAPE, "the model does not declare output '%s'",
                       n->out[i]);
    return ox_set_output(im, n, i, like->type, like->rank, like->dims);
}

static qrn_status add_ints(ox_import *im, qc_op *o, const ox_node *n, const ox_attr *a) {
    int32_t *list = ox_alloc(im, (a->n + 1) * sizeof *list);
    if (!list)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->ints[i] < INT32_MIN || a->ints[i] > INT32_MAX)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "attribute '%s' does not fit 32 bits",
                           a->name);
        list[i] = (int32_t)a->ints[i];
    }
    if (a->n)
        qc_i32s(o, a->name, list, a->n);
    return QRN_OK;
}

static qrn_status add_param(ox_import *im, qc_op *o, const ox_node *n, const ox_attr *a) {
    switch (a->type) {
    case OX_ATTR_FLOAT:
        qc_f32(o, a->name, a->f);
        return QRN_OK;
    case OX_ATTR_INT:
        if (a->i < INT32_MIN || a->i > INT32_MAX)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "attribute '%s' does not fit 32 bits",
                           a->name);
        qc_i32(o, a->name, (int32_t)a->i);
        return QRN_OK;
    case OX_ATTR_STRING:
        qc_text(o, a->name, a->s);
        return QRN_OK;
    case OX_ATTR_FLOATS:
        if (a->n)
            qc_f32s(o, a->name, a->floats, a->n);
        return QRN_OK;
    case OX_ATTR_INTS:
        return add_ints(im, o, n, a);
    default:
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "attribute '%s' is neither a number nor a string nor a list of numbers",
                       a->name);
    }
}

qrn_status ox_import_packaged(ox_import *im, const ox_node *n, const ox_package *p) {
    qc_op o;
    ox_op(im, &o, n, p->op);
    o.package = p->package;
    for (uint32_t i = 0; i < n->n_in; i++) {
        qc_tensor *t = NULL;
        if (n->in[i][0])
            QRN_TRY(ox_in(im, n, i, OX_ONNX, &t));
        qc_in(&o, t);
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        QRN_TRY(add_param(im, &o, n, &n->attrs[i]));
    for (uint32_t i = 0; i < n->n_out; i++) {
        qc_tensor *t = NULL;
        QRN_TRY(set_output(im, n, i));
        QRN_TRY(ox_out(im, n, i, OX_ONNX, &t));
        qc_out(&o, t);
    }
    return qc_op_end(&o);
}
