// SPDX-License-Identifier: MIT
//
// Performance profiles: names for sets of power votes, and when they are raised and lowered. For
// programs that take a profile by name; the backend itself votes for nothing.
#ifndef QRN_BACKEND_HTP_PERF_PROFILES_H
#define QRN_BACKEND_HTP_PERF_PROFILES_H

#include "backend/htp/power/power_vote.h"

#define QRN_HTP_PERF_DEFAULT "high_performance" // where a configuration file is silent
#define QRN_HTP_PERF_POLLING_US 9999u           // of profiles that poll
#define QRN_HTP_PERF_VOTES_MAX 5u               // entries of a list, without the end
#define QRN_HTP_PERF_KEEP_US 300000u            // how long KEEP keeps; an assumption

// What holds between two inferences.
typedef enum qrn_htp_idle {
    QRN_HTP_IDLE_KEEP,    // the profile, until a timer fires; then RELAXED
    QRN_HTP_IDLE_RELAXED, // a slower set of votes
    QRN_HTP_IDLE_RELEASED // nearly nothing
} qrn_htp_idle;

typedef struct qrn_htp_perf_profile {
    const char *name;
    uint32_t sleep_us;
    uint32_t bus_min, bus_top, core_min, core_top; // top: target and max
    qrn_htp_idle idle;
    bool dcvs_on, polls;
    bool llm;               // what follows is voted for, too
    bool ddr;               // where the chip has it
    uint32_t hmx, hmx_perf; // finer scale
    uint32_t ceng, ceng_perf;
} qrn_htp_perf_profile;

// i-th profile that can be asked for, from the fastest to the slowest; NULL behind the last one.
const qrn_htp_perf_profile *qrn_htp_perf_profile_at(uint32_t i);

// A profile by name; *out is NULL for "system_settings", which votes for nothing. "default" is
// balanced. QRN_E_ARGUMENT: no such profile; QRN_E_UNSUPPORTED: not on this architecture.
qrn_status qrn_htp_perf_profile_by_name(const char *name, uint32_t arch,
                                        const qrn_htp_perf_profile **out);

// The votes of a state between inferences; never NULL, KEEP counts as RELAXED.
const qrn_htp_perf_profile *qrn_htp_perf_idle(qrn_htp_idle state);

// Writes the votes of a profile for a power config id; returns how many. Votes that the
// architecture lacks are left out.
uint32_t qrn_htp_perf_votes(const qrn_htp_perf_profile *p, uint32_t id, uint32_t arch,
                            QnnHtpPerfInfrastructure_PowerConfig_t votes[QRN_HTP_PERF_VOTES_MAX]);

typedef enum qrn_htp_phase {
    QRN_HTP_PHASE_INIT,
    QRN_HTP_PHASE_INFERENCE,
    QRN_HTP_PHASE_DEINIT
} qrn_htp_phase;

// One session with a profile. Zero, with profile set (NULL: no votes), is how it begins.
typedef struct qrn_htp_perf_session {
    const qrn_htp_perf_profile *profile;
    const qrn_htp_perf_profile *voted; // what is in force; NULL: nothing yet
    uint64_t lower_at_us;              // when the timer fires; 0: it is not set
} qrn_htp_perf_session;

// Before and after each phase, and when time has passed: the profile or state whose votes are to be
// sent now, or NULL when nothing changes.
const qrn_htp_perf_profile *qrn_htp_perf_begin(qrn_htp_perf_session *s, qrn_htp_phase phase);
const qrn_htp_perf_profile *qrn_htp_perf_end(qrn_htp_perf_session *s, qrn_htp_phase phase,
                                             uint64_t now_us);
const qrn_htp_perf_profile *qrn_htp_perf_tick(qrn_htp_perf_session *s, uint64_t now_us);

#endif
