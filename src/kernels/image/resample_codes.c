// SPDX-License-Identifier: MIT
//
// Resampling on fixed-point codes that input and output read alike. Weights sum to 1, so the code
// of a weighted mean is the weighted mean of the codes, rounded half up: no scale is involved, and
// means that lie half way between two codes are met exactly. 8-bit codes are summed in float (exact
// for the weights of whole ratios up to 256), 16-bit ones in double.
#include "kernels/image/resample.h"

#include "kernels/walk.h"

#define BLOCK 256 // sums that stay in the first-level cache

// floor(v + 0.5 + error) limited to [low, high]; no call, so that loops over it become vector code.
#define ROUND(x, error, low, high, type)                                                           \
    static inline type round_##type(x v) {                                                         \
        x t = v + (x)(0.5 + error);                                                                \
        int32_t c = (int32_t)t;                                                                    \
        c -= (x)c > t;                                                                             \
        return (type)(c < low ? low : c > high ? high : c);                                        \
    }
ROUND(float, 0x1p-15, 0, UINT8_MAX, uint8_t)
ROUND(float, 0x1p-15, INT8_MIN, INT8_MAX, int8_t)
ROUND(double, 0x1p-30, 0, UINT16_MAX, uint16_t)
ROUND(double, 0x1p-30, INT16_MIN, INT16_MAX, int16_t)

#define SAME(x) (x)
#define A float
#define STORE SAME
#define S float
#define D float
#define FN f32_f32
#include "kernels/image/resample_codes.inc"
#define S uint8_t
#define D float
#define FN u8_f32
#include "kernels/image/resample_codes.inc"
#define S int8_t
#define D float
#define FN i8_f32
#include "kernels/image/resample_codes.inc"
#undef STORE
#define STORE round_uint8_t
#define S float
#define D uint8_t
#define FN f32_u8
#include "kernels/image/resample_codes.inc"
#define S uint8_t
#define D uint8_t
#define FN u8_u8
#include "kernels/image/resample_codes.inc"
#undef STORE
#define STORE round_int8_t
#define S float
#define D int8_t
#define FN f32_i8
#include "kernels/image/resample_codes.inc"
#define S int8_t
#define D int8_t
#define FN i8_i8
#include "kernels/image/resample_codes.inc"
#undef STORE
#undef A
#define A double
#define STORE SAME
#define S double
#define D double
#define FN f64_f64
#include "kernels/image/resample_codes.inc"
#define S uint16_t
#define D double
#define FN u16_f64
#include "kernels/image/resample_codes.inc"
#define S int16_t
#define D double
#define FN i16_f64
#include "kernels/image/resample_codes.inc"
#undef STORE
#define STORE round_uint16_t
#define S double
#define D uint16_t
#define FN f64_u16
#include "kernels/image/resample_codes.inc"
#define S uint16_t
#define D uint16_t
#define FN u16_u16
#include "kernels/image/resample_codes.inc"
#undef STORE
#define STORE round_int16_t
#define S double
#define D int16_t
#define FN f64_i16
#include "kernels/image/resample_codes.inc"
#define S int16_t
#define D int16_t
#define FN i16_i16
#include "kernels/image/resample_codes.inc"

typedef void (*row_fn)(const void *source, const int32_t *index, const double *weight,
                       uint32_t taps, size_t inner, void *target);

static const struct {
    qrn_dtype from, to;
    row_fn fn;
} row_fns[] = {
    {QRN_DTYPE_F32, QRN_DTYPE_F32, f32_f32},   {QRN_DTYPE_F64, QRN_DTYPE_F64, f64_f64},
    {QRN_DTYPE_UQ8, QRN_DTYPE_F32, u8_f32},    {QRN_DTYPE_F32, QRN_DTYPE_UQ8, f32_u8},
    {QRN_DTYPE_UQ8, QRN_DTYPE_UQ8, u8_u8},     {QRN_DTYPE_SQ8, QRN_DTYPE_F32, i8_f32},
    {QRN_DTYPE_F32, QRN_DTYPE_SQ8, f32_i8},    {QRN_DTYPE_SQ8, QRN_DTYPE_SQ8, i8_i8},
    {QRN_DTYPE_UQ16, QRN_DTYPE_F64, u16_f64},  {QRN_DTYPE_F64, QRN_DTYPE_UQ16, f64_u16},
    {QRN_DTYPE_UQ16, QRN_DTYPE_UQ16, u16_u16}, {QRN_DTYPE_SQ16, QRN_DTYPE_F64, i16_f64},
    {QRN_DTYPE_F64, QRN_DTYPE_SQ16, f64_i16},  {QRN_DTYPE_SQ16, QRN_DTYPE_SQ16, i16_i16},
};

static row_fn row_fn_of(const qrn_kcall *k) {
    for (size_t i = 0; i < sizeof(row_fns) / sizeof(row_fns[0]); i++)
        if (row_fns[i].from == k->in[0]->dtype && row_fns[i].to == k->out[0]->dtype)
            return row_fns[i].fn;
    return NULL;
}

static bool works(const qrn_kcall *k) { return row_fn_of(k) != NULL; }

static qrn_status resample_codes_ref(const qrn_kcall *k) {
    const qrn_resample_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    row_fn fn = row_fn_of(k);
    size_t n = x->dims[a->axis], m = y->dims[a->axis];
    size_t inner = qrn_view_span(x, a->axis + 1, x->rank), begin, end;
    qrn_split(qrn_view_span(x, 0, a->axis) * m, 1, k->task, k->n_tasks, &begin, &end);
    size_t o = begin % m, row_bytes = inner * qrn_view_elem(y);
    const char *src = (const char *)x->data + begin / m * n * inner * qrn_view_elem(x);
    for (size_t row = begin; row < end; row++) {
        fn(src, (const int32_t *)k->in[1]->data + o * a->taps,
           (const double *)k->in[2]->data + o * a->taps, a->taps, inner,
           (char *)y->data + row * row_bytes);
        if (++o == m) {
            o = 0;
            src += n * inner * qrn_view_elem(x);
        }
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

static const qrn_kernel resample_codes_rows[] = {
    {.name = "resample_codes_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = resample_codes_ref,
     .works = works,
     .tasks = tasks},
};
QRN_FAMILY(resample_codes, sizeof(qrn_resample_args));
