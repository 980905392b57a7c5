// SPDX-License-Identifier: MIT
//
// Importers: operations on the bits of integers, which QNN does not have. Shifts are products and
// quotients with powers of two; a AND b is looked up, six bits of each operand at a time, and
// a OR b = a + b - (a AND b), a XOR b = a + b - 2 (a AND b). Everything is exact modulo 2^32.
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/import/table.h"

#include "CPU/QnnCpuCommon.h"

#include <string.h>

static qrn_status begin(ox_import *im, const ox_node *n, uint32_t count, ox_expr *e) {
    QRN_TRY(ox_need(im, n, count));
    const ox_val *v = ox_input(im, n, 0);
    if (ox_is_float(v) || v->type == OX_BOOL)
        return ox_fail(im, n, QRN_E_DTYPE, "type %s, expected an integer type",
                       ox_type_name(v->type));
    Qnn_DataType_t type;
    QRN_TRY(ox_fits_32(im, n));
    QRN_TRY(ox_arithmetic_type(im, n, v, &type));
    QRN_TRY(ox_broadcast_shape(im, n, count, v->type));
    return ox_begin_formula(e, im, n, QNN_DATATYPE_INT_32);
}

// x >> y of signed numbers is a floored quotient. Counts that are negative or too large leave the
// sign; 2^31 does not fit, so the last bit is shifted on its own.
static qrn_status signed_right(ox_expr *e) {
    qc_tensor *x = ox_operand(e, 0), *two = ox_constant(e, 2);
    e->dtype = QNN_DATATYPE_UINT_32;
    qc_tensor *y = ox_binary_op(e, QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MINIMUM, ox_operand(e, 1),
                                ox_constant(e, 31));
    e->dtype = QNN_DATATYPE_INT_32;
    y = ox_as(e, y, e->dtype);
    qc_tensor *most = ox_with(e, QNN_OP_ELEMENT_WISE_MINIMUM, y, 30);
    qc_tensor *rest = ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, y, most);
    x = ox_binary(e, QNN_OP_ELEMENT_WISE_FLOOR_DIV, x,
                  ox_binary(e, QNN_OP_ELEMENT_WISE_POWER, two, most));
    qc_tensor *last = ox_binary(e, QNN_OP_ELEMENT_WISE_POWER, two, rest);
    ox_to_output(e);
    return ox_end_formula(e, ox_binary(e, QNN_OP_ELEMENT_WISE_FLOOR_DIV, x, last));
}

// Products and quotients with 2^y in unsigned 32 bits. Powers above the width wrap to 0, and so do
// products and quotients with them.
static qrn_status import_shift(ox_import *im, const ox_node *n) {
    const char *direction = ox_attr_string(n, "direction", "");
    bool left = strcmp(direction, "LEFT") == 0;
    ox_expr e;
    if (!left && strcmp(direction, "RIGHT") != 0)
        return ox_fail(im, n, QRN_E_PARAM, "direction '%s', expected LEFT or RIGHT", direction);
    QRN_TRY(begin(im, n, 2, &e));
    if (!left && !ox_is_unsigned(ox_input(im, n, 0)))
        return signed_right(&e);
    e.dtype = QNN_DATATYPE_UINT_32;
    qc_tensor *x = ox_operand(&e, 0), *by = ox_operand(&e, 1), *two = ox_constant(&e, 2);
    qc_tensor *power = ox_binary_op(&e, QNN_OP_ELEMENT_WISE_BINARY_OPERATION_POWER, two, by);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary_op(&e,
                                           left ? QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MULTIPLY
                                                : QNN_OP_ELEMENT_WISE_BINARY_OPERATION_DIVIDE,
                                           x, power));
}

// ~x = -1 - x
static qrn_status import_not(ox_import *im, const ox_node *n) {
    ox_expr e;
    QRN_TRY(begin(im, n, 1, &e));
    qc_tensor *x = ox_operand(&e, 0), *ones = ox_constant(&e, -1);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, ones, x));
}

#define CHUNK 6u
#define BASE (1u << CHUNK)

// table[a * BASE + b] = a AND b
static qc_tensor *and_table(ox_expr *e) {
    uint32_t dims[] = {BASE * BASE};
    int32_t *table = ox_alloc(e->im, dims[0] * sizeof *table);
    if (!table && e->s == QRN_OK)
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
    for (uint32_t i = 0; table && i < dims[0]; i++)
        table[i] = (int32_t)((i / BASE) & (i % BASE));
    return ox_ints(e, 1, dims, table);
}

// a AND b for chunks below BASE.
static qc_tensor *look_up(ox_expr *e, qc_tensor *table, qc_tensor *a, qc_tensor *b) {
    qc_tensor *row = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, a, BASE);
    return ox_gather(e, table, ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, row, b), 0);
}

// a without its low bits: (a - low) / size, which is exact. The HTP has no FloorDiv of integers.
static qc_tensor *without(ox_expr *e, qc_tensor *a, qc_tensor *low, qc_tensor *size) {
    qc_tensor *high = ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, a, low);
    return ox_binary(e, QNN_OP_ELEMENT_WISE_DIVIDE, high, size);
}

// The sum over chunks of (a AND b) << position. Mod is the low bits of two's complement.
static qc_tensor *bit_and(ox_expr *e, qc_tensor *a, qc_tensor *b, unsigned bits) {
    qc_tensor *table = and_table(e), *sum = NULL;
    for (unsigned at = 0; at < bits; at += CHUNK) {
        unsigned left = bits - at, take = left < CHUNK ? left : CHUNK;
        qc_tensor *size = ox_constant(e, 1u << take);
        qc_tensor *x = ox_binary(e, QNN_OP_ELEMENT_WISE_MOD, a, size);
        qc_tensor *y = ox_binary(e, QNN_OP_ELEMENT_WISE_MOD, b, size);
        qc_tensor *chunk = look_up(e, table, x, y);
        if (at > 0)
            chunk = ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, chunk,
                              ox_constant(e, (double)(1u << at)));
        sum = sum ? ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, sum, chunk) : chunk;
        if (take == left)
            break;
        a = without(e, a, x, size);
        b = without(e, b, y, size);
    }
    return sum;
}

static qrn_status import_bitwise(ox_import *im, const ox_node *n) {
    ox_expr e;
    QRN_TRY(begin(im, n, 2, &e));
    // Where all 32 bits cost no more than some of them (compiler pass "bits") it is all of them.
    bool all = im->graph->client->backend_id == QNN_BACKEND_ID_CPU;
    unsigned bits = all ? 32 : ox_type_bits(ox_input(im, n, 0)->type);
    uint32_t second = ox_input(im, n, 0)->data ? 0 : 1; // a constant: the parts of b are folded
    qc_tensor *a = ox_operand(&e, 1 - second), *b = ox_operand(&e, second);
    qc_tensor *both = bit_and(&e, a, b, bits > 32 ? 32 : bits);
    if (strcmp(n->op, "BitwiseAnd") == 0) {
        qc_tensor *zero = ox_constant(&e, 0);
        ox_to_output(&e);
        return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, both, zero));
    }
    if (strcmp(n->op, "BitwiseXor") == 0)
        both = ox_with(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, both, 2);
    qc_tensor *sum = ox_binary(&e, QNN_OP_ELEMENT_WISE_ADD, a, b);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, sum, both));
}

const ox_importer ox_import_math_bits[] = {
    {"BitShift", "", import_shift},     {"BitwiseAnd", "", import_bitwise},
    {"BitwiseNot", "", import_not},     {"BitwiseOr", "", import_bitwise},
    {"BitwiseXor", "", import_bitwise}, {0},
};
