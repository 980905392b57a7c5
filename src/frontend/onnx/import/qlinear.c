// SPDX-License-Identifier: MIT
//
// Importers: QLinearConv and QLinearMatMul as the quantized ops they are. Their operands are plain
// integers to ONNX; where a tensor has not the encoding that the op states, a Cast gives its codes
// that meaning.
#include "base/mem.h"
#include "frontend/onnx/filter.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/window.h"

#include <string.h>

// Scale and zero point of inputs i and i + 1, per tensor.
static qrn_status read_encoding(ox_import *im, const ox_node *n, uint32_t i,
                                Qnn_QuantizeParams_t *q) {
    const ox_val *zero = ox_input(im, n, i + 1);
    int64_t z = 0;
    uint32_t count;
    float scale;
    if (!ox_const_float(im, n, i, &scale) ||
        (zero && !ox_const_ints(im, n, i + 1, &z, 1, &count)) || !(scale > 0))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "input %u must be one constant scale above 0, with its zero point", i);
    *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q->scaleOffsetEncoding.scale = scale;
    q->scaleOffsetEncoding.offset = -(int32_t)z;
    return QRN_OK;
}

static bool same_encoding(const qc_tensor *t, const Qnn_QuantizeParams_t *q) {
    const Qnn_QuantizeParams_t *p = &t->t.v1.quantizeParams;
    return p->encodingDefinition == QNN_DEFINITION_DEFINED &&
           p->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET &&
           p->scaleOffsetEncoding.scale == q->scaleOffsetEncoding.scale &&
           p->scaleOffsetEncoding.offset == q->scaleOffsetEncoding.offset;
}

// A tensor like t whose codes mean what q says.
static qc_tensor *new_meaning(ox_expr *e, const qc_tensor *t, const Qnn_QuantizeParams_t *q) {
    qc_tensor like = *t;
    like.t.v1.quantizeParams = *q;
    return ox_result_like(e, &like, t->rank, t->dims);
}

static qc_tensor *recoded(ox_expr *e, qc_tensor *x, uint32_t scale) {
    Qnn_QuantizeParams_t q;
    if (!x || e->s != QRN_OK)
        return NULL;
    e->s = read_encoding(e->im, e->n, scale, &q);
    if (e->s != QRN_OK || same_encoding(x, &q))
        return x;
    qc_tensor *y = new_meaning(e, x, &q);
    if (y)
        e->s = ox_emit_unary(e->im, e->n, QNN_OP_CAST, x, y);
    return y;
}

static qc_tensor *operand(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_in(e->im, e->n, i, layout, &x);
    return recoded(e, x, i + 1);
}

// What to write the result to: output 0, or a tensor with the right encoding.
static qc_tensor *target(ox_expr *e, ox_layout layout, qc_tensor **y) {
    Qnn_QuantizeParams_t q;
    *y = NULL;
    if (e->s == QRN_OK)
        e->s = ox_out(e->im, e->n, 0, layout, y);
    if (e->s == QRN_OK)
        e->s = read_encoding(e->im, e->n, 6, &q);
    if (e->s != QRN_OK)
        return NULL;
    return same_encoding(*y, &q) ? *y : new_meaning(e, *y, &q);
}

static qrn_status finish(ox_expr *e, qc_tensor *x, qc_tensor *y) {
    if (e->s == QRN_OK && x != y)
        e->s = ox_emit_unary(e->im, e->n, QNN_OP_CAST, x, y);
    return e->s;
}

// The output has the type of its zero point.
static int output_type(ox_import *im, const ox_node *n) {
    const ox_val *zero = ox_input(im, n, 7);
    return zero ? zero->type : OX_U8;
}

// --- QLinearConv
// ----------------------------------------------------------------------------------------

// Codes of the bias count products of input and filter.
static qc_tensor *bias_codes(ox_expr *e, const qc_tensor *x, const qc_tensor *filter,
                             uint32_t channels) {
    const ox_val *v = ox_input(e->im, e->n, 8);
    if (!v || !x || !filter || e->s != QRN_OK)
        return NULL;
    if (!v->data || v->type != OX_I32 || v->rank != 1 || v->dims[0] != channels) {
        e->s =
            ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "the bias must be %u constant int32", channels);
        return NULL;
    }
    float *zeros = qrn_calloc(channels * sizeof *zeros);
    if (!zeros) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    // A bias of zeros has the scales; the codes are taken over as they are.
    qc_tensor *scaled = ox_bias_of(e, zeros, x, filter, channels), *out = NULL;
    qrn_free(zeros);
    if (scaled)
        e->s = ox_static_encoded(e->im, QNN_DATATYPE_SFIXED_POINT_32, 1, &channels,
                                 &scaled->t.v1.quantizeParams, v->data, v->bytes, &out);
    return out;
}

static qrn_status import_qlinear_conv(ox_import *im, const ox_node *n) {
    ox_conv c;
    uint32_t perm[OX_MAX_RANK];
    QRN_TRY(ox_conv_read(im, n, 3, &c));
    const ox_val *v = ox_input(im, n, 0), *w = ox_input(im, n, 3);
    QRN_TRY(ox_set_output(im, n, 0, output_type(im, n), v->rank, c.dims));
    ox_filter_perm(v->rank, perm);
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_image_in(&e, operand(&e, 0, OX_LAST)), *filter, *y;
    if (w->data && w->enc)
        filter = ox_filter(&e, 3, perm, c.w.n + 2, false);
    else
        filter = ox_transpose(&e, operand(&e, 3, OX_ONNX), perm);
    if (filter && filter->rank == 3)
        filter =
            ox_reshape(&e, filter, 4,
                       (const uint32_t[]){1, filter->dims[0], filter->dims[1], filter->dims[2]});
    qc_tensor *bias = bias_codes(&e, x, filter, c.dims[1]);
    qc_tensor *z = target(&e, OX_LAST, &y), *image = ox_image_out(&e, z);
    ox_convolve(&e, &c.w, c.group, x, filter, bias, image);
    ox_image_end(&e, image, z);
    return finish(&e, z, y);
}

// --- QLinearMatMul
// --------------------------------------------------------------------------------------

static qrn_status matmul_dims(ox_import *im, const ox_node *n, const ox_val *a, const ox_val *b) {
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank, dims[OX_MAX_RANK];
    if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return ox_fail(im, n, QRN_E_SHAPE, "two matrices that fit are needed");
    for (uint32_t i = 0; i + 2 < rank; i++) {
        uint32_t da = i + a->rank < rank ? 1 : a->dims[i + a->rank - rank];
        uint32_t db = i + b->rank < rank ? 1 : b->dims[i + b->rank - rank];
        if (da != db && da != 1 && db != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u: %u and %u cannot be broadcast", i, da,
                           db);
        dims[i] = da > db ? da : db;
    }
    dims[rank - 2] = a->dims[a->rank - 2];
    dims[rank - 1] = b->dims[b->rank - 1];
    return ox_set_output(im, n, 0, output_type(im, n), rank, dims);
}

static qrn_status import_qlinear_matmul(ox_import *im, const ox_node *n) {
    const ox_val *va = ox_input(im, n, 0), *vb = ox_input(im, n, 3);
    const uint32_t perm[OX_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (!va || !vb)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "two matrices are needed");
    QRN_TRY(matmul_dims(im, n, va, vb));
    ox_expr e = ox_begin(im, n);
    qc_tensor *y, *a = operand(&e, 0, OX_ONNX);
    qc_tensor *b = vb->data && vb->enc ? ox_filter(&e, 3, perm, 0, false) : operand(&e, 3, OX_ONNX);
    qc_tensor *z = target(&e, OX_ONNX, &y);
    ox_into(&e, z);
    ox_matmul(&e, a, b, false, false);
    return finish(&e, z, y);
}

const ox_importer ox_import_qlinear[] = {
    {"QLinearConv", "", import_qlinear_conv},
    {"QLinearMatMul", "", import_qlinear_matmul},
    {0},
};
