// SPDX-License-Identifier: MIT
#include "tools/sdk/compose.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64

// The model that is being composed; the lock is held from begin to end.
static struct {
    qc_client *client;
    const qs_rules *rules;
    qs_composed **out;
    QnnGraph_CreateFn_t create_graph;
    QnnTensor_CreateGraphTensorFn_t create_tensor;
} now;
static pthread_mutex_t composing = PTHREAD_MUTEX_INITIALIZER;

static qs_composed *find(Qnn_GraphHandle_t handle) {
    for (qs_composed *c = *now.out; c; c = c->next)
        if (c->handle == handle)
            return c;
    return NULL;
}

// Options of one graph, gathered.
typedef struct options {
    QnnGraph_Config_t own[4];
    const QnnGraph_Config_t *list[MAX_OPTIONS + 1];
    size_t n, n_own;
} options;

static void add_all(options *o, const QnnGraph_Config_t **configs) {
    for (size_t i = 0; configs && configs[i] && o->n < MAX_OPTIONS; i++)
        o->list[o->n++] = configs[i];
}

static void add_own(options *o, QnnGraph_Config_t config) {
    o->own[o->n_own] = config;
    o->list[o->n++] = &o->own[o->n_own++];
}

// Graphs with a start or a number of profiled executions have a profile handle of their own.
static Qnn_ErrorHandle_t add_profile(options *o, const qs_graph_config *g, qs_composed *made) {
    const qs_rules *r = now.rules;
    qs_real delay = g && g->profiling_delay_s.given ? g->profiling_delay_s : r->profiling_delay_s;
    qs_int runs = g && g->profiling_runs.given ? g->profiling_runs : r->profiling_runs;
    if (!r->profile || (!delay.given && !runs.given))
        return QNN_SUCCESS;
    Qnn_ErrorHandle_t code =
        now.client->qnn.profileCreate(now.client->backend, r->profile, &made->profile);
    if (code != QNN_SUCCESS)
        return code;
    made->delay_s = delay.v;
    add_own(o, (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE,
                                   .profileHandle = made->profile});
    if (runs.given)
        add_own(o,
                (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS,
                                    .numProfilingExecutions = (uint32_t)runs.v});
    if (delay.v > 0)
        add_own(o, (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE,
                                       .profilingState = QNN_GRAPH_PROFILING_STATE_DISABLED});
    return QNN_SUCCESS;
}

static void free_one(qc_client *c, qs_composed *made) {
    qc_graph_destroy(made->seen);
    if (made->profile)
        c->qnn.profileFree(made->profile);
    free(made);
}

static Qnn_ErrorHandle_t create_graph(Qnn_ContextHandle_t context, const char *name,
                                      const QnnGraph_Config_t **configs, Qnn_GraphHandle_t *out) {
    const qs_rules *r = now.rules;
    const qs_graph_config *g = r->config && name ? qs_graph_options(r->config, name) : NULL;
    qs_composed *made = calloc(1, sizeof *made);
    options o = {.n = 0};
    if (!made || qc_graph_adopt(now.client, name ? name : "", NULL, NULL, 0, NULL, 0,
                                &made->seen) != QRN_OK) {
        free(made);
        return QNN_COMMON_ERROR_MEM_ALLOC;
    }
    add_all(&o, configs);
    if (r->extension && r->extension->handle && name)
        add_all(&o, r->extension->fn->getGraphConfigs(r->extension->handle, name));
    Qnn_ErrorHandle_t code = QNN_SUCCESS;
    if (o.n + 4 <= MAX_OPTIONS) {
        if (g && g->priority.given)
            add_own(&o, (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                                            .priority = qs_priorities[g->priority.v]});
        code = add_profile(&o, g, made);
    }
    if (code == QNN_SUCCESS)
        code = now.create_graph(context, name, o.n ? o.list : NULL, &made->handle);
    if (code != QNN_SUCCESS) {
        free_one(now.client, made);
        return code;
    }
    made->next = *now.out;
    *now.out = made;
    *out = made->handle;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t create_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    const qs_rules *r = now.rules;
    qs_composed *g = t ? find(graph) : NULL;
    if (!g)
        return now.create_tensor(graph, t);
    Qnn_TensorV1_t *v = &t->v1; // the versions agree in these fields
    if (v->type == QNN_TENSOR_TYPE_NATIVE && v->name &&
        (r->all_outputs || (r->outputs && qs_is_selected(r->outputs, g->seen->name, v->name))))
        v->type = QNN_TENSOR_TYPE_APP_READ;
    bool input = v->type == QNN_TENSOR_TYPE_APP_WRITE, output = v->type == QNN_TENSOR_TYPE_APP_READ;
    if ((input || output) && now.client->format_of && v->name &&
        v->dataFormat == QNN_TENSOR_DATA_FORMAT_DENSE)
        v->dataFormat = now.client->format_of(now.client->format_ctx, g->seen->name, v->name);
    if ((input || output) && r->mem_handles) {
        v->memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        v->memHandle = NULL;
    }
    Qnn_ErrorHandle_t code = now.create_tensor(graph, t);
    if (code == QNN_SUCCESS && (input || output) && qc_graph_add_port(g->seen, t, output) != QRN_OK)
        return QNN_COMMON_ERROR_MEM_ALLOC;
    return code;
}

void qs_compose_begin(qc_client *c, const qs_rules *rules, qs_composed **out) {
    pthread_mutex_lock(&composing);
    now.client = c;
    now.rules = rules;
    now.out = out;
    now.create_graph = c->qnn.graphCreate;
    now.create_tensor = c->qnn.tensorCreateGraphTensor;
    c->qnn.graphCreate = create_graph;
    c->qnn.tensorCreateGraphTensor = create_tensor;
}

void qs_compose_end(qc_client *c) {
    c->qnn.graphCreate = now.create_graph;
    c->qnn.tensorCreateGraphTensor = now.create_tensor;
    memset(&now, 0, sizeof now);
    pthread_mutex_unlock(&composing);
}

void qs_composed_free(qc_client *c, qs_composed *list) {
    while (list) {
        qs_composed *next = list->next;
        free_one(c, list);
        list = next;
    }
}

static bool has_output(qc_graph *const *graphs, size_t n, const char *graph, const char *tensor,
                       bool *known) {
    for (size_t i = 0; i < n; i++)
        if (qs_same_name(graphs[i]->name, graph)) {
            *known = true;
            for (uint32_t k = 0; k < graphs[i]->n_outputs; k++)
                if (qs_same_name(graphs[i]->outputs[k]->t.v1.name, tensor))
                    return true;
        }
    return false;
}

int qs_selections_check(const qs_selections *s, qc_graph *const *graphs, size_t n) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->items[i].tensors.n; k++) {
            bool known = false;
            const char *graph = s->items[i].graph, *tensor = s->items[i].tensors.items[k];
            if (has_output(graphs, n, graph, tensor, &known))
                continue;
            if (known)
                qt_error("--set_output_tensors: graph '%s' has no tensor '%s'", graph, tensor);
            else
                qt_error("--set_output_tensors: no graph '%s'; the first one is '%s'", graph,
                         n ? graphs[0]->name : "");
            return QT_EXIT_USAGE;
        }
    return QT_EXIT_OK;
}
