// SPDX-License-Identifier: MIT
//
// Performance profiles: the table, the votes that follow from a row, and the moments to send them.
#include "backend/htp/power/perf_profiles.h"

#include <stddef.h>
#include <string.h>

enum { ARCH_POLLING = 69, ARCH_LLM = 79, ARCH_DDR = 81 };

// Two corners of the API have longer names than the others.
#define DCVS_VOLTAGE_VCORNER_MIN DCVS_VOLTAGE_VCORNER_MIN_VOLTAGE_CORNER
#define DCVS_VOLTAGE_VCORNER_MAX DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER
#define DCVS_VOLTAGE_VCORNER_DISABLE DCVS_VOLTAGE_CORNER_DISABLE
#define AT(corner) DCVS_VOLTAGE_VCORNER_##corner
#define CLOCK(mode) QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_##mode

static const qrn_htp_perf_profile profiles[] = {
#define PROFILE(n, sleep, on, poll, bus0, bus1, core0, core1, between)                             \
    {.name = n,                                                                                    \
     .sleep_us = sleep,                                                                            \
     .dcvs_on = on,                                                                                \
     .polls = poll,                                                                                \
     .bus_min = AT(bus0),                                                                          \
     .bus_top = AT(bus1),                                                                          \
     .core_min = AT(core0),                                                                        \
     .core_top = AT(core1),                                                                        \
     .idle = QRN_HTP_IDLE_##between},
#define LLM(n, sleep, poll, bus, core, hmx_at, hmx_clock, ceng_at, ceng_clock, fast_ddr, between)  \
    {.name = n,                                                                                    \
     .sleep_us = sleep,                                                                            \
     .polls = poll,                                                                                \
     .bus_min = AT(bus),                                                                           \
     .bus_top = AT(bus),                                                                           \
     .core_min = AT(core),                                                                         \
     .core_top = AT(core),                                                                         \
     .idle = QRN_HTP_IDLE_##between,                                                               \
     .llm = true,                                                                                  \
     .hmx = DCVS_EXP_VCORNER_##hmx_at,                                                             \
     .hmx_perf = CLOCK(hmx_clock),                                                                 \
     .ceng = AT(ceng_at),                                                                          \
     .ceng_perf = CLOCK(ceng_clock),                                                               \
     .ddr = fast_ddr},
#define STATE(...)
#include "backend/htp/power/perf_profiles.def"
#undef STATE
#undef LLM
#undef PROFILE
};
#define N_PROFILES (sizeof profiles / sizeof profiles[0])

static const qrn_htp_perf_profile states[] = {
#define PROFILE(...)
#define LLM(...)
#define STATE(n, sleep, on, poll, bus0, bus1, core0, core1)                                        \
    [QRN_HTP_IDLE_##n] = {.name = #n,                                                              \
                          .sleep_us = sleep,                                                       \
                          .dcvs_on = on,                                                           \
                          .polls = poll,                                                           \
                          .bus_min = AT(bus0),                                                     \
                          .bus_top = AT(bus1),                                                     \
                          .core_min = AT(core0),                                                   \
                          .core_top = AT(core1),                                                   \
                          .idle = QRN_HTP_IDLE_##n},
#include "backend/htp/power/perf_profiles.def"
#undef STATE
#undef LLM
#undef PROFILE
};

const qrn_htp_perf_profile *qrn_htp_perf_profile_at(uint32_t i) {
    return i < N_PROFILES ? &profiles[i] : NULL;
}

qrn_status qrn_htp_perf_profile_by_name(const char *name, uint32_t arch,
                                        const qrn_htp_perf_profile **out) {
    static const struct {
        const char *name, *means; // NULL: no votes
    } others[] = {{"default", "balanced"},
                  {"llm_decode_default", "llm_decode_balanced"},
                  {"system_settings", NULL}};
    for (size_t i = 0; name && i < sizeof others / sizeof others[0]; i++)
        if (strcmp(name, others[i].name) == 0)
            name = others[i].means;
    if (!name) {
        *out = NULL;
        return QRN_OK;
    }
    const qrn_htp_perf_profile *found = NULL;
    for (size_t i = 0; i < N_PROFILES && !found; i++)
        if (strcmp(name, profiles[i].name) == 0)
            found = &profiles[i];
    if (!found)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "performance profile '%s' does not exist; expected one such as burst, "
                        "high_performance, balanced, power_saver, system_settings",
                        name);
    if (found->llm && arch < ARCH_LLM)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "performance profile '%s' needs architecture 79, the device has %u", name,
                        arch);
    *out = found;
    return QRN_OK;
}

const qrn_htp_perf_profile *qrn_htp_perf_idle(qrn_htp_idle state) {
    return &states[state == QRN_HTP_IDLE_KEEP ? QRN_HTP_IDLE_RELAXED : state];
}

static void dcvs_vote(const qrn_htp_perf_profile *p, uint32_t id,
                      QnnHtpPerfInfrastructure_PowerConfig_t *c) {
    typedef QnnHtpPerfInfrastructure_VoltageCorner_t corner;
    c->option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3;
    c->dcvsV3Config = (QnnHtpPerfInfrastructure_DcvsV3_t){
        .contextId = id,
        .setDcvsEnable = 1,
        .dcvsEnable = p->dcvs_on,
        .powerMode = p->dcvs_on ? QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE
                                : QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
        .setSleepLatency = 1,
        .sleepLatency = p->sleep_us,
        .setBusParams = 1,
        .busVoltageCornerMin = (corner)p->bus_min,
        .busVoltageCornerTarget = (corner)p->bus_top,
        .busVoltageCornerMax = (corner)p->bus_top,
        .setCoreParams = 1,
        .coreVoltageCornerMin = (corner)p->core_min,
        .coreVoltageCornerTarget = (corner)p->core_top,
        .coreVoltageCornerMax = (corner)p->core_top,
    };
}

static void llm_votes(const qrn_htp_perf_profile *p, QnnHtpPerfInfrastructure_PowerConfig_t *hmx,
                      QnnHtpPerfInfrastructure_PowerConfig_t *ceng) {
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t e =
        (QnnHtpPerfInfrastructure_ExpVoltageCorner_t)p->hmx;
    QnnHtpPerfInfrastructure_VoltageCorner_t v = (QnnHtpPerfInfrastructure_VoltageCorner_t)p->ceng;
    hmx->option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2;
    hmx->hmxV2Config = (QnnHtpPerfInfrastructure_HmxV2_t){
        0, e, e, e, (QnnHtpPerfInfrastructure_ClkPerfMode_t)p->hmx_perf};
    ceng->option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG;
    ceng->cengConfig = (QnnHtpPerfInfrastructure_Ceng_t){
        v, v, v, (QnnHtpPerfInfrastructure_ClkPerfMode_t)p->ceng_perf};
}

uint32_t qrn_htp_perf_votes(const qrn_htp_perf_profile *p, uint32_t id, uint32_t arch,
                            QnnHtpPerfInfrastructure_PowerConfig_t votes[QRN_HTP_PERF_VOTES_MAX]) {
    uint32_t n = 0;
    memset(votes, 0, QRN_HTP_PERF_VOTES_MAX * sizeof votes[0]);
    dcvs_vote(p, id, &votes[n++]);
    if (arch >= ARCH_POLLING) {
        votes[n].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME;
        votes[n++].rpcPollingTimeConfig = p->polls ? QRN_HTP_PERF_POLLING_US : 0;
    }
    if (p->llm) {
        llm_votes(p, &votes[n], &votes[n + 1]);
        n += 2;
    }
    if (p->llm && arch >= ARCH_DDR) {
        votes[n].option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE;
        votes[n++].ddrPerfModeConfig = p->ddr;
    }
    return n;
}

static const qrn_htp_perf_profile *change_to(qrn_htp_perf_session *s,
                                             const qrn_htp_perf_profile *p) {
    s->lower_at_us = 0;
    if (s->voted == p)
        return NULL;
    s->voted = p;
    return p;
}

const qrn_htp_perf_profile *qrn_htp_perf_begin(qrn_htp_perf_session *s, qrn_htp_phase phase) {
    (void)phase; // every phase is worth the profile
    return change_to(s, s->profile);
}

const qrn_htp_perf_profile *qrn_htp_perf_end(qrn_htp_perf_session *s, qrn_htp_phase phase,
                                             uint64_t now_us) {
    if (!s->profile)
        return NULL;
    if (s->profile->idle == QRN_HTP_IDLE_KEEP && phase == QRN_HTP_PHASE_INFERENCE) {
        s->lower_at_us = now_us + QRN_HTP_PERF_KEEP_US;
        return NULL;
    }
    return change_to(s, qrn_htp_perf_idle(s->profile->idle));
}

const qrn_htp_perf_profile *qrn_htp_perf_tick(qrn_htp_perf_session *s, uint64_t now_us) {
    if (!s->lower_at_us || now_us < s->lower_at_us)
        return NULL;
    return change_to(s, qrn_htp_perf_idle(s->profile->idle));
}
