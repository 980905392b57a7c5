// SPDX-License-Identifier: MIT
//
// Graphs of a DLC file. A node may use tensors of its graph and of the context, no others; whether
// it is an op that a backend has is for the backend to say.
#include "dlc/topology.h"

#include <string.h>

// Who is reading: which tensors there are.
typedef struct scope {
    qrn_dlc_site site;
    qrn_dlc *dlc;
    qrn_dlc_graph *graph;
    uint32_t first_id; // of the graph's tensors
} scope;

static qrn_status no_memory(const scope *s) {
    return QRN_FAIL(QRN_E_MEM, "%s: out of memory for a graph", s->site.name);
}

static qrn_status read_tensors(scope *s, const qrn_json *object, qrn_tensor ***list, uint32_t *n) {
    const qrn_json *array = NULL;
    QRN_TRY(qrn_dlc_member(&s->site, object, "tensors", QRN_JSON_ARRAY, true, &array));
    *list = qrn_arena_alloc(s->dlc->arena, array->n * sizeof **list);
    if (!*list)
        return no_memory(s);
    for (const qrn_json *v = array->first; v; v = v->next) {
        QRN_TRY(qrn_dlc_read_tensor(&s->site, v, s->dlc->n_ids + 1, s->dlc->arena, &(*list)[*n]));
        (*n)++;
        s->dlc->n_ids++;
    }
    return QRN_OK;
}

static qrn_status find_tensor(const scope *s, const qrn_json *v, const qrn_tensor **out) {
    uint64_t id = 0;
    QRN_TRY(qrn_dlc_value_u64(&s->site, v, UINT32_MAX, &id));
    *out = NULL;
    if (id == 0)
        return QRN_OK;
    if (id <= s->dlc->n_tensors)
        *out = s->dlc->tensors[id - 1];
    else if (id >= s->first_id && id - s->first_id < s->graph->n_tensors)
        *out = s->graph->tensors[id - s->first_id];
    return *out ? QRN_OK : qrn_dlc_wrong(&s->site, v, "no tensor of the graph has this id");
}

static qrn_status read_operands(const scope *s, const qrn_json *object, const char *key,
                                const qrn_tensor *const **out, uint32_t *n) {
    const qrn_json *array = NULL;
    QRN_TRY(qrn_dlc_member(&s->site, object, key, QRN_JSON_ARRAY, true, &array));
    const qrn_tensor **list = qrn_arena_alloc(s->dlc->arena, array->n * sizeof *list);
    if (!list)
        return no_memory(s);
    for (const qrn_json *v = array->first; v; v = v->next)
        QRN_TRY(find_tensor(s, v, &list[(*n)++]));
    *out = list;
    return QRN_OK;
}

static qrn_status read_scalar(const scope *s, const qrn_json *object, qrn_param *p) {
    const char *type = NULL;
    const qrn_json *v = NULL;
    QRN_TRY(qrn_dlc_text(&s->site, object, "data_type", &type));
    p->dtype = qrn_dlc_dtype_find(type);
    if (p->dtype == QRN_DTYPE_COUNT)
        return qrn_dlc_wrong(&s->site, object, "'data_type' is unknown");
    switch ((qrn_dtype_class)qrn_dtypes[p->dtype].cls) {
    case QRN_CLASS_STRING:
        return qrn_dlc_text(&s->site, object, "value", &p->value.s);
    case QRN_CLASS_SINT:
    case QRN_CLASS_SFIXED:
        QRN_TRY(qrn_dlc_member(&s->site, object, "value", QRN_JSON_NUMBER, true, &v));
        return qrn_dlc_value_i64(&s->site, v, &p->value.i);
    case QRN_CLASS_FLOAT: {
        uint64_t bits = 0;
        QRN_TRY(qrn_dlc_bits(&s->site, object, "bits", 16, &bits));
        memcpy(&p->value.f, &bits, sizeof bits);
        return QRN_OK;
    }
    default:
        QRN_TRY(qrn_dlc_member(&s->site, object, "value", QRN_JSON_NUMBER, true, &v));
        return qrn_dlc_value_u64(&s->site, v, UINT64_MAX, &p->value.u);
    }
}

static qrn_status read_param(const scope *s, const qrn_json *object, const char **name,
                             qrn_param *p) {
    const qrn_json *tensor = NULL;
    QRN_TRY(qrn_dlc_text(&s->site, object, "name", name));
    QRN_TRY(qrn_dlc_member(&s->site, object, "tensor", QRN_JSON_NUMBER, false, &tensor));
    p->present = true;
    if (!tensor)
        return read_scalar(s, object, p);
    QRN_TRY(find_tensor(s, tensor, &p->tensor));
    if (!p->tensor || p->tensor->role != QRN_ROLE_STATIC)
        return qrn_dlc_wrong(&s->site, object, "the tensor of a parameter is not a constant");
    p->is_tensor = true;
    p->dtype = p->tensor->dtype;
    return QRN_OK;
}

static qrn_status read_node(scope *s, const qrn_json *object, qrn_dlc_node *n) {
    const qrn_json *array = NULL;
    char item[80];
    s->site.item = "a node";
    QRN_TRY(qrn_dlc_text(&s->site, object, "name", &n->name));
    snprintf(item, sizeof item, "node '%.64s'", n->name);
    s->site.item = item;
    QRN_TRY(qrn_dlc_text(&s->site, object, "package", &n->package));
    QRN_TRY(qrn_dlc_text(&s->site, object, "type", &n->type));
    QRN_TRY(read_operands(s, object, "inputs", &n->in, &n->n_in));
    QRN_TRY(read_operands(s, object, "outputs", &n->out, &n->n_out));
    QRN_TRY(qrn_dlc_member(&s->site, object, "params", QRN_JSON_ARRAY, true, &array));
    qrn_param *params = qrn_arena_alloc(s->dlc->arena, array->n * sizeof *params);
    const char **names = qrn_arena_alloc(s->dlc->arena, array->n * sizeof *names);
    if (!params || !names)
        return no_memory(s);
    for (const qrn_json *v = array->first; v; v = v->next, n->n_params++)
        QRN_TRY(read_param(s, v, &names[n->n_params], &params[n->n_params]));
    n->params = params;
    n->param_names = names;
    s->site.item = "";
    return QRN_OK;
}

static qrn_status read_graph(scope *s, const qrn_json *object, qrn_dlc_graph *g) {
    const qrn_json *array = NULL;
    s->graph = g;
    s->site.graph = s->site.item = "";
    QRN_TRY(qrn_dlc_text(&s->site, object, "name", &g->name));
    s->site.graph = g->name;
    s->first_id = s->dlc->n_ids + 1;
    QRN_TRY(read_tensors(s, object, &g->tensors, &g->n_tensors));
    QRN_TRY(qrn_dlc_member(&s->site, object, "nodes", QRN_JSON_ARRAY, true, &array));
    g->nodes = qrn_arena_alloc(s->dlc->arena, array->n * sizeof *g->nodes);
    if (!g->nodes)
        return no_memory(s);
    for (const qrn_json *v = array->first; v; v = v->next)
        QRN_TRY(read_node(s, v, &g->nodes[g->n_nodes++]));
    return QRN_OK;
}

qrn_status qrn_dlc_read_topology(const char *name, qrn_dlc *d) {
    scope s = {.site = {.name = name, .dlc = d, .graph = "", .item = ""}, .dlc = d};
    const qrn_dlc_record *r = qrn_dlc_find(d, QRN_DLC_TOPOLOGY);
    const qrn_json *array = NULL;
    qrn_json *top = NULL;
    if (!r)
        return QRN_OK; // of context binaries alone
    QRN_TRY(qrn_dlc_json(name, r, d->arena, &top));
    QRN_TRY(read_tensors(&s, top, &d->tensors, &d->n_tensors));
    QRN_TRY(qrn_dlc_member(&s.site, top, "graphs", QRN_JSON_ARRAY, true, &array));
    d->graphs = qrn_arena_alloc(d->arena, array->n * sizeof *d->graphs);
    if (!d->graphs)
        return no_memory(&s);
    for (const qrn_json *v = array->first; v; v = v->next)
        QRN_TRY(read_graph(&s, v, &d->graphs[d->n_graphs++]));
    return QRN_OK;
}
