// SPDX-License-Identifier: MIT
//
// Voting as a client does it: the functions of the infrastructure, one maker for each kind of vote,
// and what is in force, which the library logs when votes are set. For test_htp_power.c alone.
#ifndef QRN_TESTS_HTP_POWER_VOTES_H
#define QRN_TESTS_HTP_POWER_VOTES_H

#include "htp_log.h"

#include "Quern/QuernBackend.h"

enum { INVALID = 13001, UNKNOWN_OPTION = 13002, UNSUPPORTED = 13004, NO_MEMORY = 13005 };

typedef QnnHtpPerfInfrastructure_PowerConfig_t config;

static htp_table qnn;
static QnnHtpDevice_PerfInfrastructure_t perf;
static Qnn_DeviceHandle_t device;
static Qnn_LogHandle_t log_handle;

static int open_table(void **state) {
    (void)state;
    qnn = htp_open();
    QnnDevice_Infrastructure_t infra = NULL;
    HTP_OK(qnn.deviceGetInfrastructure(&infra));
    assert_int_equal(infra->infraType, QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF);
    perf = infra->perfInfra;
    log_handle = log_begin(&qnn);
    return 0;
}

static int close_table(void **state) {
    (void)state;
    HTP_OK(qnn.logFree(log_handle));
    return 0;
}

// A device of an architecture becomes the newest one.
static void use_arch(uint32_t arch) {
    QnnHtpDevice_CustomConfig_t custom;
    memset(&custom, 0, sizeof custom);
    custom.option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH;
    custom.arch.arch = (QnnHtpDevice_Arch_t)arch;
    QnnDevice_Config_t one = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    const QnnDevice_Config_t *list[] = {&one, NULL};
    if (device)
        HTP_OK(qnn.deviceFree(device));
    HTP_OK(qnn.deviceCreate(log_handle, list, &device));
}

// Votes of the process are lost but for those on the finer scale.
static void restart(void) {
    QuernBackend_CustomConfig_t now = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_RESTART, 1};
    QnnBackend_Config_t one = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &now};
    const QnnBackend_Config_t *list[] = {&one, NULL};
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context = NULL;
    HTP_OK(qnn.backendCreate(NULL, list, &backend));
    HTP_FAILS(qnn.contextCreate(backend, NULL, NULL, &context),
              QNN_COMMON_ERROR_SYSTEM_COMMUNICATION);
    HTP_OK(qnn.backendFree(backend));
}

static int teardown(void **state) {
    (void)state;
    if (device)
        HTP_OK(qnn.deviceFree(device));
    device = NULL;
    restart();
    return 0;
}

static uint32_t new_id(void) {
    uint32_t id = 0;
    HTP_OK(perf.createPowerConfigId(0, 0, &id));
    assert_int_not_equal(id, 0);
    return id;
}

static Qnn_ErrorHandle_t send(uint32_t id, const config *a) {
    const config *list[] = {a, NULL};
    return perf.setPowerConfig(id, list);
}

static Qnn_ErrorHandle_t send_two(uint32_t id, const config *a, const config *b) {
    const config *list[] = {a, b, NULL};
    return perf.setPowerConfig(id, list);
}

typedef struct corners {
    uint32_t min, target, max;
} corners;

typedef struct unit_vote {
    bool voted; // false: by default
    corners corners;
    uint32_t perf;
} unit_vote;

// What is in force for an id.
typedef struct vote {
    struct {
        bool voted, expanded, on, sleep_disabled;
        uint32_t mode, sleep_latency_us;
        corners bus, core;
    } dcvs;
    unit_vote hmx, ceng;
    uint32_t rpc_latency_us, hmx_timeout_us, polling_us, adaptive_us;
    bool ddr;
    uint64_t clock_hz;
} vote;

// 0 when the log does not have it.
static uint32_t logged_u32(const char *key) {
    uint64_t n = 0;
    return log_number(key, &n) ? (uint32_t)n : 0;
}

static corners logged_corners(const char *rail) {
    char key[3][64];
    static const char *const ends[] = {"Min ", "Target ", "Max "};
    for (int i = 0; i < 3; i++)
        snprintf(key[i], sizeof key[i], "%sVoltageCorner%s", rail, ends[i]);
    return (corners){logged_u32(key[0]), logged_u32(key[1]), logged_u32(key[2])};
}

// An empty list changes nothing and logs what is in force.
static vote vote_of(uint32_t id) {
    const config *none[] = {NULL};
    vote v = {0};
    if (!device)
        HTP_OK(qnn.deviceCreate(log_handle, NULL, &device)); // receives the log
    logged[0] = '\0';
    HTP_OK(perf.setPowerConfig(id, none));
    assert_true(log_number("modelled core clock ", &v.clock_hz));
    v.dcvs.voted = strstr(logged, "DCVS_V3") != NULL;
    v.dcvs.expanded = strstr(logged, "DCVS_V3_EXP") != NULL;
    v.dcvs.on = logged_u32("dcvsEnable ") != 0;
    v.dcvs.mode = logged_u32("powerMode ");
    v.dcvs.sleep_latency_us = logged_u32("sleepLatency ");
    v.dcvs.sleep_disabled = logged_u32("sleepDisable ") != 0;
    v.dcvs.bus = logged_corners("bus");
    v.dcvs.core = logged_corners("core");
    v.hmx = (unit_vote){strstr(logged, "HMX_V2") != NULL, logged_corners("hmx"),
                        logged_u32("hmxPerfMode ")};
    v.ceng = (unit_vote){v.dcvs.voted && !strstr(logged, "CENG by default"), logged_corners("ceng"),
                         logged_u32("cengPerfMode ")};
    v.rpc_latency_us = logged_u32("rpcControlLatency ");
    v.hmx_timeout_us = logged_u32("hmxTimeoutIntervalUs ");
    v.ddr = logged_u32("ddrPerfMode ") != 0;
    v.polling_us = logged_u32("rpcPollingTime ");
    v.adaptive_us = logged_u32("adaptivePollingTime ");
    return v;
}

// Of all votes of the process.
static uint64_t clock_mhz(void) { return vote_of(0).clock_hz / 1000000; }

// Bus and core at one corner, clocks fixed.
static config dcvs(uint32_t id, QnnHtpPerfInfrastructure_VoltageCorner_t corner) {
    config c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3;
    c.dcvsV3Config = (QnnHtpPerfInfrastructure_DcvsV3_t){
        .contextId = id,
        .setDcvsEnable = 1,
        .powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
        .setSleepLatency = 1,
        .sleepLatency = 40,
        .setBusParams = 1,
        .busVoltageCornerMin = corner,
        .busVoltageCornerTarget = corner,
        .busVoltageCornerMax = corner,
        .setCoreParams = 1,
        .coreVoltageCornerMin = corner,
        .coreVoltageCornerTarget = corner,
        .coreVoltageCornerMax = corner,
    };
    return c;
}

static config dcvs_exp(uint32_t id, uint32_t corner) {
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t e =
        (QnnHtpPerfInfrastructure_ExpVoltageCorner_t)corner;
    config c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3_EXP;
    c.dcvsV3ExpConfig = (QnnHtpPerfInfrastructure_DcvsV3Exp_t){
        .contextId = id,
        .powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
        .setBusParams = 1,
        .busVoltageCornerMin = e,
        .busVoltageCornerTarget = e,
        .busVoltageCornerMax = e,
        .setCoreParams = 1,
        .coreVoltageCornerMin = e,
        .coreVoltageCornerTarget = e,
        .coreVoltageCornerMax = e,
    };
    return c;
}

static config hmx(uint32_t corner) {
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t e =
        (QnnHtpPerfInfrastructure_ExpVoltageCorner_t)corner;
    config c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_V2;
    c.hmxV2Config.hmxVoltageCornerMin = e;
    c.hmxV2Config.hmxVoltageCornerTarget = e;
    c.hmxV2Config.hmxVoltageCornerMax = e;
    return c;
}

static config hmx_default(void) {
    config c = hmx(0x55); // no corner of the scale: must not be looked at
    c.hmxV2Config.hmxPickDefault = 1;
    return c;
}

static config ceng(QnnHtpPerfInfrastructure_VoltageCorner_t corner) {
    config c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG;
    c.cengConfig.cengVoltageCornerMin = corner;
    c.cengConfig.cengVoltageCornerTarget = corner;
    c.cengConfig.cengVoltageCornerMax = corner;
    return c;
}

static config ceng_exp(uint32_t corner) {
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t e =
        (QnnHtpPerfInfrastructure_ExpVoltageCorner_t)corner;
    config c;
    memset(&c, 0, sizeof c);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_CENG_EXP;
    c.cengExpConfig.cengVoltageCornerMin = e;
    c.cengExpConfig.cengVoltageCornerTarget = e;
    c.cengExpConfig.cengVoltageCornerMax = e;
    return c;
}

// An option that is one number.
static config number(QnnHtpPerfInfrastructure_PowerConfigOption_t option, uint32_t value) {
    config c;
    memset(&c, 0, sizeof c);
    c.option = option;
    c.rpcPollingTimeConfig = value;
    return c;
}
#define POLLING(us) number(QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME, us)
#define ADAPTIVE(us)                                                                               \
    number(QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_ADAPTIVE_POLLING_TIME, us)
#define LATENCY(us) number(QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY, us)
#define HMX_TIMEOUT(us)                                                                            \
    number(QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_HMX_TIMEOUT_INTERVAL_US, us)
#define DDR(on) number(QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DDR_PERF_MODE, on)
#define NOM DCVS_VOLTAGE_VCORNER_NOM
#define MAX DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER

static void accepts(uint32_t id, config c) { HTP_OK(send(id, &c)); }
static void refuses(uint32_t id, config c, unsigned code) { HTP_FAILS(send(id, &c), code); }

#endif
