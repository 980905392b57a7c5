// SPDX-License-Identifier: MIT
//
// Sessions: importing models, and moving values in and out.
#include "tools/quern/session.h"

#include "tools/quern/gpu.h"
#include "tools/quern/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double qt_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

// One line for each op type and note.
static void note(void *ctx, const ox_node *n, const char *what, const char *why) {
    qrn_strmap *seen = ctx;
    size_t room = strlen(n->op) + strlen(what) + 2;
    char *key = malloc(room);
    if (key)
        snprintf(key, room, "%s %s", n->op, what);
    if (key && !qrn_strmap_get(seen, key) && qrn_strmap_put(seen, key, key))
        qt_warn("%s nodes %s, the first one is '%s': %s", n->op, what, n->name, why);
    else
        free(key);
}

void qt_import_flags(const qt_backend_options *opt, ox_options *import) {
    static qrn_strmap seen; // what was noted, for the life of the program
    import->allow_fp16 = opt->allow_fp16;
    import->note = note;
    import->note_ctx = &seen;
    if (!import->graph_configs)
        import->graph_configs = qt_gpu_configs(opt->precision);
}

static void **make_buffers(qc_tensor *const *list, uint32_t n) {
    void **b = calloc(n ? n : 1, sizeof *b);
    for (uint32_t i = 0; b && i < n; i++) {
        size_t bytes = qc_tensor_bytes(list[i]);
        // Whole cache lines: kernels may use the client's buffers in place.
        b[i] = aligned_alloc(64, (bytes + 127) / 64 * 64);
        if (!b[i]) {
            for (uint32_t k = 0; k < i; k++)
                free(b[k]);
            free(b);
            return NULL;
        }
        memset(b[i], 0, bytes);
    }
    return b;
}

static void free_buffers(void **b, uint32_t n) {
    for (uint32_t i = 0; b && i < n; i++)
        free(b[i]);
    free(b);
}

static int refused(const char *path) {
    qt_error("%s: %s", path, qrn_message());
    return QT_EXIT_REFUSED;
}

void qt_values_add(void *ctx, const ox_val *v) {
    qt_values *list = ctx;
    if (list->n == list->cap) {
        size_t want = list->cap ? 2 * list->cap : 64;
        const ox_val **grown = realloc(list->items, want * sizeof *grown);
        if (!grown) {
            list->failed = true;
            return;
        }
        list->items = grown;
        list->cap = want;
    }
    list->items[list->n++] = v;
}

// Buffers for inputs and outputs.
static int make_room(const char *path, qt_session *s) {
    qc_graph *g = s->model.graph;
    s->in = make_buffers(g->inputs, g->n_inputs);
    s->out = make_buffers(g->outputs, g->n_outputs);
    s->rows = calloc(g->n_outputs + 1, sizeof *s->rows);
    for (uint32_t i = 0; s->rows && i < g->n_outputs; i++)
        s->rows[i] = g->outputs[i]->dims[0];
    if (s->in && s->out && s->rows && !s->values.failed)
        return QT_EXIT_OK;
    qt_error("%s: out of memory for inputs and outputs", path);
    return QT_EXIT_FAILURE;
}

static int start(const char *path, const ox_model *m, const qt_backend_options *backend,
                 const ox_options *import, qt_session *s) {
    double t0 = qt_now_ms();
    int code = qt_open_backend(backend, NULL, &s->client);
    if (code != QT_EXIT_OK)
        return code;
    double t1 = qt_now_ms();
    s->open_ms = t1 - t0;
    ox_options options = *import;
    qt_import_flags(backend, &options);
    if (options.keep_all) {
        options.value = qt_values_add;
        options.value_ctx = &s->values;
    }
    if (ox_import_model(m, s->client, &options, &s->model) != QRN_OK)
        return refused(path);
    double t2 = qt_now_ms();
    s->import_ms = t2 - t1;
    // A model whose outputs are all constant leaves no node to execute.
    if (s->model.graph->n_nodes && qc_graph_finalize(s->model.graph) != QRN_OK)
        return refused(path);
    s->finalize_ms = qt_now_ms() - t2;
    return make_room(path, s);
}

int qt_session_open(const char *path, const ox_model *m, const qt_backend_options *backend,
                    const ox_options *import, qt_session *s) {
    qt_session made = {0};
    int code = start(path, m, backend, import, &made);
    if (code != QT_EXIT_OK) {
        qt_session_close(&made);
        return code;
    }
    *s = made;
    return QT_EXIT_OK;
}

// A port for each tensor of a list.
static const ox_port *ports_of(qc_graph *g, qc_tensor *const *list, uint32_t n,
                               const ox_info *names, bool native) {
    ox_port *ports = qrn_arena_alloc(g->arena, n * sizeof *ports);
    for (uint32_t i = 0; ports && i < n; i++) {
        qc_tensor *t = list[i];
        float scale;
        int32_t offset;
        bool real = !native && qt_border_encoding(&t->t, &scale, &offset) &&
                    !(scale == 1.0f && offset == 0);
        ports[i] = (ox_port){.name = names ? names[i].name : t->t.v1.name,
                             .type = real ? OX_F32 : qt_type_of_qnn(t->t.v1.dataType),
                             .rank = t->rank,
                             .tensor = t};
        memcpy(ports[i].dims, t->dims, sizeof t->dims);
    }
    return ports;
}

// What a graph that did not come from an import has for ports.
static int add_ports(const char *path, const qt_loaded *from, qt_session *s) {
    qc_graph *g = s->model.graph;
    s->model.inputs =
        ports_of(g, g->inputs, g->n_inputs, from->names ? from->names->inputs : NULL, from->native);
    s->model.outputs = ports_of(g, g->outputs, g->n_outputs,
                                from->names ? from->names->outputs : NULL, from->native);
    s->model.n_inputs = g->n_inputs;
    s->model.n_outputs = g->n_outputs;
    if (s->model.inputs && s->model.outputs)
        return make_room(path, s);
    qt_error("%s: out of memory", path);
    return QT_EXIT_FAILURE;
}

static qrn_status load_graph(const char *path, const qt_loaded *from, qt_session *s) {
    (void)path;
    const QnnContext_Config_t stays = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                       .isPersistentBinary = 1};
    const QnnContext_Config_t *configs[] = {&stays, NULL};
    QRN_TRY(qc_load(s->client, from->bytes, from->n_bytes, configs, NULL));
    return qc_graph_retrieve(s->client, from->graph, &s->model.graph);
}

static qrn_status compose_graph(const char *path, const qt_loaded *from, qt_session *s) {
    const qc_dlc_source file = {.path = path};
    qc_composed graphs;
    QRN_TRY(qc_compose(s->client, &file, &graphs));
    qrn_status st = qc_composed_graph(s->client, &graphs, from->graph->graphName, &s->model.graph);
    qc_composed_free(&graphs);
    return st;
}

static int load(const char *path, const qt_loaded *from, const qt_backend_options *backend,
                qrn_status (*get)(const char *, const qt_loaded *, qt_session *), qt_session *out) {
    qt_session s = {0};
    double t0 = qt_now_ms();
    const qt_backend_extras extras = {.soc = from->soc, .no_context = get == load_graph};
    int code = qt_open_backend(backend, &extras, &s.client);
    double t1 = qt_now_ms();
    s.open_ms = t1 - t0;
    if (code == QT_EXIT_OK && get(path, from, &s) != QRN_OK)
        code = refused(path);
    s.load_ms = qt_now_ms() - t1;
    if (code == QT_EXIT_OK)
        code = add_ports(path, from, &s);
    if (code == QT_EXIT_OK)
        *out = s;
    else
        qt_session_close(&s);
    return code;
}

int qt_session_load(const char *path, const qt_loaded *from, const qt_backend_options *backend,
                    qt_session *s) {
    return load(path, from, backend, load_graph, s);
}

int qt_session_compose(const char *path, const qt_loaded *from, const qt_backend_options *backend,
                       qt_session *s) {
    return load(path, from, backend, compose_graph, s);
}

void qt_session_close(qt_session *s) {
    if (s->model.graph) {
        free_buffers(s->in, s->model.graph->n_inputs);
        free_buffers(s->out, s->model.graph->n_outputs);
        qc_graph_destroy(s->model.graph);
    }
    free(s->rows);
    free(s->values.items);
    qc_close(s->client);
    *s = (qt_session){0};
}

// The buffer of an application tensor; NULL for others.
static void *buffer_of(const qt_session *s, const qc_tensor *t) {
    const qc_graph *g = s->model.graph;
    if (t->port < g->n_inputs && g->inputs[t->port] == t)
        return s->in[t->port];
    return t->port < g->n_outputs && g->outputs[t->port] == t ? s->out[t->port] : NULL;
}

// Do floats at a port stand for the quantized values of its tensor?
static bool is_real(const ox_port *p, int type) {
    float scale;
    int32_t offset;
    return type == OX_F32 && qt_border_encoding(&p->tensor->t, &scale, &offset);
}

qrn_status qt_session_set_inputs(qt_session *s, const qt_array *arrays) {
    for (uint32_t i = 0; i < s->model.n_inputs; i++) {
        const ox_port *p = &s->model.inputs[i];
        void *buffer = p->tensor ? buffer_of(s, p->tensor) : NULL;
        if (!buffer)
            continue; // nobody reads it
        if (qc_tensor_count(p->tensor) != arrays[i].count)
            return QRN_FAIL(QRN_E_SHAPE, "input '%s': %zu elements, expected %zu", p->name,
                            arrays[i].count, qc_tensor_count(p->tensor));
        QRN_TRY(is_real(p, arrays[i].type)
                    ? qt_quantize(&arrays[i], &p->tensor->t, buffer)
                    : qt_to_qnn(p->name, &arrays[i], p->tensor->t.v1.dataType, buffer));
    }
    return QRN_OK;
}

qrn_status qt_session_execute(qt_session *s) {
    if (s->model.graph->n_nodes == 0)
        return QRN_OK;
    return qc_graph_execute_mem(s->model.graph, (const void *const *)s->in, s->out, s->mem, NULL,
                                s->rows);
}

// Rows of an output after an execution: some ops fill fewer than there is room for.
static uint32_t rows_of(const qt_session *s, const qc_tensor *t) {
    const qc_graph *g = s->model.graph;
    bool output = t->port < g->n_outputs && g->outputs[t->port] == t;
    return output ? s->rows[t->port] : t->dims[0];
}

// A constant output: its data is packed as the model has it.
static void copy_constant(const ox_port *p, qt_array *a) {
    const uint8_t *src = p->data;
    if (p->type != OX_U4 && p->type != OX_I4) {
        memcpy(a->data, src, a->bytes);
        return;
    }
    for (size_t i = 0; i < a->count; i++) {
        unsigned v = src[i / 2] >> (4 * (i & 1)) & 15;
        ((uint8_t *)a->data)[i] = (uint8_t)(p->type == OX_I4 && v > 7 ? v | 0xf0 : v);
    }
}

qrn_status qt_session_output(const qt_session *s, uint32_t i, qt_array *out) {
    return qt_session_output_as(s, i, s->model.outputs[i].type, out);
}

qrn_status qt_session_output_as(const qt_session *s, uint32_t i, int type, qt_array *out) {
    const ox_port *p = &s->model.outputs[i];
    uint64_t dims[OX_MAX_RANK];
    for (uint32_t d = 0; d < p->rank; d++)
        dims[d] = p->dims[d];
    if (p->rank && p->tensor && !p->data && rows_of(s, p->tensor) < dims[0])
        dims[0] = rows_of(s, p->tensor);
    qt_array a;
    QRN_TRY(qt_array_create(p->name, p->data ? p->type : type, p->rank, dims, &a));
    qrn_status st = QRN_OK;
    void *buffer = p->tensor ? buffer_of(s, p->tensor) : NULL;
    if (p->data)
        copy_constant(p, &a);
    else if (!buffer || qc_tensor_count(p->tensor) < a.count)
        st = QRN_FAIL(QRN_E_GENERAL, "output '%s' has no tensor of its size", p->name);
    else
        st = qt_from_qnn(p->name, buffer, p->tensor->t.v1.dataType, &a);
    if (st != QRN_OK) {
        qt_array_free(&a);
        return st;
    }
    if (!p->data && is_real(p, type))
        qt_dequantize(&p->tensor->t, &a);
    *out = a;
    return QRN_OK;
}

const qc_tensor *qt_session_tensor_of(const qt_session *s, const ox_val *v) {
    for (int i = 0; i < OX_LAYOUTS; i++)
        if (v->at[i] && v->at[i]->t.v1.type == QNN_TENSOR_TYPE_APP_READ && buffer_of(s, v->at[i]))
            return v->at[i];
    return NULL;
}

qrn_status qt_session_tensor(const qt_session *s, const qc_tensor *t, qt_array *out) {
    uint64_t dims[OX_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++)
        dims[d] = t->dims[d];
    qt_array a;
    QRN_TRY(qt_array_create(t->t.v1.name, OX_F32, t->rank, dims, &a));
    qrn_status st = qt_from_qnn(t->t.v1.name, buffer_of(s, t), t->t.v1.dataType, &a);
    if (st != QRN_OK) {
        qt_array_free(&a);
        return st;
    }
    qt_dequantize(&t->t, &a);
    *out = a;
    return QRN_OK;
}
