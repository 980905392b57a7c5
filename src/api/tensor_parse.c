// SPDX-License-Identifier: MIT
//
// Checks of a client's tensor description, everything except encoding and data. Trusts no field:
// unknown values are errors (QRN_E_TENSOR), known ones that the backend lacks are unsupported.
#include "api/tensor.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qrn_status qrn_site_fail(const qrn_site *w, qrn_status s, const char *fmt, ...) {
    char text[QRN_MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!*w->owner)
        return QRN_FAIL(s, "%s tensor '%s': %s", w->kind, w->tensor, text);
    return QRN_FAIL(s, "%s '%s' tensor '%s': %s", w->kind, w->owner, w->tensor, text);
}

// How a public tensor type reads; in the order of its values.
static const struct role_row {
    uint8_t role; // qrn_role
    bool updateable, optional_io;
} role_rows[] = {
    [QNN_TENSOR_TYPE_APP_WRITE] = {QRN_ROLE_INPUT, false, false},
    [QNN_TENSOR_TYPE_APP_READ] = {QRN_ROLE_OUTPUT, false, false},
    [QNN_TENSOR_TYPE_APP_READWRITE] = {QRN_ROLE_INOUT, false, false},
    [QNN_TENSOR_TYPE_NATIVE] = {QRN_ROLE_NATIVE, false, false},
    [QNN_TENSOR_TYPE_STATIC] = {QRN_ROLE_STATIC, false, false},
    [QNN_TENSOR_TYPE_NULL] = {QRN_ROLE_NULL, false, false},
    [QNN_TENSOR_TYPE_UPDATEABLE_STATIC] = {QRN_ROLE_STATIC, true, false},
    [QNN_TENSOR_TYPE_UPDATEABLE_NATIVE] = {QRN_ROLE_NATIVE, true, false},
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE] = {QRN_ROLE_INPUT, true, false},
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_READ] = {QRN_ROLE_OUTPUT, true, false},
    [QNN_TENSOR_TYPE_UPDATEABLE_APP_READWRITE] = {QRN_ROLE_INOUT, true, false},
    [QNN_TENSOR_TYPE_OPTIONAL_APP_WRITE] = {QRN_ROLE_INPUT, false, true},
    [QNN_TENSOR_TYPE_OPTIONAL_APP_READ] = {QRN_ROLE_OUTPUT, false, true},
    [QNN_TENSOR_TYPE_OPTIONAL_APP_READWRITE] = {QRN_ROLE_INOUT, false, true},
};

static bool has(qrn_feature f) { return (qrn_this_backend.features & f) != 0; }

static qrn_status parse_role(Qnn_TensorType_t type, qrn_tensor_place place, const qrn_site *w,
                             qrn_tensor *t) {
    if ((uint32_t)type >= sizeof(role_rows) / sizeof(role_rows[0]))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "tensor type %d, allowed 0 to 13", (int)type);
    const struct role_row *row = &role_rows[type];
    if (place == QRN_PLACE_GRAPH && row->role == QRN_ROLE_INOUT)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a read-write tensor belongs to a context");
    if (place == QRN_PLACE_CONTEXT && row->role == QRN_ROLE_NATIVE)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a native tensor belongs to a graph");
    if (row->updateable && !has(QRN_FEATURE_UPDATEABLE))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "updateable tensors are not supported");
    t->role = row->role;
    t->updateable = row->updateable;
    t->optional_io = row->optional_io;
    return QRN_OK;
}

// Data types of the API that have no arithmetic here.
static bool is_known_type(Qnn_DataType_t type) {
    switch (type) {
    case QNN_DATATYPE_INT_2:
    case QNN_DATATYPE_INT_4:
    case QNN_DATATYPE_UINT_2:
    case QNN_DATATYPE_UINT_4:
    case QNN_DATATYPE_FLOAT_4:
    case QNN_DATATYPE_FLOAT_8:
    case QNN_DATATYPE_SFIXED_POINT_2:
    case QNN_DATATYPE_UFIXED_POINT_2:
        return true;
    default:
        return false;
    }
}

static qrn_status parse_type(Qnn_DataType_t type, const qrn_site *w, qrn_tensor *t) {
    t->dtype = qrn_dtype_from_code((uint32_t)type);
    if (t->dtype == QRN_DTYPE_STR)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a tensor cannot hold strings");
    if (t->dtype != QRN_DTYPE_COUNT)
        return QRN_OK;
    if (is_known_type(type))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "data type 0x%04x is not supported",
                             (unsigned)type);
    return QRN_SITE_FAIL(w, QRN_E_TENSOR, "unknown data type 0x%04x", (unsigned)type);
}

static qrn_status parse_shape(const Qnn_TensorV2_t *src, const qrn_site *w, qrn_tensor *t) {
    if (src->rank > QRN_MAX_RANK)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "rank %u, at most %u supported",
                             src->rank, QRN_MAX_RANK);
    if (src->rank && !src->dimensions)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "rank %u without dimensions", src->rank);
    t->shape.rank = src->rank;
    for (uint32_t i = 0; i < src->rank; i++) {
        if (src->dimensions[i] == 0)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR, "dimension %u is 0, expected at least 1", i);
        t->shape.dims[i] = src->dimensions[i];
    }
    size_t count;
    if (!qrn_shape_count(&t->shape, &count) || !qrn_dtype_bytes(t->dtype, count, &t->size_bytes)) {
        char text[128];
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "shape %s has more bytes than can be addressed",
                             qrn_shape_text(&t->shape, text, sizeof(text)));
    }
    return QRN_OK;
}

static qrn_status parse_dynamic(const Qnn_Tensor_t *src, const qrn_site *w, qrn_tensor *t) {
    if (!qrn_client_is_v2(src) || !src->v2.isDynamicDimensions)
        return QRN_OK;
    for (uint32_t i = 0; i < t->shape.rank; i++) {
        t->dynamic[i] = src->v2.isDynamicDimensions[i] != 0;
        t->has_dynamic |= t->dynamic[i] != 0;
    }
    if (t->has_dynamic && !has(QRN_FEATURE_DYNAMIC_DIMS))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "dynamic dimensions are not supported");
    if (t->has_dynamic && t->role == QRN_ROLE_STATIC)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a static tensor with dynamic dimensions");
    return QRN_OK;
}

// Hybrid COO: `n_sparse_dims` int32 indices for each specified element, then the elements' values
// (each of the remaining dense dimensions).
static qrn_status parse_sparse(const Qnn_Tensor_t *src, const qrn_site *w, qrn_tensor *t) {
    if (!has(QRN_FEATURE_SPARSE))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "sparse tensors are not supported");
    if (!qrn_client_is_v2(src))
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a sparse tensor needs a version 2 description");
    const Qnn_SparseParams_t *p = &src->v2.sparseParams;
    if (p->type != QNN_SPARSE_LAYOUT_HYBRID_COO)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "sparse layout %d, allowed 0", (int)p->type);
    uint32_t n = p->hybridCoo.numSpecifiedElements, dims = p->hybridCoo.numSparseDimensions;
    if (n == 0 || dims == 0 || dims > t->shape.rank)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "%u sparse dimensions of %u with %u elements", dims,
                             t->shape.rank, n);
    size_t values = n, indices, value_bytes;
    bool fits = true;
    for (uint32_t i = dims; i < t->shape.rank; i++)
        fits = fits && qrn_mul_size(values, t->shape.dims[i], &values);
    fits = fits && qrn_dtype_bytes(t->dtype, values, &value_bytes) &&
           qrn_mul_size((size_t)n * dims, sizeof(int32_t), &indices) &&
           qrn_add_size(indices, value_bytes, &t->size_bytes);
    if (!fits)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "%u sparse elements are more than can be addressed",
                             n);
    t->n_sparse_elements = n;
    t->n_sparse_dims = dims;
    return QRN_OK;
}

// Nobody has that much memory, and sums of a few sizes below the limit cannot overflow.
#define LARGEST_TENSOR ((size_t)1 << 40)

static qrn_status check_size(const qrn_site *w, const qrn_tensor *t) {
    char text[128];
    if (t->size_bytes <= LARGEST_TENSOR)
        return QRN_OK;
    return QRN_SITE_FAIL(w, QRN_E_TENSOR,
                         "shape %s of type %s needs %zu bytes, at most %zu allowed",
                         qrn_shape_text(&t->shape, text, sizeof(text)), qrn_dtypes[t->dtype].token,
                         t->size_bytes, LARGEST_TENSOR);
}

static qrn_status parse_format(const Qnn_Tensor_t *src, const qrn_site *w, qrn_tensor *t) {
    t->format = qrn_client_tensor(src)->dataFormat;
    if (t->format == QRN_FORMAT_SPARSE)
        QRN_TRY(parse_sparse(src, w, t));
    if (t->format == QRN_FORMAT_DENSE || t->format == QRN_FORMAT_SPARSE)
        return check_size(w, t);
    if (t->format == QRN_FORMAT_NATIVE_KV && has(QRN_FEATURE_NATIVE_KV)) {
        if (t->role == QRN_ROLE_INPUT || t->role == QRN_ROLE_OUTPUT)
            return check_size(w, t);
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED,
                             "data format %u (HMX_WEIGHT_LAYOUT) is for inputs and outputs of a "
                             "graph that are a KV cache",
                             t->format);
    }
    if (t->format <= QNN_TENSOR_DATA_FORMAT_BATCH_ALIGNED_256)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "data format %u is not supported",
                             t->format);
    return QRN_SITE_FAIL(w, QRN_E_TENSOR, "unknown data format %u", t->format);
}

// What kind of memory is described; the data itself is looked at when it is copied.
static qrn_status check_memory(const Qnn_Tensor_t *src, const qrn_site *w, const qrn_tensor *t) {
    const Qnn_TensorV2_t *c = qrn_client_tensor(src);
    bool is_static = t->role == QRN_ROLE_STATIC;
    switch (c->memType) {
    case QNN_TENSORMEMTYPE_RAW:
        if (!is_static && c->clientBuf.data)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR,
                                 "buffer given for a tensor that is not static, expected NULL");
        return QRN_OK;
    case QNN_TENSORMEMTYPE_MEMHANDLE:
        if (!has(QRN_FEATURE_MEM))
            return QRN_SITE_FAIL(w, QRN_E_TENSOR_UNSUPPORTED, "memory handles are not supported");
        return QRN_OK;
    case QNN_TENSORMEMTYPE_RETRIEVE_RAW:
        if (!qrn_client_is_v2(src) || !is_static || !c->retrieveRaw ||
            !c->retrieveRaw->getTensorData || !c->retrieveRaw->freeTensorData)
            return QRN_SITE_FAIL(w, QRN_E_TENSOR,
                                 "data on request needs a static tensor, a version 2 description "
                                 "and both callbacks");
        return QRN_OK;
    default:
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "memory type %d, allowed 0, 1, 2", (int)c->memType);
    }
}

qrn_status qrn_tensor_parse(const Qnn_Tensor_t *src, qrn_tensor_place place, const qrn_site *w,
                            qrn_tensor *t) {
    *t = (qrn_tensor){0};
    if (src->version != QNN_TENSOR_VERSION_1 && src->version != QNN_TENSOR_VERSION_2)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "version %d of the description, allowed 1 and 2",
                             (int)src->version);
    const Qnn_TensorV2_t *c = qrn_client_tensor(src);
    t->name = c->name ? c->name : "";
    if (place != QRN_PLACE_OP && !*t->name)
        return QRN_SITE_FAIL(w, QRN_E_TENSOR, "a tensor needs a name");
    QRN_TRY(parse_role(c->type, place, w, t));
    if (t->role == QRN_ROLE_NULL) // a placeholder: nothing else of it is looked at
        return QRN_OK;
    QRN_TRY(parse_type(c->dataType, w, t));
    QRN_TRY(parse_shape(c, w, t));
    QRN_TRY(parse_dynamic(src, w, t));
    QRN_TRY(parse_format(src, w, t));
    return place == QRN_PLACE_OP ? QRN_OK : check_memory(src, w, t);
}
