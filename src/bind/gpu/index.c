// SPDX-License-Identifier: MIT
//
// Steps that read or write by index: gathers, scatters, one-hot on the GPU.
#include "bind/gpu/binder.h"

const qrn_gpu_op qrn_gpu_ops_index[] = {
    {0},
};
