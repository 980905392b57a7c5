// SPDX-License-Identifier: MIT
//
// Importers: random values. They are the backend's own for a seed, so they differ from those of
// other runtimes.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

// The shape: attribute of the plain ops, input of the -Like ops.
static qrn_status random_shape(ox_import *im, const ox_node *n, uint32_t *rank, uint32_t *dims,
                               int *type) {
    const ox_val *like = ox_input(im, n, 0);
    int64_t shape[OX_MAX_RANK];
    *type = (int)ox_attr_int(n, "dtype", like ? like->type : OX_F32);
    *rank = like ? like->rank : ox_attr_ints(n, "shape", shape, OX_MAX_RANK);
    for (uint32_t i = 0; i < *rank; i++) {
        if (!like && (shape[i] < 1 || shape[i] > INT32_MAX))
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u of its shape is %lld", i,
                           (long long)shape[i]);
        dims[i] = like ? like->dims[i] : (uint32_t)shape[i];
    }
    if (*type != OX_F32 && *type != OX_F16)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "random %s; float32 and float16 are possible",
                       ox_type_name(*type));
    return QRN_OK;
}

// A random op with its shape as a constant, its two numbers and perhaps a seed.
static qc_tensor *emit_random(ox_expr *e, const char *op, uint32_t rank, const uint32_t *dims,
                              const char *const names[2], const float numbers[2]) {
    const ox_attr *seed = ox_attr_find(e->n, "seed");
    const uint32_t one = 1;
    qc_tensor *shape = NULL, *start = NULL,
              *y = ox_result_typed(e, QNN_DATATYPE_FLOAT_32, rank, dims);
    if (e->s == QRN_OK)
        e->s = ox_static(e->im, QNN_DATATYPE_UINT_32, 1, &rank, dims, rank * sizeof *dims, &shape);
    if (e->s == QRN_OK && seed)
        e->s = ox_static(e->im, QNN_DATATYPE_FLOAT_32, 1, &one, &seed->f, sizeof seed->f, &start);
    if (e->s != QRN_OK)
        return NULL;
    qc_op o;
    ox_op(e->im, &o, e->n, op);
    qc_in(&o, shape);
    if (start)
        qc_in(&o, start);
    qc_out(&o, y);
    for (int i = 0; i < 2; i++)
        qc_f32(&o, names[i], numbers[i]);
    return ox_ended(e, &o, y);
}

static qrn_status import_random(ox_import *im, const ox_node *n) {
    static const char *const uniform[] = {"low", "high"}, *const normal[] = {"mean", "scale"};
    bool is_normal = strncmp(n->op, "RandomNormal", 12) == 0;
    uint32_t rank, dims[OX_MAX_RANK];
    int type;
    ox_leave_unit(im);
    QRN_TRY(random_shape(im, n, &rank, dims, &type));
    QRN_TRY(ox_set_output(im, n, 0, type, rank, dims));
    const float numbers[2] = {ox_attr_float(n, is_normal ? "mean" : "low", 0),
                              ox_attr_float(n, is_normal ? "scale" : "high", 1)};
    ox_expr e = ox_begin(im, n);
    qc_tensor *y = ox_out_real(&e, 0, OX_ONNX);
    if (!y)
        return ox_done(&e);
    qc_tensor *x =
        emit_random(&e, is_normal ? QNN_OP_RANDOM_NORMAL_LIKE : QNN_OP_RANDOM_UNIFORM_LIKE, y->rank,
                    y->dims, is_normal ? normal : uniform, numbers);
    ox_into(&e, y);
    ox_reshape(&e, ox_as(&e, x, ox_type_of(y)), y->rank, y->dims);
    return ox_end_real(&e, 0, OX_ONNX, y);
}

// 1 where a uniform number is below the probability.
static qrn_status import_bernoulli(ox_import *im, const ox_node *n) {
    static const char *const names[] = {"low", "high"};
    static const float numbers[] = {0, 1};
    const ox_val *v = ox_input(im, n, 0);
    int type = (int)ox_attr_int(n, "dtype", v->type);
    ox_leave_unit(im);
    QRN_TRY(ox_set_output(im, n, 0, type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *p = ox_as(&e, ox_in_real(&e, 0, OX_ONNX), QNN_DATATYPE_FLOAT_32), *y;
    qc_tensor *x =
        p ? emit_random(&e, QNN_OP_RANDOM_UNIFORM_LIKE, p->rank, p->dims, names, numbers) : NULL;
    qc_tensor *hit = ox_compare(&e, QNN_OP_ELEMENT_WISE_LESS, x, p);
    QRN_TRY(ox_done(&e));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    return ox_emit_cast(im, n, hit, y);
}

const ox_importer ox_import_random[] = {
    {"RandomUniform", "", import_random}, {"RandomUniformLike", "", import_random},
    {"RandomNormal", "", import_random},  {"RandomNormalLike", "", import_random},
    {"Bernoulli", "", import_bernoulli},  {0},
};
