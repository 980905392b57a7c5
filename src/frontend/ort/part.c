// SPDX-License-Identifier: MIT
//
// Making partitions from nodes that are imported and finalized, and what ends them.
#include "frontend/ort/defaults.h"
#include "frontend/ort/part.h"
#include "frontend/ort/record.h"
#include "frontend/ort/timeline.h"

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
        port->tensor && qe_is_wide(port->type) && qc_dtype_bits(port->tensor->t.v1.dataType) == 32;
    if (port->tensor || !port->data)
        return QRN_OK;
    b->data = qrn_alloc(port->bytes + 1);
    if (!b->data)
        return QRN_FAIL(QRN_E_MEM, "value '%s': no memory", name);
    memcpy(b->data, port->data, port->bytes);
    return QRN_OK;
}

// Each input of the graph must come from somewhere.
static qrn_status check_inputs(const qe_part *p) {
    for (uint32_t k = 0; k < p->graph->n_inputs; k++) {
        uint32_t i = 0;
        while (i < p->n_in && p->in[i].slot != (int32_t)k)
            i++;
        if (i == p->n_in)
            return QRN_FAIL(QRN_E_UNCONNECTED,
                            "model %s, partition '%s': no value of the model is the graph's input "
                            "'%s'",
                            p->model, p->name, p->graph->inputs[k]->t.v1.name);
    }
    return QRN_OK;
}

// An input that the graph does not have is one that nobody reads.
static qrn_status map_inputs(qe_part *p, const ox_node *fused, const ox_result *r) {
    const qe_place at = {p->model, p->name, true};
    p->in = qrn_calloc((fused->n_in + 1) * sizeof *p->in);
    if (!p->in)
        return QRN_FAIL(QRN_E_MEM, "inputs: no memory");
    for (uint32_t i = 0; i < fused->n_in; i++) {
        const ox_port *port = port_of(r->inputs, r->n_inputs, fused->in[i]);
        QRN_TRY(set_border(&p->in[p->n_in++], fused->in[i], port));
        if (!port)
            continue;
        p->in[i].slot = slot_of(r->graph->inputs, r->graph->n_inputs, port->tensor);
        QRN_TRY(qe_check_border(&at, &p->in[i], port->tensor));
    }
    return check_inputs(p);
}

static qrn_status map_outputs(qe_part *p, const ox_node *fused, const ox_graph *g,
                              const ox_result *r) {
    const qe_place at = {p->model, p->name, false};
    p->out = qrn_calloc((fused->n_out + 1) * sizeof *p->out);
    if (!p->out)
        return QRN_FAIL(QRN_E_MEM, "outputs: no memory");
    for (uint32_t i = 0; i < fused->n_out; i++) {
        const char *name = fused->out[i];
        const ox_port *port = port_of(r->outputs, r->n_outputs, name);
        const ox_info *info = info_of(g->outputs, g->n_outputs, name);
        if (!port)
            return QRN_FAIL(QRN_E_UNCONNECTED, "output '%s' is not computed", name);
        QRN_TRY(set_border(&p->out[p->n_out++], name, port));
        qe_border *b = &p->out[i];
        b->slot = slot_of(r->graph->outputs, r->graph->n_outputs, port->tensor);
        b->sized = b->slot >= 0 && b->rank && (port->counted || !has_static_shape(info));
        if (port->tensor)
            QRN_TRY(qe_check_border(&at, b, port->tensor));
        if (info && info->type && info->type != b->type)
            return qe_fail_value(&at, b, info->type, info->dims, info->rank);
    }
    return QRN_OK;
}

qrn_status qe_part_make(qe_ep *ep, const qe_graph *g, const ox_node *fused, const ox_result *r,
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
    p->model = qrn_strdup(g->model->path[0] ? g->model->path : "from memory");
    qrn_status s = p->name && p->model ? map_inputs(p, fused, r)
                                       : QRN_FAIL(QRN_E_MEM, "partition '%s': no memory", name);
    if (s == QRN_OK)
        s = map_outputs(p, fused, g->model->graph, r);
    if (s == QRN_OK)
        s = qe_defaults_note(p, g->model->graph);
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
    qe_hush_library(QE_HUSH_ERRORS); // that there is none is what is hoped for
    for (unsigned i = 2; ep->shares && len > 0 && (size_t)len < size; i++) {
        if (c->qnn.graphRetrieve(c->context, out, &taken) != QNN_SUCCESS)
            break;
        len = snprintf(out, size, "%s_%u", base, i);
    }
    qe_hush_library(QE_HUSH_NOTHING);
    return len > 0 && (size_t)len < size ? QRN_OK
                                         : QRN_FAIL(QRN_E_NAME, "'%s' is too long a name", base);
}

void qe_note(void *ctx, const ox_node *n, const char *what, const char *why) {
    qe_ep *ep = ctx;
    size_t room = strlen(n->op) + strlen(what) + 2;
    char *key = qrn_arena_alloc(ep->arena, room);
    if (!key)
        return;
    snprintf(key, room, "%s %s", n->op, what);
    if (!qrn_strmap_get(&ep->noted, key) && qrn_strmap_put(&ep->noted, key, ep))
        qe_say(ep->log, ORT_LOG_WARNING, "%s nodes %s, the first one is '%s': %s", n->op, what,
               n->name, why);
}

// Files about the graph that was composed.
static qrn_status report(qe_ep *ep, const char *name, const qc_graph *g, const qe_record *r) {
    if (ep->opt.dump_json)
        QRN_TRY(qe_dump_graph(ep, name, g, r));
    return ep->trace ? qe_trace_graph(ep, name, r) : QRN_OK;
}

static qrn_status import(qe_ep *ep, const ox_model *m, const ox_options *options, ox_result *r) {
    qe_hush_library(QE_HUSH_ERRORS);
    qrn_status s = ox_import_model(m, ep->client, options, r);
    qe_hush_library(QE_HUSH_NOTHING);
    return s;
}

// Composes the graph, and reports it where that is asked for.
static qrn_status compose(qe_ep *ep, const ox_model *m, const char *name, ox_options *options,
                          ox_result *r) {
    qe_record record;
    if (!ep->opt.dump_json && !ep->trace)
        return import(ep, m, options, r);
    QRN_TRY(qe_record_open(&record, ep->client, options));
    qrn_status s = import(ep, m, options, r);
    qrn_status recorded = qe_record_done(&record, ep->client);
    if (s == QRN_OK) {
        s = recorded == QRN_OK ? report(ep, name, r->graph, &record) : recorded;
        if (s != QRN_OK)
            qc_graph_destroy(r->graph);
    }
    qe_record_free(&record);
    return s;
}

qrn_status qe_part_compile(qe_ep *ep, const qe_graph *g, const ox_node *fused, const char *base,
                           qe_part **out) {
    qe_graph_room room;
    char name[1024];
    QRN_TRY(graph_name(ep, base ? base : fused->name, name, sizeof name));
    // Other providers that read a context model expect values as wide as onnxruntime's.
    ox_options options = {.graph_name = name,
                          .graph_configs = qe_graph_configs(ep, name, &room),
                          .allow_fp16 = ep->opt.allow_fp16,
                          .note = qe_note,
                          .note_ctx = ep,
                          .packages = ep->packages,
                          .n_packages = ep->n_packages,
                          .wide_borders = ep->opt.context_enable};
    ox_result r = {0};
    QRN_TRY(compose(ep, g->model, name, &options, &r));
    uint64_t start = qe_now_us();
    r.graph->profile = ep->profile.handle;
    qrn_status s = r.graph->n_nodes ? qc_graph_finalize(r.graph) : QRN_OK;
    if (s == QRN_OK) {
        qe_timeline_made(ep, "qnn_graph_compile", name, 1000 * start);
        s = qe_profile_take(ep, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE, name, start);
    }
    if (s != QRN_OK) {
        qc_graph_destroy(r.graph);
        return s;
    }
    return qe_part_make(ep, g, fused, &r, name, out);
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
    qe_defaults_free(p->defaults);
    qc_graph_destroy(p->graph);
    qrn_free(p->model);
    qrn_free(p->name);
    qrn_free(p);
}
