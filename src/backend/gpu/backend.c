// SPDX-License-Identifier: MIT
//
// The GPU backend: what it can do, and the life of its objects.
#include "backend/gpu/gpu.h"

#include "base/mem.h"

#include "GPU/QnnGpuCommon.h"
#include "GPU/QnnGpuGraph.h"
#include "QnnProperty.h"

static void free_backend(qrn_gpu_backend *own) {
    if (!own)
        return;
    qrn_cl_programs_destroy(own->device.programs);
    if (own->device.queue)
        qrn_cl.clReleaseCommandQueue(own->device.queue);
    if (own->device.context)
        qrn_cl.clReleaseContext(own->device.context);
    qrn_free(own->devices);
    qrn_free(own);
}

static qrn_status open_device(qrn_gpu_backend *own) {
    QRN_TRY(qrn_cl_open());
    QRN_TRY(qrn_cl_devices(&own->devices, &own->n_devices));
    QRN_TRY(qrn_cl_choose(own->devices, own->n_devices, NULL, &own->chosen));
    qrn_gpu_device *d = &own->device;
    cl_int err;
    d->info = &own->devices[own->chosen];
    d->context = qrn_cl.clCreateContext(NULL, 1, &d->info->id, NULL, NULL, &err);
    if (!d->context)
        return QRN_FAIL(QRN_E_INIT, "no OpenCL context on '%s': %s", d->info->name,
                        qrn_cl_error(err));
    d->queue = qrn_cl.clCreateCommandQueue(d->context, d->info->id, 0, &err);
    if (!d->queue)
        return QRN_FAIL(QRN_E_INIT, "no OpenCL queue on '%s': %s", d->info->name,
                        qrn_cl_error(err));
    return qrn_cl_programs_create(d->info, d->context, &d->programs);
}

static qrn_status backend_create(qrn_api_backend *b) {
    qrn_gpu_backend *own = qrn_calloc(sizeof *own);
    if (!own)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a backend");
    qrn_status s = open_device(own);
    if (s != QRN_OK) {
        free_backend(own);
        return s;
    }
    const qrn_cl_device *d = own->device.info;
    qrn_log(b->log, QNN_LOG_LEVEL_INFO,
            "OpenCL %s; device '%s' of '%s' (%s, driver %s, tier %s), chosen of %u", qrn_cl_path(),
            d->name, d->platform_name, d->version, d->driver, d->tier, own->n_devices);
    b->impl = own;
    return QRN_OK;
}

static qrn_status backend_free(qrn_api_backend *b) {
    free_backend(b->impl);
    b->impl = NULL;
    return QRN_OK;
}

static qrn_status context_create(qrn_api_context *c) {
    const qrn_gpu_device *d = &qrn_gpu_backend_of(c->backend)->device;
    qrn_gpu_context *own = qrn_calloc(sizeof *own);
    cl_int err;
    if (!own)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    own->queue = qrn_cl.clCreateCommandQueue(d->context, d->info->id, 0, &err);
    if (!own->queue) {
        qrn_free(own);
        return QRN_FAIL(QRN_E_MEM, "no OpenCL queue: %s", qrn_cl_error(err));
    }
    pthread_mutex_init(&own->lock, NULL);
    c->impl = own;
    return QRN_OK;
}

static qrn_status context_free(qrn_api_context *c) {
    qrn_gpu_context *own = c->impl;
    qrn_cl.clReleaseCommandQueue(own->queue);
    pthread_mutex_destroy(&own->lock);
    qrn_free(own);
    c->impl = NULL;
    return QRN_OK;
}

static qrn_status graph_create(qrn_api_graph *g) {
    qrn_gpu_graph *own = g->impl = qrn_calloc(sizeof *own);
    if (!own)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    own->precision = QRN_GPU_USER;
    return QRN_OK;
}

static void graph_free(qrn_api_graph *g) {
    qrn_gpu_graph_clear(g->impl);
    qrn_free(g->impl);
    g->impl = NULL;
}

static qrn_status graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                               size_t n) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    if (n && phase == QRN_CONFIG_SET_FINAL)
        return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized: option CUSTOM cannot change",
                        g->ir->name);
    for (size_t i = 0; i < n; i++) {
        const QnnGpuGraph_CustomConfig_t *v1 = custom[i];
        if ((int)v1->precision < 0 || v1->precision > QNN_GPU_PRECISION_USER_PROVIDED)
            return QRN_FAIL(QRN_E_CONFIG, "graph '%s': precision %d", g->ir->name,
                            (int)v1->precision);
        own->precision = (uint8_t)v1->precision;
        own->keep_memory = v1->disableMemoryOptimizations != 0;
        own->keep_nodes = v1->disableNodeOptimizations != 0;
        own->no_recording = v1->disableQueueRecording != 0;
    }
    return QRN_OK;
}

static const qrn_capability capabilities[] = {
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE, true},
    {QNN_PROPERTY_GROUP_DEVICE, true},
};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_GPU_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_GPU,
    .version_major = QNN_GPU_API_VERSION_MAJOR,
    .version_minor = QNN_GPU_API_VERSION_MINOR,
    .version_patch = QNN_GPU_API_VERSION_PATCH,
    .features = QRN_FEATURE_DEVICE | QRN_FEATURE_CONTEXT_TENSORS | QRN_FEATURE_MEM |
                QRN_FEATURE_GRAPH_CONFIG | QRN_FEATURE_CONTEXT_CONFIG,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &qrn_gpu_support,
    .graph_config = graph_config,
    .backend_create = backend_create,
    .backend_free = backend_free,
    .context_create = context_create,
    .context_free = context_free,
    .graph_create = graph_create,
    .graph_free = graph_free,
    .graph_finalize = qrn_gpu_finalize,
    .graph_execute = qrn_gpu_execute,
};
