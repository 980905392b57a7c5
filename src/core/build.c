// SPDX-License-Identifier: MIT
//
// Building graphs for this machine's CPU, with all of its instructions. Apart from host.c: a
// library that only records (the Saver) needs neither the compiler nor kernels.
#include "core/host.h"

#include "base/cpu.h"
#include "base/env.h"
#include "core/errors.h"
#include "core/own.h"

static void explain(void *backend, const char *line) {
    qrn_log(((qrn_api_backend *)backend)->log, QNN_LOG_LEVEL_INFO, "%s", line);
}

static qrn_status bind(qrn_api_graph *g, qrn_compiled *cg, const qrn_compile_options *opt,
                       const qrn_cpu_options *cpu) {
    qrn_api_backend *b = g->context->backend;
    qrn_cpu_options o = *cpu;
    o.isa = qrn_cpu_isa();
    o.n_threads = qrn_pool_threads(b->pool);
    o.winograd = (!opt->keep_tensors || opt->wanted) && qrn_pass_enabled(opt->passes, "winograd");
    o.most_bytes = opt->most_bytes;
    if (qrn_env_verbose("dispatch")) {
        o.explain = explain;
        o.explain_ctx = b;
    }
    qrn_plan *plan = NULL;
    QRN_TRY(qrn_bind_cpu(cg, &o, &plan));
    QRN_TRY(qrn_runner_create(plan, &g->runner));
    g->compiled = cg;
    return QRN_OK;
}

qrn_status qrn_host_bind(qrn_api_graph *g, qrn_compiled *cg, const qrn_compile_options *opt,
                         const qrn_cpu_options *cpu) {
    qrn_status s = qrn_host_acquire_pool(g->context->backend);
    if (s == QRN_OK)
        s = qrn_compiled_verify(cg, true);
    if (s == QRN_OK)
        s = bind(g, cg, opt, cpu);
    if (s != QRN_OK)
        qrn_compiled_destroy(cg);
    return s;
}

qrn_status qrn_host_build(qrn_api_graph *g, const qrn_compile_options *opt,
                          const qrn_cpu_options *cpu) {
    qrn_compile_options o = *opt;
    qrn_compiled *cg = NULL;
    QRN_TRY(qrn_host_acquire_pool(g->context->backend));
    const qrn_observer *seen = &g->context->backend->own->observer;
    if (!o.keep_tensors && !g->context->backend->own->dump.folder && seen->tensor) {
        o.wanted = seen->wanted;
        o.wanted_ctx = seen->ctx;
    }
    o.keep_tensors |= qrn_host_keeps_tensors(g);
    QRN_TRY(qrn_compile(g->ir, &o, &cg));
    qrn_status s = bind(g, cg, &o, cpu);
    if (s != QRN_OK)
        qrn_compiled_destroy(cg);
    return s;
}
