// SPDX-License-Identifier: MIT
//
// What qai_appbuilder's library writes in C++ with these headers around its models; compiled, never
// run. The calls themselves are in test_appbuilder_calls.c.
#include "HTP/QnnHtpDevice.h"
#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"

// One table and one infrastructure for all models of a process.
static QNN_INTERFACE_VER_TYPE table;
static QnnHtpDevice_Infrastructure_t *infrastructure(nullptr);

bool find_infrastructure() {
    QnnDevice_Infrastructure_t found = nullptr;
    if (table.deviceGetInfrastructure(&found) != QNN_SUCCESS)
        return false;
    infrastructure = static_cast<QnnHtpDevice_Infrastructure_t *>(found);
    QnnHtpDevice_PerfInfrastructure_t perf = infrastructure->perfInfra;
    uint32_t id = 0;
    return perf.createPowerConfigId(0, 0, &id) == QNN_SUCCESS &&
           perf.destroyPowerConfigId(id) == QNN_SUCCESS;
}

// Levels of logs and profiles come as numbers from Python.
QnnLog_Level_t log_level(int32_t level) { return (QnnLog_Level_t)level; }

uint64_t event(Qnn_ProfileHandle_t profile, uint32_t type) {
    const QnnProfile_EventId_t *events{nullptr};
    uint32_t n{0};
    if (table.profileGetEvents(profile, &events, &n) != QNN_PROFILE_NO_ERROR)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t data;
        if (table.profileGetEventData(events[i], &data) == QNN_PROFILE_NO_ERROR &&
            data.type == type)
            return data.value;
    }
    return 0;
}

// Adapters: a section of a context binary in a file of its own.
Qnn_ErrorHandle_t apply(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, void *data,
                        uint64_t size, Qnn_ProfileHandle_t profile) {
    QnnContext_Buffer_t buffer{};
    buffer.version = QNN_CONTEXT_BUFFER_VERSION_1;
    buffer.v1.memType = QNN_CONTEXTMEMTYPE_RAW;
    buffer.v1.binaryBuf.dataSize = size;
    buffer.v1.binaryBuf.data = data;
    return table.contextApplyBinarySection(context, graph, QNN_CONTEXT_SECTION_UPDATABLE, &buffer,
                                           profile, nullptr);
}
