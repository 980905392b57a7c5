// SPDX-License-Identifier: MIT
//
// Writing the parts of an ONNX model.
#include "frontend/onnx/writer/graph_write.h"

#include "frontend/onnx/reader/model.h"
#include "frontend/onnx/reader/schema.h"

#include <stdio.h>

void ox_put_attr_int(ox_writer *node, const char *name, int64_t v) {
    ox_writer a = {0};
    ox_put_text(&a, PB_ATTR_NAME, name);
    ox_put_int(&a, PB_ATTR_INT, v);
    ox_put_int(&a, PB_ATTR_TYPE, OX_ATTR_INT);
    ox_put_message(node, PB_NODE_ATTRIBUTE, &a);
}

void ox_put_attr_ints(ox_writer *node, const char *name, const int64_t *v, uint32_t n) {
    ox_writer a = {0};
    ox_put_text(&a, PB_ATTR_NAME, name);
    for (uint32_t i = 0; i < n; i++)
        ox_put_int(&a, PB_ATTR_INTS, v[i]);
    ox_put_int(&a, PB_ATTR_TYPE, OX_ATTR_INTS);
    ox_put_message(node, PB_NODE_ATTRIBUTE, &a);
}

void ox_put_attr_string(ox_writer *node, const char *name, const void *data, size_t n) {
    ox_writer a = {0};
    ox_put_text(&a, PB_ATTR_NAME, name);
    ox_put_bytes(&a, PB_ATTR_STRING, data, n);
    ox_put_int(&a, PB_ATTR_TYPE, OX_ATTR_STRING);
    ox_put_message(node, PB_NODE_ATTRIBUTE, &a);
}

void ox_put_value(ox_writer *graph, uint32_t field, const char *name, int type, uint32_t rank,
                  const uint32_t *dims) {
    ox_writer shape = {0}, tensor = {0}, typed = {0}, value = {0};
    for (uint32_t i = 0; i < rank; i++) {
        ox_writer dim = {0};
        ox_put_int(&dim, PB_DIM_VALUE, dims[i]);
        ox_put_message(&shape, PB_SHAPE_DIM, &dim);
    }
    ox_put_int(&tensor, PB_TENSOR_TYPE_ELEM_TYPE, type);
    ox_put_message(&tensor, PB_TENSOR_TYPE_SHAPE, &shape);
    ox_put_message(&typed, PB_TYPE_TENSOR, &tensor);
    ox_put_text(&value, PB_VALUE_NAME, name);
    ox_put_message(&value, PB_VALUE_TYPE, &typed);
    ox_put_message(graph, field, &value);
}

static void put_entry(ox_writer *tensor, const char *key, const char *value) {
    ox_writer entry = {0};
    ox_put_text(&entry, PB_ENTRY_KEY, key);
    ox_put_text(&entry, PB_ENTRY_VALUE, value);
    ox_put_message(tensor, PB_TENSOR_EXTERNAL_DATA, &entry);
}

void ox_put_constant(ox_writer *graph, const ox_new_constant *c) {
    ox_writer t = {0};
    for (uint32_t i = 0; i < c->rank; i++)
        ox_put_int(&t, PB_TENSOR_DIMS, c->dims[i]);
    ox_put_int(&t, PB_TENSOR_DATA_TYPE, c->type);
    ox_put_text(&t, PB_TENSOR_NAME, c->name);
    if (c->data) {
        ox_put_bytes(&t, PB_TENSOR_RAW_DATA, c->data, (size_t)c->bytes);
    } else {
        char number[24];
        put_entry(&t, "location", c->file);
        snprintf(number, sizeof number, "%llu", (unsigned long long)c->offset);
        put_entry(&t, "offset", number);
        snprintf(number, sizeof number, "%llu", (unsigned long long)c->bytes);
        put_entry(&t, "length", number);
        ox_put_int(&t, PB_TENSOR_DATA_LOCATION, PB_LOCATION_EXTERNAL);
    }
    ox_put_message(graph, PB_GRAPH_INITIALIZER, &t);
}

void ox_put_head(ox_writer *model, int64_t ir_version) {
    ox_put_int(model, PB_MODEL_IR_VERSION, ir_version);
    ox_put_text(model, PB_MODEL_PRODUCER, "quern");
}

void ox_put_opset(ox_writer *model, const char *domain, int64_t version) {
    ox_writer set = {0};
    ox_put_text(&set, PB_OPSET_DOMAIN, domain);
    ox_put_int(&set, PB_OPSET_VERSION, version);
    ox_put_message(model, PB_MODEL_OPSET, &set);
}
