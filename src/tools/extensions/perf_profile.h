// SPDX-License-Identifier: MIT
//
// Performance profiles: what each one votes for while the program works, and what is left of the
// vote in between.
#ifndef QRN_TOOLS_EXTENSIONS_PERF_PROFILE_H
#define QRN_TOOLS_EXTENSIONS_PERF_PROFILE_H

#include "HTP/QnnHtpDevice.h"

#include <stdbool.h>
#include <stdint.h>

// Names that users may write, in the order of qx_profiles.
#define QX_PROFILES                                                                                \
    "burst|sustained_high_performance|high_performance|balanced|low_balanced|high_power_saver|"    \
    "power_saver|low_power_saver|extreme_power_saver|default|system_settings|llm_decode_burst|"    \
    "llm_decode_sustained_high_performance|llm_decode_high_performance|llm_decode_balanced|"       \
    "llm_decode_low_balanced|llm_decode_high_power_saver|llm_decode_power_saver|"                  \
    "llm_decode_low_power_saver|llm_decode_extreme_power_saver|llm_decode_default"

typedef QnnHtpPerfInfrastructure_VoltageCorner_t qx_corner;

typedef enum qx_idle { QX_KEEP, QX_RELAXED, QX_RELEASED } qx_idle;

typedef struct qx_profile {
    const char *name;
    bool votes; // false: the system decides
    uint32_t sleep_us;
    qx_corner bus, core;
    bool polls;   // RPC polling, 9999 us unless told otherwise
    qx_idle idle; // between executions
    bool llm;     // with the votes below; v79 and later
    QnnHtpPerfInfrastructure_ExpVoltageCorner_t hmx;
    QnnHtpPerfInfrastructure_ClkPerfMode_t hmx_perf;
    qx_corner ceng;
    QnnHtpPerfInfrastructure_ClkPerfMode_t ceng_perf;
    bool ddr;
} qx_profile;

extern const qx_profile qx_profiles[];
#define QX_HIGH_PERFORMANCE 2 // the default of a file

// Position of a name in qx_profiles; -1: there is none.
int qx_profile_find(const char *name);

#define QX_MAX_VOTES 6
// The votes of a profile under a power config id, into room for QX_MAX_VOTES; how many.
unsigned qx_profile_votes(const qx_profile *p, uint32_t id,
                          QnnHtpPerfInfrastructure_PowerConfig_t *out);
// The vote of the idle state.
QnnHtpPerfInfrastructure_PowerConfig_t qx_idle_vote(qx_idle idle, uint32_t id);

#endif
