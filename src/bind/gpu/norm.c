// SPDX-License-Identifier: MIT
//
// Softmax, norms, affine steps on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_norm[] = {
    {0},
};
