// SPDX-License-Identifier: MIT
//
// Importers: weights that are quantized in blocks, and quantization with a range found at run time.
// Block-quantized weights of a matmul stay 4 (or 8) bits wide, with a block encoding.
#include "frontend/onnx/emit/weights.h"
#include "frontend/onnx/import/matmul.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/weight_only.h"

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
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "g_idx, which gives weights of one block different scales, is not "
                       "supported; quantize without reordering (no act-order or desc_act)");
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

// Zero points as integers; *whole: they are, or can be.
static int32_t *whole_zeros(ox_import *im, const blocks *b, bool *whole) {
    size_t pairs = (size_t)b->n * b->per_row;
    int32_t *zeros = ox_alloc(im, pairs * sizeof *zeros);
    *whole = true;
    for (size_t i = 0; zeros && i < pairs && *whole; i++) {
        double z = zero_at(b, (uint32_t)(i / b->per_row), (uint32_t)(i % b->per_row));
        *whole = z >= INT16_MIN && z <= INT16_MAX && z == (double)(int32_t)z;
        zeros[i] = *whole ? (int32_t)z : 0;
    }
    return zeros;
}

// [N, K] packed as ONNX's own types are; what ends in a whole block is so already. 2 bits are kept
// as 4.
static const void *packed_rows(ox_import *im, const blocks *b) {
    size_t count = (size_t)b->n * b->k;
    if (b->k % b->block == 0 && b->bits > 2)
        return b->quantized;
    uint8_t *out = ox_alloc(im, b->bits == 8 ? count : (count + 1) / 2);
    for (size_t i = 0; out && i < count; i++) {
        uint8_t q = quantized_at(b, (uint32_t)(i / b->k), (uint32_t)(i % b->k));
        if (b->bits == 8)
            out[i] = q;
        else
            out[i / 2] |= (uint8_t)(q << (i % 2 * 4));
    }
    return out;
}

// The weights as a constant that DequantizeLinear could have read.
static qrn_status block_weights(ox_import *im, const ox_node *n, const blocks *b, ox_val **out) {
    ox_val *v = ox_alloc(im, sizeof *v);
    ox_enc *e = ox_alloc(im, sizeof *e);
    bool whole;
    int32_t *zeros = whole_zeros(im, b, &whole);
    const void *data = packed_rows(im, b);
    *out = NULL;
    if (!v || !e || !zeros || !data)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    if (!whole)
        return QRN_OK;
    *e = (ox_enc){
        .n = b->n * b->per_row, .axis = 1, .block = b->block, .scales = b->scales, .zeros = zeros};
    *v = (ox_val){.name = n->in[1],
                  .type = b->bits == 8 ? OX_U8 : OX_U4,
                  .rank = 2,
                  .dims = {b->n, b->k},
                  .known = true,
                  .data = data,
                  .enc = e};
    *out = v;
    return ox_positive_scales(im, v);
}

// The same as floats, where zero points are no integers or the backend has no such weights.
static qc_tensor *float_weights(ox_expr *e, const blocks *b, qc_tensor *like) {
    uint32_t dims[] = {b->n, b->k};
    float *w = ox_alloc(e->im, (size_t)b->n * b->k * sizeof *w);
    if (!w) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (uint32_t r = 0; r < b->n; r++)
        for (uint32_t c = 0; c < b->k; c++)
            w[(size_t)r * b->k + c] =
                (float)((quantized_at(b, r, c) - zero_at(b, r, c / b->block)) *
                        (double)b->scales[(size_t)r * b->per_row + c / b->block]);
    return ox_floats(e, like, 2, dims, w);
}

static void multiply_floats(ox_expr *e, const blocks *b, qc_tensor *x, const float *bias,
                            qc_tensor *y) {
    if (!x || !y)
        return;
    uint32_t rows[] = {(uint32_t)(qc_tensor_count(x) / b->k), b->k};
    x = ox_reshape(e, x, 2, rows);
    qc_tensor *w = x ? float_weights(e, b, x) : NULL;
    rows[1] = b->n;
    qc_tensor *product = x ? ox_result_like(e, x, 2, rows) : NULL;
    ox_fully_connected(e, x, w, bias && x ? ox_floats(e, x, 1, &b->n, bias) : NULL, product);
    ox_into(e, y);
    ox_reshape(e, product, y->rank, y->dims);
}

static qrn_status import_matmul_nbits(ox_import *im, const ox_node *n) {
    const ox_val *a = ox_input(im, n, 0), *c = ox_input(im, n, 5);
    blocks b;
    uint32_t dims[OX_MAX_RANK];
    QRN_TRY(read_blocks(im, n, &b));
    if (a->rank == 0 || a->dims[a->rank - 1] != b.k || (c && (c->rank != 1 || c->dims[0] != b.n)))
        return ox_fail(im, n, QRN_E_SHAPE, "A or bias does not fit the weights");
    ox_weight_only m = {.rows = true, .bias = c ? ox_const_reals(im, n, 5) : NULL};
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = b.n;
    QRN_TRY(ox_set_output(im, n, 0, a->type, a->rank, dims));
    QRN_TRY(block_weights(im, n, &b, &m.w));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, OX_ONNX), *y = ox_out_real(&e, 0, OX_ONNX), *product = y;
    if (y && c && !m.bias) // a bias that is computed is added by an op of its own
        product = ox_result_like(&e, y, y->rank, y->dims);
    if (!m.w)
        ox_note(im, n, "have their weights expanded to floats", "zero points are not integers");
    if (!m.w || !ox_multiply_quantized(&e, &m, x, product)) {
        if (m.w)
            ox_note_expanded(&e);
        multiply_floats(&e, &b, x, m.bias, product);
    }
    if (product != y) {
        ox_into(&e, y);
        ox_binary(&e, ADD, product, ox_in_real(&e, 5, OX_ONNX));
    }
    return ox_end_real(&e, 0, OX_ONNX, y);
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
    ox_note(im, n, "have their weights expanded to floats",
            "QNN gathers rows of one scale, not rows in blocks");
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
