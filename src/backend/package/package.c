// SPDX-License-Identifier: MIT
//
// Op packages: loading, the list of their ops, validation.
#include "backend/package/package.h"

#include "base/mem.h"
#include "core/services.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_v2(const qrn_package *p) { return p->interface.interfaceVersion.major == 2; }

static void package_close(qrn_package *p) {
    if (!p)
        return;
    if (p->started && is_v2(p) && p->interface.v2_0.free)
        p->interface.v2_0.free(p->handle);
    if (p->started && !is_v2(p) && p->interface.v1_4.terminate)
        p->interface.v1_4.terminate();
    if (p->library)
        dlclose(p->library);
    qrn_free(p->target);
    qrn_free(p);
}

// A package that is in memory goes through an anonymous file, which the loader keeps mapped.
static void *open_image(const void *image, size_t size) {
    int fd = memfd_create("quern-op-package", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(fd, (const char *)image + done, size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *lib = done == size ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    close(fd);
    return lib;
}

static bool version_known(const Qnn_Version_t *v) {
    return (v->major == 1 && v->minor == 4) || (v->major == 2 && v->minor == 0);
}

static bool interface_complete(const qrn_package *p) {
    const QnnOpPackage_ImplementationV1_4_t *a = &p->interface.v1_4;
    const QnnOpPackage_ImplementationV2_0_t *b = &p->interface.v2_0;
    return is_v2(p) ? b->create && b->getInfo && b->free : a->init && a->terminate && a->getInfo;
}

static bool makes_ops(const qrn_package *p) {
    const QnnOpPackage_ImplementationV1_4_t *a = &p->interface.v1_4;
    const QnnOpPackage_ImplementationV2_0_t *b = &p->interface.v2_0;
    return is_v2(p) ? b->createOpImpl && b->freeOpImpl : a->createOpImpl && a->freeOpImpl;
}

// Interfaces of packages for the HTP have no function that makes ops; those that were compiled with
// our headers have one beside the interface.
static qrn_status find_host_form(qrn_package *p, const qrn_package_rules *rules) {
    if (makes_ops(p))
        return QRN_OK;
    if (rules->host_form) {
        p->create_op = (QuernHtpOpPackage_CreateOpImplFn_t)dlsym(p->library, QUERN_HTP_CREATE_OP);
        p->free_op = (QuernHtpOpPackage_FreeOpImplFn_t)dlsym(p->library, QUERN_HTP_FREE_OP);
    }
    if (p->create_op && p->free_op)
        return QRN_OK;
    return QRN_FAIL(QRN_E_PKG_REGISTER, "op package: createOpImpl or freeOpImpl is NULL%s",
                    rules->host_form ? ", and the library has no function " QUERN_HTP_CREATE_OP
                                       ": build it with the headers HTP/core of Quern"
                                     : "");
}

static qrn_status open_package(qrn_package *p, const char *path, const char *provider,
                               const void *image, size_t size, const qrn_package_rules *rules) {
    p->library = image ? open_image(image, size) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!p->library)
        return QRN_FAIL(QRN_E_PKG_LOAD, "op package '%s': %s", path ? path : "(in memory)",
                        dlerror());
    QnnOpPackage_InterfaceProvider_t get =
        (QnnOpPackage_InterfaceProvider_t)dlsym(p->library, provider);
    if (!get)
        return QRN_FAIL(QRN_E_PKG_PROVIDER, "op package '%s': no function '%s'",
                        path ? path : "(in memory)", provider);
    if (get(&p->interface) != QNN_SUCCESS)
        return QRN_FAIL(QRN_E_PKG_REGISTER, "op package '%s': '%s' failed",
                        path ? path : "(in memory)", provider);
    const Qnn_Version_t *v = &p->interface.interfaceVersion;
    if (!version_known(v))
        return QRN_FAIL(QRN_E_PKG_VERSION, "op package: interface %u.%u, allowed 1.4 and 2.0",
                        v->major, v->minor);
    if (!interface_complete(p))
        return QRN_FAIL(QRN_E_PKG_REGISTER,
                        "op package: a mandatory function of its interface is NULL");
    return find_host_form(p, rules);
}

static qrn_status start_package(qrn_package *p, const qrn_package_rules *rules) {
    Qnn_ErrorHandle_t e = is_v2(p) ? p->interface.v2_0.create(rules->infrastructure, NULL,
                                                              QNN_LOG_LEVEL_ERROR, &p->handle)
                                   : p->interface.v1_4.init(rules->infrastructure);
    // Interface 1.4 has one state per process: another backend handle may have started it.
    p->started = e == QNN_SUCCESS;
    if (e != QNN_SUCCESS && (is_v2(p) || e != QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED))
        return QRN_FAIL(QRN_E_PKG_REGISTER, "op package: its initialization failed with %llu",
                        (unsigned long long)e);
    return QRN_OK;
}

static qrn_status read_info(qrn_package *p) {
    Qnn_ErrorHandle_t e =
        is_v2(p) ? p->interface.v2_0.getInfo(&p->info) : p->interface.v1_4.getInfo(&p->info);
    if (e != QNN_SUCCESS || !p->info || !p->info->packageName ||
        (p->info->numOperations && !p->info->operationNames))
        return QRN_FAIL(QRN_E_PKG_REGISTER,
                        "op package: it gives no valid information about its ops");
    for (uint32_t i = 0; i < p->info->numOperations; i++)
        if (!p->info->operationNames[i])
            return QRN_FAIL(QRN_E_PKG_REGISTER, "op package '%s': op %u has no name",
                            p->info->packageName, i);
    return QRN_OK;
}

static qrn_user_op *find(const qrn_packages *b, const char *package, const char *op) {
    for (uint32_t i = 0; i < b->n_ops; i++)
        if (strcmp(b->ops[i]->package->info->packageName, package) == 0 &&
            strcmp(b->ops[i]->name, op) == 0)
            return b->ops[i];
    return NULL;
}

// The package that has an op which this one may not have, too; NULL: none.
static const char *owner_of(const qrn_packages *b, const qrn_package *p, const char *op) {
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const char *package = b->ops[i]->package->info->packageName;
        if (strcmp(b->ops[i]->name, op) == 0 &&
            (b->rules->unique_ops || strcmp(package, p->info->packageName) == 0))
            return package;
    }
    return NULL;
}

// Adds all ops or none.
static qrn_status add_ops(qrn_packages *b, qrn_package *p) {
    uint32_t n = p->info->numOperations, before = b->n_ops;
    for (uint32_t i = 0; i < n; i++)
        if (owner_of(b, p, p->info->operationNames[i]))
            return QRN_FAIL(QRN_E_PKG_DUPLICATE, "op package '%s': op '%s' is registered already",
                            p->info->packageName, p->info->operationNames[i]);
    if (before + n > b->cap_ops) {
        uint32_t cap = (before + n) * 2;
        void *grown = qrn_realloc(b->ops, before * sizeof *b->ops, cap * sizeof *b->ops);
        if (!grown)
            return QRN_FAIL(QRN_E_MEM, "out of memory for an op package");
        b->ops = grown;
        b->cap_ops = cap;
    }
    for (uint32_t i = 0; i < n; i++) {
        qrn_user_op *op = qrn_calloc(sizeof *op);
        if (!op) {
            while (b->n_ops > before)
                qrn_free(b->ops[--b->n_ops]);
            return QRN_FAIL(QRN_E_MEM, "out of memory for an op package");
        }
        *op = (qrn_user_op){p, p->info->operationNames[i]};
        b->ops[b->n_ops++] = op;
    }
    return QRN_OK;
}

qrn_status qrn_packages_register(qrn_packages *b, const char *path, const char *provider,
                                 const char *target, const void *image, size_t size) {
    qrn_package *p = qrn_calloc(sizeof *p);
    if (!p || (target && !(p->target = qrn_strdup(target)))) {
        qrn_free(p);
        return QRN_FAIL(QRN_E_MEM, "out of memory for an op package");
    }
    qrn_status s = open_package(p, path, provider, image, size, b->rules);
    if (s == QRN_OK)
        s = start_package(p, b->rules);
    if (s == QRN_OK)
        s = read_info(p);
    if (s == QRN_OK && b->rules->check)
        s = b->rules->check(p->info);
    if (s == QRN_OK) {
        pthread_mutex_lock(&b->lock);
        s = add_ops(b, p);
        if (s == QRN_OK) {
            p->next = b->packages;
            b->packages = p;
        }
        pthread_mutex_unlock(&b->lock);
    }
    if (s != QRN_OK)
        package_close(p);
    return s;
}

void *qrn_packages_find(qrn_packages *b, const char *package, const char *op) {
    pthread_mutex_lock(&b->lock);
    qrn_user_op *found = find(b, package, op);
    pthread_mutex_unlock(&b->lock);
    return found;
}

qrn_status qrn_packages_validate(const void *user_op, const void *op_config) {
    const qrn_user_op *op = user_op;
    const qrn_package *p = op->package;
    Qnn_OpConfig_t config = *(const Qnn_OpConfig_t *)op_config;
    Qnn_ErrorHandle_t e = QNN_SUCCESS;
    if (is_v2(p) && p->interface.v2_0.validateOpConfig)
        e = p->interface.v2_0.validateOpConfig(p->handle, config);
    else if (!is_v2(p) && p->interface.v1_4.validateOpConfig)
        e = p->interface.v1_4.validateOpConfig(config);
    if (e == QNN_SUCCESS)
        return QRN_OK;
    return QRN_FAIL(QRN_E_OP_CONFIG,
                    "node '%s': op package '%s' rejects its op '%s' with code %llu",
                    config.v1.name ? config.v1.name : "", p->info->packageName, op->name,
                    (unsigned long long)e);
}

bool qrn_packages_list(qrn_packages *b, size_t i, const char **package, const char **op,
                       const char **target) {
    pthread_mutex_lock(&b->lock);
    bool known = i < b->n_ops;
    if (known) {
        *package = b->ops[i]->package->info->packageName;
        *op = b->ops[i]->name;
        *target = b->ops[i]->package->target;
    }
    pthread_mutex_unlock(&b->lock);
    return known;
}

void qrn_packages_init(qrn_packages *b, const qrn_package_rules *rules) {
    *b = (qrn_packages){.rules = rules};
    pthread_mutex_init(&b->lock, NULL);
}

void qrn_packages_clear(qrn_packages *b) {
    for (uint32_t i = 0; i < b->n_ops; i++)
        qrn_free(b->ops[i]);
    qrn_free(b->ops);
    while (b->packages) {
        qrn_package *p = b->packages;
        b->packages = p->next;
        package_close(p);
    }
    pthread_mutex_destroy(&b->lock);
}
