// SPDX-License-Identifier: MIT
//
// Matmuls by weights that stay quantized: by FullyConnected where the weights are [N, K], by MatMul
// where they are [K, N]. The HTP supports both with float16 or fixed-point activations and weights
// in bytes; other backends with float32 ones and weights as they are.
#include "frontend/onnx/import/weight_only.h"

#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/emit/weights.h"

#include <math.h>
#include <string.h>

// One way to emit it, with descriptions of its operands.
typedef struct way {
    const char *op;
    ox_weights_form form;
    Qnn_DataType_t type; // of activations that are floats
    qc_tensor x, w, bias, y;
} way;

ox_val *ox_weights_of(const ox_expr *e, uint32_t i) {
    const ox_val *v = ox_input(e->im, e->n, i);
    ox_val *q = v && !v->data ? v->quantized : NULL;
    return ox_weights_are(q) ? q : NULL;
}

static void describe(qc_tensor *t, Qnn_TensorType_t kind, Qnn_DataType_t type, uint32_t rank,
                     const uint32_t *dims) {
    *t = (qc_tensor){.t = QNN_TENSOR_INIT, .rank = rank};
    memcpy(t->dims, dims, rank * sizeof *dims);
    t->t.v1.name = "t";
    t->t.v1.type = kind;
    t->t.v1.dataType = type;
    t->t.v1.rank = rank;
    t->t.v1.dimensions = t->dims;
    t->t.v1.memType = QNN_TENSORMEMTYPE_RAW;
}

// `like` as a tensor of the way: fixed point with its encoding, floats in the way's type.
static void describe_like(const way *c, qc_tensor *t, const qc_tensor *like, uint32_t rank,
                          const uint32_t *dims) {
    bool fixed = ox_is_fixed(like);
    describe(t, QNN_TENSOR_TYPE_NATIVE, fixed ? ox_type_of(like) : c->type, rank, dims);
    if (fixed)
        t->t.v1.quantizeParams = like->t.v1.quantizeParams;
}

// Shapes of the operands: rows for FullyConnected, all dimensions for MatMul.
static void shape_way(way *c, const qc_tensor *x, const qc_tensor *y, uint32_t n) {
    bool rows = strcmp(c->op, QNN_OP_FULLY_CONNECTED) == 0;
    uint32_t dims[OX_MAX_RANK], rank = rows || x->rank < 2 ? 2 : x->rank;
    uint32_t depth = x->dims[x->rank - 1];
    memcpy(dims, x->dims, sizeof dims);
    if (rank == 2) {
        dims[0] = (uint32_t)(qc_tensor_count(x) / depth);
        dims[1] = depth;
    }
    describe_like(c, &c->x, x, rank, dims);
    dims[rank - 1] = n;
    describe_like(c, &c->y, y, rank, dims);
    describe(&c->bias, QNN_TENSOR_TYPE_STATIC, c->type, 1, &n);
}

// Of fixed-point activations it has steps of its own: the accumulators have no single scale.
static void bias_params(const ox_weight_only *m, uint32_t n, Qnn_QuantizeParams_t *q) {
    float most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(m->bias[i]));
    *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q->scaleOffsetEncoding.scale = most > 0 ? ldexpf(most, -30) : 1;
}

static void begin(ox_expr *e, qc_op *o, const way *c, const qc_tensor *x, const qc_tensor *w,
                  const qc_tensor *bias, const qc_tensor *y) {
    ox_op(e->im, o, e->n, c->op);
    qc_in(o, x);
    qc_in(o, w);
    if (bias)
        qc_in(o, bias);
    qc_out(o, y);
}

static const struct {
    const char *op;
    bool rows; // of the weights that it reads
} ops[] = {{QNN_OP_MAT_MUL, false}, {QNN_OP_FULLY_CONNECTED, true}};

// Would the backend support this op with weights of this form? c describes its operands then.
static bool try_way(ox_expr *e, const ox_weight_only *m, const qc_tensor *x, const qc_tensor *y,
                    size_t i, bool expansion, way *c) {
    bool htp = e->im->graph->client->is_htp;
    uint32_t channel = m->rows ? 0 : 1;
    qc_op o;
    *c = (way){.op = ops[i].op,
               .form = {ops[i].rows != m->rows, htp, expansion, channel},
               .type = htp ? QNN_DATATYPE_FLOAT_16 : ox_type_of(x)};
    shape_way(c, x, y, m->w->dims[channel]);
    if (m->bias && ox_is_fixed(x)) {
        c->bias.t.v1.dataType = QNN_DATATYPE_SFIXED_POINT_32;
        bias_params(m, m->w->dims[channel], &c->bias.t.v1.quantizeParams);
    }
    if (e->s == QRN_OK)
        e->s = ox_weights_describe(e->im, m->w, &c->form, &c->w);
    begin(e, &o, c, &c->x, &c->w, m->bias ? &c->bias : NULL, &c->y);
    return ox_taken(e, &o);
}

// The first way that the backend supports; op NULL: none. Architectures without
// BLOCKWISE_EXPANSION may have a scale for each block.
static void find_way(ox_expr *e, const ox_weight_only *m, const qc_tensor *x, const qc_tensor *y,
                     way *c) {
    for (size_t i = m->rows ? 1 : 0; i < 2; i++)
        for (int expansion = ox_is_fixed(x) ? 1 : 0; expansion >= 0; expansion--)
            if (try_way(e, m, x, y, i, expansion, c))
                return;
    c->op = NULL;
}

// The bias as the way has it.
static qc_tensor *bias_of(ox_expr *e, const ox_weight_only *m, const way *c, const qc_tensor *x) {
    uint32_t n = c->bias.dims[0];
    qc_tensor *out = NULL;
    if (!m->bias || !x || e->s != QRN_OK)
        return NULL;
    if (!ox_is_fixed(x))
        return ox_floats(e, x, 1, &n, m->bias);
    const Qnn_QuantizeParams_t *q = &c->bias.t.v1.quantizeParams;
    int32_t *quantized = ox_alloc(e->im, n * sizeof *quantized);
    if (!quantized) {
        e->s = ox_no_memory(e->im);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        quantized[i] = (int32_t)lrint((double)m->bias[i] / (double)q->scaleOffsetEncoding.scale);
    e->s = ox_static_encoded(e->im, QNN_DATATYPE_SFIXED_POINT_32, 1, &n, q, quantized,
                             n * sizeof *quantized, &out);
    return ox_made(e, out);
}

// x in the type of y, and in its shape.
static void write(ox_expr *e, qc_tensor *x, qc_tensor *y) {
    if (ox_type_of(x) != ox_type_of(y))
        x = ox_reshape(e, x, y->rank, y->dims);
    ox_into(e, y);
    if (ox_type_of(x) == ox_type_of(y))
        ox_reshape(e, x, y->rank, y->dims);
    else
        ox_as(e, x, ox_type_of(y));
}

bool ox_multiply_quantized(ox_expr *e, const ox_weight_only *m, qc_tensor *x, qc_tensor *y) {
    way c;
    qc_op o;
    qc_tensor *w = NULL, *product = y;
    if (e->s != QRN_OK || !x || !y)
        return true;
    bool fixed = ox_is_fixed(x);
    find_way(e, m, x, y, &c);
    if (!c.op)
        return false;
    if (!fixed && c.type == QNN_DATATYPE_FLOAT_16 && ox_type_of(x) != c.type &&
        e->im->graph->client->floats == QC_FLOAT32)
        ox_note(e->im, e->n, "are computed in float16",
                "the HTP multiplies quantized weights by float16 activations");
    x = ox_reshape(e, fixed ? x : ox_as(e, x, c.type), c.x.rank, c.x.dims);
    if (e->s == QRN_OK)
        e->s = ox_weights_make(e->im, m->w, &c.form, &w);
    qc_tensor *bias = bias_of(e, m, &c, x);
    if (!x || e->s != QRN_OK)
        return true;
    if (ox_type_of(&c.y) != ox_type_of(y) || c.y.rank != y->rank ||
        memcmp(c.y.dims, y->dims, y->rank * sizeof *y->dims) != 0)
        product = ox_result_like(e, fixed ? y : x, c.y.rank, c.y.dims);
    begin(e, &o, &c, x, w, bias, product);
    ox_end(e, &o);
    if (product != y && e->s == QRN_OK)
        write(e, product, y);
    return true;
}

bool ox_multiplies_fixed(ox_expr *e, const ox_weight_only *m, const qc_tensor *x,
                         Qnn_DataType_t type) {
    way c;
    if (e->s != QRN_OK || !x)
        return false;
    qc_tensor y = *x;
    y.t.v1.dataType = type == QNN_DATATYPE_SFIXED_POINT_16 ? QNN_DATATYPE_UFIXED_POINT_16 : type;
    find_way(e, m, x, &y, &c);
    return e->s == QRN_OK && c.op;
}

void ox_note_expanded(const ox_expr *e) {
    ox_note(e->im, e->n, "have their weights expanded to floats",
            "this backend does not support quantized weights of this encoding here");
}
