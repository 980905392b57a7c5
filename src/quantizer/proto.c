// SPDX-License-Identifier: MIT
//
// Messages of ONNX.
#include "quantizer/proto.h"

#include "frontend/onnx/reader/schema.h"

#include <stdio.h>
#include <string.h>

#define LEAST_OUTSIDE 1024 // bytes of a constant that goes to the file of weights

static void put_entry(ox_writer *to, uint32_t field, const char *key, const char *value) {
    ox_writer e = {0};
    ox_put_text(&e, PB_ENTRY_KEY, key);
    ox_put_text(&e, PB_ENTRY_VALUE, value);
    ox_put_message(to, field, &e);
}

static void put_place(ox_writer *t, const char *file, uint64_t offset, size_t bytes) {
    char text[24];
    put_entry(t, PB_TENSOR_EXTERNAL_DATA, "location", file);
    snprintf(text, sizeof text, "%llu", (unsigned long long)offset);
    put_entry(t, PB_TENSOR_EXTERNAL_DATA, "offset", text);
    snprintf(text, sizeof text, "%zu", bytes);
    put_entry(t, PB_TENSOR_EXTERNAL_DATA, "length", text);
    ox_put_int(t, PB_TENSOR_DATA_LOCATION, PB_LOCATION_EXTERNAL);
}

qrn_status qz_put_tensor(ox_writer *to, uint32_t field, const qz_tensor *t,
                         qz_weights_file *weights) {
    ox_writer m = {0};
    qrn_status s = QRN_OK;
    if (ox_type_bits(t->type) == 0)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "constant '%s' of type %s cannot be written", t->name,
                        ox_type_name(t->type));
    for (uint32_t i = 0; i < t->rank; i++)
        ox_put_int(&m, PB_TENSOR_DIMS, t->dims[i]);
    ox_put_int(&m, PB_TENSOR_DATA_TYPE, t->type);
    ox_put_text(&m, PB_TENSOR_NAME, t->name);
    if (weights && t->bytes >= LEAST_OUTSIDE) {
        uint64_t offset = 0;
        s = qz_weights_add(weights, t->data, t->bytes, &offset);
        put_place(&m, qz_weights_name(weights), offset, t->bytes);
    } else {
        ox_put_bytes(&m, PB_TENSOR_RAW_DATA, t->data, t->bytes);
    }
    ox_put_message(to, field, &m);
    return s;
}

void qz_put_value(ox_writer *to, uint32_t field, const char *name, int type, uint32_t rank,
                  const uint32_t *dims) {
    ox_writer shape = {0}, tensor = {0}, t = {0}, value = {0};
    for (uint32_t i = 0; i < rank; i++) {
        ox_writer dim = {0};
        ox_put_int(&dim, PB_DIM_VALUE, dims[i]);
        ox_put_message(&shape, PB_SHAPE_DIM, &dim);
    }
    ox_put_int(&tensor, PB_TENSOR_TYPE_ELEM_TYPE, type);
    ox_put_message(&tensor, PB_TENSOR_TYPE_SHAPE, &shape);
    ox_put_message(&t, PB_TYPE_TENSOR, &tensor);
    ox_put_text(&value, PB_VALUE_NAME, name);
    ox_put_message(&value, PB_VALUE_TYPE, &t);
    ox_put_message(to, field, &value);
}

void qz_put_int(ox_writer *node, const char *name, int64_t v) {
    ox_writer a = {0};
    ox_put_text(&a, PB_ATTR_NAME, name);
    ox_put_int(&a, PB_ATTR_INT, v);
    ox_put_int(&a, PB_ATTR_TYPE, OX_ATTR_INT);
    ox_put_message(node, PB_NODE_ATTRIBUTE, &a);
}

static qrn_status put_value_of(ox_writer *m, const ox_attr *a) {
    qz_tensor t;
    switch (a->type) {
    case OX_ATTR_FLOAT:
        ox_put_float(m, PB_ATTR_FLOAT, a->f);
        return QRN_OK;
    case OX_ATTR_INT:
        ox_put_int(m, PB_ATTR_INT, a->i);
        return QRN_OK;
    case OX_ATTR_STRING:
        ox_put_bytes(m, PB_ATTR_STRING, a->s, a->s_len);
        return QRN_OK;
    case OX_ATTR_TENSOR:
        t = (qz_tensor){
            a->t->name ? a->t->name : "", a->t->type, a->t->rank, {0}, a->t->data, a->t->bytes};
        for (uint32_t i = 0; i < t.rank; i++)
            t.dims[i] = (uint32_t)a->t->dims[i];
        return qz_put_tensor(m, PB_ATTR_TENSOR, &t, NULL);
    case OX_ATTR_FLOATS:
        for (uint32_t i = 0; i < a->n; i++)
            ox_put_float(m, PB_ATTR_FLOATS, a->floats[i]);
        return QRN_OK;
    case OX_ATTR_INTS:
        for (uint32_t i = 0; i < a->n; i++)
            ox_put_int(m, PB_ATTR_INTS, a->ints[i]);
        return QRN_OK;
    case OX_ATTR_STRINGS:
        for (uint32_t i = 0; i < a->n; i++)
            ox_put_text(m, PB_ATTR_STRINGS, a->strings[i]);
        return QRN_OK;
    default:
        return QRN_FAIL(QRN_E_UNSUPPORTED, "attribute '%s' of type %d cannot be written", a->name,
                        a->type);
    }
}

qrn_status qz_put_attribute(ox_writer *node, const ox_attr *a) {
    ox_writer m = {0};
    ox_put_text(&m, PB_ATTR_NAME, a->name);
    qrn_status s = put_value_of(&m, a);
    ox_put_int(&m, PB_ATTR_TYPE, a->type);
    ox_put_message(node, PB_NODE_ATTRIBUTE, &m);
    return s;
}
