// SPDX-License-Identifier: MIT
#include "tools/sdk/raw_files.h"

#include "base/file.h"
#include "base/quant.h"
#include "tools/quern/array.h"
#include "tools/quern/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

qs_shape qs_shape_of(const qc_tensor *t, uint32_t multiplier) {
    size_t count = qc_tensor_count(t) * multiplier;
    return (qs_shape){t, count, (count * qc_dtype_bits(t->t.v1.dataType) + 7) / 8};
}

size_t qs_file_bytes(const qs_shape *s, bool native) {
    return native ? s->bytes : s->count * sizeof(float);
}

// A flat array of a type.
static qrn_status flat(const char *name, int type, size_t count, qt_array *out) {
    const uint64_t dim = count;
    return qt_array_create(name, type, 1, &dim, out);
}

static uint32_t bits_of(const Qnn_QuantizeParams_t *q) {
    return q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET
               ? q->bwScaleOffsetEncoding.bitwidth
               : 0;
}

// q = round(x / scale) - offset, clamped: what is published for unsigned types, where the value is
// first made positive, and for signed ones.
static qrn_status quantize(const qs_shape *s, const float *values, float scale, int32_t offset,
                           void *buffer) {
    const Qnn_TensorV1_t *v = &s->t->t.v1;
    int64_t lo, hi;
    qt_array q;
    qrn_dtype dtype = qrn_dtype_from_code((uint32_t)v->dataType);
    qrn_quant_range(dtype, bits_of(&v->quantizeParams), &lo, &hi);
    QRN_TRY(flat(v->name, OX_I64, s->count, &q));
    for (size_t i = 0; i < s->count; i++) {
        double x = (double)values[i] / (double)scale;
        double r = lo < 0 ? round(x) - offset : round(x - offset);
        r = isnan(r) ? -offset : r;
        ((int64_t *)q.data)[i] = r < (double)lo ? lo : r > (double)hi ? hi : (int64_t)r;
    }
    qrn_status st = qt_to_qnn(v->name, &q, v->dataType, buffer);
    qt_array_free(&q);
    return st;
}

qrn_status qs_raw_elements(const qs_shape *s, const float *values, void *buffer) {
    const Qnn_TensorV1_t *v = &s->t->t.v1;
    float scale;
    int32_t offset;
    if (v->dataType == QNN_DATATYPE_FLOAT_32) {
        memcpy(buffer, values, s->bytes);
        return QRN_OK;
    }
    if (qt_border_encoding(&s->t->t, &scale, &offset) && scale > 0)
        return quantize(s, values, scale, offset, buffer);
    int type = qt_type_of_qnn(v->dataType);
    if (type == OX_NONE)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': elements of type 0x%x", v->name,
                        (unsigned)v->dataType);
    qt_array floats, cast = {0};
    QRN_TRY(flat(v->name, OX_F32, s->count, &floats));
    memcpy(floats.data, values, floats.bytes);
    qrn_status st = qt_array_cast(v->name, &floats, type, &cast);
    if (st == QRN_OK)
        st = qt_to_qnn(v->name, &cast, v->dataType, buffer);
    qt_array_free(&floats);
    qt_array_free(&cast);
    return st;
}

qrn_status qs_raw_floats(const qs_shape *s, const void *buffer, float *out) {
    const Qnn_TensorV1_t *v = &s->t->t.v1;
    qt_array a;
    QRN_TRY(flat(v->name, OX_F32, s->count, &a));
    qrn_status st = qt_from_qnn(v->name, buffer, v->dataType, &a);
    if (st == QRN_OK) {
        qt_dequantize(&s->t->t, &a);
        memcpy(out, a.data, a.bytes);
    }
    qt_array_free(&a);
    return st;
}

static qrn_status read_part(const char *path, const char *tensor, size_t bytes, void *to) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s = QRN_OK;
    if (f.size == bytes)
        memcpy(to, f.data, bytes);
    else
        s = QRN_FAIL(QRN_E_SHAPE, "%s: %zu bytes, input '%s' needs %zu", path, f.size, tensor,
                     bytes);
    qrn_file_unmap(&f);
    return s;
}

qrn_status qs_raw_load(const qs_shape *s, bool native, const char *const *paths, size_t n,
                       void *buffer) {
    const char *name = s->t->t.v1.name;
    size_t bytes = qs_file_bytes(s, native), part = bytes / n;
    char *whole = native ? buffer : malloc(bytes ? bytes : 1);
    if (!whole)
        return QRN_FAIL(QRN_E_MEM, "input '%s': no memory for %zu bytes", name, bytes);
    qrn_status st = QRN_OK;
    for (size_t i = 0; i < n && st == QRN_OK; i++) {
        if (paths[i])
            st = read_part(paths[i], name, part, whole + i * part);
        else
            memset(whole + i * part, 0, part);
    }
    if (!native && st == QRN_OK)
        st = qs_raw_elements(s, (const float *)(const void *)whole, buffer);
    if (!native)
        free(whole);
    return st;
}
