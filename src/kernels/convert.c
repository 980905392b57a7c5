// SPDX-License-Identifier: MIT
//
// Conversion between number formats, in runs of RUN elements: quantized values or reals are loaded
// into a small buffer (integers when both sides are, else doubles) and stored in the target's
// format.
#include "kernels/convert.h"

#include "base/cpu.h"
#include "kernels/element_io.h"
#include "kernels/convert_rows.h"
#include "reference/number.h"

#include <math.h>
#include <string.h>

#define RUN 256

static int64_t sign_extend(uint64_t u, unsigned bits) {
    unsigned shift = 64 - bits;
    return (int64_t)(u << shift) >> shift;
}

// The bits of a quantized value that count: all of the container unless the encoding says fewer.
static unsigned q_bits(const qrn_view *v) {
    unsigned bits = qrn_dtypes[v->dtype].bits;
    return v->quant && v->quant->bits && v->quant->bits < bits ? v->quant->bits : bits;
}

// Integers, bools and quantized values as they are stored.
static void load_q(const qrn_view *v, size_t first, size_t n, qrn_num *dst) {
    unsigned bits = q_bits(v), stored = qrn_dtypes[v->dtype].bits;
    bool is_signed = qrn_dtypes[v->dtype].cls == QRN_CLASS_SFIXED;
    const uint8_t *data = v->data;
    qrn_dtype t = v->dtype == QRN_DTYPE_B8 ? QRN_DTYPE_U8 : v->dtype;
    if (stored >= 8)
        qrn_nums_load(dst, t, data + first * (stored / 8), (ptrdiff_t)(stored / 8), n);
    for (size_t i = 0; i < n && stored < 8; i++) {
        unsigned byte = data[(first + i) / 2];
        unsigned nib = (first + i) % 2 ? byte >> 4 : byte & 15u;
        dst[i].i = is_signed ? sign_extend(nib, 4) : (int64_t)nib;
    }
    for (size_t i = 0; i < n && bits < stored && qrn_dtype_is_fixed(v->dtype); i++)
        dst[i].i = is_signed ? sign_extend(dst[i].u, bits)
                             : (int64_t)(dst[i].u & (((uint64_t)1 << bits) - 1));
}

// Group of element i: which scale applies.
static uint32_t group_of(const qrn_view *v, size_t i) {
    const qrn_quant *q = v->quant;
    if (q->kind == QRN_QUANT_AXIS)
        return (uint32_t)(i / qrn_view_span(v, q->axis + 1u, v->rank) % v->dims[q->axis]);
    uint32_t g = 0, stride = 1;
    for (uint32_t d = v->rank; d-- > 0;) {
        uint32_t block = q->block[d] ? q->block[d] : 1;
        g += (uint32_t)(i % v->dims[d]) / block * stride;
        stride *= (v->dims[d] + block - 1) / block;
        i /= v->dims[d];
    }
    return g;
}

typedef struct pair {
    double scale, offset, real_offset; // real = scale * (q + offset) + real_offset
} pair;

static pair pair_of(const qrn_view *v, size_t i) {
    const qrn_quant *q = v->quant;
    if (!q || q->kind == QRN_QUANT_NONE)
        return (pair){1.0, 0.0, 0.0};
    if (q->kind == QRN_QUANT_TENSOR)
        return (pair){(double)q->scale, (double)q->offset + (double)q->shift, 0.0};
    uint32_t g = group_of(v, i);
    return (pair){(double)qrn_quant_scale(q, g), (double)qrn_quant_offset(q, g) + (double)q->shift,
                  q->real_offsets ? (double)q->real_offsets[g] : 0.0};
}

static bool one_pair(const qrn_view *v) { return !v->quant || v->quant->kind <= QRN_QUANT_TENSOR; }

static void load_reals(const qrn_view *v, size_t first, size_t n, bool cast, qrn_num *dst) {
    size_t elem = qrn_view_elem(v);
    if (qrn_dtype_is_float(v->dtype)) {
        qrn_nums_load(dst, v->dtype, (const char *)v->data + first * elem, (ptrdiff_t)elem, n);
        return;
    }
    load_q(v, first, n, dst);
    bool plain = cast || !qrn_dtype_is_fixed(v->dtype);
    pair p = plain ? (pair){1.0, 0.0, 0.0} : pair_of(v, first);
    for (size_t i = 0; i < n; i++) {
        double value = v->dtype == QRN_DTYPE_U64 ? (double)dst[i].u : (double)dst[i].i;
        if (!plain && !one_pair(v))
            p = pair_of(v, first + i);
        dst[i].f = plain ? value : p.scale * (value + p.offset) + p.real_offset;
    }
}

// Keeps the low bits; bool gets 0 or 1.
static void store_q(qrn_view *v, size_t first, size_t n, const qrn_num *src) {
    size_t elem = qrn_view_elem(v);
    if (qrn_dtypes[v->dtype].bits >= 8) {
        qrn_nums_store(src, v->dtype, (char *)v->data + first * elem, (ptrdiff_t)elem, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t *byte = (uint8_t *)v->data + (first + i) / 2;
        unsigned nib = (unsigned)src[i].u & 15u;
        *byte = (uint8_t)((first + i) % 2 ? (*byte & 15u) | nib << 4 : nib);
    }
}

static int64_t truncate_to(double x, int64_t lo, int64_t hi) {
    if (isnan(x))
        return 0;
    if (x <= (double)lo)
        return lo;
    return x >= (double)hi ? hi : (int64_t)x;
}

static int64_t quantize(double x, pair p, int64_t lo, int64_t hi) {
    double t = p.scale == 0.0 ? 0.0 : (x - p.real_offset) / p.scale;
    t = floor((isnan(t) ? 0.0 : t) + 0.5) - p.offset;
    if (t <= (double)lo)
        return lo;
    return t >= (double)hi ? hi : (int64_t)t;
}

static void store_reals(qrn_view *v, size_t first, size_t n, bool cast, qrn_num *src) {
    int64_t lo, hi;
    if (qrn_dtype_is_float(v->dtype)) {
        store_q(v, first, n, src);
        return;
    }
    qrn_quant_range(v->dtype, q_bits(v), &lo, &hi);
    bool fixed = !cast && qrn_dtype_is_fixed(v->dtype);
    pair p = fixed ? pair_of(v, first) : (pair){1.0, 0.0, 0.0};
    for (size_t i = 0; i < n; i++) {
        double x = src[i].f;
        if (fixed && !one_pair(v))
            p = pair_of(v, first + i);
        if (v->dtype == QRN_DTYPE_B8)
            src[i].u = x != 0.0;
        else if (v->dtype == QRN_DTYPE_U64) // beyond int64_t: saturate by hand
            src[i].u = x >= 0x1p63 ? (x >= 0x1p64 ? UINT64_MAX : (uint64_t)x)
                                   : (uint64_t)truncate_to(x, 0, INT64_MAX);
        else
            src[i].i = fixed ? quantize(x, p, lo, hi) : truncate_to(x, lo, hi);
    }
    store_q(v, first, n, src);
}

// Same bytes on both sides?
static bool same_format(const qrn_view *a, const qrn_view *b, bool cast) {
    return a->dtype == b->dtype && (cast || qrn_quant_equal(a->quant, b->quant)) &&
           a->dtype != QRN_DTYPE_B8 && qrn_dtypes[a->dtype].bits >= 8;
}

// Quantized values mean the same on both sides, whatever their width?
static bool same_q(const qrn_view *a, const qrn_view *b, bool cast) {
    bool fa = qrn_dtype_is_fixed(a->dtype), fb = qrn_dtype_is_fixed(b->dtype);
    if (qrn_dtype_is_float(a->dtype) || qrn_dtype_is_float(b->dtype))
        return false;
    return cast || (!fa && !fb) || (fa && fb && qrn_quant_equal(a->quant, b->quant));
}

void qrn_convert_range(const qrn_view *src, qrn_view *dst, size_t first, size_t count, bool cast) {
    if (same_format(src, dst, cast)) {
        size_t e = qrn_view_elem(src);
        memcpy((char *)dst->data + first * e, (const char *)src->data + first * e, count * e);
        return;
    }
    qrn_num run[RUN];
    bool quantized = same_q(src, dst, cast);
    for (size_t at = first, n; at < first + count; at += n) {
        n = first + count - at < RUN ? first + count - at : RUN;
        if (quantized) {
            load_q(src, at, n, run);
            store_q(dst, at, n, run);
        } else {
            load_reals(src, at, n, cast, run);
            store_reals(dst, at, n, cast, run);
        }
    }
}

int64_t qrn_view_int(const qrn_view *v, size_t i) {
    qrn_num x;
    if (!qrn_dtype_is_float(v->dtype)) {
        load_q(v, i, 1, &x);
        return x.i;
    }
    load_reals(v, i, 1, true, &x);
    return truncate_to(x.f, INT64_MIN, INT64_MAX);
}

double qrn_view_real(const qrn_view *v, size_t i) {
    qrn_num x;
    load_reals(v, i, 1, false, &x);
    return x.f;
}

static uint32_t convert_tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

static qrn_status run(const qrn_kcall *k, bool cast) {
    size_t begin, end;
    // RUN is even, so that two tasks never write the nibbles of one byte.
    qrn_elements(k, RUN, &begin, &end);
    qrn_convert_range(k->in[0], k->out[0], begin, end - begin, cast);
    return QRN_OK;
}

static qrn_status convert_ref(const qrn_kcall *k) { return run(k, false); }
static qrn_status cast_ref(const qrn_kcall *k) { return run(k, true); }

static bool known_formats(const qrn_kcall *k) {
    return qrn_io_supports(k->in[0]) && qrn_io_supports(k->out[0]);
}

// Are the stored numbers all that counts, and can they pass through what the rows compute in?
// Integers of more than 16 bits, and doubles, would be rounded twice on their way to fp16.
static bool plain_formats(const qrn_kcall *k, bool cast) {
    const qrn_view *v[2] = {k->in[0], k->out[0]};
    qrn_plain f[2];
    for (int i = 0; i < 2; i++) {
        f[i] = qrn_plain_format(v[i]->dtype);
        bool fixed = qrn_dtype_is_fixed(v[i]->dtype);
        if (f[i] == QRN_PLAIN_NONE || (fixed && !cast) ||
            q_bits(v[i]) < qrn_dtypes[v[i]->dtype].bits)
            return false;
    }
    bool wide = f[0] >= QRN_PLAIN_U32 && f[0] <= QRN_PLAIN_I64;
    return !(f[1] == QRN_PLAIN_F16 && (wide || f[0] == QRN_PLAIN_F64));
}
static bool plain_convert(const qrn_kcall *k) { return plain_formats(k, false); }
static bool plain_cast(const qrn_kcall *k) { return plain_formats(k, true); }

// clang-format off
#define PLAIN(family, isa, ISA)                                                                    \
    {.name = #family "_plain_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                       \
     .works = plain_##family, .fn = qrn_convert_plain_##isa, .tasks = convert_tasks}
#define FAST(isa, ISA)                                                                             \
    {.name = "convert_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = known_formats,      \
     .fn = qrn_convert_##isa, .tasks = convert_tasks}
// clang-format on

static const qrn_kernel convert_rows[] = {
#ifdef __x86_64__
    PLAIN(convert, avx512, QRN_ISA_AVX512),
    PLAIN(convert, avx2, QRN_ISA_AVX2),
    FAST(avx512, QRN_ISA_AVX512),
    FAST(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    PLAIN(convert, neon, QRN_ISA_NEON),
    FAST(neon, QRN_ISA_NEON),
#endif
    {.name = "convert_ref", .domain = QRN_DOMAIN_RAW, .fn = convert_ref, .tasks = convert_tasks},
};
QRN_FAMILY_ELEMENT_WISE(convert, 0, 1);

static const qrn_kernel cast_rows[] = {
#ifdef __x86_64__
    PLAIN(cast, avx512, QRN_ISA_AVX512),
    PLAIN(cast, avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    PLAIN(cast, neon, QRN_ISA_NEON),
#endif
    {.name = "cast_ref", .domain = QRN_DOMAIN_RAW, .fn = cast_ref, .tasks = convert_tasks},
};
QRN_FAMILY(cast, 0);
