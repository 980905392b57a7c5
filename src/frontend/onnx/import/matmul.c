// SPDX-License-Identifier: MIT
//
// Importers: matmuls. A constant matrix becomes the weight of FullyConnected.
#include "frontend/onnx/import/matmul.h"

#include "base/mem.h"
#include "frontend/onnx/emit/filter.h"
#include "frontend/onnx/import/activation.h"
#include "frontend/onnx/import/exact.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/import/weight_only.h"
#include "frontend/onnx/import/window.h"

#include <math.h>
#include <string.h>

#define MAX_PRODUCTS (1u << 26) // of an element-wise integer product

bool ox_is_integer(int type) {
    return type == OX_I32 || type == OX_U32 || type == OX_I64 || type == OX_U64;
}

static bool is_constant(const ox_val *v) {
    return v && (v->data || (v->quantized && v->quantized->data));
}

// --- matmuls

qc_tensor *ox_matmul_ints(ox_expr *e, qc_tensor *a, qc_tensor *b) {
    uint32_t da[OX_MAX_RANK + 1], db[OX_MAX_RANK + 1];
    if (!a || !b)
        return NULL;
    uint64_t products = (uint64_t)qc_tensor_count(a) * b->dims[b->rank - 1];
    if (a->rank >= OX_MAX_RANK || b->rank >= OX_MAX_RANK || products > MAX_PRODUCTS) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                       "an integer matmul of this size; cast its operands to float");
        return NULL;
    }
    memcpy(da, a->dims, sizeof a->dims);
    da[a->rank] = 1;
    memcpy(db, b->dims, sizeof b->dims);
    memmove(db + b->rank - 1, db + b->rank - 2, 2 * sizeof *db);
    db[b->rank - 2] = 1;
    a = ox_reshape(e, a, a->rank + 1, da);
    b = ox_reshape(e, b, b->rank + 1, db);
    qc_tensor *all = ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, a, b);
    uint32_t axis = all ? all->rank - 2 : 0;
    return ox_reduce(e, QNN_OP_REDUCE_SUM, all, &axis, 1, false);
}

void ox_fully_connected(ox_expr *e, const qc_tensor *x, const qc_tensor *weight,
                        const qc_tensor *bias, const qc_tensor *y) {
    if (e->s != QRN_OK || !x || !weight || !y)
        return;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_FULLY_CONNECTED);
    qc_in(&o, x);
    qc_in(&o, weight);
    if (bias)
        qc_in(&o, bias);
    qc_out(&o, y);
    ox_end(e, &o);
}

// --- MatMul

// Shape of the result as numpy has it; `wide` with the 1s of operands of rank 1.
typedef struct shape {
    uint32_t rank, dims[OX_MAX_RANK];
} shape;

static qrn_status product_dims(ox_import *im, const ox_node *n, const ox_val *a, const ox_val *b,
                               shape *wide, shape *out) {
    uint32_t ra = a->rank < 2 ? 2 : a->rank, rb = b->rank < 2 ? 2 : b->rank;
    if (a->rank == 0 || b->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "an operand is a single number");
    uint32_t ka = a->dims[a->rank - 1], kb = b->dims[b->rank < 2 ? 0 : b->rank - 2];
    if (ka != kb)
        return ox_fail(im, n, QRN_E_SHAPE, "contracted dimensions are %u and %u", ka, kb);
    wide->rank = ra > rb ? ra : rb;
    for (uint32_t i = 0; i + 2 < wide->rank; i++) {
        uint32_t x = i + ra < wide->rank ? 1 : a->dims[i + ra - wide->rank];
        uint32_t y = i + rb < wide->rank ? 1 : b->dims[i + rb - wide->rank];
        if (x != y && x != 1 && y != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "dimension %u: %u and %u cannot be broadcast", i, x,
                           y);
        wide->dims[i] = x > y ? x : y;
    }
    wide->dims[wide->rank - 2] = a->rank < 2 ? 1 : a->dims[a->rank - 2];
    wide->dims[wide->rank - 1] = b->rank < 2 ? 1 : b->dims[b->rank - 1];
    out->rank = 0;
    for (uint32_t i = 0; i < wide->rank; i++)
        if (!(i + 2 == wide->rank && a->rank < 2) && !(i + 1 == wide->rank && b->rank < 2))
            out->dims[out->rank++] = wide->dims[i];
    return QRN_OK;
}

// Any operand as one matrix.
static qc_tensor *as_rows(ox_expr *e, qc_tensor *x) {
    if (!x || x->rank == 2)
        return x;
    uint32_t depth = x->dims[x->rank - 1];
    return ox_reshape(e, x, 2, (const uint32_t[]){(uint32_t)(qc_tensor_count(x) / depth), depth});
}

// An operand of rank 1 as a matrix.
static qc_tensor *as_matrix(ox_expr *e, qc_tensor *x, bool row) {
    if (!x || x->rank >= 2)
        return x;
    return ox_reshape(e, x, 2, (const uint32_t[]){row ? 1 : x->dims[0], row ? x->dims[0] : 1});
}

static qrn_status import_matmul_ints(ox_import *im, const ox_node *n) {
    ox_expr e = ox_begin(im, n);
    qc_tensor *a = NULL, *b = NULL, *y = NULL;
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_INT_32, &a));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_INT_32, &b));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_INT_32, &y));
    qc_tensor *sum = ox_matmul_ints(&e, as_matrix(&e, a, true), as_matrix(&e, b, false));
    ox_into(&e, y);
    ox_reshape(&e, sum, y->rank, y->dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

// The weight [N, K] of a constant second operand of rank 1 or 2.
static qc_tensor *weight_of(ox_expr *e, bool real) {
    const ox_val *b = ox_input(e->im, e->n, 1);
    if (b->rank == 1)
        return ox_filter(e, 1, (const uint32_t[]){0}, 2, real);
    return ox_filter(e, 1, (const uint32_t[]){1, 0}, 2, real);
}

// The second operand in its own order.
static qc_tensor *plain_filter(ox_expr *e, bool real) {
    const uint32_t perm[OX_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return ox_filter(e, 1, perm, 0, real);
}

static bool matmul_taken(ox_expr *e, const qc_tensor *a, const qc_tensor *b, const qc_tensor *y) {
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_MAT_MUL);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, y);
    return ox_taken(e, &o);
}

// The second factor as the backend supports it. An HTP multiplies 16-bit quantized values by 16-bit
// ones without an offset, or by 8-bit ones where it is older: the best of these that it supports.
static qc_tensor *second_factor(ox_expr *e, const qc_tensor *a, qc_tensor *b, const qc_tensor *y) {
    if (!a || !b || !y || b->t.v1.dataType != QNN_DATATYPE_UFIXED_POINT_16 ||
        b->t.v1.quantizeParams.quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET ||
        matmul_taken(e, a, b, y))
        return b;
    qc_tensor like = *b;
    Qnn_ScaleOffset_t *to = &like.t.v1.quantizeParams.scaleOffsetEncoding, from = *to;
    double low = -(double)from.offset, high = 65535.0 + (double)from.offset;
    double reach = (low > high ? low : high) / 0x7f7f; // the largest value that an HTP supports
    like.t.v1.dataType = QNN_DATATYPE_SFIXED_POINT_16;
    *to = (Qnn_ScaleOffset_t){(float)((double)from.scale * (reach > 1 ? reach : 1)), 0};
    if (matmul_taken(e, a, &like, y))
        return ox_convert(e, b, &like);
    like.t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    *to = (Qnn_ScaleOffset_t){from.scale * 257.0f, (int32_t)lrint((double)from.offset / 257.0)};
    return matmul_taken(e, a, &like, y) ? ox_convert(e, b, &like) : b;
}

// The first factor beside a 16-bit second one and a 16-bit result: no HTP multiplies 8 bits by 16.
// Every value of 8 bits is 256 steps of the wider encoding, so that nothing is rounded.
static qc_tensor *first_factor(ox_expr *e, qc_tensor *a, const qc_tensor *b, const qc_tensor *y) {
    if (!a || !b || !y || a->t.v1.dataType != QNN_DATATYPE_UFIXED_POINT_8 ||
        b->t.v1.dataType != QNN_DATATYPE_UFIXED_POINT_16 ||
        y->t.v1.dataType != QNN_DATATYPE_UFIXED_POINT_16 ||
        a->t.v1.quantizeParams.quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET ||
        matmul_taken(e, a, b, y))
        return a;
    qc_tensor like = *a;
    Qnn_ScaleOffset_t *to = &like.t.v1.quantizeParams.scaleOffsetEncoding;
    like.t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_16;
    *to = (Qnn_ScaleOffset_t){to->scale / 256, to->offset * 256};
    return ox_convert(e, a, &like);
}

// FullyConnected of the rows of a. A third input is a bias: patterns give it where a constant row
// is added to the result.
static void emit_dense(ox_expr *e, qc_tensor *a, bool real, qc_tensor *product) {
    qc_tensor *x = as_rows(e, a), *weight = weight_of(e, real);
    qc_tensor *bias = weight ? ox_bias(e, 2, x, weight, weight->dims[0]) : NULL;
    ox_fully_connected(e, x, weight, bias, product);
}

// a times weights that stay quantized. False: they do not, and nothing was emitted.
static bool matmul_quantized(ox_expr *e, qc_tensor *a, qc_tensor *y) {
    ox_weight_only m = {.w = ox_weights_of(e, 1)};
    float *bias = NULL;
    if (!m.w || e->s != QRN_OK)
        return false;
    e->s = ox_real_numbers(e->im, e->n, 2, &bias);
    m.bias = bias;
    bool constant = bias || !ox_input(e->im, e->n, 2);
    bool done = constant && ox_multiply_quantized(e, &m, a, y);
    qrn_free(bias);
    return done;
}

// In a quantized unit by weights in blocks, which are no filter of fixed point elsewhere: does the
// backend support that?
static bool fits_blocks(ox_expr *e, bool rows) {
    ox_weight_only m = {.w = ox_weights_of(e, 1), .rows = rows};
    Qnn_DataType_t type;
    if (!ox_is_quantized(e->im, e->n) || !m.w || !m.w->enc->block || e->s != QRN_OK)
        return false;
    e->s = ox_out_type(e->im, e->n, 0, &type);
    return ox_multiplies_fixed(e, &m, ox_fixed_in(e, 0, OX_ONNX), type);
}

static qrn_status import_matmul(ox_import *im, const ox_node *n) {
    const ox_val *va = ox_input(im, n, 0), *vb = ox_input(im, n, 1);
    shape wide, out;
    if (!va || !vb)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "two inputs are needed");
    QRN_TRY(product_dims(im, n, va, vb, &wide, &out));
    QRN_TRY(ox_set_output(im, n, 0, va->type, out.rank, out.dims));
    if (ox_is_integer(va->type))
        return import_matmul_ints(im, n);
    ox_expr e = ox_begin(im, n);
    bool real =
        !ox_is_quantized(im, n) || (is_constant(vb) && !ox_filter_fits(&e, 1, vb->rank - 1));
    // A constant vector, or one matrix for one matrix or with a bias; several matrices are
    // multiplied by MatMul.
    bool weight = is_constant(vb) &&
                  (vb->rank == 1 || (vb->rank == 2 && (va->rank <= 2 || ox_input(im, n, 2))));
    if (fits_blocks(&e, false))
        real = false;
    QRN_TRY(e.s);
    bool blocks = !real && is_constant(vb) && !ox_filter_fits(&e, 1, vb->rank - 1);
    qc_tensor *a = real ? ox_in_real(&e, 0, OX_ONNX) : ox_fixed_in(&e, 0, OX_ONNX);
    qc_tensor *y = real ? ox_out_real(&e, 0, OX_ONNX) : ox_fixed_out(&e, 0, OX_ONNX);
    if (a && y && (real || blocks) && matmul_quantized(&e, a, y))
        return real ? ox_end_real(&e, 0, OX_ONNX, y) : ox_fixed_end(&e, 0, OX_ONNX, y);
    if (!a || !y || e.s != QRN_OK)
        return e.s;
    if (real && ox_weights_of(&e, 1))
        ox_note_expanded(&e);
    qc_tensor *product = y;
    if (weight) // rows x columns
        wide = (shape){
            2,
            {(uint32_t)(qc_tensor_count(y) / wide.dims[wide.rank - 1]), wide.dims[wide.rank - 1]}};
    if (out.rank != wide.rank || memcmp(y->dims, wide.dims, wide.rank * sizeof *wide.dims) != 0)
        product = ox_result_like(&e, y, wide.rank, wide.dims);
    if (weight) {
        emit_dense(&e, a, real, product);
    } else {
        qc_tensor *b = plain_filter(&e, real);
        b = as_matrix(&e, b, false);
        a = first_factor(&e, as_matrix(&e, a, true), b, product);
        b = second_factor(&e, a, b, product);
        ox_into(&e, product);
        ox_matmul(&e, a, b, false, false);
    }
    if (product != y) {
        ox_into(&e, y);
        ox_reshape(&e, product, y->rank, y->dims);
    }
    return real ? ox_end_real(&e, 0, OX_ONNX, y) : ox_fixed_end(&e, 0, OX_ONNX, y);
}

// --- FusedMatMul

// The first dimension moved behind the other leading ones.
static qc_tensor *batch_moved(ox_expr *e, qc_tensor *x, bool move) {
    uint32_t perm[OX_MAX_RANK];
    if (!x || !move || x->rank < 3)
        return x;
    for (uint32_t i = 0; i < x->rank; i++)
        perm[i] = i + 2 < x->rank ? i + 1 : i + 2 == x->rank ? 0 : i;
    return ox_transpose(e, x, perm);
}

static qrn_status import_fused_matmul(ox_import *im, const ox_node *n) {
    const ox_val *va = ox_input(im, n, 0), *vb = ox_input(im, n, 1);
    bool ta = ox_attr_int(n, "transA", 0) != 0, tb = ox_attr_int(n, "transB", 0) != 0;
    float alpha = ox_attr_float(n, "alpha", 1);
    shape wide, out;
    if (!va || !vb)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "two inputs are needed");
    ox_expr e = ox_begin(im, n);
    qc_tensor *a = batch_moved(&e, ox_in_real(&e, 0, OX_ONNX), ox_attr_int(n, "transBatchA", 0));
    qc_tensor *b = batch_moved(&e, ox_in_real(&e, 1, OX_ONNX), ox_attr_int(n, "transBatchB", 0));
    if (!a || !b)
        return e.s;
    // Shapes as they are multiplied; operands of rank 1 are never transposed.
    ox_val sa = {.rank = a->rank}, sb = {.rank = b->rank};
    ta = ta && a->rank > 1;
    tb = tb && b->rank > 1;
    for (uint32_t i = 0; i < a->rank; i++)
        sa.dims[ta && i + 2 >= a->rank ? 2 * a->rank - 3 - i : i] = a->dims[i];
    for (uint32_t i = 0; i < b->rank; i++)
        sb.dims[tb && i + 2 >= b->rank ? 2 * b->rank - 3 - i : i] = b->dims[i];
    QRN_TRY(product_dims(im, n, &sa, &sb, &wide, &out));
    QRN_TRY(ox_set_output(im, n, 0, va->type, out.rank, out.dims));
    qc_tensor *y = ox_out_real(&e, 0, OX_ONNX);
    qc_tensor *p = ox_matmul(&e, as_matrix(&e, a, true), as_matrix(&e, b, false), ta, tb);
    if (alpha != 1)
        p = ox_with(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, p, (double)alpha);
    ox_into(&e, y);
    ox_reshape(&e, p, y ? y->rank : 0, y ? y->dims : NULL);
    return ox_end_real(&e, 0, OX_ONNX, y);
}

// --- Gemm

typedef struct gemm {
    bool ta, tb;
    double alpha, beta;
    uint32_t m, k, n;
} gemm;

static qrn_status read_gemm(ox_import *im, const ox_node *n, gemm *g) {
    const ox_val *a = ox_input(im, n, 0), *b = ox_input(im, n, 1), *c = ox_input(im, n, 2);
    if (!a || !b || a->rank != 2 || b->rank != 2)
        return ox_fail(im, n, QRN_E_SHAPE, "two matrices are needed");
    *g = (gemm){.ta = ox_attr_int(n, "transA", 0) != 0,
                .tb = ox_attr_int(n, "transB", 0) != 0,
                .alpha = (double)ox_attr_float(n, "alpha", 1),
                .beta = (double)ox_attr_float(n, "beta", 1)};
    g->m = a->dims[g->ta];
    g->k = a->dims[!g->ta];
    g->n = b->dims[!g->tb];
    if (b->dims[g->tb] != g->k)
        return ox_fail(im, n, QRN_E_SHAPE, "contracted dimensions are %u and %u", g->k,
                       b->dims[g->tb]);
    uint32_t rows = c && c->rank == 2 ? c->dims[0] : 1;
    uint32_t columns = c && c->rank ? c->dims[c->rank - 1] : 1;
    if (c && (c->rank > 2 || (rows != 1 && rows != g->m) || (columns != 1 && columns != g->n)))
        return ox_fail(im, n, QRN_E_SHAPE, "C cannot be broadcast to [%u, %u]", g->m, g->n);
    return ox_set_output(im, n, 0, a->type, 2, (const uint32_t[]){g->m, g->n});
}

// Is C a constant row (or number), fit to be a bias?
static bool is_row(const ox_val *c) { return is_constant(c) && (c->rank < 2 || c->dims[0] == 1); }

// beta * C as N numbers, freed by the caller; NULL: there is no C.
static float *row_of(ox_expr *e, const gemm *g) {
    const ox_val *c = ox_input(e->im, e->n, 2);
    float *values = NULL;
    if (!c || e->s != QRN_OK)
        return NULL;
    e->s = ox_real_numbers(e->im, e->n, 2, &values);
    float *row = values ? qrn_alloc(g->n * sizeof *row) : NULL;
    bool single = c->rank == 0 || c->dims[c->rank - 1] == 1;
    for (uint32_t i = 0; row && i < g->n; i++)
        row[i] = (float)((double)values[single ? 0 : i] * g->beta);
    if (e->s == QRN_OK && !row)
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
    qrn_free(values);
    return row;
}

static qc_tensor *gemm_a(ox_expr *e, const gemm *g, qc_tensor *a) {
    return g->ta ? ox_transpose(e, a, (const uint32_t[]){1, 0}) : a;
}

// a times the constant matrix, and row.
static void gemm_rows(ox_expr *e, const gemm *g, qc_tensor *a, bool real, const float *row,
                      qc_tensor *y) {
    const uint32_t perm[] = {g->tb ? 0 : 1, g->tb ? 1 : 0};
    bool kept = real || !ox_filter_fits(e, 1, g->tb ? 0 : 1);
    ox_weight_only m = {.w = kept ? ox_weights_of(e, 1) : NULL, .rows = g->tb, .bias = row};
    if (m.w && ox_multiply_quantized(e, &m, a, y))
        return;
    if (m.w)
        ox_note_expanded(e);
    qc_tensor *weight = ox_filter(e, 1, perm, 2, real);
    qc_tensor *bias = row ? ox_bias_of(e, row, a, weight, g->n) : NULL;
    ox_fully_connected(e, a, weight, bias, y);
}

// FullyConnected with the bias inside.
static qrn_status gemm_dense(ox_import *im, const ox_node *n, const gemm *g, bool real) {
    ox_expr e = ox_begin(im, n);
    qc_tensor *a = real ? ox_in_real(&e, 0, OX_ONNX) : ox_fixed_in(&e, 0, OX_ONNX);
    a = gemm_a(&e, g, a);
    qc_tensor *y = real ? ox_out_real(&e, 0, OX_ONNX) : ox_fixed_out(&e, 0, OX_ONNX);
    qc_tensor *sum = y;
    bool active = ox_attr_string(n, "activation", "")[0] != '\0';
    if (y && active)
        sum = ox_result_like(&e, y, y->rank, y->dims);
    float *row = row_of(&e, g);
    gemm_rows(&e, g, a, real, row, sum);
    qrn_free(row);
    if (active) {
        ox_into(&e, y);
        ox_activate(&e, sum);
    }
    return real ? ox_end_real(&e, 0, OX_ONNX, y) : ox_fixed_end(&e, 0, OX_ONNX, y);
}

// Product, alpha, beta and C as separate ops.
static qrn_status gemm_parts(ox_import *im, const ox_node *n, const gemm *g) {
    ox_expr e = ox_begin(im, n);
    bool ints = ox_is_integer(ox_input(im, n, 0)->type), any = ox_input(im, n, 2) != NULL;
    Qnn_DataType_t type = ints ? QNN_DATATYPE_INT_32 : ox_real_type(&e);
    qc_tensor *a, *b, *c = NULL, *y;
    if (ints && (g->alpha != (double)(int)g->alpha || g->beta != (double)(int)g->beta))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "integers with a fractional alpha or beta");
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, type, &a));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, type, &b));
    if (any)
        QRN_TRY(ox_in_as(im, n, 2, OX_ONNX, type, &c));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, type, &y));
    if (ints)
        b = g->tb ? ox_transpose(&e, b, (const uint32_t[]){1, 0}) : b;
    qc_tensor *sum =
        ints ? ox_matmul_ints(&e, gemm_a(&e, g, a), b) : ox_matmul(&e, a, b, g->ta, g->tb);
    if (g->alpha != 1)
        sum = ox_with(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, sum, g->alpha);
    if (c && g->beta != 1)
        c = ox_with(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, c, g->beta);
    if (c)
        sum = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, sum, c);
    ox_into(&e, y);
    ox_activate(&e, sum);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

static qrn_status import_gemm(ox_import *im, const ox_node *n) {
    const ox_val *b = ox_input(im, n, 1), *c = ox_input(im, n, 2);
    gemm g = {0};
    QRN_TRY(read_gemm(im, n, &g));
    ox_expr e = ox_begin(im, n);
    bool dense = is_constant(b) && !ox_is_integer(b->type) && g.alpha == 1 && (!c || is_row(c));
    if (dense)
        return gemm_dense(im, n, &g,
                          !ox_filter_fits(&e, 1, g.tb ? 0 : 1) && !fits_blocks(&e, g.tb));
    return gemm_parts(im, n, &g);
}

// --- MatMulInteger

static qc_tensor *matmul_part(ox_expr *e, const void *ctx, qc_tensor *a, qc_tensor *b) {
    (void)ctx;
    return ox_matmul(e, a, b, false, false);
}

static qrn_status import_matmul_integer(ox_import *im, const ox_node *n) {
    const ox_val *va = ox_input(im, n, 0), *vb = ox_input(im, n, 1);
    shape wide, out;
    if (!va || !vb)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "two inputs are needed");
    QRN_TRY(product_dims(im, n, va, vb, &wide, &out));
    QRN_TRY(ox_set_output(im, n, 0, OX_I32, out.rank, out.dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *y = NULL, *sum = NULL;
    if (!ox_bytes_product(&e, wide.rank, wide.dims, &sum)) {
        qc_tensor *a = ox_in_minus(&e, 0, OX_ONNX, 2, va->rank < 2 ? 0 : va->rank - 2);
        qc_tensor *b = ox_in_minus(&e, 1, OX_ONNX, 3, vb->rank - 1);
        sum = ox_exact_product(&e, as_matrix(&e, a, true), as_matrix(&e, b, false),
                               va->dims[va->rank - 1], matmul_part, NULL);
    }
    if (e.s == QRN_OK)
        e.s = ox_out(im, n, 0, OX_ONNX, &y);
    ox_into(&e, y);
    ox_reshape(&e, sum, y ? y->rank : 0, y ? y->dims : NULL);
    return ox_done(&e);
}

const ox_importer ox_import_matmul[] = {
    {"MatMul", "", import_matmul},
    {"MatMulBias", OX_OWN_DOMAIN, import_matmul},
    {"Gemm", "", import_gemm},
    {"MatMulInteger", "", import_matmul_integer},
    {"FusedMatMul", "com.microsoft", import_fused_matmul},
    {"TransposeMatMul", "com.microsoft", import_fused_matmul},
    {"FusedGemm", "com.microsoft", import_gemm},
    {0},
};
