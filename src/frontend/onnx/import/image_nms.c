// SPDX-License-Identifier: MIT
//
// Importer: NonMaxSuppression. How many boxes are chosen is known after an execution only, so the
// result can be an output of the graph and nothing else: the tensor has room for the most, and the
// library says how many rows it has filled.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/driver/internal.h"

#include <float.h>

// Boxes given by centre and size [x, y, w, h], as corners [y1, x1, y2, x2].
static qc_tensor *corners(ox_expr *e, qc_tensor *boxes) {
    qc_tensor *centre[2], *half[2], *part[4];
    for (uint32_t i = 0; i < 2; i++) {
        centre[i] = ox_slice(e, boxes, 2, i, 1, 1);
        half[i] = ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, ox_slice(e, boxes, 2, 2 + i, 1, 1), 0.5);
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t axis = 1 - i % 2;
        part[i] = ox_binary(e, i < 2 ? QNN_OP_ELEMENT_WISE_SUBTRACT : QNN_OP_ELEMENT_WISE_ADD,
                            centre[axis], half[axis]);
    }
    return ox_concat(e, part, 4, 2);
}

// A parameter given as constant input.
static qrn_status read_number(ox_import *im, const ox_node *n, uint32_t i, float *out) {
    if (!ox_input(im, n, i) || ox_const_float(im, n, i, out))
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "input %u ('%s') must be constant", i, n->in[i]);
}

static qrn_status import_nms(ox_import *im, const ox_node *n) {
    const ox_val *boxes = ox_input(im, n, 0), *scores = ox_input(im, n, 1);
    float most = 0, iou = 0, score = -FLT_MAX;
    ox_val *out;
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        scores->dims[0] != boxes->dims[0] || scores->dims[2] != boxes->dims[1])
        return ox_fail(im, n, QRN_E_SHAPE, "boxes and scores do not fit");
    QRN_TRY(read_number(im, n, 2, &most));
    QRN_TRY(read_number(im, n, 3, &iou));
    QRN_TRY(read_number(im, n, 4, &score));
    if (!(most >= 1))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "its result is empty: no boxes are wanted");
    uint32_t each = most < (float)boxes->dims[1] ? (uint32_t)most : boxes->dims[1];
    uint32_t dims[] = {boxes->dims[0] * scores->dims[1] * each, 3};
    QRN_TRY(ox_output_val(im, n, 0, &out));
    if (!out->is_output || out->n_uses)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "how many boxes it gives is known after an execution only; nodes behind it "
                       "need the number before: make '%s' an output of the model and go on outside",
                       out->name);
    ox_leave_unit(im);
    qc_tensor *b, *s, *y;
    QRN_TRY(ox_set_output(im, n, 0, OX_I64, 2, dims));
    out->counted = true;
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &b));
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, QNN_DATATYPE_FLOAT_32, &s));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    ox_expr e = ox_begin(im, n);
    if (ox_attr_int(n, "center_point_box", 0))
        b = corners(&e, b);
    qc_op o;
    ox_op(im, &o, n, QNN_OP_NON_MAX_SUPPRESSION);
    qc_in(&o, b);
    qc_in(&o, s);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_NON_MAX_SUPPRESSION_PARAM_IOU_THRESHOLD, iou);
    qc_f32(&o, QNN_OP_NON_MAX_SUPPRESSION_PARAM_SCORE_THRESHOLD, score);
    qc_u32(&o, QNN_OP_NON_MAX_SUPPRESSION_PARAM_MAX_BOXES_SELECTED, each);
    ox_end(&e, &o);
    return ox_done(&e);
}

const ox_importer ox_import_image_nms[] = {
    {"NonMaxSuppression", "", import_nms},
    {0},
};
