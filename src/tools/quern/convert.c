// SPDX-License-Identifier: MIT
//
// Numbers from one type to another: casts between arrays, and the buffers of QNN tensors. Integers
// pass through 64-bit integers, everything else through double.
#include "tools/quern/array.h"

#include "base/dtype.h"
#include "base/fp16.h"

#include <math.h>
#include <string.h>

static bool is_float(int type) {
    return type == OX_F32 || type == OX_F64 || type == OX_F16 || type == OX_BF16;
}

static void put_float(int type, void *data, size_t i, double v) {
    if (type == OX_F32)
        ((float *)data)[i] = (float)v;
    else if (type == OX_F64)
        ((double *)data)[i] = v;
    else
        ((uint16_t *)data)[i] = type == OX_F16 ? qrn_f16_from_f64(v) : qrn_bf16_from_f64(v);
}

// Integers of up to 64 bits travel as their two's complement bits and a sign.
typedef struct integer {
    uint64_t bits;
    bool negative;
} integer;

static integer from_signed(int64_t v) { return (integer){(uint64_t)v, v < 0}; }

static integer get_integer(const qt_array *a, size_t i) {
    switch (a->type) {
    case OX_I8:
    case OX_I4:
        return from_signed(((const int8_t *)a->data)[i]);
    case OX_I16:
        return from_signed(((const int16_t *)a->data)[i]);
    case OX_I32:
        return from_signed(((const int32_t *)a->data)[i]);
    case OX_I64:
        return from_signed(((const int64_t *)a->data)[i]);
    case OX_U64:
        return (integer){((const uint64_t *)a->data)[i], false};
    case OX_BOOL:
        return (integer){((const uint8_t *)a->data)[i] != 0, false};
    default:
        return (integer){(uint64_t)qt_array_at(a, i), false};
    }
}

static integer from_double(double v) {
    if (isnan(v))
        return (integer){0, false};
    if (v < 0)
        return from_signed(v <= -0x1p63 ? INT64_MIN : (int64_t)v);
    return (integer){v >= 0x1p64 ? UINT64_MAX : (uint64_t)v, false};
}

typedef struct range {
    bool is_signed;
    unsigned bits;
} range;

// The nearest value in the range; *exact is false when it is another one.
static uint64_t clamp(integer v, range r, bool *exact) {
    uint64_t top = r.bits == 64 ? UINT64_MAX : ((uint64_t)1 << r.bits) - 1;
    *exact = true;
    if (!v.negative) {
        uint64_t max = r.is_signed ? top >> 1 : top;
        *exact = v.bits <= max;
        return *exact ? v.bits : max;
    }
    if (!r.is_signed) {
        *exact = false;
        return 0;
    }
    uint64_t lowest = ~(top >> 1); // sign-extended
    *exact = (int64_t)v.bits >= (int64_t)lowest;
    return *exact ? v.bits : lowest;
}

static void put_bits(void *data, size_t i, size_t size, uint64_t bits) {
    switch (size) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    case 4:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    default:
        ((uint64_t *)data)[i] = bits;
        break;
    }
}

static range range_of(int type) {
    bool is_signed =
        type == OX_I4 || type == OX_I8 || type == OX_I16 || type == OX_I32 || type == OX_I64;
    return (range){is_signed, type == OX_BOOL ? 1 : ox_type_bits(type)};
}

qrn_status qt_array_cast(const char *what, const qt_array *a, int type, qt_array *out) {
    qt_array made;
    QRN_TRY(qt_array_create(what, type, a->rank, a->dims, &made));
    for (size_t i = 0; i < a->count; i++) {
        if (is_float(type)) {
            put_float(type, made.data, i, qt_array_at(a, i));
            continue;
        }
        integer v = is_float(a->type) ? from_double(qt_array_at(a, i)) : get_integer(a, i);
        bool exact;
        put_bits(made.data, i, qt_element_size(type), clamp(v, range_of(type), &exact));
    }
    *out = made;
    return QRN_OK;
}

int qt_type_of_qnn(Qnn_DataType_t dtype) {
    static const int signed_types[] = {OX_I4, OX_I8, OX_I16, OX_I32, OX_I64};
    static const int unsigned_types[] = {OX_U4, OX_U8, OX_U16, OX_U32, OX_U64};
    qrn_dtype t = qrn_dtype_from_code((uint32_t)dtype);
    if (t == QRN_DTYPE_COUNT)
        return OX_NONE;
    const qrn_dtype_info *info = &qrn_dtypes[t];
    unsigned index = info->bits == 4    ? 0
                     : info->bits == 8  ? 1
                     : info->bits == 16 ? 2
                     : info->bits == 32 ? 3
                                        : 4;
    switch (info->cls) {
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        return signed_types[index];
    case QRN_CLASS_UINT:
    case QRN_CLASS_UFIXED:
        return unsigned_types[index];
    case QRN_CLASS_BOOL:
        return OX_BOOL;
    case QRN_CLASS_FLOAT:
        return t == QRN_DTYPE_F32   ? OX_F32
               : t == QRN_DTYPE_F64 ? OX_F64
               : t == QRN_DTYPE_F16 ? OX_F16
                                    : OX_BF16;
    default:
        return OX_NONE;
    }
}

static qrn_status unknown_type(const char *what, Qnn_DataType_t dtype) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': QNN data type 0x%04x is not known here", what,
                    (unsigned)dtype);
}

static bool packed(int type) { return type == OX_U4 || type == OX_I4; }

qrn_status qt_to_qnn(const char *what, const qt_array *a, Qnn_DataType_t dtype, void *buffer) {
    int type = qt_type_of_qnn(dtype);
    if (type == OX_NONE)
        return unknown_type(what, dtype);
    if (type == a->type && !packed(type) && type != OX_BOOL) {
        memcpy(buffer, a->data, a->bytes);
        return QRN_OK;
    }
    if (packed(type))
        memset(buffer, 0, (a->count + 1) / 2);
    for (size_t i = 0; i < a->count; i++) {
        if (is_float(type)) {
            put_float(type, buffer, i, qt_array_at(a, i));
            continue;
        }
        if (is_float(a->type))
            return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': %s values for a tensor of %s", what,
                            ox_type_name(a->type), ox_type_name(type));
        integer v = get_integer(a, i);
        bool exact;
        uint64_t bits = clamp(v, range_of(type), &exact);
        if (!exact)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "tensor '%s': value %.0f at index %zu does not fit the %s in which the "
                            "backend holds it",
                            what, qt_array_at(a, i), i, ox_type_name(type));
        if (packed(type))
            ((uint8_t *)buffer)[i / 2] |= (uint8_t)((bits & 15) << (4 * (i & 1)));
        else
            put_bits(buffer, i, qt_element_size(type), bits);
    }
    return QRN_OK;
}

// Elements of a packed buffer, one to a byte.
static void unpack(const uint8_t *src, int type, size_t count, uint8_t *dst) {
    for (size_t i = 0; i < count; i++) {
        unsigned v = src[i / 2] >> (4 * (i & 1)) & 15;
        dst[i] = (uint8_t)(type == OX_I4 && v > 7 ? v | 0xf0 : v);
    }
}

qrn_status qt_from_qnn(const char *what, const void *buffer, Qnn_DataType_t dtype, qt_array *a) {
    int type = qt_type_of_qnn(dtype);
    if (type == OX_NONE)
        return unknown_type(what, dtype);
    if (packed(type)) {
        qt_array wide;
        QRN_TRY(qt_array_create(what, type, a->rank, a->dims, &wide));
        unpack(buffer, type, a->count, wide.data);
        qt_array cast;
        qrn_status s = qt_array_cast(what, &wide, a->type, &cast);
        qt_array_free(&wide);
        if (s != QRN_OK)
            return s;
        memcpy(a->data, cast.data, a->bytes);
        qt_array_free(&cast);
        return QRN_OK;
    }
    if (type == a->type && type != OX_BOOL) {
        memcpy(a->data, buffer, a->bytes);
        return QRN_OK;
    }
    qt_array view = *a;
    view.type = type;
    view.data = (void *)(uintptr_t)buffer; // only read
    qt_array cast;
    QRN_TRY(qt_array_cast(what, &view, a->type, &cast));
    memcpy(a->data, cast.data, a->bytes);
    qt_array_free(&cast);
    return QRN_OK;
}
