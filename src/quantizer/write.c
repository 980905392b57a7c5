// SPDX-License-Identifier: MIT
//
// Writing a planned graph.
//
// Names: a value keeps its own; "<value>_q" are its quantized values and "<value>_dq" what is read
// of them. An output of the graph is the dequantized one, or of a state the quantized one; the
// node's own result is "<value>_real".
#include "quantizer/write.h"

#include "base/mem.h"
#include "frontend/onnx/reader/schema.h"
#include "quantizer/proto.h"
#include "quantizer/weights.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define OPSET 21 // the first with 16 and 4-bit types and blocks
#define IR_VERSION 10

typedef struct writing {
    qz_graph *g;
    const qz_scheme *scheme;
    qz_weights_file *weights;
    ox_writer nodes, constants, infos; // parts of the graph message
    qrn_strmap made;                   // constants and encodings that were written
    qrn_strmap scales;                 // weight -> qz_constant without its values
    int64_t opset;                     // of the model that is written
    qz_written report;
} writing;

// A name that the model does not have, in the arena.
static const char *name_of(writing *w, const char *base, const char *suffix) {
    size_t n = strlen(base) + strlen(suffix) + 8;
    char *name = qrn_arena_alloc(w->g->arena, n);
    if (!name)
        return NULL;
    snprintf(name, n, "%s_%s", base, suffix);
    for (int i = 0; i < 4 && qz_find(w->g, name); i++)
        strcat(name, "_");
    return name;
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for the model"); }

// True once for each name.
static bool first_time(writing *w, const char *name) {
    return !qrn_strmap_get(&w->made, name) && qrn_strmap_put(&w->made, name, w);
}

static qrn_status put_constant(writing *w, const qz_tensor *t) {
    w->report.weight_bytes += t->bytes;
    return qz_put_tensor(&w->constants, PB_GRAPH_INITIALIZER, t, w->weights);
}

// Nodes are called after what they make; the model's own node of an output may have that name.
static void put_conversion(writing *w, bool quantize, const char *from, const char *scale,
                           const char *zero, const char *to, const qz_constant *c) {
    const char *name = qz_find(w->g, to) ? name_of(w, to, "output") : to;
    ox_writer n = {0};
    ox_put_text(&n, PB_NODE_INPUT, from);
    ox_put_text(&n, PB_NODE_INPUT, scale);
    if (zero)
        ox_put_text(&n, PB_NODE_INPUT, zero);
    ox_put_text(&n, PB_NODE_OUTPUT, to);
    ox_put_text(&n, PB_NODE_NAME, name ? name : "");
    ox_put_text(&n, PB_NODE_OP_TYPE, quantize ? "QuantizeLinear" : "DequantizeLinear");
    if (c && (c->n_scales > 1 || c->block))
        qz_put_int(&n, "axis", c->axis);
    if (c && c->block)
        qz_put_int(&n, "block_size", c->block);
    ox_put_message(&w->nodes, PB_GRAPH_NODE, &n);
}

// --- activations

// Scale and zero point of an encoding, written once for all that share it.
static qrn_status put_encoding(writing *w, qz_value *v, const char **scale, const char **zero) {
    qz_value *f = qz_first(v);
    *scale = name_of(w, f->name, "scale");
    *zero = name_of(w, f->name, "zero");
    if (!*scale || !*zero)
        return no_memory();
    if (!first_time(w, *scale))
        return QRN_OK;
    bool wide = v->enc.bits == 16;
    qz_enc e = v->enc;
    uint16_t z16 = (uint16_t)e.zero;
    uint8_t z8 = (uint8_t)e.zero;
    QRN_TRY(put_constant(w, &(qz_tensor){*scale, OX_F32, 0, {0}, &e.scale, sizeof e.scale}));
    return put_constant(
        w,
        &(qz_tensor){
            *zero, wide ? OX_U16 : OX_U8, 0, {0}, wide ? (const void *)&z16 : &z8, wide ? 2u : 1u});
}

// Is the value passed in and out as quantized values?
static bool is_quantized_port(const qz_value *v) { return v->is_state && v->enc.bits; }

// Quantizes a value that was just made (or is an input) under the name `made`.
static qrn_status put_pair(writing *w, qz_value *v, const char *made) {
    bool port = is_quantized_port(v);
    const char *scale, *zero, *q = port ? v->name : name_of(w, v->name, "q");
    const char *dq = name_of(w, v->name, "dq");
    if (!q || !dq)
        return no_memory();
    QRN_TRY(put_encoding(w, v, &scale, &zero));
    if (!port || !v->is_input)
        put_conversion(w, true, made, scale, zero, q, NULL);
    if (v->is_output && !v->is_input && !port)
        put_conversion(w, false, q, scale, zero, v->name, NULL);
    if (v->n_uses) {
        put_conversion(w, false, q, scale, zero, dq, NULL);
        qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, dq, v->type, v->rank, v->dims);
    }
    w->report.n_quantized++;
    return QRN_OK;
}

// --- constants

static qrn_status put_plain(writing *w, const qz_value *v) {
    qz_tensor t = {v->name, v->type, v->rank, {0}, v->data, v->bytes};
    memcpy(t.dims, v->dims, sizeof t.dims);
    return first_time(w, v->name) ? put_constant(w, &t) : QRN_OK;
}

// Quantized values `c` of constant v and their DequantizeLinear, whose result is `dq`.
static qrn_status put_quantized(writing *w, const qz_value *v, const qz_constant *c,
                                const char *zero, const char *scale, const char *dq) {
    const char *q = name_of(w, dq, "q");
    if (!q)
        return no_memory();
    qz_tensor t = {q, c->type, v->rank, {0}, c->data, c->bytes};
    memcpy(t.dims, v->dims, sizeof t.dims);
    QRN_TRY(put_constant(w, &t));
    put_conversion(w, false, q, scale, zero, dq, c);
    qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, dq, v->type, v->rank, v->dims);
    return QRN_OK;
}

static qrn_status put_operand(writing *w, qz_value *v, const char **name) {
    const char *scale, *zero;
    if (!(*name = name_of(w, v->name, "dq")))
        return no_memory();
    if (!first_time(w, *name))
        return QRN_OK;
    qz_constant c;
    QRN_TRY(put_encoding(w, v, &scale, &zero));
    QRN_TRY(qz_quantize_operand(v, &c));
    qrn_status s = put_quantized(w, v, &c, zero, scale, *name);
    qz_constant_free(&c);
    return s;
}

// The scales of a signed constant, per tensor, channel or block.
static qrn_status put_scales(writing *w, const qz_value *v, const qz_constant *c,
                             const char *name) {
    qz_tensor t = {name, OX_F32, 0, {0}, c->scales, c->n_scales * sizeof *c->scales};
    if (c->block) {
        t.rank = v->rank;
        memcpy(t.dims, v->dims, sizeof t.dims);
        t.dims[c->axis] /= c->block;
    } else if (c->n_scales > 1) {
        t.rank = 1;
        t.dims[0] = c->n_scales;
    }
    return put_constant(w, &t);
}

static qrn_status put_signed(writing *w, const qz_value *v, const qz_constant *c, const char *dq) {
    const char *scale = name_of(w, dq, "scale");
    if (!scale)
        return no_memory();
    QRN_TRY(put_scales(w, v, c, scale));
    return put_quantized(w, v, c, NULL, scale, dq);
}

static bool makes_output(const qz_graph *g, const ox_node *n) {
    const qz_value *y = qz_find(g, n->out[0]);
    return y && y->is_output;
}

// A weight by the node that reads it; another node with other axes gets its own.
static qrn_status put_weight(writing *w, const qz_value *v, const ox_node *n, const char **name,
                             const qz_constant **kept) {
    char suffix[32];
    int32_t channel = 0, summed = 0;
    bool axes = qz_weight_axes(n, v, &channel, &summed);
    snprintf(suffix, sizeof suffix, "w%d", axes ? channel : -1);
    if (!(*name = name_of(w, v->name, suffix)))
        return no_memory();
    if ((*kept = qrn_strmap_get(&w->scales, *name)))
        return QRN_OK;
    qz_constant *c = qrn_calloc(sizeof *c);
    if (!c)
        return no_memory();
    const qz_value *x = qz_find(w->g, n->in[0]);
    qz_scheme scheme = *w->scheme;
    if (scheme.weight_bits == 4 && makes_output(w->g, n)) { // its errors go straight to the result
        scheme.weight_bits = 8;
        scheme.block = 0;
    }
    qrn_status s = qz_quantize_weight(v, n, &scheme, x ? x->gram : NULL, c);
    if (s == QRN_OK)
        s = put_signed(w, v, c, *name);
    qrn_free(c->data);
    c->data = NULL;
    if (s != QRN_OK || !qrn_strmap_put(&w->scales, *name, c)) {
        qz_constant_free(c);
        qrn_free(c);
        return s != QRN_OK ? s : no_memory();
    }
    *kept = c;
    return QRN_OK;
}

static qrn_status put_bias(writing *w, const qz_value *v, const ox_node *n, const char **name) {
    const qz_value *x = qz_find(w->g, n->in[0]), *k = qz_find(w->g, n->in[1]);
    const qz_constant *weight;
    const char *unused;
    qz_constant c = {0};
    *name = v->name;
    if (!x || !x->enc.bits || !qz_is_float_constant(k))
        return put_plain(w, v);
    QRN_TRY(put_weight(w, k, n, &unused, &weight));
    QRN_TRY(qz_quantize_bias(v, x->enc.scale, weight, &c));
    if (!c.data)
        return put_plain(w, v);
    // Its scale is that of this node's operands: another node has another one.
    qrn_status s =
        (*name = name_of(w, n->out[0], "bias")) ? put_signed(w, v, &c, *name) : no_memory();
    qz_constant_free(&c);
    return s;
}

// What node n reads as input i.
static qrn_status input_name(writing *w, const ox_node *n, uint32_t i, const char **name) {
    qz_value *v = qz_find(w->g, n->in[i]);
    const qz_constant *weight;
    *name = n->in[i];
    if (!v)
        return QRN_OK;
    if (!v->data) {
        *name = v->enc.bits ? name_of(w, v->name, "dq") : v->name;
        return *name ? QRN_OK : no_memory();
    }
    qz_role role = qz_is_float_constant(v) ? qz_role_of(w->g, n, i) : QZ_ROLE_FLOAT;
    if (role == QZ_ROLE_WEIGHT)
        return put_weight(w, v, n, name, &weight);
    if (role == QZ_ROLE_BIAS)
        return put_bias(w, v, n, name);
    if (role == QZ_ROLE_OPERAND && v->enc.bits)
        return put_operand(w, v, name);
    return put_plain(w, v);
}

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

static qrn_status put_moved(writing *w, const ox_node *n, const char *attribute, ox_writer *node) {
    const ox_attr *a = ox_attr_find(n, attribute);
    const char *name = name_of(w, n->out[0], attribute);
    if (!name)
        return no_memory();
    ox_put_text(node, PB_NODE_INPUT, name);
    return put_constant(w, &(qz_tensor){name, OX_I64, 1, {a->n}, a->ints, a->n * sizeof *a->ints});
}

// Attributes that newer opsets must have, or that mean something else there.
static qrn_status put_newer(const writing *w, const ox_node *n, ox_writer *node) {
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

static qrn_status put_node(writing *w, const ox_node *n) {
    ox_writer node = {0};
    qrn_status s = QRN_OK;
    const char *moved = moved_attribute(n);
    for (uint32_t i = 0; i < n->n_in && s == QRN_OK; i++) {
        const char *name;
        if ((s = input_name(w, n, i, &name)) == QRN_OK)
            ox_put_text(&node, PB_NODE_INPUT, name);
    }
    if (moved && s == QRN_OK)
        s = put_moved(w, n, moved, &node);
    for (uint32_t i = 0; i < n->n_out && s == QRN_OK; i++) {
        const qz_value *v = qz_find(w->g, n->out[i]);
        bool renamed = v && v->is_output && v->enc.bits;
        const char *name = renamed ? name_of(w, v->name, "real") : n->out[i];
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
static bool is_folded(const writing *w, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qz_value *v = qz_find(w->g, n->out[i]);
        if (v && (!v->data || v->is_output))
            return false;
    }
    return true;
}

static qrn_status put_nodes(writing *w) {
    const ox_graph *og = w->g->model->graph;
    for (uint32_t i = 0; i < w->g->n_values; i++) {
        qz_value *v = w->g->values[i];
        if (v->is_input && v->enc.bits && v->n_uses)
            QRN_TRY(put_pair(w, v, v->name));
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
            const char *made = v->is_output && v->enc.bits ? name_of(w, v->name, "real") : v->name;
            if (!made)
                return no_memory();
            if (v->seen && !v->is_output)
                qz_put_value(&w->infos, PB_GRAPH_VALUE_INFO, v->name, v->type, v->rank, v->dims);
            if (v->enc.bits && !v->data)
                QRN_TRY(put_pair(w, v, made));
            else if (v->type == OX_F32 && !v->data && v->seen && !v->fused)
                w->report.n_float++;
        }
    }
    return QRN_OK;
}

// --- the model

static void put_port(ox_writer *graph, uint32_t field, const writing *w, const ox_info *info) {
    const qz_value *v = qz_find(w->g, info->name);
    uint32_t dims[OX_MAX_RANK], rank = info->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = info->dims[i] < 0 ? 0 : (uint32_t)info->dims[i];
    bool known = v && v->type != OX_NONE;
    int type = known ? v->type : info->type;
    if (v && is_quantized_port(v))
        type = v->enc.bits == 16 ? OX_U16 : OX_U8;
    qz_put_value(graph, field, info->name, type, known ? v->rank : rank, known ? v->dims : dims);
}

static void put_ports(ox_writer *graph, const writing *w) {
    const ox_graph *og = w->g->model->graph;
    for (uint32_t i = 0; i < og->n_inputs; i++) {
        const qz_value *v = qz_find(w->g, og->inputs[i].name);
        if (v && v->is_input)
            put_port(graph, PB_GRAPH_INPUT, w, &og->inputs[i]);
    }
    for (uint32_t i = 0; i < og->n_outputs; i++)
        put_port(graph, PB_GRAPH_OUTPUT, w, &og->outputs[i]);
}

static void put_opsets(ox_writer *model, const writing *w) {
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

static void put_model(ox_writer *model, const writing *w, ox_writer *graph) {
    char text[64];
    const ox_model *m = w->g->model;
    ox_put_int(model, PB_MODEL_IR_VERSION, m->ir_version > IR_VERSION ? m->ir_version : IR_VERSION);
    ox_put_text(model, PB_MODEL_PRODUCER, "quern");
    ox_put_message(model, PB_MODEL_GRAPH, graph);
    put_opsets(model, w);
    for (uint32_t i = 0; i < m->n_facts; i++)
        ox_put_bytes(model, PB_MODEL_METADATA, m->facts[i].message, m->facts[i].bytes);
    if (w->scheme->act_bits)
        snprintf(text, sizeof text, "a%uw%u", w->scheme->act_bits, w->scheme->weight_bits);
    else
        snprintf(text, sizeof text, "w%u", w->scheme->weight_bits);
    put_fact(model, "quern.scheme", text);
    snprintf(text, sizeof text, "%u", w->scheme->block);
    put_fact(model, "quern.block", text);
}

static void release(writing *w) {
    for (uint32_t i = 0; i < w->scales.cap; i++)
        if (w->scales.slots[i].key) {
            qz_constant_free(w->scales.slots[i].value);
            qrn_free(w->scales.slots[i].value);
        }
    qrn_strmap_clear(&w->scales);
    qrn_strmap_clear(&w->made);
    ox_writer_free(&w->nodes);
    ox_writer_free(&w->constants);
    ox_writer_free(&w->infos);
}

qrn_status qz_write(qz_graph *g, const qz_scheme *scheme, qz_weights_file *weights, ox_writer *out,
                    qz_written *report) {
    int64_t own = ox_model_opset(g->model, "");
    writing w = {.g = g, .scheme = scheme, .weights = weights, .opset = own > OPSET ? own : OPSET};
    ox_writer graph = {0};
    qrn_status s = put_nodes(&w);
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
