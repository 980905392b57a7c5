// SPDX-License-Identifier: MIT
//
// The model as JSON: every tensor and node, with encodings, parameters, numbers of weights and
// multiply-accumulates. One key is misspelt in the published format and therefore here.
#include "tools/onnx_converter/convert.h"

#include "tools/quern/output.h"

#include <inttypes.h>
#include <string.h>

static bool set(json_t *o, const char *key, json_t *value) {
    return json_object_set_new(o, key, value) == 0;
}

static json_t *scale_offset(float scale, int32_t offset) {
    return json_pack("{s:f, s:i}", "scale", (double)scale, "offset", (int)offset);
}

static json_t *pairs_of(const mc_tensor *t) {
    const Qnn_AxisScaleOffset_t *e = &t->t.quantizeParams.axisScaleOffsetEncoding;
    return json_pack("{s:i, s:i}", "axis", (int)e->axis, "num_scale_offsets",
                     (int)e->numScaleOffsets);
}

// Encodings of channels are in the data file; here is how many there are.
static json_t *encoding_of(const mc_tensor *t) {
    const Qnn_QuantizeParams_t *q = &t->t.quantizeParams;
    json_t *o = json_pack("{s:i, s:i}", "definition", (int)q->encodingDefinition, "encoding",
                          (int)q->quantizationEncoding);
    bool good = o != NULL;
    if (good && q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET)
        good = set(o, "axis_scale_offset", pairs_of(t));
    else if (good && q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET)
        good = set(o, "scale_offset",
                   scale_offset(q->scaleOffsetEncoding.scale, q->scaleOffsetEncoding.offset));
    else if (good)
        good = set(o, "scale_offset", scale_offset(0, 0));
    if (!good) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *dims_of(const mc_tensor *t) {
    json_t *a = json_array();
    for (uint32_t i = 0; a && i < t->t.rank; i++)
        if (json_array_append_new(a, json_integer(t->dims[i])) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static uint64_t count_of(const mc_tensor *t) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->t.rank; i++)
        n *= t->dims[i];
    return n;
}

static json_t *tensor_of(const mc_tensor *t) {
    json_t *o = json_pack("{s:i, s:i, s:i, s:i, s:o, s:o, s:o}", "id", (int)t->t.id, "type",
                          (int)t->t.type, "dataFormat", (int)t->t.dataFormat, "data_type",
                          (int)t->t.dataType, "quant_params", encoding_of(t), "current_dims",
                          dims_of(t), "max_dims", dims_of(t));
    if (o && t->t.type == QNN_TENSOR_TYPE_STATIC &&
        !set(o, "params_count", json_integer((json_int_t)count_of(t)))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

// --- nodes

// Values of a parameter's tensor: 32-bit numbers.
static json_t *values_of(const mc_tensor *t) {
    json_t *a = json_array();
    uint64_t n = count_of(t);
    for (uint64_t i = 0; a && i < n; i++) {
        uint32_t bits;
        float real;
        memcpy(&bits, (const char *)t->inline_data + 4 * i, sizeof bits);
        memcpy(&real, &bits, sizeof real);
        json_t *v = t->t.dataType == QNN_DATATYPE_FLOAT_32 ? json_real((double)real)
                    : t->t.dataType == QNN_DATATYPE_INT_32 ? json_integer((int32_t)bits)
                                                           : json_integer(bits);
        if (json_array_append_new(a, v) != 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *tensor_param(const mc_tensor *t) {
    json_t *one = tensor_of(t), *o = json_object();
    bool wide = t->t.dataType == QNN_DATATYPE_FLOAT_32 || t->t.dataType == QNN_DATATYPE_INT_32 ||
                t->t.dataType == QNN_DATATYPE_UINT_32;
    if (one && o && (!wide || set(one, "data", values_of(t))) && set(o, t->name, one))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *scalar_param(const Qnn_Scalar_t *s) {
    char key[16];
    json_t *v = s->dataType == QNN_DATATYPE_FLOAT_32   ? json_real((double)s->floatValue)
                : s->dataType == QNN_DATATYPE_FLOAT_64 ? json_real(s->doubleValue)
                : s->dataType == QNN_DATATYPE_STRING   ? qt_json_text(s->stringValue)
                : s->dataType == QNN_DATATYPE_BOOL_8   ? json_integer(s->bool8Value)
                : s->dataType == QNN_DATATYPE_INT_32   ? json_integer(s->int32Value)
                                                       : json_integer(s->uint32Value);
    json_t *o = json_object();
    snprintf(key, sizeof key, "%d", (int)s->dataType);
    if (o && v && set(o, key, v))
        return o;
    json_decref(o);
    return NULL;
}

static json_t *names_of(const mc_record *r, const int32_t *list, uint32_t n) {
    json_t *a = json_array();
    for (uint32_t i = 0; a && i < n; i++)
        if (list[i] >= 0 && json_array_append_new(a, json_string(r->tensors[list[i]].name)) != 0) {
            json_decref(a);
            return NULL;
        }
    return a;
}

static bool param_is_true(const mc_node *n, const char *name) {
    for (uint32_t i = 0; i < n->n_params; i++)
        if (n->params[i].tensor < 0 && strcmp(n->params[i].name, name) == 0)
            return n->params[i].scalar.bool8Value != 0;
    return false;
}

// Multiply-accumulates of one execution; 0 for ops that are no products.
static uint64_t macs_of(const mc_record *r, const mc_node *n) {
    if (n->n_in < 2 || n->in[0] < 0 || n->in[1] < 0 || !n->n_out || n->out[0] < 0)
        return 0;
    const mc_tensor *x = &r->tensors[n->in[0]], *w = &r->tensors[n->in[1]];
    const mc_tensor *y = &r->tensors[n->out[0]];
    if (!x->t.rank || !w->t.rank)
        return 0;
    uint64_t last = w->dims[w->t.rank - 1];
    if (strcmp(n->type, "FullyConnected") == 0)
        return count_of(y) * last;
    if (strcmp(n->type, "MatMul") == 0)
        return count_of(y) * (param_is_true(n, "transpose_in0") && x->t.rank > 1
                                  ? x->dims[x->t.rank - 2]
                                  : x->dims[x->t.rank - 1]);
    if (strncmp(n->type, "TransposeConv", 13) == 0)
        return x->dims[x->t.rank - 1] ? count_of(x) * (count_of(w) / w->dims[w->t.rank - 2]) : 0;
    if (strstr(n->type, "Conv") && last)
        return count_of(y) * (count_of(w) / last);
    return 0;
}

static json_t *node_of(const mc_record *r, const mc_node *n) {
    json_t *tensors = json_object(), *scalars = json_object();
    bool good = tensors && scalars;
    for (uint32_t i = 0; good && i < n->n_params; i++) {
        const mc_param *p = &n->params[i];
        good = p->tensor < 0 ? set(scalars, p->name, scalar_param(&p->scalar))
                             : set(tensors, p->name, tensor_param(&r->tensors[p->tensor]));
    }
    json_t *o =
        good ? json_pack("{s:o, s:s, s:O, s:O, s:o, s:o}", "package", qt_json_text(n->package),
                         "type", n->type, "tensor_params", tensors, "scalar_params", scalars,
                         "input_names", names_of(r, n->in, n->n_in), "output_names",
                         names_of(r, n->out, n->n_out))
             : NULL;
    json_decref(tensors);
    json_decref(scalars);
    if (o && !set(o, "macs_per_inference", json_integer((json_int_t)macs_of(r, n)))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

// --- the whole

static json_t *op_types(const mc_record *r) {
    json_t *seen = json_object(), *list = json_array();
    for (uint32_t i = 0; seen && list && i < r->n_nodes; i++)
        if (!json_object_get(seen, r->nodes[i].type)) {
            set(seen, r->nodes[i].type, json_true());
            json_array_append_new(list, json_string(r->nodes[i].type));
        }
    json_decref(seen);
    return list;
}

// A number with its unit as the format has it: text.
static json_t *total(uint64_t n) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, n);
    return json_string(text);
}

static bool is_param(const mc_tensor *t) { return t->inline_data != NULL; }

static json_t *graph_of(const mc_record *r, uint64_t *weights, uint64_t *macs) {
    json_t *tensors = json_object(), *nodes = json_object();
    bool good = tensors && nodes;
    for (uint32_t i = 0; good && i < r->n_tensors; i++) {
        const mc_tensor *t = &r->tensors[i];
        if (is_param(t))
            continue;
        *weights += t->t.type == QNN_TENSOR_TYPE_STATIC ? count_of(t) : 0;
        good = set(tensors, t->name, tensor_of(t));
    }
    for (uint32_t i = 0; good && i < r->n_nodes; i++) {
        *macs += macs_of(r, &r->nodes[i]);
        good = set(nodes, r->nodes[i].name, node_of(r, &r->nodes[i]));
    }
    if (!good) {
        json_decref(tensors);
        json_decref(nodes);
        return NULL;
    }
    return json_pack("{s:o, s:o}", "tensors", tensors, "nodes", nodes);
}

json_t *mc_make_json(const mc_model *m) {
    uint64_t weights = 0, macs = 0;
    json_t *graph = graph_of(m->record, &weights, &macs);
    if (!graph)
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "model.cpp", m->cpp_name,
                     "model.bin", m->bin_name ? m->bin_name : "NA", "coverter_command",
                     qt_json_text(m->command), "copyright_str",
                     qt_json_text(m->copyright ? m->copyright : ""), "op_types",
                     op_types(m->record), "Total parameters", total(weights),
                     "Total MACs per inference", total(macs), "graph", graph);
}
