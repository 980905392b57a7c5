// SPDX-License-Identifier: MIT
//
// Partitions from graphs of context binaries.
#include "frontend/ort/part.h"

#include <string.h>

static const ox_info *info_of(const ox_info *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

// Is "<value>=<tensor>" one of the entries, which end with ';'?
static bool is_entry(const char *list, const char *value, const char *tensor) {
    size_t n = strlen(value), m = strlen(tensor);
    for (const char *at = list; *at; at++) {
        bool begins = at == list || at[-1] == ';';
        if (begins && strncmp(at, value, n) == 0 && at[n] == '=' &&
            strncmp(at + n + 1, tensor, m) == 0 && (at[n + 1 + m] == ';' || !at[n + 1 + m]))
            return true;
    }
    return false;
}

// The value of the node that a tensor of the graph is: of the same name, or of the one that the
// attribute io_name_overrides pairs with it.
static const ox_info *value_of(const char *pairs, const ox_info *list, uint32_t n,
                               const char *tensor) {
    for (uint32_t i = 0; i < n; i++)
        if (is_entry(pairs, list[i].name, tensor))
            return &list[i];
    return info_of(list, n, tensor);
}

static qrn_status port_from(const qe_place *at, const qc_tensor *t, const ox_info *info,
                            ox_port *port) {
    const char *name = info ? info->name : t->t.v1.name;
    *port = (ox_port){.name = name, .tensor = (qc_tensor *)(uintptr_t)t, .rank = t->rank};
    memcpy(port->dims, t->dims, sizeof t->dims);
    if (!info)
        return QRN_OK; // not a value of the node
    QRN_TRY(qe_check_declared(at, info, t));
    port->type = info->type;
    if (info->has_shape && info->rank == 0)
        port->rank = 0; // held as [1]
    return QRN_OK;
}

static qrn_status ports_from(const qe_place *at, qc_graph *graph, const char *pairs,
                             const ox_info *infos, uint32_t n_infos, const ox_port **out) {
    qc_tensor *const *list = at->input ? graph->inputs : graph->outputs;
    uint32_t n = at->input ? graph->n_inputs : graph->n_outputs;
    ox_port *ports = qrn_arena_alloc(graph->arena, (n + 1) * sizeof *ports);
    if (!ports)
        return QRN_FAIL(QRN_E_MEM, "partition: no memory");
    for (uint32_t i = 0; i < n; i++) {
        const ox_info *info = value_of(pairs, infos, n_infos, list[i]->t.v1.name);
        QRN_TRY(port_from(at, list[i], info, &ports[i]));
    }
    *out = ports;
    return QRN_OK;
}

qrn_status qe_part_load(qe_ep *ep, const qe_graph *g, const ox_node *fused,
                        const QnnSystemContext_GraphInfoV3_t *info, qe_part **out) {
    const ox_graph *model = g->model->graph;
    const char *pairs = ox_attr_string(&model->nodes[0], "io_name_overrides", "");
    ox_result r = {0};
    QRN_TRY(qc_graph_retrieve(ep->client, info, &r.graph));
    r.graph->profile = ep->profile.handle;
    r.n_inputs = r.graph->n_inputs;
    r.n_outputs = r.graph->n_outputs;
    const char *path = g->model->path;
    qe_place at = {path[0] ? path : "from memory", info->graphName, true};
    qrn_status s = ports_from(&at, r.graph, pairs, model->inputs, model->n_inputs, &r.inputs);
    at.input = false;
    if (s == QRN_OK)
        s = ports_from(&at, r.graph, pairs, model->outputs, model->n_outputs, &r.outputs);
    for (uint32_t i = 0; s == QRN_OK && i < r.n_inputs; i++)
        if (!r.inputs[i].type)
            s = QRN_FAIL(QRN_E_INCOMPATIBLE,
                         "graph '%s' of the context binary has an input '%s' that the model's node "
                         "does not have",
                         info->graphName, r.inputs[i].name);
    if (s != QRN_OK) {
        qc_graph_destroy(r.graph);
        return s;
    }
    return qe_part_make(ep, g, fused, &r, info->graphName, out);
}

// --- another context

static const QnnSystemContext_GraphInfoV3_t *graph_of(const QnnSystemContext_BinaryInfoV3_t *binary,
                                                      const char *name) {
    for (uint32_t i = 0; i < binary->numGraphs; i++)
        if (strcmp(binary->graphs[i].graphInfoV3.graphName, name) == 0)
            return &binary->graphs[i].graphInfoV3;
    return NULL;
}

// Finds the tensors by name: their order is the binary's.
static qrn_status move_slots(qe_border *list, uint32_t n, qc_tensor *const *old,
                             qc_tensor *const *fresh, uint32_t n_fresh) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        if (list[i].slot < 0)
            continue;
        const char *name = old[list[i].slot]->t.v1.name;
        while (k < n_fresh && strcmp(fresh[k]->t.v1.name, name) != 0)
            k++;
        if (k == n_fresh || qc_tensor_bytes(fresh[k]) != list[i].bytes)
            return QRN_FAIL(QRN_E_BINARY, "the context binary has no tensor '%s' of %zu bytes",
                            name, list[i].bytes);
        list[i].slot = (int32_t)k;
    }
    return QRN_OK;
}

qrn_status qe_part_reload(OrtNodeComputeInfo *info, const QnnSystemContext_BinaryInfoV3_t *binary) {
    qe_part *p = (qe_part *)info;
    qc_graph *old = p->graph, *fresh = NULL;
    const QnnSystemContext_GraphInfoV3_t *about = graph_of(binary, p->name);
    if (!old->n_nodes)
        return QRN_OK; // constants alone
    if (!about)
        return QRN_FAIL(QRN_E_BINARY, "the context binary has no graph '%s'", p->name);
    QRN_TRY(qc_graph_retrieve(p->ep->client, about, &fresh));
    fresh->profile = old->profile;
    qrn_status s = move_slots(p->in, p->n_in, old->inputs, fresh->inputs, fresh->n_inputs);
    if (s == QRN_OK)
        s = move_slots(p->out, p->n_out, old->outputs, fresh->outputs, fresh->n_outputs);
    p->graph = fresh;
    p->context = p->ep->client->context;
    qc_graph_destroy(old);
    return s;
}
