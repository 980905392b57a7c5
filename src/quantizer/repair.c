// SPDX-License-Identifier: MIT
//
// Names of repairs.
#include "quantizer/repair.h"

#include <string.h>

// Those that gained on scores (docs/quantize.md); ranges and absorb gained SQNR alone.
#define AUTO (QZ_FOLD | QZ_CLE | QZ_SMOOTH | QZ_BIAS | QZ_ADAROUND | QZ_EPSILON)

static const struct {
    const char *name;
    uint32_t bits;
} names[] = {{"auto", AUTO},        {"none", 0},
             {"fold", QZ_FOLD},     {"cle", QZ_CLE},
             {"absorb", QZ_ABSORB}, {"smooth", QZ_SMOOTH},
             {"bias", QZ_BIAS},     {"adaround", QZ_ADAROUND},
             {"ranges", QZ_RANGES}, {"epsilon", QZ_EPSILON}};

qrn_status qz_repairs_parse(const char *text, uint32_t *out) {
    uint32_t bits = 0;
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ","), i = 0, count = sizeof names / sizeof names[0];
        while (i < count && (strlen(names[i].name) != n || strncmp(names[i].name, p, n) != 0))
            i++;
        if (i == count)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "repair '%.*s' is not known: expected auto, none, or some of fold, "
                            "cle, absorb, smooth, "
                            "bias, adaround, ranges, epsilon "
                            "with commas between them",
                            (int)n, p);
        bits |= names[i].bits;
        p += n;
        if (!*p)
            break;
    }
    *out = bits;
    return QRN_OK;
}
