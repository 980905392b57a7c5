// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group image: attributes, and what makes a step safe to run.
#include "compiler/op.h"

#include "kernels/image/color.h"
#include "kernels/image/resample.h"
#include "kernels/image/sample.h"
#include "kernels/image/window.h"

const qrn_cop qrn_cop_yuv_rgb = {QRN_COP_HEAD(yuv_rgb)};
const qrn_cop qrn_cop_drop_alpha = {QRN_COP_HEAD(drop_alpha)};
const qrn_cop qrn_cop_resample = {QRN_COP_HEAD(resample)};
const qrn_cop qrn_cop_resample_move = {QRN_COP_HEAD(resample_move)};
const qrn_cop qrn_cop_resample_codes = {QRN_COP_HEAD(resample_codes)};
const qrn_cop qrn_cop_glimpse = {QRN_COP_HEAD(glimpse)};
const qrn_cop qrn_cop_patches = {QRN_COP_HEAD(patches)};
const qrn_cop qrn_cop_correlation1d = {QRN_COP_HEAD(correlation1d)};
const qrn_cop qrn_cop_grid_sample = {QRN_COP_HEAD(grid_sample)};
const qrn_cop qrn_cop_crop_resize = {QRN_COP_HEAD(crop_resize)};
const qrn_cop qrn_cop_project = {QRN_COP_HEAD(project)};
