// SPDX-License-Identifier: MIT
//
// libQnnHtpNetRunExtensions.so: the HTP's extension behind include/Quern/NetRunExtensions.h. A
// handle holds the file's values, the options made of them, and the votes of a performance profile.
#include "tools/extensions/htp_config.h"

#include "base/arena.h"
#include "base/soc.h"

#include "HTP/QnnHtpCommon.h"
#include "HTP/QnnHtpProfile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

typedef QnnHtpPerfInfrastructure_PowerConfig_t vote;

#define MAX_CORES 64
#define POLLING_US 9999
#define LATENCY_US 100
#define HMX_TIMEOUT_US 300000

// One core's votes.
typedef struct core {
    uint32_t id; // power config id; 0: none
    const qx_profile *profile;
    const qx_core *asked; // or NULL: defaults
} core;

typedef struct extension {
    qrn_arena *arena;
    qx_config config;
    QuernExtension_Facts_t facts;
    int patch_fd;
    const QnnDevice_Config_t **device;
    const QnnContext_Config_t **contexts[3];
    const QnnGraph_Config_t ***graphs; // one list for each object of `graphs`
    const char *override;              // name of a profile
    const QNN_INTERFACE_VER_TYPE *qnn;
    QnnHtpDevice_PerfInfrastructure_t perf;
    core cores[MAX_CORES];
    uint32_t n_cores;
    pthread_mutex_t lock; // guards the counts below and the votes that follow from them
    unsigned busy[3];     // begin without end, by phase
} extension;

static Qnn_ErrorHandle_t code_of(qrn_status s) {
    return s == QRN_OK      ? QNN_SUCCESS
           : s == QRN_E_MEM ? QNN_COMMON_ERROR_MEM_ALLOC
                            : QNN_COMMON_ERROR_INVALID_ARGUMENT;
}

// --- making

static void set_facts(extension *e) {
    const qx_config *c = &e->config;
    const qx_device *d = c->devices.n ? &c->devices.items[0] : NULL;
    QuernExtension_Facts_t *f = &e->facts;
    if (d) {
        f->socModel = (uint32_t)(d->soc_model.given ? d->soc_model.v : d->soc_id.v);
        f->dspArch = d->arch.given ? qx_arch_numbers[d->arch.v] : 0;
        f->deviceId = (uint32_t)d->device_id.v;
        f->profilingLevel = d->profiling.given ? QNN_HTP_PROFILE_LEVEL_LINTING : 0;
    }
    f->sharesIoBuffer = c->memory.type.given;
    f->hasGroup = c->context.group_id.given;
    f->groupId = (uint32_t)c->context.group_id.v;
    f->groupSpillFill = f->groupId == 0 ? (uint64_t)c->context.spill_fill.v : 0;
}

static uint32_t arch_of(const extension *e) {
    const qrn_soc *soc = e->facts.socModel ? qrn_soc_by_id(e->facts.socModel) : NULL;
    return soc ? soc->arch : e->facts.dspArch;
}

// The profile of a core: the program's, else the file's, else the default.
static qrn_status choose_profile(const extension *e, const qx_core *asked, const qx_profile **out) {
    int at = asked && asked->profile.given ? (int)asked->profile.v : QX_HIGH_PERFORMANCE;
    if (e->override && (at = qx_profile_find(e->override)) < 0)
        return QRN_FAIL(QRN_E_CONFIG, "performance profile '%s': expected one of %s", e->override,
                        QX_PROFILES);
    *out = &qx_profiles[at];
    if ((*out)->llm && arch_of(e) < 79)
        return QRN_FAIL(QRN_E_CONFIG,
                        "performance profile '%s' needs a SoC of v79 or later: name one by "
                        "'soc_model' or 'dsp_arch' in 'devices'",
                        (*out)->name);
    return QRN_OK;
}

static qrn_status add_core(extension *e, const qx_core *asked) {
    core c = {.asked = asked};
    if (e->n_cores == MAX_CORES)
        return QRN_FAIL(QRN_E_CONFIG, "more than %d cores", MAX_CORES);
    QRN_TRY(choose_profile(e, asked, &c.profile));
    e->cores[e->n_cores++] = c;
    return QRN_OK;
}

static qrn_status list_cores(extension *e) {
    const qx_device *d = e->config.devices.n ? &e->config.devices.items[0] : NULL;
    if (!d || !d->cores.n)
        return add_core(e, NULL);
    for (uint32_t i = 0; i < d->cores.n; i++)
        QRN_TRY(add_core(e, &d->cores.items[i]));
    return QRN_OK;
}

static qrn_status open_patch(extension *e) {
    const char *path = e->config.context.patch;
    if (!path)
        return QRN_OK;
    e->patch_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (e->patch_fd < 0)
        return QRN_FAIL(QRN_E_NOT_FOUND, "concurrent_deserialization_patch %s: %s", path,
                        strerror(errno));
    return QRN_OK;
}

static qrn_status make_options(extension *e) {
    const qx_config *c = &e->config;
    e->graphs = qrn_arena_alloc(e->arena, (c->graphs.n + 1) * sizeof *e->graphs);
    if (!e->graphs)
        return QRN_FAIL(QRN_E_MEM, "no memory for options");
    for (uint32_t i = 0; i < c->graphs.n; i++)
        QRN_TRY(qx_graph_options(&c->graphs.items[i], e->arena, &e->graphs[i]));
    for (int kind = 0; kind < 3; kind++)
        QRN_TRY(qx_context_options(c, (QuernExtension_ContextKind_t)kind, e->patch_fd, e->arena,
                                   &e->contexts[kind]));
    return c->devices.n ? qx_device_options(&c->devices.items[0], e->arena, &e->device) : QRN_OK;
}

static qrn_status start(extension *e, const QuernExtension_Options_t *o) {
    if (o->configFile)
        QRN_TRY(qx_config_read(o->configFile, e->arena, &e->config));
    if (o->perfProfile && !(e->override = qrn_arena_strdup(e->arena, o->perfProfile)))
        return QRN_FAIL(QRN_E_MEM, "no memory for an extension");
    set_facts(e);
    QRN_TRY(open_patch(e));
    QRN_TRY(list_cores(e));
    return make_options(e);
}

static void release(QuernExtension_Handle_t handle) {
    extension *e = handle;
    if (!e)
        return;
    for (uint32_t i = 0; i < e->n_cores; i++)
        if (e->cores[i].id)
            e->perf.destroyPowerConfigId(e->cores[i].id);
    if (e->patch_fd >= 0)
        close(e->patch_fd);
    pthread_mutex_destroy(&e->lock);
    qrn_arena_destroy(e->arena);
}

static Qnn_ErrorHandle_t create(const QuernExtension_Options_t *options,
                                QuernExtension_Handle_t *out) {
    qrn_arena *arena = qrn_arena_create();
    extension *e = arena ? qrn_arena_alloc(arena, sizeof *e) : NULL;
    if (!e) {
        qrn_arena_destroy(arena);
        return code_of(QRN_FAIL(QRN_E_MEM, "no memory for an extension"));
    }
    e->arena = arena;
    e->patch_fd = -1;
    pthread_mutex_init(&e->lock, NULL);
    qrn_status s = start(e, options);
    if (s == QRN_OK)
        *out = e;
    else
        release(e);
    return code_of(s);
}

// --- asking

static void get_facts(QuernExtension_Handle_t handle, QuernExtension_Facts_t *facts) {
    *facts = ((const extension *)handle)->facts;
}

static const QnnDevice_Config_t **device_configs(QuernExtension_Handle_t handle) {
    return ((const extension *)handle)->device;
}

static const QnnContext_Config_t **context_configs(QuernExtension_Handle_t handle,
                                                   QuernExtension_ContextKind_t kind) {
    return (unsigned)kind < 3 ? ((const extension *)handle)->contexts[kind] : NULL;
}

static const QnnGraph_Config_t **graph_configs(QuernExtension_Handle_t handle, const char *name) {
    const extension *e = handle;
    for (uint32_t i = 0; i < e->config.graphs.n; i++)
        for (uint32_t k = 0; k < e->config.graphs.items[i].names.n; k++)
            if (qs_same_name(name, e->config.graphs.items[i].names.items[k]))
                return e->graphs[i];
    return NULL;
}

// --- votes

static qrn_status send(const extension *e, const core *c, const vote *list, unsigned n) {
    const vote *pointers[QX_MAX_VOTES + 1] = {NULL};
    for (unsigned i = 0; i < n; i++)
        pointers[i] = &list[i];
    Qnn_ErrorHandle_t code = n ? e->perf.setPowerConfig(c->id, pointers) : QNN_SUCCESS;
    if (code == QNN_SUCCESS)
        return QRN_OK;
    return QRN_FAIL(QRN_E_GENERAL, "performance profile '%s': setPowerConfig: error %llu",
                    c->profile->name, (unsigned long long)QNN_GET_ERROR_CODE(code));
}

// Votes that last as long as the program. Polling by default is left out where a chip lacks it.
static qrn_status send_lasting(const extension *e, const core *c) {
    const qx_core *a = c->asked;
    bool asked = a && a->polling_us.given;
    uint32_t polling = asked ? (uint32_t)a->polling_us.v : c->profile->polls ? POLLING_US : 0;
    if (!c->profile->votes)
        return QRN_OK;
    const vote latency = {.option =
                              QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY,
                          .rpcControlLatencyConfig =
                              a && a->latency_us.given ? (uint32_t)a->latency_us.v : LATENCY_US};
    const vote poll = {.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME,
                       .rpcPollingTimeConfig = polling};
    const vote hmx = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US,
        .hmxTimeoutIntervalUsConfig =
            a && a->hmx_timeout_us.given ? (uint32_t)a->hmx_timeout_us.v : HMX_TIMEOUT_US};
    const vote adaptive = {.option =
                               QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_ADAPTIVE_POLLING_TIME,
                           .adaptivePollingTimeConfig = a ? (uint32_t)a->adaptive_us.v : 0};
    QRN_TRY(send(e, c, &latency, 1));
    QRN_TRY(send(e, c, &hmx, 1));
    qrn_status s = asked || polling ? send(e, c, &poll, 1) : QRN_OK;
    if (s != QRN_OK && asked)
        return s;
    return adaptive.adaptivePollingTimeConfig ? send(e, c, &adaptive, 1) : QRN_OK;
}

static qrn_status raise_votes(const extension *e, const core *c) {
    vote list[QX_MAX_VOTES];
    unsigned n = qx_profile_votes(c->profile, c->id, list);
    QRN_TRY(send(e, c, list, n));
    const vote ddr = {.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE,
                      .ddrPerfModeConfig = 1};
    if (c->profile->ddr && arch_of(e) >= 81) // chips that have the mode
        return send(e, c, &ddr, 1);
    return QRN_OK;
}

static uint32_t core_number(const extension *e, uint32_t i) {
    const qx_core *a = e->cores[i].asked;
    const qx_device *d = e->config.devices.n ? &e->config.devices.items[0] : NULL;
    if (a && a->id.n)
        return (uint32_t)a->id.items[0];
    return d && i < d->core_id.n ? (uint32_t)d->core_id.items[i] : 0;
}

static qrn_status attach_all(extension *e, const QNN_INTERFACE_VER_TYPE *qnn) {
    QnnDevice_Infrastructure_t infra = NULL;
    if (!qnn->deviceGetInfrastructure || qnn->deviceGetInfrastructure(&infra) != QNN_SUCCESS ||
        infra->infraType != QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "the backend has no power infrastructure of an HTP: use "
                                           "libQnnHtp.so, or no backend extension");
    e->perf = infra->perfInfra;
    for (uint32_t i = 0; i < e->n_cores; i++) {
        core *c = &e->cores[i];
        uint32_t number = core_number(e, i);
        Qnn_ErrorHandle_t code = e->perf.createPowerConfigId(e->facts.deviceId, number, &c->id);
        if (code != QNN_SUCCESS)
            return QRN_FAIL(QRN_E_CONFIG,
                            "core_id %u of device %u: createPowerConfigId: error %llu", number,
                            e->facts.deviceId, (unsigned long long)QNN_GET_ERROR_CODE(code));
        QRN_TRY(send_lasting(e, c));
    }
    return QRN_OK;
}

static Qnn_ErrorHandle_t attach(QuernExtension_Handle_t handle, const QNN_INTERFACE_VER_TYPE *qnn) {
    return code_of(attach_all(handle, qnn));
}

static qrn_status begin_phase(extension *e, QuernExtension_Phase_t phase) {
    bool first = !(e->busy[0] + e->busy[1] + e->busy[2]);
    e->busy[phase]++;
    for (uint32_t i = 0; i < e->n_cores && first; i++)
        if (e->cores[i].id)
            QRN_TRY(raise_votes(e, &e->cores[i]));
    return QRN_OK;
}

// Burst and its like keep the vote from one execution to the next; every other phase ends it.
static qrn_status end_phase(extension *e, QuernExtension_Phase_t phase) {
    e->busy[phase] -= e->busy[phase] > 0;
    if (e->busy[0] + e->busy[1] + e->busy[2])
        return QRN_OK;
    for (uint32_t i = 0; i < e->n_cores; i++) {
        const core *c = &e->cores[i];
        bool keep = phase == QUERN_EXTENSION_PHASE_EXECUTE && c->profile->idle == QX_KEEP;
        if (!c->id || !c->profile->votes || keep)
            continue;
        vote v = qx_idle_vote(c->profile->idle, c->id);
        QRN_TRY(send(e, c, &v, 1));
    }
    return QRN_OK;
}

static Qnn_ErrorHandle_t begin(QuernExtension_Handle_t handle, QuernExtension_Phase_t phase) {
    extension *e = handle;
    if ((unsigned)phase > 2)
        return code_of(QRN_FAIL(QRN_E_ARGUMENT, "phase %d, expected 0 to 2", (int)phase));
    pthread_mutex_lock(&e->lock);
    qrn_status s = begin_phase(e, phase);
    pthread_mutex_unlock(&e->lock);
    return code_of(s);
}

static Qnn_ErrorHandle_t end(QuernExtension_Handle_t handle, QuernExtension_Phase_t phase) {
    extension *e = handle;
    if ((unsigned)phase > 2)
        return code_of(QRN_FAIL(QRN_E_ARGUMENT, "phase %d, expected 0 to 2", (int)phase));
    pthread_mutex_lock(&e->lock);
    qrn_status s = end_phase(e, phase);
    pthread_mutex_unlock(&e->lock);
    return code_of(s);
}

__attribute__((visibility("default"))) const QuernExtension_Interface_t *
QuernNetRunExtensions_getInterface(void);
const QuernExtension_Interface_t *QuernNetRunExtensions_getInterface(void) {
    static const QuernExtension_Interface_t table = {
        .version = QUERN_NET_RUN_EXTENSIONS_VERSION,
        .create = create,
        .free = release,
        .message = qrn_message,
        .getFacts = get_facts,
        .getDeviceConfigs = device_configs,
        .getContextConfigs = context_configs,
        .getGraphConfigs = graph_configs,
        .attach = attach,
        .begin = begin,
        .end = end,
    };
    return &table;
}
