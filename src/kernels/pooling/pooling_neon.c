// SPDX-License-Identifier: MIT
//
// Pooling of floats for NEON.
#include "kernels/pooling/pooling.h"
#include "kernels/vec.h"

#include <math.h>
#include <string.h>

static inline qrn_vf max_f32(qrn_vf a, qrn_vf b) { return qrn_vf_max(a, b); } // NaN wins

#define ISA neon
#include "kernels/pooling/pool_lines.inc"
