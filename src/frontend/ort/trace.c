// SPDX-License-Identifier: MIT
//
// From ONNX nodes to QNN ops: qnn_op_trace.json, and the last column of a profile's table. The file
// is written when the nodes are chosen and again with the composed graphs.
#include "frontend/ort/record.h"

#include "base/report_text.h"
#include "base/mem.h"
#include "base/soc.h"
#include "base/strmap.h"

#include <string.h>

#define SCHEMA 2 // that readers of the public provider's file ask for

typedef struct traced_op {
    struct traced_op *next;
    const char *name, *type, *source;
} traced_op;

typedef struct traced_graph {
    struct traced_graph *next;
    const char *name;
    traced_op *ops;
    uint32_t n_ops;
} traced_graph;

typedef struct refusal {
    const char *name, *op, *why;
    uint32_t index;
} refusal;

struct qe_trace {
    qrn_arena *arena;
    const char *model;
    refusal *refused;
    uint32_t n_refused, n_nodes, n_graphs;
    traced_graph *graphs, **end;
    qrn_strmap ops; // traced_op by name
};

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "trace of ops: no memory"); }

void qe_trace_free(qe_ep *ep) {
    if (!ep->trace)
        return;
    qrn_strmap_clear(&ep->trace->ops);
    qrn_arena_destroy(ep->trace->arena);
    ep->trace = NULL; // it lived in its arena
}

static qrn_status start(qe_ep *ep, struct qe_trace **out) {
    qe_trace_free(ep);
    qrn_arena *arena = qrn_arena_create();
    struct qe_trace *t = arena ? qrn_arena_alloc(arena, sizeof *t) : NULL;
    if (!t) {
        qrn_arena_destroy(arena);
        return no_memory();
    }
    t->arena = arena;
    t->end = &t->graphs;
    *out = ep->trace = t;
    return QRN_OK;
}

static const char *model_name(const ox_model *m) {
    const char *slash = m->path ? strrchr(m->path, '/') : NULL;
    return slash ? slash + 1 : m->path && m->path[0] ? m->path : m->graph->name;
}

static bool keep(struct qe_trace *t, const char *text, const char **out) {
    *out = text ? qrn_arena_strdup(t->arena, text) : NULL;
    return *out || !text;
}

qrn_status qe_trace_nodes(qe_ep *ep, const ox_model *m, const ox_plan *plan) {
    struct qe_trace *t = NULL;
    const ox_graph *g = m->graph;
    QRN_TRY(start(ep, &t));
    t->n_nodes = g->n_nodes;
    t->refused = qrn_arena_alloc(t->arena, (g->n_nodes + 1) * sizeof *t->refused);
    if (!t->refused || !keep(t, model_name(m), &t->model))
        return no_memory();
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        refusal *r = &t->refused[t->n_refused];
        const char *why = ox_plan_reason(g, plan, i);
        if (!why)
            continue;
        if (!keep(t, g->nodes[i].name, &r->name) || !keep(t, g->nodes[i].op, &r->op) ||
            !keep(t, why, &r->why))
            return no_memory();
        r->index = i;
        t->n_refused++;
    }
    return QRN_OK;
}

qrn_status qe_trace_graph(qe_ep *ep, const char *name, const qe_record *r) {
    struct qe_trace *t = ep->trace;
    traced_graph *g = qrn_arena_alloc(t->arena, sizeof *g);
    if (!g || !keep(t, name, &g->name))
        return no_memory();
    traced_op **end = &g->ops;
    for (const qe_op *op = r->first; op; op = op->next) {
        traced_op *o = *end = qrn_arena_alloc(t->arena, sizeof *o);
        if (!o || !keep(t, op->name, &o->name) || !keep(t, op->type, &o->type) ||
            !keep(t, op->source, &o->source))
            return no_memory();
        if (!qrn_strmap_put(&t->ops, o->name, o))
            return no_memory();
        end = &o->next;
        g->n_ops++;
    }
    *t->end = g;
    t->end = &g->next;
    t->n_graphs++;
    return QRN_OK;
}

const char *qe_trace_source(const qe_ep *ep, const char *event, const char **type) {
    char name[1024];
    const char *end = event ? strstr(event, ":OpId_") : NULL;
    size_t n = end ? (size_t)(end - event) : event ? strlen(event) : 0;
    *type = NULL;
    if (!ep->trace || !n || n >= sizeof name)
        return NULL;
    memcpy(name, event, n);
    name[n] = '\0';
    const traced_op *op = qrn_strmap_get(&ep->trace->ops, name);
    *type = op ? op->type : NULL;
    return op ? op->source : NULL;
}

// --- the file

static void write_key(FILE *f, const char *key, const char *text) {
    fprintf(f, "\"%s\": ", key);
    qrn_json_text(f, text);
}

static void write_target(FILE *f, const qe_ep *ep) {
    const qrn_soc *soc = ep->opt.soc_model ? qrn_soc_by_id(ep->opt.soc_model) : NULL;
    unsigned arch = soc ? soc->arch : (unsigned)ep->opt.htp_arch;
    fputs("{\"htp_arch\": ", f);
    if (arch)
        fprintf(f, "\"V%u\"", arch);
    else
        fputs("\"\"", f);
    fprintf(f, ", \"soc_model\": %u, \"device_id\": %u}", ep->opt.soc_model,
            (unsigned)ep->opt.device_id);
}

static void write_graph(FILE *f, const traced_graph *g) {
    fputs("{", f);
    write_key(f, "graph_name", g->name);
    fputs(", \"op_mappings\": [\n", f);
    for (const traced_op *o = g->ops; o; o = o->next) {
        fputs(o == g->ops ? "{" : ",\n{", f);
        write_key(f, "dst_name", o->name);
        fputs(", ", f);
        write_key(f, "dst_qnn_op_type", o->type);
        fputs(", \"sources\": [", f);
        if (o->source) {
            fputs("{", f);
            write_key(f, "name", o->source);
            fputs(", \"type\": \"OP\"}", f);
        }
        fputs("], \"node_group_type\": \"OrtNodeUnit\"}", f);
    }
    fputs("], \"tensor_mappings\": []}", f);
}

static void write_refused(FILE *f, const struct qe_trace *t) {
    fputs("\"unsupported_nodes\": [", f);
    for (uint32_t i = 0; i < t->n_refused; i++) {
        const refusal *r = &t->refused[i];
        fputs(i ? ",\n{" : "\n{", f);
        write_key(f, "node_name", r->name);
        fputs(", ", f);
        write_key(f, "op_type", r->op);
        fprintf(f, ", \"node_index\": %u, ", r->index);
        write_key(f, "reason", r->why);
        fputs("}", f);
    }
    fputs("],\n", f);
}

static void write_summary(FILE *f, const struct qe_trace *t) {
    uint32_t n_ops = 0;
    for (const traced_graph *g = t->graphs; g; g = g->next)
        n_ops += g->n_ops;
    fprintf(f,
            "\"summary\": {\"total_onnx_nodes\": %u, \"supported_nodes\": %u, "
            "\"unsupported_nodes\": %u, \"qnn_subgraphs\": %u, \"total_qnn_ops\": %u, "
            "\"total_socs\": 1, \"fusion_count\": {\"OrtNodeUnit\": %u}}}\n",
            t->n_nodes, t->n_nodes - t->n_refused, t->n_refused, t->n_graphs, n_ops, n_ops);
}

qrn_status qe_trace_write(const qe_ep *ep) {
    static const char *const backends[] = {"cpu", "gpu", "htp", "saver"};
    const struct qe_trace *t = ep->trace;
    qrn_outfile file;
    FILE *f = NULL;
    QRN_TRY(qe_file_open(ep->opt.trace_dir, "qnn_op_trace", ".json", &file, &f));
    fprintf(f, "{\"schema_version\": %d, ", SCHEMA);
    write_key(f, "model_name", t->model);
    fputs(", ", f);
    write_key(f, "backend_type", backends[ep->backend]);
    fputs(",\n\"compilation_target\": ", f);
    write_target(f, ep);
    fputs(", \"soc_traces\": [{\"compilation_target\": ", f);
    write_target(f, ep);
    fputs("}],\n\"subgraph_traces\": [", f);
    for (const traced_graph *g = t->graphs; g; g = g->next) {
        fputs(g == t->graphs ? "\n" : ",\n", f);
        write_graph(f, g);
    }
    fputs("],\n", f);
    write_refused(f, t);
    write_summary(f, t);
    return qrn_outfile_commit(&file);
}
