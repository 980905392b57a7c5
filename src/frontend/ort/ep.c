// SPDX-License-Identifier: MIT
//
// One instance of the provider: what the host asks of it while a session is made.
#include "frontend/ort/ep.h"

#include "base/mem.h"

#include <string.h>

static qe_ep *self(const OrtEp *ep) { return (qe_ep *)(uintptr_t)ep; }

static const char *get_name(const OrtEp *ep) { return self(ep)->factory->name; }

// --- which nodes

// Hands the groups to the host.
static qrn_status claim(const qe_graph *g, const qe_plan *plan, OrtEpGraphSupportInfo *info) {
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

static const char *const backend_names[] = {"CPU", "GPU", "HTP", "Saver"};

static void tell(const qe_ep *ep, const qe_graph *g, const qe_plan *plan) {
    const ox_graph *graph = g->model->graph;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (plan->why[i])
            qe_say(ep->log, ORT_LOG_WARNING, "node '%s' (%s) is left to other providers: %s",
                   graph->nodes[i].name, graph->nodes[i].op, plan->why[i]);
    qe_say(ep->log, ORT_LOG_INFO, "%s: %u of %u nodes in %u partition%s on %s (%s)%s",
           ep->factory->name, plan->n_taken, graph->n_nodes, plan->n_groups,
           plan->n_groups == 1 ? "" : "s", backend_names[ep->backend], ep->client->path,
           ep->opt.fp16 ? ", float16" : "");
}

// In strict sessions a refusal must fail the session. The host takes a failure here for "nothing
// supported", so everything is claimed and Compile fails.
static void insist(qe_ep *ep, const qe_graph *g, qe_plan *plan) {
    const ox_graph *graph = g->model->graph;
    for (uint32_t i = 0; i < graph->n_nodes && !ep->refused; i++)
        if (plan->why[i]) {
            qrn_fail(QRN_E_UNSUPPORTED, "strict: node '%s' (%s) is refused: %s",
                     graph->nodes[i].name, graph->nodes[i].op, plan->why[i]);
            ep->refused = qrn_arena_strdup(ep->arena, qrn_message());
        }
    if (!ep->refused)
        return;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        plan->group[i] = 0;
    plan->n_groups = 1;
}

static OrtStatus *get_capability(OrtEp *base, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
    qe_ep *ep = self(base);
    qe_graph g;
    qe_plan plan;
    qrn_status s = qe_read(graph, &g);
    if (s == QRN_OK && !g.parent && g.model->graph->n_nodes) { // bodies go with their nodes
        s = qe_plan_make(ep, &g, &plan);
        if (s == QRN_OK) {
            tell(ep, &g, &plan);
            if (ep->opt.strict)
                insist(ep, &g, &plan);
            s = claim(&g, &plan, info);
        }
    }
    if (s == QRN_OK) {
        qe_read_free(&g);
        return NULL;
    }
    OrtStatus *status = qe_status(s);
    qe_read_free(&g);
    return status;
}

// --- compiling

static OrtStatus *compile(OrtEp *base, const OrtGraph **graphs, const OrtNode **fused, size_t n,
                          OrtNodeComputeInfo **infos, OrtNode **context_nodes) {
    qe_ep *ep = self(base);
    (void)context_nodes;
    if (ep->refused)
        return ORT(CreateStatus)(ORT_EP_FAIL, ep->refused);
    for (size_t i = 0; i < n; i++) {
        qe_part *part = NULL;
        qrn_status s = qe_part_compile(ep, graphs[i], fused[i], &part);
        if (s != QRN_OK)
            return qe_status_as(ORT_EP_FAIL, s); // the host releases what was made
        infos[i] = qe_part_info(part);
    }
    return NULL;
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
    .version = ORT_API_WANTED,
    .GetName = get_name,
    .GetCapability = get_capability,
    .Compile = compile,
    .ReleaseNodeComputeInfos = release_infos,
    .GetPreferredDataLayout = preferred_layout,
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
               backend_names[of_type[best]]);
    ep->backend = of_type[best];
    return QRN_OK;
}

static qrn_status start(qe_ep *ep, const OrtHardwareDevice *const *devices, size_t n,
                        const OrtSessionOptions *options) {
    QRN_TRY(qe_options_read(options, ep->factory->name, ep->arena, &ep->opt));
    QRN_TRY(choose_backend(ep, devices, n));
    if (ep->opt.context_enable)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "ep.context_enable: context models are not written by this provider yet");
    return qe_backend_open(ep);
}

qrn_status qe_ep_create(qe_factory *f, const OrtHardwareDevice *const *devices, size_t n_devices,
                        const OrtSessionOptions *options, const OrtLogger *log, qe_ep **out) {
    qe_ep *ep = qrn_calloc(sizeof *ep);
    if (!ep)
        return QRN_FAIL(QRN_E_MEM, "provider '%s': no memory", f->name);
    ep->base = callbacks;
    ep->factory = f;
    ep->log = log;
    ep->arena = qrn_arena_create();
    qrn_status s = ep->arena ? start(ep, devices, n_devices, options)
                             : QRN_FAIL(QRN_E_MEM, "provider '%s': no memory", f->name);
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
    qc_close(ep->client);
    qrn_arena_destroy(ep->arena);
    qrn_free(ep);
}
