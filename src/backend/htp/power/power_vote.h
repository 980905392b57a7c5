// SPDX-License-Identifier: MIT
//
// Power votes as values: what one power config id has voted for, which options are allowed when,
// and the clock that follows. Pure functions; the registry of ids is power.c.
//
// Operating points ("corners") keep the number a client gave. The two scales of the API do not
// overlap, but for 0: 0x10 to 0xA0 is the first one, 0 and 0x100 to 0xFFFF the finer one.
#ifndef QRN_BACKEND_HTP_POWER_VOTE_H
#define QRN_BACKEND_HTP_POWER_VOTE_H

#include "base/status.h"

#include "HTP/QnnHtpPerfInfrastructure.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qrn_htp_corners {
    uint32_t min, target, max;
} qrn_htp_corners;

// Of the core and the bus.
typedef struct qrn_htp_dcvs_vote {
    bool voted;
    bool expanded;             // by DCVS_V3_EXP
    bool on;                   // clocks follow the load
    uint32_t mode;             // power mode; 0: does not count, because clocks are fixed
    uint32_t sleep_latency_us; // 0: not voted for
    bool sleep_disabled;
    bool bus_voted, core_voted;
    qrn_htp_corners bus, core;
    uint32_t bus_perf, core_perf; // QnnHtpPerfInfrastructure_ClkPerfMode_t
} qrn_htp_dcvs_vote;

// Of the matrix unit or the compression engine.
typedef struct qrn_htp_unit_vote {
    bool voted;    // false: the default is in force
    bool expanded; // by CENG_EXP
    qrn_htp_corners corners;
    uint32_t perf;
} qrn_htp_unit_vote;

// Everything a power config id holds.
typedef struct qrn_htp_vote {
    qrn_htp_dcvs_vote dcvs;
    qrn_htp_unit_vote hmx, ceng;
    uint32_t rpc_latency_us; // 0: none
    uint32_t hmx_timeout_us; // 0: not voted for
    bool ddr;                // DDR performance mode
} qrn_htp_vote;

// What is one for the whole process.
typedef struct qrn_htp_rpc {
    uint32_t polling_us;  // 0: off
    uint32_t adaptive_us; // threshold of adaptive polling; 0: off
} qrn_htp_rpc;

#define QRN_HTP_ARCH_ANY UINT32_MAX // nobody asked for one: nothing is rejected for it

// Applies a NULL-terminated list of options to the vote of id; NULL changes nothing. DCVS votes
// count first, so that votes that need one may stand before it. On failure nothing changes:
// QRN_E_ARGUMENT a value or a missing condition, QRN_E_UNSUPPORTED not on this architecture,
// QRN_E_CONFIG unknown option.
qrn_status qrn_htp_vote_apply(uint32_t arch, uint32_t id,
                              const QnnHtpPerfInfrastructure_PowerConfig_t **list,
                              qrn_htp_vote *vote, qrn_htp_rpc *rpc);

// What is in force: defaults where nothing was voted for, nothing whose condition has gone.
qrn_htp_vote qrn_htp_vote_in_force(const qrn_htp_vote *vote, const qrn_htp_rpc *rpc);
qrn_htp_rpc qrn_htp_rpc_in_force(const qrn_htp_rpc *rpc);

// Modelled clock of a corner; perf as in QnnHtpPerfInfrastructure_ClkPerfMode_t.
uint64_t qrn_htp_corner_hz(uint32_t corner, uint32_t perf);
// Modelled core clock under load of a DCVS vote whose core was voted for (HTP-PWR-15).
uint64_t qrn_htp_dcvs_hz(const qrn_htp_dcvs_vote *dcvs);

#endif
