// SPDX-License-Identifier: MIT
//
// One table of modes, and the two calls that make a vote.
#include "frontend/executorch/vote.h"

#include "frontend/client/vote.h"

#define RPC_LATENCY_US 100
#define POLLING_US QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIG_MAX_RPC_POLLING_TIME
#define AT_THE_END_US 2000

typedef struct mode {
    uint32_t sleep_us;
    QnnHtpPerfInfrastructure_VoltageCorner_t corner;
    uint32_t polling_us;
} mode;

// By their numbers in the format.
static const mode modes[] = {
    {0},
    {100, DCVS_VOLTAGE_VCORNER_TURBO, POLLING_US},             // sustained high performance
    {40, DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, POLLING_US}, // burst
    {100, DCVS_VOLTAGE_VCORNER_TURBO, POLLING_US},             // high performance
    {1000, DCVS_VOLTAGE_VCORNER_SVS, 0},                       // power saver
    {1000, DCVS_VOLTAGE_VCORNER_SVS2, 0},                      // low power saver
    {1000, DCVS_VOLTAGE_VCORNER_SVS_PLUS, 0},                  // high power saver
    {1000, DCVS_VOLTAGE_VCORNER_NOM, 0},                       // low balanced
    {1000, DCVS_VOLTAGE_VCORNER_NOM_PLUS, 0},                  // balanced
};
enum { N_MODES = sizeof modes / sizeof modes[0] };

typedef QnnHtpPerfInfrastructure_PowerConfig_t power;

qrn_status et_vote_cast(const qc_client *c, int number, et_vote *out) {
    if (number == 0)
        return QRN_OK;
    if (number < 0 || number >= N_MODES)
        return QRN_FAIL(QRN_E_ARGUMENT, "performance mode %d, expected 0 to %d", number,
                        N_MODES - 1);
    const mode *m = &modes[number];
    QnnDevice_Infrastructure_t infra = NULL;
    QRN_TRY(qc_check(c, c->qnn.deviceGetInfrastructure(&infra), "deviceGetInfrastructure"));
    if (infra->infraType != QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "device infrastructure of type %u, expected PERF",
                        (unsigned)infra->infraType);
    et_vote v = {.perf = &infra->perfInfra};
    QRN_TRY(qc_check(c, v.perf->createPowerConfigId(0, 0, &v.id), "createPowerConfigId"));
    power clock = qc_vote_clocks(v.id, m->corner, m->sleep_us, false, false);
    power latency = {.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY};
    power polling = {.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME};
    latency.rpcControlLatencyConfig = RPC_LATENCY_US;
    polling.rpcPollingTimeConfig = m->polling_us;
    const power *first[] = {&clock, NULL}, *second[] = {&latency, &polling, NULL};
    v.perf->setPowerConfig(v.id, first);
    v.perf->setPowerConfig(v.id, second);
    *out = v;
    return QRN_OK;
}

void et_vote_withdraw(et_vote *v) {
    if (!v->perf)
        return;
    power clock = qc_vote_clocks(v->id, DCVS_VOLTAGE_VCORNER_SVS2, AT_THE_END_US, true, true);
    const power *list[] = {&clock, NULL};
    v->perf->setPowerConfig(v->id, list);
    v->perf->destroyPowerConfigId(v->id);
    *v = (et_vote){0};
}
