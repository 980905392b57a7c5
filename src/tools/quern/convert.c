// SPDX-License-Identifier: MIT
//
// Numbers from one type to another: casts between arrays, and the buffers of QNN tensors. Integers
// pass through 64-bit integers, everything else through double.
#include "tools/quern/array.h"

#include "reference/number.h"

#include <string.h>

static bool is_float(int type) { return qrn_dtype_is_float(ox_type_dtype(type)); }

// An integer, or a float truncated to one, of the kind that holds it.
static qrn_num integer_at(const qt_array *a, size_t i, qrn_kind *kind) {
    qrn_num v;
    qrn_dtype t = ox_type_dtype(a->type);
    qrn_nums_load(&v, t, (const char *)a->data + i * qrn_elem_of(t), 0, 1);
    *kind = qrn_kind_of(t);
    if (*kind != QRN_KIND_FLOAT)
        return v;
    *kind = v.f < 0 ? QRN_KIND_SIGNED : QRN_KIND_UNSIGNED;
    qrn_nums_cast(&v, 1, QRN_KIND_FLOAT, v.f < 0 ? QRN_DTYPE_I64 : QRN_DTYPE_U64,
                  QRN_CAST_SATURATE);
    return v;
}

// Brings an integer into the range of a type; false when it was outside.
static bool clamp(qrn_num *v, qrn_kind kind, int type) {
    qrn_dtype t = ox_type_dtype(type);
    qrn_num lo, hi;
    qrn_range_of(t, &lo, &hi);
    bool negative = kind == QRN_KIND_SIGNED && v->i < 0;
    bool fits = negative ? qrn_kind_of(t) == QRN_KIND_SIGNED && v->i >= lo.i : v->u <= hi.u;
    if (!fits)
        *v = negative ? lo : hi;
    return fits;
}

// Writes element i of a buffer; 4-bit types have a byte, filled with the sign.
static void put(void *data, size_t i, int type, qrn_num v) {
    qrn_dtype t = type == OX_I4 ? QRN_DTYPE_I8 : type == OX_U4 ? QRN_DTYPE_U8 : ox_type_dtype(type);
    qrn_nums_store(&v, t, (char *)data + i * qrn_elem_of(t), 0, 1);
}

// To a float type, as many elements at a time as it takes to look the types up rarely.
enum { BLOCK = 256 };
static void cast_block(const qt_array *a, size_t first, size_t n, qt_array *out) {
    qrn_num v[BLOCK];
    qrn_dtype from = ox_type_dtype(a->type), to = ox_type_dtype(out->type);
    ptrdiff_t step = (ptrdiff_t)qt_element_size(a->type), step_to = (ptrdiff_t)qrn_elem_of(to);
    qrn_nums_read(v, from, (const char *)a->data + (ptrdiff_t)first * step, step, n,
                  QRN_KIND_FLOAT);
    qrn_nums_store(v, to, (char *)out->data + (ptrdiff_t)first * step_to, step_to, n);
}

qrn_status qt_array_cast(const char *what, const qt_array *a, int type, qt_array *out) {
    qt_array made;
    QRN_TRY(qt_array_create(what, type, a->rank, a->dims, &made));
    bool to_float = is_float(type);
    for (size_t i = 0; to_float && i < a->count; i += BLOCK)
        cast_block(a, i, a->count - i < BLOCK ? a->count - i : BLOCK, &made);
    for (size_t i = 0; !to_float && i < a->count; i++) {
        qrn_kind kind;
        qrn_num v = integer_at(a, i, &kind);
        clamp(&v, kind, type);
        put(made.data, i, type, v);
    }
    *out = made;
    return QRN_OK;
}

int qt_type_of_qnn(Qnn_DataType_t dtype) {
    qrn_dtype t = qrn_dtype_from_code((uint32_t)dtype);
    for (int type = OX_NONE + 1; t != QRN_DTYPE_COUNT && type <= OX_I4; type++) {
        qrn_dtype own = ox_type_dtype(type);
        bool is_int = own != QRN_DTYPE_COUNT && own != QRN_DTYPE_B8 && t != QRN_DTYPE_B8 &&
                      !qrn_dtype_is_float(own);
        if (own == t || (is_int && qrn_kind_of(own) == qrn_kind_of(t) &&
                         qrn_dtypes[own].bits == qrn_dtypes[t].bits))
            return type;
    }
    return OX_NONE;
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
            put(buffer, i, type, (qrn_num){.f = qt_array_at(a, i)});
            continue;
        }
        if (is_float(a->type))
            return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': %s values for a tensor of %s", what,
                            ox_type_name(a->type), ox_type_name(type));
        qrn_kind kind;
        qrn_num v = integer_at(a, i, &kind);
        if (!clamp(&v, kind, type))
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "tensor '%s': value %.0f at index %zu does not fit the %s in which the "
                            "backend holds it",
                            what, qt_array_at(a, i), i, ox_type_name(type));
        if (packed(type))
            ((uint8_t *)buffer)[i / 2] |= (uint8_t)((v.u & 15) << (4 * (i & 1)));
        else
            put(buffer, i, type, v);
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
