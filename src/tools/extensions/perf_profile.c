// SPDX-License-Identifier: MIT
#include "tools/extensions/perf_profile.h"

#include "frontend/client/vote.h"

#include <string.h>

typedef QnnHtpPerfInfrastructure_PowerConfig_t vote;

#define V(name) DCVS_VOLTAGE_VCORNER_##name
#define MAX V(MAX_VOLTAGE_CORNER)
#define OFF DCVS_VOLTAGE_CORNER_DISABLE
#define X(name) DCVS_EXP_VCORNER_##name
#define HIGH QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH
#define LOW QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW

#define PLAIN(name, us, corner, polls, idle)                                                       \
    { name, true, us, corner, corner, polls, idle, .llm = false }
#define DECODE(name, us, bus, core, polls, idle, hmx, hmx_perf, ceng, ceng_perf, ddr)              \
    {                                                                                              \
        "llm_decode_" name, true, us, bus, core, polls, idle, true, hmx, hmx_perf, ceng,           \
            ceng_perf, ddr                                                                         \
    }

// clang-format off
const qx_profile qx_profiles[] = {
    //    name                          sleep corner       polls  between executions
    PLAIN("burst",                         40, MAX,         true,  QX_KEEP),
    PLAIN("sustained_high_performance",   100, V(TURBO),    true,  QX_KEEP),
    PLAIN("high_performance",             100, V(TURBO),    true,  QX_RELAXED),
    PLAIN("balanced",                    1000, V(NOM_PLUS), false, QX_RELAXED),
    PLAIN("low_balanced",                1000, V(NOM),      false, QX_RELAXED),
    PLAIN("high_power_saver",            1000, V(SVS_PLUS), false, QX_RELEASED),
    PLAIN("power_saver",                 1000, V(SVS),      false, QX_RELEASED),
    PLAIN("low_power_saver",             1000, V(SVS2),     false, QX_RELEASED),
    PLAIN("extreme_power_saver",         1000, OFF,         false, QX_RELEASED),
    PLAIN("default",                     1000, V(NOM_PLUS), false, QX_RELAXED),
    {"system_settings", false, 0, OFF, OFF, false, QX_KEEP, .llm = false},
    //     name, sleep, bus, core, polls, between executions, HMX corner and mode, CENG, DDR mode
    DECODE("burst", 40, MAX, MAX, true, QX_KEEP, X(SVS_L1), HIGH, V(TURBO_PLUS), HIGH, true),
    DECODE("sustained_high_performance", 100, V(TURBO_PLUS), V(NOM), true, QX_KEEP, X(LOW_SVS_D1),
           LOW, V(NOM), HIGH, false),
    DECODE("high_performance", 100, V(TURBO), V(SVS_PLUS), true, QX_RELAXED, X(LOW_SVS_D1), LOW,
           V(NOM), HIGH, false),
    DECODE("balanced", 1000, V(NOM), V(SVS_PLUS), false, QX_RELAXED, X(DISABLE), LOW, V(NOM), HIGH,
           false),
    DECODE("low_balanced", 1000, V(NOM), V(SVS_PLUS), false, QX_RELAXED, X(DISABLE), LOW, V(NOM),
           HIGH, false),
    DECODE("high_power_saver", 1000, V(NOM), V(SVS), false, QX_RELEASED, X(DISABLE), LOW,
           V(SVS_PLUS), LOW, false),
    DECODE("power_saver", 1000, V(SVS_PLUS), V(SVS2), false, QX_RELEASED, X(DISABLE), LOW, V(SVS),
           LOW, false),
    DECODE("low_power_saver", 1000, V(SVS2), OFF, false, QX_RELEASED, X(DISABLE), LOW, V(SVS2), LOW,
           false),
    DECODE("extreme_power_saver", 1000, OFF, OFF, false, QX_RELEASED, X(DISABLE), LOW, OFF, LOW,
           false),
    DECODE("default", 1000, V(NOM), V(SVS_PLUS), false, QX_RELAXED, X(DISABLE), LOW, V(NOM), HIGH,
           false),
};
// clang-format on

int qx_profile_find(const char *name) {
    for (size_t i = 0; i < sizeof qx_profiles / sizeof qx_profiles[0]; i++)
        if (strcmp(qx_profiles[i].name, name) == 0)
            return (int)i;
    return -1;
}

unsigned qx_profile_votes(const qx_profile *p, uint32_t id, vote *out) {
    unsigned n = 0;
    if (!p->votes)
        return 0;
    out[n] = qc_vote_clocks(id, p->core, p->sleep_us, false, false);
    out[n].dcvsV3Config.busVoltageCornerMin = p->bus;
    out[n].dcvsV3Config.busVoltageCornerTarget = p->bus;
    out[n++].dcvsV3Config.busVoltageCornerMax = p->bus;
    if (!p->llm)
        return n;
    out[n++] = (vote){.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2,
                      .hmxV2Config = {0, p->hmx, p->hmx, p->hmx, p->hmx_perf}};
    out[n++] = (vote){.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG,
                      .cengConfig = {p->ceng, p->ceng, p->ceng, p->ceng_perf}};
    return n;
}

vote qx_idle_vote(qx_idle idle, uint32_t id) {
    if (idle == QX_RELEASED)
        return qc_vote_clocks(id, V(MIN_VOLTAGE_CORNER), 65535, true, false);
    vote v = qc_vote_clocks(id, V(SVS), 2000, true, false);
    v.dcvsV3Config.busVoltageCornerMin = V(SVS2);
    v.dcvsV3Config.coreVoltageCornerMin = V(SVS2);
    return v;
}
