// SPDX-License-Identifier: MIT
//
// Tensors of a DLC file. The data of a constant must have exactly the bytes that its type and shape
// need.
#include "dlc/topology.h"

#include <string.h>

static qrn_status read_dims(const qrn_dlc_site *s, const qrn_json *object, qrn_tensor *t) {
    const qrn_json *list = NULL;
    QRN_TRY(qrn_dlc_member(s, object, "dims", QRN_JSON_ARRAY, true, &list));
    if (list->n > QRN_MAX_RANK)
        return qrn_dlc_wrong(s, list, "more than 8 dimensions");
    t->shape.rank = list->n;
    uint32_t i = 0;
    for (const qrn_json *v = list->first; v; v = v->next) {
        uint64_t n = 0;
        QRN_TRY(qrn_dlc_value_u64(s, v, UINT32_MAX, &n));
        t->shape.dims[i++] = (uint32_t)n;
    }
    QRN_TRY(qrn_dlc_member(s, object, "dynamic", QRN_JSON_ARRAY, false, &list));
    if (!list)
        return QRN_OK;
    if (list->n != t->shape.rank)
        return qrn_dlc_wrong(s, list, "'dynamic' has not the tensor's rank");
    i = 0;
    for (const qrn_json *v = list->first; v; v = v->next) {
        uint64_t n = 0;
        QRN_TRY(qrn_dlc_value_u64(s, v, 1, &n));
        t->dynamic[i++] = (uint8_t)n;
        t->has_dynamic |= n != 0;
    }
    return QRN_OK;
}

static qrn_status read_format(const qrn_dlc_site *s, const qrn_json *object, qrn_tensor *t) {
    const qrn_json *v = NULL;
    uint64_t n = 0;
    QRN_TRY(qrn_dlc_member(s, object, "format", QRN_JSON_NUMBER, false, &v));
    if (v)
        QRN_TRY(qrn_dlc_value_u64(s, v, UINT32_MAX, &n));
    t->format = (uint32_t)n;
    QRN_TRY(qrn_dlc_member(s, object, "sparse", QRN_JSON_ARRAY, qrn_tensor_is_sparse(t), &v));
    if (!v)
        return QRN_OK;
    uint64_t elements = 0, dims = 0;
    if (v->n != 2)
        return qrn_dlc_wrong(s, v, "'sparse' is not a pair of numbers");
    QRN_TRY(qrn_dlc_value_u64(s, v->first, UINT32_MAX, &elements));
    QRN_TRY(qrn_dlc_value_u64(s, v->first->next, QRN_MAX_RANK, &dims));
    t->n_sparse_elements = (uint32_t)elements;
    t->n_sparse_dims = (uint32_t)dims;
    return QRN_OK;
}

static qrn_status read_words(const qrn_dlc_site *s, const qrn_json *object, qrn_tensor *t) {
    const char *role = NULL, *type = NULL;
    QRN_TRY(qrn_dlc_text(s, object, "type", &role));
    QRN_TRY(qrn_dlc_text(s, object, "data_type", &type));
    int found = qrn_dlc_role_find(role);
    t->dtype = qrn_dlc_dtype_find(type);
    if (found < 0)
        return qrn_dlc_wrong(s, object, "'type' of the tensor is unknown");
    if (t->dtype == QRN_DTYPE_COUNT)
        return qrn_dlc_wrong(s, object, "'data_type' is unknown");
    t->role = (uint8_t)found;
    QRN_TRY(qrn_dlc_flag(s, object, "updateable", &t->updateable));
    return qrn_dlc_flag(s, object, "optional", &t->optional_io);
}

static qrn_status read_data(const qrn_dlc_site *s, const qrn_json *object, qrn_tensor *t) {
    size_t n;
    if (!qrn_shape_count(&t->shape, &n) || !qrn_dtype_bytes(t->dtype, n, &t->size_bytes))
        return qrn_dlc_wrong(s, object, "the tensor has too many elements");
    if (t->role != QRN_ROLE_STATIC)
        return QRN_OK;
    if (qrn_tensor_is_sparse(t))
        return qrn_dlc_wrong(s, object, "a constant cannot be sparse");
    return qrn_dlc_bytes(s, object, "data", QRN_DLC_WEIGHTS, t->size_bytes, QRN_ZIP_ALIGN, true,
                         &t->data);
}

qrn_status qrn_dlc_read_tensor(const qrn_dlc_site *s, const qrn_json *object, uint32_t id,
                               qrn_arena *a, qrn_tensor **out) {
    qrn_tensor *t = qrn_arena_alloc(a, sizeof *t);
    if (!t)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory for a tensor", s->name);
    qrn_dlc_site here = *s;
    here.item = "a tensor";
    QRN_TRY(qrn_dlc_text(&here, object, "name", &t->name));
    char item[80];
    snprintf(item, sizeof item, "tensor '%.64s'", t->name);
    here.item = item;
    QRN_TRY(qrn_dlc_u32(&here, object, "id", UINT32_MAX, &t->id));
    if (t->id != id)
        return qrn_dlc_wrong(&here, object, "ids do not count from 1 in the order of the file");
    QRN_TRY(read_words(&here, object, t));
    QRN_TRY(read_dims(&here, object, t));
    QRN_TRY(read_format(&here, object, t));
    QRN_TRY(read_data(&here, object, t));
    QRN_TRY(qrn_dlc_read_encoding(&here, object, a, t));
    *out = t;
    return QRN_OK;
}
