// SPDX-License-Identifier: MIT
//
// Performance profiles: the published figures, as the votes that a power config id then holds, and
// the moments at which they are sent.
#include "backend/htp/power/perf_profiles.h"
#include "htp_client.h"

typedef QnnHtpPerfInfrastructure_PowerConfig_t config;

// Numbers of the API: corners of the first scale in hexadecimal.
static const struct {
    const char *name;
    uint32_t sleep_us;
    bool polls;
    uint32_t corner; // of bus and core alike
    qrn_htp_idle idle;
} published[] = {
    {"burst", 40, true, 0xA0, QRN_HTP_IDLE_KEEP},
    {"sustained_high_performance", 100, true, 0x80, QRN_HTP_IDLE_KEEP},
    {"high_performance", 100, true, 0x80, QRN_HTP_IDLE_RELAXED},
    {"balanced", 1000, false, 0x70, QRN_HTP_IDLE_RELAXED},
    {"low_balanced", 1000, false, 0x60, QRN_HTP_IDLE_RELAXED},
    {"high_power_saver", 1000, false, 0x50, QRN_HTP_IDLE_RELEASED},
    {"power_saver", 1000, false, 0x40, QRN_HTP_IDLE_RELEASED},
    {"low_power_saver", 1000, false, 0x30, QRN_HTP_IDLE_RELEASED},
    {"extreme_power_saver", 1000, false, 0x10, QRN_HTP_IDLE_RELEASED},
};
#define N_PUBLISHED (sizeof published / sizeof published[0])

static const qrn_htp_perf_profile *profile(const char *name, uint32_t arch) {
    const qrn_htp_perf_profile *p = NULL;
    assert_int_equal(qrn_htp_perf_profile_by_name(name, arch, &p), QRN_OK);
    return p;
}

// The vote that id 7 holds after a profile's list, in which nothing may be refused.
static qrn_htp_vote voted(const qrn_htp_perf_profile *p, uint32_t arch, qrn_htp_rpc *rpc) {
    config votes[QRN_HTP_PERF_VOTES_MAX];
    const config *list[QRN_HTP_PERF_VOTES_MAX + 1] = {0};
    uint32_t n = qrn_htp_perf_votes(p, 7, arch, votes);
    for (uint32_t i = 0; i < n; i++)
        list[i] = &votes[i];
    qrn_htp_power_facts facts = {.arch = arch};
    qrn_htp_vote v = {0};
    *rpc = (qrn_htp_rpc){0};
    assert_int_equal(qrn_htp_vote_apply(&facts, 7, list, &v, rpc), QRN_OK);
    return qrn_htp_vote_in_force(&v, rpc);
}

static void check_corners(const qrn_htp_corners *c, uint32_t min, uint32_t top) {
    assert_int_equal(c->min, min);
    assert_int_equal(c->target, top);
    assert_int_equal(c->max, top);
}

static void htp_pro_01_table(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N_PUBLISHED; i++) {
        qrn_htp_rpc rpc;
        qrn_htp_vote v = voted(profile(published[i].name, 73), 73, &rpc);
        assert_int_equal(v.dcvs.sleep_latency_us, published[i].sleep_us);
        assert_false(v.dcvs.on);
        check_corners(&v.dcvs.bus, published[i].corner, published[i].corner);
        check_corners(&v.dcvs.core, published[i].corner, published[i].corner);
        // Ordered from the fastest to the slowest.
        assert_string_equal(qrn_htp_perf_profile_at(i)->name, published[i].name);
        if (i > 0)
            assert_true(published[i].corner <= qrn_htp_perf_profile_at(i - 1)->core_top);
    }
}

static void htp_pro_02_states_cannot_be_asked_for(void **state) {
    (void)state;
    static const struct {
        qrn_htp_idle idle;
        const char *name, *other;
        uint32_t sleep_us, min, top;
    } states[] = {{QRN_HTP_IDLE_RELAXED, "RELAXED", "relaxed", 2000, 0x30, 0x40},
                  {QRN_HTP_IDLE_RELEASED, "RELEASED", "released", 65535, 0x20, 0x20}};
    for (int i = 0; i < 2; i++) {
        const qrn_htp_perf_profile *p = NULL;
        assert_int_equal(qrn_htp_perf_profile_by_name(states[i].name, 73, &p), QRN_E_ARGUMENT);
        assert_int_equal(qrn_htp_perf_profile_by_name(states[i].other, 73, &p), QRN_E_ARGUMENT);
        qrn_htp_rpc rpc;
        qrn_htp_vote v = voted(qrn_htp_perf_idle(states[i].idle), 73, &rpc);
        assert_int_equal(v.dcvs.sleep_latency_us, states[i].sleep_us);
        assert_true(v.dcvs.on);
        assert_int_equal(rpc.polling_us, 0);
        check_corners(&v.dcvs.bus, states[i].min, states[i].top);
        check_corners(&v.dcvs.core, states[i].min, states[i].top);
    }
}

static void htp_pro_03_votes_go_up_and_down(void **state) {
    (void)state;
    static const qrn_htp_phase phases[] = {QRN_HTP_PHASE_INIT, QRN_HTP_PHASE_INFERENCE,
                                           QRN_HTP_PHASE_INFERENCE, QRN_HTP_PHASE_DEINIT};
    qrn_htp_perf_session s = {.profile = profile("high_performance", 73)};
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(qrn_htp_perf_begin(&s, phases[i]), s.profile);
        assert_ptr_equal(qrn_htp_perf_end(&s, phases[i], 1000),
                         qrn_htp_perf_idle(QRN_HTP_IDLE_RELAXED));
        assert_null(qrn_htp_perf_tick(&s, 1u << 30));
    }
    s = (qrn_htp_perf_session){.profile = NULL}; // system_settings
    assert_null(qrn_htp_perf_begin(&s, QRN_HTP_PHASE_INIT));
    assert_null(qrn_htp_perf_end(&s, QRN_HTP_PHASE_INIT, 1000));
}

static void htp_pro_04_between_inferences(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N_PUBLISHED; i++) {
        qrn_htp_perf_session s = {.profile = profile(published[i].name, 73)};
        assert_ptr_equal(qrn_htp_perf_begin(&s, QRN_HTP_PHASE_INFERENCE), s.profile);
        const qrn_htp_perf_profile *after = qrn_htp_perf_end(&s, QRN_HTP_PHASE_INFERENCE, 5000);
        if (published[i].idle != QRN_HTP_IDLE_KEEP) {
            assert_ptr_equal(after, qrn_htp_perf_idle(published[i].idle));
            continue;
        }
        // Kept: an inference in time finds the votes in force, and the timer starts again.
        assert_null(after);
        assert_null(qrn_htp_perf_tick(&s, 5000 + QRN_HTP_PERF_KEEP_US - 1));
        assert_null(qrn_htp_perf_begin(&s, QRN_HTP_PHASE_INFERENCE));
        assert_null(qrn_htp_perf_tick(&s, 10 * QRN_HTP_PERF_KEEP_US)); // not while it runs
        uint64_t end = 10 * QRN_HTP_PERF_KEEP_US;
        assert_null(qrn_htp_perf_end(&s, QRN_HTP_PHASE_INFERENCE, end));
        assert_ptr_equal(qrn_htp_perf_tick(&s, end + QRN_HTP_PERF_KEEP_US),
                         qrn_htp_perf_idle(QRN_HTP_IDLE_RELAXED));
        assert_null(qrn_htp_perf_tick(&s, end + 2 * QRN_HTP_PERF_KEEP_US));
        assert_ptr_equal(qrn_htp_perf_begin(&s, QRN_HTP_PHASE_INFERENCE), s.profile);
        // Not kept after the other phases.
        assert_ptr_equal(qrn_htp_perf_end(&s, QRN_HTP_PHASE_DEINIT, end),
                         qrn_htp_perf_idle(QRN_HTP_IDLE_RELAXED));
    }
}

static void htp_pro_05_names(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N_PUBLISHED; i++)
        assert_string_equal(profile(published[i].name, 68)->name, published[i].name);
    assert_null(profile("system_settings", 68)); // no votes at all
    assert_string_equal(profile("default", 68)->name, "balanced");
    assert_string_equal(profile(QRN_HTP_PERF_DEFAULT, 68)->name, "high_performance");
    static const char *const wrong[] = {"", "Burst", "turbo", "burst "};
    for (int i = 0; i < 4; i++) {
        const qrn_htp_perf_profile *p = NULL;
        assert_int_equal(qrn_htp_perf_profile_by_name(wrong[i], 73, &p), QRN_E_ARGUMENT);
    }
}

static void htp_pro_06_polling(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N_PUBLISHED; i++) {
        qrn_htp_rpc rpc;
        voted(profile(published[i].name, 73), 73, &rpc);
        assert_int_equal(rpc.polling_us, published[i].polls ? 9999 : 0);
        voted(profile(published[i].name, 68), 68, &rpc); // older chips cannot poll
        assert_int_equal(rpc.polling_us, 0);
    }
}

static void htp_pro_07_llm_decoding(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t sleep_us, bus, core, hmx, hmx_perf, ceng, ceng_perf;
        bool ddr;
    } llm[] = {
        {"llm_decode_burst", 40, 0xA0, 0xA0, 0x1C0, 0, 0x90, 0, true},
        {"llm_decode_sustained_high_performance", 100, 0x90, 0x60, 0x138, 1, 0x60, 0, false},
        {"llm_decode_high_performance", 100, 0x80, 0x50, 0x138, 1, 0x60, 0, false},
        {"llm_decode_balanced", 1000, 0x60, 0x50, 0, 1, 0x60, 0, false},
        {"llm_decode_low_balanced", 1000, 0x60, 0x50, 0, 1, 0x60, 0, false},
        {"llm_decode_high_power_saver", 1000, 0x60, 0x40, 0, 1, 0x50, 1, false},
        {"llm_decode_power_saver", 1000, 0x50, 0x30, 0, 1, 0x40, 1, false},
        {"llm_decode_low_power_saver", 1000, 0x30, 0x10, 0, 1, 0x30, 1, false},
        {"llm_decode_extreme_power_saver", 1000, 0x10, 0x10, 0, 1, 0x10, 1, false},
    };
    const qrn_htp_perf_profile *p = NULL;
    for (size_t i = 0; i < sizeof llm / sizeof llm[0]; i++) {
        assert_int_equal(qrn_htp_perf_profile_by_name(llm[i].name, 75, &p), QRN_E_UNSUPPORTED);
        qrn_htp_rpc rpc;
        qrn_htp_vote v = voted(profile(llm[i].name, 81), 81, &rpc);
        assert_int_equal(v.dcvs.sleep_latency_us, llm[i].sleep_us);
        check_corners(&v.dcvs.bus, llm[i].bus, llm[i].bus);
        check_corners(&v.dcvs.core, llm[i].core, llm[i].core);
        assert_true(v.hmx.voted && v.ceng.voted);
        check_corners(&v.hmx.corners, llm[i].hmx, llm[i].hmx);
        assert_int_equal(v.hmx.perf, llm[i].hmx_perf);
        check_corners(&v.ceng.corners, llm[i].ceng, llm[i].ceng);
        assert_int_equal(v.ceng.perf, llm[i].ceng_perf);
        assert_int_equal(v.ddr, llm[i].ddr);
        v = voted(profile(llm[i].name, 79), 79, &rpc); // has no DDR mode
        assert_false(v.ddr);
    }
    assert_string_equal(profile("llm_decode_default", 79)->name, "llm_decode_balanced");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_pro_01_table),
        cmocka_unit_test(htp_pro_02_states_cannot_be_asked_for),
        cmocka_unit_test(htp_pro_03_votes_go_up_and_down),
        cmocka_unit_test(htp_pro_04_between_inferences),
        cmocka_unit_test(htp_pro_05_names),
        cmocka_unit_test(htp_pro_06_polling),
        cmocka_unit_test(htp_pro_07_llm_decoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
