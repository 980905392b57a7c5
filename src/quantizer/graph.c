// SPDX-License-Identifier: MIT
//
// The values of a model.
#include "quantizer/graph.h"

#include "base/mem.h"

#include "quantizer/weights.h"

#include <string.h>

qz_value *qz_find(const qz_graph *g, const char *name) {
    return name && name[0] ? qrn_strmap_get(&g->by_name, name) : NULL;
}

static qz_value *add(qz_graph *g, const char *name) {
    qz_value *v = qz_find(g, name);
    if (v)
        return v;
    if (g->n_values == g->cap_values) {
        uint32_t cap = g->cap_values ? 2 * g->cap_values : 256;
        qz_value **grown =
            qrn_realloc(g->values, g->cap_values * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return NULL;
        g->values = grown;
        g->cap_values = cap;
    }
    v = qrn_arena_alloc(g->arena, sizeof *v);
    if (!v || !qrn_strmap_put(&g->by_name, name, v))
        return NULL;
    v->name = name;
    if (qz_stats_init(&v->stats, false) != QRN_OK)
        return NULL;
    g->values[g->n_values++] = v;
    return v;
}

static bool set_shape(qz_value *v, int type, uint32_t rank, const uint64_t *dims) {
    v->type = type;
    v->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] > UINT32_MAX)
            return false;
        v->dims[i] = (uint32_t)dims[i];
    }
    return true;
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for the graph"); }

static qrn_status add_constants(qz_graph *g) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < og->n_constants; i++) {
        const ox_tensor *t = &og->constants[i];
        qz_value *v = add(g, t->name);
        if (!v)
            return no_memory();
        v->data = t->data;
        v->bytes = t->bytes;
        if (!set_shape(v, t->type, t->rank, t->dims))
            return QRN_FAIL(QRN_E_SHAPE, "initializer '%s' is too large", t->name);
    }
    return QRN_OK;
}

static qrn_status add_inputs(qz_graph *g) {
    const ox_graph *og = g->model->graph;
    char dynamic[QRN_MESSAGE_MAX];
    for (uint32_t i = 0; i < og->n_inputs; i++) {
        const ox_info *in = &og->inputs[i];
        uint64_t dims[OX_MAX_RANK];
        qz_value *v = qz_find(g, in->name);
        if (v && v->data)
            continue; // an initializer's default
        if (!in->has_shape || in->type == OX_NONE)
            return QRN_FAIL(QRN_E_SHAPE, "input '%s' has no declared shape: quantizing needs one",
                            in->name);
        ox_describe_dynamic(&in, 1, true, dynamic, sizeof dynamic);
        for (uint32_t d = 0; d < in->rank; d++) {
            if (in->dims[d] < 0)
                return QRN_FAIL(QRN_E_DYNAMIC_SHAPE, "%s; a quantized model has static shapes",
                                dynamic);
            dims[d] = (uint64_t)in->dims[d];
        }
        if (!(v = add(g, in->name)))
            return no_memory();
        v->is_input = v->seen = true;
        if (!set_shape(v, in->type, in->rank, dims))
            return QRN_FAIL(QRN_E_SHAPE, "input '%s' is too large", in->name);
    }
    return QRN_OK;
}

static qrn_status add_nodes(qz_graph *g) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++) {
            qz_value *v = n->out[k][0] ? add(g, n->out[k]) : NULL;
            if (n->out[k][0] && !v)
                return no_memory();
            if (v)
                v->maker = n;
        }
        for (uint32_t k = 0; k < n->n_in; k++) {
            qz_value *v = qz_find(g, n->in[k]);
            if (!v)
                continue;
            v->n_uses++;
            v->reader = n;
        }
    }
    for (uint32_t i = 0; i < og->n_outputs; i++) {
        qz_value *v = qz_find(g, og->outputs[i].name);
        if (v)
            v->is_output = true;
    }
    return QRN_OK;
}

static qrn_status check_node(const ox_node *n) {
    static const char *const done[] = {
        "QuantizeLinear", "DequantizeLinear",      "QLinearConv",
        "QLinearMatMul",  "ConvInteger",           "MatMulInteger",
        "MatMulNBits",    "DynamicQuantizeLinear", "GatherBlockQuantized"};
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++)
        if (strcmp(n->op, done[i]) == 0)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "node '%s' (%s): the model is quantized already; quantize the float "
                            "original",
                            n->name, n->op);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].type == OX_ATTR_GRAPH || n->attrs[i].type > OX_ATTR_STRINGS)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "node '%s' (%s): nested graphs cannot be quantized yet", n->name,
                            n->op);
    return QRN_OK;
}

static qrn_status check_model(const ox_model *m) {
    int64_t opset = ox_model_opset(m, "");
    if (m->foreign_domain)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "quantizing needs an ONNX model");
    if (m->n_functions)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "the model has functions: inline them before quantizing");
    if (opset < 11)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "opset %lld: convert the model to opset 11 or newer before quantizing",
                        (long long)opset);
    for (uint32_t i = 0; i < m->graph->n_nodes; i++)
        QRN_TRY(check_node(&m->graph->nodes[i]));
    return QRN_OK;
}

static qrn_status fill(qz_graph *g) {
    QRN_TRY(check_model(g->model));
    QRN_TRY(add_constants(g));
    QRN_TRY(add_inputs(g));
    return add_nodes(g);
}

qrn_status qz_graph_create(const ox_model *m, qz_graph **out) {
    qz_graph *g = qrn_calloc(sizeof *g);
    if (!g)
        return no_memory();
    g->model = m;
    g->arena = qrn_arena_create();
    qrn_status s = g->arena ? fill(g) : no_memory();
    if (s != QRN_OK) {
        qz_graph_destroy(g);
        return s;
    }
    *out = g;
    return QRN_OK;
}

void qz_graph_destroy(qz_graph *g) {
    if (!g)
        return;
    for (uint32_t i = 0; i < g->n_values; i++)
        qz_stats_free(&g->values[i]->stats);
    for (uint32_t i = 0; i < g->n_values; i++) {
        if (g->values[i]->gram && g->values[i]->owns_gram)
            qz_gram_free(g->values[i]->gram);
        if (g->values[i]->channels)
            qz_channels_free(g->values[i]->channels);
        for (qz_patches *p = g->values[i]->patches; p; p = p->next)
            qz_patches_free(p);
    }
    qrn_free(g->values);
    qz_constants_clear(&g->rounded);
    qrn_strmap_clear(&g->by_name);
    qrn_arena_destroy(g->arena);
    qrn_free(g);
}

bool qz_is_activation(const qz_value *v) { return v && v->type == OX_F32 && !v->data && v->seen; }

bool qz_is_float_constant(const qz_value *v) { return v && v->type == OX_F32 && v->data; }

void qz_graph_note(void *graph, const ox_val *v) {
    qz_graph *g = graph;
    qz_value *q = qz_find(g, v->name);
    if (!q || v->kind != OX_TENSOR)
        return;
    q->seen = true;
    q->type = v->type;
    q->rank = v->rank;
    memcpy(q->dims, v->dims, sizeof q->dims);
    if (v->data && !q->data) { // computed while importing: the import ends before the plan is made
        q->data = qrn_arena_copy(g->arena, v->data, v->bytes);
        q->bytes = v->bytes;
    }
}

qz_value *qz_first(qz_value *v) {
    while (v->like)
        v = v->like;
    return v;
}

void qz_share(qz_value *a, qz_value *b) {
    a = qz_first(a);
    b = qz_first(b);
    if (a == b)
        return;
    b->like = a;
    a->shared = true;
    a->symmetric |= b->symmetric;
    qz_stats_merge(&a->stats, &b->stats);
}
