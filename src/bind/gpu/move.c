// SPDX-License-Identifier: MIT
//
// Steps that move elements: transposes, slices, joins, pads on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_move[] = {
    {0},
};
