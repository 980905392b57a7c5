// SPDX-License-Identifier: MIT
//
// Boxes, non-maximum suppression, regions of interest on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_detect[] = {
    {0},
};
