// SPDX-License-Identifier: MIT
//
// Calibration on the CPU backend, through its observer.
#include "quantizer/calibrate.h"

#include "base/mem.h"
#include "base/pool.h"

#include "Quern/QuernBackend.h"
#include "quantizer/plan.h"

#include <string.h>

#define LARGE 32768                       // values of a tensor that is divided among threads
#define MOST_GRAM_BYTES ((size_t)2 << 30) // for all layers; others are rounded plainly

struct qz_run {
    qz_graph *graph;
    qrn_pool *pool; // kept, so that its threads need not start for each tensor
    qc_client *client;
    ox_result model;
    qrn_strmap by_tensor; // QNN tensor name -> qz_value
    void **in, **out;
    qz_stats *parts;  // of large tensors, one for each of the pool's threads
    uint32_t n_parts; // 0: none
    // While importing: values whose tensors are known at its end.
    const ox_val **vals;
    uint32_t n_vals, cap_vals;
    bool no_memory;
};

typedef struct adding {
    qz_stats *parts;
    const float *x;
    size_t n, each;
} adding;

static void add_part(void *arg, uint32_t task) {
    const adding *a = arg;
    size_t first = task * a->each;
    if (first < a->n)
        qz_stats_add(&a->parts[task], a->x + first,
                     a->n - first < a->each ? a->n - first : a->each);
}

// Large tensors are divided among the threads: statistics add exactly.
static void add_values(qz_run *r, qz_value *v, const float *x, size_t n) {
    if (r->n_parts < 2 || n < LARGE) {
        qz_stats_add(&v->stats, x, n);
        return;
    }
    const size_t step = 16 * QZ_SIZES_STEP; // the same values count whatever the division
    adding a = {r->parts, x, n, (n / r->n_parts / step + 1) * step};
    qrn_pool_run(r->pool, add_part, &a, r->n_parts);
    for (uint32_t i = 0; i < r->n_parts; i++) {
        qz_stats_merge(&v->stats, &r->parts[i]);
        qz_stats_clear(&r->parts[i]);
    }
}

static qrn_status make_parts(qz_run *r, const qz_run_options *opt) {
    uint32_t n = qrn_pool_threads(r->pool);
    if (n < 2 || !(r->parts = qrn_calloc(n * sizeof *r->parts)))
        return QRN_OK;
    for (; r->n_parts < n; r->n_parts++)
        QRN_TRY(qz_stats_init(&r->parts[r->n_parts], opt->histograms));
    return QRN_OK;
}

// What is asked for of all values, inputs of the model too. Those inside of quantized ops get no
// range.
static void look_at(qz_run *r, qz_value *v, const float *x, size_t n) {
    if (!v->fused)
        add_values(r, v, x, n);
    if (v->row && !v->channel_last)
        qz_stats_add_rows(&v->stats, x, n, v->row);
    if (v->channels)
        qz_channels_add(v->channels, x, n, v->channel_last);
    for (qz_patches *p = v->patches; p; p = p->next)
        qz_patches_add(p, x, n, v->channel_last);
}

static void observe(void *ctx, const QuernBackend_Tensor_t *t) {
    qz_run *r = ctx;
    qz_value *v = qrn_strmap_get(&r->by_tensor, t->name);
    size_t n = 1;
    if (!v || t->data_type != QNN_DATATYPE_FLOAT_32)
        return;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    if (v->gram && t->rank && t->dims[t->rank - 1] == v->gram->depth)
        qz_gram_add(v->gram, t->data, n / v->gram->depth);
    look_at(r, v, t->data, n);
}

// What is inside of a quantized op needs to be computed only for what layers ask for.
static bool wanted(void *ctx, const char *name) {
    const qz_run *r = ctx;
    const qz_value *v = qrn_strmap_get(&r->by_tensor, name);
    return v && (!v->fused || v->gram || v->channels || v->patches);
}

static void note(void *ctx, const ox_val *v) {
    qz_run *r = ctx;
    qz_graph_note(r->graph, v);
    if (r->n_vals == r->cap_vals) {
        uint32_t cap = r->cap_vals ? 2 * r->cap_vals : 256;
        const ox_val **grown =
            qrn_realloc(r->vals, r->cap_vals * sizeof *grown, cap * sizeof *grown);
        if (!grown) {
            r->no_memory = true;
            return;
        }
        r->vals = grown;
        r->cap_vals = cap;
    }
    r->vals[r->n_vals++] = v;
}

static qrn_status set_observer(qz_run *r) {
    QuernBackend_ObserveSomeConfig_t observer = {
        QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_OBSERVE_SOME, observe, r, wanted};
    QnnBackend_Config_t custom = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                  .customConfig = &observer};
    const QnnBackend_Config_t *configs[] = {&custom, NULL};
    if (!r->client->is_quern)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: calibration needs Quern's own CPU library",
                        r->client->path);
    return qc_check(r->client, r->client->qnn.backendSetConfig(r->client->backend, configs),
                    "backendSetConfig");
}

// Which tensor holds which value; a value that shares its tensor with another shares its range too.
static qrn_status map_tensors(qz_run *r, bool histograms) {
    for (uint32_t i = 0; i < r->n_vals; i++) {
        qz_value *v = qz_find(r->graph, r->vals[i]->name);
        for (int k = 0; v && qz_is_activation(v) && k < OX_LAYOUTS; k++) {
            const qc_tensor *t = r->vals[i]->at[k];
            if (!t || qrn_strmap_get(&r->by_tensor, t->t.v1.name))
                continue;
            if (!qrn_strmap_put(&r->by_tensor, t->t.v1.name, v))
                return QRN_FAIL(QRN_E_MEM, "out of memory");
            v->channel_last = k == OX_LAST;
            break; // the other layout holds the same numbers
        }
    }
    for (uint32_t i = 0; histograms && i < r->graph->n_values; i++)
        if (qz_is_activation(r->graph->values[i]) && !r->graph->values[i]->stats.bins)
            QRN_TRY(qz_stats_init(&r->graph->values[i]->stats, true));
    return QRN_OK;
}

// Where a Softmax reads rows of the last dimension, their maxima are noted.
static void note_rows(const qz_graph *g) {
    const ox_graph *og = g->model->graph;
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        qz_value *x = qz_is(n, "Softmax") && n->n_in ? qz_find(g, n->in[0]) : NULL;
        if (!x || !qz_is_activation(x) || !x->rank)
            continue;
        int64_t axis = ox_attr_int(n, "axis", ox_model_opset(g->model, "") < 13 ? 1 : -1);
        if (axis == -1 || axis == (int64_t)x->rank - 1)
            x->row = x->dims[x->rank - 1];
    }
}

// Sums for the inputs of matmuls with a constant matrix, as many as there is room for.
static qrn_status make_grams(qz_graph *g) {
    const ox_graph *og = g->model->graph;
    size_t left = MOST_GRAM_BYTES;
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        qz_value *x = qz_is(n, "MatMul") ? qz_find(g, n->in[0]) : NULL;
        const qz_value *w = x ? qz_find(g, n->in[1]) : NULL;
        if (!w || !qz_is_activation(x) || !qz_is_float_constant(w) || w->rank != 2 || x->gram)
            continue;
        size_t bytes = (size_t)w->dims[0] * w->dims[0] * sizeof(float);
        if (bytes > left)
            continue;
        left -= bytes;
        qz_gram *made = qrn_arena_alloc(g->arena, sizeof *made);
        if (!made)
            return QRN_FAIL(QRN_E_MEM, "out of memory");
        QRN_TRY(qz_gram_init(made, w->dims[0]));
        x->gram = made;
        x->owns_gram = true;
    }
    return QRN_OK;
}

// Patches for layers of constant weights, as many as there is room for.
static qrn_status make_patches(qz_graph *g, uint32_t n_samples) {
    const ox_graph *og = g->model->graph;
    size_t left = MOST_GRAM_BYTES;
    for (uint32_t i = 0; i < og->n_nodes; i++) {
        const ox_node *n = &og->nodes[i];
        bool layer = n->n_in > 1 && n->n_out && qz_role_of(g, n, 1) == QZ_ROLE_WEIGHT;
        qz_value *x = layer ? qz_find(g, n->in[0]) : NULL, *y = x ? qz_find(g, n->out[0]) : NULL;
        const qz_value *w = y ? qz_find(g, n->in[1]) : NULL;
        if (!w || !qz_is_activation(x) || !qz_is_float_constant(w) || y->type != OX_F32 ||
            (x->gram && qz_is(n, "MatMul"))) // its sums are those of all rows
            continue;
        const qz_shape shape = {w->rank, w->dims};
        size_t bytes = qz_patches_bytes(n, shape);
        qz_patches *made = NULL;
        if (bytes > left)
            continue;
        QRN_TRY(qz_patches_create(g->arena, n, (qz_shape){x->rank, x->dims}, shape,
                                  (qz_shape){y->rank, y->dims}, n_samples, &made));
        if (!made)
            continue;
        left -= bytes;
        made->next = x->patches;
        x->patches = made;
    }
    return QRN_OK;
}

static void **make_buffers(qc_tensor *const *list, uint32_t n) {
    void **b = qrn_calloc((n + 1) * sizeof *b);
    for (uint32_t i = 0; b && i < n; i++)
        if (!(b[i] = qrn_calloc(qc_tensor_bytes(list[i]) + QRN_TAIL))) {
            while (i-- > 0)
                qrn_free(b[i]);
            qrn_free(b);
            return NULL;
        }
    return b;
}

static void free_buffers(void **b, uint32_t n) {
    for (uint32_t i = 0; b && i < n; i++)
        qrn_free(b[i]);
    qrn_free(b);
}

static qrn_status start(qz_run *r, const qz_run_options *opt) {
    const qc_options client = {.n_threads = opt->n_threads};
    const ox_options import = {.value = note, .value_ctx = r, .fused = true};
    QRN_TRY(qc_open("cpu", &client, &r->client));
    QRN_TRY(set_observer(r));
    QRN_TRY(ox_import_model(r->graph->model, r->client, &import, &r->model));
    if (r->no_memory)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    QRN_TRY(map_tensors(r, opt->histograms));
    note_rows(r->graph);
    if (opt->grams)
        QRN_TRY(make_grams(r->graph));
    if (opt->patches)
        QRN_TRY(make_patches(r->graph, opt->n_samples));
    if (opt->prepared)
        QRN_TRY(opt->prepared(opt->prepared_ctx, r->graph));
    qc_graph *g = r->model.graph;
    if (g->n_nodes == 0)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "the model computes nothing from its inputs");
    if (opt->shapes_only)
        return QRN_OK;
    qz_plan_fused(r->graph);
    QRN_TRY(make_parts(r, opt));
    QRN_TRY(qc_graph_finalize(g));
    r->in = make_buffers(g->inputs, g->n_inputs);
    r->out = make_buffers(g->outputs, g->n_outputs);
    return r->in && r->out ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for inputs and outputs");
}

qrn_status qz_run_open(qz_graph *g, const qz_run_options *opt, qz_run **out) {
    qz_run *r = qrn_calloc(sizeof *r);
    if (!r)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    r->graph = g;
    r->pool = qrn_pool_acquire(opt->n_threads);
    qrn_status s = start(r, opt);
    if (s != QRN_OK) {
        qz_run_close(r);
        return s;
    }
    *out = r;
    return QRN_OK;
}

void qz_run_close(qz_run *r) {
    if (!r)
        return;
    if (r->model.graph) {
        free_buffers(r->in, r->model.graph->n_inputs);
        free_buffers(r->out, r->model.graph->n_outputs);
        qc_graph_destroy(r->model.graph);
    }
    for (uint32_t i = 0; i < r->n_parts; i++)
        qz_stats_free(&r->parts[i]);
    qrn_free(r->parts);
    qrn_strmap_clear(&r->by_tensor);
    qrn_free(r->vals);
    qc_close(r->client);
    qrn_pool_release(r->pool);
    qrn_free(r);
}

uint32_t qz_run_inputs(const qz_run *r) { return r->model.n_inputs; }

const ox_port *qz_run_input(const qz_run *r, uint32_t i) { return &r->model.inputs[i]; }

void *qz_run_buffer(const qz_run *r, uint32_t i) {
    const qc_tensor *t = r->model.inputs[i].tensor;
    const qc_graph *g = r->model.graph;
    return t && t->port < g->n_inputs && g->inputs[t->port] == t ? r->in[t->port] : NULL;
}

qrn_status qz_run_sample(qz_run *r) {
    for (uint32_t i = 0; i < r->model.n_inputs; i++) {
        const ox_port *p = &r->model.inputs[i];
        qz_value *v = qz_find(r->graph, p->name);
        const void *x = qz_run_buffer(r, i);
        if (x && v && qz_is_activation(v) && p->tensor->t.v1.dataType == QNN_DATATYPE_FLOAT_32)
            look_at(r, v, x, qc_tensor_count(p->tensor));
        if (x && v && v->gram && p->rank && p->dims[p->rank - 1] == v->gram->depth)
            qz_gram_add(v->gram, x, qc_tensor_count(p->tensor) / v->gram->depth);
    }
    QRN_TRY(qc_graph_execute(r->model.graph, (const void *const *)r->in, r->out));
    for (uint32_t i = 0; i < r->graph->n_values; i++) {
        const qz_value *v = r->graph->values[i];
        if (v->stats.n_nan)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "tensor '%s' has %llu values that are NaN or infinite: no encoding "
                            "holds them; check the calibration data",
                            v->name, (unsigned long long)v->stats.n_nan);
    }
    return QRN_OK;
}
