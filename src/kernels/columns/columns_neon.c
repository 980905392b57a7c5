// SPDX-License-Identifier: MIT
//
// Columns back to images, compiled for NEON.
#include "kernels/columns/columns_rows.h"

#define T float
#define FN qrn_col2im_f32_neon
#define ADD_CELLS add_cells_f32
#include "kernels/columns/col2im.inc"
#define T double
#define FN qrn_col2im_f64_neon
#define ADD_CELLS add_cells_f64
#include "kernels/columns/col2im.inc"
