// SPDX-License-Identifier: MIT
//
// Resizing, colours, grids on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_image[] = {
    {0},
};
