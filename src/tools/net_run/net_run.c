// SPDX-License-Identifier: MIT
//
// qnn-net-run: the stages of a run, in the published order, and what is freed after them.
#include "tools/net_run/net_run.h"

#include "tools/quern/output.h"
#include "tools/sdk/backend.h"
#include "tools/sdk/binary_updates.h"
#include "tools/sdk/inference.h"
#include "tools/sdk/prepare.h"
#include "tools/sdk/program.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEPTH 10 // executions that are queued at most

typedef struct job {
    const nr_options *o;
    qs_words models, dlcs, binaries, lists;
    qs_selections outputs, natives;
    qs_run_config config;
    qs_extension extension;
    qc_client *client;
    qs_profile profile;
    qs_model model;
    qt_rpcmem shared;
    qs_list *inputs; // of each graph; none for one that is skipped
} job;

static const char *dir_of(const nr_options *o) {
    return o->output_dir ? o->output_dir : "./output";
}

static int read_flags(job *j) {
    const nr_options *o = j->o;
    int code = qs_words_split("model", o->model, ',', &j->models);
    if (code == QT_EXIT_OK)
        code = qs_words_split("dlc_path", o->dlc_path, ',', &j->dlcs);
    if (code == QT_EXIT_OK)
        code = qs_words_split("retrieve_context", o->retrieve_context, ',', &j->binaries);
    if (code == QT_EXIT_OK)
        code = qs_words_split("input_list", o->input_list, ',', &j->lists);
    if (code == QT_EXIT_OK)
        code = qs_selections_read("set_output_tensors", o->set_output_tensors, &j->outputs);
    if (code == QT_EXIT_OK)
        code = qs_selections_read("native_input_tensor_names", o->native_input_tensor_names,
                                  &j->natives);
    if (code == QT_EXIT_OK)
        code = qs_run_config_open(o->config_file, &j->config);
    if (code == QT_EXIT_OK)
        code = qs_extension_open(j->config.extensions.library, j->config.extensions.file,
                                 o->perf_profile, &j->extension);
    return code;
}

static int open_backend(job *j) {
    const nr_options *o = j->o;
    const qs_backend_request request = {.library = o->backend,
                                        .log_level = o->log_level,
                                        .platform_options = o->platform_options,
                                        .device_options = o->device_options,
                                        .op_packages = o->op_packages,
                                        .extension = &j->extension};
    const qs_profile_options profile = {.level = o->profiling_level,
                                        .option = o->profiling_option,
                                        .backend_level = j->extension.facts.profilingLevel,
                                        .max_events = (uint64_t)j->config.profile.max_events.v,
                                        .dir = dir_of(o),
                                        .program = nr_command.name};
    int code = qs_backend_open(&request, &j->client);
    if (code == QT_EXIT_OK)
        QS_INFO("backend %s (%s)", j->client->path, j->client->provider);
    if (code == QT_EXIT_OK)
        code = qs_profile_open(j->client, &profile, &j->profile);
    return code;
}

// --- the model

static int compose(job *j) {
    const nr_options *o = j->o;
    const qs_sources from = {&j->models, o->model_prefix, &j->dlcs};
    const qs_rules rules = {
        .config = &j->config,
        .extension = &j->extension,
        .outputs = &j->outputs,
        .all_outputs = o->debug,
        .profile = j->profile.level,
        .profiling_delay_s = {o->profiling_delay != NR_UNSET, o->profiling_delay},
        .profiling_runs = {o->profiling_runs != NR_UNSET, (int64_t)o->profiling_runs, 0}};
    return qs_prepare(j->client, &from, &rules, &j->profile, &j->model);
}

static int load(job *j) {
    const nr_options *o = j->o;
    const qs_loading how = {.config = &j->config,
                            .extension = &j->extension,
                            .map = o->use_mmap,
                            .validate = o->validate_binary,
                            .timeout_us = o->retrieve_timeout,
                            .profile = j->profile.handle};
    uint64_t start = qs_now_us();
    qs_extension_begin(&j->extension, QUERN_EXTENSION_PHASE_INIT);
    int code = qs_model_load(j->client, &j->binaries, &how, &j->model);
    qs_extension_end(&j->extension, QUERN_EXTENSION_PHASE_INIT);
    if (code == QT_EXIT_OK)
        code =
            qs_profile_take(&j->profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY,
                            NULL, start, j->profile.handle);
    if (code == QT_EXIT_OK && o->binary_updates)
        code = qs_apply_updates(o->binary_updates, &j->model, &j->profile);
    return code;
}

static int make_model(job *j) {
    uint64_t start = qs_now_us();
    int code = j->binaries.n ? load(j) : compose(j);
    return code == QT_EXIT_OK
               ? qs_profile_take(&j->profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_CONTEXT_CREATE,
                                 NULL, start, NULL)
               : code;
}

// --- inputs

static int check_natives(const job *j) {
    for (size_t i = 0; i < j->natives.n; i++) {
        const qs_selection *s = &j->natives.items[i];
        const qc_graph *g = NULL;
        for (uint32_t k = 0; k < j->model.n_graphs && !g; k++)
            if (qs_same_name(j->model.graphs[k].g->name, s->graph))
                g = j->model.graphs[k].g;
        for (size_t t = 0; t < s->tensors.n; t++) {
            bool found = false;
            for (uint32_t k = 0; g && k < g->n_inputs && !found; k++)
                found = qs_same_name(g->inputs[k]->t.v1.name, s->tensors.items[t]);
            if (!found) {
                qt_error("--native_input_tensor_names: %s '%s' %s '%s'", g ? "graph" : "no graph",
                         s->graph, g ? "has no input" : "for input", s->tensors.items[t]);
                return QT_EXIT_USAGE;
            }
        }
    }
    return QT_EXIT_OK;
}

static int open_lists(job *j) {
    uint32_t n = j->model.n_graphs;
    if (j->lists.n != n) {
        qt_error("--input_list has %zu lists, the model %u graphs; __ skips a graph", j->lists.n,
                 n);
        return QT_EXIT_USAGE;
    }
    j->inputs = calloc(n, sizeof *j->inputs);
    int code = check_natives(j);
    if (!j->inputs) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < n && code == QT_EXIT_OK; i++)
        if (strcmp(j->lists.items[i], "__") != 0)
            code = qs_list_open(j->lists.items[i], j->model.graphs[i].g->inputs,
                                j->model.graphs[i].g->n_inputs, &j->inputs[i]);
    return code;
}

// --- running

static uint32_t least(uint32_t a, const qs_int *b) {
    return b->given && b->v < (int64_t)a ? (uint32_t)b->v : a;
}

// Sets in flight. A profile handle describes one execution, and a timeout one call.
static uint32_t depth_of(const job *j, bool async) {
    const qs_int *queue = &j->config.context.queue_depth;
    uint32_t depth = queue->given ? (uint32_t)queue->v : DEFAULT_DEPTH;
    depth = least(least(depth, &j->config.async.input_tasks), &j->config.async.enqueue_tasks);
    return async && !j->profile.target ? depth : 1;
}

static int choose_running(job *j, qs_running *r) {
    const nr_options *o = j->o;
    const char *in = o->input_data_type, *out = o->output_data_type;
    bool both = out && strcmp(out, "float_and_native") == 0;
    bool native = o->native_outputs || (out && strcmp(out, "native_only") == 0);
    *r = (qs_running){
        .root = dir_of(o),
        .floats_out = !native,
        .native_out = native || both,
        .native_in = o->native_inputs || (in && strcmp(in, "native") == 0),
        .natives = &j->natives,
        .multiplier = o->batch_multiplier ? (uint32_t)o->batch_multiplier : 1,
        .n_inferences = o->num_inferences,
        .duration_s = o->duration == NR_UNSET ? 0 : o->duration,
        .limit_outputs = o->keep_outputs != NR_UNSET,
        .keep_outputs = o->keep_outputs == NR_UNSET ? 0 : (uint64_t)o->keep_outputs,
        .async = !o->synchronous && !o->timeout &&
                 qc_has(j->client, QNN_PROPERTY_GRAPH_SUPPORT_ASYNC_EXECUTION),
        .timeout_us = o->timeout,
        .cached_sets = o->cache_sets == NR_UNSET ? 0 : (int64_t)o->cache_sets,
        .cached_bytes = o->cache_mb << 20,
        .shared = &j->shared,
        .profile = &j->profile,
        .extension = &j->extension,
    };
    r->depth = depth_of(j, r->async);
    if (j->extension.facts.sharesIoBuffer)
        r->place = QS_ONE_BUFFER;
    else if (o->shared_buffer)
        r->place =
            o->mem_handle_type && strcmp(o->mem_handle_type, "dma_buf") == 0 ? QS_DMA_BUF : QS_ION;
    if (r->place != QS_PRIVATE && qt_rpcmem_open(j->client, &j->shared) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    return QT_EXIT_OK;
}

// Of several graphs each has a folder of its name; of two that share one the later has a number.
static const char *folder_of(const job *j, uint32_t graph, char *buf, size_t size) {
    const char *name = j->model.graphs[graph].g->name;
    if (j->model.n_graphs == 1)
        return NULL;
    snprintf(buf, size, "Graph_%u", graph);
    for (uint32_t i = 0; i < graph; i++)
        if (strcmp(j->model.graphs[i].g->name, name) == 0)
            return buf;
    return *name ? name : buf;
}

static int run_graphs(job *j) {
    char numbered[32];
    qs_running how;
    uint64_t n = 0;
    int code = choose_running(j, &how);
    for (uint32_t i = 0; i < j->model.n_graphs && code == QT_EXIT_OK; i++)
        if (j->inputs[i].infos) {
            QS_INFO("executing graph %u (%s)", i, j->model.graphs[i].g->name);
            code = qs_run_graph(&how, j->client, &j->model.graphs[i],
                                folder_of(j, i, numbered, sizeof numbered), &j->inputs[i], &n);
        }
    if (code == QT_EXIT_OK)
        printf("Finished Executing Graphs: %llu executions, results in %s\n", (unsigned long long)n,
               how.root);
    return code;
}

static int end(job *j) {
    uint64_t start = qs_now_us();
    qs_extension_begin(&j->extension, QUERN_EXTENSION_PHASE_DEINIT);
    int code = qs_model_free_contexts(&j->model, j->profile.handle);
    qs_extension_end(&j->extension, QUERN_EXTENSION_PHASE_DEINIT);
    if (code == QT_EXIT_OK)
        code = qs_profile_take(&j->profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_DEINIT, NULL,
                               start, j->profile.handle);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static void close_all(job *j) {
    for (uint32_t i = 0; j->inputs && i < j->model.n_graphs; i++)
        qs_list_close(&j->inputs[i]);
    free(j->inputs);
    qs_model_close(&j->model);
    qs_profile_close(&j->profile);
    qs_extension_close(&j->extension);
    qt_rpcmem_close(&j->shared);
    qc_close(j->client);
    qs_run_config_close(&j->config);
    qs_selections_free(&j->outputs);
    qs_selections_free(&j->natives);
    qs_words_free(&j->models);
    qs_words_free(&j->dlcs);
    qs_words_free(&j->binaries);
    qs_words_free(&j->lists);
}

int nr_run(const nr_options *o) {
    job j = {.o = o};
    int code = read_flags(&j);
    if (code == QT_EXIT_OK)
        code = open_backend(&j);
    if (code == QT_EXIT_OK)
        code = make_model(&j);
    if (code == QT_EXIT_OK)
        code = open_lists(&j);
    if (code == QT_EXIT_OK)
        code = run_graphs(&j);
    if (code == QT_EXIT_OK)
        code = end(&j);
    close_all(&j);
    return code;
}
