// SPDX-License-Identifier: MIT
//
// Exact multiply-adds of small integers.
#include "frontend/onnx/import/exact.h"

#include "frontend/onnx/driver/internal.h"

#include "CPU/QnnCpuCommon.h"

#include <string.h>

#define EXACT_LIMIT (1u << 24) // integers below it are exact in f32
#define WHOLE 255.0            // largest magnitude of an operand ...
#define PART 16.0              // ... and of its two parts

static qc_tensor *product(ox_expr *e, qc_tensor *a, qc_tensor *b, double most_a, double most_b,
                          uint32_t depth, ox_product_fn fn, const void *ctx);

// x = 16 hi + lo with 0 <= lo < 16.
static void split(ox_expr *e, qc_tensor *x, qc_tensor **hi, qc_tensor **lo) {
    *hi = ox_unary(e, QNN_OP_ELEMENT_WISE_FLOOR,
                   ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, 1 / PART));
    *lo = ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, x,
                    ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, *hi, PART));
}

static qc_tensor *joined(ox_expr *e, qc_tensor *hi, qc_tensor *lo) {
    return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, hi, PART),
                     lo);
}

static qc_tensor *product(ox_expr *e, qc_tensor *a, qc_tensor *b, double most_a, double most_b,
                          uint32_t depth, ox_product_fn fn, const void *ctx) {
    qc_tensor *hi, *lo;
    if (most_a * most_b * depth < EXACT_LIMIT)
        return ox_as(e, fn(e, ctx, a, b), QNN_DATATYPE_INT_32);
    if (most_b > PART) {
        split(e, b, &hi, &lo);
        return joined(e, product(e, a, hi, most_a, PART, depth, fn, ctx),
                      product(e, a, lo, most_a, PART, depth, fn, ctx));
    }
    if (most_a > PART) {
        split(e, a, &hi, &lo);
        return joined(e, product(e, hi, b, PART, most_b, depth, fn, ctx),
                      product(e, lo, b, PART, most_b, depth, fn, ctx));
    }
    if (e->s == QRN_OK)
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                       "sums of %u products are not exact; use QLinear ops or QDQ", depth);
    return NULL;
}

qc_tensor *ox_exact_product(ox_expr *e, qc_tensor *a, qc_tensor *b, uint32_t depth,
                            ox_product_fn fn, const void *ctx) {
    return a && b ? product(e, a, b, WHOLE, WHOLE, depth, fn, ctx) : NULL;
}

qc_tensor *ox_in_minus(ox_expr *e, uint32_t i, ox_layout layout, uint32_t zero, uint32_t axis) {
    qc_tensor *x = NULL, *z = NULL;
    const ox_val *zv = ox_input(e->im, e->n, zero);
    if (e->s == QRN_OK)
        e->s = ox_in_as(e->im, e->n, i, layout, QNN_DATATYPE_FLOAT_32, &x);
    if (e->s != QRN_OK || !zv)
        return ox_made(e, x);
    e->s = ox_in_as(e->im, e->n, zero, OX_ONNX, QNN_DATATYPE_FLOAT_32, &z);
    if (z && qc_tensor_count(z) > 1 && zv->rank == 1) {
        uint32_t dims[OX_MAX_RANK];
        for (uint32_t d = 0; d < x->rank; d++)
            dims[d] = d == axis ? z->dims[0] : 1;
        z = ox_reshape(e, z, x->rank, dims);
    }
    return ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, z);
}

// --- MatMulInteger as one op

#define BYTES_DEPTH 32768u // products of bytes whose sum fits 32 bits

static bool is_bytes(const ox_val *v) { return v && (v->type == OX_U8 || v->type == OX_I8); }

// One number of a constant zero point, 0 when it is absent; false: it is not known, or many.
static bool known_zero(const ox_expr *e, uint32_t i, int32_t *zero) {
    const ox_val *v = ox_input(e->im, e->n, i);
    size_t count = 1;
    *zero = 0;
    for (uint32_t d = 0; v && d < v->rank; d++)
        count *= v->dims[d];
    if (v && v->data && is_bytes(v) && count == 1)
        *zero = v->type == OX_U8 ? *(const uint8_t *)v->data : *(const int8_t *)v->data;
    return !v || (v->data && is_bytes(v) && count == 1);
}

static Qnn_QuantizeParams_t by_one(int32_t offset) {
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    q.scaleOffsetEncoding = (Qnn_ScaleOffset_t){1.0f, offset};
    return q;
}

static bool counts_by_one(const qc_tensor *t) {
    const Qnn_QuantizeParams_t *q = &t->t.v1.quantizeParams;
    Qnn_DataType_t type = ox_type_of(t);
    return (type == QNN_DATATYPE_UFIXED_POINT_8 || type == QNN_DATATYPE_SFIXED_POINT_8) &&
           q->encodingDefinition == QNN_DEFINITION_DEFINED &&
           q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET &&
           q->scaleOffsetEncoding.scale == 1.0f && q->scaleOffsetEncoding.offset == 0;
}

// A description of a tensor like `like`, of another type and shape.
static qc_tensor described(const qc_tensor *like, Qnn_DataType_t type, uint32_t rank,
                           const uint32_t *dims, int32_t offset) {
    qc_tensor t = *like;
    t.rank = t.t.v1.rank = rank;
    memcpy(t.dims, dims, rank * sizeof *dims);
    t.t.v1.type = QNN_TENSOR_TYPE_NATIVE;
    t.t.v1.dataType = type;
    t.t.v1.quantizeParams = by_one(offset);
    return t;
}

static void begin_product(ox_expr *e, qc_op *o, qc_tensor *a, qc_tensor *b, qc_tensor *y) {
    a->t.v1.dimensions = a->dims;
    b->t.v1.dimensions = b->dims;
    y->t.v1.dimensions = y->dims;
    ox_op(e->im, o, e->n, QNN_OP_MAT_MUL);
    qc_in(o, a);
    qc_in(o, b);
    qc_out(o, y);
}

// Sums of the columns of the constant b less its zero point.
static int32_t *column_sums(ox_expr *e, const ox_val *b, int32_t zero) {
    uint32_t depth = b->dims[0], cols = b->dims[1];
    int32_t *sums = ox_alloc(e->im, cols * sizeof *sums);
    if (!sums && e->s == QRN_OK)
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
    for (size_t i = 0; sums && i < (size_t)depth * cols; i++)
        sums[i % cols] +=
            (b->type == OX_U8 ? ((const uint8_t *)b->data)[i] : ((const int8_t *)b->data)[i]) -
            zero;
    return sums;
}

// y less the zero point of a times the sums of columns.
static qc_tensor *less_zero(ox_expr *e, qc_tensor *y, int32_t *sums, uint32_t cols) {
    qc_tensor *zero = NULL, *one = NULL;
    if (e->s == QRN_OK)
        e->s = ox_in_as(e->im, e->n, 2, OX_ONNX, QNN_DATATYPE_INT_32, &zero);
    one = zero ? ox_reshape(e, zero, 1, (const uint32_t[]){1}) : NULL;
    qc_tensor *sum = ox_ints(e, 1, &cols, sums);
    return ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, y,
                     ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, sum, one));
}

// b is a constant matrix, or has no zero points beside it; a has one of them at most.
static bool bytes_fit(const ox_expr *e, const ox_val *va, const ox_val *vb, int32_t *za,
                      int32_t *zb) {
    const ox_val *zero = ox_input(e->im, e->n, 2);
    bool one = known_zero(e, 2, za) || (zero && is_bytes(zero) && zero->rank == 0);
    bool zeros = known_zero(e, 2, za) && *za == 0 && known_zero(e, 3, zb) && *zb == 0;
    return e->im->graph->client->backend_id == QNN_BACKEND_ID_CPU && is_bytes(va) && is_bytes(vb) &&
           va->rank >= 2 && vb->rank >= 2 && !va->data && va->dims[va->rank - 1] <= BYTES_DEPTH &&
           one && known_zero(e, 3, zb) && (vb->data ? vb->rank == 2 : zeros);
}

bool ox_bytes_product(ox_expr *e, uint32_t rank, const uint32_t *dims, qc_tensor **y) {
    const ox_val *va = ox_input(e->im, e->n, 0), *vb = ox_input(e->im, e->n, 1);
    int32_t za = 0, zb = 0, *sums = NULL;
    qc_tensor *a = NULL, *b = NULL, *sum = NULL;
    qc_op o;
    if (e->s != QRN_OK || !bytes_fit(e, va, vb, &za, &zb))
        return false;
    e->s = ox_in(e->im, e->n, 0, OX_ONNX, &a);
    if (!a || !counts_by_one(a))
        return false;
    Qnn_DataType_t type =
        vb->type == OX_U8 ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_SFIXED_POINT_8;
    qc_tensor x = described(a, ox_type_of(a), va->rank, va->dims, 0);
    qc_tensor w = described(a, type, vb->rank, vb->dims, -zb);
    qc_tensor r = described(a, QNN_DATATYPE_SFIXED_POINT_32, rank, dims, 0);
    begin_product(e, &o, &x, &w, &r);
    if (!ox_taken(e, &o))
        return false;
    Qnn_QuantizeParams_t q = by_one(-zb);
    if (e->s == QRN_OK)
        e->s = vb->data ? ox_static_encoded(e->im, type, 2, vb->dims, &q, vb->data,
                                            (size_t)vb->dims[0] * vb->dims[1], &b)
                        : ox_in(e->im, e->n, 1, OX_ONNX, &b);
    if (e->s == QRN_OK)
        e->s = ox_temp(e->im, &r, r.rank, r.dims, &sum);
    *y = NULL;
    if (e->s != QRN_OK)
        return true;
    begin_product(e, &o, a, b, sum);
    ox_ended(e, &o, sum);
    *y = ox_as(e, sum, QNN_DATATYPE_INT_32);
    bool moved = ox_input(e->im, e->n, 2) && !(known_zero(e, 2, &za) && za == 0);
    if (moved && (sums = column_sums(e, vb, zb)))
        *y = less_zero(e, *y, sums, vb->dims[1]);
    return true;
}
