// SPDX-License-Identifier: MIT
//
// The HTP backend: what it can do, and how it finalizes and executes. The numbers are the NPU's,
// the work is done by the host's kernels.
#include "backend/htp/binary/binary.h"
#include "backend/htp/device/device.h"
#include "backend/htp/profile/events.h"
#include "backend/htp/execute.h"
#include "backend/htp/device/group.h"
#include "backend/htp/htp.h"
#include "backend/htp/limits/native_kv.h"
#include "backend/htp/mem.h"
#include "backend/htp/profile/modelled.h"
#include "backend/htp/options/options.h"
#include "backend/htp/power/power.h"
#include "backend/htp/device/properties.h"
#include "backend/htp/device/restart.h"
#include "backend/htp/device/session.h"

#include "base/env.h"
#include "base/mem.h"
#include "core/services.h"
#include "core/host.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpProperty.h"
#include "Quern/QuernBackend.h"

#include <string.h>

static qrn_packages *packages_of(qrn_api_backend *b) {
    return &((qrn_htp_backend *)b->impl)->packages;
}

static qrn_status backend_config(qrn_api_backend *b, const void *custom) {
    const QuernBackend_CustomConfig_t *c = custom;
    if (c->magic != QUERN_BACKEND_CONFIG_MAGIC ||
        (c->option != QUERN_BACKEND_OPTION_RESTART && c->option != QUERN_BACKEND_OPTION_CRASH))
        return qrn_host_config(b, custom);
    qrn_htp_restart_at(c->value, c->option == QUERN_BACKEND_OPTION_CRASH);
    return QRN_OK;
}

static qrn_status backend_create(qrn_api_backend *b) {
    qrn_htp_backend *impl = qrn_calloc(sizeof *impl);
    if (!impl)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a backend");
    qrn_packages_init(&impl->packages, &qrn_host_packages);
    b->impl = impl;
    qrn_htp_restart_of_environment(b->log);
    return QRN_OK;
}

static qrn_status backend_free(qrn_api_backend *b) {
    qrn_host_release(b);
    qrn_packages_clear(packages_of(b));
    qrn_free(b->impl);
    b->impl = NULL;
    qrn_htp_power_backend_freed();
    return QRN_OK;
}

// The list of contexts is changed and read exclusively.
static void enter_context(void *context) {
    qrn_htp_context *c = context;
    qrn_htp_backend *impl = c->api->backend->impl;
    c->older = impl->newest;
    if (c->older)
        c->older->newer = c;
    impl->newest = c;
}

static void leave_context(void *context) {
    const qrn_htp_context *c = context;
    qrn_htp_backend *impl = c->api->backend->impl;
    if (c->older)
        c->older->newer = c->newer;
    if (c->newer)
        c->newer->older = c->older;
    else
        impl->newest = c->older;
}

typedef struct newest {
    const qrn_htp_backend *backend;
    bool found;
    qrn_htp_device device;
} newest;

static void find_newest(void *arg) {
    newest *n = arg;
    n->found = n->backend->newest != NULL;
    if (n->found)
        n->device = *qrn_htp_device_of(n->backend->newest->api);
}

qrn_htp_device qrn_htp_device_of_backend(const qrn_api_backend *b) {
    newest n = {.backend = b->impl};
    qrn_backend_exclusively(b, find_newest, &n);
    if (!n.found)
        qrn_log_release(qrn_htp_newest_device(&n.device));
    return n.device;
}

static qrn_status context_create(qrn_api_context *c) {
    QRN_TRY(qrn_htp_cross(NULL));
    qrn_htp_context *impl = qrn_calloc(sizeof *impl);
    if (!impl)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    impl->options.deserialize_patch_fd = -1;
    impl->api = c;
    impl->restarts = qrn_htp_restarts();
    c->impl = impl;
    qrn_backend_exclusively(c->backend, enter_context, impl);
    return QRN_OK;
}

static qrn_status context_free(qrn_api_context *c) {
    qrn_mem_free_all(c); // handles need what is freed here
    qrn_htp_session_close(c);
    qrn_htp_group_leave(c);
    qrn_backend_exclusively(c->backend, leave_context, c->impl);
    qrn_htp_binary_drop(c->impl);
    qrn_free(c->impl);
    c->impl = NULL;
    return QRN_OK;
}

static qrn_status graph_create(qrn_api_graph *g) {
    qrn_htp_graph *impl = qrn_calloc(sizeof *impl);
    if (!impl)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    impl->options = (qrn_htp_graph_options){.level = 2, .n_cores = 1};
    g->impl = impl;
    return QRN_OK;
}

static void graph_free(qrn_api_graph *g) {
    qrn_user_ops_free(&qrn_htp_graph_of(g)->user_ops, NULL);
    qrn_compiled_destroy(qrn_htp_graph_of(g)->stored);
    qrn_htp_modelled_drop(qrn_htp_graph_of(g));
    qrn_free(g->impl);
    g->impl = NULL;
}

// HTP-API-02. A package for the accelerator itself is no library of this host: it does not load.
static qrn_status package_register(qrn_api_backend *b, const char *path, const char *provider,
                                   const char *target, const void *image, size_t size) {
    if (target && strcmp(target, "CPU") != 0 && strcmp(target, "HTP") != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "op package: target '%s', allowed NULL, CPU, HTP", target);
    return qrn_packages_register(packages_of(b), path, provider, target, image, size);
}

static void *package_find(qrn_api_backend *b, const char *package, const char *op) {
    return qrn_packages_find(packages_of(b), package, op);
}

static qrn_status package_validate(qrn_api_backend *b, void *user_op, const void *op_config) {
    (void)b;
    return qrn_packages_validate(user_op, op_config);
}

static bool package_list(qrn_api_backend *b, size_t i, const char **package, const char **op,
                         const char **target) {
    return qrn_packages_list(packages_of(b), i, package, op, target);
}

// What a compiled graph depends on beside the graph.
static uint32_t how_of(const qrn_api_graph *g, const qrn_compile_options *o) {
    if (qrn_host_keeps_tensors(g) || qrn_env_get(QRN_ENV_PASSES))
        return QRN_HTP_NOT_STORED;
    return (uint32_t)o->fp16 << 8 | (o->fold_relu ? 1u : 0u) | (o->round_half_away ? 2u : 0u) |
           (o->low_ties ? 4u : 0u);
}

// Binds the compiled graph of a binary when it was compiled as this device computes; else compiles.
static qrn_status make_executable(qrn_api_graph *g, const qrn_compile_options *o,
                                  const qrn_cpu_options *cpu) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    qrn_compiled *stored = impl->stored;
    impl->stored = NULL;
    impl->how = how_of(g, o);
    if (stored && impl->stored_how == impl->how && impl->how != QRN_HTP_NOT_STORED)
        return qrn_host_bind(g, stored, o, cpu);
    qrn_compiled_destroy(stored);
    QRN_TRY(qrn_htp_check_nodes(g));
    return qrn_host_build(g, o, cpu);
}

qrn_status qrn_htp_graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    uint64_t start = qrn_call_now_ns();
    QRN_TRY(qrn_htp_cross(g->context));
    QRN_TRY(qrn_htp_float_check_graph(g));
    QRN_TRY(qrn_htp_native_kv_settle(g));
    qrn_compile_options o = {.stored = true,
                             .masked_softmax = true,
                             .most_bytes = opt->most_bytes,
                             .lower_user = qrn_user_ops_lower,
                             .ctx = &impl->user_ops,
                             .poll = opt->poll,
                             .poll_ctx = opt->poll_ctx};
    qrn_cpu_options cpu = {.packed = &impl->packed};
    const void *before = impl->user_ops; // of an earlier finalize, still in use
    qrn_htp_graph_settle(g);
    impl->beyond =
        impl->stored ? impl->stored_how >> 8 == QRN_FP16_WIDE_RANGE : qrn_htp_has_beyond(g->ir);
    qrn_htp_numerics(g, &o);
    cpu.pack4 = impl->options.weights_packing;
    qrn_htp_log_floats(g, (qrn_fp16_rule)o.fp16);
    if (!g->context->from_binary)
        qrn_htp_log_lost(g, (qrn_fp16_rule)o.fp16);
    uint64_t compiling = qrn_call_now_ns();
    qrn_status s = make_executable(g, &o, &cpu);
    impl->compile_ns = qrn_call_now_ns() - compiling;
    if (s == QRN_OK)
        s = qrn_htp_measure(qrn_runner_plan(g->runner), &impl->sizes);
    if (s != QRN_OK)
        qrn_user_ops_free(&impl->user_ops, before);
    impl->prepare_ns = qrn_call_now_ns() - start;
    return s;
}

static qrn_status graph_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    QRN_TRY(qrn_htp_native_kv_places(g, io));
    qrn_run_options o = *opt;
    o.pool = g->context->backend->pool;
    o.max_threads = qrn_htp_worker_limit(g);
    return qrn_htp_run(g, io, &o);
}

static const qrn_capability capabilities[] = {
#include "backend/htp/capabilities.def"
};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_HTP_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_HTP,
    .version_major = QNN_HTP_API_VERSION_MAJOR,
    .version_minor = QNN_HTP_API_VERSION_MINOR + 1, // clients are built with newer headers
    .version_patch = QNN_HTP_API_VERSION_PATCH,
    .features = QRN_FEATURE_DEVICE | QRN_FEATURE_ASYNC | QRN_FEATURE_SIGNAL | QRN_FEATURE_MEM |
                QRN_FEATURE_UPDATEABLE | QRN_FEATURE_GRAPH_CONFIG | QRN_FEATURE_CONTEXT_CONFIG |
                QRN_FEATURE_PRIORITY | QRN_FEATURE_PROFILE_CONFIG | QRN_FEATURE_PROFILE_EXTENDED |
                QRN_FEATURE_GRAPH_VALIDATE | QRN_FEATURE_BATCH | QRN_FEATURE_OPTRACE |
                QRN_FEATURE_NATIVE_KV | QRN_FEATURE_OP_PACKAGE | QRN_FEATURE_DYNAMIC_DIMS |
                QRN_FEATURE_SPARSE,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &qrn_htp_support,
    .max_queue_depth = 300, // HTP-ASY-01
    .fail_when_full = true, // HTP-ASY-02
    .backend_config = backend_config,
    .backend_create = backend_create,
    .backend_free = backend_free,
    .device_create = qrn_htp_device_create,
    .device_free = qrn_htp_device_free,
    .device_config = qrn_htp_device_config,
    .device_platform = qrn_htp_device_platform,
    .device_settle = qrn_htp_device_settle,
    .platform_info = qrn_htp_platform_info,
    .platform_info_free = qrn_htp_platform_info_free,
    .infrastructure = qrn_htp_infrastructure,
    .global_config = qrn_htp_global_config,
    .context_create = context_create,
    .context_free = context_free,
    .context_check = qrn_htp_restart_check,
    .context_ending = qrn_htp_context_ending,
    .context_config = qrn_htp_context_config,
    .graph_create = graph_create,
    .graph_free = graph_free,
    .graph_config = qrn_htp_graph_config,
    .package_register = package_register,
    .package_find = package_find,
    .package_validate = package_validate,
    .package_list = package_list,
    .context_property = qrn_htp_context_property,
    .op_check = qrn_htp_op_check,
    .graph_finalize = qrn_htp_graph_finalize,
    .graph_enter = qrn_htp_graph_enter,
    .graph_leave = qrn_htp_graph_leave,
    .graph_execute = graph_execute,
    .record = qrn_htp_record,
    .report_bytes = sizeof(qrn_htp_report),
    .profile_level = qrn_htp_profile_level,
    .mem_map = qrn_htp_mem_map,
    .mem_unmap = qrn_htp_mem_unmap,
    .binary_size = qrn_htp_binary_size,
    .binary_write = qrn_htp_binary_write,
    .binary_load = qrn_htp_binary_load,
    .binary_validate = qrn_htp_binary_validate,
    .section_size = qrn_htp_section_size,
    .section_write = qrn_htp_section_write,
    .section_apply = qrn_htp_section_apply,
    .section_update = qrn_htp_section_update,
};
