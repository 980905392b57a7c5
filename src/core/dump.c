// SPDX-License-Identifier: MIT
//
// Tensors written to files while graphs are executed. A graph whose backend dumps is compiled
// without passes, so that every tensor is computed and has its own memory; what lowering itself
// folds away is listed in the index with its reason. Runs on the thread that executes; executions
// that run side by side have a folder each and share nothing but the count of them.
#include "core/dump.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "base/report_text.h"
#include "core/dump_file.h"
#include "core/errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What is known of a value of the compiled graph.
enum { NO_STEP_WRITES, NOT_DUMPED, DUMPED };

struct qrn_dump {
    const qrn_api_graph *graph;
    const qrn_compiled *cg;
    int folder; // of this execution
    qrn_outfile file;
    FILE *index;     // stream of index.json, which appears when it is complete
    uint8_t *values; // [cg->n_values]
    uint8_t *ids;    // [n_ids] tensors that the compiled graph has a value for
    uint32_t n_ids;
    uint32_t n_files;   // written so far
    uint32_t n_records; // of the list that is being written
    uint32_t last_node; // traced, UINT32_MAX: none
    bool past;          // a further set of a batch: not written
};

qrn_status qrn_dump_set(qrn_api_backend *b, const char *folder, uint32_t n_runs) {
    char *copy = folder && *folder ? qrn_strdup(folder) : NULL;
    if (folder && *folder && !copy)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a path");
    qrn_free(b->own->dump.folder);
    b->own->dump.folder = copy;
    b->own->dump.n_runs = n_runs ? n_runs : 1;
    return QRN_OK;
}

qrn_status qrn_dump_from_environment(qrn_api_backend *b) {
    const char *folder = qrn_env_get(QRN_ENV_DUMP), *runs = qrn_env_get(QRN_ENV_DUMP_RUNS);
    char *end = NULL;
    long n = runs ? strtol(runs, &end, 10) : 1;
    if (!folder)
        return QRN_OK;
    if (runs && (*end || n < 1 || n > INT32_MAX)) {
        qrn_log(b->log, QNN_LOG_LEVEL_WARN,
                "QUERN_DUMP_RUNS is '%.64s', expected a number from 1: 1 is taken", runs);
        n = 1;
    }
    return qrn_dump_set(b, folder, (uint32_t)n);
}

// Says once what happened; nothing more is written for the backend.
static void give_up(const qrn_api_graph *g, const char *what, int error) {
    qrn_api_backend *b = g->context->backend;
    if (!atomic_exchange(&b->own->dump.failed, true))
        qrn_log(b->log, QNN_LOG_LEVEL_WARN,
                "QUERN_DUMP: graph '%s': %s in '%.256s' cannot be written (%s): free space there "
                "or name another folder; graphs run on, nothing more is dumped",
                g->ir->name, what, b->own->dump.folder, strerror(error));
}

static bool is_off(const qrn_dump *d) {
    return atomic_load(&d->graph->context->backend->own->dump.failed);
}

static void destroy(qrn_dump *d) {
    if (d->index)
        qrn_outfile_abort(&d->file);
    if (d->folder >= 0)
        close(d->folder);
    qrn_free(d->values);
    qrn_free(d->ids);
    qrn_free(d);
}

static void find_written(qrn_dump *d) {
    const qrn_compiled *p = d->cg;
    for (uint32_t s = 0; s < p->n_steps; s++)
        for (uint32_t i = 0; i < p->steps[s].n_out; i++)
            if (p->steps[s].out[i] != UINT32_MAX)
                d->values[p->steps[s].out[i]] = NOT_DUMPED;
    for (uint32_t v = 0; v < p->n_values; v++) {
        if (p->values[v].tensor_id < d->n_ids)
            d->ids[p->values[v].tensor_id] = 1;
        if (p->values[v].kind == QRN_CV_IO || p->values[v].kind == QRN_CV_CONST)
            d->values[v] = NOT_DUMPED;
    }
}

static qrn_dump *new_dump(qrn_api_graph *g) {
    qrn_dump *d = qrn_calloc(sizeof *d);
    if (!d)
        return NULL;
    pthread_mutex_lock(&g->context->own->lock);
    uint32_t n_tensors = g->context->own->n_tensors;
    pthread_mutex_unlock(&g->context->own->lock);
    *d = (qrn_dump){.graph = g,
                    .cg = g->compiled,
                    .folder = -1,
                    .n_ids = n_tensors + 1,
                    .last_node = UINT32_MAX};
    d->values = qrn_calloc(d->cg->n_values + 1);
    d->ids = qrn_calloc(d->n_ids);
    if (!d->values || !d->ids) {
        destroy(d);
        return NULL;
    }
    find_written(d);
    return d;
}

static bool open_index(qrn_dump *d, uint32_t n_batch) {
    uint32_t run;
    const qrn_api_backend *b = d->graph->context->backend;
    d->folder = qrn_dump_folder(b->own->dump.folder, d->graph->ir->name, &run);
    if (d->folder < 0)
        return false;
    if (qrn_outfile_begin_unsynced(&d->file, d->folder, "index.json") == QRN_OK) {
        d->index = qrn_outfile_stream(&d->file);
        if (!d->index)
            qrn_outfile_abort(&d->file);
    }
    if (!d->index) {
        errno = d->file.error;
        return false;
    }
    fputs("{\"quern_dump\": 1, \"graph\": ", d->index);
    qrn_json_text(d->index, d->graph->ir->name);
    fprintf(d->index, ", \"run\": %u, \"backend\": \"%s\", \"sets\": %u,\n\"tensors\": [", run,
            qrn_this_backend.provider_name, n_batch ? n_batch : 1);
    qrn_log(b->log, QNN_LOG_LEVEL_INFO, "QUERN_DUMP: graph '%s': run %u is written to '%.256s'",
            d->graph->ir->name, run, b->own->dump.folder);
    return true;
}

static const qrn_tensor *client_tensor(const qrn_dump *d, uint32_t id) {
    qrn_api_context *c = d->graph->context;
    pthread_mutex_lock(&c->own->lock); // others may be making tensors
    const qrn_tensor *t = id && id <= c->own->n_tensors ? c->own->tensors[id - 1] : NULL;
    pthread_mutex_unlock(&c->own->lock);
    return t;
}

static const char *role_name(const qrn_dump *d, const qrn_cvalue *v) {
    const qrn_tensor *t = client_tensor(d, v->tensor_id);
    if (v->kind == QRN_CV_CONST)
        return "constant";
    return !t || t->role == QRN_ROLE_NATIVE ? "intermediate"
           : t->role == QRN_ROLE_INPUT      ? "input"
           : t->role == QRN_ROLE_OUTPUT     ? "output"
                                            : "shared";
}

// Begins a record of a list.
static void begin_record(qrn_dump *d, const char *name) {
    fputs(d->n_records++ ? ",\n {\"name\": " : "\n {\"name\": ", d->index);
    qrn_json_text(d->index, name);
}

static void add_node(qrn_dump *d, const char *node, const char *op) {
    fputs(", \"node\": ", d->index);
    qrn_json_text(d->index, node);
    fputs(", \"op\": ", d->index);
    qrn_json_text(d->index, op);
}

// Writes one value; `n` is the node that made it, NULL for what the application gave.
static void dump_value(qrn_dump *d, uint32_t v, const qrn_view *view, const qrn_cnode *n) {
    const qrn_cvalue *val = &d->cg->values[v];
    const qrn_tensor *t = client_tensor(d, val->tensor_id);
    bool sparse = view->n_sparse || view->n_sparse_dims;
    if (d->values[v] != NOT_DUMPED || !view->data || sparse || is_off(d))
        return;
    char name[QRN_DUMP_NAME_MAX];
    qrn_dump_name(name, d->n_files, val->name);
    if (!qrn_dump_array(d->folder, name, view)) {
        give_up(d->graph, name, errno);
        return;
    }
    d->values[v] = DUMPED;
    begin_record(d, val->name);
    fprintf(d->index, ", \"order\": %u, \"file\": \"%s\", \"role\": \"%s\"", d->n_files++, name,
            role_name(d, val));
    add_node(d, n ? n->name : NULL, n ? n->type : NULL);
    qrn_dump_describe(d->index, view);
    fprintf(d->index, ", \"declared\": \"%s\"}", qrn_dtypes[t ? t->dtype : val->dtype].token);
}

static bool is_given(const qrn_compiled *p, uint32_t v) {
    const qrn_cvalue *val = &p->values[v];
    return val->kind == QRN_CV_IO && !p->io[val->io].is_output;
}

static void trace(void *dump, uint32_t node, const qrn_values *values) {
    qrn_dump *d = dump;
    const qrn_cnode *n = &d->cg->nodes[node];
    qrn_view view;
    d->past |= d->last_node != UINT32_MAX && node < d->last_node; // nodes run in their order
    d->last_node = node;
    for (uint32_t i = 0; i < n->n_in && !d->past; i++)
        if (n->in[i] != UINT32_MAX && is_given(d->cg, n->in[i]) && d->values[n->in[i]] != DUMPED &&
            values->get(values->run, n->in[i], &view))
            dump_value(d, n->in[i], &view, NULL);
    for (uint32_t i = 0; i < n->n_out && !d->past; i++)
        if (n->out[i] != UINT32_MAX && values->get(values->run, n->out[i], &view))
            dump_value(d, n->out[i], &view, n);
}

qrn_dump *qrn_dump_start(qrn_api_graph *g, qrn_run_options *opt) {
    qrn_dump_settings *set = &g->context->backend->own->dump;
    if (atomic_load(&set->failed) || atomic_load(&g->own->n_dumped) >= set->n_runs ||
        atomic_fetch_add(&g->own->n_dumped, 1) >= set->n_runs)
        return NULL;
    qrn_dump *d = new_dump(g);
    if (!d || !open_index(d, opt->n_batch)) {
        give_up(g, "index.json", d ? errno : ENOMEM);
        if (d)
            destroy(d);
        return NULL;
    }
    opt->trace = trace;
    opt->trace_ctx = d;
    return d;
}

// Results that were known when the graph was compiled.
static void dump_constants(qrn_dump *d) {
    for (uint32_t i = 0; i < d->cg->n_nodes; i++) {
        const qrn_cnode *n = &d->cg->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++) {
            uint32_t v = n->out[k];
            if (v != UINT32_MAX && d->cg->values[v].kind == QRN_CV_CONST) {
                qrn_view view = qrn_compiled_view(d->cg, v);
                dump_value(d, v, &view, n);
            }
        }
    }
}

static void list_missing(qrn_dump *d, const char *tensor, const char *node, const char *op,
                         const char *reason, const char *into) {
    begin_record(d, tensor);
    add_node(d, node, op);
    fprintf(d->index, ", \"reason\": \"%s\"", reason);
    if (into) {
        fputs(", \"into\": ", d->index);
        qrn_json_text(d->index, into);
    }
    fputc('}', d->index);
}

// The first tensor that a reader of t writes: what t went into.
static const char *reader_result(const qrn_graph *g, const qrn_tensor *t) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i]->n_in; k++)
            if (g->nodes[i]->in[k] == t && g->nodes[i]->n_out && g->nodes[i]->out[0])
                return g->nodes[i]->out[0]->name;
    return NULL;
}

static void list_folded(qrn_dump *d, const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] && n->out[k]->id < d->n_ids && !d->ids[n->out[k]->id])
                list_missing(d, n->out[k]->name, n->name, n->type, "folded",
                             reader_result(g, n->out[k]));
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        list_folded(d, g->subgraphs[i]);
}

static void list_unwritten(qrn_dump *d) {
    for (uint32_t i = 0; i < d->cg->n_nodes; i++) {
        const qrn_cnode *n = &d->cg->nodes[i];
        for (uint32_t k = 0; k < n->n_out; k++) {
            const qrn_cvalue *v = n->out[k] == UINT32_MAX ? NULL : &d->cg->values[n->out[k]];
            if (!v || d->values[n->out[k]] == DUMPED)
                continue;
            bool sparse = v->n_sparse || v->n_sparse_dims;
            list_missing(d, v->name, n->name, n->type,
                         sparse                                   ? "sparse"
                         : is_off(d)                              ? "not written"
                         : d->values[n->out[k]] == NO_STEP_WRITES ? "folded"
                                                                  : "not computed",
                         NULL);
            d->values[n->out[k]] = DUMPED; // once is enough
        }
    }
}

void qrn_dump_end(qrn_dump *d, qrn_status s) {
    if (!d)
        return;
    if (s == QRN_OK)
        dump_constants(d);
    fprintf(d->index, "\n],\n\"missing\": [");
    d->n_records = 0;
    list_folded(d, d->graph->ir);
    list_unwritten(d);
    fprintf(d->index, "\n],\n\"complete\": %s}\n", s == QRN_OK && !is_off(d) ? "true" : "false");
    d->index = NULL;
    if (qrn_outfile_commit(&d->file) != QRN_OK)
        give_up(d->graph, "index.json", d->file.error);
    destroy(d);
}
