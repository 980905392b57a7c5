// SPDX-License-Identifier: MIT
//
// Power votes: every rule through the functions a client calls, the votes in force as the log says.
// Numbers are the published ones, clocks those of docs/htp-device.md.
#include "power_votes.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void htp_pwr_01_ids(void **state) {
    (void)state;
    uint32_t a = new_id(), b = new_id(), c = 77;
    assert_int_not_equal(a, b);
    HTP_FAILS(perf.createPowerConfigId(0, 0, NULL), INVALID);
    HTP_FAILS(perf.createPowerConfigId(1, 0, &c), INVALID);
    HTP_FAILS(perf.createPowerConfigId(0, 1, &c), INVALID);
    assert_int_equal(c, 77);
    HTP_OK(perf.destroyPowerConfigId(a));
    HTP_OK(perf.destroyPowerConfigId(b));
}

enum { IDS_MAX = 256 }; // docs/htp-limits.md

static void ids_run_out_and_come_back(void **state) {
    (void)state;
    static uint32_t ids[IDS_MAX];
    for (uint32_t i = 0; i < IDS_MAX; i++)
        ids[i] = new_id();
    uint32_t more = 0;
    HTP_FAILS(perf.createPowerConfigId(0, 0, &more), NO_MEMORY);
    for (uint32_t i = 0; i < IDS_MAX; i++)
        HTP_OK(perf.destroyPowerConfigId(ids[i]));
    HTP_OK(perf.destroyPowerConfigId(new_id()));
}

static void htp_pwr_02_lists(void **state) {
    (void)state;
    uint32_t id = new_id();
    const config *empty[] = {NULL};
    config nom = dcvs(id, NOM), unknown = number(11, 0);
    HTP_OK(perf.setPowerConfig(id, NULL));
    HTP_OK(perf.setPowerConfig(id, empty));
    assert_false(vote_of(id).dcvs.voted);
    HTP_FAILS(perf.setPowerConfig(id + 1, NULL), INVALID);
    HTP_FAILS(send(id + 1, &nom), INVALID);
    // A list that fails changes nothing.
    HTP_FAILS(send_two(id, &nom, &unknown), UNKNOWN_OPTION);
    assert_false(vote_of(id).dcvs.voted);
    accepts(id, nom);
    HTP_OK(perf.setPowerConfig(id, NULL));
    assert_int_equal(vote_of(id).dcvs.core.target, NOM);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_02_null_client_overrides(void **state) {
    (void)state;
    assert_int_equal(clock_mhz(), 900); // NOM without any vote
    uint32_t a = new_id(), b = new_id();
    accepts(a, dcvs(a, DCVS_VOLTAGE_VCORNER_TURBO));
    accepts(b, dcvs(b, DCVS_VOLTAGE_VCORNER_SVS));
    // Of several clients the fastest counts.
    assert_int_equal(clock_mhz(), 1200);
    accepts(0, dcvs(0, DCVS_VOLTAGE_VCORNER_SVS2));
    assert_int_equal(clock_mhz(), 450);
    assert_int_equal(vote_of(0).dcvs.core.target, 0x30);
    HTP_OK(perf.destroyPowerConfigId(0));
    HTP_FAILS(perf.destroyPowerConfigId(0), INVALID);
    assert_int_equal(clock_mhz(), 1200);
    HTP_OK(perf.destroyPowerConfigId(a));
    assert_int_equal(clock_mhz(), 600);
    HTP_OK(perf.destroyPowerConfigId(b));
    assert_int_equal(clock_mhz(), 900);
}

static void htp_pwr_03_destroy_withdraws(void **state) {
    (void)state;
    use_arch(75);
    uint32_t id = new_id();
    accepts(id, dcvs(id, NOM));
    accepts(id, hmx(0x200));
    accepts(id, ceng(NOM));
    HTP_OK(perf.destroyPowerConfigId(id));
    HTP_FAILS(perf.destroyPowerConfigId(id), INVALID);
    HTP_FAILS(perf.setPowerConfig(id, NULL), INVALID);
    // An id that comes next holds nothing of it.
    id = new_id();
    vote v = vote_of(id);
    assert_false(v.dcvs.voted || v.hmx.voted || v.ceng.voted);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_04_memory_config(void **state) {
    (void)state;
    QnnHtpPerfInfrastructure_MemoryConfig_t m = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE,
        .memGrowSizeConfig = 1u << 20};
    const QnnHtpPerfInfrastructure_MemoryConfig_t *list[] = {&m, NULL};
    HTP_OK(perf.setMemoryConfig(0, 0, NULL));
    HTP_FAILS(perf.setMemoryConfig(1, 0, list), INVALID);
    HTP_FAILS(perf.setMemoryConfig(0, 1, list), INVALID);
    HTP_OK(perf.setMemoryConfig(0, 0, list));
    HTP_OK(perf.setMemoryConfig(0, 0, list));
    m.memGrowSizeConfig = 2u << 20; // once per backend
    HTP_FAILS(perf.setMemoryConfig(0, 0, list), INVALID);
    m.option = 2;
    HTP_FAILS(perf.setMemoryConfig(0, 0, list), UNKNOWN_OPTION);
    Qnn_BackendHandle_t backend;
    HTP_OK(qnn.backendCreate(NULL, NULL, &backend));
    HTP_OK(qnn.backendFree(backend));
    m.option = QNN_HTP_PERF_INFRASTRUCTURE_MEMORY_CONFIGOPTION_GROW_SIZE;
    HTP_OK(perf.setMemoryConfig(0, 0, list)); // of the next one
}

static void htp_pwr_06_pwr_10_flags_decide_what_counts(void **state) {
    (void)state;
    uint32_t id = new_id();
    config c = dcvs(id, NOM);
    c.dcvsV3Config.setSleepDisable = 1;
    c.dcvsV3Config.sleepDisable = 1;
    c.dcvsV3Config.busVoltageCornerMin = DCVS_VOLTAGE_VCORNER_SVS2;
    c.dcvsV3Config.busVoltageCornerMax = DCVS_VOLTAGE_VCORNER_TURBO;
    accepts(id, c);
    vote v = vote_of(id);
    assert_true(v.dcvs.voted && v.dcvs.sleep_disabled);
    assert_false(v.dcvs.on);
    assert_int_equal(v.dcvs.sleep_latency_us, 40);
    assert_int_equal(v.dcvs.bus.min, 0x30);
    assert_int_equal(v.dcvs.bus.target, 0x60);
    assert_int_equal(v.dcvs.bus.max, 0x80);
    assert_int_equal(v.dcvs.core.min, 0x60);
    // Values whose flag is 0 are not looked at, not even to refuse them.
    memset(&c.dcvsV3Config, 0xFF, sizeof c.dcvsV3Config);
    c.dcvsV3Config.contextId = id;
    c.dcvsV3Config.setDcvsEnable = c.dcvsV3Config.setSleepLatency = 0;
    c.dcvsV3Config.setSleepDisable = c.dcvsV3Config.setBusParams = 0;
    c.dcvsV3Config.setCoreParams = 0;
    accepts(id, c);
    vote w = vote_of(id);
    assert_int_equal(w.dcvs.sleep_latency_us, 40);
    assert_int_equal(w.dcvs.bus.max, 0x80);
    assert_int_equal(w.dcvs.core.target, 0x60);
    assert_true(w.dcvs.sleep_disabled);
    // Each id has its own.
    uint32_t other = new_id();
    assert_false(vote_of(other).dcvs.voted);
    HTP_OK(perf.destroyPowerConfigId(other));
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_11_sleep_latency(void **state) {
    (void)state;
    static const struct {
        uint32_t us;
        bool good;
    } cases[] = {{9, false}, {10, true}, {65535, true}, {65536, false}, {0, false}};
    uint32_t id = new_id();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config c = dcvs(id, NOM);
        c.dcvsV3Config.sleepLatency = cases[i].us;
        HTP_FAILS(send(id, &c), cases[i].good ? 0u : INVALID);
    }
    assert_int_equal(vote_of(id).dcvs.sleep_latency_us, 65535);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_12_power_mode(void **state) {
    (void)state;
    static const uint32_t good[] = {1, 2, 4, 8, 0x10, 0x20}, bad[] = {0, 3, 0x40, 0x7FFFFFFF};
    uint32_t id = new_id();
    config c = dcvs(id, NOM);
    c.dcvsV3Config.dcvsEnable = 1;
    for (size_t i = 0; i < 6; i++) {
        c.dcvsV3Config.powerMode = (QnnHtpPerfInfrastructure_PowerMode_t)good[i];
        accepts(id, c);
        assert_int_equal(vote_of(id).dcvs.mode, good[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        c.dcvsV3Config.powerMode = (QnnHtpPerfInfrastructure_PowerMode_t)bad[i];
        refuses(id, c, INVALID);
    }
    // It does not count with fixed clocks, whatever it is.
    c.dcvsV3Config.dcvsEnable = 0;
    accepts(id, c);
    assert_int_equal(vote_of(id).dcvs.mode, 0);
    c.dcvsV3Config.dcvsEnable = 1;
    c.dcvsV3Config.setDcvsEnable = 0;
    accepts(id, c);
    assert_int_equal(vote_of(id).dcvs.mode, 0);
    assert_false(vote_of(id).dcvs.on);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_13_context_id(void **state) {
    (void)state;
    uint32_t id = new_id();
    refuses(id, dcvs(id + 1, NOM), INVALID);
    refuses(id, dcvs(0, NOM), INVALID);
    assert_false(vote_of(id).dcvs.voted);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_14_corners(void **state) {
    (void)state;
    static const uint32_t good[] = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70,
                                    0x80, 0x90, 0x92, 0x93, 0x94, 0x95, 0xA0};
    uint32_t id = new_id();
    uint64_t before = 0;
    for (uint32_t corner = 0, i = 0; corner < 0x300; corner++) {
        config c = dcvs(id, (QnnHtpPerfInfrastructure_VoltageCorner_t)corner);
        bool known = i < sizeof good / sizeof *good && good[i] == corner;
        HTP_FAILS(send(id, &c), known ? 0u : INVALID);
        if (known) {
            assert_int_equal(vote_of(id).dcvs.core.target, corner);
            assert_true(clock_mhz() >= before); // faster corners are not slower
            before = clock_mhz();
            i++;
        }
    }
    // Each of the six is checked.
    for (int i = 0; i < 6; i++) {
        config c = dcvs(id, NOM);
        QnnHtpPerfInfrastructure_VoltageCorner_t *six[] = {
            &c.dcvsV3Config.busVoltageCornerMin,     &c.dcvsV3Config.busVoltageCornerTarget,
            &c.dcvsV3Config.busVoltageCornerMax,     &c.dcvsV3Config.coreVoltageCornerMin,
            &c.dcvsV3Config.coreVoltageCornerTarget, &c.dcvsV3Config.coreVoltageCornerMax};
        *six[i] = (QnnHtpPerfInfrastructure_VoltageCorner_t)0x61;
        refuses(id, c, INVALID);
    }
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_15_clock_follows_the_vote(void **state) {
    (void)state;
    uint32_t id = new_id();
    config c = dcvs(id, NOM);
    c.dcvsV3Config.coreVoltageCornerMin = DCVS_VOLTAGE_VCORNER_SVS2;
    c.dcvsV3Config.coreVoltageCornerMax = DCVS_VOLTAGE_VCORNER_TURBO;
    accepts(id, c);
    assert_int_equal(clock_mhz(), 900); // off: the target
    c.dcvsV3Config.dcvsEnable = 1;
    accepts(id, c);
    assert_int_equal(clock_mhz(), 1200); // on, under load: max
    c.dcvsV3Config.powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE;
    accepts(id, c);
    assert_int_equal(clock_mhz(), 450); // saving: min
    accepts(id, dcvs(id, MAX));
    assert_int_equal(clock_mhz(), 1500);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_20_control_latency(void **state) {
    (void)state;
    uint32_t id = new_id();
    assert_int_equal(vote_of(id).rpc_latency_us, 0);
    accepts(id, LATENCY(100));
    assert_int_equal(vote_of(id).rpc_latency_us, 100);
    uint32_t other = new_id(); // of a session
    assert_int_equal(vote_of(other).rpc_latency_us, 0);
    HTP_OK(perf.destroyPowerConfigId(other));
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_21_polling_time(void **state) {
    (void)state;
    uint32_t id = new_id();
    use_arch(69);
    assert_int_equal(vote_of(0).polling_us, 0);
    accepts(id, POLLING(9999));
    refuses(id, POLLING(10000), INVALID);
    assert_int_equal(vote_of(0).polling_us, 9999);
    HTP_OK(perf.destroyPowerConfigId(id)); // of the process
    assert_int_equal(vote_of(0).polling_us, 9999);
    id = new_id();
    accepts(id, POLLING(0));
    assert_int_equal(vote_of(0).polling_us, 0);
    use_arch(68);
    refuses(id, POLLING(100), UNSUPPORTED);
    // Without any architecture asked for nothing is refused: clients poll by default.
    HTP_OK(qnn.deviceFree(device));
    device = NULL;
    accepts(id, POLLING(100));
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_22_adaptive_polling(void **state) {
    (void)state;
    use_arch(73);
    uint32_t id = new_id();
    refuses(id, ADAPTIVE(1000), INVALID);
    config polling = POLLING(9999), adaptive = ADAPTIVE(1000);
    HTP_OK(send_two(id, &adaptive, &polling)); // the order does not matter
    assert_int_equal(vote_of(0).adaptive_us, 1000);
    accepts(id, POLLING(0)); // without effect now
    assert_int_equal(vote_of(0).adaptive_us, 0);
    accepts(id, ADAPTIVE(0));
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_24_hmx_timeout(void **state) {
    (void)state;
    uint32_t id = new_id();
    accepts(id, HMX_TIMEOUT(300000));
    assert_int_equal(vote_of(id).hmx_timeout_us, 300000);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_25_ddr_mode(void **state) {
    (void)state;
    use_arch(81);
    uint32_t id = new_id();
    refuses(id, DDR(1), INVALID); // neither polling nor a vote
    accepts(id, POLLING(9999));
    refuses(id, DDR(1), INVALID); // no vote
    config c = dcvs(id, MAX);
    c.dcvsV3Config.busVoltageCornerMin = DCVS_VOLTAGE_VCORNER_TURBO;
    accepts(id, c);
    refuses(id, DDR(1), INVALID); // not all three
    accepts(id, dcvs(id, MAX));
    accepts(id, DDR(1));
    assert_true(vote_of(id).ddr);
    accepts(id, POLLING(0)); // a condition goes, and the mode with it
    assert_false(vote_of(id).ddr);
    refuses(id, DDR(1), INVALID);
    accepts(id, DDR(0));
    use_arch(79);
    accepts(id, POLLING(9999));
    refuses(id, DDR(1), INVALID); // not on this chip
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_30_hmx_needs_v75(void **state) {
    (void)state;
    uint32_t id = new_id();
    accepts(id, dcvs(id, NOM));
    use_arch(73);
    refuses(id, hmx(0x200), UNSUPPORTED);
    use_arch(75);
    accepts(id, hmx(0x200));
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_31_pwr_33_hmx_follows_dcvs_by_default(void **state) {
    (void)state;
    use_arch(75);
    uint32_t id = new_id();
    accepts(id, dcvs(id, DCVS_VOLTAGE_VCORNER_TURBO));
    vote v = vote_of(id);
    assert_false(v.hmx.voted);
    assert_int_equal(v.hmx.corners.min, 0x80);
    assert_int_equal(v.hmx.corners.target, 0x80);
    assert_int_equal(v.hmx.corners.max, 0x80);
    accepts(id, hmx_default()); // corners are not looked at
    assert_int_equal(vote_of(id).hmx.corners.target, 0x80);
    config c = hmx(0x180);
    c.hmxV2Config.hmxVoltageCornerMax = DCVS_EXP_VCORNER_NOM;
    c.hmxV2Config.hmxPerfMode = QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW;
    accepts(id, c);
    v = vote_of(id);
    assert_true(v.hmx.voted);
    assert_int_equal(v.hmx.corners.min, 0x180);
    assert_int_equal(v.hmx.corners.max, 0x200);
    assert_int_equal(v.hmx.perf, 1);
    refuses(id, hmx(0x60), INVALID); // of the other scale
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_32_hmx_needs_dcvs(void **state) {
    (void)state;
    use_arch(75);
    uint32_t id = new_id();
    refuses(id, hmx(0x200), INVALID);
    config a = hmx(0x200), b = dcvs(id, NOM);
    HTP_OK(send_two(id, &a, &b));
    assert_true(vote_of(id).hmx.voted);
    // A vote of another id does not help.
    uint32_t other = new_id();
    refuses(other, hmx(0x200), INVALID);
    HTP_OK(perf.destroyPowerConfigId(other));
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_34_default_comes_back_on_demand_only(void **state) {
    (void)state;
    use_arch(75);
    uint32_t id = new_id();
    accepts(id, dcvs(id, NOM));
    accepts(id, hmx(0x200));
    accepts(id, dcvs(id, DCVS_VOLTAGE_VCORNER_TURBO));
    assert_int_equal(vote_of(id).hmx.corners.target, 0x200);
    accepts(id, hmx_default());
    assert_false(vote_of(id).hmx.voted);
    assert_int_equal(vote_of(id).hmx.corners.target, 0x80);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_35_reverting_needs_dcvs(void **state) {
    (void)state;
    use_arch(75);
    uint32_t id = new_id();
    refuses(id, hmx_default(), INVALID);
    accepts(id, dcvs(id, NOM));
    accepts(id, hmx(0x200));
    restart(); // takes the DCVS vote
    refuses(id, hmx(0x180), INVALID);
    refuses(id, hmx_default(), INVALID);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_36_table(void **state) {
    (void)state;
    use_arch(75);
    static const struct {
        bool dcvs, hmx, good;
    } rows[] = {{true, true, true}, {false, true, false}, {true, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t id = new_id();
        config d = dcvs(id, NOM), h = hmx(0x280);
        const config *list[3] = {0};
        size_t n = 0;
        if (rows[i].dcvs)
            list[n++] = &d;
        if (rows[i].hmx)
            list[n++] = &h;
        HTP_FAILS(perf.setPowerConfig(id, list), rows[i].good ? 0u : INVALID);
        vote v = vote_of(id);
        assert_int_equal(v.hmx.voted, rows[i].good && rows[i].hmx);
        assert_int_equal(v.hmx.corners.target, !rows[i].good ? 0 : rows[i].hmx ? 0x280 : 0x60);
        restart(); // removed: the HMX vote goes, too
        v = vote_of(id);
        assert_false(v.dcvs.voted || v.hmx.voted);
        assert_int_equal(v.hmx.corners.target, 0);
        HTP_OK(perf.destroyPowerConfigId(id));
    }
}

// Core clock of a vote for NOM on the finer scale.
static uint64_t mhz_in_mode(uint32_t id, uint32_t mode) {
    config c = dcvs_exp(id, 0x200);
    c.dcvsV3ExpConfig.corePerfMode = (QnnHtpPerfInfrastructure_ClkPerfMode_t)mode;
    accepts(id, c);
    return clock_mhz();
}

static void htp_pwr_37_clock_modes(void **state) {
    (void)state;
    use_arch(85);
    uint32_t id = new_id();
    accepts(id, dcvs(id, NOM));
    config c = hmx(0x200);
    c.hmxV2Config.hmxPerfMode = (QnnHtpPerfInfrastructure_ClkPerfMode_t)0x100;
    refuses(id, c, INVALID);
    c.hmxV2Config.hmxPerfMode = QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_MAX;
    accepts(id, c);
    // With a vote on the first scale only HIGH and LOW count.
    c.hmxV2Config.hmxPerfMode = QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D3;
    accepts(id, c);
    assert_int_equal(vote_of(id).hmx.perf, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH);
    c.hmxV2Config.hmxPerfMode = QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW;
    accepts(id, c);
    assert_int_equal(vote_of(id).hmx.perf, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW);
    accepts(id, dcvs_exp(id, 0x200));
    c.hmxV2Config.hmxPerfMode = QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D3;
    accepts(id, c);
    assert_int_equal(vote_of(id).hmx.perf, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D3);
    // HIGH is the fastest clock of a corner, every step is slower, LOW is the slowest.
    uint64_t low = mhz_in_mode(id, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_LOW);
    uint64_t faster = mhz_in_mode(id, QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH);
    assert_int_equal(low, 750);
    assert_int_equal(faster, 900);
    for (uint32_t step = QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D1;
         step <= QNN_HTP_PERF_INFRASTRUCTURE_CLK_PERF_HIGH_D15; step++) {
        uint64_t mhz = mhz_in_mode(id, step);
        assert_true(low < mhz && mhz < faster);
        faster = mhz;
    }
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_40_compression_engine(void **state) {
    (void)state;
    use_arch(73);
    uint32_t id = new_id();
    config v = dcvs(id, DCVS_VOLTAGE_VCORNER_TURBO), w = ceng(NOM);
    HTP_FAILS(send_two(id, &v, &w), UNSUPPORTED);
    use_arch(75);
    refuses(id, ceng(NOM), INVALID);
    accepts(id, v);
    vote x = vote_of(id); // default: HIGH at the lowest corner
    assert_int_equal(x.ceng.corners.target, 0x20);
    assert_int_equal(x.ceng.perf, 0);
    accepts(id, ceng(NOM));
    assert_int_equal(vote_of(id).ceng.corners.target, 0x60);
    refuses(id, ceng((QnnHtpPerfInfrastructure_VoltageCorner_t)0x200), INVALID);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_41_expanded_votes(void **state) {
    (void)state;
    uint32_t id = new_id();
    use_arch(81);
    refuses(id, dcvs_exp(id, 0x200), UNSUPPORTED);
    use_arch(85);
    refuses(id, dcvs_exp(id + 1, 0x200), INVALID);
    refuses(id, dcvs_exp(id, 0xFF), INVALID);
    refuses(id, dcvs_exp(id, 0x60), INVALID);
    accepts(id, dcvs_exp(id, 0));
    accepts(id, dcvs_exp(id, 0x100));
    accepts(id, dcvs_exp(id, 0x148));
    vote v = vote_of(id);
    assert_true(v.dcvs.expanded && v.dcvs.on);
    assert_int_equal(v.dcvs.core.target, 0x148);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_42_scales_exclude_each_other_in_a_call(void **state) {
    (void)state;
    use_arch(85);
    uint32_t id = new_id();
    config a = dcvs(id, NOM), b = dcvs_exp(id, 0x280), c = ceng(NOM), d = ceng_exp(0x200);
    HTP_FAILS(send_two(id, &a, &b), INVALID);
    HTP_FAILS(send_two(id, &b, &a), INVALID);
    accepts(id, a);
    accepts(id, b); // the later one replaces
    assert_int_equal(vote_of(id).dcvs.core.target, 0x280);
    assert_int_equal(vote_of(id).dcvs.sleep_latency_us, 0);
    accepts(id, a);
    assert_int_equal(vote_of(id).dcvs.core.target, 0x60);
    assert_false(vote_of(id).dcvs.expanded);
    HTP_FAILS(send_two(id, &c, &d), INVALID);
    HTP_OK(send_two(id, &a, &d)); // mixed kinds are fine
    assert_int_equal(vote_of(id).ceng.corners.target, 0x200);
    HTP_OK(send_two(id, &b, &c));
    assert_int_equal(vote_of(id).ceng.corners.target, 0x60);
    HTP_OK(perf.destroyPowerConfigId(id));
}

static void htp_pwr_43_ssr_04_restart(void **state) {
    (void)state;
    use_arch(85);
    uint32_t legacy = new_id(), expanded = new_id();
    accepts(legacy, dcvs(legacy, MAX));
    accepts(legacy, LATENCY(100));
    accepts(legacy, POLLING(100));
    accepts(expanded, dcvs_exp(expanded, 0x280));
    accepts(expanded, dcvs_exp(expanded, 0x290)); // the newest one
    restart();
    assert_false(vote_of(legacy).dcvs.voted);
    assert_int_equal(vote_of(legacy).rpc_latency_us, 0);
    assert_int_equal(vote_of(0).polling_us, 0);
    assert_int_equal(vote_of(expanded).dcvs.core.target, 0x290);
    accepts(legacy, dcvs(legacy, MAX)); // the id lives on
    HTP_OK(perf.destroyPowerConfigId(legacy));
    HTP_OK(perf.destroyPowerConfigId(expanded));
}

// Votes and devices from several threads at a time.
static void *vote_for_a_while(void *arg) {
    for (int i = 0; i < 200; i++) {
        uint32_t id = 0;
        Qnn_DeviceHandle_t d = NULL;
        if (perf.createPowerConfigId(0, 0, &id) || qnn.deviceCreate(NULL, NULL, &d))
            return arg;
        config c = dcvs(id, i % 2 ? MAX : NOM);
        if (send(id, &c) || qnn.deviceFree(d) || perf.destroyPowerConfigId(id))
            return arg;
    }
    return NULL;
}

static void threads_vote_side_by_side(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, vote_for_a_while, threads), 0);
    for (int i = 0; i < 4; i++) {
        void *bad = NULL;
        assert_int_equal(pthread_join(threads[i], &bad), 0);
        assert_null(bad);
    }
    assert_int_equal(clock_mhz(), 900); // nothing is left of their votes
}

// A client's tests look for these words.
static void accepted_votes_are_logged(void **state) {
    (void)state;
    HTP_OK(qnn.deviceCreate(log_handle, NULL, &device));
    uint32_t id = new_id();
    logged[0] = 0;
    accepts(id, dcvs(id, MAX));
    assert_non_null(strstr(logged, "coreVoltageCornerMin 160"));
    logged[0] = 0;
    accepts(id, dcvs(id, DCVS_VOLTAGE_VCORNER_SVS_PLUS));
    assert_non_null(strstr(logged, "coreVoltageCornerMin 80"));
    HTP_OK(perf.destroyPowerConfigId(id));
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(htp_pwr_01_ids),
        TEST(ids_run_out_and_come_back),
        TEST(htp_pwr_02_lists),
        TEST(htp_pwr_02_null_client_overrides),
        TEST(htp_pwr_03_destroy_withdraws),
        TEST(htp_pwr_04_memory_config),
        TEST(htp_pwr_06_pwr_10_flags_decide_what_counts),
        TEST(htp_pwr_11_sleep_latency),
        TEST(htp_pwr_12_power_mode),
        TEST(htp_pwr_13_context_id),
        TEST(htp_pwr_14_corners),
        TEST(htp_pwr_15_clock_follows_the_vote),
        TEST(htp_pwr_20_control_latency),
        TEST(htp_pwr_21_polling_time),
        TEST(htp_pwr_22_adaptive_polling),
        TEST(htp_pwr_24_hmx_timeout),
        TEST(htp_pwr_25_ddr_mode),
        TEST(htp_pwr_30_hmx_needs_v75),
        TEST(htp_pwr_31_pwr_33_hmx_follows_dcvs_by_default),
        TEST(htp_pwr_32_hmx_needs_dcvs),
        TEST(htp_pwr_34_default_comes_back_on_demand_only),
        TEST(htp_pwr_35_reverting_needs_dcvs),
        TEST(htp_pwr_36_table),
        TEST(htp_pwr_37_clock_modes),
        TEST(htp_pwr_40_compression_engine),
        TEST(htp_pwr_41_expanded_votes),
        TEST(htp_pwr_42_scales_exclude_each_other_in_a_call),
        TEST(htp_pwr_43_ssr_04_restart),
        TEST(threads_vote_side_by_side),
        TEST(accepted_votes_are_logged),
    };
    return cmocka_run_group_tests(tests, open_table, close_table);
}
