// SPDX-License-Identifier: MIT
//
// Votes for the clocks of an HTP device, as clients of the API make them.
#ifndef QRN_FRONTEND_CLIENT_VOTE_H
#define QRN_FRONTEND_CLIENT_VOTE_H

#include "HTP/QnnHtpDevice.h"

#include <stdbool.h>

// The device and its bus at one operating point, under a power config id. follow_load: clocks may
// go down with the load; saver: in the mode that saves power.
static inline QnnHtpPerfInfrastructure_PowerConfig_t qc_vote_clocks(
    uint32_t id, QnnHtpPerfInfrastructure_VoltageCorner_t corner, uint32_t sleep_us,
    bool follow_load, bool saver) {
    return (QnnHtpPerfInfrastructure_PowerConfig_t){
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3,
        .dcvsV3Config = {.contextId = id,
                         .setDcvsEnable = 1,
                         .dcvsEnable = follow_load,
                         .powerMode = saver
                                          ? QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE
                                          : QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
                         .setSleepLatency = 1,
                         .sleepLatency = sleep_us,
                         .setBusParams = 1,
                         .busVoltageCornerMin = corner,
                         .busVoltageCornerTarget = corner,
                         .busVoltageCornerMax = corner,
                         .setCoreParams = 1,
                         .coreVoltageCornerMin = corner,
                         .coreVoltageCornerTarget = corner,
                         .coreVoltageCornerMax = corner}};
}

#endif
