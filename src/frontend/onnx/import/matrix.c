// SPDX-License-Identifier: MIT
//
// Importers: determinants and inverses of small matrices, written out.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

#define MAX_ROWS 3

// Element (i, j) of matrices in the last two dimensions.
static qc_tensor *element(ox_expr *e, qc_tensor *x, uint32_t i, uint32_t j) {
    return x ? ox_slice(e, ox_slice(e, x, x->rank - 2, i, 1, 1), x->rank - 1, j, 1, 1) : NULL;
}

static qc_tensor *times(ox_expr *e, qc_tensor *a, qc_tensor *b) {
    return ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, a, b);
}

// Element (i, j) of the adjugate: the determinant of what is left without row j and column i, with
// the sign of its place.
static qc_tensor *adjugate(ox_expr *e, qc_tensor *x, uint32_t size, uint32_t i, uint32_t j) {
    uint32_t rows[2] = {0}, columns[2] = {0}, r = 0, c = 0;
    for (uint32_t k = 0; k < size; k++) {
        if (k != j)
            rows[r++ % 2] = k;
        if (k != i)
            columns[c++ % 2] = k;
    }
    qc_tensor *d = element(e, x, rows[0], columns[0]);
    if (size == 3) {
        qc_tensor *other =
            times(e, element(e, x, rows[0], columns[1]), element(e, x, rows[1], columns[0]));
        d = times(e, d, element(e, x, rows[1], columns[1]));
        d = ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, d, other);
    }
    return (i + j) % 2 ? ox_unary(e, QNN_OP_ELEMENT_WISE_NEG, d) : d;
}

// The sum of row 0 times column 0 of the adjugate.
static qc_tensor *determinant(ox_expr *e, qc_tensor *x, uint32_t size) {
    if (size == 1)
        return x;
    qc_tensor *sum = times(e, element(e, x, 0, 0), adjugate(e, x, size, 0, 0));
    for (uint32_t k = 1; k < size; k++)
        sum = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, sum,
                        times(e, element(e, x, 0, k), adjugate(e, x, size, k, 0)));
    return sum;
}

static qrn_status check_square(ox_import *im, const ox_node *n, uint32_t *size) {
    const ox_val *v = ox_input(im, n, 0);
    if (!v || v->rank < 2 || v->dims[v->rank - 1] != v->dims[v->rank - 2])
        return ox_fail(im, n, QRN_E_SHAPE, "square matrices are needed");
    *size = v->dims[v->rank - 1];
    if (*size <= MAX_ROWS)
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED,
                   "matrices of %u rows: QNN has no op for that, up to %d rows are written out",
                   *size, MAX_ROWS);
}

static qrn_status import_det(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    uint32_t size;
    QRN_TRY(check_square(im, n, &size));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank - 2, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, OX_ONNX), *y = ox_out_real(&e, 0, OX_ONNX);
    qc_tensor *d = determinant(&e, x, size);
    ox_into(&e, y);
    ox_reshape(&e, d, y ? y->rank : 0, y ? y->dims : NULL);
    return ox_end_real(&e, 0, OX_ONNX, y);
}

static qrn_status import_inverse(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    qc_tensor *rows[MAX_ROWS], *row[MAX_ROWS];
    uint32_t size;
    QRN_TRY(check_square(im, n, &size));
    QRN_TRY(ox_set_output(im, n, 0, v->type, v->rank, v->dims));
    ox_expr e = ox_begin(im, n);
    qc_tensor *x = ox_in_real(&e, 0, OX_ONNX), *y = ox_out_real(&e, 0, OX_ONNX);
    if (!x || !y)
        return e.s;
    if (size == 1) {
        ox_into(&e, y);
        ox_with(&e, QNN_OP_ELEMENT_WISE_POWER, x, -1);
        return ox_end_real(&e, 0, OX_ONNX, y);
    }
    for (uint32_t i = 0; i < size; i++) {
        for (uint32_t j = 0; j < size; j++)
            row[j] = adjugate(&e, x, size, i, j);
        rows[i] = ox_concat(&e, row, size, x->rank - 1);
    }
    qc_tensor *all = ox_concat(&e, rows, size, x->rank - 2), *d = determinant(&e, x, size);
    ox_into(&e, y);
    ox_binary(&e, QNN_OP_ELEMENT_WISE_DIVIDE, all, d);
    return ox_end_real(&e, 0, OX_ONNX, y);
}

const ox_importer ox_import_matrix[] = {
    {"Det", "", import_det},
    {"Inverse", "com.microsoft", import_inverse},
    {0},
};
