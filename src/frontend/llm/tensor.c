// SPDX-License-Identifier: MIT
//
// Real numbers in the types that graphs have for them.
#include "frontend/llm/signature.h"

#include "base/dtype.h"
#include "base/fp16.h"
#include "base/quant.h"

#include <math.h>
#include <string.h>

size_t ql_element_bytes(Qnn_DataType_t type) {
    switch (type) {
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
        return 1;
    case QNN_DATATYPE_FLOAT_16:
    case QNN_DATATYPE_UFIXED_POINT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
        return 2;
    case QNN_DATATYPE_FLOAT_32:
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_UINT_32:
        return 4;
    case QNN_DATATYPE_INT_64:
        return 8;
    default:
        return 0;
    }
}

bool ql_is_integer(Qnn_DataType_t type) {
    return type == QNN_DATATYPE_INT_32 || type == QNN_DATATYPE_UINT_32 ||
           type == QNN_DATATYPE_INT_64;
}

void ql_integer_store(Qnn_DataType_t type, uint32_t value, void *buffer, size_t at) {
    if (type == QNN_DATATYPE_INT_64)
        ((int64_t *)buffer)[at] = value;
    else
        ((uint32_t *)buffer)[at] = value;
}

size_t ql_tensor_count(const ql_tensor *t) {
    size_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

size_t ql_tensor_bytes(const ql_tensor *t) {
    return ql_tensor_count(t) * ql_element_bytes(t->type);
}

bool ql_tensor_same_numbers(const ql_tensor *a, const ql_tensor *b) {
    bool real = a->type == QNN_DATATYPE_FLOAT_32 || a->type == QNN_DATATYPE_FLOAT_16;
    return a->type == b->type && (real || (a->scale == b->scale && a->offset == b->offset));
}

static int64_t quantized(const ql_tensor *t, float v) {
    int64_t low, high;
    qrn_quant_range(qrn_dtype_from_code((uint32_t)t->type), 0, &low, &high);
    double q = floor((double)v / (double)t->scale + 0.5) - t->offset;
    return isnan(q)           ? -(int64_t)t->offset
           : q < (double)low  ? low
           : q > (double)high ? high
                              : (int64_t)q;
}

void ql_tensor_store(const ql_tensor *t, const float *from, size_t n, void *buffer, size_t at) {
    if (t->type == QNN_DATATYPE_FLOAT_32) {
        memcpy((float *)buffer + at, from, n * sizeof *from);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (t->type == QNN_DATATYPE_FLOAT_16)
            ((uint16_t *)buffer)[at + i] = qrn_f16_from_f64((double)from[i]);
        else if (ql_element_bytes(t->type) == 1)
            ((uint8_t *)buffer)[at + i] = (uint8_t)quantized(t, from[i]);
        else
            ((uint16_t *)buffer)[at + i] = (uint16_t)quantized(t, from[i]);
    }
}

static int32_t integer_at(const ql_tensor *t, const void *buffer, size_t i) {
    switch (t->type) {
    case QNN_DATATYPE_UFIXED_POINT_8:
        return ((const uint8_t *)buffer)[i];
    case QNN_DATATYPE_SFIXED_POINT_8:
        return ((const int8_t *)buffer)[i];
    case QNN_DATATYPE_UFIXED_POINT_16:
        return ((const uint16_t *)buffer)[i];
    default:
        return ((const int16_t *)buffer)[i];
    }
}

void ql_tensor_load(const ql_tensor *t, const void *buffer, size_t at, size_t n, float *to) {
    if (t->type == QNN_DATATYPE_FLOAT_32) {
        memcpy(to, (const float *)buffer + at, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] =
            t->type == QNN_DATATYPE_FLOAT_16
                ? qrn_f16_to_f32(((const uint16_t *)buffer)[at + i])
                : (float)((double)t->scale * ((double)integer_at(t, buffer, at + i) + t->offset));
}
