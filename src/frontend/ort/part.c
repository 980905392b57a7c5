// SPDX-License-Identifier: MIT
//
// Making partitions: from nodes that are imported and finalized, or from a graph of a context
// binary.
#include "frontend/ort/part.h"
#include "frontend/ort/record.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const ox_info *info_of(const ox_info *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static bool has_static_shape(const ox_info *info) {
    if (!info || !info->has_shape)
        return false;
    for (uint32_t i = 0; i < info->rank; i++)
        if (info->dims[i] < 0)
            return false;
    return true;
}

static const ox_port *port_of(const ox_port *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i].name && strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static int32_t slot_of(qc_tensor *const *list, uint32_t n, const qc_tensor *t) {
    for (uint32_t i = 0; t && i < n; i++)
        if (list[i] == t)
            return (int32_t)i;
    return -1;
}

static bool is_wide(int type) { return type == OX_I64 || type == OX_U64; }

// A constant output keeps a copy of its data: the host's may go.
static qrn_status set_border(qe_border *b, const char *name, const ox_port *port) {
    *b = (qe_border){.name = qrn_strdup(name), .slot = -1};
    if (!b->name)
        return QRN_FAIL(QRN_E_MEM, "value '%s': no memory", name);
    if (!port)
        return QRN_OK;
    b->type = port->type;
    b->rank = port->rank;
    b->count = 1;
    for (uint32_t d = 0; d < port->rank; d++)
        b->count *= (size_t)(b->dims[d] = port->dims[d]);
    b->bytes = port->tensor ? qc_tensor_bytes(port->tensor) : port->bytes;
    b->convert =
        port->tensor && is_wide(port->type) && qc_dtype_bits(port->tensor->t.v1.dataType) == 32;
    if (port->tensor || !port->data)
        return QRN_OK;
    b->data = qrn_alloc(port->bytes + 1);
    if (!b->data)
        return QRN_FAIL(QRN_E_MEM, "value '%s': no memory", name);
    memcpy(b->data, port->data, port->bytes);
    return QRN_OK;
}

// An input that the graph does not have is one that nobody reads.
static qrn_status map_inputs(qe_part *p, const ox_node *fused, const ox_result *r) {
    p->in = qrn_calloc((fused->n_in + 1) * sizeof *p->in);
    if (!p->in)
        return QRN_FAIL(QRN_E_MEM, "inputs: no memory");
    for (uint32_t i = 0; i < fused->n_in; i++) {
        const ox_port *port = port_of(r->inputs, r->n_inputs, fused->in[i]);
        QRN_TRY(set_border(&p->in[p->n_in++], fused->in[i], port));
        if (port)
            p->in[i].slot = slot_of(r->graph->inputs, r->graph->n_inputs, port->tensor);
    }
    return QRN_OK;
}

static qrn_status map_outputs(qe_part *p, const ox_node *fused, const ox_graph *g,
                              const ox_result *r) {
    p->out = qrn_calloc((fused->n_out + 1) * sizeof *p->out);
    if (!p->out)
        return QRN_FAIL(QRN_E_MEM, "outputs: no memory");
    for (uint32_t i = 0; i < fused->n_out; i++) {
        const char *name = fused->out[i];
        const ox_port *port = port_of(r->outputs, r->n_outputs, name);
        if (!port)
            return QRN_FAIL(QRN_E_UNCONNECTED, "output '%s' is not computed", name);
        QRN_TRY(set_border(&p->out[p->n_out++], name, port));
        qe_border *b = &p->out[i];
        b->slot = slot_of(r->graph->outputs, r->graph->n_outputs, port->tensor);
        b->sized =
            b->slot >= 0 && b->rank && !has_static_shape(info_of(g->outputs, g->n_outputs, name));
    }
    return QRN_OK;
}

// Takes the graph of `r`, whatever happens.
static qrn_status make(qe_ep *ep, const qe_graph *g, const ox_node *fused, const ox_result *r,
                       const char *name, qe_part **out) {
    qe_part *p = qrn_calloc(sizeof *p);
    if (!p) {
        qc_graph_destroy(r->graph);
        return QRN_FAIL(QRN_E_MEM, "partition '%s': no memory", fused->name);
    }
    p->base = qe_part_callbacks();
    p->ep = ep;
    p->graph = r->graph;
    p->context = ep->client->context;
    p->name = qrn_strdup(name);
    qrn_status s = p->name ? map_inputs(p, fused, r) : QRN_E_MEM;
    if (s == QRN_OK)
        s = map_outputs(p, fused, g->model->graph, r);
    if (s != QRN_OK) {
        qe_part_free(&p->base);
        return s;
    }
    *out = p;
    return QRN_OK;
}

// The fused node's name, with a number where another session's graph has it.
static qrn_status graph_name(const qe_ep *ep, const char *base, char *out, size_t size) {
    const qc_client *c = ep->client;
    Qnn_GraphHandle_t taken = NULL;
    int len = snprintf(out, size, "%s", base);
    for (unsigned i = 2; ep->shares && len > 0 && (size_t)len < size; i++) {
        if (c->qnn.graphRetrieve(c->context, out, &taken) != QNN_SUCCESS)
            break;
        len = snprintf(out, size, "%s_%u", base, i);
    }
    return len > 0 && (size_t)len < size ? QRN_OK
                                         : QRN_FAIL(QRN_E_NAME, "'%s' is too long a name", base);
}

// Files about the graph that was composed.
static qrn_status tell(qe_ep *ep, const char *name, const qc_graph *g, const qe_record *r) {
    if (ep->opt.dump_json)
        QRN_TRY(qe_dump_graph(ep, name, g, r));
    return ep->trace ? qe_trace_graph(ep, name, r) : QRN_OK;
}

// Composes the graph, and tells of it where that is asked for.
static qrn_status compose(qe_ep *ep, const ox_model *m, const char *name, ox_options *options,
                          ox_result *r) {
    qe_record record;
    if (!ep->opt.dump_json && !ep->trace)
        return ox_import_model(m, ep->client, options, r);
    QRN_TRY(qe_record_open(&record, ep->client, options));
    qrn_status s = ox_import_model(m, ep->client, options, r);
    qrn_status heard = qe_record_done(&record, ep->client);
    if (s == QRN_OK) {
        s = heard == QRN_OK ? tell(ep, name, r->graph, &record) : heard;
        if (s != QRN_OK)
            qc_graph_destroy(r->graph);
    }
    qe_record_free(&record);
    return s;
}

qrn_status qe_part_compile(qe_ep *ep, const qe_graph *g, const ox_node *fused, qe_part **out) {
    qe_graph_room room;
    char name[1024];
    QRN_TRY(graph_name(ep, fused->name, name, sizeof name));
    // Other providers that read a context model expect values as wide as onnxruntime's.
    ox_options options = {.graph_name = name,
                          .graph_configs = qe_graph_configs(ep, &room),
                          .packages = ep->packages,
                          .n_packages = ep->n_packages,
                          .wide_borders = ep->opt.context_enable};
    ox_result r = {0};
    QRN_TRY(compose(ep, g->model, name, &options, &r));
    uint64_t start = qe_now_us();
    r.graph->profile = ep->profile.handle;
    qrn_status s = r.graph->n_nodes ? qc_graph_finalize(r.graph) : QRN_OK;
    if (s == QRN_OK)
        s = qe_profile_take(ep, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE, name, start);
    if (s != QRN_OK) {
        qc_graph_destroy(r.graph);
        return s;
    }
    return make(ep, g, fused, &r, name, out);
}

// --- graphs of a context binary

static qrn_status port_from(const qc_tensor *t, const ox_info *info, ox_port *port) {
    *port = (ox_port){.name = t->t.v1.name, .tensor = (qc_tensor *)(uintptr_t)t, .rank = t->rank};
    memcpy(port->dims, t->dims, sizeof t->dims);
    if (!info)
        return QRN_OK; // not a value of the node
    port->type = info->type;
    if (info->has_shape && info->rank == 0)
        port->rank = 0; // held as [1]
    size_t count = qc_tensor_count(t), bits = ox_type_bits(info->type);
    bool narrow = is_wide(info->type) && qc_dtype_bits(t->t.v1.dataType) == 32;
    if (!narrow && (count * bits + 7) / 8 != qc_tensor_bytes(t))
        return QRN_FAIL(QRN_E_INCOMPATIBLE,
                        "value '%s' of the model has type %s; the tensor in the context binary has "
                        "%zu bytes for %zu elements",
                        info->name, ox_type_name(info->type), qc_tensor_bytes(t), count);
    return QRN_OK;
}

static qrn_status ports_from(qc_graph *graph, qc_tensor *const *list, uint32_t n,
                             const ox_info *infos, uint32_t n_infos, const ox_port **out) {
    ox_port *ports = qrn_arena_alloc(graph->arena, (n + 1) * sizeof *ports);
    if (!ports)
        return QRN_FAIL(QRN_E_MEM, "partition: no memory");
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(port_from(list[i], info_of(infos, n_infos, list[i]->t.v1.name), &ports[i]));
    *out = ports;
    return QRN_OK;
}

qrn_status qe_part_load(qe_ep *ep, const qe_graph *g, const ox_node *fused,
                        const QnnSystemContext_GraphInfoV3_t *info, qe_part **out) {
    const ox_graph *model = g->model->graph;
    ox_result r = {0};
    QRN_TRY(qc_graph_retrieve(ep->client, info, &r.graph));
    r.graph->profile = ep->profile.handle;
    r.n_inputs = r.graph->n_inputs;
    r.n_outputs = r.graph->n_outputs;
    qrn_status s =
        ports_from(r.graph, r.graph->inputs, r.n_inputs, model->inputs, model->n_inputs, &r.inputs);
    if (s == QRN_OK)
        s = ports_from(r.graph, r.graph->outputs, r.n_outputs, model->outputs, model->n_outputs,
                       &r.outputs);
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
    return make(ep, g, fused, &r, info->graphName, out);
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
        if (k == n_fresh)
            return QRN_FAIL(QRN_E_BINARY, "the context binary has no tensor '%s'", name);
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

// --- end

OrtNodeComputeInfo *qe_part_info(qe_part *p) { return &p->base; }

const char *qe_part_name(const OrtNodeComputeInfo *info) { return ((const qe_part *)info)->name; }

static void free_borders(qe_border *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        qrn_free(list[i].name);
        qrn_free(list[i].data);
    }
    qrn_free(list);
}

void qe_part_free(OrtNodeComputeInfo *info) {
    qe_part *p = (qe_part *)info;
    if (!p)
        return;
    free_borders(p->in, p->n_in);
    free_borders(p->out, p->n_out);
    qc_graph_destroy(p->graph);
    qrn_free(p->name);
    qrn_free(p);
}
