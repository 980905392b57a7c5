// SPDX-License-Identifier: MIT
//
// The registry of power config ids and the functions of the performance infrastructure.
#include "backend/htp/power/power.h"

#include "backend/htp/device/device.h"
#include "base/fork.h"
#include "core/services.h"

#include "HTP/QnnHtpDevice.h"

typedef struct client {
    uint32_t id; // 0: free place, but for the null client
    qrn_htp_vote vote;
} client;

// Place 0 is the null client's, which needs no id.
static client clients[QRN_HTP_POWER_IDS_MAX + 1];
static uint32_t last_id;
static qrn_htp_rpc rpc;
static uint32_t grow_bytes;                              // 0: not set
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all of the above
QRN_RENEW_AFTER_FORK(lock);

// The client of an id; NULL when there is none.
static client *find(uint32_t id) {
    if (id == 0)
        return &clients[0];
    for (uint32_t i = 1; i <= QRN_HTP_POWER_IDS_MAX; i++)
        if (clients[i].id == id)
            return &clients[i];
    return NULL;
}

static qrn_status no_id(uint32_t id) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%u is not a power config id", id);
}

static qrn_status check_place(uint32_t device, uint32_t core) {
    qrn_htp_device facts;
    qrn_log_release(qrn_htp_newest_device(&facts));
    if (device != 0 && device != QNN_DEVICE_DEFAULT_DEVICE_ID)
        return QRN_FAIL(QRN_E_ARGUMENT, "power config: device %u, there is only 0", device);
    if (core >= facts.soc.cores && core != QNN_DEVICE_DEFAULT_CORE_ID)
        return QRN_FAIL(QRN_E_ARGUMENT, "power config: core %u, %s has %u", core, facts.soc.name,
                        facts.soc.cores);
    return QRN_OK;
}

static qrn_status new_id(uint32_t *out) {
    client *place = NULL;
    for (uint32_t i = 1; i <= QRN_HTP_POWER_IDS_MAX && !place; i++)
        if (!clients[i].id)
            place = &clients[i];
    if (!place)
        return QRN_FAIL(QRN_E_MEM, "%u power config ids are in use, destroy some",
                        QRN_HTP_POWER_IDS_MAX);
    do // ids come back only after all others were given out
        last_id++;
    while (last_id == 0 || find(last_id));
    *place = (client){.id = last_id};
    *out = last_id;
    return QRN_OK;
}

static Qnn_ErrorHandle_t create_id(uint32_t device, uint32_t core, uint32_t *id) {
    qrn_status s = check_place(device, core);
    if (s == QRN_OK && !id)
        s = QRN_FAIL(QRN_E_ARGUMENT, "power config: no place for the id");
    if (s == QRN_OK) {
        pthread_mutex_lock(&lock);
        s = new_id(id);
        pthread_mutex_unlock(&lock);
    }
    return qrn_api_end(QRN_COMP_PERF, s, NULL);
}

static bool is_empty(const qrn_htp_vote *v) {
    return !v->dcvs.voted && !v->rpc_latency_us && !v->hmx_timeout_us;
}

// The null client cannot be destroyed, but what it voted for can be withdrawn.
static Qnn_ErrorHandle_t destroy_id(uint32_t id) {
    pthread_mutex_lock(&lock);
    client *c = find(id);
    qrn_status s = !c || (id == 0 && is_empty(&c->vote)) ? no_id(id) : QRN_OK;
    if (s == QRN_OK)
        *c = (client){0};
    pthread_mutex_unlock(&lock);
    return qrn_api_end(QRN_COMP_PERF, s, NULL);
}

static void log_dcvs(qrn_api_log *log, uint32_t id, const qrn_htp_dcvs_vote *d) {
    qrn_log(log, QNN_LOG_LEVEL_VERBOSE,
            "power config %u: %s dcvsEnable %d powerMode %u sleepLatency %u sleepDisable %d "
            "busVoltageCornerMin %u busVoltageCornerTarget %u busVoltageCornerMax %u "
            "coreVoltageCornerMin %u coreVoltageCornerTarget %u coreVoltageCornerMax %u",
            id, d->expanded ? "DCVS_V3_EXP" : "DCVS_V3", d->on, d->mode, d->sleep_latency_us,
            d->sleep_disabled, d->bus.min, d->bus.target, d->bus.max, d->core.min, d->core.target,
            d->core.max);
}

// `v` and `r` are what is in force: defaults where nothing was voted for.
static void log_vote(qrn_api_log *log, uint32_t id, const qrn_htp_vote *v, const qrn_htp_rpc *r) {
    if (v->dcvs.voted) {
        log_dcvs(log, id, &v->dcvs);
        qrn_log(log, QNN_LOG_LEVEL_VERBOSE,
                "power config %u: %s hmxVoltageCornerMin %u hmxVoltageCornerTarget %u "
                "hmxVoltageCornerMax %u hmxPerfMode %u",
                id, v->hmx.voted ? "HMX_V2" : "HMX by default", v->hmx.corners.min,
                v->hmx.corners.target, v->hmx.corners.max, v->hmx.perf);
        qrn_log(log, QNN_LOG_LEVEL_VERBOSE,
                "power config %u: %s cengVoltageCornerMin %u cengVoltageCornerTarget %u "
                "cengVoltageCornerMax %u cengPerfMode %u",
                id,
                !v->ceng.voted     ? "CENG by default"
                : v->ceng.expanded ? "CENG_EXP"
                                   : "CENG",
                v->ceng.corners.min, v->ceng.corners.target, v->ceng.corners.max, v->ceng.perf);
    }
    qrn_log(log, QNN_LOG_LEVEL_VERBOSE,
            "power config %u: rpcControlLatency %u hmxTimeoutIntervalUs %u ddrPerfMode %d; of the "
            "process: rpcPollingTime %u adaptivePollingTime %u, modelled core clock %llu Hz",
            id, v->rpc_latency_us, v->hmx_timeout_us, v->ddr, r->polling_us, r->adaptive_us,
            (unsigned long long)qrn_htp_clock_hz());
}

// Under the lock.
static qrn_status vote_for(uint32_t id, const QnnHtpPerfInfrastructure_PowerConfig_t **list,
                           const qrn_htp_device *device) {
    client *c = find(id);
    if (!c)
        return no_id(id);
    uint32_t arch = device->chosen ? device->soc.arch : QRN_HTP_ARCH_ANY;
    return qrn_htp_vote_apply(arch, id, list, &c->vote, &rpc);
}

static Qnn_ErrorHandle_t set_power(uint32_t id,
                                   const QnnHtpPerfInfrastructure_PowerConfig_t **list) {
    qrn_htp_device device;
    qrn_api_log *log = qrn_htp_newest_device(&device);
    pthread_mutex_lock(&lock);
    qrn_status s = vote_for(id, list, &device);
    qrn_htp_rpc process = qrn_htp_rpc_in_force(&rpc);
    qrn_htp_vote vote = {0};
    if (s == QRN_OK)
        vote = qrn_htp_vote_in_force(&find(id)->vote, &rpc);
    pthread_mutex_unlock(&lock);
    if (s == QRN_OK && list)
        log_vote(log, id, &vote, &process);
    Qnn_ErrorHandle_t code = qrn_api_end(QRN_COMP_PERF, s, log);
    qrn_log_release(log);
    return code;
}

// Under the lock.
static qrn_status set_grow_size(const QnnHtpPerfInfrastructure_MemoryConfig_t *option) {
    if (option->option != QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE)
        return QRN_FAIL(QRN_E_CONFIG, "memory config: unknown option %u, allowed GROW_SIZE=1",
                        (unsigned)option->option);
    uint32_t bytes = option->memGrowSizeConfig;
    if (!bytes || (grow_bytes && grow_bytes != bytes))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "memory config: grow size %u bytes; it must not be 0 and is set once per "
                        "backend, now %u",
                        bytes, grow_bytes);
    grow_bytes = bytes;
    return QRN_OK;
}

static Qnn_ErrorHandle_t set_memory(uint32_t device, uint32_t core,
                                    const QnnHtpPerfInfrastructure_MemoryConfig_t **list) {
    qrn_status s = check_place(device, core);
    pthread_mutex_lock(&lock);
    uint32_t before = grow_bytes;
    for (size_t i = 0; s == QRN_OK && list && list[i]; i++)
        s = set_grow_size(list[i]);
    if (s != QRN_OK)
        grow_bytes = before;
    pthread_mutex_unlock(&lock);
    return qrn_api_end(QRN_COMP_PERF, s, NULL);
}

qrn_status qrn_htp_infrastructure(const void **infra) {
    static const QnnHtpDevice_Infrastructure_t table = {
        .infraType = QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF,
        .perfInfra = {create_id, destroy_id, set_power, set_memory},
    };
    *infra = &table;
    return QRN_OK;
}

uint64_t qrn_htp_clock_hz(void) {
    uint64_t hz = 0;
    pthread_mutex_lock(&lock);
    if (clients[0].vote.dcvs.core_voted)
        hz = qrn_htp_dcvs_hz(&clients[0].vote.dcvs);
    for (uint32_t i = 1; !clients[0].vote.dcvs.core_voted && i <= QRN_HTP_POWER_IDS_MAX; i++) {
        const qrn_htp_dcvs_vote *d = &clients[i].vote.dcvs;
        if (clients[i].id && d->core_voted && qrn_htp_dcvs_hz(d) > hz)
            hz = qrn_htp_dcvs_hz(d);
    }
    pthread_mutex_unlock(&lock);
    return hz ? hz : qrn_htp_corner_hz(DCVS_VOLTAGE_VCORNER_NOM, 0);
}

void qrn_htp_power_backend_freed(void) {
    pthread_mutex_lock(&lock);
    grow_bytes = 0;
    pthread_mutex_unlock(&lock);
}

void qrn_htp_power_restart(void) {
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i <= QRN_HTP_POWER_IDS_MAX; i++) {
        qrn_htp_vote old = clients[i].vote, kept = {0};
        if (old.dcvs.expanded)
            kept.dcvs = old.dcvs;
        if (old.dcvs.expanded && old.ceng.expanded)
            kept.ceng = old.ceng;
        clients[i].vote = kept;
    }
    rpc = (qrn_htp_rpc){0};
    grow_bytes = 0;
    pthread_mutex_unlock(&lock);
}
