// SPDX-License-Identifier: MIT
//
// A delegate on a QNN library: its context, the graph of the method, and which argument belongs to
// which tensor of the graph.
//
// Names show the way: inputs are "input_<number>_...", in the order of their numbers; outputs are
// "output_...", in the graph's order; those with "mutbuf_<number>" stand for state that lives here,
// an input and an output of the same number sharing its memory.
#include "frontend/executorch/delegate.h"

#include "base/mem.h"
#include "frontend/client/client.h"
#include "frontend/executorch/delegate_trace.h"
#include "frontend/executorch/vote.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QNN_ID "QnnBackend"
#define OPTIONS_KEY "qnn_compile_spec"
#define BACKEND_GPU 1
#define BACKEND_HTP 2

struct et_delegate {
    qc_client *client;
    et_qnn_blob blob;
    bool shares;                // the client is that of a sibling's delegate
    qc_composed own, *composed; // graphs of a DLC file: of this delegate, or of the sibling's
    qc_graph *graph;
    qrn_arena *arena;
    const void **in; // of the graph's tensors; state is set for good, the rest by each execution
    void **out;
    uint32_t *in_order, *out_order; // the graph's tensors that arguments go to
    uint32_t n_in, n_out;
    et_vote vote;
    bool from_binary; // made from a context binary: names show no order
    bool dump;        // its outputs go to the trace
};

static qrn_status about(const et_method *m, uint32_t index, qrn_status s) {
    char text[QRN_MESSAGE_MAX]; // the new message holds the old one
    snprintf(text, sizeof text, "%s", qrn_message());
    return QRN_FAIL(s, "%s: method '%s', delegate %u: %s", m->program->path, m->def->name, index,
                    text);
}

// --- Opening

qrn_status et_qnn_options_of(const et_delegate_def *def, et_qnn_options *o) {
    if (strcmp(def->id, QNN_ID) != 0)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "made for '%s', expected " QNN_ID, def->id);
    for (uint32_t i = 0; i < def->n_specs; i++)
        if (strcmp(def->specs[i].key, OPTIONS_KEY) == 0)
            return et_qnn_options_parse(def->specs[i].data, def->specs[i].bytes, o);
    return QRN_FAIL(QRN_E_BINARY, "it has no " OPTIONS_KEY);
}

// Opening a library runs its code, so a file may choose among those of an SDK, by name, and not
// lead to one that came with it.
static bool is_sdk_name(const char *name) {
    size_t n = strlen(name);
    return strncmp(name, "libQnn", 6) == 0 && !strchr(name, '/') && n > 9 &&
           strcmp(name + n - 3, ".so") == 0;
}

static qrn_status library_of(const et_method *m, const et_qnn_options *o, const char **out) {
    *out = m->opt.backend ? m->opt.backend : o->library;
    if (!m->opt.backend && o->library[0] && !is_sdk_name(o->library))
        return QRN_FAIL(
            QRN_E_NOT_PERMITTED,
            "it names the library '%.200s'; a program may name one such as libQnnHtp.so, "
            "without a path: choose the library yourself (--backend)",
            o->library);
    if (!(*out)[0])
        *out = o->backend == BACKEND_HTP ? "htp" : o->backend == BACKEND_GPU ? "gpu" : NULL;
    return *out ? QRN_OK
                : QRN_FAIL(QRN_E_UNSUPPORTED, "backend type %d, expected 1 (GPU) or 2 (HTP)",
                           o->backend);
}

static int log_level(const et_method *m, const et_qnn_options *o) {
    return m->opt.log_level ? m->opt.log_level : o->log_level;
}

static qrn_status open_client(const et_method *m, const et_qnn_options *o, et_delegate *d) {
    const char *library;
    QRN_TRY(library_of(m, o, &library));
    int level = log_level(m, o);
    qc_options options = {.no_context = true, .n_threads = m->opt.n_threads};
    if (o->backend == BACKEND_HTP)
        options.soc = m->opt.soc ? m->opt.soc : o->soc;
    if (m->opt.log && level >= 1 && level <= 5) {
        options.log = m->opt.log;
        options.log_level = (QnnLog_Level_t)level;
    }
    return qc_open(library, &options, &d->client);
}

static const QnnSystemContext_GraphInfoV3_t *find_graph(const QnnSystemContext_BinaryInfoV3_t *info,
                                                        const char *name) {
    for (uint32_t i = 0; i < info->numGraphs; i++)
        if (strcmp(info->graphs[i].graphInfoV3.graphName, name) == 0)
            return &info->graphs[i].graphInfoV3;
    return NULL;
}

// Two methods of a program have their own copies of the options, and one binary with all graphs.
static bool find_sibling(const et_method *m, et_delegate *d) {
    const et_method *other = m->opt.sibling;
    for (uint32_t i = 0; other && i < other->def->n_delegates; i++) {
        const et_delegate *o = other->delegates[i];
        if (o->blob.n_bytes == d->blob.n_bytes && o->blob.signature == d->blob.signature &&
            memcmp(o->blob.bytes, d->blob.bytes, d->blob.n_bytes) == 0) {
            d->client = o->client;
            d->composed = o->composed;
            d->shares = true;
        }
    }
    return d->shares;
}

// Graphs of a DLC file are built and compiled here.
static qrn_status compose_graph(const et_method *m, et_delegate *d) {
    const qc_dlc_source from = {.bytes = d->blob.bytes, .n_bytes = d->blob.n_bytes};
    if (!d->composed) {
        QRN_TRY(qc_compose(d->client, &from, &d->own));
        d->composed = &d->own;
    }
    return qc_composed_graph(d->client, d->composed, m->def->name, &d->graph);
}

static qrn_status load_graph(const et_method *m, et_delegate *d) {
    const et_qnn_blob *blob = &d->blob;
    if (blob->is_dlc)
        return compose_graph(m, d);
    qc_system *system = NULL;
    const QnnSystemContext_BinaryInfoV3_t *info = NULL;
    QRN_TRY(qc_system_open(NULL, &system));
    qrn_status s = qc_system_describe(system, blob->bytes, blob->n_bytes, &info);
    const QnnSystemContext_GraphInfoV3_t *graph =
        s == QRN_OK ? find_graph(info, m->def->name) : NULL;
    if (s == QRN_OK && !graph)
        s = QRN_FAIL(QRN_E_NOT_FOUND, "its context binary has no graph '%s' among its %u",
                     m->def->name, info->numGraphs);
    if (s == QRN_OK && !d->shares)
        s = qc_load(d->client, blob->bytes, blob->n_bytes, NULL, NULL);
    if (s == QRN_OK)
        s = qc_graph_retrieve(d->client, graph, &d->graph);
    qc_system_close(system);
    return s;
}

// --- Tensors

// The number behind a mark in a name; -1: the mark is not there.
static long number_after(const char *name, const char *mark) {
    const char *p = strstr(name, mark);
    return p ? strtol(p + strlen(mark), NULL, 10) : -1;
}

// Of a graph that ExecuTorch compiled; in others all outputs are arguments.
static bool is_argument(const et_delegate *d, const char *name) {
    return d->from_binary || strncmp(name, "output_", 7) == 0;
}

static bool is_state(const qc_tensor *t) { return strstr(t->t.v1.name, "mutbuf_") != NULL; }

static void order_inputs(et_delegate *d) {
    qc_tensor **in = d->graph->inputs;
    for (uint32_t i = 0; i < d->graph->n_inputs; i++) {
        if (is_state(in[i]))
            continue;
        long number = number_after(in[i]->t.v1.name, "_");
        uint32_t at = d->n_in++;
        for (; at > 0 && !d->from_binary &&
               number_after(in[d->in_order[at - 1]]->t.v1.name, "_") > number;
             at--)
            d->in_order[at] = d->in_order[at - 1];
        d->in_order[at] = i;
    }
}

// State begins as zeros. An output's input may be smaller or larger only in a broken binary.
static qrn_status make_state(et_delegate *d) {
    const qc_graph *g = d->graph;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (is_state(g->inputs[i]) &&
            !(d->in[i] = qrn_arena_alloc(d->arena, qc_tensor_bytes(g->inputs[i]))))
            return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const char *name = g->outputs[i]->t.v1.name;
        size_t bytes = qc_tensor_bytes(g->outputs[i]);
        if (is_argument(d, name) && !is_state(g->outputs[i])) {
            d->out_order[d->n_out++] = i;
            continue;
        }
        for (uint32_t k = 0; k < g->n_inputs && is_state(g->outputs[i]); k++)
            if (is_state(g->inputs[k]) && qc_tensor_bytes(g->inputs[k]) == bytes &&
                number_after(g->inputs[k]->t.v1.name, "mutbuf_") == number_after(name, "mutbuf_"))
                d->out[i] = (void *)(uintptr_t)d->in[k]; // made above
        if (!d->out[i] && !(d->out[i] = qrn_arena_alloc(d->arena, bytes)))
            return QRN_FAIL(QRN_E_MEM, "out of memory");
    }
    return QRN_OK;
}

static qrn_status bind(et_delegate *d) {
    uint32_t n_in = d->graph->n_inputs, n_out = d->graph->n_outputs;
    d->in = qrn_arena_alloc(d->arena, n_in * sizeof *d->in);
    d->out = qrn_arena_alloc(d->arena, n_out * sizeof *d->out);
    d->in_order = qrn_arena_alloc(d->arena, n_in * sizeof *d->in_order);
    d->out_order = qrn_arena_alloc(d->arena, n_out * sizeof *d->out_order);
    if (!d->in || !d->out || !d->in_order || !d->out_order)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    order_inputs(d);
    return make_state(d);
}

// A line of our own in the library's log.
static void report(QnnLog_Callback_t log, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void report(QnnLog_Callback_t log, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    log(fmt, QNN_LOG_LEVEL_VERBOSE, 0, args);
    va_end(args);
}

static qrn_status start(const et_method *m, const et_delegate_def *def, et_delegate *d) {
    et_qnn_options o;
    QRN_TRY(et_qnn_options_of(def, &o));
    QRN_TRY(et_qnn_blob_parse(def->data, def->bytes, &d->blob));
    if (!find_sibling(m, d))
        QRN_TRY(open_client(m, &o, d));
    if (o.backend == BACKEND_HTP && !d->shares)
        QRN_TRY(et_vote_cast(d->client,
                             m->opt.set_performance ? m->opt.performance_mode : o.performance_mode,
                             &d->vote));
    d->from_binary = o.from_binary;
    d->dump = o.dump_outputs && m->opt.trace && et_trace_wants_tensors(m->opt.trace);
    QRN_TRY(load_graph(m, d));
    QRN_TRY(bind(d));
    if (m->opt.trace)
        QRN_TRY(et_profile_start(d->graph,
                                 m->opt.set_profile ? m->opt.profile_level : o.profile_level));
    if (m->opt.log && log_level(m, &o) >= QNN_LOG_LEVEL_VERBOSE)
        report(m->opt.log,
               "graph '%s' of a context binary of %zu bytes: %u inputs, %u outputs, on %s",
               m->def->name, d->blob.n_bytes, d->graph->n_inputs, d->graph->n_outputs,
               d->client->path);
    return QRN_OK;
}

qrn_status et_delegate_open(const et_method *m, uint32_t index, et_delegate **out) {
    qrn_arena *arena = qrn_arena_create();
    et_delegate *d = arena ? qrn_arena_alloc(arena, sizeof *d) : NULL;
    if (!d) {
        qrn_arena_destroy(arena);
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", m->program->path);
    }
    d->arena = arena;
    qrn_status s = start(m, &m->def->delegates[index], d);
    if (s != QRN_OK) {
        et_delegate_close(d);
        return about(m, index, s);
    }
    *out = d;
    return QRN_OK;
}

void et_delegate_close(et_delegate *d) {
    if (!d)
        return;
    et_profile_stop(d->graph);
    qc_graph_destroy(d->graph);
    et_vote_withdraw(&d->vote);
    if (!d->shares)
        qc_close(d->client);
    qc_composed_free(&d->own);
    qrn_arena_destroy(d->arena);
}

const Qnn_Tensor_t *et_delegate_tensor(const et_delegate *d, uint32_t i, bool *is_output) {
    *is_output = i >= d->n_in;
    if (i >= d->n_in + d->n_out)
        return NULL;
    return *is_output ? &d->graph->outputs[d->out_order[i - d->n_in]]->t
                      : &d->graph->inputs[d->in_order[i]]->t;
}

// --- Executing

// The tensor behind an argument; it has room for the largest shape of the graph's tensor.
static qrn_status take(const et_method *m, int32_t value, const Qnn_Tensor_t *bound, bool is_output,
                       et_tensor **out) {
    const et_item *v = &m->values[value];
    const char *name = bound->v1.name;
    size_t bytes = bound->v1.clientBuf.dataSize;
    if (v->kind != ET_KIND_TENSOR || !v->tensor->data || (is_output && v->tensor->fixed))
        return QRN_FAIL(QRN_E_TENSOR, "tensor '%s': value %d cannot be used for it", name, value);
    et_tensor *t = v->tensor;
    if (t->room < bytes)
        return QRN_FAIL(QRN_E_SHAPE, "tensor '%s': %zu bytes, but value %d (%s) has %zu", name,
                        bytes, value, et_type_name(t->def->type), t->room);
    *out = t;
    return QRN_OK;
}

static qrn_status run(et_method *m, et_delegate *d, const int32_t *args) {
    for (uint32_t i = 0; i < d->n_in + d->n_out; i++) {
        bool is_output = i >= d->n_in;
        uint32_t at = is_output ? d->out_order[i - d->n_in] : d->in_order[i];
        qc_tensor *q = is_output ? d->graph->outputs[at] : d->graph->inputs[at];
        et_tensor *t;
        const Qnn_Tensor_t *bound = &d->graph->bound[is_output ? d->graph->n_inputs + at : at];
        QRN_TRY(take(m, args[i], bound, is_output, &t));
        if (is_output)
            d->out[at] = t->data;
        else
            d->in[at] = t->data;
        // A smaller shape is given to the library, which works the results' shapes out.
        for (uint32_t k = 0; !is_output && t->def->may_shrink && t->rank == q->rank && k < q->rank;
             k++)
            q->dims[k] = (uint32_t)t->sizes[k];
    }
    QRN_TRY(qc_graph_execute(d->graph, d->in, d->out));
    if (m->opt.trace)
        QRN_TRY(et_profile_read(d->graph, m->opt.trace));
    return d->dump ? et_trace_outputs(d->graph, d->out, m->opt.trace) : QRN_OK;
}

qrn_status et_delegate_execute(et_method *m, et_delegate *d, const int32_t *args, uint32_t n_args) {
    uint32_t index = 0;
    while (m->delegates[index] != d)
        index++;
    qrn_status s =
        n_args < d->n_in + d->n_out
            ? QRN_FAIL(QRN_E_BINARY,
                       "a call with %u arguments, its graph has %u inputs and %u outputs", n_args,
                       d->n_in, d->n_out)
            : run(m, d, args);
    return s == QRN_OK ? s : about(m, index, s);
}
