// SPDX-License-Identifier: MIT
//
// Graph sections: options, tensors, nodes, packed constants. Operands are resolved to tensors of
// the same graph; what an op makes of them is checked by whoever loads the graph.
#include "binary/packed_scales.h"
#include "binary/read.h"

// Least bytes of the records, to bound counts.
#define OPTION_BYTES 12u
#define TENSOR_BYTES 44u
#define NODE_BYTES 36u
#define PARAM_BYTES 16u
#define PACKED_BYTES 24u
#define MAX_OPTIONS 1024u

qrn_bin_option *qrn_bin_get_options(qrn_in *in, uint32_t *n) {
    *n = qrn_in_count(in, OPTION_BYTES);
    if (*n > MAX_OPTIONS)
        qrn_in_fail(in, "%u options, at most %u", *n, MAX_OPTIONS);
    qrn_bin_option *list = qrn_in_array(in, *n, sizeof *list);
    for (uint32_t i = 0; list && i < *n; i++) {
        list[i].key = qrn_in_u32(in);
        list[i].value = qrn_in_u64(in);
        for (uint32_t k = 0; k < i; k++)
            if (list[k].key == list[i].key)
                qrn_in_fail(in, "option %u is there twice", list[i].key);
    }
    return list;
}

qrn_bin_constant *qrn_bin_find_constant(qrn_in *in, qrn_bin_reading *r, uint32_t index) {
    if (index < r->n_constants)
        return &r->constants[index];
    qrn_in_fail(in, "constant %u of %u", index, r->n_constants);
    return NULL;
}

const qrn_bin_constant *qrn_bin_use_constant(qrn_in *in, qrn_bin_reading *r, uint32_t index) {
    qrn_bin_constant *k = qrn_bin_find_constant(in, r, index);
    if (!k)
        return NULL;
    qrn_bin_graph *g = &r->bin->graphs[r->graph];
    if (k->last_graph != r->graph + 1) {
        g->const_bytes += k->size_bytes;
        g->shared_bytes += k->shared ? k->size_bytes : 0;
        k->last_graph = r->graph + 1;
    }
    return k;
}

// The tensor of an operand: of this graph, or of the context.
static const qrn_tensor *find_tensor(qrn_in *in, const qrn_bin_reading *r, uint32_t id) {
    if (id <= r->n_ids && r->by_id[id] && (!r->owner[id] || r->owner[id] == r->graph + 1))
        return r->by_id[id];
    qrn_in_fail(in, "an operand with the tensor id %u, which the graph does not have", id);
    return NULL;
}

static void get_param(qrn_in *in, const qrn_bin_reading *r, const char **name, qrn_param *p) {
    *name = qrn_in_text(in);
    uint32_t kind = qrn_in_u32(in);
    p->present = true;
    if (kind > 1) {
        qrn_in_fail(in, "a parameter of kind %u", kind);
    } else if (kind == 1) {
        p->is_tensor = true;
        p->tensor = find_tensor(in, r, qrn_in_u32(in));
        if (!p->tensor)
            return;
        p->dtype = p->tensor->dtype;
        if (p->tensor->role != QRN_ROLE_STATIC || !p->tensor->data)
            qrn_in_fail(in, "parameter '%s': its tensor has no data", *name ? *name : "");
    } else {
        p->dtype = qrn_bin_get_dtype(in);
        if (p->dtype == QRN_DTYPE_STR)
            p->value.s = qrn_in_text(in);
        else
            p->value.u = qrn_in_u64(in);
    }
}

static void get_node(qrn_in *in, const qrn_bin_reading *r, qrn_bin_node *n) {
    n->name = qrn_in_text(in);
    n->package = qrn_in_text(in);
    n->type = qrn_in_text(in);
    n->n_in = qrn_in_count(in, 4);
    n->n_out = qrn_in_count(in, 4);
    n->n_params = qrn_in_count(in, PARAM_BYTES);
    n->in = qrn_in_words(in, n->n_in);
    n->out = qrn_in_words(in, n->n_out);
    const char **names = qrn_in_array(in, n->n_params, sizeof *names);
    qrn_param *params = qrn_in_array(in, n->n_params, sizeof *params);
    for (uint32_t i = 0; in->status == QRN_OK && i < n->n_in + n->n_out; i++) {
        uint32_t id = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        if (id)
            find_tensor(in, r, id);
    }
    for (uint32_t i = 0; in->status == QRN_OK && i < n->n_params; i++)
        get_param(in, r, &names[i], &params[i]);
    n->param_names = names;
    n->params = params;
}

static void get_packed(qrn_in *in, qrn_bin_reading *r, const qrn_bin_graph *g, qrn_packed *p) {
    p->node = qrn_in_u32(in);
    p->tensor_id = qrn_in_u32(in);
    p->packing = qrn_in_u32(in);
    p->dtype = qrn_bin_get_dtype(in);
    qrn_bin_get_shape(in, p->dtype, &p->shape, &p->size_bytes);
    uint32_t constant = qrn_in_u32(in);
    const qrn_tensor *t = in->status == QRN_OK ? find_tensor(in, r, p->tensor_id) : NULL;
    if (!t)
        return;
    if (p->node >= g->n_nodes || t->role != QRN_ROLE_STATIC)
        qrn_in_fail(in, "a packed form of tensor %u for node %u", p->tensor_id, p->node);
    // Matrices of Winograd's method, in files of Quern 0.1, are no constants of the graph.
    const qrn_bin_constant *k = p->packing == QRN_PACKING_WINOGRAD8
                                    ? qrn_bin_find_constant(in, r, constant)
                                    : qrn_bin_use_constant(in, r, constant);
    if (k && k->size_bytes != p->size_bytes)
        qrn_in_fail(in, "a packed form of %zu bytes with data of %llu", p->size_bytes,
                    (unsigned long long)k->size_bytes);
    p->data = k ? k->data : NULL;
}

// Has the tensor some packed form for the node?
static bool has_packed(const qrn_packed_list *l, uint32_t node, uint32_t tensor_id) {
    qrn_packed least = {.node = node, .tensor_id = tensor_id};
    uint32_t lo = 0, hi = l->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (qrn_packed_order(&l->items[mid], &least) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->n && l->items[lo].node == node && l->items[lo].tensor_id == tensor_id;
}

// A static operand without data of its own must have a packed form.
static void check_data(qrn_in *in, const qrn_bin_reading *r, const qrn_bin_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++) {
            const qrn_tensor *t = r->by_id[g->nodes[i].in[k]]; // entry 0 is NULL
            if (t && t->role == QRN_ROLE_STATIC && !t->data && !has_packed(&g->packed, i, t->id))
                qrn_in_fail(in, "node '%s': its operand '%s' has no data", g->nodes[i].name,
                            t->name);
        }
}

static void get_tensors(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g) {
    g->tensors = qrn_in_array(in, g->n_tensors, sizeof(qrn_tensor *));
    for (uint32_t i = 0; in->status == QRN_OK && i < g->n_tensors; i++) {
        qrn_tensor *t = qrn_bin_get_tensor(in, r);
        if (!t)
            return;
        if (t->role == QRN_ROLE_INOUT)
            qrn_in_fail(in, "tensor '%s': belongs to a context, not to a graph", t->name);
        if (t->role == QRN_ROLE_INPUT || t->role == QRN_ROLE_OUTPUT)
            g->io_bytes += t->size_bytes;
        r->owner[t->id] = r->graph + 1;
        g->tensors[i] = t;
    }
}

// Finds the scales that only packed forms have.
static void find_scales(qrn_in *in, qrn_bin_graph *g) {
    for (uint32_t i = 0; in->status == QRN_OK && i < g->n_tensors; i++) {
        qrn_tensor *t = g->tensors[i];
        if (!qrn_bin_lacks_scales(t))
            continue;
        qrn_quant_packed *p = qrn_in_array(in, 1, sizeof *p);
        if (p && !qrn_bin_packed_scales(t, &g->packed, p))
            qrn_in_fail(in, "tensor '%s': no packed form has its scales", t->name);
        t->quant.packed = p;
    }
}

static void get_lists(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g) {
    get_tensors(in, r, g);
    qrn_bin_node *nodes = qrn_in_array(in, g->n_nodes, sizeof *nodes);
    for (uint32_t i = 0; in->status == QRN_OK && i < g->n_nodes; i++)
        get_node(in, r, &nodes[i]);
    g->nodes = nodes;
    qrn_packed *packed = qrn_in_array(in, g->packed.n, sizeof *packed);
    for (uint32_t i = 0; in->status == QRN_OK && i < g->packed.n; i++) {
        get_packed(in, r, g, &packed[i]);
        if (i && qrn_packed_order(&packed[i - 1], &packed[i]) >= 0)
            qrn_in_fail(in, "packed forms are not in order");
    }
    g->packed.items = packed;
    if (in->status == QRN_OK)
        find_scales(in, g);
    if (in->status == QRN_OK)
        check_data(in, r, g);
}

qrn_status qrn_bin_get_graph(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g) {
    g->name = qrn_in_text(in);
    if (g->name && !*g->name)
        qrn_in_fail(in, "a graph without a name");
    g->priority = (int32_t)qrn_in_u32(in);
    g->arena_bytes = qrn_in_u64(in);
    g->options = qrn_bin_get_options(in, &g->n_options);
    g->n_tensors = qrn_in_count(in, TENSOR_BYTES);
    g->n_nodes = qrn_in_count(in, NODE_BYTES);
    g->packed.n = qrn_in_count(in, PACKED_BYTES);
    if (in->status == QRN_OK)
        get_lists(in, r, g);
    if (in->status == QRN_OK && in->at != in->n)
        qrn_in_fail(in, "graph '%s': bytes behind the last record", g->name);
    return in->status;
}
