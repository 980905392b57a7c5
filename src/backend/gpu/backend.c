// SPDX-License-Identifier: MIT
//
// The GPU backend: what it can do, and the life of its backends and graphs.
#include "backend/gpu/gpu.h"

#include "base/mem.h"
#include "core/host.h"

#include "GPU/QnnGpuCommon.h"
#include "QnnProperty.h"

#include <stdio.h>

static void free_backend(qrn_gpu_backend *own) {
    for (uint32_t i = 0; own->units && i < own->n_devices; i++)
        qrn_gpu_unit_free(own->units[i]);
    qrn_gpu_packages_close(own);
    qrn_free(own->units);
    qrn_free(own->hints);
    qrn_free(own->devices);
    qrn_gpu_backend_options_free(&own->options);
    qrn_free(own);
}

// What people want to know when something goes wrong.
static void introduce(qrn_api_backend *b, const qrn_gpu_backend *own) {
    qrn_log(b->log, QNN_LOG_LEVEL_INFO, "Quern " QUERN_VERSION ", GPU API %u.%u.%u of core %u.%u",
            QNN_GPU_API_VERSION_MAJOR, QNN_GPU_API_VERSION_MINOR, QNN_GPU_API_VERSION_PATCH,
            QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR);
    if (!own->devices) {
        qrn_log(b->log, QNN_LOG_LEVEL_INFO,
                "QUERN_GPU_DEVICE=none: graphs are compiled and stored, none is executed");
        return;
    }
    const qrn_cl_device *d = &own->devices[own->chosen];
    char used[512] = "";
    size_t n = 0;
#define X(extension, result, name, params)                                                         \
    if (d->ext.name && n < sizeof used)                                                            \
        n += (size_t)snprintf(used + n, sizeof used - n, " " #name);
    QRN_CL_EXTENSION_FUNCTIONS(X)
#undef X
    qrn_log(b->log, QNN_LOG_LEVEL_INFO,
            "OpenCL library '%s', functions of OpenCL 1.2 found, functions of extensions:%s",
            qrn_cl_path(), n ? used : " none");
    qrn_log(b->log, QNN_LOG_LEVEL_INFO,
            "OpenCL device %u of %u: '%s' of '%s' (%s, driver %s, tier %s), %llu MB", own->chosen,
            own->n_devices, d->name, d->platform_name, d->version, d->driver, d->tier,
            (unsigned long long)(d->memory_bytes >> 20));
}

static qrn_status backend_create(qrn_api_backend *b) {
    qrn_gpu_backend *own = qrn_calloc(sizeof *own);
    if (!own)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a backend");
    qrn_status s = qrn_gpu_list_devices(&own->devices, &own->n_devices, &own->chosen);
    if (s == QRN_OK && (!(own->units = qrn_calloc((own->n_devices + 1u) * sizeof *own->units)) ||
                        !(own->hints = qrn_calloc((own->n_devices + 1u) * sizeof *own->hints))))
        s = QRN_FAIL(QRN_E_MEM, "out of memory for a backend");
    if (s == QRN_OK)
        s = qrn_gpu_packages_open(own);
    if (s != QRN_OK) {
        free_backend(own);
        return s;
    }
    introduce(b, own);
    b->impl = own;
    return QRN_OK;
}

static qrn_status backend_free(qrn_api_backend *b) {
    qrn_host_release(b);
    free_backend(b->impl);
    b->impl = NULL;
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
    qrn_gpu_user_free(g->impl, NULL);
    qrn_free(g->impl);
    g->impl = NULL;
}

static void *package_find(qrn_api_backend *b, const char *package, const char *op) {
    return qrn_packages_find(&qrn_gpu_backend_of(b)->packages, package, op);
}

static qrn_status package_validate(qrn_api_backend *b, void *user_op, const void *op_config) {
    (void)b;
    return qrn_packages_validate(user_op, op_config);
}

static bool package_list(qrn_api_backend *b, size_t i, const char **package, const char **op,
                         const char **target) {
    return qrn_packages_list(&qrn_gpu_backend_of(b)->packages, i, package, op, target);
}

static const qrn_capability capabilities[] = {
#include "backend/gpu/capabilities.def"
};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_GPU_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_GPU,
    .version_major = QNN_GPU_API_VERSION_MAJOR,
    .version_minor = QNN_GPU_API_VERSION_MINOR,
    .version_patch = QNN_GPU_API_VERSION_PATCH,
    .features = QRN_FEATURE_DEVICE | QRN_FEATURE_CONTEXT_TENSORS | QRN_FEATURE_CONTEXT_MEMORY |
                QRN_FEATURE_MEM | QRN_FEATURE_GRAPH_CONFIG | QRN_FEATURE_CONTEXT_CONFIG |
                QRN_FEATURE_PRIORITY | QRN_FEATURE_OP_PACKAGE | QRN_FEATURE_PROFILE_EXTENDED,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &qrn_gpu_support,
    .backend_fixed = true,
    .op_check = qrn_gpu_op_check,
    .backend_config = qrn_gpu_backend_config,
    .backend_create = backend_create,
    .backend_free = backend_free,
    .device_create = qrn_gpu_device_create,
    .device_free = qrn_gpu_device_free,
    .device_platform = qrn_gpu_device_platform,
    .platform_info = qrn_gpu_platform_info,
    .platform_info_free = qrn_gpu_platform_info_free,
    .context_create = qrn_gpu_context_create,
    .context_free = qrn_gpu_context_free,
    .context_check = qrn_gpu_context_check,
    .context_config = qrn_gpu_context_config,
    .graph_create = graph_create,
    .graph_free = graph_free,
    .graph_config = qrn_gpu_graph_config,
    .package_register = qrn_gpu_package_register,
    .package_find = package_find,
    .package_validate = package_validate,
    .package_list = package_list,
    .graph_finalize = qrn_gpu_finalize,
    .graph_execute = qrn_gpu_execute,
    .record = qrn_gpu_record,
    .report_bytes = sizeof(qrn_gpu_times),
    .mem_map = qrn_gpu_mem_map,
    .mem_unmap = qrn_gpu_mem_unmap,
    .mem_upload = qrn_gpu_mem_upload,
    .mem_download = qrn_gpu_mem_download,
    .binary_size = qrn_gpu_binary_size,
    .binary_write = qrn_gpu_binary_write,
    .binary_load = qrn_gpu_binary_load,
};
