// SPDX-License-Identifier: MIT
//
// Importers: losses. The dimensions after the classes are seen as one, and everything is computed
// in f32: sums over a batch leave f16 soon.
#include "frontend/onnx/import/attention.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

typedef struct loss {
    uint32_t batch, classes, places;
    bool mean, sum;
} loss;

static qrn_status read_loss(ox_import *im, const ox_node *n, loss *l) {
    QRN_TRY(ox_need_real(im, n, 0));
    const ox_val *x = ox_input(im, n, 0), *target = ox_input(im, n, 1), *w = ox_input(im, n, 2);
    const char *reduction = ox_attr_string(n, "reduction", "mean");
    if (!target)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 1 is missing");
    bool fits = x->rank >= 2 && target->rank + 1 == x->rank && target->dims[0] == x->dims[0];
    *l = (loss){.batch = x->dims[0], .classes = x->dims[1], .places = 1};
    for (uint32_t i = 2; fits && i < x->rank; i++) {
        fits = target->dims[i - 1] == x->dims[i];
        l->places *= x->dims[i];
    }
    if (!fits)
        return ox_fail(im, n, QRN_E_SHAPE,
                       "the labels have not the input's shape less dimension 1");
    if (target->type != OX_I32 && target->type != OX_I64)
        return ox_fail(im, n, QRN_E_DTYPE, "labels of type %s", ox_type_name(target->type));
    if (w && (w->rank != 1 || w->dims[0] != l->classes))
        return ox_fail(im, n, QRN_E_SHAPE, "the weights are not one for each class");
    l->mean = strcmp(reduction, "mean") == 0;
    l->sum = strcmp(reduction, "sum") == 0;
    if (!l->mean && !l->sum && strcmp(reduction, "none") != 0)
        return ox_fail(im, n, QRN_E_OP_CONFIG, "reduction '%s'", reduction);
    return ox_set_output(im, n, 0, x->type, l->mean || l->sum ? 0 : target->rank, target->dims);
}

static qc_tensor *number(ox_expr *e, Qnn_DataType_t type, double value) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, type, value, &x);
    return x;
}

// log[n, label[n, d], d]
static qc_tensor *pick(ox_expr *e, qc_tensor *log, qc_tensor *label) {
    qc_op o;
    if (!log || !label)
        return NULL;
    qc_tensor *y = ox_result_like(e, log, 3, label->dims);
    ox_op(e->im, &o, e->n, QNN_OP_GATHER_ELEMENTS);
    qc_in(&o, log);
    qc_in(&o, label);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_GATHER_ELEMENTS_PARAM_AXIS, 1);
    return ox_ended(e, &o, y);
}

// Output 0: the losses x, each counted as `weight` (NULL: 1), reduced.
static qrn_status emit_reduced(ox_expr *e, const loss *l, qc_tensor *x, qc_tensor *weight) {
    static const uint32_t axes[] = {0, 1, 2};
    qc_tensor *total = NULL, *count = NULL, *y = ox_out_f32(e, 0);
    if (l->mean && weight) {
        total = ox_reduce(e, QNN_OP_REDUCE_SUM, x, axes, 3, false);
        count = ox_reduce(e, QNN_OP_REDUCE_SUM, weight, axes, 3, false);
    }
    ox_into(e, y);
    if (total)
        ox_binary(e, QNN_OP_ELEMENT_WISE_DIVIDE, total, count);
    else if (l->mean || l->sum)
        ox_reduce(e, l->mean ? QNN_OP_REDUCE_MEAN : QNN_OP_REDUCE_SUM, x, axes, 3, false);
    else if (y)
        ox_reshape(e, x, y->rank, y->dims);
    ox_end_f32(e, 0, y);
    return ox_done(e);
}

// Output 0 from logarithms of probabilities [N, C, D].
static qrn_status emit_loss(ox_expr *e, const loss *l, qc_tensor *log) {
    uint32_t dims[] = {l->batch, 1, l->places}, all[] = {l->batch * l->places};
    const ox_attr *ignored = ox_attr_find(e->n, "ignore_index");
    qc_tensor *weight = NULL, *hide = NULL;
    qc_tensor *label = ox_reshape(e, ox_in_i32(e, 1), 3, dims);
    if (ignored) {
        // Any class does in place of the ignored one, which need not be one.
        qc_tensor *index = number(e, QNN_DATATYPE_INT_32, (double)(int32_t)ignored->i);
        hide = ox_compare(e, QNN_OP_ELEMENT_WISE_EQUAL, label, index);
        label = ox_select(e, hide, number(e, QNN_DATATYPE_INT_32, 0), label);
    }
    qc_tensor *x = ox_unary(e, QNN_OP_ELEMENT_WISE_NEG, pick(e, log, label));
    if (ox_input(e->im, e->n, 2)) {
        weight = ox_gather(e, ox_in_f32(e, 2), ox_reshape(e, label, 1, all), 0);
        weight = ox_reshape(e, weight, 3, dims);
        x = ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, weight);
    }
    if (hide) {
        qc_tensor *zero = number(e, QNN_DATATYPE_FLOAT_32, 0);
        x = ox_select(e, hide, zero, x);
        weight = weight ? weight : number(e, QNN_DATATYPE_FLOAT_32, 1);
        weight = ox_select(e, hide, zero, weight);
    }
    return emit_reduced(e, l, x, weight);
}

static qc_tensor *input_of(ox_expr *e, const loss *l) {
    uint32_t dims[] = {l->batch, l->classes, l->places};
    return ox_reshape(e, ox_in_f32(e, 0), 3, dims);
}

static qrn_status import_nll(ox_import *im, const ox_node *n) {
    loss l;
    QRN_TRY(read_loss(im, n, &l));
    ox_expr e = ox_begin(im, n);
    return emit_loss(&e, &l, input_of(&e, &l));
}

static qrn_status import_cross_entropy(ox_import *im, const ox_node *n) {
    loss l;
    QRN_TRY(read_loss(im, n, &l));
    const ox_val *x = ox_input(im, n, 0);
    bool logs = n->n_out > 1 && n->out[1][0];
    if (logs)
        QRN_TRY(ox_set_output(im, n, 1, x->type, x->rank, x->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *log = ox_softmax(&e, QNN_OP_LOG_SOFTMAX, input_of(&e, &l), 1);
    if (logs)
        ox_copy_out(&e, 1, log);
    return emit_loss(&e, &l, log);
}

const ox_importer ox_import_loss[] = {
    {"NegativeLogLikelihoodLoss", "", import_nll},
    {"SoftmaxCrossEntropyLoss", "", import_cross_entropy},
    {0},
};
