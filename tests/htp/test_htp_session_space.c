// SPDX-License-Identifier: MIT
//
// Placement in the accelerator's sessions: the published cases. Sizes in quarters of a gigabyte.
#include "backend/htp/device/session_space.h"
#include "core/errors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define QUARTER (1ull << 28)
#define GIGABYTE (1ull << 30)

static uint32_t placed(qrn_htp_space *s, uint64_t bytes) {
    uint32_t session = 99;
    assert_int_equal(qrn_htp_space_place(s, bytes, &session), QRN_OK);
    return session;
}

static void refused(qrn_htp_space *s, uint64_t bytes) {
    uint32_t session = 99;
    qrn_status status = qrn_htp_space_place(s, bytes, &session);
    assert_int_equal(qrn_error_code(QRN_COMP_CONTEXT, status), 1002);
    assert_int_equal(session, 99);
}

static void not_mapped(qrn_htp_space *s, uint32_t session, uint64_t bytes) {
    qrn_status status = qrn_htp_space_map(s, session, bytes);
    assert_int_equal(qrn_error_code(QRN_COMP_MEM, status), 8003);
}

// MPD-T1
static void htp_mpd_02_first_fit(void **state) {
    (void)state;
    static const uint64_t sizes[] = {6, 6, 4, 4, 1};
    static const uint32_t sessions[] = {0, 0, 1, 1, 0};
    qrn_htp_space s = {0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(placed(&s, sizes[i] * QUARTER), sessions[i]);
    assert_int_equal(s.n_open, 2);
    assert_int_equal(s.used_bytes[0], 13 * QUARTER);
    assert_int_equal(s.used_bytes[1], 8 * QUARTER);
}

static void htp_mpd_02_fails_when_no_session_is_left(void **state) {
    (void)state;
    qrn_htp_space s = {0};
    for (uint32_t i = 0; i < QRN_HTP_SESSIONS; i++)
        assert_int_equal(placed(&s, 3 * GIGABYTE), i);
    refused(&s, GIGABYTE);
    qrn_htp_space_release(&s, 0, 3 * GIGABYTE);
    assert_int_equal(placed(&s, GIGABYTE), 0);
}

// MPD-T2, MPD-T3
static void htp_mpd_03_a_context_is_never_split(void **state) {
    (void)state;
    qrn_htp_space s = {0};
    refused(&s, 38 * GIGABYTE / 10);
    refused(&s, UINT64_MAX);
    assert_int_equal(s.n_open, 0);
    assert_int_equal(placed(&s, 15 * QUARTER), 0);
}

// Four contexts of 3.5 quarters fill session 0 but for one quarter; a fifth opens session 1; the
// buffers of a context need half a gigabyte.
#define CONTEXT (7 * (QUARTER / 2))
#define BUFFERS (2 * QUARTER)

// MPD-T4
static void htp_mpd_06_buffers_go_with_their_context(void **state) {
    (void)state;
    static const uint32_t sessions[] = {0, 0, 0, 0, 1};
    qrn_htp_space s = {0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(placed(&s, CONTEXT), sessions[i]);
    not_mapped(&s, 0, BUFFERS); // of the first context, although session 1 has room
    assert_int_equal(qrn_htp_space_map(&s, 1, BUFFERS), QRN_OK);
    not_mapped(&s, 2, 1); // not open
    not_mapped(&s, 0, UINT64_MAX);
}

// MPD-T5: create, register, create, register; the estimate keeps the room for the buffers.
static void htp_mpd_07_estimation_keeps_room(void **state) {
    (void)state;
    static const uint32_t sessions[] = {0, 0, 0, 1, 1};
    const uint64_t io = QUARTER;
    qrn_htp_space s = {0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(placed(&s, CONTEXT + io), sessions[i]);
    for (int i = 0; i < 5; i++) { // what was estimated is given back as buffers are mapped
        qrn_htp_space_release(&s, sessions[i], io);
        assert_int_equal(qrn_htp_space_map(&s, sessions[i], io), QRN_OK);
    }
}

// MPD-T6: a buffer that nobody needs, registered before context 4 and freed after the last one.
static void htp_mpd_07_dummy_buffer_moves_the_next_context(void **state) {
    (void)state;
    static const uint32_t sessions[] = {0, 0, 0, 1, 1};
    qrn_htp_space s = {0};
    for (int i = 0; i < 5; i++) {
        if (i == 3)
            assert_int_equal(qrn_htp_space_map(&s, 0, 2 * QUARTER), QRN_OK);
        assert_int_equal(placed(&s, CONTEXT), sessions[i]);
    }
    qrn_htp_space_release(&s, 0, 2 * QUARTER);
    for (int i = 0; i < 5; i++)
        assert_int_equal(qrn_htp_space_map(&s, sessions[i], QUARTER), QRN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_mpd_02_first_fit),
        cmocka_unit_test(htp_mpd_02_fails_when_no_session_is_left),
        cmocka_unit_test(htp_mpd_03_a_context_is_never_split),
        cmocka_unit_test(htp_mpd_06_buffers_go_with_their_context),
        cmocka_unit_test(htp_mpd_07_estimation_keeps_room),
        cmocka_unit_test(htp_mpd_07_dummy_buffer_moves_the_next_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
