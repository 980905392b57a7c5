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

#define LANES 8 // sums side by side, which compilers bring into vectors

// Values of a block for a step and the number that 0 stands for, and the line through them.
typedef struct trial {
    float step, low;
    float scale, min; // x is about scale * q + min
    float gain;       // what that explains of the variance of x: the largest wins
} trial;

static void fit(const float x[QL_BLOCK], float mean, trial *t) {
    float q1[LANES] = {0}, qq[LANES] = {0}, xq[LANES] = {0}, inverse = 1 / t->step;
    for (int i = 0; i < QL_BLOCK; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float q = clamped(rounded((x[i + k] - t->low) * inverse), 0, 15);
            q1[k] += q;
            qq[k] += q * q;
            xq[k] += (x[i + k] - mean) * q;
        }
    for (int k = 1; k < LANES; k++) {
        q1[0] += q1[k];
        qq[0] += qq[k];
        xq[0] += xq[k];
    }
    float middle = q1[0] / QL_BLOCK, spread = qq[0] - q1[0] * middle;
    t->scale = spread > 0 ? xq[0] / spread : 0;
    t->min = mean - t->scale * middle;
    t->gain = xq[0] * t->scale;
}

void ql_block_i4(const float x[QL_BLOCK], uint8_t q[QL_BLOCK], float *scale, float *rest) {
    float low = x[0], high = x[0], mean = 0;
    for (int i = 0; i < QL_BLOCK; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
        mean += x[i] / QL_BLOCK;
    }
    trial best = {.step = 1, .low = low, .min = mean, .gain = 0};
    for (int i = 0; i <= 10; i++) {
        float step = (high - low) * (0.8f + 0.03f * (float)i) / 15;
        trial t = {.step = step, .low = (high + low) / 2 - 7.5f * step};
        if (!(step > 0) || !isfinite(1 / step)) // too small for floats to divide by
            continue;
        fit(x, mean, &t);
        if (t.gain > best.gain)
            best = t;
    }
    for (int i = 0; i < QL_BLOCK; i++)
        q[i] = (uint8_t)clamped(rounded((x[i] - best.low) * (1 / best.step)), 0, 15);
    *scale = best.scale;
    *rest = best.min + 8 * best.scale;
}
