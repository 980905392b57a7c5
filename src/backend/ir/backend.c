// SPDX-License-Identifier: MIT
//
// libQnnIr.so: builds graphs of any published op and type, executes none, and writes them as DLC
// files (docs/dlc.md) when they are finalized. A file holds all finalized graphs of the context
// that name it: the option SERIALIZATION says which file, without it all graphs go to
// "<name of the first>.dlc" in the working directory. An empty path writes no file. The binary of a
// context is the same file with all its finalized graphs.
#include "base/mem.h"
#include "core/services.h"
#include "dlc/dlc.h"

#include "IR/QnnIrCommon.h"
#include "IR/QnnIrGraph.h"
#include "QnnProperty.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Of a context: its finalized graphs, in that order.
typedef struct ir_context {
    pthread_mutex_t lock;
    qrn_api_graph **done;
    uint32_t n, room;
    char *first_name; // of its oldest graph; or NULL
} ir_context;

// Of a graph.
typedef struct ir_graph {
    char *path; // of SERIALIZATION, or NULL
} ir_graph;

static ir_context *context_of(const qrn_api_context *c) { return c->impl; }
static ir_graph *graph_of(const qrn_api_graph *g) { return g->impl; }

// --- Life

static qrn_status backend_create(qrn_api_backend *b) {
    qrn_dump_disable(b); // there are no tensors to write
    return QRN_OK;
}

static qrn_status context_create(qrn_api_context *c) {
    ir_context *x = c->impl = qrn_calloc(sizeof *x);
    if (!x)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    pthread_mutex_init(&x->lock, NULL);
    return QRN_OK;
}

static qrn_status context_free(qrn_api_context *c) {
    ir_context *x = context_of(c);
    pthread_mutex_destroy(&x->lock);
    qrn_free(x->done);
    qrn_free(x->first_name);
    qrn_free(x);
    c->impl = NULL;
    return QRN_OK;
}

static qrn_status graph_create(qrn_api_graph *g) {
    ir_context *x = context_of(g->context);
    g->impl = qrn_calloc(sizeof(ir_graph));
    pthread_mutex_lock(&x->lock);
    if (!x->first_name)
        x->first_name = qrn_strdup(g->ir->name);
    bool good = g->impl && x->first_name;
    pthread_mutex_unlock(&x->lock);
    g->keeps_data = true; // a later graph may go to the same file
    return good ? QRN_OK : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
}

static void graph_free(qrn_api_graph *g) {
    if (g->impl)
        qrn_free(graph_of(g)->path);
    qrn_free(g->impl);
    g->impl = NULL;
}

// --- Options

static qrn_status set_path(qrn_api_graph *g, const QnnIrGraph_SerializationOption_t *o) {
    if (o->serializationType != QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER)
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': SERIALIZATION of type %d, allowed %d",
                        g->ir->name, (int)o->serializationType,
                        (int)QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER);
    if (!o->outputPath)
        return QRN_FAIL(QRN_E_CONFIG, "graph '%s': SERIALIZATION without a path", g->ir->name);
    char *path = qrn_strdup(o->outputPath);
    if (!path)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    qrn_free(graph_of(g)->path);
    graph_of(g)->path = path;
    return QRN_OK;
}

// Devices, and options of backends, devices and contexts, are those of the machine that will run
// the graph: they say nothing about it.
static qrn_status backend_config(qrn_api_backend *b, const void *custom) {
    (void)b;
    (void)custom;
    return QRN_OK;
}

static qrn_status device_config(qrn_api_device *d, const void *custom) {
    (void)d;
    (void)custom;
    return QRN_OK;
}

static qrn_status device_platform(qrn_api_device *d, const void *info) {
    (void)d;
    (void)info;
    return QRN_OK;
}

static qrn_status context_config(qrn_api_context *c, qrn_config_phase phase,
                                 const void *const *custom, size_t n) {
    (void)c;
    (void)phase;
    (void)custom;
    (void)n;
    return QRN_OK;
}

static qrn_status graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                               size_t n) {
    if (n && phase == QRN_CONFIG_SET_FINAL)
        return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized: option CUSTOM cannot change",
                        g->ir->name);
    for (size_t i = 0; i < n; i++) {
        const QnnIrGraph_CustomConfig_t *c = custom[i];
        if (c->option == QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION)
            QRN_TRY(set_path(g, &c->serializationOption));
        else
            qrn_log(g->context->backend->log, QNN_LOG_LEVEL_WARN,
                    "graph '%s': custom option %d is not known to this version and ignored",
                    g->ir->name, (int)c->option);
    }
    return QRN_OK;
}

// --- Op packages: of the machine that will run the graph. They are not opened here, so any name
// may be one of theirs.

static qrn_status package_register(qrn_api_backend *b, const char *path, const char *provider,
                                   const char *target, const void *image, size_t size) {
    (void)b;
    (void)path;
    (void)provider;
    (void)target;
    (void)image;
    (void)size;
    return QRN_OK;
}

static void *package_find(qrn_api_backend *b, const char *package, const char *op) {
    static char any;
    (void)b;
    (void)package;
    (void)op;
    return &any;
}

// --- Writing

// "<folder>/<graph>.dlc" for a path that is a folder.
static qrn_status file_of(const qrn_api_graph *g, const char *name, char path[PATH_MAX]) {
    const char *given = graph_of(g)->path, *format = "%s%s%s.dlc";
    struct stat st;
    int n = 0;
    if (!given)
        n = snprintf(path, PATH_MAX, "%s.dlc", name);
    else if (*given &&
             (given[strlen(given) - 1] == '/' || (stat(given, &st) == 0 && S_ISDIR(st.st_mode))))
        n = snprintf(path, PATH_MAX, format, given, given[strlen(given) - 1] == '/' ? "" : "/",
                     g->ir->name);
    else
        n = snprintf(path, PATH_MAX, "%s", given);
    if (n >= PATH_MAX)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': the path of its DLC file is too long",
                        g->ir->name);
    return QRN_OK;
}

// The tensors of the context itself.
static qrn_status context_tensors(const qrn_api_context *c, qrn_dlc_model *m) {
    uint32_t most = qrn_context_max_id(c);
    const qrn_tensor **list = qrn_alloc(((size_t)most + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file");
    for (uint32_t id = 1; id <= most; id++) {
        const qrn_tensor *t = qrn_context_tensor(c, id);
        if (t && !t->graph)
            list[m->n_tensors++] = t;
    }
    m->tensors = list;
    return QRN_OK;
}

// A file of the finalized graphs that go to `path` (NULL: all) and of one more (NULL: none).
static qrn_status make_image(const qrn_api_context *c, const char *path, const qrn_api_graph *more,
                             qrn_dlc_image **out) {
    const ir_context *x = context_of(c);
    const qrn_graph **graphs = qrn_alloc(((size_t)x->n + 1) * sizeof *graphs);
    qrn_dlc_model m = {.graphs = graphs};
    char other[PATH_MAX];
    qrn_status s =
        graphs ? context_tensors(c, &m) : QRN_FAIL(QRN_E_MEM, "out of memory for a DLC file");
    for (uint32_t i = 0; s == QRN_OK && i < x->n; i++) {
        s = file_of(x->done[i], x->first_name, other);
        if (x->done[i] != more && (!path || strcmp(path, other) == 0))
            graphs[m.n_graphs++] = x->done[i]->ir;
    }
    if (s == QRN_OK && more)
        graphs[m.n_graphs++] = more->ir;
    if (s == QRN_OK)
        s = qrn_dlc_image_of_model(&m, out);
    qrn_free(graphs);
    qrn_free((void *)m.tensors);
    return s;
}

static qrn_status note_done(ir_context *x, qrn_api_graph *g) {
    for (uint32_t i = 0; i < x->n; i++)
        if (x->done[i] == g)
            return QRN_OK;
    if (x->n == x->room) {
        uint32_t room = x->room ? 2 * x->room : 4;
        qrn_api_graph **list = qrn_realloc(x->done, x->room * sizeof *list, room * sizeof *list);
        if (!list)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
        x->done = list;
        x->room = room;
    }
    x->done[x->n++] = g;
    return QRN_OK;
}

static qrn_status write_file(qrn_api_graph *g) {
    char path[PATH_MAX];
    qrn_dlc_image *image = NULL;
    QRN_TRY(file_of(g, context_of(g->context)->first_name, path));
    if (!*path)
        return QRN_OK;
    QRN_TRY(make_image(g->context, path, g, &image));
    qrn_status s = qrn_dlc_image_save(image, path);
    if (s == QRN_OK)
        qrn_log(g->context->backend->log, QNN_LOG_LEVEL_INFO, "graph '%s': written to '%s'",
                g->ir->name, path);
    qrn_dlc_image_free(image);
    return s;
}

static qrn_status graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    (void)opt;
    ir_context *x = context_of(g->context);
    pthread_mutex_lock(&x->lock);
    qrn_status s = write_file(g);
    if (s == QRN_OK)
        s = note_done(x, g);
    pthread_mutex_unlock(&x->lock);
    return s == QRN_OK ? QRN_OK : s == QRN_E_MEM ? s : QRN_E_FINALIZE;
}

static qrn_status binary_size(qrn_api_context *c, uint64_t *size) {
    qrn_dlc_image *image = NULL;
    QRN_TRY(make_image(c, NULL, NULL, &image));
    *size = qrn_dlc_image_bytes(image);
    qrn_dlc_image_free(image);
    return QRN_OK;
}

static qrn_status binary_write(qrn_api_context *c, void *buf, uint64_t size, uint64_t *written) {
    qrn_dlc_image *image = NULL;
    QRN_TRY(make_image(c, NULL, NULL, &image));
    uint64_t n = qrn_dlc_image_bytes(image);
    qrn_status s = QRN_OK;
    if (n > size)
        s = QRN_FAIL(QRN_E_ARGUMENT, "a buffer of %llu bytes for a DLC file of %llu",
                     (unsigned long long)size, (unsigned long long)n);
    else
        qrn_dlc_image_copy(image, buf);
    qrn_dlc_image_free(image);
    if (s == QRN_OK)
        *written = n;
    return s;
}

static const qrn_capability capabilities[] = {
#include "backend/ir/capabilities.def"
};

static const qrn_support_table support = {.backend = "IR", .mode = QRN_SUPPORT_SUPERSET};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_IR_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_IR,
    .version_major = QNN_IR_API_VERSION_MAJOR,
    .version_minor = QNN_IR_API_VERSION_MINOR,
    .version_patch = QNN_IR_API_VERSION_PATCH,
    .features = QRN_FEATURE_DEVICE | QRN_FEATURE_CONTEXT_TENSORS | QRN_FEATURE_DYNAMIC_DIMS |
                QRN_FEATURE_SPARSE | QRN_FEATURE_UPDATEABLE | QRN_FEATURE_GRAPH_CONFIG |
                QRN_FEATURE_PRIORITY | QRN_FEATURE_GRAPH_VALIDATE | QRN_FEATURE_OP_PACKAGE |
                QRN_FEATURE_NATIVE_KV,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &support,
    .backend_config = backend_config,
    .device_config = device_config,
    .context_config = context_config,
    .graph_config = graph_config,
    .device_platform = device_platform,
    .backend_create = backend_create,
    .context_create = context_create,
    .context_free = context_free,
    .graph_create = graph_create,
    .graph_free = graph_free,
    .package_register = package_register,
    .package_find = package_find,
    .graph_finalize = graph_finalize,
    .binary_size = binary_size,
    .binary_write = binary_write,
};
