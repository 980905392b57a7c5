// SPDX-License-Identifier: MIT
//
// Quantizing blocks of weights.
#include "frontend/llm/block_quant.h"

#include <math.h>

void ql_block_s8(const float x[QL_BLOCK], int8_t q[QL_BLOCK], float *scale) {
    float most = 0;
    for (int i = 0; i < QL_BLOCK; i++)
        most = fmaxf(most, fabsf(x[i]));
    float d = most / 127, inverse = d > 0 ? 1 / d : 0;
    for (int i = 0; i < QL_BLOCK; i++)
        q[i] = (int8_t)fmaxf(-127, fminf(127, rintf(x[i] * inverse)));
    *scale = d;
}

// The squared error of (q - z) with the best scale for it. sum(x q)^2 / sum(q^2) is what that scale
// explains of sum(x^2), so the largest of it wins.
typedef struct trial {
    float scale, gain;
} trial;

static trial try_u4(const float x[QL_BLOCK], float d, float z) {
    float xq = 0, qq = 0, inverse = 1 / d;
    for (int i = 0; i < QL_BLOCK; i++) {
        float q = fmaxf(-z, fminf(15 - z, rintf(x[i] * inverse)));
        xq += x[i] * q;
        qq += q * q;
    }
    return qq > 0 && xq > 0 ? (trial){xq / qq, xq * xq / qq} : (trial){d, 0};
}

void ql_block_u4(const float x[QL_BLOCK], uint8_t q[QL_BLOCK], float *scale, uint8_t *zero) {
    float low = 0, high = 0, best = -1, d = 0, step = 1, z = 0;
    for (int i = 0; i < QL_BLOCK; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    for (int i = 0; i <= 15 && high > low; i++) {
        float s = (high - low) * (0.8f + 0.02f * (float)i) / 15, middle = rintf(-low / s);
        for (int k = -1; k <= 1; k++) {
            float at = fmaxf(0, fminf(15, middle + (float)k));
            trial t = try_u4(x, s, at);
            if (t.gain > best) {
                best = t.gain;
                d = t.scale;
                step = s;
                z = at;
            }
        }
    }
    for (int i = 0; i < QL_BLOCK; i++)
        q[i] = (uint8_t)fmaxf(0, fminf(15, rintf(x[i] / step) + z));
    *scale = d;
    *zero = (uint8_t)z;
}
