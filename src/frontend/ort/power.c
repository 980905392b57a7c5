// SPDX-License-Identifier: MIT
//
// Power votes: the modes that provider, run and dynamic options name, as the public provider votes
// for them. A vote holds until the next one; sessions vote under an id of their own.
#include "frontend/ort/ep.h"

#include "frontend/client/vote.h"

typedef QnnHtpPerfInfrastructure_PowerConfig_t power_config;

typedef struct mode {
    QnnHtpPerfInfrastructure_VoltageCorner_t corner;
    uint32_t sleep_us;
    bool follow_load, saver;
    uint32_t polling_us; // of calls; 0: no vote
} mode;

// In the order of qe_performance_modes; "default" votes for nothing.
static const mode modes[] = {
    {0},
    {DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 40, false, false, 9999},
    {DCVS_VOLTAGE_VCORNER_NOM_PLUS, 1000, true, false, 0},
    {DCVS_VOLTAGE_VCORNER_TURBO, 100, false, false, 0},
    {DCVS_VOLTAGE_VCORNER_SVS_PLUS, 1000, true, false, 0},
    {DCVS_VOLTAGE_VCORNER_NOM, 1000, true, false, 0},
    {DCVS_VOLTAGE_VCORNER_SVS2, 1000, true, false, 0},
    {DCVS_VOLTAGE_VCORNER_SVS, 1000, true, false, 0},
    {DCVS_VOLTAGE_CORNER_DISABLE, 1000, true, true, 0},
    {DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 40, false, false, 0},
};

qrn_status qe_power_vote(const qe_ep *ep, int wanted, uint32_t rpc_latency_us) {
    const mode *m = &modes[wanted];
    if (!ep->power.id || (!m->corner && !rpc_latency_us))
        return QRN_OK;
    power_config list[3];
    const power_config *configs[4] = {NULL};
    size_t n = 0;
    if (m->polling_us)
        list[n++] = (power_config){
            .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME,
            .rpcPollingTimeConfig = m->polling_us};
    if (rpc_latency_us)
        list[n++] = (power_config){
            .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY,
            .rpcControlLatencyConfig = rpc_latency_us};
    if (m->corner)
        list[n++] = qc_vote_clocks(ep->power.id, m->corner, m->sleep_us, m->follow_load, m->saver);
    for (size_t i = 0; i < n; i++)
        configs[i] = &list[i];
    return qc_check(ep->client, ep->power.perf.setPowerConfig(ep->power.id, configs),
                    "setPowerConfig");
}

qrn_status qe_power_start(qe_ep *ep) {
    const qc_client *c = ep->client;
    QnnDevice_Infrastructure_t infra = NULL;
    bool has_clocks = ep->backend == QE_BACKEND_HTP && !ep->opt.dump_dlc;
    if (!has_clocks || !c->qnn.deviceGetInfrastructure)
        return QRN_OK;
    QRN_TRY(qc_check(c, c->qnn.deviceGetInfrastructure(&infra), "deviceGetInfrastructure"));
    if (infra->infraType != QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF)
        return QRN_OK;
    ep->power.perf = infra->perfInfra;
    QRN_TRY(qc_check(
        c, ep->power.perf.createPowerConfigId((uint32_t)ep->opt.device_id, 0, &ep->power.id),
        "createPowerConfigId"));
    return qe_power_vote(ep, ep->opt.performance_mode, (uint32_t)ep->opt.rpc_latency);
}

void qe_power_end(qe_ep *ep) {
    if (ep->power.id)
        ep->power.perf.destroyPowerConfigId(ep->power.id);
    ep->power.id = 0;
}
