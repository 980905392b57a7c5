// SPDX-License-Identifier: MIT
//
// The rules of power votes.
#include "backend/htp/power/power_vote.h"

#include <stddef.h>

enum {
    SLEEP_MIN_US = 10,
    SLEEP_MAX_US = 65535,
    PERF_MAX = 0xFF,
    EXPANDED_MIN = 0x100,
    EXPANDED_MAX = 0xFFFF,
    POLLING_MAX_US = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIG_MAX_RPC_POLLING_TIME,
    ARCH_POLLING = 69,
    ARCH_HMX_V2 = 75,
    ARCH_CENG = 75,
    ARCH_DDR = 81,
    ARCH_EXPANDED = 85,
};

static const struct {
    uint32_t corner, mhz;
} corners[] = {
#define CORNER(name, mhz) {name, mhz},
#include "backend/htp/power/corners.def"
#undef CORNER
};
#define N_CORNERS (sizeof corners / sizeof corners[0])

// Row that holds for a corner: the last one of its scale that is not above it.
static size_t row_of(uint32_t corner) {
    size_t row = 0;
    for (size_t i = 0; i < N_CORNERS && corners[i].corner <= corner; i++)
        row = i;
    return row;
}

static bool is_legacy_corner(uint32_t corner) {
    return corner && corner < EXPANDED_MIN && corners[row_of(corner)].corner == corner;
}

static bool is_expanded_corner(uint32_t corner) {
    return corner == DCVS_EXP_VCORNER_DISABLE || (corner >= EXPANDED_MIN && corner <= EXPANDED_MAX);
}

// HIGH is the row's clock, LOW that of the row below; the steps D1 to D15 lie between them. How the
// hardware spaces them is not published.
uint64_t qrn_htp_corner_hz(uint32_t corner, uint32_t perf) {
    size_t row = row_of(corner);
    uint64_t high = corners[row].mhz, low = high;
    if (row > 0 && corners[row - 1].mhz < high)
        low = corners[row - 1].mhz;
    uint64_t sixteenths = perf == QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH ? 0
                          : perf == QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW ||
                                  perf > QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D15
                              ? 16
                              : perf - 1;
    return (high * 1000000u) - (high - low) * 1000000u * sixteenths / 16;
}

uint64_t qrn_htp_dcvs_hz(const qrn_htp_dcvs_vote *dcvs) {
    bool saves = dcvs->mode == QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE ||
                 dcvs->mode == QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_AGGRESSIVE_MODE;
    uint32_t corner = !dcvs->on ? dcvs->core.target : saves ? dcvs->core.min : dcvs->core.max;
    return qrn_htp_corner_hz(corner, dcvs->core_perf);
}

// What is being changed: copies that replace the originals when the whole list was good.
typedef struct change {
    uint32_t arch;
    uint32_t id;
    qrn_htp_vote vote;
    qrn_htp_rpc rpc;
} change;

typedef QnnHtpPerfInfrastructure_PowerConfig_t config;

static qrn_status needs_arch(const change *c, uint32_t arch, const char *option) {
    return c->arch >= arch
               ? QRN_OK
               : QRN_FAIL(QRN_E_UNSUPPORTED,
                          "power config %u: option %s needs architecture %u, the device has %u",
                          c->id, option, arch, c->arch);
}

static qrn_status check_corners(const change *c, const char *option, const char *rail,
                                const qrn_htp_corners *v, bool expanded) {
    const uint32_t all[] = {v->min, v->target, v->max};
    for (int i = 0; i < 3; i++)
        if (!(expanded ? is_expanded_corner(all[i]) : is_legacy_corner(all[i])))
            return QRN_FAIL(
                QRN_E_ARGUMENT, "power config %u: option %s, %s corner 0x%X, allowed %s", c->id,
                option, rail, all[i],
                expanded ? "0 and 0x100 to 0xFFFF" : "0x10 to 0xA0 as listed by the API");
    return QRN_OK;
}

static qrn_status check_perf(const change *c, const char *option, uint32_t perf) {
    return perf <= PERF_MAX
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT,
                          "power config %u: option %s, clock mode 0x%X, allowed up to 0xFF", c->id,
                          option, perf);
}

static qrn_status check_owner(const change *c, const char *option, uint32_t context_id) {
    return context_id == c->id
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT,
                          "power config %u: option %s has contextId %u, expected the power config "
                          "id",
                          c->id, option, context_id);
}

static qrn_status check_sleep(const change *c, uint32_t us) {
    return us >= SLEEP_MIN_US && us <= SLEEP_MAX_US
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT,
                          "power config %u: sleep latency %u us, allowed 10 to 65535", c->id, us);
}

static qrn_status check_mode(const change *c, uint32_t mode) {
    bool one_bit = mode && !(mode & (mode - 1));
    return one_bit && mode <= QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_DUTY_CYCLE_MODE
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT,
                          "power config %u: power mode 0x%X, allowed 1, 2, 4, 8, 0x10, 0x20", c->id,
                          mode);
}

static qrn_status needs_dcvs(const change *c, const char *option) {
    return c->vote.dcvs.voted
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT,
                          "power config %u: option %s needs a DCVS vote of the same id, before or "
                          "in the same call",
                          c->id, option);
}

static qrn_status apply_dcvs(change *c, const config *option) {
    const QnnHtpPerfInfrastructure_DcvsV3_t *v = &option->dcvsV3Config;
    // Fields that are not set stay what they were; a vote on the finer scale is replaced.
    qrn_htp_dcvs_vote d = c->vote.dcvs;
    if (d.expanded)
        d = (qrn_htp_dcvs_vote){0};
    QRN_TRY(check_owner(c, "DCVS_V3", v->contextId));
    d.voted = true;
    if (v->setDcvsEnable) {
        d.on = v->dcvsEnable != 0;
        d.mode = d.on ? (uint32_t)v->powerMode : 0;
        if (d.on)
            QRN_TRY(check_mode(c, d.mode));
    }
    if (v->setSleepLatency) {
        QRN_TRY(check_sleep(c, v->sleepLatency));
        d.sleep_latency_us = v->sleepLatency;
    }
    if (v->setSleepDisable)
        d.sleep_disabled = v->sleepDisable != 0;
    if (v->setBusParams) {
        d.bus_voted = true;
        d.bus = (qrn_htp_corners){v->busVoltageCornerMin, v->busVoltageCornerTarget,
                                  v->busVoltageCornerMax};
        QRN_TRY(check_corners(c, "DCVS_V3", "bus", &d.bus, false));
    }
    if (v->setCoreParams) {
        d.core_voted = true;
        d.core = (qrn_htp_corners){v->coreVoltageCornerMin, v->coreVoltageCornerTarget,
                                   v->coreVoltageCornerMax};
        QRN_TRY(check_corners(c, "DCVS_V3", "core", &d.core, false));
    }
    c->vote.dcvs = d;
    return QRN_OK;
}

static qrn_status apply_dcvs_expanded(change *c, const config *option) {
    const QnnHtpPerfInfrastructure_DcvsV3Exp_t *v = &option->dcvsV3ExpConfig;
    qrn_htp_dcvs_vote d = c->vote.dcvs;
    if (!d.expanded)
        d = (qrn_htp_dcvs_vote){0};
    QRN_TRY(needs_arch(c, ARCH_EXPANDED, "DCVS_V3_EXP"));
    QRN_TRY(check_owner(c, "DCVS_V3_EXP", v->contextId));
    d.voted = d.expanded = d.on = true;
    d.mode = (uint32_t)v->powerMode;
    QRN_TRY(check_mode(c, d.mode));
    if (v->setSleepLatency) {
        QRN_TRY(check_sleep(c, v->sleepLatency));
        d.sleep_latency_us = v->sleepLatency;
    }
    if (v->setSleepDisable)
        d.sleep_disabled = v->sleepDisable != 0;
    if (v->setBusParams) {
        d.bus_voted = true;
        d.bus_perf = (uint32_t)v->busPerfMode;
        d.bus = (qrn_htp_corners){v->busVoltageCornerMin, v->busVoltageCornerTarget,
                                  v->busVoltageCornerMax};
        QRN_TRY(check_corners(c, "DCVS_V3_EXP", "bus", &d.bus, true));
        QRN_TRY(check_perf(c, "DCVS_V3_EXP", d.bus_perf));
    }
    if (v->setCoreParams) {
        d.core_voted = true;
        d.core_perf = (uint32_t)v->corePerfMode;
        d.core = (qrn_htp_corners){v->coreVoltageCornerMin, v->coreVoltageCornerTarget,
                                   v->coreVoltageCornerMax};
        QRN_TRY(check_corners(c, "DCVS_V3_EXP", "core", &d.core, true));
        QRN_TRY(check_perf(c, "DCVS_V3_EXP", d.core_perf));
    }
    c->vote.dcvs = d;
    return QRN_OK;
}

static qrn_status apply_latency(change *c, const config *option) {
    c->vote.rpc_latency_us = option->rpcControlLatencyConfig;
    return QRN_OK;
}

static qrn_status apply_polling(change *c, const config *option) {
    uint32_t us = option->rpcPollingTimeConfig;
    QRN_TRY(needs_arch(c, ARCH_POLLING, "RPC_POLLING_TIME"));
    if (us > POLLING_MAX_US)
        return QRN_FAIL(QRN_E_ARGUMENT, "power config %u: polling time %u us, allowed 0 to %d",
                        c->id, us, POLLING_MAX_US);
    c->rpc.polling_us = us;
    return QRN_OK;
}

static qrn_status apply_adaptive(change *c, const config *option) {
    uint32_t us = option->adaptivePollingTimeConfig;
    if (us && !c->rpc.polling_us)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "power config %u: adaptive polling needs polling; set RPC_POLLING_TIME",
                        c->id);
    c->rpc.adaptive_us = us;
    return QRN_OK;
}

static qrn_status apply_hmx_timeout(change *c, const config *option) {
    c->vote.hmx_timeout_us = option->hmxTimeoutIntervalUsConfig;
    return QRN_OK;
}

static qrn_status apply_hmx(change *c, const config *option) {
    const QnnHtpPerfInfrastructure_HmxV2_t *v = &option->hmxV2Config;
    QRN_TRY(needs_arch(c, ARCH_HMX_V2, "HMX_V2"));
    QRN_TRY(needs_dcvs(c, "HMX_V2"));
    if (v->hmxPickDefault) {
        c->vote.hmx = (qrn_htp_unit_vote){0};
        return QRN_OK;
    }
    qrn_htp_unit_vote u = {
        .voted = true,
        .corners = {v->hmxVoltageCornerMin, v->hmxVoltageCornerTarget, v->hmxVoltageCornerMax},
        .perf = (uint32_t)v->hmxPerfMode};
    QRN_TRY(check_corners(c, "HMX_V2", "HMX", &u.corners, true));
    QRN_TRY(check_perf(c, "HMX_V2", u.perf));
    c->vote.hmx = u;
    return QRN_OK;
}

static qrn_status vote_ceng(change *c, const char *option, qrn_htp_unit_vote u) {
    QRN_TRY(needs_arch(c, u.expanded ? ARCH_EXPANDED : ARCH_CENG, option));
    QRN_TRY(needs_dcvs(c, option));
    QRN_TRY(check_corners(c, option, "compression engine", &u.corners, u.expanded));
    QRN_TRY(check_perf(c, option, u.perf));
    c->vote.ceng = u;
    return QRN_OK;
}

static qrn_status apply_ceng(change *c, const config *option) {
    const QnnHtpPerfInfrastructure_Ceng_t *v = &option->cengConfig;
    return vote_ceng(
        c, "CENG",
        (qrn_htp_unit_vote){.voted = true,
                            .corners = {v->cengVoltageCornerMin, v->cengVoltageCornerTarget,
                                        v->cengVoltageCornerMax},
                            .perf = (uint32_t)v->cengPerfMode});
}

static qrn_status apply_ceng_expanded(change *c, const config *option) {
    const QnnHtpPerfInfrastructure_CengExp_t *v = &option->cengExpConfig;
    return vote_ceng(
        c, "CENG_EXP",
        (qrn_htp_unit_vote){.voted = true,
                            .expanded = true,
                            .corners = {v->cengVoltageCornerMin, v->cengVoltageCornerTarget,
                                        v->cengVoltageCornerMax},
                            .perf = (uint32_t)v->cengPerfMode});
}

static bool is_max(uint32_t corner) {
    return corner == DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER || corner == DCVS_EXP_VCORNER_MAX;
}

static bool ddr_is_possible(const qrn_htp_vote *v, const qrn_htp_rpc *rpc) {
    return rpc->polling_us && v->dcvs.voted && v->dcvs.bus_voted && is_max(v->dcvs.bus.min) &&
           is_max(v->dcvs.bus.target) && is_max(v->dcvs.bus.max);
}

static qrn_status apply_ddr(change *c, const config *option) {
    bool on = option->ddrPerfModeConfig != 0;
    if (on && c->arch < ARCH_DDR)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "power config %u: DDR performance mode needs architecture 81, the device "
                        "has %u",
                        c->id, c->arch);
    if (on && !ddr_is_possible(&c->vote, &c->rpc))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "power config %u: DDR performance mode needs polling and a DCVS vote with "
                        "all bus corners MAX",
                        c->id);
    c->vote.ddr = on;
    return QRN_OK;
}

// By number of the option. Those of round 1 rest on votes of round 0.
static const struct {
    int round;
    qrn_status (*apply)(change *c, const config *option);
} options[] = {
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3] = {0, apply_dcvs},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY] = {0, apply_latency},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME] = {0, apply_polling},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US] = {0,
                                                                                apply_hmx_timeout},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2] = {1, apply_hmx},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_ADAPTIVE_POLLING_TIME] = {1, apply_adaptive},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE] = {1, apply_ddr},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG] = {1, apply_ceng},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3_EXP] = {0, apply_dcvs_expanded},
    [QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG_EXP] = {1, apply_ceng_expanded},
};
#define N_OPTIONS (sizeof options / sizeof options[0])

static bool is_known(const config *option) {
    return (unsigned)option->option < N_OPTIONS && options[option->option].apply;
}

// A vote and its twin on the finer scale exclude each other within one call (HTP-PWR-42).
static qrn_status check_list(uint32_t id, const config **list) {
    unsigned seen = 0;
    for (size_t i = 0; list[i]; i++) {
        if (!is_known(list[i]))
            return QRN_FAIL(QRN_E_CONFIG, "power config %u: unknown option %u, allowed 1 to %zu",
                            id, (unsigned)list[i]->option, N_OPTIONS - 1);
        seen |= 1u << list[i]->option;
    }
    unsigned dcvs = 1u << QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3 |
                    1u << QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3_EXP;
    unsigned ceng = 1u << QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG |
                    1u << QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG_EXP;
    if ((seen & dcvs) == dcvs || (seen & ceng) == ceng)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "power config %u: %s in one call; send one of them, or two calls", id,
                        (seen & dcvs) == dcvs ? "DCVS_V3 and DCVS_V3_EXP" : "CENG and CENG_EXP");
    return QRN_OK;
}

qrn_status qrn_htp_vote_apply(uint32_t arch, uint32_t id, const config **list, qrn_htp_vote *vote,
                              qrn_htp_rpc *rpc) {
    if (!list)
        return QRN_OK;
    QRN_TRY(check_list(id, list));
    change c = {.arch = arch, .id = id, .vote = *vote, .rpc = *rpc};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; list[i]; i++)
            if (options[list[i]->option].round == round)
                QRN_TRY(options[list[i]->option].apply(&c, list[i]));
    *vote = c.vote;
    *rpc = c.rpc;
    return QRN_OK;
}

// Steps below HIGH exist on the finer scale only; elsewhere they are HIGH (HTP-PWR-37).
static uint32_t perf_in_force(uint32_t perf, bool expanded) {
    return expanded || perf == QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW
               ? perf
               : (uint32_t)QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH;
}

qrn_htp_vote qrn_htp_vote_in_force(const qrn_htp_vote *vote, const qrn_htp_rpc *rpc) {
    qrn_htp_vote v = *vote;
    if (!v.dcvs.voted) {
        v.hmx = v.ceng = (qrn_htp_unit_vote){0};
        v.ddr = false;
        return v;
    }
    if (!v.hmx.voted)
        v.hmx = (qrn_htp_unit_vote){.corners = v.dcvs.core, .perf = v.dcvs.core_perf};
    if (!v.ceng.voted) {
        uint32_t least =
            v.dcvs.expanded ? DCVS_EXP_VCORNER_MIN : DCVS_VOLTAGE_VCORNER_MIN_VOLTAGE_CORNER;
        v.ceng = (qrn_htp_unit_vote){.corners = {least, least, least}};
    }
    v.hmx.perf = perf_in_force(v.hmx.perf, v.dcvs.expanded);
    v.ceng.perf = perf_in_force(v.ceng.perf, v.ceng.expanded || v.dcvs.expanded);
    v.ddr = v.ddr && ddr_is_possible(&v, rpc);
    return v;
}

qrn_htp_rpc qrn_htp_rpc_in_force(const qrn_htp_rpc *rpc) {
    return (qrn_htp_rpc){.polling_us = rpc->polling_us,
                         .adaptive_us = rpc->polling_us ? rpc->adaptive_us : 0};
}
