// SPDX-License-Identifier: MIT
//
// Op packages: libraries of user ops with interface 1.4 or 2.0. A backend keeps one list of
// packages per backend handle and one list of op instances per graph. Packages of the CPU's kind
// run on the host (user_op.c); the GPU backend has its own.
#ifndef QRN_BACKEND_PACKAGE_PACKAGE_H
#define QRN_BACKEND_PACKAGE_PACKAGE_H

#include "ir/graph.h"

#include "HTP/core/host_package.h"
#include "QnnOpPackage.h"

#include <pthread.h>

// A registered op package; lives as long as the list.
typedef struct qrn_package {
    struct qrn_package *next;
    bool started;                       // we started it, so we end it
    void *library;                      // dlopen handle
    QnnOpPackage_Interface_t interface; // 1.4 or 2.0
    Qnn_OpPackageHandle_t handle;       // 2.0
    const QnnOpPackage_Info_t *info;
    char *target; // or NULL
    // Of a package of HTP ops; NULL: the interface makes its ops.
    QuernHtpOpPackage_CreateOpImplFn_t create_op;
    QuernHtpOpPackage_FreeOpImplFn_t free_op;
} qrn_package;

// One op of a package: what qrn_packages_find returns.
typedef struct qrn_user_op {
    qrn_package *package;
    const char *name;
} qrn_user_op;

// What a backend wants of its packages; lives as long as the list.
typedef struct qrn_package_rules {
    QnnOpPackage_GlobalInfrastructure_t infrastructure; // given to each package
    bool unique_ops; // no two packages may have an op of the same name
    bool host_form;  // packages of HTP ops may be their form for the host (HTP/core)
    // (optional) Can a package with this description be used? Fails with QRN_E_PKG_VERSION.
    qrn_status (*check)(const QnnOpPackage_Info_t *info);
} qrn_package_rules;

// Packages and their ops, oldest first. Guarded by `lock`.
typedef struct qrn_packages {
    const qrn_package_rules *rules;
    pthread_mutex_t lock;
    qrn_package *packages;
    qrn_user_op **ops;
    uint32_t n_ops, cap_ops;
} qrn_packages;

void qrn_packages_init(qrn_packages *l, const qrn_package_rules *rules);
void qrn_packages_clear(qrn_packages *l);

// See the package functions of core/backend.h.
qrn_status qrn_packages_register(qrn_packages *l, const char *path, const char *provider,
                                 const char *target, const void *image, size_t size);
void *qrn_packages_find(qrn_packages *l, const char *package, const char *op);
qrn_status qrn_packages_validate(const void *user_op, const void *op_config);
bool qrn_packages_list(qrn_packages *l, size_t i, const char **package, const char **op,
                       const char **target);

// op_config.c: the node as a client would give it, in the arena; NULL when out of memory. Operands
// that are absent are zero.
Qnn_OpConfig_t *qrn_packages_op_config(qrn_arena *a, const qrn_node *n);
// Asks the packages whether they accept their nodes of a graph that did not come from a client.
qrn_status qrn_packages_check_nodes(const qrn_graph *g);

// Rules of packages that run on the host.
extern const qrn_package_rules qrn_host_packages;
// Nodes of such packages inside a plan (user_op.c). A graph's instances hang on one pointer, newest
// first; `list` is its address and fits qrn_compile_options.lower_user with .ctx.
struct qrn_lowering;
qrn_status qrn_user_ops_lower(void *list, struct qrn_lowering *lo, const qrn_node *n);
// Frees the instances that are newer than `keep` (NULL: all).
void qrn_user_ops_free(void **list, const void *keep);

#endif
