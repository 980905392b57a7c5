// SPDX-License-Identifier: MIT
//
// Importers: weights that are quantized in blocks, and quantization with a range found at run time.
// Block-quantized weights of a matmul stay 4 (or 8) bits wide, with a block encoding.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/emit/permute.h"

#include <string.h>

#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define DIV QNN_OP_ELEMENT_WISE_DIVIDE

// --- MatMulNBits

// Weights [N, K], each row in blocks of `block` with a scale and a zero point.
typedef struct blocks {
    uint32_t n, k, block, per_row;
    unsigned bits;
    const uint8_t *quantized; // packed, each block from a new byte on
    const float *scales;
    const uint8_t *zeros;    // packed, each row from a new byte on; NULL
    const float *real_zeros; // or as numbers; NULL
} blocks;

static uint8_t field(const uint8_t *p, size_t i, unsigned bits) {
    size_t at = i * bits;
    return (uint8_t)((unsigned)p[at / 8] >> (at % 8) & ((1u << bits) - 1));
}

static double zero_at(const blocks *b, uint32_t row, uint32_t block) {
    if (b->real_zeros)
        return (double)b->real_zeros[(size_t)row * b->per_row + block];
    if (!b->zeros)
        return (double)(1u << (b->bits - 1));
    size_t stride = ((size_t)b->per_row * b->bits + 7) / 8;
    return field(b->zeros + row * stride, block, b->bits);
}

static uint8_t quantized_at(const blocks *b, uint32_t row, uint32_t column) {
    size_t bytes = (size_t)b->block * b->bits / 8;
    const uint8_t *p = b->quantized + ((size_t)row * b->per_row + column / b->block) * bytes;
    return field(p, column % b->block, b->bits);
}

static qrn_status read_blocks(ox_import *im, const ox_node *n, blocks *b) {
    const ox_val *w = ox_input(im, n, 1), *s = ox_input(im, n, 2), *z = ox_input(im, n, 3);
    int64_t k = ox_attr_int(n, "K", 0), rows = ox_attr_int(n, "N", 0);
    int64_t bits = ox_attr_int(n, "bits", 4), block = ox_attr_int(n, "block_size", 0);
    if ((bits != 2 && bits != 4 && bits != 8) || k <= 0 || rows <= 0 || k > INT32_MAX ||
        rows > INT32_MAX || block < 16 || block > 65536 || (block & (block - 1)))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "bits %lld, block_size %lld, K %lld, N %lld",
                       (long long)bits, (long long)block, (long long)k, (long long)rows);
    if (ox_input(im, n, 4))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "g_idx is not supported");
    if (!w->data || !s->data || (z && !z->data))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "weights, scales and zero points must be constant");
    *b = (blocks){.n = (uint32_t)rows,
                  .k = (uint32_t)k,
                  .block = (uint32_t)block,
                  .per_row = (uint32_t)((k + block - 1) / block),
                  .bits = (unsigned)bits,
                  .quantized = w->data,
                  .scales = ox_const_reals(im, n, 2)};
    bool packed = z && z->type == OX_U8;
    b->zeros = packed ? z->data : NULL;
    b->real_zeros = z && !packed ? ox_const_reals(im, n, 3) : NULL;
    size_t pairs = (size_t)b->n * b->per_row, stride = ((size_t)b->per_row * b->bits + 7) / 8;
    // Scales and real zero points are counted: bytes of 4-bit types would be rounded.
    if (w->bytes < pairs * b->block * b->bits / 8 || ox_count(s) < pairs ||
        (packed && z->bytes < b->n * stride) || (z && !packed && ox_count(z) < pairs))
        return ox_fail(im, n, QRN_E_SHAPE, "weights, scales or zero points are too short");
    if (!b->scales || (z && !packed && !b->real_zeros))
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    return QRN_OK;
}

// [N, K] as 4 or 8-bit quantized values with a block encoding; 2 bits are kept as 4.
static qrn_status block_weights(ox_import *im, const blocks *b, qc_tensor **out) {
    uint32_t dims[] = {b->n, b->k}, size[] = {1, b->block};
    size_t count = (size_t)b->n * b->k, pairs = (size_t)b->n * b->per_row;
    bool narrow = b->bits <= 4;
    uint8_t *quantized = ox_alloc(im, count),
            *packed = narrow ? ox_alloc(im, (count + 1) / 2) : quantized;
    Qnn_ScaleOffset_t *encoding = ox_alloc(im, pairs * sizeof *encoding);
    if (!quantized || !packed || !encoding)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t r = 0; r < b->n; r++) {
        for (uint32_t c = 0; c < b->k; c++)
            quantized[(size_t)r * b->k + c] = quantized_at(b, r, c);
        for (uint32_t c = 0; c < b->per_row; c++)
            encoding[(size_t)r * b->per_row + c] = (Qnn_ScaleOffset_t){
                b->scales[(size_t)r * b->per_row + c], -(int32_t)zero_at(b, r, c)};
    }
    if (narrow)
        ox_pack4(packed, quantized, count);
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
    q.blockEncoding.blockSize = size;
    q.blockEncoding.scaleOffset = encoding;
    return ox_static_encoded(im, narrow ? QNN_DATATYPE_UFIXED_POINT_4 : QNN_DATATYPE_UFIXED_POINT_8,
                             2, dims, &q, packed, narrow ? (count + 1) / 2 : count, out);
}

// The same as floats, where a block is not whole or zero points are real numbers.
static qrn_status float_weights(ox_import *im, const blocks *b, qc_tensor **out) {
    uint32_t dims[] = {b->n, b->k};
    size_t count = (size_t)b->n * b->k;
    float *w = ox_alloc(im, count * sizeof *w);
    if (!w)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t r = 0; r < b->n; r++)
        for (uint32_t c = 0; c < b->k; c++)
            w[(size_t)r * b->k + c] =
                (float)((quantized_at(b, r, c) - zero_at(b, r, c / b->block)) *
                        (double)b->scales[(size_t)r * b->per_row + c / b->block]);
    return ox_static(im, QNN_DATATYPE_FLOAT_32, 2, dims, w, count * sizeof *w, out);
}

static qrn_status import_matmul_nbits(ox_import *im, const ox_node *n) {
    const ox_val *a = ox_input(im, n, 0), *bias = ox_input(im, n, 5);
    blocks b;
    uint32_t dims[OX_MAX_RANK], flat[2] = {1, 0};
    QRN_TRY(read_blocks(im, n, &b));
    if (a->rank == 0 || a->dims[a->rank - 1] != b.k ||
        (bias && (bias->rank != 1 || bias->dims[0] != b.n)))
        return ox_fail(im, n, QRN_E_SHAPE, "A or bias does not fit the weights");
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = b.n;
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        flat[0] *= a->dims[d];
    qc_tensor *x, *w, *c = NULL, *y;
    QRN_TRY(ox_set_output(im, n, 0, a->type, a->rank, dims));
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &x));
    QRN_TRY((b.k % b.block || b.real_zeros ? float_weights : block_weights)(im, &b, &w));
    if (bias)
        QRN_TRY(ox_in_as(im, n, 5, OX_ONNX, QNN_DATATYPE_FLOAT_32, &c));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y));
    ox_expr e = ox_begin(im, n);
    flat[1] = b.k;
    x = ox_reshape(&e, x, 2, flat);
    flat[1] = b.n;
    qc_tensor *product = a->rank == 2 ? y : ox_result_like(&e, x, 2, flat);
    qc_op o;
    ox_op(im, &o, n, QNN_OP_FULLY_CONNECTED);
    qc_in(&o, x);
    qc_in(&o, w);
    if (c)
        qc_in(&o, c);
    qc_out(&o, product);
    ox_end(&e, &o);
    if (product != y) {
        ox_into(&e, y);
        ox_reshape(&e, product, a->rank, dims);
    }
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

// --- GatherBlockQuantized

typedef struct table {
    uint32_t gather_axis, axis, block;
    unsigned bits;
    uint32_t rank, dims[OX_MAX_RANK]; // of the data, in quantized values
    uint32_t blocks[OX_MAX_RANK];     // of the scales
} table;

static qrn_status read_table(ox_import *im, const ox_node *n, table *t) {
    const ox_val *x = ox_input(im, n, 0), *s = ox_input(im, n, 2), *z = ox_input(im, n, 3);
    int64_t block = ox_attr_int(n, "block_size", 128);
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "gather_axis", 0), x->rank, &t->gather_axis));
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "quantize_axis", 1), x->rank, &t->axis));
    t->bits = x->type == OX_U8 ? (unsigned)ox_attr_int(n, "bits", 4) : ox_type_bits(x->type);
    t->rank = x->rank;
    memcpy(t->dims, x->dims, sizeof t->dims);
    if (x->type == OX_U8 && t->bits == 4)
        t->dims[x->rank - 1] *= 2; // two quantized values a byte
    t->block = block >= 1 && block <= INT32_MAX ? (uint32_t)block : 1;
    memcpy(t->blocks, t->dims, sizeof t->blocks);
    t->blocks[t->axis] = (t->dims[t->axis] + t->block - 1) / t->block;
    bool fits = s->rank == x->rank && (t->bits == 4 || t->bits == 8);
    for (uint32_t d = 0; fits && d < x->rank; d++)
        fits = s->dims[d] == t->blocks[d];
    if (!fits || !x->data || !s->data || (z && !z->data))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "data, scales and zero points must be constant and fit each other");
    return QRN_OK;
}

// Quantized values of a constant, signed ones as they are, one a number.
static int32_t *quantized_of(ox_import *im, const ox_val *v, unsigned bits, size_t count) {
    int32_t *out = v->bytes * 8 / bits >= count ? ox_alloc(im, count * sizeof *out) : NULL;
    bool is_signed = v->type == OX_I4 || v->type == OX_I8;
    for (size_t i = 0; out && i < count; i++) {
        int32_t c = field(v->data, i, bits);
        out[i] = is_signed && c >> (bits - 1) ? c - (1 << bits) : c;
    }
    return out;
}

static qrn_status real_table(ox_import *im, const ox_node *n, const table *t, float **out) {
    const ox_val *x = ox_input(im, n, 0), *z = ox_input(im, n, 3);
    size_t count = 1, pairs = 1, inner = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        count *= t->dims[d];
        pairs *= t->blocks[d];
        inner *= d > t->axis ? t->dims[d] : 1;
    }
    const int32_t *quantized = quantized_of(im, x, t->bits, count);
    const int32_t *zeros = z ? quantized_of(im, z, t->bits, pairs) : NULL;
    const float *scales = ox_const_reals(im, n, 2);
    *out = ox_alloc(im, count * sizeof **out);
    if (!quantized || !scales || !*out || (z && !zeros))
        return ox_fail(im, n, QRN_E_SHAPE, "data, scales or zero points are too short");
    size_t length = t->dims[t->axis], per_axis = t->blocks[t->axis];
    int32_t middle = x->type == OX_U8 ? 1 << (t->bits - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = i / inner % length;
        size_t pair = (i / inner / length * per_axis + at / t->block) * inner + i % inner;
        (*out)[i] =
            (float)((double)(quantized[i] - (zeros ? zeros[pair] : middle)) * (double)scales[pair]);
    }
    return QRN_OK;
}

static qrn_status import_gather_block(ox_import *im, const ox_node *n) {
    const ox_val *index = ox_input(im, n, 1), *scales = ox_input(im, n, 2);
    table t;
    float *numbers = NULL;
    uint32_t dims[2 * OX_MAX_RANK], rank = 0;
    QRN_TRY(read_table(im, n, &t));
    QRN_TRY(real_table(im, n, &t, &numbers));
    if (t.rank + index->rank > OX_MAX_RANK + 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "its result has rank %u",
                       t.rank + index->rank - 1);
    for (uint32_t d = 0; d < t.gather_axis; d++)
        dims[rank++] = t.dims[d];
    for (uint32_t d = 0; d < index->rank; d++)
        dims[rank++] = index->dims[d];
    for (uint32_t d = t.gather_axis + 1; d < t.rank; d++)
        dims[rank++] = t.dims[d];
    qc_tensor like = {.t = QNN_TENSOR_INIT}, *i32, *y;
    like.t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    QRN_TRY(ox_set_output(im, n, 0, scales->type, rank, dims));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_INT_32, &i32));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y));
    ox_expr e = ox_begin(im, n);
    qc_tensor *rows =
        ox_gather(&e, ox_floats(&e, &like, t.rank, t.dims, numbers), i32, t.gather_axis);
    ox_into(&e, y);
    ox_reshape(&e, rows, y->rank, y->dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

// --- DynamicQuantizeLinear

static qc_tensor *number(ox_expr *e, double value) {
    qc_tensor *t = NULL;
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, QNN_DATATYPE_FLOAT_32, value, &t);
    return t;
}

// round(x / scale) + zero, cut to 0..255.
static qc_tensor *to_range(ox_expr *e, qc_tensor *x, qc_tensor *scale, qc_tensor *zero) {
    x = ox_unary(e, QNN_OP_ELEMENT_WISE_ROUND, ox_binary(e, DIV, x, scale));
    x = zero ? ox_binary(e, ADD, x, zero) : x;
    x = ox_with(e, QNN_OP_ELEMENT_WISE_MAXIMUM, x, 0);
    return ox_with(e, QNN_OP_ELEMENT_WISE_MINIMUM, x, 255);
}

static qrn_status write(ox_expr *e, uint32_t i, qc_tensor *x) {
    qc_tensor *y;
    QRN_TRY(ox_done(e));
    if (i >= e->n->n_out || !e->n->out[i][0])
        return QRN_OK;
    QRN_TRY(ox_out(e->im, e->n, i, OX_ONNX, &y));
    if (ox_type_of(y) == ox_type_of(x))
        return ox_emit_reshape(e->im, e->n, x, y);
    return ox_emit_cast(e->im, e->n, x, y);
}

static qrn_status import_dynamic(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    uint32_t axes[OX_MAX_RANK];
    const int types[] = {OX_U8, OX_F32, OX_U8};
    ox_leave_unit(im);
    for (uint32_t i = 0; i < 3 && i < n->n_out; i++)
        if (n->out[i][0])
            QRN_TRY(ox_set_output(im, n, i, types[i], i ? 0 : v->rank, v->dims));
    qc_tensor *x;
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &x));
    for (uint32_t d = 0; d < x->rank; d++)
        axes[d] = d;
    ox_expr e = ox_begin(im, n);
    qc_tensor *low = ox_reduce(&e, QNN_OP_REDUCE_MIN, x, axes, x->rank, false);
    qc_tensor *high = ox_reduce(&e, QNN_OP_REDUCE_MAX, x, axes, x->rank, false);
    low = ox_with(&e, QNN_OP_ELEMENT_WISE_MINIMUM, low, 0);
    high = ox_with(&e, QNN_OP_ELEMENT_WISE_MAXIMUM, high, 0);
    qc_tensor *scale = ox_with(&e, DIV, ox_binary(&e, SUB, high, low), 255);
    // All zeros: any scale will do.
    qc_tensor *some = ox_compare(&e, QNN_OP_ELEMENT_WISE_GREATER, scale, number(&e, 0));
    scale = ox_select(&e, some, scale, number(&e, 1));
    qc_tensor *zero = to_range(&e, ox_with(&e, MUL, low, -1), scale, NULL);
    QRN_TRY(write(&e, 0, to_range(&e, x, scale, zero)));
    QRN_TRY(write(&e, 1, scale));
    return write(&e, 2, zero);
}

const ox_importer ox_import_quant_block[] = {
    {"MatMulNBits", "com.microsoft", import_matmul_nbits},
    {"GatherBlockQuantized", "com.microsoft", import_gather_block},
    {"DynamicQuantizeLinear", "", import_dynamic},
    {0},
};
