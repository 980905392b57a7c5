// SPDX-License-Identifier: MIT
//
// Repairs of a model for quantization, by name.
#ifndef QRN_QUANTIZER_REPAIR_H
#define QRN_QUANTIZER_REPAIR_H

#include "base/status.h"

#include <stdint.h>

// Bits of a set of repairs.
typedef enum qz_repair {
    QZ_FOLD = 1u << 0,     // batch norms, constant factors and hard swishes (fold.h)
    QZ_CLE = 1u << 1,      // cross-layer equalization (equalize.h)
    QZ_ABSORB = 1u << 2,   // high biases (equalize.h)
    QZ_SMOOTH = 1u << 3,   // equalization behind norms (equalize.h)
    QZ_BIAS = 1u << 4,     // correction of biases (weights.h)
    QZ_ADAROUND = 1u << 5, // adaptive rounding (adaround.h)
    QZ_RANGES = 1u << 6,   // ranges that end where the reader is flat (plan.h)
    QZ_EPSILON = 1u << 7,  // constants below float16's smallest number (epsilon.h)
} qz_repair;

// "auto", "none", or names with commas between them.
qrn_status qz_repairs_parse(const char *text, uint32_t *out);

#endif
