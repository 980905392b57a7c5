// SPDX-License-Identifier: MIT
//
// Pooling and columns on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_pool[] = {
    {0},
};
