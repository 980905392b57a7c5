// SPDX-License-Identifier: MIT
//
// Writing a planned graph. write_values.c has its values and constants.
//
// An output of the graph is the dequantized one, or of a state the quantized one; the node's own
// result is "<value>_real".
#include "quantizer/write.h"

#include "base/mem.h"
#include "base/pool.h"
#include "frontend/onnx/reader/schema.h"
#include "quantizer/weights.h"
#include "quantizer/writing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define OPSET 21 // the first with 16 and 4-bit types and blocks
#define IR_VERSION 10

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for the model"); }

// --- nodes

// Attributes that are inputs in the opset that is written.
static const char *moved_attribute(const ox_node *n) {
    static const struct {
        const char *op, *attribute;
    } moved[] = {{"Squeeze", "axes"}, {"Unsqueeze", "axes"}, {"Split", "split"}};
    if (n->domain[0] == '\0' && strncmp(n->op, "Reduce", 6) == 0 && ox_attr_find(n, "axes"))
        return "axes";
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++)
        if (qz_is(n, moved[i].op) && ox_attr_find(n, moved[i].attribute))
            return moved[i].attribute;
    return NULL;
}

static qrn_status put_moved(qz_writing *w, const ox_node *n, const char *attribute,
                            ox_writer *node) {
    const ox_attr *a = ox_attr_find(n, attribute);
    const char *name = qz_name_of(w, n->out[0], attribute);
    if (!name)
        return no_memory();
    ox_put_text(node, PB_NODE_INPUT, name);
    return qz_put_constant(w,
                           &(qz_tensor){name, OX_I64, 1, {a->n}, a->ints, a->n * sizeof *a->ints});
}

// Attributes that newer opsets must have, or that mean something else there.
static qrn_status put_newer(const qz_writing *w, const ox_node *n, ox_writer *node) {
    int64_t own = ox_model_opset(w->g->model, "");
    const qz_value *x = qz_find(w->g, n->in[0]);
    if (qz_is(n, "Split") && n->n_in < 2 && own < 18 && !ox_attr_find(n, "split"))
        qz_put_int(node, "num_outputs", n->n_out);
    bool soft = qz_is(n, "Softmax") || qz_is(n, "LogSoftmax") || qz_is(n, "Hardmax");
    if (!soft || own >= 13 || !x)
        return QRN_OK;
    int64_t axis = ox_attr_int(n, "axis", 1);
    if (axis != -1 && axis + 1 != (int64_t)x->rank)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "node '%s' (%s): axis %lld of rank %u means several axes in opset %lld; "
                        "convert the model to opset 13 first",
                        n->name, n->op, (long long)axis, x->rank, (long long)own);
    if (!ox_attr_find(n, "axis"))
        qz_put_int(node, "axis", axis);
    return QRN_OK;
}

static qrn_status put_node(qz_writing *w, const ox_node *n) {
    ox_writer node = {0};
    qrn_status s = QRN_OK;
    const char *moved = moved_attribute(n);
    for (uint32_t i = 0; i < n->n_in && s == QRN_OK; i++) {
        const char *name;
        if ((s = qz_put_input(w, n, i, &name)) == QRN_OK)
            ox_put_text(&node, PB_NODE_INPUT, name);
    }
    if (moved && s == QRN_OK)
        s = put_moved(w, n, moved, &node);
    for (uint32_t i = 0; i < n->n_out && s == QRN_OK; i++) {
        const qz_value *v = qz_find(w->g, n->out[i]);
        bool renamed = v && v->is_output && v->enc.bits;
        const char *name = renamed ? qz_name_of(w, v->name, "real") : n->out[i];
        if (name)
            ox_put_text(&node, PB_NODE_OUTPUT, name);
        else
            s = no_memory();
    }
    ox_put_text(&node, PB_NODE_NAME, n->name);
    ox_put_text(&node, PB_NODE_OP_TYPE, n->op);
    if (n->domain[0])
        ox_put_text(&node, PB_NODE_DOMAIN, n->domain);
    for (uint32_t i = 0; i < n->n_attrs && s == QRN_OK; i++)
        if (!moved || strcmp(n->attrs[i].name, moved) != 0)
            s = qz_put_attribute(&node, &n->attrs[i]);
    if (s == QRN_OK && n->n_in)
        s = put_newer(w, n, &node);
    ox_put_message(&w->nodes, PB_GRAPH_NODE, &node);
    return s;
}

// Was everything that the node makes computed already, and is no output of the model?
static bool is_folded(const qz_writing *w, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qz_value *v = qz_find(w->g, n->out[i]);
        if (v && (!v->data || v->is_output))
            return false;
    }
    return true;
}

// A value inside of a pattern has the shape that the model declares: the importer finds some
// patterns by them.
static void put_declared(qz_writing *w, const qz_value *v) {
    const ox_graph *og = w->g->model->graph;
    uint32_t dims[OX_MAX_RANK];
    for (uint32_t i = 0; i < og->n_infos; i++) {
        const ox_info *info = &og->infos[i];
        if (strcmp(info->name, v->name) != 0)
            continue;
        bool known = info->has_shape && info->rank <= OX_MAX_RANK;
        for (uint32_t k = 0; known && k < info->rank; k++) {
            known = info->dims[k] >= 0 && info->dims[k] <= UINT32_MAX;
            dims[k] = (uint32_t)info->dims[k];
        }
        if (known)
            qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, v->name, info->type, info->rank, dims);
        return;
    }
}

static qrn_status put_nodes(qz_writing *w) {
    const ox_graph *og = w->g->model->graph;
    for (uint32_t i = 0; i < w->g->n_values; i++) {
        qz_value *v = w->g->values[i];
        if (v->is_input && v->enc.bits && v->n_uses)
            QRN_TRY(qz_put_pair(w, v, v->name));
    }
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        if (is_folded(w, n))
            continue;
        QRN_TRY(put_node(w, n));
        for (uint32_t k = 0; k < n->n_out; k++) {
            qz_value *v = qz_find(w->g, n->out[k]);
            if (!v)
                continue;
            const char *made =
                v->is_output && v->enc.bits ? qz_name_of(w, v->name, "real") : v->name;
            if (!made)
                return no_memory();
            if (v->seen && !v->is_output)
                qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, v->name, v->type, v->rank, v->dims);
            else if (!v->is_output)
                put_declared(w, v);
            if (v->enc.bits && !v->data)
                QRN_TRY(qz_put_pair(w, v, made));
            else if (v->type == OX_F32 && !v->data && v->seen && !v->fused) {
                w->report.n_float++;
                QRN_TRY(qz_list_encoding(w, v, &v->enc));
            }
        }
    }
    return QRN_OK;
}

// --- the model

static void put_port(ox_writer *graph, uint32_t field, const qz_writing *w, const ox_info *info) {
    const qz_value *v = qz_find(w->g, info->name);
    uint32_t dims[OX_MAX_RANK], rank = info->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = info->dims[i] < 0 ? 0 : (uint32_t)info->dims[i];
    bool known = v && v->type != OX_NONE;
    int type = known ? v->type : info->type;
    if (v && qz_is_quantized_port(v))
        type = v->enc.bits == 16 ? OX_U16 : OX_U8;
    qz_put_value(graph, field, info->name, type, known ? v->rank : rank, known ? v->dims : dims);
}

static void put_ports(ox_writer *graph, const qz_writing *w) {
    const ox_graph *og = w->g->model->graph;
    for (uint32_t i = 0; i < og->n_inputs; i++) {
        const qz_value *v = qz_find(w->g, og->inputs[i].name);
        if (v && v->is_input)
            put_port(graph, PB_GRAPH_INPUT, w, &og->inputs[i]);
    }
    for (uint32_t i = 0; i < og->n_outputs; i++)
        put_port(graph, PB_GRAPH_OUTPUT, w, &og->outputs[i]);
}

static void put_opsets(ox_writer *model, const qz_writing *w) {
    const ox_model *m = w->g->model;
    for (uint32_t i = 0; i < m->n_opsets; i++) {
        ox_writer set = {0};
        bool standard = m->opsets[i].domain[0] == '\0';
        ox_put_text(&set, PB_OPSET_DOMAIN, m->opsets[i].domain);
        ox_put_int(&set, PB_OPSET_VERSION, standard ? w->opset : m->opsets[i].version);
        ox_put_message(model, PB_MODEL_OPSET, &set);
    }
}

static void put_fact(ox_writer *model, const char *key, const char *value) {
    ox_writer e = {0};
    ox_put_text(&e, PB_ENTRY_KEY, key);
    ox_put_text(&e, PB_ENTRY_VALUE, value);
    ox_put_message(model, PB_MODEL_METADATA, &e);
}

static void put_model(ox_writer *model, const qz_writing *w, ox_writer *graph) {
    char text[64];
    const ox_model *m = w->g->model;
    ox_put_int(model, PB_MODEL_IR_VERSION, m->ir_version > IR_VERSION ? m->ir_version : IR_VERSION);
    ox_put_text(model, PB_MODEL_PRODUCER, "quern");
    ox_put_message(model, PB_MODEL_GRAPH, graph);
    put_opsets(model, w);
    for (uint32_t i = 0; i < m->n_facts; i++)
        ox_put_bytes(model, PB_MODEL_METADATA, m->facts[i].message, m->facts[i].bytes);
    if (w->scheme->weight_bits == 32)
        snprintf(text, sizeof text, "float");
    else if (w->scheme->act_bits)
        snprintf(text, sizeof text, "a%uw%u", w->scheme->act_bits, w->scheme->weight_bits);
    else
        snprintf(text, sizeof text, "w%u", w->scheme->weight_bits);
    put_fact(model, "quern.scheme", text);
    snprintf(text, sizeof text, "%u", w->scheme->block);
    put_fact(model, "quern.block", text);
}

static void release(qz_writing *w) {
    if (w->g->keeps_rounded) // they are the graph's
        qrn_strmap_clear(&w->scales);
    else
        qz_constants_clear(&w->scales);
    qrn_strmap_clear(&w->made);
    ox_writer_free(&w->nodes);
    ox_writer_free(&w->constants);
    ox_writer_free(&w->infos);
}

qrn_status qz_write(qz_graph *g, const qz_scheme *scheme, qz_weights_file *weights, ox_writer *out,
                    qz_encodings *encodings, qz_written *report) {
    int64_t own = ox_model_opset(g->model, "");
    qz_writing w = {.g = g,
                    .scheme = scheme,
                    .weights = weights,
                    .encodings = encodings,
                    .opset = own > OPSET ? own : OPSET};
    ox_writer graph = {0};
    qrn_pool *pool = qrn_pool_acquire(0); // for all weights that are rounded together
    qrn_status s = put_nodes(&w);
    qrn_pool_release(pool);
    if (s == QRN_OK) {
        const char *name = g->model->graph->name;
        ox_put_fields(&graph, &w.nodes);
        ox_put_text(&graph, PB_GRAPH_NAME, name && name[0] ? name : "graph");
        ox_put_fields(&graph, &w.constants);
        put_ports(&graph, &w);
        ox_put_fields(&graph, &w.infos);
        put_model(out, &w, &graph);
        if (out->no_memory)
            s = no_memory();
        else if (out->n > INT_MAX)
            s = QRN_FAIL(QRN_E_UNSUPPORTED,
                         "the model would have %zu bytes, more than ONNX files "
                         "may; write its weights beside it",
                         out->n);
    }
    *report = w.report;
    release(&w);
    ox_writer_free(&graph);
    return s;
}
