// SPDX-License-Identifier: MIT
//
// Exact multiply-adds of small integers.
#include "frontend/onnx/import/exact.h"

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
