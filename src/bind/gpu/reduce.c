// SPDX-License-Identifier: MIT
//
// Reductions, arg, cumulative sums, top-k on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_reduce[] = {
    {0},
};
