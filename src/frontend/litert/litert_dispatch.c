// SPDX-License-Identifier: MIT
//
// libLiteRtDispatch_Quern.so: runs what LiteRT's compiler plugin for QNN compiled. The runtime
// hands over a context binary and tensor buffers in host memory; the binary says which QNN library
// runs it, which lies beside this file. A binary with several graphs is loaded once for a delegate.
//
// The interface has no words for what went wrong: each failure is one line on standard error, where
// LiteRT's own log goes.
#include "frontend/litert/litert_api.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "frontend/client/client.h"

#include "GPU/QnnGpuCommon.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// A context binary that is loaded.
typedef struct loaded {
    struct loaded *next;
    const void *bytes;
    size_t n_bytes;
    qc_client *client;
    qc_system *system;
    const QnnSystemContext_BinaryInfoV3_t *info;
} loaded;

struct lr_device {
    const lr_runtime *runtime;
    loaded *first;
    pthread_mutex_t lock; // guards the list
};

struct lr_invocation {
    const lr_runtime *runtime;
    qc_graph *graph;
    lr_buffer **inputs, **outputs; // attached; NULL: none
    const void **in;
    void **out;
    lr_buffer **held; // locked for an execution
};

static lr_status status_of(qrn_status s) {
    return s == QRN_OK              ? LR_OK
           : s == QRN_E_MEM         ? LR_E_MEMORY
           : s == QRN_E_ARGUMENT    ? LR_E_ARGUMENT
           : s == QRN_E_NOT_FOUND   ? LR_E_NOT_FOUND
           : s == QRN_E_UNSUPPORTED ? LR_E_UNSUPPORTED
                                    : LR_E_RUNTIME;
}

// As the dispatch libraries of others, which bring the runtime's logger along, do.
static lr_status finish(qrn_status s) {
    char line[QRN_MESSAGE_MAX + 64];
    int n = snprintf(line, sizeof line, "ERROR: [Quern dispatch] %s\n", qrn_message());
    if (s != QRN_OK && n > 0)
        qrn_outfile_append(STDERR_FILENO, line, strlen(line));
    return status_of(s);
}

// --- Context binaries

// A library beside this one, or by the loader's search.
static void path_of(const char *file, char *path, size_t size) {
    Dl_info self;
    const char *slash = NULL;
    if (dladdr((const void *)(uintptr_t)LiteRtDispatchGetApi, &self) && self.dli_fname)
        slash = strrchr(self.dli_fname, '/');
    int n =
        slash ? snprintf(path, size, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, file)
              : -1;
    if (n < 0 || (size_t)n >= size || access(path, R_OK) != 0)
        snprintf(path, size, "%s", file);
}

static void unload(loaded *l) {
    if (!l)
        return;
    qc_close(l->client);
    qc_system_close(l->system);
    qrn_free(l);
}

static qrn_status open_binary(loaded *l) {
    char path[PATH_MAX];
    const qc_options options = {.no_context = true};
    path_of("libQnnSystem.so", path, sizeof path);
    QRN_TRY(qc_system_open(path, &l->system));
    QRN_TRY(qc_system_describe(l->system, l->bytes, l->n_bytes, &l->info));
    bool gpu = l->info->backendId == QNN_BACKEND_ID_GPU;
    path_of(gpu ? "libQnnGpu.so" : "libQnnHtp.so", path, sizeof path);
    QRN_TRY(qc_open(path, &options, &l->client));
    return qc_load(l->client, l->bytes, l->n_bytes, NULL, NULL);
}

// The lock is held.
static qrn_status find_loaded(lr_device *d, const void *bytes, size_t n_bytes, loaded **out) {
    for (loaded *l = d->first; l; l = l->next)
        if (l->bytes == bytes && l->n_bytes == n_bytes) {
            *out = l;
            return QRN_OK;
        }
    loaded *l = qrn_calloc(sizeof *l);
    if (!l)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    l->bytes = bytes;
    l->n_bytes = n_bytes;
    qrn_status s = open_binary(l);
    if (s != QRN_OK) {
        unload(l);
        return s;
    }
    l->next = d->first;
    *out = d->first = l;
    return QRN_OK;
}

// Without a name the only graph is meant.
static qrn_status find_graph(const QnnSystemContext_BinaryInfoV3_t *info, const char *name,
                             const QnnSystemContext_GraphInfoV3_t **out) {
    for (uint32_t i = 0; i < info->numGraphs; i++) {
        *out = &info->graphs[i].graphInfoV3;
        if (strcmp((*out)->graphName, name) == 0 || (!*name && info->numGraphs == 1))
            return QRN_OK;
    }
    return QRN_FAIL(QRN_E_NOT_FOUND, "the context binary has no graph '%s' among its %u", name,
                    info->numGraphs);
}

// --- Devices and buffers

static lr_status device_create(const lr_runtime *r, void *options, lr_device **out) {
    (void)options;
    if (!r || r->header.major != 1 || r->header.size_bytes < sizeof *r)
        return finish(QRN_FAIL(QRN_E_UNSUPPORTED,
                               "this runtime's functions are of version %u with %u bytes, expected "
                               "version 1 with %zu: use ai-edge-litert 2.2 or newer",
                               r ? r->header.major : 0u, r ? r->header.size_bytes : 0u, sizeof *r));
    lr_device *d = qrn_calloc(sizeof *d);
    if (!d)
        return finish(QRN_FAIL(QRN_E_MEM, "out of memory for a device"));
    d->runtime = r;
    pthread_mutex_init(&d->lock, NULL);
    *out = d;
    return LR_OK;
}

static lr_status device_destroy(lr_device *d) {
    while (d && d->first) {
        loaded *l = d->first;
        d->first = l->next;
        unload(l);
    }
    if (d)
        pthread_mutex_destroy(&d->lock);
    qrn_free(d);
    return LR_OK;
}

// The runtime keeps a buffer until it unregisters it, so its address is handle enough.
static lr_status buffer_register(lr_device *d, lr_buffer *b, uint64_t *handle) {
    (void)d;
    *handle = (uint64_t)(uintptr_t)b;
    return b ? LR_OK : LR_E_ARGUMENT;
}

static lr_status buffer_unregister(lr_device *d, uint64_t handle) {
    (void)d;
    (void)handle;
    return LR_OK;
}

// --- Invocations

static lr_status invocation_destroy(lr_invocation *v) {
    if (!v)
        return LR_OK;
    qc_graph_destroy(v->graph);
    qrn_free(v->inputs);
    qrn_free(v->outputs);
    qrn_free(v->in);
    qrn_free(v->out);
    qrn_free(v->held);
    qrn_free(v);
    return LR_OK;
}

static qrn_status start(lr_device *d, const lr_bytes *bytes, const char *function,
                        lr_invocation *v) {
    loaded *l = NULL;
    const QnnSystemContext_GraphInfoV3_t *info = NULL;
    pthread_mutex_lock(&d->lock);
    qrn_status s = find_loaded(d, bytes->base + bytes->offset, bytes->size_bytes, &l);
    if (s == QRN_OK)
        s = find_graph(l->info, function ? function : "", &info);
    if (s == QRN_OK)
        s = qc_graph_retrieve(l->client, info, &v->graph);
    pthread_mutex_unlock(&d->lock);
    QRN_TRY(s);
    v->inputs = qrn_calloc((v->graph->n_inputs + 1u) * sizeof *v->inputs);
    v->outputs = qrn_calloc((v->graph->n_outputs + 1u) * sizeof *v->outputs);
    v->in = qrn_calloc((v->graph->n_inputs + 1u) * sizeof *v->in);
    v->out = qrn_calloc((v->graph->n_outputs + 1u) * sizeof *v->out);
    v->held = qrn_calloc((v->graph->n_inputs + v->graph->n_outputs + 1u) * sizeof *v->held);
    return v->inputs && v->outputs && v->in && v->out && v->held
               ? QRN_OK
               : QRN_FAIL(QRN_E_MEM, "out of memory for the buffers of graph '%s'", function);
}

static qrn_status check_counts(const lr_invocation *v, const char *function, int n_in, int n_out) {
    if ((uint32_t)n_in == v->graph->n_inputs && (uint32_t)n_out == v->graph->n_outputs)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "graph '%s' has %u inputs and %u outputs, the model gives it %d and %d",
                    function, v->graph->n_inputs, v->graph->n_outputs, n_in, n_out);
}

static lr_status invocation_create(const lr_runtime *r, lr_device *d, int kind,
                                   const lr_bytes *bytes, const char *function, int n_inputs,
                                   int n_outputs, lr_invocation **out) {
    (void)r; // the device has it
    if (kind != LR_EXECUTABLE_BYTES)
        return finish(
            QRN_FAIL(QRN_E_UNSUPPORTED, "executable of kind %d, expected 2 (bytes)%s", kind,
                     kind == LR_EXECUTABLE_HANDLE ? ": compile the model ahead of time" : ""));
    lr_invocation *v = qrn_calloc(sizeof *v);
    if (!v)
        return finish(QRN_FAIL(QRN_E_MEM, "out of memory for an invocation"));
    v->runtime = d->runtime;
    qrn_status s = start(d, bytes, function, v);
    if (s == QRN_OK)
        s = check_counts(v, function, n_inputs, n_outputs);
    if (s != QRN_OK) {
        lr_status failed = finish(s);
        invocation_destroy(v);
        return failed;
    }
    *out = v;
    return LR_OK;
}

static lr_status requirements(const lr_invocation *v, const qc_tensor *t,
                              const lr_tensor_type *type, lr_requirements **out) {
    static const int kinds[] = {LR_HOST_MEMORY};
    if (type->has_strides)
        return finish(
            QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': strides are not supported", t->t.v1.name));
    return v->runtime->create_requirements(1, kinds, qc_tensor_bytes(t), 0, NULL, out);
}

static lr_status no_port(const char *what, int port) {
    return finish(QRN_FAIL(QRN_E_ARGUMENT, "the graph has no %s %d", what, port));
}

static lr_status input_requirements(lr_invocation *v, int port, const lr_tensor_type *type,
                                    lr_requirements **out) {
    if (port < 0 || (uint32_t)port >= v->graph->n_inputs)
        return no_port("input", port);
    return requirements(v, v->graph->inputs[port], type, out);
}

static lr_status output_requirements(lr_invocation *v, int port, const lr_tensor_type *type,
                                     lr_requirements **out) {
    if (port < 0 || (uint32_t)port >= v->graph->n_outputs)
        return no_port("output", port);
    return requirements(v, v->graph->outputs[port], type, out);
}

static lr_status attach_input(lr_invocation *v, int port, uint64_t handle) {
    if (port < 0 || (uint32_t)port >= v->graph->n_inputs)
        return no_port("input", port);
    v->inputs[port] = (lr_buffer *)(uintptr_t)handle;
    return LR_OK;
}

static lr_status attach_output(lr_invocation *v, int port, uint64_t handle) {
    if (port < 0 || (uint32_t)port >= v->graph->n_outputs)
        return no_port("output", port);
    v->outputs[port] = (lr_buffer *)(uintptr_t)handle;
    return LR_OK;
}

static lr_status detach_input(lr_invocation *v, int port, uint64_t handle) {
    (void)handle;
    return attach_input(v, port, 0);
}

static lr_status detach_output(lr_invocation *v, int port, uint64_t handle) {
    (void)handle;
    return attach_output(v, port, 0);
}

// The address of a buffer, which is locked then. A runtime keeps the buffers of a model's inputs
// and outputs locked that parts on the CPU use too; those of host memory have their address all the
// same.
static qrn_status lock(lr_invocation *v, lr_buffer *b, const qc_tensor *t, int mode,
                       uint32_t *n_held, void **at) {
    const lr_runtime *r = v->runtime;
    size_t has = 0, wants = qc_tensor_bytes(t);
    if (!b)
        return QRN_FAIL(QRN_E_ARGUMENT, "tensor '%s' has no buffer", t->t.v1.name);
    if (r->packed_size(b, &has) != LR_OK || has < wants)
        return QRN_FAIL(QRN_E_ARGUMENT, "tensor '%s': the buffer has %zu bytes, expected %zu",
                        t->t.v1.name, has, wants);
    if (r->lock(b, at, mode) == LR_OK)
        v->held[(*n_held)++] = b;
    else if (!r->host_memory || r->host_memory(b, at) != LR_OK || !*at)
        return QRN_FAIL(QRN_E_GENERAL, "tensor '%s': the buffer cannot be locked", t->t.v1.name);
    return QRN_OK;
}

static lr_status invoke(lr_invocation *v) {
    const qc_graph *g = v->graph;
    uint32_t n_held = 0;
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; s == QRN_OK && i < g->n_inputs; i++) {
        void *at = NULL;
        s = lock(v, v->inputs[i], g->inputs[i], LR_LOCK_READ, &n_held, &at);
        v->in[i] = at;
    }
    for (uint32_t i = 0; s == QRN_OK && i < g->n_outputs; i++)
        s = lock(v, v->outputs[i], g->outputs[i], LR_LOCK_WRITE, &n_held, &v->out[i]);
    if (s == QRN_OK)
        s = qc_graph_execute(v->graph, v->in, v->out);
    lr_status done = finish(s);
    while (n_held)
        v->runtime->unlock(v->held[--n_held]);
    return done;
}

// --- The table

static lr_status initialize(const lr_runtime *r, void *environment, void *options) {
    (void)r, (void)environment, (void)options; // libraries are opened when a model needs them
    return LR_OK;
}

static lr_status vendor_id(const char **id) {
    *id = "Quern";
    return LR_OK;
}

static lr_status build_id(const char **id) {
    *id = "Quern " QUERN_VERSION;
    return LR_OK;
}

static lr_status capabilities(int *bits) {
    *bits = LR_CAN_BASIC;
    return LR_OK;
}

static lr_status set_scheduling(lr_invocation *v, const void *info) {
    (void)v;
    return info ? LR_E_UNSUPPORTED : LR_OK;
}

static lr_status set_options(lr_invocation *v, void *options) {
    (void)v, (void)options; // none of a run's options changes what is computed
    return LR_OK;
}

static lr_status check_runtime(lr_version version, void *environment, void *options) {
    (void)environment, (void)options;
    return version.major == LR_API_VERSION.major && version.minor == LR_API_VERSION.minor
               ? LR_OK
               : LR_E_VERSION;
}

static const lr_interface interface = {
    .initialize = initialize,
    .vendor_id = vendor_id,
    .build_id = build_id,
    .capabilities = capabilities,
    .device_create = device_create,
    .device_destroy = device_destroy,
    .input_requirements = input_requirements,
    .output_requirements = output_requirements,
    .buffer_register = buffer_register,
    .buffer_unregister = buffer_unregister,
    .invocation_create = invocation_create,
    .invocation_destroy = invocation_destroy,
    .set_scheduling = set_scheduling,
    .attach_input = attach_input,
    .attach_output = attach_output,
    .detach_input = detach_input,
    .detach_output = detach_output,
    .invoke = invoke,
    .check_runtime = check_runtime,
    .set_options = set_options,
};

lr_status LiteRtDispatchGetApi(lr_api *api) {
    if (!api)
        return LR_E_ARGUMENT;
    if (api->header.major != 1 || api->header.size_bytes < sizeof *api)
        return LR_E_VERSION; // of a runtime before 2.2, whose table is another one
    *api = (lr_api){.header = {.size_bytes = sizeof *api, .major = 1},
                    .version = LR_API_VERSION,
                    .interface = &interface};
    return LR_OK;
}
