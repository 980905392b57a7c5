// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group detect: attributes, and what makes a step safe to run.
#include "compiler/op.h"

#include "kernels/detect/detection_output.h"
#include "kernels/detect/nms.h"
#include "kernels/detect/proposals.h"
#include "kernels/detect/roi.h"

const qrn_cop qrn_cop_box_deltas = {QRN_COP_HEAD(box_deltas)};
const qrn_cop qrn_cop_rotated_deltas = {QRN_COP_HEAD(rotated_deltas)};
const qrn_cop qrn_cop_detection_output = {QRN_COP_HEAD(detection_output)};
const qrn_cop qrn_cop_generate_proposals = {QRN_COP_HEAD(generate_proposals)};
const qrn_cop qrn_cop_collect_proposals = {QRN_COP_HEAD(collect_proposals)};
const qrn_cop qrn_cop_distribute_proposals = {QRN_COP_HEAD(distribute_proposals)};
const qrn_cop qrn_cop_nms_limit = {QRN_COP_HEAD(nms_limit)};
const qrn_cop qrn_cop_keypoint = {QRN_COP_HEAD(keypoint)};
const qrn_cop qrn_cop_nms = {QRN_COP_HEAD(nms)};
const qrn_cop qrn_cop_combined_nms = {QRN_COP_HEAD(combined_nms)};
const qrn_cop qrn_cop_multi_nms = {QRN_COP_HEAD(multi_nms)};
const qrn_cop qrn_cop_pick_rows = {QRN_COP_HEAD(pick_rows)};
const qrn_cop qrn_cop_roi_align = {QRN_COP_HEAD(roi_align)};
const qrn_cop qrn_cop_roi_pool = {QRN_COP_HEAD(roi_pool)};
