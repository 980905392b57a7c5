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

// Rounds to nearest for |x| < 2^22, by the bits that adding 1.5 * 2^23 leaves: rintf is a call
// where the instruction set is the oldest of its kind.
static float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }

static float clamped(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

typedef struct trial {
    float scale; // the best one for the values
    float gain;  // what that explains of sum(x^2), sum(x q)^2 / sum(q^2): the largest wins
} trial;

#define LANES 8 // sums side by side, which compilers bring into vectors

static trial try_u4(const float x[QL_BLOCK], float d, float z) {
    float xq[LANES] = {0}, qq[LANES] = {0}, inverse = 1 / d;
    for (int i = 0; i < QL_BLOCK; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float q = clamped(rounded(x[i + k] * inverse), -z, 15 - z);
            xq[k] += x[i + k] * q;
            qq[k] += q * q;
        }
    for (int k = 1; k < LANES; k++) {
        xq[0] += xq[k];
        qq[0] += qq[k];
    }
    return xq[0] > 0 ? (trial){xq[0] / qq[0], xq[0] * xq[0] / qq[0]} : (trial){d, 0};
}

void ql_block_u4(const float x[QL_BLOCK], uint8_t q[QL_BLOCK], float *scale, uint8_t *zero) {
    float low = 0, high = 0, best = -1, d = 0, step = 1, z = 0;
    for (int i = 0; i < QL_BLOCK; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    for (int i = 0; i <= 10 && high > low; i++) {
        float s = (high - low) * (0.8f + 0.03f * (float)i) / 15, middle = rounded(-low / s);
        if (!(s > 0) || !isfinite(1 / s)) // too small for floats to divide by
            continue;
        for (int k = -1; k <= 1; k++) {
            float at = clamped(middle + (float)k, 0, 15);
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
        q[i] = (uint8_t)clamped(rounded(x[i] / step) + z, 0, 15);
    *scale = d;
    *zero = (uint8_t)z;
}
