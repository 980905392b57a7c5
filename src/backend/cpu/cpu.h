// SPDX-License-Identifier: MIT
//
// The CPU backend's own objects.
#ifndef QRN_BACKEND_CPU_CPU_H
#define QRN_BACKEND_CPU_CPU_H

#include "api/errors.h"
#include "api/objects.h"
#include "backend/backend.h"

#include "CPU/QnnCpuOpPackage.h"

// A registered op package; lives as long as the backend handle.
typedef struct qrn_cpu_package {
    struct qrn_cpu_package *next;
    bool started;                       // we started it, so we end it
    void *library;                      // dlopen handle
    QnnOpPackage_Interface_t interface; // 1.4 or 2.0
    Qnn_OpPackageHandle_t handle;       // 2.0
    const QnnOpPackage_Info_t *info;
    char *target; // or NULL
} qrn_cpu_package;

// One op of a package: what package_find returns.
typedef struct qrn_cpu_user_op {
    qrn_cpu_package *package;
    const char *name;
} qrn_cpu_user_op;

// backend->impl: packages and their ops, oldest first. Guarded by `lock`.
typedef struct qrn_cpu_backend {
    pthread_mutex_t lock;
    qrn_cpu_package *packages;
    qrn_cpu_user_op **ops;
    uint32_t n_ops, cap_ops;
} qrn_cpu_backend;

// op_package.c
qrn_status qrn_cpu_package_register(qrn_api_backend *b, const char *path, const char *provider,
                                    const char *target, const void *image, size_t size);
void *qrn_cpu_package_find(qrn_api_backend *b, const char *package, const char *op);
qrn_status qrn_cpu_package_validate(qrn_api_backend *b, void *user_op, const void *op_config);
bool qrn_cpu_package_list(qrn_api_backend *b, size_t i, const char **package, const char **op,
                          const char **target);
void qrn_cpu_package_free_all(qrn_cpu_backend *b);

// user_op.c: a node of an op package inside a plan. Instances hang on graph->impl.
qrn_status qrn_cpu_lower_user(void *graph, struct qrn_lowering *lo, const qrn_node *n);
// Frees the instances that are newer than `keep` (NULL: all).
void qrn_cpu_user_ops_free(qrn_api_graph *g, const void *keep);

// debug.c: calls the graph's debug callback after a node; fits qrn_run_options.trace.
void qrn_cpu_debug_trace(void *graph, const qrn_plan *p, uint32_t node, const qrn_view *views);

#endif
