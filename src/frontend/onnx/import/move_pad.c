// SPDX-License-Identifier: MIT
//
// Importers: Pad and CenterCropPad. What is cut off goes first, then the rest is padded: by QNN's
// Pad where it has the mode, else by picking the elements of each axis in turn.
#include "frontend/onnx/import/move.h"

#include <string.h>

typedef enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode;

// Pads of a value, per ONNX axis; negative ones are taken away.
typedef struct pad_plan {
    pad_mode mode;
    int64_t before[OX_MAX_RANK], after[OX_MAX_RANK];
    int value_input; // the input with the constant, or -1
    double value;    // the constant where no input gives it
} pad_plan;

static qrn_status read_mode(ox_import *im, const ox_node *n, pad_mode *mode) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *given = ox_attr_string(n, "mode", "constant");
    for (int i = 0; i < 4; i++) {
        *mode = (pad_mode)i;
        if (strcmp(given, names[i]) == 0)
            return QRN_OK;
    }
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "mode '%s'; known are constant, reflect, edge, wrap",
                   given);
}

static qrn_status read_plan(ox_import *im, const ox_node *n, pad_plan *p) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t pads[2 * OX_MAX_RANK], axes[OX_MAX_RANK];
    uint32_t count, n_axes, seen = 0;
    *p = (pad_plan){.value_input = ox_input(im, n, 2) ? 2 : -1};
    QRN_TRY(read_mode(im, n, &p->mode));
    if (p->value_input < 0)
        p->value = (double)ox_attr_float(n, "value", 0);
    QRN_TRY(ox_ints_of(im, n, ox_attr_find(n, "paddings") ? "paddings" : "pads",
                       n->n_in > 1 ? 1 : -1, pads, 2 * OX_MAX_RANK, &count));
    QRN_TRY(ox_ints_of(im, n, "axes", n->n_in > 3 ? 3 : -1, axes, OX_MAX_RANK, &n_axes));
    if (!ox_input(im, n, 3))
        n_axes = x->rank;
    if (count != 2 * n_axes)
        return ox_fail(im, n, QRN_E_SHAPE, "%u pads for %u axes", count, n_axes);
    for (uint32_t i = 0; i < n_axes; i++) {
        uint32_t axis = i;
        if (ox_input(im, n, 3))
            QRN_TRY(ox_axis(im, n, axes[i], x->rank, &axis));
        if (seen & 1u << axis)
            return ox_fail(im, n, QRN_E_SHAPE, "axis %u is given twice", axis);
        seen |= 1u << axis;
        p->before[axis] = pads[i];
        p->after[axis] = pads[i + n_axes];
    }
    return QRN_OK;
}

static int64_t cut(int64_t pad) { return pad < 0 ? -pad : 0; }
static int64_t grow(int64_t pad) { return pad > 0 ? pad : 0; }

// Shape after cutting and after padding.
static qrn_status plan_shapes(ox_import *im, const ox_node *n, const pad_plan *p, uint32_t *kept,
                              uint32_t *dims) {
    const ox_val *x = ox_input(im, n, 0);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t before = p->before[i], after = p->after[i], dim = x->dims[i];
        if (before < -INT32_MAX || before > INT32_MAX || after < -INT32_MAX || after > INT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "pads of axis %u are too large", i);
        int64_t left = dim - cut(before) - cut(after);
        int64_t total = left + grow(before) + grow(after);
        if (left < 1 || total > INT32_MAX)
            return ox_fail(im, n, left < 1 ? QRN_E_UNSUPPORTED : QRN_E_SHAPE,
                           "axis %u of %u elements, padded by %lld and %lld: %s", i, x->dims[i],
                           (long long)before, (long long)after,
                           left < 1 ? "nothing of the input is left" : "too large");
        kept[i] = (uint32_t)left;
        dims[i] = (uint32_t)total;
    }
    return QRN_OK;
}

// Element of the input that stands at position i (which may be outside) of an axis of d elements.
static int32_t source_of(pad_mode mode, int64_t i, int64_t d) {
    int64_t period = mode == PAD_REFLECT ? 2 * (d - 1) : d;
    if (mode == PAD_EDGE)
        return (int32_t)(i < 0 ? 0 : i >= d ? d - 1 : i);
    if (period == 0)
        return 0;
    i = (i % period + period) % period;
    return (int32_t)(i < d ? i : period - i);
}

// Picks the elements of one axis after the other; x and y differ where the plan pads.
static qrn_status pad_by_picking(ox_import *im, const ox_node *n, const pad_plan *p,
                                 ox_layout layout, const qc_tensor *x, const qc_tensor *y) {
    uint32_t rank = x->rank, dims[OX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (uint32_t axis = 0; axis < rank; axis++) {
        uint32_t at = ox_axis_in(layout, axis, rank), count = y->dims[at];
        if (x->dims[at] == count)
            continue;
        if (count > MOVE_LONGEST)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "%u elements in this mode, at most %d", count,
                           MOVE_LONGEST);
        int32_t *indices = ox_alloc(im, count * sizeof *indices);
        if (!indices)
            return ox_fail(im, n, QRN_E_MEM, "out of memory");
        for (uint32_t i = 0; i < count; i++)
            indices[i] = source_of(p->mode, (int64_t)i - grow(p->before[axis]), dims[at]);
        dims[at] = count;
        qc_tensor *t = (qc_tensor *)(uintptr_t)y;
        if (memcmp(dims, y->dims, rank * sizeof *dims) != 0)
            QRN_TRY(ox_temp(im, y, rank, dims, &t));
        QRN_TRY(move_emit_pick(im, n, x, indices, count, at, t));
        x = t;
    }
    return QRN_OK;
}

// The constant as a parameter: the real number, or for integers the stored value in the carrier (a
// uint32 by its bits).
static void add_value(qc_op *o, const ox_carry *c, double value) {
    const Qnn_ScaleOffset_t *base = &c->base.t.v1.quantizeParams.scaleOffsetEncoding;
    const Qnn_ScaleOffset_t *like = &c->like.t.v1.quantizeParams.scaleOffsetEncoding;
    bool quantized = !c->real && ox_is_fixed(&c->base);
    if (quantized && !ox_is_fixed(&c->like))
        value = (value + base->offset) * (double)base->scale;
    else if (quantized)
        value += base->offset - like->offset;
    bool whole_number =
        ox_is_fixed(&c->like) ? quantized : c->like.t.v1.dataType == QNN_DATATYPE_INT_32;
    if (!whole_number) {
        qc_f32(o, QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, (float)value);
        return;
    }
    int64_t whole = value >= INT32_MIN && value <= UINT32_MAX ? (int64_t)value
                    : value > 0                               ? INT32_MAX
                                                              : INT32_MIN;
    qc_i32(o, QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, (int32_t)(uint32_t)whole);
}

static qrn_status emit_pad(ox_import *im, const ox_node *n, const pad_plan *p, ox_layout layout,
                           const ox_carry *c, double value, const qc_tensor *x,
                           const qc_tensor *y) {
    static const uint32_t schemes[] = {QNN_OP_PAD_SCHEME_CONSTANT, QNN_OP_PAD_SCHEME_MIRROR_REFLECT,
                                       QNN_OP_PAD_SCHEME_EDGE};
    uint32_t amounts[2 * OX_MAX_RANK];
    qc_op o;
    bool far = p->mode == PAD_WRAP;
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        uint32_t at = ox_axis_in(layout, axis, x->rank);
        amounts[2 * at] = (uint32_t)grow(p->before[axis]);
        amounts[2 * at + 1] = (uint32_t)grow(p->after[axis]);
        // A mirror shows the input once.
        far |= p->mode == PAD_REFLECT &&
               (amounts[2 * at] >= x->dims[at] || amounts[2 * at + 1] >= x->dims[at]);
    }
    if (far)
        return pad_by_picking(im, n, p, layout, x, y);
    ox_op(im, &o, n, QNN_OP_PAD);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_PAD_PARAM_SCHEME, schemes[p->mode]);
    qc_u32s_2d(&o, QNN_OP_PAD_PARAM_PAD_AMOUNT, amounts, x->rank, 2);
    if (p->mode == PAD_CONSTANT)
        add_value(&o, c, value);
    return qc_op_end(&o);
}

// A constant that comes at run time: the pad is 0 first, then a fixed mask selects.
static qrn_status pad_by_mask(ox_import *im, const ox_node *n, const pad_plan *p, ox_layout layout,
                              const ox_carry *c, const qc_tensor *x, const qc_tensor *y) {
    size_t count = qc_tensor_count(y);
    if (count > MOVE_LONGEST)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "a value at run time for %zu elements, at most %d; make it constant", count,
                       MOVE_LONGEST);
    uint8_t *inside = ox_alloc(im, count);
    qc_tensor *padded, *mask, *given;
    const qc_tensor *value;
    qc_op o;
    if (!inside)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        uint32_t at[OX_MAX_RANK];
        for (uint32_t d = y->rank; d-- > 0; rest /= y->dims[d])
            at[d] = (uint32_t)(rest % y->dims[d]);
        inside[i] = 1;
        for (uint32_t axis = 0; axis < y->rank; axis++) {
            uint32_t d = ox_axis_in(layout, axis, y->rank);
            int64_t from = (int64_t)at[d] - grow(p->before[axis]);
            if (from < 0 || from >= x->dims[d])
                inside[i] = 0;
        }
    }
    QRN_TRY(ox_temp(im, y, y->rank, y->dims, &padded));
    QRN_TRY(emit_pad(im, n, p, layout, c, 0, x, padded));
    QRN_TRY(ox_static(im, QNN_DATATYPE_BOOL_8, y->rank, y->dims, inside, count, &mask));
    QRN_TRY(ox_in(im, n, (uint32_t)p->value_input, OX_ONNX, &given));
    QRN_TRY(ox_carry_in(im, n, c, given, &value));
    ox_op(im, &o, n, QNN_OP_ELEMENT_WISE_SELECT);
    qc_in(&o, mask);
    qc_in(&o, padded);
    qc_in(&o, value);
    qc_out(&o, y);
    return qc_op_end(&o);
}

// The constant that an input gives; false when it comes at run time.
static bool constant_value(const ox_import *im, const ox_node *n, const pad_plan *p, double *out) {
    int64_t whole;
    uint32_t count;
    float real;
    *out = p->value;
    if (p->value_input < 0)
        return true;
    if (ox_const_ints(im, n, (uint32_t)p->value_input, &whole, 1, &count) && count == 1) {
        *out = (double)whole;
        return true;
    }
    if (!ox_const_float(im, n, (uint32_t)p->value_input, &real))
        return false;
    *out = (double)real;
    return true;
}

// Takes away what the plan cuts off.
static qrn_status crop(ox_import *im, const ox_node *n, const pad_plan *p, ox_layout layout,
                       const uint32_t *kept, const qc_tensor *x, const qc_tensor *y) {
    move_range ranges[OX_MAX_RANK];
    for (uint32_t axis = 0; axis < x->rank; axis++)
        ranges[ox_axis_in(layout, axis, x->rank)] =
            (move_range){cut(p->before[axis]), 1, kept[axis]};
    return move_emit_slice(im, n, x, ranges, y);
}

static qrn_status pad_to(ox_import *im, const ox_node *n, const pad_plan *p, ox_layout layout,
                         const ox_carry *c, const qc_tensor *x, const qc_tensor *y) {
    double value;
    if (constant_value(im, n, p, &value))
        return emit_pad(im, n, p, layout, c, value, x, y);
    return p->mode == PAD_CONSTANT ? pad_by_mask(im, n, p, layout, c, x, y)
                                   : emit_pad(im, n, p, layout, c, 0, x, y);
}

static qrn_status run_plan(ox_import *im, const ox_node *n, const pad_plan *p) {
    const ox_val *x = ox_input(im, n, 0);
    ox_layout layout = ox_layout_of_input(im, n, 0);
    uint32_t kept[OX_MAX_RANK], dims[OX_MAX_RANK], there[OX_MAX_RANK];
    ox_carry c;
    qc_tensor *in, *y, *t;
    const qc_tensor *from, *w;
    QRN_TRY(plan_shapes(im, n, p, kept, dims));
    bool cuts = memcmp(kept, x->dims, x->rank * sizeof *kept) != 0;
    bool pads = memcmp(kept, dims, x->rank * sizeof *kept) != 0;
    if (!cuts && !pads)
        return ox_alias(im, n, 0, 0);
    QRN_TRY(ox_set_moved(im, n, 0, 0, x->rank, dims));
    // The constant need not be one of the input's numbers: all is done in the output's encoding.
    QRN_TRY(ox_out(im, n, 0, layout, &y));
    QRN_TRY(ox_carry_of(im, n, x, y, MOVE_PAD, &c));
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    QRN_TRY(ox_carry_in(im, n, &c, in, &from));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    if (cuts && pads) {
        ox_dims_in(layout, x->rank, kept, there);
        QRN_TRY(ox_temp(im, w, x->rank, there, &t));
        QRN_TRY(crop(im, n, p, layout, kept, from, t));
        from = t;
    }
    if (pads)
        QRN_TRY(pad_to(im, n, p, layout, &c, from, w));
    else
        QRN_TRY(crop(im, n, p, layout, kept, from, w));
    return ox_carry_end(im, n, &c, w, y);
}

qrn_status move_import_pad(ox_import *im, const ox_node *n) {
    pad_plan p;
    QRN_TRY(read_plan(im, n, &p));
    return run_plan(im, n, &p);
}

qrn_status move_import_center_crop_pad(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t shape[OX_MAX_RANK], axes[OX_MAX_RANK];
    uint32_t count, n_axes = ox_attr_ints(n, "axes", axes, OX_MAX_RANK);
    pad_plan p = {.mode = PAD_CONSTANT, .value_input = -1};
    QRN_TRY(ox_ints_of(im, n, "shape", 1, shape, OX_MAX_RANK, &count));
    if (count != (n_axes ? n_axes : x->rank))
        return ox_fail(im, n, QRN_E_SHAPE, "%u lengths for %u axes", count,
                       n_axes ? n_axes : x->rank);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis;
        QRN_TRY(ox_axis(im, n, n_axes ? axes[i] : i, x->rank, &axis));
        if (shape[i] < 1 || shape[i] > INT32_MAX)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "length %lld", (long long)shape[i]);
        // An odd element is added, or taken away, at the end.
        int64_t more = shape[i] - x->dims[axis];
        p.before[axis] = more / 2;
        p.after[axis] = more - more / 2;
    }
    return run_plan(im, n, &p);
}
