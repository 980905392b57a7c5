// SPDX-License-Identifier: MIT
//
// exp, sigmoid, swish, tanh, elu, gelu, erf, softplus, hard swish, asin, acos and atan on
// vectors of floats. No step but one of swish depends on the ISA, but for the number of lanes.
// Relative error against the exact value: erf below 1e-7, exp, tanh, elu, asin, acos and atan below
// 2e-7, sigmoid below 2e-7 + 2e-8 |x|, swish below 3e-7 + 2e-8 |x| where the result is at least
// 1e-36 in size, softplus below 4e-7, gelu below 1e-6 where the result is at least 1e-6 in size,
// hard swish none beyond its three roundings (tests/kernel/test_eltwise.c measures them).
// Infinities and NaN behave as in libm.
#ifndef QRN_KERNELS_FAST_MATH_H
#define QRN_KERNELS_FAST_MATH_H

#include "kernels/vec.h"

static inline qrn_vf qrn_vf_clamp(qrn_vf x, float low, float high) {
    return qrn_vf_min(qrn_vf_all(high), qrn_vf_max(qrn_vf_all(low), x));
}

// low where x is below it, else at most high; unlike clamp in this order, whatever the limits are.
static inline qrn_vf qrn_fast_limit(qrn_vf x, float low, float high) {
    qrn_vf l = qrn_vf_all(low);
    return qrn_vf_below(x, l, l, qrn_vf_min(qrn_vf_all(high), x));
}

// x = n ln 2 + r; ln 2 in two parts, the first of them so short that n times it is exact.
static inline qrn_vf qrn_fast_reduce(qrn_vf x, qrn_vf *n) {
    *n = qrn_vf_round(x * qrn_vf_all(1.44269504088896341f));
    qrn_vf r = qrn_vf_fma(*n, qrn_vf_all(-0.693359375f), x);
    return qrn_vf_fma(*n, qrn_vf_all(2.12194440e-4f), r);
}

// q with e^r = 1 + r + r^2 q for |r| <= ln 2 / 2, a minimax fit.
static inline qrn_vf qrn_fast_exp_fit(qrn_vf r) {
    qrn_vf q = qrn_vf_all(0.001381453789f);
    q = qrn_vf_fma(q, r, qrn_vf_all(0.00836874532f));
    q = qrn_vf_fma(q, r, qrn_vf_all(0.04166839083f));
    q = qrn_vf_fma(q, r, qrn_vf_all(0.166665204f));
    return qrn_vf_fma(q, r, qrn_vf_all(0.4999999343f));
}

// 2^(n + f) for whole n and |f| <= 1/2, a minimax fit.
static inline qrn_vf qrn_fast_pow2(qrn_vf n, qrn_vf f) {
    qrn_vf q = qrn_vf_all(0.0001535336064f);
    q = qrn_vf_fma(q, f, qrn_vf_all(0.001339887487f));
    q = qrn_vf_fma(q, f, qrn_vf_all(0.009618437366f));
    q = qrn_vf_fma(q, f, qrn_vf_all(0.0555033247f));
    q = qrn_vf_fma(q, f, qrn_vf_all(0.2402264791f));
    q = qrn_vf_fma(q, f, qrn_vf_all(0.6931472029f));
    return qrn_vf_scale(qrn_vf_fma(q, f, qrn_vf_all(1.0f)), n);
}

// 2^(c z) for c z <= 0; the product is not rounded, so that only the error of c counts, |z| times.
// Beyond -150 nothing is left of it.
static inline qrn_vf qrn_fast_pow2_times(qrn_vf c, qrn_vf z) {
    qrn_vf n = qrn_vf_round(qrn_vf_max(qrn_vf_all(-150.0f), c * z));
    return qrn_fast_pow2(n, qrn_vf_max(qrn_vf_all(-1.0f), qrn_vf_fma(c, z, -n)));
}

// e^x for x <= 0.
static inline qrn_vf qrn_fast_exp_below(qrn_vf x) {
    const qrn_vf one = qrn_vf_all(1.0f);
    qrn_vf n, r = qrn_fast_reduce(qrn_vf_max(qrn_vf_all(-105.0f), x), &n);
    qrn_vf p = qrn_vf_fma(qrn_vf_fma(qrn_fast_exp_fit(r), r, one), r, one);
    return qrn_vf_scale(p, n);
}

static inline qrn_vf qrn_fast_exp(qrn_vf x) {
    return qrn_fast_exp_below(qrn_vf_min(qrn_vf_all(89.0f), x));
}

// e^x - 1 for x in [-30, 80], with all its digits near 0.
static inline qrn_vf qrn_fast_expm1(qrn_vf x) {
    qrn_vf n, r = qrn_fast_reduce(x, &n);
    qrn_vf e = qrn_vf_fma(qrn_fast_exp_fit(r) * r, r, r), two_n = qrn_vf_scale(qrn_vf_all(1.0f), n);
    return qrn_vf_fma(e, two_n, two_n - qrn_vf_all(1.0f));
}

// 1 / (1 + 2^(-x / ln 2)); the product is not rounded, only its factor is.
static inline qrn_vf qrn_fast_sigmoid(qrn_vf x) {
    const qrn_vf one = qrn_vf_all(1.0f), c = qrn_vf_all(-1.44269504088896341f);
    qrn_vf z = qrn_vf_clamp(x, -90.0f, 90.0f), n = qrn_vf_round(c * z);
    return one / (one + qrn_fast_pow2(n, qrn_vf_fma(c, z, -n)));
}

// x / (1 + 2^(-x / ln 2)). The power of 32nds comes from a table where there is one, that of the
// rest from a minimax fit.
static inline qrn_vf qrn_fast_swish(qrn_vf x) {
    const qrn_vf one = qrn_vf_all(1.0f), c = qrn_vf_all(-1.44269504088896341f);
#ifdef QRN_VF_32NDS
    const qrn_vf shift = qrn_vf_all(0x1.8p18f); // its last digit is 1/32
    qrn_vf z = qrn_vf_clamp(x, -88.722840f, 88.0f), t = qrn_vf_fma(c, z, shift);
    qrn_vf f = qrn_vf_fma(c, z, shift - t), q = qrn_vf_all(0.2402265072f);
    q = qrn_vf_fma(qrn_vf_fma(q, f, qrn_vf_all(0.6931573153f)), f, one);
    return x / qrn_vf_fma(qrn_vf_32nds(t), q, one);
#else
    qrn_vf z = qrn_vf_clamp(x, -90.0f, 90.0f), n = qrn_vf_round(c * z);
    return x / (one + qrn_fast_pow2(n, qrn_vf_fma(c, z, -n)));
#endif
}

static inline qrn_vf qrn_fast_tanh(qrn_vf x) {
    qrn_vf e = qrn_fast_expm1(qrn_vf_clamp(x + x, -30.0f, 30.0f));
    return e / (e + qrn_vf_all(2.0f));
}

// x for x >= 0, else alpha (e^x - 1).
static inline qrn_vf qrn_fast_elu(qrn_vf x, float alpha) {
    qrn_vf e = qrn_fast_expm1(qrn_vf_clamp(x, -30.0f, 0.0f));
    return qrn_vf_below(x, qrn_vf_all(0.0f), qrn_vf_all(alpha) * e, x);
}

// x * Phi(x) with Phi(x) = erfc(-x / sqrt 2) / 2; erfc(z) = t P(t) e^(-z^2), t = 1 / (1 + 0.4 z), a
// minimax fit for z >= 0 (erfc(-z) = 2 - erfc(z)). Beyond 20 nothing is left of it.
static inline qrn_vf qrn_fast_gelu(qrn_vf x) {
    qrn_vf c = qrn_vf_clamp(x, -20.0f, 20.0f), half = qrn_vf_all(0.5f) * c;
    qrn_vf t =
        qrn_vf_all(1.0f) / qrn_vf_fma(qrn_vf_abs(c), qrn_vf_all(0.282842712f), qrn_vf_all(1.0f));
    qrn_vf p = qrn_vf_all(0.06807819755f);
    p = qrn_vf_fma(p, t, qrn_vf_all(-0.3663126145f));
    p = qrn_vf_fma(p, t, qrn_vf_all(0.6308165896f));
    p = qrn_vf_fma(p, t, qrn_vf_all(-0.319082815f));
    p = qrn_vf_fma(p, t, qrn_vf_all(0.3760623367f));
    p = qrn_vf_fma(p, t, qrn_vf_all(0.1510013235f));
    p = qrn_vf_fma(p, t, qrn_vf_all(0.234321619f));
    p = qrn_vf_fma(p, t, qrn_vf_all(0.2251152623f));
    qrn_vf tail = half * t * p * qrn_fast_pow2_times(qrn_vf_all(-0.721347520444481704f), c * c);
    return qrn_vf_below(x, qrn_vf_all(0.0f), tail, x - tail);
}

// x + x P(x^2) for |x| <= 1; beyond it, 1 - 2^Q(|x|) with the sign of x; minimax fits. From 4 on it
// is 1 in float.
static inline qrn_vf qrn_fast_erf(qrn_vf x) {
    const qrn_vf one = qrn_vf_all(1.0f), zero = qrn_vf_all(0.0f);
    qrn_vf a = qrn_vf_abs(x), t = qrn_vf_min(qrn_vf_all(4.0f), a), z = x * x;
    qrn_vf p = qrn_vf_all(7.769992226e-05f), q = qrn_vf_all(0.0002688911918f);
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.0007987698191f));
    q = qrn_vf_fma(q, t, qrn_vf_all(-0.004252593499f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.005186180584f));
    q = qrn_vf_fma(q, t, qrn_vf_all(0.03150573f));
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.0268529579f));
    q = qrn_vf_fma(q, t, qrn_vf_all(-0.1487517059f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.1128357351f));
    q = qrn_vf_fma(q, t, qrn_vf_all(-0.9206482768f));
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.3761262596f));
    q = qrn_vf_fma(q, t, qrn_vf_all(-1.626046062f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.1283791661f));
    q = qrn_vf_fma(q, t, qrn_vf_all(-0.0004926883848f));
    qrn_vf n = qrn_vf_round(q), far = one - qrn_fast_pow2(n, q - n);
    return qrn_vf_below(one, a, qrn_vf_below(x, zero, -far, far), qrn_vf_fma(p, x, x));
}

// ln(1 + e) for e in [0, 1]: 2 atanh(s) with s = e / (2 + e), a minimax fit.
static inline qrn_vf qrn_fast_log1p(qrn_vf e) {
    qrn_vf s = e / (e + qrn_vf_all(2.0f)), u = s * s;
    qrn_vf p = qrn_vf_all(0.2817902579f);
    p = qrn_vf_fma(p, u, qrn_vf_all(0.2796046855f));
    p = qrn_vf_fma(p, u, qrn_vf_all(0.4002491826f));
    p = qrn_vf_fma(p, u, qrn_vf_all(0.6666631453f));
    return s * qrn_vf_fma(p, u, qrn_vf_all(2.0f));
}

// ln(e^bx + 1) / b; x where bx is above the threshold. What the product bx lost, e^-|bx| gets back.
static inline qrn_vf qrn_fast_softplus(qrn_vf x, float beta, float threshold) {
    qrn_vf b = qrn_vf_all(beta), z = b * x, size = qrn_vf_abs(z), zero = qrn_vf_all(0.0f);
    qrn_vf lost = qrn_vf_fma(qrn_vf_abs(b), qrn_vf_abs(x), -size);
    qrn_vf e = qrn_fast_exp_below(-size);
    e = qrn_vf_below(size, qrn_vf_all(105.0f), qrn_vf_fma(-lost, e, e), e);
    qrn_vf y = (qrn_vf_max(zero, z) + qrn_fast_log1p(e)) / b;
    return qrn_vf_below(zero, qrn_vf_fma(b, x, qrn_vf_all(-threshold)), x, y);
}

// asin s = s + *more for |s| <= 1/2, a minimax fit: s is x, or beyond 1/2 sqrt((1 - |x|) / 2), with
// which asin x is pi / 2 - 2 asin s.
static inline qrn_vf qrn_fast_asin_part(qrn_vf x, qrn_vf *more) {
    const qrn_vf half = qrn_vf_all(0.5f);
    qrn_vf a = qrn_vf_abs(x), far = qrn_vf_fma(-half, a, half);
    qrn_vf z = qrn_vf_below(half, a, far, x * x), s = qrn_vf_below(half, a, qrn_vf_sqrt(far), x);
    qrn_vf p = qrn_vf_all(0.03756521334f);
    p = qrn_vf_fma(p, z, qrn_vf_all(0.01440259811f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.03181761337f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.0445157201f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.07500510918f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.1666665987f));
    *more = p * z * s;
    return s;
}

// Quarters of a turn have two parts.
static inline qrn_vf qrn_fast_asin(qrn_vf x) {
    qrn_vf more, s = qrn_fast_asin_part(x, &more), two = qrn_vf_all(-2.0f);
    qrn_vf rest = qrn_vf_fma(two, s, qrn_vf_all(1.57079637f)) +
                  qrn_vf_fma(two, more, qrn_vf_all(-4.37113883e-8f));
    rest = qrn_vf_below(x, qrn_vf_all(0.0f), -rest, rest);
    return qrn_vf_below(qrn_vf_all(0.5f), qrn_vf_abs(x), rest, s + more);
}

// pi / 2 - asin x: 2 asin s above 1/2, pi less that below -1/2.
static inline qrn_vf qrn_fast_acos(qrn_vf x) {
    qrn_vf more, s = qrn_fast_asin_part(x, &more), two = qrn_vf_all(-2.0f);
    qrn_vf near = (qrn_vf_all(1.57079637f) - s) + (qrn_vf_all(-4.37113883e-8f) - more);
    qrn_vf low = qrn_vf_fma(two, s, qrn_vf_all(3.14159274f)) +
                 qrn_vf_fma(two, more, qrn_vf_all(-8.74227766e-8f));
    qrn_vf beyond = qrn_vf_below(x, qrn_vf_all(0.0f), low, -(two * (s + more)));
    return qrn_vf_below(qrn_vf_all(0.5f), qrn_vf_abs(x), beyond, near);
}

// atan x for |x| <= 1, a minimax fit; beyond it, pi / 2 - atan(1 / x) with the sign of x.
static inline qrn_vf qrn_fast_atan(qrn_vf x) {
    const qrn_vf one = qrn_vf_all(1.0f), zero = qrn_vf_all(0.0f);
    const qrn_vf quarter = qrn_vf_all(1.57079637f);
    qrn_vf a = qrn_vf_abs(x), r = qrn_vf_below(one, a, one / x, x), z = r * r;
    qrn_vf p = qrn_vf_all(-0.001793620305f);
    p = qrn_vf_fma(p, z, qrn_vf_all(0.01091459954f));
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.03117783443f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.05795758228f));
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.08403449681f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.1095218556f));
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.1426424164f));
    p = qrn_vf_fma(p, z, qrn_vf_all(0.1999854828f));
    p = qrn_vf_fma(p, z, qrn_vf_all(-0.3333329909f));
    qrn_vf more = p * z * r, low = qrn_vf_all(-4.37113883e-8f); // pi / 2 has two parts
    qrn_vf rest = (quarter - qrn_vf_abs(r)) + (low - qrn_vf_below(x, zero, -more, more));
    return qrn_vf_below(one, a, qrn_vf_below(x, zero, -rest, rest), r + more);
}

// x * clamp((x + 3) / 6, 0, 1). The quotient comes from a product and its remainder, and is the
// correctly rounded one for every number from 0 to 6 that is not subnormal; x + 3 never is.
static inline qrn_vf qrn_fast_hard_swish(qrn_vf x) {
    const qrn_vf sixth = qrn_vf_all(1.0f / 6.0f);
    qrn_vf w = qrn_vf_clamp(x + qrn_vf_all(3.0f), 0.0f, 6.0f), q = w * sixth;
    return x * qrn_vf_fma(qrn_vf_fma(q, qrn_vf_all(-6.0f), w), sixth, q);
}

#endif
