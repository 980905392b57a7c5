// SPDX-License-Identifier: MIT
#include "tools/converter/source.h"

#include "frontend/onnx/reader/schema.h"
#include "quantizer/proto.h"
#include "tools/quern/output.h"
#include "tools/sdk/json_keys.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// --- the model

static const char *unfit(const ox_model *m) {
    const ox_graph *g = m->graph;
    if (cv_has_quantizers(g))
        return "the model is quantized already";
    if (m->n_functions)
        return "the model has functions";
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_attrs; k++)
            if (g->nodes[i].attrs[k].type == OX_ATTR_GRAPH ||
                g->nodes[i].attrs[k].type > OX_ATTR_STRINGS)
                return "the model has nested graphs";
    return NULL;
}

static qrn_status put_node(ox_writer *graph, const ox_node *n) {
    ox_writer w = {0};
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < n->n_in; i++)
        ox_put_text(&w, PB_NODE_INPUT, n->in[i]);
    for (uint32_t i = 0; i < n->n_out; i++)
        ox_put_text(&w, PB_NODE_OUTPUT, n->out[i]);
    ox_put_text(&w, PB_NODE_NAME, n->name);
    ox_put_text(&w, PB_NODE_OP_TYPE, n->op);
    if (n->domain[0])
        ox_put_text(&w, PB_NODE_DOMAIN, n->domain);
    for (uint32_t i = 0; i < n->n_attrs && s == QRN_OK; i++)
        s = qz_put_attribute(&w, &n->attrs[i]);
    ox_put_message(graph, PB_GRAPH_NODE, &w);
    return s;
}

static qrn_status put_constant(ox_writer *graph, const ox_tensor *c) {
    qz_tensor t = {c->name, c->type, c->rank, {0}, c->data, c->bytes};
    for (uint32_t i = 0; i < c->rank; i++) {
        if (c->dims[i] > UINT32_MAX)
            return QRN_FAIL(QRN_E_SHAPE, "initializer '%s' is too large", c->name);
        t.dims[i] = (uint32_t)c->dims[i];
    }
    return qz_put_tensor(graph, PB_GRAPH_INITIALIZER, &t, NULL);
}

// A value with as much of its shape as is known; dimensions without a value are left open.
static void put_info(ox_writer *graph, uint32_t field, const ox_info *info) {
    ox_writer shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (uint32_t i = 0; i < info->rank; i++) {
        ox_writer dim = {0};
        if (info->dims[i] >= 0)
            ox_put_int(&dim, PB_DIM_VALUE, info->dims[i]);
        ox_put_message(&shape, PB_SHAPE_DIM, &dim);
    }
    ox_put_text(&value, PB_VALUE_NAME, info->name);
    if (info->type != OX_NONE)
        ox_put_int(&tensor, PB_TENSOR_TYPE_ELEM_TYPE, info->type);
    if (info->type != OX_NONE && info->has_shape)
        ox_put_message(&tensor, PB_TENSOR_TYPE_SHAPE, &shape);
    if (info->type != OX_NONE) {
        ox_put_message(&type, PB_TYPE_TENSOR, &tensor);
        ox_put_message(&value, PB_VALUE_TYPE, &type);
    }
    ox_put_message(graph, field, &value);
    ox_writer_free(&shape);
}

// What is said about values between nodes may be wrong once inputs have other shapes: importers and
// checkers infer it.
static void put_infos(ox_writer *graph, uint32_t field, const ox_info *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        put_info(graph, field, &list[i]);
}

static qrn_status put_graph(ox_writer *to, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        QRN_TRY(put_node(to, &g->nodes[i]));
    ox_put_text(to, PB_GRAPH_NAME, g->name && g->name[0] ? g->name : "graph");
    for (uint32_t i = 0; i < g->n_constants; i++)
        QRN_TRY(put_constant(to, &g->constants[i]));
    put_infos(to, PB_GRAPH_INPUT, g->inputs, g->n_inputs);
    put_infos(to, PB_GRAPH_OUTPUT, g->outputs, g->n_outputs);
    return QRN_OK;
}

int cv_source_write(const cv_model *m, ox_writer *out, const char **why) {
    ox_writer graph = {0};
    if ((*why = unfit(m->model)))
        return QT_EXIT_OK;
    if (put_graph(&graph, m->model->graph) != QRN_OK) {
        ox_writer_free(&graph);
        return cv_failed(m, QT_EXIT_REFUSED);
    }
    ox_put_int(out, PB_MODEL_IR_VERSION, m->model->ir_version);
    ox_put_text(out, PB_MODEL_PRODUCER, "quern");
    ox_put_message(out, PB_MODEL_GRAPH, &graph);
    for (uint32_t i = 0; i < m->model->n_opsets; i++) {
        ox_writer set = {0};
        ox_put_text(&set, PB_OPSET_DOMAIN, m->model->opsets[i].domain);
        ox_put_int(&set, PB_OPSET_VERSION, m->model->opsets[i].version);
        ox_put_message(out, PB_MODEL_OPSET, &set);
    }
    if (out->no_memory)
        return cv_no_memory();
    if (out->n <= INT_MAX)
        return QT_EXIT_OK;
    *why = "the model has more than 2 GiB, which ONNX files in one piece cannot have";
    ox_writer_free(out);
    *out = (ox_writer){0};
    return QT_EXIT_OK;
}

// --- what is said about it

typedef struct io_row {
    const char *name;
    qs_int type, scaled, offset;
    qs_real scale;
} io_row;

static const qs_key io_keys[] = {
    {"name", QS_TEXT, offsetof(io_row, name), 0, 0, NULL, NULL, true, NULL},
    {"type", QS_INT, offsetof(io_row, type), OX_F32, OX_F16, NULL, NULL, true, NULL},
    {"scaled", QS_BOOL, offsetof(io_row, scaled), 0, 0, NULL, NULL, true, NULL},
    {"scale", QS_REAL, offsetof(io_row, scale), 0, INT32_MAX, NULL, NULL, true, NULL},
    {"offset", QS_INT, offsetof(io_row, offset), -255, 255, NULL, NULL, true, NULL},
    {0},
};

static qrn_status read_types(const qs_file *f, const qrn_json *v, void *to) {
    cv_ios *list = to;
    void *items = NULL;
    uint32_t n = 0;
    QRN_TRY(qs_keys_list(f, v, "types", io_keys, sizeof(io_row), false, &items, &n));
    for (uint32_t i = 0; i < n; i++) {
        const io_row *row = (const io_row *)items + i;
        cv_io *io = cv_io_find(list, f->arena, row->name, f->path);
        if (!io)
            return QRN_FAIL(QRN_E_MEM, "%s: out of memory", f->path);
        io->type = (int)row->type.v;
        io->scaled = row->scaled.v != 0;
        io->undefined = !io->scaled;
        io->scale = (float)row->scale.v;
        io->offset = (int32_t)row->offset.v;
    }
    return QRN_OK;
}

static const qs_key conversion_keys[] = {
    {"command", QS_TEXT, offsetof(cv_conversion, command), 0, 0, NULL, NULL, false, NULL},
    {"version", QS_TEXT, offsetof(cv_conversion, version), 0, 0, NULL, NULL, false, NULL},
    {"copyright", QS_TEXT, offsetof(cv_conversion, copyright), 0, 0, NULL, NULL, false, NULL},
    {"no_source", QS_TEXT, offsetof(cv_conversion, no_source), 0, 0, NULL, NULL, false, NULL},
    {"types", QS_INNER, offsetof(cv_conversion, types), 0, 0, NULL, read_types, false, NULL},
    {0},
};

int cv_conversion_read(const char *name, const void *data, size_t bytes, qrn_arena *a,
                       cv_conversion *out) {
    const qs_file f = {name, a};
    qrn_json *top = NULL;
    *out = (cv_conversion){0};
    if (qrn_json_read(name, data, bytes, a, &top) == QRN_OK &&
        qs_keys_read(&f, top, CV_CONVERSION, conversion_keys, out) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s", qrn_message());
    return QT_EXIT_INPUT;
}

static bool set(json_t *o, const char *key, const char *text) {
    return !text || !*text || json_object_set_new(o, key, qt_json_text(text)) == 0;
}

char *cv_conversion_write(const cv_conversion *c) {
    json_t *o = json_object(), *types = json_array();
    bool good = o && types && set(o, "command", c->command) && set(o, "version", c->version) &&
                set(o, "copyright", c->copyright) && set(o, "no_source", c->no_source);
    for (uint32_t i = 0; good && i < c->types.n; i++) {
        const cv_io *io = &c->types.items[i];
        if (io->type != OX_NONE)
            good = json_array_append_new(
                       types, json_pack("{s:o, s:i, s:b, s:f, s:i}", "name", qt_json_text(io->name),
                                        "type", io->type, "scaled", (int)io->scaled, "scale",
                                        (double)io->scale, "offset", io->offset)) == 0;
    }
    good = good && json_object_set_new(o, "types", types) == 0;
    if (!good) {
        json_decref(o);
        cv_no_memory();
        return NULL;
    }
    return qt_json_dump(o, JSON_INDENT(1));
}
