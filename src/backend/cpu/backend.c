// SPDX-License-Identifier: MIT
//
// The CPU backend: what it can do, its options, and how it finalizes and executes. It is the
// superset that people debug with: all ops, all types, everything the API layer offers but thread
// priorities and context binaries. Devices are plain handles without hardware behind them.
#include "backend/cpu/cpu.h"
#include "backend/cpu/cpu_support.h"

#include "base/mem.h"
#include "core/host.h"

#include "CPU/QnnCpuCommon.h"
#include "QnnProperty.h"

#include <sys/mman.h>
#include <sys/stat.h>

static void set_graph_option(qrn_api_graph *g, const QnnCpuGraph_CustomConfig_t *c) {
    switch (c->option) {
    case QNN_CPU_GRAPH_CONFIG_OPTION_OP_DEBUG_CALLBACK:
        qrn_cpu_graph_of(g)->callback = c->cpuGraphOpDebug.cpuGraphOpDebugCallback;
        qrn_cpu_graph_of(g)->param = c->cpuGraphOpDebug.callBackParam;
        g->keeps_data = qrn_cpu_graph_of(g)->callback != NULL; // it sees constants
        break;
    case QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX:
        break; // kernels are chosen by CPU features
    default:
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_WARN,
                "graph '%s': custom option %d is not known to this version and ignored: leave it "
                "out, or use a newer Quern",
                g->ir->name, (int)c->option);
    }
}

static qrn_status graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                               size_t n) {
    if (n && phase == QRN_CONFIG_SET_FINAL)
        return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized: option CUSTOM cannot change",
                        g->ir->name);
    for (size_t i = 0; i < n; i++)
        set_graph_option(g, custom[i]);
    return QRN_OK;
}

static qrn_status backend_create(qrn_api_backend *b) {
    b->impl = qrn_calloc(sizeof(qrn_packages));
    if (!b->impl)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a backend");
    qrn_packages_init(b->impl, &qrn_host_packages);
    return QRN_OK;
}

static qrn_status backend_free(qrn_api_backend *b) {
    qrn_packages_clear(b->impl);
    qrn_free(b->impl);
    b->impl = NULL;
    qrn_host_release(b);
    return QRN_OK;
}

static qrn_status graph_create(qrn_api_graph *g) {
    g->impl = qrn_calloc(sizeof(qrn_cpu_graph));
    return g->impl ? QRN_OK : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
}

static void graph_free(qrn_api_graph *g) {
    qrn_user_ops_free(&qrn_cpu_graph_of(g)->user_ops, NULL);
    qrn_free(g->impl);
    g->impl = NULL;
}

static qrn_status package_register(qrn_api_backend *b, const char *path, const char *provider,
                                   const char *target, const void *image, size_t size) {
    return qrn_packages_register(b->impl, path, provider, target, image, size);
}

static void *package_find(qrn_api_backend *b, const char *package, const char *op) {
    return qrn_packages_find(b->impl, package, op);
}

static qrn_status package_validate(qrn_api_backend *b, void *user_op, const void *op_config) {
    (void)b;
    return qrn_packages_validate(user_op, op_config);
}

static bool package_list(qrn_api_backend *b, size_t i, const char **package, const char **op,
                         const char **target) {
    return qrn_packages_list(b->impl, i, package, op, target);
}

typedef struct type_use {
    bool fp16, fixed;
} type_use;

static void note_types(const qrn_graph *g, type_use *u) {
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        u->fp16 |= g->tensors[i]->dtype == QRN_DTYPE_F16;
        u->fixed |= qrn_dtype_is_fixed(g->tensors[i]->dtype);
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        note_types(g->subgraphs[i], u);
}

// Is the graph one of fp16 that may be computed in f32, rounded where tensors leave it? Quantized
// tensors need arithmetic in double, and a debug callback is shown every tensor in its own type.
static bool widens_fp16(const qrn_api_graph *g) {
    type_use u = {0};
    note_types(g->ir, &u);
    return u.fp16 && !u.fixed && !qrn_cpu_graph_of(g)->callback;
}

static qrn_status graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    void **user_ops = &qrn_cpu_graph_of(g)->user_ops;
    qrn_compile_options o = {.keep_tensors = g->keeps_data,
                             .fp16 = widens_fp16(g) ? QRN_FP16_AS_F32 : QRN_FP16_OFF,
                             .most_bytes = opt->most_bytes,
                             .lower_user = qrn_user_ops_lower,
                             .ctx = user_ops,
                             .poll = opt->poll,
                             .poll_ctx = opt->poll_ctx};
    const void *before = *user_ops; // op instances of an earlier finalize, still in use
    qrn_status s = qrn_host_build(g, &o, &(qrn_cpu_options){0});
    if (s != QRN_OK)
        qrn_user_ops_free(user_ops, before);
    return s;
}

static qrn_status graph_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    qrn_run_options o = *opt;
    o.pool = g->context->backend->pool;
    qrn_cpu_debug d = {.graph = g, .next = opt};
    if (qrn_cpu_graph_of(g)->callback) {
        o.trace = qrn_cpu_debug_trace;
        o.trace_ctx = &d;
    }
    return qrn_runner_run(g->runner, io, &o);
}

// Shared memory by file descriptor, mapped whole, unless the client has mapped it itself (DMA_BUF).
static qrn_status mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor) {
    (void)c;
    const Qnn_MemDescriptor_t *d = descriptor;
    struct stat st;
    if (d->memType != QNN_MEM_TYPE_ION && d->memType != QNN_MEM_TYPE_DMA_BUF)
        return QRN_FAIL(QRN_E_MEMTYPE, "memory type %d, allowed ION=1, DMA_BUF=3", (int)d->memType);
    if (m->fd < 0 || fstat(m->fd, &st) != 0)
        return QRN_FAIL(QRN_E_MAPPING, "file descriptor %d is not open", m->fd);
    if (st.st_size >= 0 && (uint64_t)st.st_size < m->size_bytes)
        return QRN_FAIL(QRN_E_MAPPING, "file descriptor %d has %lld bytes, the shape needs %zu",
                        m->fd, (long long)st.st_size, m->size_bytes);
    if (d->memType == QNN_MEM_TYPE_DMA_BUF && d->dmaBufInfo.data) {
        m->memory = (qrn_memory){.kind = QRN_MEMORY_SHARED, .host = d->dmaBufInfo.data};
        return QRN_OK;
    }
    void *p = mmap(NULL, m->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (p == MAP_FAILED)
        return QRN_FAIL(QRN_E_MAPPING, "file descriptor %d cannot be mapped", m->fd);
    m->impl = p;
    m->memory = (qrn_memory){.kind = QRN_MEMORY_SHARED, .host = p};
    return QRN_OK;
}

static void mem_unmap(qrn_api_mem *m) {
    if (m->impl)
        munmap(m->impl, m->size_bytes);
}

// clang-format off
static const qrn_capability capabilities[] = {
    {QNN_PROPERTY_BACKEND_SUPPORT_OP_PACKAGE, true},
    {QNN_PROPERTY_BACKEND_SUPPORT_COMPOSITION, true},
    {QNN_PROPERTY_CONTEXT_SUPPORT_CONFIGURATION, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_CONFIG, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_SIGNALS, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_ASYNC_EXECUTION, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE_SIGNAL, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE_ASYNC_SIGNAL, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_CONTINUOUS_PROFILING, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE_PER_API_PROFILING, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_SUBGRAPH, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_PROFILING_STATE, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_SET_PROFILING_NUM_EXECUTIONS, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_ENV_OPTION_BIND_MEM_HANDLES, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_ENV_OPTION_POPULATE_CLIENT_BUFS, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_EARLY_TERMINATION, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_ONLINE_PREPARE, true},
    {QNN_PROPERTY_GRAPH_SUPPORT_GRAPH_VALIDATION, true},
    {QNN_PROPERTY_GROUP_OP_PACKAGE, true},
    {QNN_PROPERTY_OP_PACKAGE_SUPPORTS_VALIDATION, true},
    {QNN_PROPERTY_OP_PACKAGE_SUPPORTS_OP_IMPLS, true},
    {QNN_PROPERTY_OP_PACKAGE_SUPPORTS_DUPLICATE_NAMES, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_MEMHANDLE_TYPE, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_CONTEXT_TENSORS, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_DYNAMIC_DIMENSIONS, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_SPARSITY, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_UPDATEABLE_STATIC_TENSORS, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_UPDATEABLE_NATIVE_TENSORS, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_UPDATEABLE_APP_TENSORS, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_SCALE_OFFSET, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_SCALE_OFFSET, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCK, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_RETRIEVE_RAW, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_OPTIONAL_APP_WRITE, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_OPTIONAL_APP_READ, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_OPTIONAL_APP_READWRITE, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_FLOAT_BLOCK, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_BLOCK_SCALE_OFFSET_MAPPED, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK, true},
    {QNN_PROPERTY_GROUP_ERROR, true},
    {QNN_PROPERTY_ERROR_GET_VERBOSE_MESSAGE, true},
    {QNN_PROPERTY_GROUP_MEMORY, true},
    {QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_ION, true},
    {QNN_PROPERTY_MEMORY_SUPPORT_MEM_TYPE_DMA_BUF, true},
    {QNN_PROPERTY_GROUP_SIGNAL, true},
    {QNN_PROPERTY_SIGNAL_SUPPORT_ABORT, true},
    {QNN_PROPERTY_SIGNAL_SUPPORT_TIMEOUT, true},
    {QNN_PROPERTY_GROUP_LOG, true},
    {QNN_PROPERTY_LOG_SUPPORTS_DEFAULT_STREAM, true},
    {QNN_PROPERTY_GROUP_PROFILE, true},
    {QNN_PROPERTY_PROFILE_SUPPORT_MAX_EVENTS_CONFIG, true},
    {QNN_PROPERTY_PROFILE_SUPPORTS_EXTENDED_EVENT, true},
    {QNN_PROPERTY_GROUP_DEVICE, true},
};
// clang-format on

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_CPU_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_CPU,
    .version_major = QNN_CPU_API_VERSION_MAJOR,
    .version_minor = QNN_CPU_API_VERSION_MINOR,
    .version_patch = QNN_CPU_API_VERSION_PATCH,
    .features = QRN_FEATURE_DEVICE | QRN_FEATURE_CONTEXT_TENSORS | QRN_FEATURE_DYNAMIC_DIMS |
                QRN_FEATURE_SPARSE | QRN_FEATURE_SUBGRAPH | QRN_FEATURE_ASYNC | QRN_FEATURE_SIGNAL |
                QRN_FEATURE_MEM | QRN_FEATURE_UPDATEABLE | QRN_FEATURE_GRAPH_CONFIG |
                QRN_FEATURE_CONTEXT_CONFIG | QRN_FEATURE_CONTINUOUS_PROFILING |
                QRN_FEATURE_EXEC_ENVIRONMENT | QRN_FEATURE_GRAPH_VALIDATE |
                QRN_FEATURE_PROFILE_CONFIG | QRN_FEATURE_PROFILE_EXTENDED | QRN_FEATURE_OP_PACKAGE,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &qrn_cpu_support,
    .backend_config = qrn_host_config,
    .graph_config = graph_config,
    .backend_create = backend_create,
    .backend_free = backend_free,
    .graph_create = graph_create,
    .graph_free = graph_free,
    .package_register = package_register,
    .package_find = package_find,
    .package_validate = package_validate,
    .package_list = package_list,
    .graph_finalize = graph_finalize,
    .graph_execute = graph_execute,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
};
