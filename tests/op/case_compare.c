// SPDX-License-Identifier: MIT
//
// Comparison modes of op cases. Values are widened to double (or int64 for codes) one at a time;
// each mode remembers the first element that is wrong and how many are.

#include "case_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint64_t n, first; // wrong elements, index of the first
    double got, want;  // of the first
} misses;

static void miss(misses *m, uint64_t i, double got, double want) {
    if (m->n++ == 0) {
        m->first = i;
        m->got = got;
        m->want = want;
    }
}

static int64_t load_int(Qnn_DataType_t dtype, const uint8_t *data, uint64_t i) {
    switch (dtype) {
    case QNN_DATATYPE_UFIXED_POINT_4:
        return data[i / 2] >> (i % 2 * 4) & 15;
    case QNN_DATATYPE_SFIXED_POINT_4:
        return ((data[i / 2] >> (i % 2 * 4) & 15) ^ 8) - 8;
    case QNN_DATATYPE_INT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
        return (int8_t)data[i];
    case QNN_DATATYPE_BOOL_8:
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_UFIXED_POINT_8:
        return data[i];
    default:
        break;
    }
    int64_t wide = 0;
    uint32_t size = qrn_dtype_bits(dtype) / 8;
    memcpy(&wide, data + i * size, size);
    switch (dtype) {
    case QNN_DATATYPE_INT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
        return (int16_t)wide;
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_SFIXED_POINT_32:
        return (int32_t)wide;
    default:
        return wide;
    }
}

static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    int fraction = bits & 1023;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static bool is_float(Qnn_DataType_t dtype) { return dtype >> 8 == 2; }

static double load_float(Qnn_DataType_t dtype, const uint8_t *data, uint64_t i) {
    uint16_t half;
    uint32_t bits;
    float single;
    double value;
    switch (dtype) {
    case QNN_DATATYPE_FLOAT_16:
        memcpy(&half, data + i * 2, 2);
        return half_value(half);
    case QNN_DATATYPE_BFLOAT_16:
        memcpy(&half, data + i * 2, 2);
        bits = (uint32_t)half << 16;
        memcpy(&single, &bits, 4);
        return single;
    case QNN_DATATYPE_FLOAT_32:
        memcpy(&single, data + i * 4, 4);
        return single;
    case QNN_DATATYPE_FLOAT_64:
        memcpy(&value, data + i * 8, 8);
        return value;
    default:
        return (double)load_int(dtype, data, i);
    }
}

// Distance between neighbours of the type at the magnitude of v.
static double ulp_of(Qnn_DataType_t dtype, double v) {
    int mantissa = 52, lowest = -1022;
    if (dtype == QNN_DATATYPE_FLOAT_32)
        mantissa = 23, lowest = -126;
    if (dtype == QNN_DATATYPE_FLOAT_16)
        mantissa = 10, lowest = -14;
    if (dtype == QNN_DATATYPE_BFLOAT_16)
        mantissa = 7, lowest = -126;
    int exponent = v == 0 ? lowest : ilogb(v);
    if (exponent < lowest)
        exponent = lowest;
    return ldexp(1.0, exponent - mantissa);
}

static double wanted(const qrn_want *w, uint64_t i) {
    double d;
    memcpy(&d, w->data.data + i * sizeof d, sizeof d);
    return d;
}

// The largest finite magnitude.
static double top_of(Qnn_DataType_t dtype, const uint8_t *data, uint64_t count) {
    double top = 0;
    for (uint64_t i = 0; i < count; i++) {
        double v = fabs(load_float(dtype, data, i));
        if (isfinite(v) && v > top)
            top = v;
    }
    return top;
}

bool qrn_fits_fp16(Qnn_DataType_t dtype, const uint8_t *data, uint64_t count) {
    double top = is_float(dtype) ? top_of(dtype, data, count) : 0;
    return top == 0 || (top <= 65504 && top >= 0x1p-14);
}

// Elements that were moved, some of them through 16 bits.
static void compare_moved(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                          const qrn_leeway *leeway, misses *m) {
    uint64_t count = qrn_shape_count(&w->shape);
    double tolerance = leeway->tolerance * top_of(t->dtype, w->data.data, count);
    for (uint64_t i = 0; i < count; i++) {
        double have = load_float(t->dtype, got, i), want = load_float(t->dtype, w->data.data, i);
        bool same = have == want || (isnan(have) && isnan(want)) || fabs(have - want) <= tolerance;
        if (!same)
            miss(m, i, have, want);
    }
}

static void compare_exact(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                          misses *m) {
    uint64_t count = qrn_shape_count(&w->shape);
    bool is_bool = t->dtype == QNN_DATATYPE_BOOL_8;
    uint32_t size = qrn_dtype_bits(t->dtype) / 8;
    for (uint64_t i = 0; i < count; i++) {
        bool same;
        if (is_bool) // any byte but 0 is true
            same = (got[i] != 0) == (w->data.data[i] != 0);
        else if (size == 0) // packed
            same = load_int(t->dtype, got, i) == load_int(t->dtype, w->data.data, i);
        else
            same = memcmp(got + i * size, w->data.data + i * size, size) == 0;
        if (!same)
            miss(m, i, load_float(t->dtype, got, i), load_float(t->dtype, w->data.data, i));
    }
}

static void compare_float(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                          const qrn_leeway *leeway, misses *m) {
    uint64_t count = qrn_shape_count(&w->shape);
    double top = top_of(QNN_DATATYPE_FLOAT_64, w->data.data, count);
    for (uint64_t i = 0; i < count; i++) {
        double have = load_float(t->dtype, got, i), want = wanted(w, i);
        if (isnan(want)) {
            if (!w->nan_ok && !isnan(have))
                miss(m, i, have, want);
            continue;
        }
        double tolerance;
        if (w->mode == QRN_CMP_ULP)
            tolerance = w->arg[0] * ulp_of(t->dtype, want);
        else if (w->mode == QRN_CMP_ULP16)
            tolerance = w->arg[0] * ulp_of(QNN_DATATYPE_FLOAT_16, want) + w->arg[1] * top;
        else
            tolerance = w->arg[0] * (w->arg[2] != 0 ? fabs(want) : top) + w->arg[1];
        tolerance += leeway->tolerance * top;
        bool same = isinf(want) || isinf(have) ? have == want : fabs(have - want) <= tolerance;
        if (w->mode == QRN_CMP_ULP16 && isfinite(have)) // a half, whatever type it comes in
            same = same && fmod(have, ulp_of(QNN_DATATYPE_FLOAT_16, have)) == 0;
        if (!same)
            miss(m, i, have, want);
    }
}

bool qrn_codes_ok(uint64_t n_codes, uint64_t n_unequal, double ratio) {
    return n_unequal <= 1 || (double)n_unequal <= (1.0 - ratio) * (double)n_codes;
}

// Two kinds of misses: codes too far off (m) and codes merely unequal (near).
static void compare_codes(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                          misses *m, misses *near) {
    uint64_t count = qrn_shape_count(&w->shape);
    double low = (double)w->code_range[0], high = (double)w->code_range[1];
    for (uint64_t i = 0; i < count; i++) {
        double place = wanted(w, i);
        double want = fmin(fmax(floor(place + 0.5), low), high);
        double have = (double)load_int(t->dtype, got, i);
        if (have == want)
            continue;
        // An exact tie goes up; a place next to one may be the oracle's own rounding error.
        double slack = w->arg[2] * fmax(1.0, fabs(place));
        double distance = fabs(place + 0.5 - nearbyint(place + 0.5));
        if (distance > 0 && distance <= slack && fabs(have - place) <= 0.5 + slack)
            continue;
        if (fabs(have - want) > w->arg[0])
            miss(m, i, have, want);
        else
            miss(near, i, have, want);
    }
}

static bool compare_stats(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                          char *why, size_t why_size) {
    uint64_t count = qrn_shape_count(&w->shape);
    double scale = 1, offset = 0, sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
    if (t->quant.encodingDefinition == QNN_DEFINITION_DEFINED &&
        t->quant.quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET) {
        scale = t->quant.scaleOffsetEncoding.scale;
        offset = t->quant.scaleOffsetEncoding.offset;
    }
    for (uint64_t i = 0; i < count; i++) {
        double v = scale * (load_float(t->dtype, got, i) + offset);
        if (isnan(v))
            low = high = NAN;
        low = v < low ? v : low;
        high = v > high ? v : high;
        sum += v;
        squares += v * v;
    }
    double mean = sum / (double)count;
    double deviation = sqrt(fmax(0.0, squares / (double)count - mean * mean));
    if (count > 0 && low >= w->arg[0] && high <= w->arg[1] && mean >= w->arg[2] &&
        mean <= w->arg[3] && deviation >= w->arg[4] && deviation <= w->arg[5])
        return true;
    snprintf(why, why_size,
             "output '%s': range [%g, %g] mean %g deviation %g; wanted [%g, %g], mean in [%g, %g], "
             "deviation in [%g, %g]",
             t->name, low, high, mean, deviation, w->arg[0], w->arg[1], w->arg[2], w->arg[3],
             w->arg[4], w->arg[5]);
    return false;
}

static bool report(const qrn_case_tensor *t, const qrn_want *w, const misses *m, const char *unit,
                   char *why, size_t why_size) {
    char place[QRN_CASE_RANK * 11 + 1] = "";
    uint64_t rest = m->first, index[QRN_CASE_RANK] = {0};
    for (uint32_t i = w->shape.rank; i-- > 0;) {
        index[i] = rest % w->shape.dims[i];
        rest /= w->shape.dims[i];
    }
    size_t used = 0;
    for (uint32_t i = 0; i < w->shape.rank; i++)
        used += (size_t)snprintf(place + used, sizeof place - used, i ? ",%u" : "%u",
                                 (unsigned)index[i]);
    int digits = is_float(t->dtype) ? 9 : 20;
    snprintf(why, why_size,
             "output '%s' at [%s]: got %.*g, want %.*g%s (%" PRIu64 " of %" PRIu64 " wrong)",
             t->name, place, digits, m->got, digits, m->want, unit, m->n,
             qrn_shape_count(&w->shape));
    return false;
}

bool qrn_compare(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                 const qrn_leeway *leeway, qrn_code_count *count, char *why, size_t why_size) {
    misses m = {0}, near = {0};
    uint64_t n = qrn_shape_count(&w->shape);
    switch (w->mode) {
    case QRN_CMP_EXACT:
        if (leeway->fp16 && is_float(t->dtype))
            compare_moved(t, w, got, leeway, &m);
        else
            compare_exact(t, w, got, &m);
        break;
    case QRN_CMP_FLOAT:
    case QRN_CMP_ULP:
    case QRN_CMP_ULP16:
        if (!is_float(t->dtype)) {
            snprintf(why, why_size, "output '%s': a float comparison of integers", t->name);
            return false;
        }
        compare_float(t, w, got, leeway, &m);
        break;
    case QRN_CMP_QUANT:
        compare_codes(t, w, got, &m, &near);
        if (w->arg[1] == QRN_CODE_RATIO) {
            count->n_codes += n;
            count->n_unequal += m.n + near.n;
        }
        if (m.n == 0 && !qrn_codes_ok(n, near.n, w->arg[1]))
            return report(t, w, &near, " steps", why, why_size);
        break;
    case QRN_CMP_STATS:
        return compare_stats(t, w, got, why, why_size);
    }
    if (m.n == 0)
        return true;
    return report(t, w, &m, w->mode == QRN_CMP_QUANT ? " steps" : "", why, why_size);
}
