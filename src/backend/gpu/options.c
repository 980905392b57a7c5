// SPDX-License-Identifier: MIT
//
// Custom options of backends, contexts and graphs.
//
// State of the process: the folder of tuning results, which all backends that name one share.
#include "backend/gpu/gpu.h"

#include "base/mem.h"
#include "core/host.h"

#include "GPU/QnnGpuBackend.h"
#include "GPU/QnnGpuContext.h"
#include "GPU/QnnGpuGraph.h"
#include "Quern/QuernBackend.h"

#include <string.h>

// --- backends

static pthread_mutex_t folder_lock = PTHREAD_MUTEX_INITIALIZER; // of the two that follow
static char *folder;                                            // NULL: nobody names one
static uint32_t folder_users;

static qrn_status name_folder(qrn_gpu_backend_options *o, const char *path) {
    qrn_status s = QRN_OK;
    if (!path || !*path)
        return QRN_FAIL(QRN_E_CONFIG, "backend option PERFORMANCE_CACHE_DIR (1): no folder");
    char *copy = qrn_strdup(path);
    if (!copy)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the name of a folder");
    pthread_mutex_lock(&folder_lock);
    bool mine = o->tuning_folder != NULL; // named before: it may be replaced if nobody else does
    if (folder && strcmp(folder, path) != 0 && folder_users > mine)
        s = QRN_FAIL(QRN_E_INCONSISTENT,
                     "backend option PERFORMANCE_CACHE_DIR (1): '%s', but another backend of this "
                     "process uses '%s': name the same, or free that backend",
                     path, folder);
    char *kept = s == QRN_OK ? qrn_strdup(path) : NULL;
    if (s == QRN_OK && !kept)
        s = QRN_FAIL(QRN_E_MEM, "out of memory for the name of a folder");
    if (s == QRN_OK) {
        qrn_free(folder);
        folder = kept;
        folder_users += !mine;
    }
    pthread_mutex_unlock(&folder_lock);
    if (s != QRN_OK) {
        qrn_free(copy);
        return s;
    }
    qrn_free(o->tuning_folder);
    o->tuning_folder = copy;
    return QRN_OK;
}

void qrn_gpu_backend_options_free(qrn_gpu_backend_options *o) {
    if (!o->tuning_folder)
        return;
    pthread_mutex_lock(&folder_lock);
    if (--folder_users == 0) {
        qrn_free(folder);
        folder = NULL;
    }
    pthread_mutex_unlock(&folder_lock);
    qrn_free(o->tuning_folder);
    o->tuning_folder = NULL;
}

qrn_status qrn_gpu_backend_config(qrn_api_backend *b, const void *custom) {
    const QnnGpuBackend_CustomConfig_t *c = custom;
    qrn_gpu_backend_options *o = &qrn_gpu_backend_of(b)->options;
    if (((const QuernBackend_CustomConfig_t *)custom)->magic == QUERN_BACKEND_CONFIG_MAGIC)
        return qrn_host_config(b, custom);
    switch (c->option) {
    case QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE:
        o->tuning = c->enableTuningMode != 0;
        return QRN_OK;
    case QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR:
        return name_folder(o, c->performanceCacheDir);
    case QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE:
        o->invalidate_tuning = c->invalidatePerformanceCache != 0;
        return QRN_OK;
    case QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED:
        o->share_weights = c->weightSharingEnabled != 0;
        return QRN_OK;
    case QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING:
        o->no_kernel_profiling = c->disableKernelProfiling != 0;
        return QRN_OK;
    default:
        return QRN_FAIL(QRN_E_CONFIG, "backend: unknown custom option %u, allowed 0 to 4",
                        (unsigned)c->option);
    }
}

// --- contexts

static qrn_status set_hint(QnnGpuContext_PerfHint_t hint, uint8_t *out) {
    if ((unsigned)hint > QNN_GPU_CONTEXT_PERF_HINT_LOW)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option PERF_HINT (0): %u, allowed HIGH=0, NORMAL=1, LOW=2",
                        (unsigned)hint);
    *out = (uint8_t)hint;
    return QRN_OK;
}

// What a list asks for; the context gets it when all of it was read.
typedef struct context_options {
    uint8_t hint;
    const char *folder; // of built programs, the client's text; NULL: not named
    int fresh;          // -1: not said
} context_options;

static qrn_status read_context_option(const QnnGpuContext_CustomConfig_t *o, context_options *out) {
    switch (o->option) {
    case QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT:
        return set_hint(o->perfHint, &out->hint);
    case QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS:
        return o->useGLBuffers
                   ? QRN_FAIL(QRN_E_UNSUPPORTED,
                              "context option USE_GL_BUFFERS (1): sharing buffers with OpenGL "
                              "(cl_khr_gl_sharing) is not implemented; leave the option out")
                   : QRN_OK;
    case QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR:
        out->folder = o->kernelRepoDir;
        return out->folder && *out->folder
                   ? QRN_OK
                   : QRN_FAIL(QRN_E_CONFIG, "context option KERNEL_REPO_DIR (2): no folder");
    case QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO:
        out->fresh = o->invalidateKernelRepo != 0;
        return QRN_OK;
    default:
        return QRN_FAIL(QRN_E_CONFIG, "context: unknown custom option %u, allowed 0 to 3",
                        (unsigned)o->option);
    }
}

qrn_status qrn_gpu_context_config(qrn_api_context *c, qrn_config_phase phase,
                                  const void *const *custom, size_t n) {
    qrn_gpu_context *own = c->impl;
    context_options o = {.hint = own->perf_hint, .fresh = -1};
    for (size_t i = 0; i < n; i++)
        QRN_TRY(read_context_option(custom[i], &o));
    if (phase == QRN_CONFIG_SET && (o.folder || o.fresh >= 0))
        return QRN_FAIL(QRN_E_CONFIG,
                        "context options KERNEL_REPO_DIR (2) and INVALIDATE_KERNEL_REPO (3) cannot "
                        "change later");
    if (o.folder) {
        qrn_cl_store_close(&own->store);
        QRN_TRY(qrn_cl_store_open(&own->store, o.folder));
    }
    if (o.fresh >= 0)
        own->store.fresh = o.fresh != 0;
    qrn_gpu_hints_apply(c, o.hint);
    return QRN_OK;
}

// --- graphs

static qrn_status set_precision(const qrn_api_graph *g, QnnGpu_Precision_t precision,
                                qrn_gpu_graph *out) {
    if ((unsigned)precision > QNN_GPU_PRECISION_USER_PROVIDED)
        return QRN_FAIL(QRN_E_CONFIG,
                        "graph '%s': precision %u, allowed FP32=0, FP16=1, HYBRID=2, "
                        "USER_PROVIDED=3",
                        g->ir->name, (unsigned)precision);
    out->precision = (uint8_t)precision;
    return QRN_OK;
}

static qrn_status set_fences(const qrn_api_graph *g, const QnnGpuGraph_FenceConfig_t *f,
                             qrn_gpu_graph *out) {
    const QnnGpuGraph_FenceConfigV1_t *v1 = &f->fenceConfigV1;
    if (f->version != QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_V1)
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': fence config of version %u, allowed 0",
                        g->ir->name, (unsigned)f->version);
    const qrn_cl_device *d = qrn_gpu_context_of(g->context)->device.info;
    if (v1->enableOutputFence && !(d && qrn_gpu_has_sync_files(d)))
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "graph '%s': output fences need cl_khr_external_semaphore_sync_fd, which "
                        "this device lacks: wait for QnnGraph_execute to return",
                        g->ir->name);
    if (v1->enableOutputFence && !v1->outputFence)
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': an output fence, but no place for it",
                        g->ir->name);
    if (v1->numInputFences && !v1->inputFenceHandles)
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': input fences are counted but not given",
                        g->ir->name);
    out->fences = (qrn_gpu_fences){v1->numInputFences, v1->inputFenceHandles,
                                   v1->enableOutputFence ? v1->outputFence : NULL};
    return QRN_OK;
}

static qrn_status read_v2(const qrn_api_graph *g, const QnnGpuGraph_CustomConfigV2_t *c,
                          qrn_gpu_graph *out) {
    switch (c->option) {
    case QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION:
        return set_precision(g, c->precision, out);
    case QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_MEMORY_OPTIMIZATIONS:
        out->keep_memory = c->disableMemoryOptimizations != 0;
        return QRN_OK;
    case QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS:
        out->keep_nodes = c->disableNodeOptimizations != 0;
        return QRN_OK;
    case QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_QUEUE_RECORDING:
        out->no_recording = c->disableQueueRecording != 0;
        return QRN_OK;
    case QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG:
        return set_fences(g, &c->fenceConfig, out);
    default:
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': unknown custom option %u, allowed 0 to 4",
                        g->ir->name, (unsigned)c->option);
    }
}

static qrn_status read_graph_option(const qrn_api_graph *g, const void *custom,
                                    qrn_gpu_graph *out) {
    const QnnGpuGraph_CustomConfig_t *v1 = custom;
    if (((const QnnGpuGraph_CustomConfigV2_t *)custom)->handshake ==
        QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG)
        return read_v2(g, custom, out);
    QRN_TRY(set_precision(g, v1->precision, out));
    out->keep_memory = v1->disableMemoryOptimizations != 0;
    out->keep_nodes = v1->disableNodeOptimizations != 0;
    out->no_recording = v1->disableQueueRecording != 0;
    return QRN_OK;
}

void qrn_gpu_log_options(const qrn_api_graph *g) {
    const qrn_gpu_graph *o = qrn_gpu_graph_of(g);
    const qrn_gpu_context *c = qrn_gpu_context_of(g->context);
    static const char *const names[] = {"FP32", "FP16", "HYBRID", "USER_PROVIDED"};
    qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
            "graph '%s': precision %s, memory optimizations %s, node optimizations %s, queue "
            "recording %s%s%s",
            g->ir->name, names[o->precision], o->keep_memory ? "off" : "on",
            o->keep_nodes ? "off" : "on", o->no_recording ? "off" : "on (",
            o->no_recording ? "" : qrn_gpu_recorder_name(c->device.info),
            o->no_recording ? "" : ")");
    qrn_gpu_backend *b = qrn_gpu_backend_of(g->context->backend);
    if (o->precision == QRN_GPU_FP16 && !atomic_exchange(&b->said_hybrid, true))
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO, "%s",
                c->device.half_math
                    ? "precision FP16: element-wise sums and products are computed in fp16, "
                      "everything else in fp32"
                    : "precision FP16 runs as HYBRID: tensors are stored in fp16, computed in "
                      "fp32");
}

// Fences may change with every execution; the rest is settled when the graph is finalized.
static qrn_status check_final(const qrn_api_graph *g, const void *custom) {
    const QnnGpuGraph_CustomConfigV2_t *v2 = custom;
    if (v2->handshake == QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG &&
        v2->option == QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG)
        return QRN_OK;
    return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized: option CUSTOM cannot change",
                    g->ir->name);
}

qrn_status qrn_gpu_graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                                size_t n) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g), next = *own;
    for (size_t i = 0; i < n; i++) {
        if (phase == QRN_CONFIG_SET_FINAL)
            QRN_TRY(check_final(g, custom[i]));
        QRN_TRY(read_graph_option(g, custom[i], &next));
    }
    *own = next;
    if (phase == QRN_CONFIG_CREATE || n)
        qrn_gpu_log_options(g);
    return QRN_OK;
}
