// SPDX-License-Identifier: MIT
//
// A backend with memory of its own, to show that nothing but the seams is needed for one: it
// compiles to the device-neutral graph, keeps all tensors in "device" blocks that only a number
// names, and interprets the steps with the reference kernels. Weights are what the graph has;
// epilogues run as the steps they are; each value that owns memory has a block.
#include "toy_backend.h"

#include "base/mem.h"
#include "compiler/compile.h"
#include "core/host.h"
#include "core/objects.h"
#include "ir/support.h"

#include "QnnInterface.h"
#include "QnnProperty.h"

#include <pthread.h>
#include <string.h>

// --- the device: blocks by number, never by address

#define MAX_BLOCKS 65536u

static struct {
    pthread_mutex_t lock;
    void *blocks[MAX_BLOCKS];
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t device_alloc(size_t size_bytes) {
    void *p = qrn_calloc(size_bytes + QRN_TAIL);
    uint64_t number = 0;
    pthread_mutex_lock(&device.lock);
    for (uint32_t i = 1; p && i < MAX_BLOCKS && !number; i++)
        if (!device.blocks[i]) {
            device.blocks[i] = p;
            number = i;
        }
    pthread_mutex_unlock(&device.lock);
    if (!number)
        qrn_free(p);
    return number;
}

static void device_free(uint64_t block) {
    pthread_mutex_lock(&device.lock);
    qrn_free(device.blocks[block]);
    device.blocks[block] = NULL;
    pthread_mutex_unlock(&device.lock);
}

uint32_t toy_blocks(void) {
    uint32_t n = 0;
    pthread_mutex_lock(&device.lock);
    for (uint32_t i = 1; i < MAX_BLOCKS; i++)
        n += device.blocks[i] != NULL;
    pthread_mutex_unlock(&device.lock);
    return n;
}

static qrn_status upload(qrn_api_context *c, const qrn_memory *m, size_t offset, const void *src,
                         size_t size_bytes) {
    (void)c;
    memcpy((char *)device.blocks[m->device] + offset, src, size_bytes);
    return QRN_OK;
}

static qrn_status download(qrn_api_context *c, const qrn_memory *m, size_t offset, void *dst,
                           size_t size_bytes) {
    (void)c;
    memcpy(dst, (const char *)device.blocks[m->device] + offset, size_bytes);
    return QRN_OK;
}

// Memory that the client never sees: it starts with the bytes at customInfo, when there are any.
static qrn_status mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor) {
    const Qnn_MemDescriptor_t *d = descriptor;
    if (d->memType != QNN_MEM_TYPE_CUSTOM)
        return QRN_FAIL(QRN_E_MEMTYPE, "memory type %d, allowed CUSTOM=2", (int)d->memType);
    m->memory = (qrn_memory){.kind = QRN_MEMORY_DEVICE, .device = device_alloc(m->size_bytes)};
    if (!m->memory.device)
        return QRN_FAIL(QRN_E_MEM, "no block of %zu bytes", m->size_bytes);
    return d->customInfo ? upload(c, &m->memory, 0, d->customInfo, m->size_bytes) : QRN_OK;
}

static void mem_unmap(qrn_api_mem *m) { device_free(m->memory.device); }

// --- graphs

typedef struct toy_graph {
    qrn_compiled *cg;
    uint64_t *blocks;     // [n_values] of those that own memory; 0: application tensors and others
    uint64_t *states;     // [n_steps]
    pthread_mutex_t lock; // one execution at a time
} toy_graph;

static void free_toy(toy_graph *t) {
    for (uint32_t i = 0; t && t->blocks && i < t->cg->n_values; i++)
        if (t->blocks[i])
            device_free(t->blocks[i]);
    for (uint32_t i = 0; t && t->states && i < t->cg->n_steps; i++)
        if (t->states[i])
            device_free(t->states[i]);
    if (!t)
        return;
    qrn_free(t->blocks);
    qrn_free(t->states);
    qrn_compiled_destroy(t->cg);
    qrn_free(t);
}

static bool make_block(size_t size_bytes, uint64_t *block) {
    return (*block = device_alloc(size_bytes)) != 0;
}

static bool place_value(toy_graph *t, qrn_val v) {
    const qrn_cvalue *val = &t->cg->values[v];
    if (val->kind == QRN_CV_IO || val->base != QRN_VAL_NONE)
        return true;
    if (!make_block(val->size_bytes, &t->blocks[v]))
        return false;
    const void *data = val->kind == QRN_CV_CONST ? qrn_compiled_data(t->cg, v) : NULL;
    qrn_memory m = {.kind = QRN_MEMORY_DEVICE, .device = t->blocks[v]};
    if (data)
        upload(NULL, &m, 0, data, val->size_bytes);
    return true;
}

static qrn_status build(qrn_compiled *cg, toy_graph **out) {
    toy_graph *t = *out = qrn_calloc(sizeof *t);
    bool ok = t != NULL;
    if (!ok) {
        qrn_compiled_destroy(cg);
        return QRN_E_MEM;
    }
    t->cg = cg;
    pthread_mutex_init(&t->lock, NULL);
    t->blocks = qrn_calloc((cg->n_values + 1u) * sizeof *t->blocks);
    t->states = qrn_calloc((cg->n_steps + 1u) * sizeof *t->states);
    ok = t->blocks && t->states;
    for (uint32_t v = 0; ok && v < cg->n_values; v++)
        ok = place_value(t, v);
    for (uint32_t i = 0; ok && i < cg->n_steps; i++)
        ok = !cg->steps[i].state_bytes || make_block(cg->steps[i].state_bytes, &t->states[i]);
    return ok ? QRN_OK : QRN_FAIL(QRN_E_MEM, "graph '%s': the device is full", cg->name);
}

static qrn_status graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    qrn_compile_options o = {.most_bytes = opt->most_bytes,
                             .keep_tensors = qrn_host_keeps_tensors(g)};
    qrn_compiled *cg = NULL;
    toy_graph *t = NULL;
    QRN_TRY(qrn_compile(g->ir, &o, &cg));
    qrn_status s = build(cg, &t);
    if (s != QRN_OK) {
        free_toy(t);
        return s;
    }
    free_toy(g->impl);
    g->impl = t;
    g->compiled = cg;
    return QRN_OK;
}

static void graph_free(qrn_api_graph *g) {
    free_toy(g->impl);
    g->impl = NULL;
}

// --- executions

typedef struct run {
    const toy_graph *toy;
    qrn_view *views; // [n_values], data inside of the device
    bool *lacks;     // [n_values] nothing was put into it
    uint64_t *io;    // [n_io] blocks of this call
    void **fetched;  // [n_values] host copies for the trace
} run;

static void point_views(run *r, const qrn_binding *io) {
    const qrn_compiled *cg = r->toy->cg;
    for (uint32_t v = 0; v < cg->n_values; v++) {
        qrn_val owner = qrn_compiled_owner(cg, v);
        uint64_t block = cg->values[owner].kind == QRN_CV_IO ? r->io[cg->values[owner].io]
                                                             : r->toy->blocks[owner];
        r->views[v] = qrn_compiled_view(cg, v);
        r->views[v].data = block ? (char *)device.blocks[block] + cg->values[v].base_offset : NULL;
        r->lacks[v] = cg->values[v].conditional;
    }
    for (uint32_t i = 0; i < cg->n_io; i++)
        r->lacks[cg->io[i].value] = io[i].memory.kind == QRN_MEMORY_NONE;
}

// Buffers of the application: memory of the device is used where it is, other memory is copied.
static qrn_status bring_io(qrn_api_context *c, run *r, const qrn_binding *io) {
    const qrn_compiled *cg = r->toy->cg;
    for (uint32_t i = 0; i < cg->n_io; i++) {
        size_t bytes = cg->values[cg->io[i].value].size_bytes;
        if (io[i].memory.kind == QRN_MEMORY_DEVICE) {
            r->io[i] = io[i].memory.device;
            continue;
        }
        if (io[i].memory.kind == QRN_MEMORY_NONE)
            continue;
        if (!make_block(bytes, &r->io[i]))
            return QRN_FAIL(QRN_E_MEM, "graph '%s': the device is full", cg->name);
        qrn_memory m = {.kind = QRN_MEMORY_DEVICE, .device = r->io[i]};
        QRN_TRY(upload(c, &m, 0, io[i].memory.host, bytes));
    }
    return QRN_OK;
}

static qrn_status take_io(qrn_api_context *c, run *r, qrn_binding *io) {
    const qrn_compiled *cg = r->toy->cg;
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < cg->n_io; i++) {
        qrn_val v = cg->io[i].value;
        if (!cg->io[i].is_output)
            continue;
        qrn_memory m = {.kind = QRN_MEMORY_DEVICE, .device = r->io[i]};
        io[i].rank = r->views[v].rank;
        memcpy(io[i].dims, r->views[v].dims, sizeof io[i].dims);
        io[i].n_sparse = r->views[v].n_sparse;
        io[i].produced = r->io[i] && !r->lacks[v];
        if (!io[i].produced && r->io[i])
            s = QRN_FAIL(QRN_E_EARLY, "output '%s' was not produced", cg->values[v].name);
        else if (io[i].produced && io[i].memory.kind != QRN_MEMORY_DEVICE)
            QRN_TRY(download(c, &m, 0, io[i].memory.host, cg->values[v].size_bytes));
    }
    return s;
}

static qrn_status run_step(run *r, uint32_t at) {
    const qrn_cstep *s = &r->toy->cg->steps[at];
    qrn_view *ops[512];
    for (uint32_t i = 0; i < s->n_in + s->n_out && i < 512; i++) {
        qrn_val v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        if (v != QRN_VAL_NONE && i < s->n_in && r->lacks[v] && r->views[v].data) {
            for (uint32_t o = 0; o < s->n_out; o++)
                r->lacks[s->out[o]] = true;
            return QRN_OK; // what it reads was not made
        }
        ops[i] = v == QRN_VAL_NONE || !r->views[v].data ? NULL : &r->views[v];
    }
    qrn_kcall k = {.args = s->args,
                   .in = ops,
                   .out = ops + s->n_in,
                   .n_in = s->n_in,
                   .n_out = s->n_out,
                   .state = r->toy->states[at] ? device.blocks[r->toy->states[at]] : NULL,
                   .n_tasks = 1};
    const qrn_kernel *row = qrn_kernel_select(s->op->family, (qrn_domain)s->domain, &k, 0);
    if (!row || s->n_in + s->n_out > 512)
        return QRN_FAIL(QRN_E_FINALIZE, "op %s cannot be run", s->op->name);
    size_t scratch = row->scratch ? row->scratch(&k) : 0;
    k.scratch = scratch ? qrn_alloc(scratch) : NULL;
    qrn_status st = !scratch || k.scratch ? row->fn(&k) : QRN_E_MEM;
    qrn_free(k.scratch);
    for (uint32_t o = 0; o < s->n_out; o++)
        if (s->out[o] != QRN_VAL_NONE)
            r->lacks[s->out[o]] = st == QRN_E_BLOCKED;
    return st == QRN_E_BLOCKED ? QRN_OK : st;
}

static bool get_value(const void *ctx, uint32_t v, qrn_view *view) {
    const run *r = ctx;
    size_t bytes = r->toy->cg->values[v].size_bytes;
    *view = r->views[v];
    view->data = NULL; // its own address means nothing to others
    if (r->lacks[v] || !r->views[v].data)
        return false;
    qrn_free(r->fetched[v]);
    view->data = r->fetched[v] = qrn_alloc(bytes);
    if (view->data)
        memcpy(view->data, r->views[v].data, bytes);
    return view->data != NULL;
}

static qrn_status run_steps(run *r, const qrn_run_options *opt) {
    const qrn_compiled *cg = r->toy->cg;
    for (uint32_t i = 0; i < cg->n_steps;) {
        const qrn_cstep *s = &cg->steps[i];
        if (s->kind == QRN_CSTEP_JUMP) {
            i = s->target;
            continue;
        }
        if (s->kind == QRN_CSTEP_BRANCH) {
            bool lost = r->lacks[s->in[0]];
            i = lost                                        ? cg->steps[s->target - 1].target
                : *(const uint8_t *)r->views[s->in[0]].data ? i + 1
                                                            : s->target;
            continue;
        }
        if (opt->poll)
            QRN_TRY(opt->poll(opt->poll_ctx));
        QRN_TRY(run_step(r, i));
        i++;
        if (opt->trace && (i == cg->n_steps || cg->steps[i].node != s->node))
            opt->trace(opt->trace_ctx, s->node, &(qrn_values){r, get_value});
    }
    return QRN_OK;
}

static void end_run(run *r, const qrn_binding *io) {
    const qrn_compiled *cg = r->toy->cg;
    for (uint32_t i = 0; r->io && i < cg->n_io; i++)
        if (r->io[i] && io[i].memory.kind != QRN_MEMORY_DEVICE)
            device_free(r->io[i]);
    for (uint32_t v = 0; r->fetched && v < cg->n_values; v++)
        qrn_free(r->fetched[v]);
    qrn_free(r->views);
    qrn_free(r->lacks);
    qrn_free(r->io);
    qrn_free(r->fetched);
}

static qrn_status graph_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    toy_graph *t = g->impl;
    const qrn_compiled *cg = t->cg;
    run r = {.toy = t,
             .views = qrn_calloc((cg->n_values + 1u) * sizeof(qrn_view)),
             .lacks = qrn_calloc(cg->n_values + 1u),
             .io = qrn_calloc((cg->n_io + 1u) * sizeof(uint64_t)),
             .fetched = qrn_calloc((cg->n_values + 1u) * sizeof(void *))};
    qrn_status s =
        r.views && r.lacks && r.io && r.fetched ? bring_io(g->context, &r, io) : QRN_E_MEM;
    pthread_mutex_lock(&t->lock);
    if (s == QRN_OK) {
        point_views(&r, io);
        s = run_steps(&r, opt);
    }
    if (s == QRN_OK)
        s = take_io(g->context, &r, io);
    pthread_mutex_unlock(&t->lock);
    end_run(&r, io);
    return s;
}

static const qrn_support_table support = {.backend = "TOY", .mode = QRN_SUPPORT_SUPERSET};

static const qrn_capability capabilities[] = {
    {QNN_PROPERTY_GRAPH_SUPPORT_EXECUTE, true},
    {QNN_PROPERTY_TENSOR_SUPPORT_MEMHANDLE_TYPE, true},
};

const qrn_backend qrn_this_backend = {
    .provider_name = "TOY_QUERN",
    .id = 1000,
    .version_major = 1,
    .features = QRN_FEATURE_MEM | QRN_FEATURE_SPARSE,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &support,
    .backend_config = qrn_host_config,
    .graph_free = graph_free,
    .graph_finalize = graph_finalize,
    .graph_execute = graph_execute,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
    .mem_upload = upload,
    .mem_download = download,
};
