// SPDX-License-Identifier: MIT
//
// Importer: BitCast. Constants take any two types of one size; while running, QNN has no op that
// shows the bits of a float, and integers of 64 bits are held as 32.
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

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
