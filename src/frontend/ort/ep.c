// SPDX-License-Identifier: MIT
//
// One instance of the provider: what the host asks of it while a session is made.
#include "frontend/ort/ep.h"

#include "frontend/ort/affinity.h"
#include "frontend/ort/defaults.h"
#include "frontend/ort/memory.h"
#include "frontend/ort/record.h"
#include "frontend/ort/timeline.h"
#include "frontend/ort/watch.h"

#include "base/mem.h"
#include "base/soc.h"

#include <stdio.h>
#include <string.h>

static qe_ep *self(const OrtEp *ep) { return (qe_ep *)(uintptr_t)ep; }

static const char *get_name(const OrtEp *ep) { return self(ep)->factory->name; }

// --- which nodes

// Hands the groups to the host.
static qrn_status claim(const qe_graph *g, const ox_plan *plan, OrtEpGraphSupportInfo *info) {
    // Constants are in the compiled graph: the fused node need not carry them.
    const OrtNodeFusionOptions options = {ORT_API_WANTED, true};
    const OrtNode **nodes = qrn_alloc((g->model->graph->n_nodes + 1) * sizeof *nodes);
    if (!nodes)
        return QRN_FAIL(QRN_E_MEM, "no memory for the list of nodes");
    qrn_status s = QRN_OK;
    for (uint32_t k = 0; k < plan->n_groups && s == QRN_OK; k++) {
        size_t n = 0;
        for (uint32_t i = 0; i < g->model->graph->n_nodes; i++)
            if (plan->group[i] == (int32_t)k)
                nodes[n++] = g->nodes[i];
        if (n)
            s = qe_heard(ORT(EpGraphSupportInfo_AddNodesToFuse)(info, nodes, n, &options),
                         "AddNodesToFuse");
    }
    qrn_free(nodes);
    return s;
}

// The target that the library stands for, and how it computes floats.
static void describe_target(const qe_ep *ep, char *out, size_t size) {
    static const char *const floats[] = {
        [QC_FLOAT32] = "floats as float32", [QC_FLOAT16] = "floats as float16"};
    const qe_options *o = &ep->opt;
    const qrn_soc *soc = o->soc_model ? qrn_soc_by_id(o->soc_model) : NULL;
    const char *how = floats[ep->client->floats];
    if (ep->backend == QE_BACKEND_CPU)
        snprintf(out, size, ", %s", how);
    else if (ep->backend == QE_BACKEND_GPU)
        snprintf(out, size, ", precision %s", qe_gpu_precisions[o->gpu_precision]);
    else if (ep->backend != QE_BACKEND_HTP)
        snprintf(out, size, "%s", "");
    else if (soc)
        snprintf(out, size, " of %s (v%u), %s", soc->name, soc->arch, how);
    else if (o->soc_model)
        snprintf(out, size, " of SoC %u, %s", o->soc_model, how);
    else if (o->htp_arch)
        snprintf(out, size, " of v%u, %s", (unsigned)o->htp_arch, how);
    else
        snprintf(out, size, " without a target SoC, %s", how);
}

// Is a refusal nothing but the consequence of another?
static bool follows(const char *why) { return strstr(why, "comes from a rejected node") != NULL; }

// One warning for a dynamic model: nearly all of its nodes are rejected for it.
static bool report_dynamic(const qe_ep *ep, const qe_graph *g, const ox_plan *plan) {
    if (ox_check_static(g->model, false) == QRN_OK)
        return false;
    qe_say(ep->log, ORT_LOG_WARNING,
           "%s: %u of %u nodes are left to other providers; give the sizes when the session is "
           "made (add_free_dimension_override_by_name, or make_dynamic_shape_fixed of "
           "onnxruntime.tools)",
           qrn_message(), g->model->graph->n_nodes - plan->n_taken, g->model->graph->n_nodes);
    qrn_message_clear();
    return true;
}

// Does the rejection of node i need a warning of its own?
static bool is_news(const ox_plan *plan, uint32_t i, bool dynamic) {
    return plan->why[i] &&
           !(dynamic && (plan->status[i] == QRN_E_DYNAMIC_SHAPE || follows(plan->why[i])));
}

static void report(const qe_ep *ep, const qe_graph *g, const ox_plan *plan) {
    const ox_graph *graph = g->model->graph;
    char target[96];
    bool dynamic = report_dynamic(ep, g, plan);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const char *why = ox_plan_reason(graph, plan, i);
        if (why)
            qe_say(ep->log, is_news(plan, i, dynamic) ? ORT_LOG_WARNING : ORT_LOG_INFO,
                   "node '%s' (%s) is left to other providers: %s", graph->nodes[i].name,
                   graph->nodes[i].op, why);
    }
    describe_target(ep, target, sizeof target);
    qe_say(ep->log, ORT_LOG_INFO, "%s: %u of %u nodes in %u partition%s on %s%s (%s)",
           ep->factory->name, plan->n_taken, graph->n_nodes, plan->n_groups,
           plan->n_groups == 1 ? "" : "s", qe_backend_names[ep->backend], target, ep->client->path);
}

static void keep_reason(qe_ep *ep, const char *words) {
    const char *kept = qrn_arena_strdup(ep->arena, words);
    ep->refused = kept ? kept : "strict: nodes are rejected (out of memory for the reason)";
}

#define MAX_NAMED 3 // refused nodes that a failure names

// Appends a refused node to the reason why the session must fail.
static void name_node(char *words, size_t size, const ox_node *n, const char *why, uint32_t i) {
    size_t at = strlen(words);
    snprintf(words + at, size - at,
             i ? "; so is '%s' (%s): %s" : "strict: node '%s' (%s) is rejected: %s", n->name, n->op,
             why);
}

// In strict sessions a refusal must fail the session. The host takes a failure here for "nothing
// supported", so everything is claimed and Compile fails.
static void insist(qe_ep *ep, const qe_graph *g, ox_plan *plan) {
    const ox_graph *graph = g->model->graph;
    char words[QRN_MESSAGE_MAX] = "";
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n_nodes && n < MAX_NAMED; i++) {
        const char *why = ox_plan_reason(graph, plan, i);
        if (why && !(n && follows(why)))
            name_node(words, sizeof words, &graph->nodes[i], why, n++);
    }
    if (!n)
        return;
    keep_reason(ep, words);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        plan->group[i] = 0;
    plan->n_groups = 1;
}

// The same where no node could be looked at; the message of the failure is the reason.
static qrn_status insist_blindly(qe_ep *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
    const OrtNodeFusionOptions options = {ORT_API_WANTED, true};
    size_t n = 0;
    char words[QRN_MESSAGE_MAX];
    snprintf(words, sizeof words, "%s", qrn_message());
    qrn_fail(QRN_E_UNSUPPORTED, "strict: the graph cannot be taken: %s", words);
    keep_reason(ep, qrn_message());
    QE_TRY(Graph_GetNumNodes, graph, &n);
    const OrtNode **nodes = qrn_alloc((n + 1) * sizeof *nodes);
    qrn_status s = nodes ? qe_heard(ORT(Graph_GetNodes)(graph, nodes, n), "GetNodes")
                         : QRN_FAIL(QRN_E_MEM, "no memory for the list of nodes");
    if (s == QRN_OK)
        s = qe_heard(ORT(EpGraphSupportInfo_AddNodesToFuse)(info, nodes, n, &options),
                     "AddNodesToFuse");
    qrn_free(nodes);
    return s;
}

static bool has_context(const qe_ep *ep, const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (qe_is_context(ep, &g->nodes[i]))
            return true;
    return false;
}

// In a context model each EPContext node is a partition; what was left to others stays with them.
static qrn_status claim_contexts(qe_ep *ep, const qe_graph *g, OrtEpGraphSupportInfo *info) {
    const OrtNodeFusionOptions options = {ORT_API_WANTED, true};
    for (uint32_t i = 0; i < g->model->graph->n_nodes; i++) {
        const ox_node *n = &g->model->graph->nodes[i];
        if (qe_is_context(ep, n)) {
            QE_TRY(EpGraphSupportInfo_AddNodesToFuse, info, &g->nodes[i], 1, &options);
        } else if (ep->opt.strict && !ep->refused) {
            qrn_fail(QRN_E_UNSUPPORTED,
                     "strict: node '%s' (%s) is rejected: it is not part of the context binary; "
                     "compile the model with strict=1 to see why",
                     n->name, n->op);
            keep_reason(ep, qrn_message());
        }
    }
    return QRN_OK;
}

// Files about what the host offered and what was accepted of it.
static qrn_status write_files(qe_ep *ep, const qe_graph *g, const ox_plan *plan) {
    if (!ep->opt.op_trace && ep->opt.profile_level < QE_DETAILED)
        return QRN_OK;
    QRN_TRY(qe_trace_nodes(ep, g->model, plan)); // profiles name nodes, too
    return ep->opt.op_trace ? qe_trace_write(ep) : QRN_OK;
}

static qrn_status choose(qe_ep *ep, const qe_graph *g, OrtEpGraphSupportInfo *info) {
    ox_plan plan;
    if (ep->opt.dump_input)
        QRN_TRY(qe_dump_input(ep, g->model->graph));
    qe_share_lock(ep);
    qrn_status s = qe_plan_make(ep, g, &plan);
    qe_share_unlock(ep);
    QRN_TRY(s);
    report(ep, g, &plan);
    QRN_TRY(write_files(ep, g, &plan));
    if (ep->opt.strict)
        insist(ep, g, &plan);
    return claim(g, &plan, info);
}

static OrtStatus *get_capability(OrtEp *base, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
    qe_ep *ep = self(base);
    qe_graph g;
    uint64_t start = qe_now_us();
    qrn_status s = qe_read(graph, &g);
    if (s == QRN_OK && !g.parent && has_context(ep, g.model->graph))
        s = claim_contexts(ep, &g, info);
    else if (s == QRN_OK && !g.parent && g.model->graph->n_nodes) // bodies go with their nodes
        s = choose(ep, &g, info);
    if (s != QRN_OK && ep->opt.strict && !g.parent)
        s = insist_blindly(ep, graph, info);
    OrtStatus *status = s == QRN_OK ? NULL : qe_status(s);
    qe_read_free(&g);
    ep->choosing_us += qe_now_us() - start;
    return status;
}

// --- compiling

// The host's graphs and fused nodes, read; freed with the arena and `graphs`.
typedef struct work {
    qe_graph *graphs;
    ox_node *fused;
    qrn_arena *arena;
    size_t n;
} work;

static void work_free(work *w) {
    for (size_t i = 0; w->graphs && i < w->n; i++)
        qe_read_free(&w->graphs[i]);
    qrn_free(w->graphs);
    qrn_free(w->fused);
    qrn_arena_destroy(w->arena);
}

static qrn_status work_read(work *w, const OrtGraph **graphs, const OrtNode **fused) {
    w->graphs = qrn_calloc((w->n + 1) * sizeof *w->graphs);
    w->fused = qrn_calloc((w->n + 1) * sizeof *w->fused);
    w->arena = qrn_arena_create();
    if (!w->graphs || !w->fused || !w->arena)
        return QRN_FAIL(QRN_E_MEM, "compiling: no memory");
    for (size_t i = 0; i < w->n; i++) {
        QRN_TRY(qe_read(graphs[i], &w->graphs[i]));
        QRN_TRY(qe_read_node(fused[i], w->arena, &w->fused[i]));
    }
    return QRN_OK;
}

static qrn_status compile_one(qe_ep *ep, qe_graph *g, const ox_node *fused,
                              OrtNodeComputeInfo **info) {
    qe_graph whole;
    qe_part *part = NULL;
    QRN_TRY(qe_defaults_apply(ep, g, fused, &whole));
    QRN_TRY(qe_part_compile(ep, &whole, fused, NULL, &part));
    *info = qe_part_info(part);
    return qe_defaults_keep(part, g, fused);
}

static qrn_status compile_all(qe_ep *ep, const work *w, OrtNodeComputeInfo **infos,
                              OrtNode **context_nodes) {
    for (size_t i = 0; i < w->n; i++)
        QRN_TRY(compile_one(ep, &w->graphs[i], &w->fused[i], &infos[i]));
    if (ep->opt.op_trace)
        QRN_TRY(qe_trace_write(ep));
    if (ep->opt.context_enable)
        QRN_TRY(
            qe_context_write(ep, w->graphs[0].model->path, w->fused, infos, w->n, context_nodes));
    return ep->opt.prepare_and_load ? qe_reload(ep, infos, w->n) : QRN_OK;
}

static bool is_context_model(const qe_ep *ep, const work *w) {
    for (size_t i = 0; i < w->n; i++)
        for (uint32_t k = 0; k < w->graphs[i].model->graph->n_nodes; k++)
            if (qe_is_context(ep, &w->graphs[i].model->graph->nodes[k]))
                return true;
    return false;
}

static OrtStatus *compile(OrtEp *base, const OrtGraph **graphs, const OrtNode **fused, size_t n,
                          OrtNodeComputeInfo **infos, OrtNode **context_nodes) {
    qe_ep *ep = self(base);
    if (ep->refused)
        return qe_status_as(ORT_EP_FAIL, QRN_FAIL(QRN_E_UNSUPPORTED, "%s", ep->refused));
    work w = {.n = n};
    OrtErrorCode code = ORT_EP_FAIL;
    uint64_t start = qe_now_us();
    qrn_status s = work_read(&w, graphs, fused);
    qe_share_lock(ep);
    if (s == QRN_OK && is_context_model(ep, &w)) {
        if (ep->opt.op_trace || ep->opt.dump_json)
            qe_say(ep->log, ORT_LOG_INFO,
                   "a context model is loaded: no graph is composed, none is traced or dumped");
        s = qe_context_read(ep, w.graphs, w.fused, n, infos);
        code = ORT_INVALID_GRAPH; // applications make the model anew
    } else if (s == QRN_OK) {
        s = compile_all(ep, &w, infos, context_nodes);
    }
    if (ep->opt.share_contexts && ep->opt.stop_sharing)
        qe_share_stop();
    qe_share_unlock(ep);
    OrtStatus *status = qe_status_as(code, s); // the host releases what was made
    work_free(&w);
    if (s == QRN_OK) // the rest of the time until the session is there is the host's
        qe_say(ep->log, ORT_LOG_INFO, "%s: nodes chosen in %.1f ms, compiled in %.1f ms",
               ep->factory->name, 1e-3 * (double)ep->choosing_us,
               1e-3 * (double)(qe_now_us() - start));
    return status;
}

static void release_infos(OrtEp *base, OrtNodeComputeInfo **infos, size_t n) {
    (void)base;
    for (size_t i = 0; i < n; i++)
        qe_part_free(infos[i]);
}

static OrtStatus *preferred_layout(OrtEp *base, OrtEpDataLayout *layout) {
    (void)base;
    *layout = ORT_NCHW;
    return NULL;
}

static const OrtEp callbacks = {
    .version = ORT_API_OF_PROFILER,
    .GetName = get_name,
    .GetCapability = get_capability,
    .Compile = compile,
    .ReleaseNodeComputeInfos = release_infos,
    .GetPreferredDataLayout = preferred_layout,
    .SetDynamicOptions = qe_set_dynamic,
    .OnRunStart = qe_on_run_start,
    .OnRunEnd = qe_on_run_end,
    .GetCompiledModelCompatibilityInfo = qe_compat_info,
    .CreateProfiler = qe_create_profiler,
};

// --- life

// The backend that the chosen device stands for, unless an option names one.
static qrn_status choose_backend(qe_ep *ep, const OrtHardwareDevice *const *devices, size_t n) {
    static const qe_backend of_type[] = {QE_BACKEND_CPU, QE_BACKEND_GPU, QE_BACKEND_HTP};
    int best = -1;
    if (ep->opt.backend_path) {
        ep->backend = QE_BACKEND_CPU; // until the library's name says more
        return QRN_OK;
    }
    if (ep->opt.backend_type >= 0) {
        ep->backend = (qe_backend)ep->opt.backend_type;
        return QRN_OK;
    }
    for (size_t i = 0; i < n; i++) {
        int type = (int)ORT(HardwareDevice_Type)(devices[i]);
        if (type > best && type <= ORT_NPU)
            best = type;
    }
    if (best < 0)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "no device was chosen; set the option backend_type or backend_path");
    if (n > 1)
        qe_say(ep->log, ORT_LOG_WARNING, "several devices were chosen; %s is used",
               qe_backend_names[of_type[best]]);
    ep->backend = of_type[best];
    return QRN_OK;
}

static qrn_status check_folders(const qe_options *o) {
    if (o->dump_json)
        QRN_TRY(qe_folder_ready("json_qnn_graph_dir", o->json_dir));
    if (o->op_trace)
        QRN_TRY(qe_folder_ready("framework_op_trace_dir", o->trace_dir));
    if (o->dump_dlc)
        QRN_TRY(qe_folder_ready("dump_qnn_ir_dlc_dir", o->dlc_dir));
    return o->dump_input ? qe_folder_ready("dump_qnn_ep_input_graph_dir", o->input_dir) : QRN_OK;
}

static qrn_status start(qe_ep *ep, const OrtHardwareDevice *const *devices, size_t n,
                        const OrtSessionOptions *options) {
    QRN_TRY(qe_options_read(options, ep->factory->name, ep->log, ep->arena, &ep->opt));
    QRN_TRY(check_folders(&ep->opt));
    QRN_TRY(qe_affinity_read(ep));
    QRN_TRY(choose_backend(ep, devices, n));
    if (ep->opt.context_enable && ep->backend == QE_BACKEND_CPU && !ep->opt.backend_path)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "ep.context_enable: the CPU backend has no context binaries; set "
                        "backend_type to htp or gpu");
    if (ep->opt.shared_memory)
        QRN_TRY(qe_memory_start());
    QRN_TRY(qe_backend_open(ep));
    QRN_TRY(qe_affinity_check(ep));
    qe_share_lock(ep);
    qrn_status s = qe_check_graph_options(ep);
    qe_share_unlock(ep);
    QRN_TRY(s);
    QRN_TRY(qe_profile_start(ep));
    QRN_TRY(qe_watch_open(ep));
    return qe_power_start(ep);
}

qrn_status qe_ep_create(qe_factory *f, const OrtHardwareDevice *const *devices, size_t n_devices,
                        const OrtSessionOptions *options, const OrtLogger *log, qe_ep **out) {
    qe_ep *ep = qrn_calloc(sizeof *ep);
    if (!ep)
        return QRN_FAIL(QRN_E_MEM, "provider '%s': no memory", f->name);
    pthread_mutex_init(&ep->profile.lock, NULL);
    pthread_mutex_init(&ep->compiling, NULL);
    ep->base = callbacks;
    ep->factory = f;
    ep->log = log;
    ep->arena = qrn_arena_create();
    qrn_status s = ep->arena ? qe_timeline_open(&ep->timeline)
                             : QRN_FAIL(QRN_E_MEM, "provider '%s': no memory", f->name);
    if (s == QRN_OK)
        s = start(ep, devices, n_devices, options);
    if (s != QRN_OK) {
        qe_ep_free(ep);
        return s;
    }
    *out = ep;
    return QRN_OK;
}

void qe_ep_free(qe_ep *ep) {
    if (!ep)
        return;
    qe_watch_close(ep);
    qe_power_end(ep);
    if (!ep->shares) {
        qe_memory_forget(ep->client);
        qe_loaded_free(ep->client, ep->loaded);
    }
    qe_profile_end(ep);
    qe_trace_free(ep);
    qe_timeline_close(ep->timeline);
    pthread_mutex_destroy(&ep->profile.lock);
    pthread_mutex_destroy(&ep->compiling);
    if (ep->shares)
        qe_share_leave(ep);
    else
        qc_close(ep->client);
    qrn_strmap_clear(&ep->noted);
    qrn_arena_destroy(ep->arena);
    qrn_free(ep);
}
