// SPDX-License-Identifier: MIT
//
// Opening the graphs of a language model.
#include "tools/quern/llm_graphs.h"

#include "tools/quern/adapter.h"
#include "tools/quern/binary.h"
#include "tools/quern/llm_memory.h"
#include "tools/quern/llm_pte.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"
#include "tools/quern/run_pte.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The context of a binary; its bytes stay until it is closed.
typedef struct loaded {
    qt_binary binary;
    qc_client *client;
} loaded;

// A graph with the handles of its inputs in shared memory.
typedef struct executed {
    qc_graph *g;
    qt_llm_graphs *all;
    Qnn_MemHandle_t *mem; // inputs, then outputs; NULL in it: an ordinary buffer
    const void **seen;    // buffers of the last execution, in that order
} executed;

struct qt_llm_graphs {
    const qt_backend_options *backend;
    qrn_arena *arena;
    qc_client *client; // of the ONNX models; NULL: none yet
    loaded *binaries;
    size_t n_binaries;
    qt_llm_pte **programs;
    size_t n_programs;
    ql_graph *graphs;
    executed **handles; // behind them; NULL: a method of a program
    uint32_t n, cap;
    qt_llm_memory *memory; // NULL: none is shared
};

static int refused(const char *file) {
    qt_error("%s: %s", file, qrn_message());
    return QT_EXIT_REFUSED;
}

// Handles are asked for when a buffer is new. A cache that is updated in place is an output, too.
static qrn_status find_handles(executed *e, qc_tensor *const *tensors, const void *const *buffers,
                               uint32_t n, uint32_t first) {
    for (uint32_t i = 0; e->all->memory && i < n; i++)
        if (e->seen[first + i] != buffers[i]) {
            QRN_TRY(qt_llm_memory_handle(e->all->memory, e->g->client, tensors[i], buffers[i],
                                         &e->mem[first + i]));
            e->seen[first + i] = buffers[i];
        }
    return QRN_OK;
}

static qrn_status execute(void *ctx, const void *const *inputs, void *const *outputs) {
    executed *e = ctx;
    const qc_graph *g = e->g;
    QRN_TRY(find_handles(e, g->inputs, inputs, g->n_inputs, 0));
    QRN_TRY(find_handles(e, g->outputs, (const void *const *)outputs, g->n_outputs, g->n_inputs));
    return qc_graph_execute_mem(e->g, inputs, outputs, e->all->memory ? e->mem : NULL, NULL, NULL);
}

static executed *make_executed(qt_llm_graphs *l, qc_graph *g) {
    executed *e = qrn_arena_alloc(l->arena, sizeof *e);
    if (!e)
        return NULL;
    *e = (executed){.g = g, .all = l};
    e->mem = qrn_arena_alloc(l->arena, (g->n_inputs + g->n_outputs) * sizeof *e->mem);
    e->seen = qrn_arena_alloc(l->arena, (g->n_inputs + g->n_outputs) * sizeof *e->seen);
    return e->mem && e->seen ? e : NULL;
}

static bool describe(qrn_arena *a, qc_tensor *const *list, uint32_t n, const ox_port *ports,
                     uint32_t n_ports, const ql_tensor **out) {
    ql_tensor *made = qrn_arena_alloc(a, n * sizeof *made);
    for (uint32_t i = 0; made && i < n; i++) {
        const qc_tensor *t = list[i];
        made[i] = (ql_tensor){.name = t->t.v1.name, .type = t->t.v1.dataType, .rank = t->rank};
        memcpy(made[i].dims, t->dims, sizeof made[i].dims);
        bool fixed = t->t.v1.dataType >= 0x300 && t->t.v1.dataType < 0x500;
        if (!qt_border_encoding(&t->t, &made[i].scale, &made[i].offset) && fixed)
            made[i].type = QNN_DATATYPE_UNDEFINED; // no single scale: not supported
        for (uint32_t k = 0; k < n_ports; k++)
            if (ports[k].tensor == t)
                made[i].name = qrn_arena_strdup(a, ports[k].name);
    }
    *out = made;
    return made;
}

// Room for one more graph.
static bool make_room(qt_llm_graphs *l) {
    if (l->n < l->cap)
        return true;
    uint32_t want = l->cap ? 2 * l->cap : 4;
    ql_graph *graphs = realloc(l->graphs, want * sizeof *graphs);
    l->graphs = graphs ? graphs : l->graphs;
    executed **handles = realloc(l->handles, want * sizeof *handles);
    l->handles = handles ? handles : l->handles;
    l->cap = graphs && handles ? want : l->cap;
    return graphs && handles;
}

// Adds a finalized graph; `ports` are the names of the model, if it has others.
static int add_graph(qt_llm_graphs *l, const char *file, const char *name, qc_graph *g,
                     const ox_result *model) {
    executed *e = make_room(l) ? make_executed(l, g) : NULL;
    if (!e) {
        qc_graph_destroy(g);
        return qt_no_memory();
    }
    if (!l->memory && qt_llm_memory_open(g->client, &l->memory) != QRN_OK) {
        qc_graph_destroy(g);
        return refused(file);
    }
    ql_graph *to = &l->graphs[l->n];
    l->handles[l->n++] = e;
    *to = (ql_graph){.name = qrn_arena_strdup(l->arena, name),
                     .file = file,
                     .n_inputs = g->n_inputs,
                     .n_outputs = g->n_outputs,
                     .ctx = e,
                     .execute = execute};
    bool ok = describe(l->arena, g->inputs, g->n_inputs, model ? model->inputs : NULL,
                       model ? model->n_inputs : 0, &to->inputs) &&
              describe(l->arena, g->outputs, g->n_outputs, model ? model->outputs : NULL,
                       model ? model->n_outputs : 0, &to->outputs);
    return ok && to->name ? QT_EXIT_OK : qt_no_memory();
}

// --- ONNX models

// The importer makes plain integers of what a QuantizeLinear writes to an output, since ONNX rounds
// in another way than QNN's op. The node says what they stand for.
static void find_encoding(const ox_graph *g, ql_tensor *t) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        if (strcmp(n->op, "QuantizeLinear") != 0 || n->n_in < 2 || strcmp(n->out[0], t->name) != 0)
            continue;
        const ox_tensor *scale = qt_find_constant(g, n->in[1]);
        const ox_tensor *zero = n->n_in > 2 && *n->in[2] ? qt_find_constant(g, n->in[2]) : NULL;
        if (!scale || scale->type != OX_F32 || scale->bytes != sizeof(float))
            return;
        if (n->n_in > 2 && *n->in[2] && (!zero || zero->bytes > 2 || zero->bytes == 0))
            return;
        uint16_t z = 0;
        if (zero)
            memcpy(&z, zero->data, zero->bytes);
        memcpy(&t->scale, scale->data, sizeof t->scale);
        t->offset = !zero                  ? 0
                    : zero->type == OX_I16 ? -(int32_t)(int16_t)z
                    : zero->type == OX_I8  ? -(int32_t)(int8_t)z
                                           : -(int32_t)z;
        return;
    }
}

static bool is_plain(const ql_tensor *t) {
    return t->type >= 0x300 && t->type < 0x500 && t->scale == 1 && t->offset == 0;
}

// "some/prefill.onnx" to "prefill"; another graph of that name gets a number.
static void name_graph(const qt_llm_graphs *l, const char *path, char *to, size_t size) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    int n = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(to, size, "%.*s", n < 200 ? n : 200, base);
    for (uint32_t i = 0; i < l->n; i++)
        if (strcmp(l->graphs[i].name, to) == 0)
            snprintf(to, size, "%.*s_%u", n < 200 ? n : 200, base, l->n);
}

static int import_model(qt_llm_graphs *l, const char *file, const ox_model *m) {
    char name[256];
    ox_result result = {0};
    name_graph(l, file, name, sizeof name);
    ox_options import = {.graph_name = name};
    qt_import_flags(l->backend, &import);
    if (ox_import_model(m, l->client, &import, &result) != QRN_OK)
        return refused(file);
    for (uint32_t i = 0; i < result.n_outputs; i++)
        if (result.outputs[i].data) {
            qt_error("%s: output '%s' is constant: not a graph of a language model", file,
                     result.outputs[i].name);
            qc_graph_destroy(result.graph);
            return QT_EXIT_INPUT;
        }
    if (qc_graph_finalize(result.graph) != QRN_OK) {
        qc_graph_destroy(result.graph);
        return refused(file);
    }
    int code = add_graph(l, file, name, result.graph, &result);
    const ql_graph *made = &l->graphs[l->n - 1];
    for (uint32_t i = 0; code == QT_EXIT_OK && i < made->n_outputs; i++)
        if (is_plain(&made->outputs[i]))
            find_encoding(m->graph, (ql_tensor *)(uintptr_t)&made->outputs[i]);
    return code;
}

static int open_model(qt_llm_graphs *l, const char *file) {
    ox_model *m = NULL;
    int code = qt_open_model(file, &m);
    if (code == QT_EXIT_OK && !l->client)
        code = qt_open_backend(l->backend, NULL, &l->client);
    if (code == QT_EXIT_OK)
        code = import_model(l, file, m);
    ox_model_close(m);
    return code;
}

// --- context binaries

static int load_binary(qt_llm_graphs *l, const char *file, loaded *b) {
    const QnnSystemContext_BinaryInfoV3_t *v = b->binary.info;
    const qt_backend_extras extras = {.soc = v->socModel, .no_context = true};
    qt_backend_options backend = *l->backend;
    int code = qt_backend_of_binary(file, v->backendId, &backend);
    if (code == QT_EXIT_OK)
        code = qt_open_backend(&backend, &extras, &b->client);
    if (code != QT_EXIT_OK)
        return code;
    const QnnContext_Config_t stays = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                       .isPersistentBinary = 1};
    const QnnContext_Config_t *configs[] = {&stays, NULL};
    if (qc_load(b->client, b->binary.bytes, b->binary.n_bytes, configs, NULL) != QRN_OK)
        return refused(file);
    for (uint32_t i = 0; i < v->numGraphs && code == QT_EXIT_OK; i++) {
        const QnnSystemContext_GraphInfoV3_t *info = &v->graphs[i].graphInfoV3;
        qc_graph *g;
        if (qc_graph_retrieve(b->client, info, &g) != QRN_OK)
            return refused(file);
        code = add_graph(l, file, info->graphName, g, NULL);
    }
    return code;
}

static int open_binary(qt_llm_graphs *l, const char *file) {
    loaded *grown = realloc(l->binaries, (l->n_binaries + 1) * sizeof *grown);
    if (!grown)
        return qt_no_memory();
    l->binaries = grown;
    loaded *b = &l->binaries[l->n_binaries];
    *b = (loaded){0};
    int code = qt_binary_open(file, &b->binary);
    if (code != QT_EXIT_OK)
        return code;
    l->n_binaries++;
    code = load_binary(l, file, b);
    qt_binary_forget(&b->binary);
    qrn_file_leave(&b->binary.file); // descriptions of graphs are read once
#ifdef __GLIBC__
    malloc_trim(0); // and so is what described them
#endif
    return code;
}

// --- ExecuTorch programs

static int open_program(qt_llm_graphs *l, const char *file) {
    qt_llm_pte **grown = realloc(l->programs, (l->n_programs + 1) * sizeof(qt_llm_pte *));
    if (!grown)
        return qt_no_memory();
    l->programs = grown;
    int code = qt_llm_pte_open(file, l->backend, &grown[l->n_programs]);
    if (code != QT_EXIT_OK)
        return code;
    uint32_t n;
    const ql_graph *list = qt_llm_pte_graphs(grown[l->n_programs++], &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!make_room(l))
            return qt_no_memory();
        l->handles[l->n] = NULL;
        l->graphs[l->n++] = list[i];
    }
    return QT_EXIT_OK;
}

static int open_file(qt_llm_graphs *l, const char *file) {
    if (qt_is_pte(file))
        return open_program(l, file);
    return qt_is_binary(file) ? open_binary(l, file) : open_model(l, file);
}

int qt_llm_graphs_open(const qt_list *files, const qt_backend_options *backend,
                       qt_llm_graphs **out) {
    qt_llm_graphs *l = calloc(1, sizeof *l);
    if (!l)
        return qt_no_memory();
    *l = (qt_llm_graphs){.backend = backend, .arena = qrn_arena_create()};
    int code = l->arena ? QT_EXIT_OK : qt_no_memory();
    for (size_t i = 0; i < files->n && code == QT_EXIT_OK; i++) {
        qt_progress("opening", i, files->n);
        code = open_file(l, files->items[i]);
    }
    qt_progress(NULL, 0, 0);
    if (code == QT_EXIT_OK)
        *out = l;
    else
        qt_llm_graphs_close(l);
    return code;
}

const char *qt_llm_graphs_backend(const qt_llm_graphs *l) {
    const qc_client *c = l->client ? l->client : l->n_binaries ? l->binaries[0].client : NULL;
    return c ? c->path : "of the program";
}

int qt_llm_graphs_apply(const qt_llm_graphs *l, const char *adapter) {
    if (l->n_binaries == 0) {
        qt_error("%s: adapters are for context binaries; 'quern compile -u' makes one", adapter);
        return QT_EXIT_USAGE;
    }
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < l->n_binaries && code == QT_EXIT_OK; i++)
        code = qt_adapter_apply(l->binaries[i].client, adapter);
    return code;
}

void qt_llm_graphs_close(qt_llm_graphs *l) {
    if (!l)
        return;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->handles[i])
            qc_graph_destroy(l->handles[i]->g);
    for (size_t i = 0; i < l->n_binaries; i++) {
        qt_llm_memory_forget(l->memory, l->binaries[i].client);
        qc_close(l->binaries[i].client);
        qt_binary_close(&l->binaries[i].binary);
    }
    qt_llm_memory_forget(l->memory, l->client);
    for (size_t i = 0; i < l->n_programs; i++)
        qt_llm_pte_close(l->programs[i]);
    qc_close(l->client);
    qt_llm_memory_close(l->memory);
    qrn_arena_destroy(l->arena);
    free(l->binaries);
    free(l->programs);
    free(l->graphs);
    free(l->handles);
    free(l);
}

const ql_graph *qt_llm_graphs_list(const qt_llm_graphs *l, uint32_t *n) {
    *n = l->n;
    return l->graphs;
}

ql_memory qt_llm_graphs_memory(const qt_llm_graphs *l) {
    return qt_llm_memory_allocator(l->memory);
}
