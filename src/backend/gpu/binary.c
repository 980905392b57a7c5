// SPDX-License-Identifier: MIT
//
// Context binaries: the graphs as the client built them, with their weights and options; what they
// were compiled to; and what was prepared for the device: constants as its kernels read them.
// Loading verifies and binds the compiled graph and uploads these constants where they lie. Graphs
// and weights are enough for every other device: it packs what it needs in another form, and the
// result is the same. Built programs are kept elsewhere (opencl/store.h).
#include "backend/gpu/gpu.h"

#include "base/env.h"
#include "base/mem.h"
#include "binary/nodes.h"
#include "binary/options.h"

#include "QnnOpDef.h"

#include <stdlib.h>
#include <string.h>

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary");
}

// --- saving

static bool list_options(qrn_arena *arena, const qrn_gpu_graph *own, qrn_bin_graph *out) {
    const qrn_bin_option all[] = {
#define QRN_GPU_GRAPH_OPTION(number, name, field) {number, (uint64_t)own->field},
#include "binary/options.def"
#undef QRN_GPU_GRAPH_OPTION
    };
    qrn_bin_option *list = qrn_arena_alloc(arena, sizeof all);
    for (size_t i = 0; list && i < sizeof all / sizeof all[0]; i++)
        if (all[i].value)
            list[out->n_options++] = all[i];
    out->options = list;
    return list != NULL;
}

static int by_form(const void *a, const void *b) { return qrn_bin_form_order(a, b); }

// The constants that have a name.
static qrn_status list_forms(qrn_arena *arena, const qrn_gpu_plan *p, qrn_bin_prepared *out) {
    qrn_bin_form *list = qrn_arena_alloc(arena, (p->n_constants + 1u) * sizeof *list);
    uint32_t n = 0;
    if (!list)
        return no_memory();
    for (uint32_t i = 0; i < p->n_constants; i++) {
        const qrn_gpu_const *c = &p->constants[i];
        if (c->form.packing != QRN_GPU_PACKING_NONE)
            list[n++] =
                (qrn_bin_form){c->form.step, c->form.value, c->form.packing, c->data, c->bytes};
    }
    qsort(list, n, sizeof *list, by_form);
    for (uint32_t i = 0; i < n; i++) // a name is there once
        if (!i || qrn_bin_form_order(&list[out->n_forms - 1], &list[i]) != 0)
            list[out->n_forms++] = list[i];
    out->forms = list;
    return QRN_OK;
}

static qrn_status list_choices(qrn_arena *arena, const qrn_gpu_plan *p, qrn_bin_prepared *out) {
    qrn_bin_choice *list = qrn_arena_alloc(arena, (p->n_choices + 1u) * sizeof *list);
    if (!list)
        return no_memory();
    for (uint32_t i = 0; i < p->n_choices; i++)
        list[i] = (qrn_bin_choice){p->choices[i].key, p->choices[i].winner};
    out->choices = list;
    out->n_choices = p->n_choices;
    return QRN_OK;
}

static qrn_status save_compiled(qrn_arena *arena, const qrn_api_graph *g, qrn_bin_graph *out) {
    const qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    const qrn_cl_device *d = qrn_gpu_context_of(g->context)->device.info;
    bool stored = g->compiled && own->how != QRN_GPU_NOT_STORED;
    char key[17] = "";
    if (stored)
        QRN_TRY(qrn_bin_can_store(g->compiled, true, &stored));
    if (!stored || qrn_gpu_check_graph(g->compiled) != QRN_OK) {
        qrn_message_clear(); // it is compiled again when it is loaded
        return QRN_OK;
    }
    qrn_bin_prepared *p = qrn_arena_alloc(arena, sizeof *p);
    if (d)
        qrn_gpu_device_key(d, key);
    if (!p || !(p->device_key = qrn_arena_strdup(arena, key)))
        return no_memory();
    p->device_name = d ? d->name : "";
    QRN_TRY(list_forms(arena, own->plan, p));
    QRN_TRY(list_choices(arena, own->plan, p));
    out->compiled = g->compiled;
    out->compiled_how = own->how;
    out->prepared = p;
    return QRN_OK;
}

static qrn_status save_graph(qrn_bin *b, const qrn_api_graph *g, qrn_bin_graph *out) {
    out->name = g->ir->name;
    out->priority = g->priority;
    out->arena_bytes = qrn_gpu_graph_of(g)->plan->arena_bytes;
    if (!list_options(b->arena, qrn_gpu_graph_of(g), out))
        return no_memory();
    QRN_TRY(save_compiled(b->arena, g, out));
    QRN_TRY(qrn_bin_list_tensors(b->arena, g->ir, NULL, NULL, out));
    return qrn_bin_list_nodes(b->arena, g->ir, out);
}

// Tensors of the context itself: those with an id that no graph has.
static qrn_status save_shared(qrn_bin *b, const qrn_api_context *c) {
    uint32_t most = qrn_context_max_id(c);
    uint8_t *owned = qrn_arena_alloc(b->arena, (size_t)most + 1);
    const qrn_tensor **list = qrn_arena_alloc(b->arena, ((size_t)most + 1) * sizeof *list);
    if (!owned || !list)
        return no_memory();
    memset(owned, 0, (size_t)most + 1);
    for (uint32_t i = 0; i < qrn_context_n_graphs(c); i++) {
        const qrn_graph *g = qrn_context_graph(c, i)->ir;
        for (uint32_t k = 0; k < g->n_tensors; k++)
            owned[g->tensors[k]->id] = 1;
    }
    for (uint32_t id = 1; id <= most; id++) {
        const qrn_tensor *t = qrn_context_tensor(c, id);
        if (t && !owned[id] && t->role != QRN_ROLE_NULL)
            list[b->n_tensors++] = t;
    }
    b->tensors = list;
    return QRN_OK;
}

static qrn_status fill(qrn_bin *b, const qrn_api_context *c) {
    Qnn_ApiVersion_t v = {0};
    if (qrn_version(&v) != QRN_OK) // then no client got this far
        qrn_message_clear();
    b->core_api[0] = v.coreApiVersion.major;
    b->core_api[1] = v.coreApiVersion.minor;
    b->core_api[2] = v.coreApiVersion.patch;
    b->backend_api[0] = v.backendApiVersion.major;
    b->backend_api[1] = v.backendApiVersion.minor;
    b->backend_api[2] = v.backendApiVersion.patch;
    b->backend_id = qrn_this_backend.id;
    b->build_id = qrn_build_id();
    b->part = QRN_BIN_WHOLE;
    b->n_graphs = qrn_context_n_graphs(c);
    b->graphs = qrn_arena_alloc(b->arena, (b->n_graphs + 1u) * sizeof *b->graphs);
    if (!b->graphs)
        return no_memory();
    for (uint32_t i = 0; i < b->n_graphs; i++)
        QRN_TRY(save_graph(b, qrn_context_graph(c, i), &b->graphs[i]));
    return save_shared(b, c);
}

static qrn_status describe(const qrn_api_context *c, qrn_bin **out) {
    qrn_arena *arena = qrn_arena_create();
    qrn_bin *b = arena ? qrn_arena_alloc(arena, sizeof *b) : NULL;
    if (!b) {
        qrn_arena_destroy(arena);
        return no_memory();
    }
    b->arena = arena;
    qrn_status s = fill(b, c);
    if (s == QRN_OK)
        *out = b;
    else
        qrn_arena_destroy(arena);
    return s;
}

qrn_status qrn_gpu_binary_size(qrn_api_context *c, uint64_t *size) {
    qrn_bin *b = NULL;
    QRN_TRY(describe(c, &b));
    qrn_status s = qrn_bin_size(b, size);
    qrn_bin_close(b);
    return s;
}

qrn_status qrn_gpu_binary_write(qrn_api_context *c, void *buf, uint64_t size, uint64_t *written) {
    qrn_bin *b = NULL;
    QRN_TRY(describe(c, &b));
    qrn_status s = qrn_bin_write(b, buf, size, written);
    qrn_bin_close(b);
    return s;
}

// --- loading

static void set_options(const qrn_bin_graph *from, qrn_gpu_graph *own) {
    for (uint32_t i = 0; i < from->n_options; i++)
        switch (from->options[i].key) {
#define QRN_GPU_GRAPH_OPTION(number, name, field)                                                  \
    case number:                                                                                   \
        own->field = (uint8_t)(from->options[i].value > 255 ? 255 : from->options[i].value);       \
        break;
#include "binary/options.def"
#undef QRN_GPU_GRAPH_OPTION
        default:
            break; // of a later version
        }
}

static qrn_status add_tensors(qrn_api_graph *g, const qrn_bin_graph *from) {
    for (uint32_t i = 0; i < from->n_tensors; i++) {
        qrn_tensor *t = from->tensors[i];
        if (qrn_api_graph_tensor(g, t->name) || t->updateable)
            return QRN_FAIL(QRN_E_BINARY,
                            "context binary: graph '%s' has two tensors '%s', or it is updateable",
                            from->name, t->name);
        if (qrn_tensor_is_static(t) && !t->data)
            return QRN_FAIL(QRN_E_BINARY, "context binary: graph '%s' tensor '%s' has no data",
                            from->name, t->name);
        QRN_TRY(qrn_tensor_add(g->context, g, t));
    }
    return QRN_OK;
}

static qrn_tensor *find_tensor(const void *context, uint32_t id) {
    return qrn_context_tensor(context, id);
}

static void *find_user_op(const void *context, const char *package, const char *op) {
    const qrn_api_context *c = context;
    return qrn_this_backend.package_find(c->backend, package, op);
}

// Hands the compiled graph over, with the nodes that it was made from.
static qrn_status take_compiled(qrn_api_graph *g, qrn_bin_graph *from) {
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    qrn_compiled *cg = from->compiled;
    own->unchecked = true;
    own->prepared = from->prepared;
    if (!cg)
        return QRN_OK;
    own->stored = cg;
    own->stored_how = from->compiled_how;
    from->compiled = NULL;
    cg->origin = qrn_arena_alloc(cg->arena, (cg->n_nodes + 1u) * sizeof *cg->origin);
    for (uint32_t i = 0; cg->origin && i < cg->n_nodes; i++)
        cg->origin[i] = g->ir->nodes[cg->nodes[i].index];
    return cg->origin ? QRN_OK : no_memory();
}

const void *qrn_gpu_binary_find(void *ctx, const qrn_gpu_form *form, uint64_t bytes) {
    const qrn_bin_prepared *p = qrn_gpu_graph_of(ctx)->prepared;
    qrn_bin_form want = {.step = form->step, .value = form->value, .packing = form->packing};
    const qrn_bin_form *f = bsearch(&want, p->forms, p->n_forms, sizeof want, by_form);
    return f && f->size_bytes == bytes ? f->data : NULL;
}

// Is this the device that prepared the graph?
static bool is_same_device(const qrn_api_context *c, const qrn_bin_prepared *p) {
    const qrn_cl_device *d = qrn_gpu_context_of(c)->device.info;
    char key[17] = "";
    if (d)
        qrn_gpu_device_key(d, key);
    return p && strcmp(p->device_key, key) == 0;
}

qrn_status qrn_gpu_binary_choices(const qrn_api_graph *g, qrn_compiled *cg,
                                  const qrn_gpu_choice **list, uint32_t *n) {
    const qrn_bin_prepared *p = qrn_gpu_graph_of(g)->prepared;
    if (!p || !p->n_choices || !is_same_device(g->context, p))
        return QRN_OK;
    qrn_gpu_choice *all = qrn_arena_alloc(cg->arena, p->n_choices * sizeof *all);
    if (!all)
        return no_memory();
    for (uint32_t i = 0; i < p->n_choices; i++)
        all[i] = (qrn_gpu_choice){p->choices[i].key, p->choices[i].winner};
    qrn_gpu_sort_choices(all, p->n_choices);
    *list = all;
    *n = p->n_choices;
    return QRN_OK;
}

void qrn_gpu_binary_report(const qrn_api_graph *g) {
    const qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    const qrn_bin_prepared *p = own->prepared;
    if (!p)
        return;
    qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
            "graph '%s': the compiled graph of the binary, %u constants as they are stored",
            g->ir->name, own->plan->n_found);
    if (own->plan->n_packed)
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO,
                "graph '%s': %u constants are packed again: the binary was prepared %s%s",
                g->ir->name, own->plan->n_packed,
                p->device_name[0] ? "for kernels of " : "without a device", p->device_name);
}

// What a graph may make of its constants: in proportion to the file, so that a small one cannot
// take all memory.
static size_t most_bytes(uint64_t file_bytes) {
    const uint64_t fixed = (uint64_t)256 << 20, factor = 64;
    return file_bytes < (SIZE_MAX - fixed) / factor ? (size_t)(fixed + factor * file_bytes)
                                                    : SIZE_MAX;
}

static qrn_status load_graph(qrn_api_context *c, qrn_bin_graph *from,
                             const qrn_binary_source *source) {
    qrn_api_graph *g = NULL;
    QRN_TRY(qrn_api_graph_new(c, NULL, from->name, &g));
    qrn_gpu_graph *own = qrn_gpu_graph_of(g);
    QRN_TRY(qrn_priority_check(from->priority));
    g->priority = from->priority;
    own->precision = QRN_GPU_FP32; // options that are 0 are not stored
    set_options(from, own);
    if (own->precision > QRN_GPU_USER)
        return QRN_FAIL(QRN_E_BINARY, "context binary: graph '%s' has precision %u", from->name,
                        own->precision);
    qrn_gpu_log_options(g);
    QRN_TRY(add_tensors(g, from));
    qrn_bin_lookup lookup = {QNN_OP_PACKAGE_NAME_QTI_AISW, find_tensor, find_user_op, c};
    QRN_TRY(qrn_bin_make_nodes(from, &lookup, g->ir));
    QRN_TRY(qrn_packages_check_nodes(g->ir));
    QRN_TRY(take_compiled(g, from));
    qrn_finalize_options opt = {.poll = source->poll,
                                .poll_ctx = source->poll_ctx,
                                .most_bytes = most_bytes(source->size_bytes)};
    return qrn_api_graph_complete(g, &opt);
}

// Whatever is wrong with a graph of a binary is wrong with the binary; the message stays.
static qrn_status as_binary(qrn_status s) {
    bool own = s == QRN_OK || s == QRN_E_MEM || s == QRN_E_SYSTEM || s == QRN_E_COMM;
    return own ? s : QRN_E_BINARY;
}

static qrn_status check_maker(const qrn_bin *b) {
    if (b->backend_id != qrn_this_backend.id)
        return QRN_FAIL(QRN_E_BINARY_CONFIG,
                        "context binary made by backend %u, this is backend %u", b->backend_id,
                        qrn_this_backend.id);
    if (b->part != QRN_BIN_WHOLE || b->n_graphs == 0)
        return QRN_FAIL(QRN_E_BINARY, "context binary: a section, or one without graphs");
    return QRN_OK;
}

// Strict: the binary must have been prepared for this very device and driver.
static qrn_status check_device(const qrn_api_context *c, const qrn_bin *b) {
    const qrn_cl_device *d = qrn_gpu_context_of(c)->device.info;
    for (uint32_t i = 0; c->strict_binary && i < b->n_graphs; i++) {
        const qrn_bin_prepared *p = b->graphs[i].prepared;
        if (!is_same_device(c, p))
            return QRN_FAIL(QRN_E_BINARY_SUBOPTIMAL,
                            "context binary: graph '%s' was prepared for device '%s' with another "
                            "key than '%s' (device, driver or versions differ): prepare it again, "
                            "or load it PERMISSIVE",
                            b->graphs[i].name, p ? p->device_name : "none", d ? d->name : "none");
    }
    return QRN_OK;
}

static qrn_status load_all(qrn_api_context *c, const qrn_binary_source *source) {
    qrn_gpu_context *own = c->impl;
    QRN_TRY(qrn_bin_open_with(own->file, source->size_bytes, qrn_env_get(QRN_ENV_VERIFY) != NULL,
                              NULL, NULL, &own->bin));
    QRN_TRY(check_maker(own->bin));
    QRN_TRY(check_device(c, own->bin));
    for (uint32_t i = 0; i < own->bin->n_tensors; i++)
        QRN_TRY(as_binary(qrn_tensor_add(c, NULL, (qrn_tensor *)own->bin->tensors[i])));
    for (uint32_t i = 0; i < own->bin->n_graphs; i++)
        QRN_TRY(as_binary(load_graph(c, &own->bin->graphs[i], source)));
    return QRN_OK;
}

// The bytes must be aligned and stay; else they are copied.
static qrn_status hold_file(qrn_gpu_context *own, const qrn_binary_source *source) {
    own->file = source->data;
    if (source->stays && (uintptr_t)source->data % QRN_ALIGN == 0)
        return QRN_OK;
    own->owned = source->size_bytes <= SIZE_MAX ? qrn_alloc((size_t)source->size_bytes) : NULL;
    if (!own->owned)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context binary of %llu bytes",
                        (unsigned long long)source->size_bytes);
    memcpy(own->owned, source->data, (size_t)source->size_bytes);
    own->file = own->owned;
    return QRN_OK;
}

void qrn_gpu_binary_drop(qrn_gpu_context *own) {
    qrn_bin_close(own->bin);
    qrn_free(own->owned);
    own->bin = NULL;
    own->owned = NULL;
    own->file = NULL;
}

qrn_status qrn_gpu_binary_load(qrn_api_context *c, const qrn_binary_source *source) {
    qrn_gpu_context *own = c->impl;
    if (source->provide)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "context binary: data callbacks are not supported by the GPU backend");
    if (!qrn_bin_is_ours(source->data, source->size_bytes))
        return QRN_FAIL(QRN_E_BINARY, "context binary: made by another implementation; compile the "
                                      "model with this library");
    if (own->bin) // tensors of the context are in it
        return QRN_FAIL(QRN_E_BINARY, "context binary: loading it has failed before");
    qrn_status s = hold_file(own, source);
    if (s == QRN_OK)
        s = load_all(c, source);
    if (s != QRN_OK) {
        qrn_context_discard_graphs(c);
        if (!own->bin || !own->bin->n_tensors)
            qrn_gpu_binary_drop(own);
    } else if (!own->owned && qrn_context_take_binary(c, own->file)) {
        own->owned = (void *)(uintptr_t)own->file;
    }
    return s;
}
