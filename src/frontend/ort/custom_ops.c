// SPDX-License-Identifier: MIT
//
// Domains of placeholder ops, made once for each registration of the plugin.
#include "frontend/ort/custom_ops.h"

#include "base/arena.h"
#include "base/env.h"
#include "frontend/ort/options.h"

#include <string.h>

// Ops that the public provider knows besides ONNX's and Microsoft's.
static const char built_in[] = "qti_aisw:Buffer,StatefulLstm,StatefulGru";
#define VARIABLE "ORT_QNN_CUSTOM_OP_DOMAINS"

typedef struct placeholder {
    OrtCustomOp base; // first
    const char *name, *ep_name;
} placeholder;

typedef struct domain {
    struct domain *next;
    const char *name;
    OrtCustomOpDomain *made;
} domain;

struct qe_custom_ops {
    qrn_arena *arena; // of everything, this included
    const char *ep_name;
    domain *first, **end;
};

// --- what a placeholder says of itself

enum { ANY_TYPE = 0, VARIADIC = 2, IN_DEFAULT_MEMORY = 0 };

static const char *get_name(const OrtCustomOp *op) { return ((const placeholder *)op)->name; }

static const char *get_ep(const OrtCustomOp *op) { return ((const placeholder *)op)->ep_name; }

static int get_type(const OrtCustomOp *op, size_t i) {
    (void)op, (void)i;
    return ANY_TYPE;
}

static size_t get_count(const OrtCustomOp *op) {
    (void)op;
    return 1;
}

static int get_characteristic(const OrtCustomOp *op, size_t i) {
    (void)op, (void)i;
    return VARIADIC;
}

static int get_memory(const OrtCustomOp *op, size_t i) {
    (void)op, (void)i;
    return IN_DEFAULT_MEMORY;
}

static int none(const OrtCustomOp *op) {
    (void)op;
    return 0;
}

static int one(const OrtCustomOp *op) {
    (void)op;
    return 1;
}

static int any_version(const OrtCustomOp *op) {
    (void)op;
    return INT32_MAX;
}

static OrtStatus *create_kernel(const OrtCustomOp *op, const OrtTable *api,
                                const OrtKernelInfo *info, void **kernel) {
    (void)api, (void)info;
    *kernel = NULL;
    return qe_status(QRN_FAIL(QRN_E_UNSUPPORTED,
                              "op %s is a placeholder and was taken by no partition; name its "
                              "package in the option op_packages",
                              get_name(op)));
}

static OrtStatus *compute(void *kernel, OrtKernelContext *c) {
    (void)kernel, (void)c;
    return qe_status(
        QRN_FAIL(QRN_E_UNSUPPORTED, "this op is a placeholder and cannot be computed"));
}

static void destroy_kernel(void *kernel) { (void)kernel; }

static const OrtCustomOp callbacks = {
    .version = ORT_API_WANTED,
    .GetName = get_name,
    .GetExecutionProviderType = get_ep,
    .GetInputType = get_type,
    .GetInputTypeCount = get_count,
    .GetOutputType = get_type,
    .GetOutputTypeCount = get_count,
    .KernelDestroy = destroy_kernel,
    .GetInputCharacteristic = get_characteristic,
    .GetOutputCharacteristic = get_characteristic,
    .GetInputMemoryType = get_memory,
    .GetVariadicInputMinArity = none,
    .GetVariadicInputHomogeneity = none,
    .GetVariadicOutputMinArity = one,
    .GetVariadicOutputHomogeneity = none,
    .CreateKernelV2 = create_kernel,
    .KernelComputeV2 = compute,
    .GetStartVersion = one,
    .GetEndVersion = any_version,
};

// --- domains

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, VARIABLE ": no memory"); }

static qrn_status add_op(qe_custom_ops *c, OrtCustomOpDomain *to, const char *name) {
    placeholder *p = qrn_arena_alloc(c->arena, sizeof *p);
    if (!p)
        return no_memory();
    *p = (placeholder){.base = callbacks, .name = name, .ep_name = c->ep_name};
    QE_TRY(CustomOpDomain_Add, to, &p->base);
    return QRN_OK;
}

static qrn_status find_domain(qe_custom_ops *c, const char *name, domain **out) {
    for (domain *d = c->first; d; d = d->next)
        if (strcmp(d->name, name) == 0) {
            *out = d;
            return QRN_OK;
        }
    domain *d = qrn_arena_alloc(c->arena, sizeof *d);
    if (!d)
        return no_memory();
    d->name = name;
    QE_TRY(CreateCustomOpDomain, name, &d->made);
    *c->end = d;
    c->end = &d->next;
    *out = d;
    return QRN_OK;
}

static qrn_status wrong(const char *what, const char *piece) {
    return QRN_FAIL(QRN_E_ARGUMENT,
                    VARIABLE ": '%s' %s; expected domain:Op[,Op][;domain:Op], such as my.ops:Cube",
                    piece, what);
}

static qrn_status add_entry(qe_custom_ops *c, char *entry) {
    domain *d = NULL;
    char *ops = strchr(entry, ':');
    if (!ops)
        return wrong("has no ':'", entry);
    *ops++ = '\0';
    if (!entry[0])
        return wrong("has no domain before its ':'", ops);
    QRN_TRY(find_domain(c, entry, &d));
    for (char *rest = ops; rest;) {
        char *name = qe_cut(&rest, ',');
        if (!name[0])
            return wrong("has an op without a name", entry);
        QRN_TRY(add_op(c, d->made, name));
    }
    return QRN_OK;
}

static qrn_status add_list(qe_custom_ops *c, const char *list) {
    char *rest = qrn_arena_strdup(c->arena, list);
    if (!rest)
        return no_memory();
    while (rest) {
        char *entry = qe_cut(&rest, ';');
        if (entry[0])
            QRN_TRY(add_entry(c, entry));
    }
    return QRN_OK;
}

qrn_status qe_custom_ops_make(const char *ep_name, qe_custom_ops **out) {
    qrn_arena *arena = qrn_arena_create();
    qe_custom_ops *c = arena ? qrn_arena_alloc(arena, sizeof *c) : NULL;
    if (!c) {
        qrn_arena_destroy(arena);
        return no_memory();
    }
    *c = (qe_custom_ops){.arena = arena, .ep_name = ep_name};
    c->end = &c->first;
    qrn_status s = add_list(c, built_in);
    const char *more = qrn_env_get(QRN_ENV_CUSTOM_OPS);
    if (s == QRN_OK && more)
        s = add_list(c, more);
    if (s != QRN_OK) {
        qe_custom_ops_free(c);
        return s;
    }
    *out = c;
    return QRN_OK;
}

void qe_custom_ops_free(qe_custom_ops *c) {
    for (const domain *d = c ? c->first : NULL; d; d = d->next)
        ORT(ReleaseCustomOpDomain)(d->made);
    qrn_arena_destroy(c ? c->arena : NULL);
}

size_t qe_custom_ops_domains(const qe_custom_ops *c, OrtCustomOpDomain **out, size_t max) {
    size_t n = 0;
    for (const domain *d = c->first; d; d = d->next, n++)
        if (n < max)
            out[n] = d->made;
    return n;
}
