// SPDX-License-Identifier: MIT
//
// The backend of the API tests; see fault_backend.h. Graphs are compiled and run for real, so that
// only the demanded failure differs from a working backend.
#include "fault_backend.h"

#include "base/mem.h"
#include "bind/cpu/bind.h"
#include "compiler/compile.h"
#include "core/graph.h"

#include <string.h>

qrn_status fault_status[FAULT_COUNT];
atomic_uint fault_calls[FAULT_COUNT];
unsigned fault_n_package_ops;
qrn_config_phase fault_phase;

static qrn_status take(fault_id id) {
    fault_calls[id]++;
    return fault_status[id] == QRN_OK ? QRN_OK : QRN_FAIL(fault_status[id], "fault on demand");
}

#define ON_OBJECT(name, object, id)                                                                \
    static qrn_status name(object *o) {                                                            \
        (void)o;                                                                                   \
        return take(id);                                                                           \
    }
#define ON_OPTION(name, object, option, id)                                                        \
    static qrn_status name(object *o, option c) {                                                  \
        (void)o, (void)c;                                                                          \
        return take(id);                                                                           \
    }

static qrn_status context_config(qrn_api_context *c, qrn_config_phase phase,
                                 const void *const *custom, size_t n) {
    (void)c, (void)custom;
    fault_phase = phase;
    return n ? take(FAULT_CONTEXT_CONFIG) : QRN_OK;
}

static qrn_status graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                               size_t n) {
    (void)g, (void)custom;
    if (n && phase == QRN_CONFIG_SET_FINAL)
        return QRN_E_FINALIZED;
    return n ? take(FAULT_GRAPH_CONFIG) : QRN_OK;
}

ON_OPTION(backend_config, qrn_api_backend, const void *, FAULT_BACKEND_CONFIG)
ON_OPTION(device_config, qrn_api_device, const void *, FAULT_DEVICE_CONFIG)
ON_OPTION(device_platform, qrn_api_device, const void *, FAULT_DEVICE_PLATFORM)
ON_OPTION(log_level, qrn_api_log, int, FAULT_LOG_LEVEL)
ON_OPTION(backend_property, qrn_api_backend, void *, FAULT_BACKEND_PROPERTY)
ON_OPTION(context_property, qrn_api_context, void *, FAULT_CONTEXT_PROPERTY)
ON_OPTION(graph_property, qrn_api_graph, void *, FAULT_GRAPH_PROPERTY)
ON_OBJECT(backend_create, qrn_api_backend, FAULT_BACKEND_CREATE)
ON_OBJECT(backend_free, qrn_api_backend, FAULT_BACKEND_FREE)
ON_OBJECT(device_create, qrn_api_device, FAULT_DEVICE_CREATE)
ON_OBJECT(device_free, qrn_api_device, FAULT_DEVICE_FREE)
ON_OBJECT(context_create, qrn_api_context, FAULT_CONTEXT_CREATE)
ON_OBJECT(context_free, qrn_api_context, FAULT_CONTEXT_FREE)
ON_OBJECT(graph_create, qrn_api_graph, FAULT_GRAPH_CREATE)

static qrn_status package_register(qrn_api_backend *b, const char *path, const char *provider,
                                   const char *target, const void *image, size_t size) {
    (void)b, (void)path, (void)provider, (void)target, (void)image, (void)size;
    QRN_TRY(take(FAULT_PACKAGE_REGISTER));
    fault_n_package_ops++;
    return QRN_OK;
}

static void *package_find(qrn_api_backend *b, const char *package, const char *op) {
    (void)b, (void)op;
    return fault_n_package_ops && strcmp(package, "fault.package") == 0 ? &fault_backend : NULL;
}

static qrn_status package_validate(qrn_api_backend *b, void *user_op, const void *op_config) {
    (void)b, (void)user_op, (void)op_config;
    return take(FAULT_PACKAGE_VALIDATE);
}

static bool package_list(qrn_api_backend *b, size_t i, const char **package, const char **op,
                         const char **target) {
    (void)b;
    if (i >= fault_n_package_ops)
        return false;
    *package = "fault.package";
    *op = "FaultOp";
    *target = "CPU";
    return true;
}

static qrn_status graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    QRN_TRY(take(FAULT_GRAPH_FINALIZE));
    qrn_compile_options o = {.poll = opt->poll, .poll_ctx = opt->poll_ctx};
    qrn_cpu_options cpu = {.n_threads = 1};
    qrn_compiled *cg = NULL;
    qrn_plan *plan = NULL;
    QRN_TRY(qrn_compile(g->ir, &o, &cg));
    qrn_status s = qrn_bind_cpu(cg, &cpu, &plan);
    if (s == QRN_OK)
        s = qrn_runner_create(plan, &g->runner);
    if (s == QRN_OK)
        g->compiled = cg;
    else
        qrn_compiled_destroy(cg);
    return s;
}

static qrn_status graph_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    QRN_TRY(take(FAULT_GRAPH_EXECUTE));
    return qrn_runner_run(g->runner, io, opt);
}

static qrn_status mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor) {
    (void)c, (void)descriptor;
    QRN_TRY(take(FAULT_MEM_MAP));
    m->memory = (qrn_memory){.kind = QRN_MEMORY_SHARED, .host = qrn_alloc(m->size_bytes)};
    return m->memory.host ? QRN_OK : QRN_E_MEM;
}

static void mem_unmap(qrn_api_mem *m) { qrn_free(m->memory.host); }

static const char blob[16] = "fault binary";

static qrn_status binary_size(qrn_api_context *c, uint64_t *size) {
    (void)c;
    QRN_TRY(take(FAULT_BINARY_SIZE));
    *size = sizeof blob;
    return QRN_OK;
}

static qrn_status binary_write(qrn_api_context *c, void *buf, uint64_t size, uint64_t *written) {
    (void)c;
    QRN_TRY(take(FAULT_BINARY_WRITE));
    if (size < sizeof blob)
        return QRN_FAIL(QRN_E_ARGUMENT, "buffer of %llu bytes", (unsigned long long)size);
    memcpy(buf, blob, sizeof blob);
    *written = sizeof blob;
    return QRN_OK;
}

static qrn_status binary_load(qrn_api_context *c, const qrn_binary_source *source) {
    const void *brought;
    if (source->provide)
        QRN_TRY(source->provide(source->provider, 0, source->size_bytes, &brought));
    QRN_TRY(take(FAULT_BINARY_LOAD));
    qrn_api_graph *g = NULL;
    QRN_TRY(qrn_api_graph_new(c, NULL, "loaded", &g));
    g->ir->finalized = true;
    return QRN_OK;
}

static qrn_status binary_validate(qrn_api_context *c, const void *buf, uint64_t size) {
    (void)c, (void)buf, (void)size;
    return take(FAULT_BINARY_VALIDATE);
}

static qrn_status section_size(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                               uint64_t *size) {
    (void)c, (void)g, (void)section;
    QRN_TRY(take(FAULT_SECTION_SIZE));
    *size = sizeof blob;
    return QRN_OK;
}

static qrn_status section_write(qrn_api_context *c, qrn_api_graph *g, uint32_t section, void *buf,
                                uint64_t size, uint64_t *written) {
    (void)c, (void)g, (void)section;
    QRN_TRY(take(FAULT_SECTION_WRITE));
    *written = size < sizeof blob ? size : sizeof blob;
    memcpy(buf, blob, *written);
    return QRN_OK;
}

static qrn_status section_apply(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                                const void *buf, uint64_t size) {
    (void)c, (void)g, (void)section, (void)buf, (void)size;
    return take(FAULT_SECTION_APPLY);
}

static qrn_status section_update(const void *buf, uint64_t size, const qrn_tensor_edit *edits,
                                 uint64_t n, bool keep_updatable, void **out, uint64_t *out_size,
                                 qrn_update_times *times) {
    (void)times;
    (void)buf, (void)size, (void)edits, (void)n, (void)keep_updatable;
    QRN_TRY(take(FAULT_SECTION_UPDATE));
    *out = qrn_alloc(sizeof blob);
    if (!*out)
        return QRN_E_MEM;
    memcpy(*out, blob, sizeof blob);
    *out_size = sizeof blob;
    return QRN_OK;
}

static qrn_status platform_info(qrn_api_device *d, const void **info) {
    (void)d;
    QRN_TRY(take(FAULT_PLATFORM_INFO));
    QnnDevice_PlatformInfo_t *p = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_E_MEM;
    p->version = QNN_DEVICE_PLATFORM_INFO_VERSION_1;
    *info = p;
    return QRN_OK;
}

static void platform_info_free(const void *info) { qrn_free((void *)info); }

static qrn_status infrastructure(const void **infra) {
    QRN_TRY(take(FAULT_INFRASTRUCTURE));
    *infra = blob;
    return QRN_OK;
}

static qrn_status global_config(const void *config) {
    (void)config;
    return take(FAULT_GLOBAL_CONFIG);
}

static const qrn_capability capabilities[] = {
    {QNN_PROPERTY_BACKEND_SUPPORT_PLATFORM_OPTIONS, true},
    {QNN_PROPERTY_GROUP_DEVICE, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE_ASYNC_SIGNAL, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_NULL_INPUTS, false},
    {QNN_PROPERTY_GROUP_CUSTOM + 7, true}, // a key that only this backend knows
};

static const qrn_support_table support = {.backend = "FAULT", .mode = QRN_SUPPORT_SUPERSET};

static const qrn_backend whole = {
    .provider_name = "FAULT",
    .id = 99,
    .version_major = 3,
    .version_minor = 2,
    .version_patch = 1,
    .features = UINT32_MAX,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof *capabilities,
    .support = &support,
    .backend_config = backend_config,
    .device_config = device_config,
    .context_config = context_config,
    .graph_config = graph_config,
    .device_platform = device_platform,
    .log_level = log_level,
    .backend_create = backend_create,
    .backend_free = backend_free,
    .device_create = device_create,
    .device_free = device_free,
    .context_create = context_create,
    .context_free = context_free,
    .graph_create = graph_create,
    .package_register = package_register,
    .package_find = package_find,
    .package_validate = package_validate,
    .package_list = package_list,
    .graph_finalize = graph_finalize,
    .graph_execute = graph_execute,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
    .binary_size = binary_size,
    .binary_write = binary_write,
    .binary_load = binary_load,
    .binary_validate = binary_validate,
    .section_size = section_size,
    .section_write = section_write,
    .section_apply = section_apply,
    .section_update = section_update,
    .backend_property = backend_property,
    .context_property = context_property,
    .graph_property = graph_property,
    .platform_info = platform_info,
    .platform_info_free = platform_info_free,
    .infrastructure = infrastructure,
    .global_config = global_config,
};

// The API sees a constant; tests change what is behind it between calls.
qrn_backend fault_backend;
extern const qrn_backend qrn_this_backend __attribute__((alias("fault_backend")));

__attribute__((constructor)) static void start(void) { fault_reset(); }

void fault_reset(void) {
    fault_backend = whole;
    memset(fault_status, 0, sizeof fault_status);
    memset(fault_calls, 0, sizeof fault_calls);
    fault_n_package_ops = 0;
}
