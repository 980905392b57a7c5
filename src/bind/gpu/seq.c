// SPDX-License-Identifier: MIT
//
// Recurrent steps and attention on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_seq[] = {
    {0},
};
