// SPDX-License-Identifier: MIT
//
// Importers: padding and repetition.
#include "frontend/onnx/driver/internal.h"
#include "frontend/tflite/import.h"

#include <string.h>

// Amounts before and after each dimension, and the shape of the result.
static qrn_status read_pads(tl *t, uint32_t *pads, uint32_t *dims) {
    const ox_val *x = tl_val(t, 0);
    int64_t list[2 * OX_MAX_RANK];
    uint32_t n;
    QRN_TRY(tl_ints(t, 1, list, 2 * OX_MAX_RANK, &n));
    if (n != 2 * x->rank)
        return tl_fail(t, QRN_E_SHAPE, "%u amounts for rank %u", n, x->rank);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] > INT32_MAX / 4)
            return tl_fail(t, QRN_E_PARAM, "an amount of %lld", (long long)list[i]);
        pads[i] = (uint32_t)list[i];
    }
    for (uint32_t d = 0; d < x->rank; d++)
        dims[d] = x->dims[d] + pads[2 * d] + pads[2 * d + 1];
    return QRN_OK;
}

// The number that PAD and PADV2 fill with: 0, whatever its stored value is.
static qrn_status read_fill(tl *t, float *out) {
    *out = 0;
    if (strcmp(t->op->name, "PADV2") != 0)
        return QRN_OK;
    if (!ox_const_float(t->e.im, t->e.n, 2, out))
        return tl_fail(t, QRN_E_UNSUPPORTED, "input 2 ('%s') must be one constant number",
                       tl_val(t, 2) ? tl_val(t, 2)->name : "absent");
    return QRN_OK;
}

// PAD, PADV2, MIRROR_PAD.
qrn_status tl_pad(tl *t) {
    const ox_val *v = tl_val(t, 0);
    uint32_t pads[2 * OX_MAX_RANK], dims[OX_MAX_RANK];
    bool mirror = strcmp(t->op->name, "MIRROR_PAD") == 0;
    float fill = 0;
    QRN_TRY(read_pads(t, pads, dims));
    QRN_TRY(read_fill(t, &fill));
    QRN_TRY(tl_set(t, 0, v->rank, dims));
    qc_tensor *x = tl_in(t, 0), *y = tl_out(t, 0);
    if (t->e.s != QRN_OK)
        return t->e.s;
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_PAD);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_PAD_PARAM_SCHEME,
           !mirror                  ? QNN_OP_PAD_SCHEME_CONSTANT
           : tl_int(t, "mode") == 1 ? QNN_OP_PAD_SCHEME_MIRROR_SYMMETRIC
                                    : QNN_OP_PAD_SCHEME_MIRROR_REFLECT);
    qc_u32s_2d(&o, QNN_OP_PAD_PARAM_PAD_AMOUNT, pads, v->rank, 2);
    if (!mirror && ox_type_of(x) == QNN_DATATYPE_INT_32)
        qc_i32(&o, QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, (int32_t)fill);
    else if (!mirror)
        qc_f32(&o, QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, fill);
    tl_emit(t, &o);
    return tl_end(t, 0, y);
}

// TILE and BROADCAST_TO, by a constant of integers of 64 bits.
static qrn_status with_shape(tl *t, const char *onnx) {
    int64_t list[OX_MAX_RANK];
    uint32_t n;
    QRN_TRY(tl_ints(t, 1, list, OX_MAX_RANK, &n));
    const tl_node node = {.op = onnx, .in = {t->e.n->in[0], tl_const_ints(t, list, n)}, .n_in = 2};
    return tl_onnx(t, &node);
}

qrn_status tl_tile(tl *t) { return with_shape(t, "Tile"); }

qrn_status tl_broadcast_to(tl *t) { return with_shape(t, "Expand"); }
