// SPDX-License-Identifier: MIT
//
// The families of element-wise ops on one operand: their definition on one number, the integer rows
// and the tests of floats. The float rows live in unary_*.c.
#include "kernels/eltwise/unary.h"

#include "base/cpu.h"
#include "kernels/eltwise/truth_rows.h"
#include "kernels/eltwise/unary_rows.h"
#include "kernels/walk.h"

static double logit(double p, double epsilon) {
    if (epsilon >= 0)
        p = p < epsilon ? epsilon : p > 1 - epsilon ? 1 - epsilon : p;
    return log(p / (1 - p));
}

// ln(e^bx + 1) / b without overflow.
static double softplus(double v, double beta, double threshold) {
    double z = beta * v;
    if (threshold >= 0 && z > threshold)
        return v;
    return ((z > 0 ? z : 0) + log1p(exp(-fabs(z)))) / beta;
}

// clang-format off
double qrn_unary_real(const qrn_unary_args *a, double v, double epsilon) {
    switch (a->op) {
    case QRN_UNARY_ABS: return fabs(v);
    case QRN_UNARY_ASIN: return asin(v);
    case QRN_UNARY_ATAN: return atan(v);
    case QRN_UNARY_CEIL: return ceil(v);
    case QRN_UNARY_COS: return cos(v);
    case QRN_UNARY_EXP: return exp(v);
    case QRN_UNARY_FLOOR: return floor(v);
    case QRN_UNARY_LOG: return log(v);
    case QRN_UNARY_NEG: return -v;
    case QRN_UNARY_RECIPROCAL: return 1 / v;
    case QRN_UNARY_ROUND: return rint(v);
    case QRN_UNARY_RSQRT: return 1 / sqrt(v);
    case QRN_UNARY_SIGN: return v > 0 ? 1 : v < 0 ? -1 : v;
    case QRN_UNARY_SIN: return sin(v);
    case QRN_UNARY_SQRT: return sqrt(v);
    case QRN_UNARY_SQUARE: return v * v;
    case QRN_UNARY_LOGIT: return logit(v, epsilon);
    case QRN_UNARY_ELU: return v < 0 ? (double)a->alpha * expm1(v) : v;
    case QRN_UNARY_GELU: return v < -40 ? -0.0 : v * 0.5 * erfc(v * -0.70710678118654752440);
    case QRN_UNARY_HARD_SIGMOID: return UNIT((double)a->alpha * v + (double)a->beta);
    case QRN_UNARY_HARD_SWISH: return v * UNIT((v + 3) / 6);
    case QRN_UNARY_RELU: return v < 0 ? 0 : v;
    case QRN_UNARY_CLAMP:
        return v < (double)a->low ? (double)a->low : v > (double)a->high ? (double)a->high : v;
    case QRN_UNARY_SIGMOID: return qrn_sigmoid_f64(v);
    case QRN_UNARY_SOFTPLUS: return softplus(v, (double)a->beta, (double)a->threshold);
    case QRN_UNARY_TANH: return tanh(v);
    case QRN_UNARY_SWISH: return v * qrn_sigmoid_f64(v);
    case QRN_UNARY_ERF: return erf(v);
    case QRN_UNARY_ACOS: return acos(v);
    default: return v;
    }
}
// clang-format on

// Truncates toward zero and saturates; NaN gives 0.
static int64_t to_int(double v) {
    if (!(v > -9223372036854775808.0))
        return isnan(v) ? 0 : INT64_MIN;
    return v < 9223372036854775808.0 ? (int64_t)v : INT64_MAX;
}

static int64_t unary_int(const qrn_unary_args *a, int64_t v, double epsilon) {
    switch (a->op) {
    case QRN_UNARY_ABS:
        return v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
    case QRN_UNARY_NEG:
        return (int64_t)(0 - (uint64_t)v);
    case QRN_UNARY_SIGN:
        return (v > 0) - (v < 0);
    case QRN_UNARY_SQUARE:
        return (int64_t)((uint64_t)v * (uint64_t)v);
    case QRN_UNARY_RELU:
        return v < 0 ? 0 : v;
    case QRN_UNARY_CEIL:
    case QRN_UNARY_FLOOR:
    case QRN_UNARY_ROUND:
        return v;
    default:
        return to_int(qrn_unary_real(a, (double)v, epsilon));
    }
}

static qrn_status unary_i64_ref(const qrn_kcall *k) {
    const int64_t *x = k->in[0]->data;
    int64_t *y = k->out[0]->data;
    size_t begin, end;
    qrn_elements(k, 64, &begin, &end);
    for (size_t i = begin; i < end; i++)
        y[i] = unary_int(k->args, x[i], -1);
    return QRN_OK;
}

static uint8_t float_test(const qrn_float_test_args *a, double v) {
    return isnan(v) ? a->nan : isinf(v) ? (v > 0 ? a->plus_inf : a->minus_inf) : 0;
}

static qrn_status float_test_f32_ref(const qrn_kcall *k) {
    const float *x = k->in[0]->data;
    size_t begin, end;
    qrn_elements(k, 64, &begin, &end);
    for (size_t i = begin; i < end; i++)
        ((uint8_t *)k->out[0]->data)[i] = float_test(k->args, (double)x[i]);
    return QRN_OK;
}

static qrn_status float_test_f64_ref(const qrn_kcall *k) {
    const double *x = k->in[0]->data;
    size_t begin, end;
    qrn_elements(k, 64, &begin, &end);
    for (size_t i = begin; i < end; i++)
        ((uint8_t *)k->out[0]->data)[i] = float_test(k->args, x[i]);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

// clang-format off
#define ROW(type, domain_, isa, ISA)                                                               \
    {.name = "unary_" #type "_" #isa, .domain = domain_, .needs = ISA,                             \
     .fn = qrn_unary_##type##_##isa, .tasks = tasks}

static const qrn_kernel unary_rows[] = {
#ifdef __x86_64__
    ROW(f32, QRN_DOMAIN_F32, avx512, QRN_ISA_AVX512),
    ROW(f32, QRN_DOMAIN_F32, avx2, QRN_ISA_AVX2),
    ROW(f64, QRN_DOMAIN_F64, avx512, QRN_ISA_AVX512),
    ROW(f64, QRN_DOMAIN_F64, avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(f32, QRN_DOMAIN_F32, neon, QRN_ISA_NEON),
    ROW(f64, QRN_DOMAIN_F64, neon, QRN_ISA_NEON),
#endif
    ROW(f32, QRN_DOMAIN_F32, ref, 0),
    ROW(f64, QRN_DOMAIN_F64, ref, 0),
    {.name = "unary_i64_ref", .domain = QRN_DOMAIN_I64, .fn = unary_i64_ref, .tasks = tasks},
};
QRN_FAMILY_ELEMENT_WISE(unary, sizeof(qrn_unary_args), 1);
// clang-format on

// clang-format off
#define TEST(isa, ISA)                                                                             \
    {.name = "float_test_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA,                       \
     .fn = qrn_float_test_##isa, .tasks = tasks}
// clang-format on

static const qrn_kernel float_test_rows[] = {
#ifdef __x86_64__
    TEST(avx512, QRN_ISA_AVX512),
    TEST(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    TEST(neon, QRN_ISA_NEON),
#endif
    {.name = "float_test_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = float_test_f32_ref,
     .tasks = tasks},
    {.name = "float_test_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = float_test_f64_ref,
     .tasks = tasks},
};
QRN_FAMILY(float_test, sizeof(qrn_float_test_args));
