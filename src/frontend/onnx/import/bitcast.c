// SPDX-License-Identifier: MIT
//
// Importer: BitCast. Constants take any two types of one size. While running, integers of up to 32
// bits do, and int32 as float32, which is put together from its parts. The other way round no QNN
// op shows the bits of a NaN, and integers of 64 bits are held as 32.
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

#include <math.h>

// Casts between these keep all bits.
static bool is_plain(int type) {
    switch (type) {
    case OX_BOOL:
    case OX_U4:
    case OX_I4:
    case OX_U8:
    case OX_I8:
    case OX_U16:
    case OX_I16:
    case OX_U32:
    case OX_I32:
        return true;
    default:
        return false;
    }
}

// 2^(x - 127) for exponents x of float32; x = 0 has the exponent of 1, x = 255 is infinite.
static qc_tensor *powers(ox_expr *e) {
    float values[256];
    uint32_t n = 256;
    qc_tensor *t = NULL;
    for (int i = 0; i < 256; i++)
        values[i] = i == 255 ? INFINITY : ldexpf(1, (i ? i : 1) - 127);
    if (e->s == QRN_OK)
        e->s = ox_static(e->im, QNN_DATATYPE_FLOAT_32, 1, &n, values, sizeof values, &t);
    return t;
}

static qrn_status float_from_bits(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x, *zero, *last;
    QRN_TRY(ox_same_shape(im, n, OX_F32));
    QRN_TRY(ox_begin_formula(&e, im, n, QNN_DATATYPE_FLOAT_32));
    QRN_TRY(ox_in_as(im, n, 0, e.layout, QNN_DATATYPE_INT_32, &x));
    QRN_TRY(ox_number(im, QNN_DATATYPE_INT_32, 0, &zero));
    QRN_TRY(ox_number(im, QNN_DATATYPE_INT_32, 255, &last));
    qc_tensor *minus = ox_compare(&e, QNN_OP_ELEMENT_WISE_LESS, x, zero);
    qc_tensor *rest = ox_with(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, -0x1p31);
    x = ox_select(&e, minus, rest, x);
    qc_tensor *exponent = ox_with(&e, QNN_OP_ELEMENT_WISE_FLOOR_DIV, x, 0x1p23);
    rest = ox_with(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, exponent, 0x1p23);
    qc_tensor *fraction = ox_binary(&e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, rest);
    qc_tensor *low = ox_as(&e, fraction, QNN_DATATYPE_FLOAT_32);
    low = ox_with(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, low, 0x1p-23);
    qc_tensor *high = ox_with(&e, QNN_OP_ELEMENT_WISE_ADD, low, 1);
    qc_tensor *normal = ox_compare(&e, QNN_OP_ELEMENT_WISE_GREATER, exponent, zero);
    qc_tensor *y = ox_binary(&e, QNN_OP_ELEMENT_WISE_MULTIPLY, ox_select(&e, normal, high, low),
                             ox_gather(&e, powers(&e), exponent, 0));
    qc_tensor *none = ox_compare(&e, QNN_OP_ELEMENT_WISE_AND,
                                 ox_compare(&e, QNN_OP_ELEMENT_WISE_EQUAL, exponent, last),
                                 ox_compare(&e, QNN_OP_ELEMENT_WISE_GREATER, fraction, zero));
    y = ox_select(&e, none, ox_constant(&e, NAN), y);
    qc_tensor *negative = ox_unary(&e, QNN_OP_ELEMENT_WISE_NEG, y);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_select(&e, minus, negative, y));
}

static qrn_status import_bitcast(ox_import *im, const ox_node *n) {
    QRN_TRY(ox_need(im, n, 1));
    const ox_val *x = ox_input(im, n, 0);
    int to = (int)ox_attr_int(n, "to", OX_NONE);
    qc_tensor *in, *out;
    if (!ox_type_bits(to) || ox_type_bits(to) != ox_type_bits(x->type))
        return ox_fail(im, n, QRN_E_OP_CONFIG, "the bits of %s as %s", ox_type_name(x->type),
                       ox_type_name(to));
    if (to == x->type)
        return ox_alias(im, n, 0, 0);
    if (x->data && !x->quantized)
        return ox_set_const(im, n, 0, to, x->rank, x->dims, x->data);
    if (x->type == OX_I32 && to == OX_F32)
        return float_from_bits(im, n);
    if (!is_plain(x->type) || !is_plain(to) || to == OX_BOOL)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "the bits of %s as %s: QNN has no op for that; compute this outside of the "
                       "model",
                       ox_type_name(x->type), ox_type_name(to));
    QRN_TRY(ox_same_shape(im, n, to));
    ox_leave_unit(im);
    ox_layout layout = ox_layout_of(im, n);
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &out));
    return ox_emit_cast(im, n, in, out);
}

const ox_importer ox_import_bitcast[] = {
    {"BitCast", "", import_bitcast},
    {0},
};
