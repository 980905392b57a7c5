// SPDX-License-Identifier: MIT
//
// The Saver: accepts every call that some backend accepts, executes nothing and writes the calls
// down. Checks of arguments, handles, graphs and ops are the core's; this file is its policy, which
// rejects nothing of its own, and QnnSaver_initialize.
#include "backend/saver/saver.h"

#include "base/mem.h"
#include "core/services.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpMem.h"
#include "QnnProperty.h"
#include "Saver/QnnSaverCommon.h"

#include <sys/mman.h>
#include <sys/stat.h>

// --- Policy

static qrn_status backend_create(qrn_api_backend *b) {
    qrn_dump_disable(b); // there are no tensors to write
    return QRN_OK;
}

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
    (void)g;
    (void)phase;
    (void)custom;
    (void)n;
    return QRN_OK;
}

static qrn_status device_platform(qrn_api_device *d, const void *info) {
    (void)d;
    (void)info;
    return QRN_OK;
}

// Packages are of the machine that will replay: they are not opened here, so any name may be one of
// theirs.
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

// Nobody will read the data of constants again.
static void drop_data(qrn_api_context *c, qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        qrn_tensor *t = g->tensors[i];
        if (t->role != QRN_ROLE_STATIC || t->updateable)
            continue;
        qrn_context_drop_data(c, t->data);
        t->data = NULL;
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        drop_data(c, g->subgraphs[i]);
}

static qrn_status graph_finalize(qrn_api_graph *g, const qrn_finalize_options *opt) {
    (void)opt;
    drop_data(g->context, g->ir);
    return QRN_OK;
}

static qrn_status graph_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    (void)g;
    (void)io;
    (void)opt;
    return QRN_OK;
}

static void record(struct qrn_api_profile *p, const qrn_call_record *r) {
    (void)p;
    (void)r;
}

static bool profile_level(uint32_t level) {
    (void)level;
    return true;
}

static qrn_status global_config(const void *config) {
    (void)config;
    return QRN_OK;
}

// Maps what can be mapped, to have the bytes of inputs. Memory that this machine cannot see is
// fine: then there are no bytes.
static void map(qrn_api_mem *m, int fd, uint64_t offset) {
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < 0 || (uint64_t)st.st_size < offset ||
        (uint64_t)st.st_size - offset < m->size_bytes)
        return;
    size_t n = (size_t)offset + m->size_bytes;
    void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return;
    m->impl = p;
    m->memory = (qrn_memory){.kind = QRN_MEMORY_SHARED, .host = (char *)p + offset};
}

static qrn_status mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor) {
    (void)c;
    const Qnn_MemDescriptor_t *d = descriptor;
    const QnnMemHtp_Descriptor_t *h = d->customInfo;
    if (d->memType == QNN_MEM_TYPE_ION || d->memType == QNN_MEM_TYPE_DMA_BUF) {
        map(m, m->fd, 0);
    } else if (d->memType == QNN_MEM_TYPE_CUSTOM) {
        if (!h)
            return QRN_FAIL(QRN_E_MAPPING, "memory of type CUSTOM without a descriptor");
        if (qrn_saver_options_now()->backend_id == QNN_BACKEND_ID_HTP &&
            h->type != QNN_HTP_MEM_QURT)
            map(m, h->sharedBufferConfig.fd, h->sharedBufferConfig.offset);
    }
    return QRN_OK;
}

static void mem_unmap(qrn_api_mem *m) {
    if (m->impl)
        munmap(m->impl, (size_t)((char *)m->memory.host - (char *)m->impl) + m->size_bytes);
}

// Binaries are never read.
static qrn_status binary_load(qrn_api_context *c, const qrn_binary_source *source) {
    (void)source;
    qrn_free(c->enable_graphs); // its names cannot be looked up
    c->enable_graphs = NULL;
    return QRN_OK;
}

static qrn_status binary_validate(qrn_api_context *c, const void *buf, uint64_t size) {
    (void)c;
    (void)buf;
    (void)size;
    return QRN_OK;
}

static qrn_status section_apply(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                                const void *buf, uint64_t size) {
    (void)c;
    (void)g;
    (void)section;
    (void)buf;
    (void)size;
    return QRN_OK;
}

// Clients get the recorder's functions, which know the core's.
static void interface_table(void *table) {
    *qrn_saver_core() = *(QNN_INTERFACE_VER_TYPE *)table;
    qrn_saver_specials(qrn_saver_core());
    qrn_saver_fill(table);
}

static const qrn_capability capabilities[] = {
#include "backend/saver/capabilities.def"
};

static const qrn_support_table support = {.backend = "Saver", .mode = QRN_SUPPORT_SUPERSET};

const qrn_backend qrn_this_backend = {
    .provider_name = QNN_SAVER_INTERFACE_PROVIDER_NAME,
    .id = QNN_BACKEND_ID_SAVER,
    .version_major = QNN_SAVER_API_VERSION_MAJOR,
    .version_minor = QNN_SAVER_API_VERSION_MINOR,
    .version_patch = QNN_SAVER_API_VERSION_PATCH,
    .features = ~0u,
    .capabilities = capabilities,
    .n_capabilities = sizeof capabilities / sizeof capabilities[0],
    .support = &support,
    .backend_config = backend_config,
    .device_config = device_config,
    .context_config = context_config,
    .graph_config = graph_config,
    .device_platform = device_platform,
    .backend_create = backend_create,
    .package_register = package_register,
    .package_find = package_find,
    .graph_finalize = graph_finalize,
    .graph_execute = graph_execute,
    .record = record,
    .profile_level = profile_level,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
    .binary_load = binary_load,
    .binary_validate = binary_validate,
    .section_apply = section_apply,
    .interface_table = interface_table,
    .global_config = global_config,
};

// --- Options

static qrn_status take_text(char **to, const char *text, const char *what) {
    if (!text || !*text)
        return QRN_FAIL(QRN_E_ARGUMENT, "saver: option %s without a name", what);
    qrn_free(*to);
    *to = qrn_strdup(text);
    return *to ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for a path");
}

static qrn_status take_option(qrn_saver_options *o, const QnnSaver_Config_t *c) {
    switch (c->option) {
    case QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY:
        return take_text(&o->folder, c->outputDirectory, "OUTPUT_DIRECTORY");
    case QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP:
        o->timestamp = c->appendTimestamp != 0;
        return QRN_OK;
    case QNN_SAVER_CONFIG_OPTION_BACKEND_ID:
        o->backend_id = c->backendId;
        return QRN_OK;
    case QNN_SAVER_CONFIG_OPTION_FILE_CONFIG:
        if (c->fileConfig.modelFileName)
            QRN_TRY(take_text(&o->source, c->fileConfig.modelFileName, "FILE_CONFIG"));
        if (c->fileConfig.dataFileName)
            QRN_TRY(take_text(&o->data, c->fileConfig.dataFileName, "FILE_CONFIG"));
        return QRN_OK;
    case QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER:
        o->no_header = c->writeOutputHeader == 0;
        return QRN_OK;
    case QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER:
        o->no_footer = c->writeOutputFooter == 0;
        return QRN_OK;
    default:
        return QRN_FAIL(QRN_E_ARGUMENT, "saver: unknown option %d", (int)c->option);
    }
}

// Can the options still change? A recording that has ended makes room for a new one.
static bool is_free(void) {
    if (!qrn_saver_is_open())
        return true;
    for (int i = 0; i < QRN_SAVER_OBJECTS; i++)
        if (qrn_saver_count((qrn_saver_object)i))
            return false;
    qrn_saver_close();
    qrn_saver_record_restart();
    qrn_saver_forget_all();
    return true;
}

static Qnn_ErrorHandle_t initialize(const QnnSaver_Config_t **config) {
    qrn_saver_options o;
    qrn_saver_options_default(&o);
    qrn_status s = config ? QRN_OK : QRN_FAIL(QRN_E_ARGUMENT, "saver: the list of options is NULL");
    for (size_t i = 0; s == QRN_OK && config[i]; i++)
        s = take_option(&o, config[i]);
    if (s != QRN_OK || !is_free()) {
        qrn_saver_options_clear(&o);
        if (s == QRN_OK)
            return qrn_api_end_as(QNN_SAVER_ERROR_ALREADY_INSTANTIATED,
                                  QRN_FAIL(QRN_E_IN_USE, "saver: a recording is under way, set "
                                                         "options before a backend is made"),
                                  qrn_saver_log());
        return qrn_api_end(QRN_COMP_COMMON, s, qrn_saver_log());
    }
    qrn_saver_options *now = qrn_saver_options_now();
    qrn_saver_options_clear(now);
    *now = o;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSaver_initialize(const QnnSaver_Config_t **config) {
    qrn_saver_lock();
    Qnn_ErrorHandle_t code = initialize(config);
    qrn_saver_unlock();
    return code;
}
