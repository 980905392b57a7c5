// SPDX-License-Identifier: MIT
//
// Errors: which code a status becomes in each component, and the text of every code. The last
// failures of each thread are kept for getVerboseMessage.
#include "core/errors.h"

#include "HTP/QnnHtpPerfInfrastructure.h"
#include "QnnInterface.h"
#include "Saver/QnnSaver.h"
#include "System/QnnSystemContext.h"
#include "System/QnnSystemDlc.h"
#include "System/QnnSystemProfile.h"
#include "System/QnnSystemTensor.h"

#include <stdio.h>
#include <string.h>

static const struct {
    Qnn_ErrorHandle_t code;
    const char *name;
    const char *text; // "NAME: meaning"
} errors[] = {
#define QRN_ERROR(name, text) {name, #name, #name ": " text},
#include "core/error_texts.def"
#undef QRN_ERROR
};

// Codes of a component; where a row is silent that of COMMON holds, and at last GENERAL.
// clang-format off
static const uint16_t codes[QRN_COMP_COUNT][QRN_STATUS_COUNT] = {
    [QRN_COMP_COMMON] = {
        [QRN_E_MEM] = QNN_COMMON_ERROR_MEM_ALLOC,
        [QRN_E_ARGUMENT] = QNN_COMMON_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_COMMON_ERROR_INVALID_ARGUMENT,
        [QRN_E_CONFIG] = QNN_COMMON_ERROR_INVALID_ARGUMENT,
        [QRN_E_INCONSISTENT] = QNN_COMMON_ERROR_INVALID_ARGUMENT,
        [QRN_E_UNSUPPORTED] = QNN_COMMON_ERROR_NOT_SUPPORTED,
        [QRN_E_NOT_PERMITTED] = QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
        [QRN_E_PLATFORM] = QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED,
        [QRN_E_SYSTEM] = QNN_COMMON_ERROR_SYSTEM,
        [QRN_E_COMM] = QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
        [QRN_E_COMM_FATAL] = QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL,
    },
    [QRN_COMP_BACKEND] = {
        [QRN_E_ARGUMENT] = QNN_BACKEND_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_BACKEND_ERROR_INVALID_HANDLE,
        [QRN_E_CONFIG] = QNN_BACKEND_ERROR_INVALID_CONFIG,
        [QRN_E_INCONSISTENT] = QNN_BACKEND_ERROR_INCONSISTENT_CONFIG,
        [QRN_E_UNSUPPORTED] = QNN_BACKEND_ERROR_NOT_SUPPORTED,
        [QRN_E_INIT] = QNN_BACKEND_ERROR_CANNOT_INITIALIZE,
        [QRN_E_HARDWARE] = QNN_BACKEND_ERROR_CANNOT_INITIALIZE,
        [QRN_E_TERMINATE] = QNN_BACKEND_ERROR_TERMINATE_FAILED,
        [QRN_E_IN_USE] = QNN_BACKEND_ERROR_TERMINATE_FAILED,
        [QRN_E_OP_UNKNOWN] = QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND,
        [QRN_E_PKG_LOAD] = QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND,
        [QRN_E_PKG_PROVIDER] = QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND,
        [QRN_E_PKG_REGISTER] = QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED,
        [QRN_E_PKG_VERSION] = QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION,
        [QRN_E_PKG_DUPLICATE] = QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE,
        [QRN_E_ALREADY] = QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE,
        [QRN_E_OP_CONFIG] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
        [QRN_E_TENSOR] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
        [QRN_E_TENSOR_UNSUPPORTED] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
        [QRN_E_SHAPE] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
        [QRN_E_DTYPE] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
        [QRN_E_PARAM] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
    },
    [QRN_COMP_DEVICE] = {
        [QRN_E_ARGUMENT] = QNN_DEVICE_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_DEVICE_ERROR_INVALID_HANDLE,
        [QRN_E_CONFIG] = QNN_DEVICE_ERROR_INVALID_CONFIG,
        [QRN_E_INCONSISTENT] = QNN_DEVICE_ERROR_INVALID_CONFIG,
        [QRN_E_HARDWARE] = QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE,
        [QRN_E_IN_USE] = QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT,
    },
    [QRN_COMP_CONTEXT] = {
        [QRN_E_ARGUMENT] = QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
        [QRN_E_IN_USE] = QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_CONTEXT_ERROR_INVALID_HANDLE,
        [QRN_E_CONFIG] = QNN_CONTEXT_ERROR_INVALID_CONFIG,
        [QRN_E_INCONSISTENT] = QNN_CONTEXT_ERROR_INVALID_CONFIG,
        [QRN_E_NOT_FINALIZED] = QNN_CONTEXT_ERROR_NOT_FINALIZED,
        [QRN_E_PROFILE] = QNN_CONTEXT_ERROR_SET_PROFILE,
        [QRN_E_ABORTED] = QNN_CONTEXT_ERROR_ABORTED,
        [QRN_E_TIMED_OUT] = QNN_CONTEXT_ERROR_TIMED_OUT,
        [QRN_E_BINARY] = QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
        [QRN_E_BINARY_VERSION] = QNN_CONTEXT_ERROR_BINARY_VERSION,
        [QRN_E_BINARY_CONFIG] = QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
        [QRN_E_BINARY_SUBOPTIMAL] = QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL,
        [QRN_E_NOT_FOUND] = QNN_TENSOR_ERROR_DOES_NOT_EXIST,
        [QRN_E_TENSOR_UPDATE] = QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE,
    },
    [QRN_COMP_GRAPH] = {
        [QRN_E_ARGUMENT] = QNN_GRAPH_ERROR_INVALID_ARGUMENT,
        [QRN_E_CONFIG] = QNN_GRAPH_ERROR_INVALID_ARGUMENT,
        [QRN_E_INCONSISTENT] = QNN_CONTEXT_ERROR_INVALID_CONFIG, // against the context's options
        [QRN_E_HANDLE] = QNN_GRAPH_ERROR_INVALID_HANDLE,
        [QRN_E_NAME] = QNN_GRAPH_ERROR_INVALID_NAME,
        [QRN_E_NOT_FOUND] = QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST,
        [QRN_E_TENSOR] = QNN_GRAPH_ERROR_INVALID_TENSOR,
        [QRN_E_TENSOR_UNSUPPORTED] = QNN_GRAPH_ERROR_INVALID_TENSOR,
        [QRN_E_OP_CONFIG] = QNN_GRAPH_ERROR_INVALID_OP_CONFIG,
        [QRN_E_OP_UNKNOWN] = QNN_GRAPH_ERROR_INVALID_OP_CONFIG,
        [QRN_E_SHAPE] = QNN_GRAPH_ERROR_INVALID_OP_CONFIG,
        [QRN_E_DTYPE] = QNN_GRAPH_ERROR_INVALID_OP_CONFIG,
        [QRN_E_PARAM] = QNN_GRAPH_ERROR_INVALID_OP_CONFIG,
        [QRN_E_PROFILE] = QNN_GRAPH_ERROR_SET_PROFILE,
        [QRN_E_UNCONNECTED] = QNN_GRAPH_ERROR_UNCONNECTED_NODE,
        [QRN_E_CREATE] = QNN_GRAPH_ERROR_CREATE_FAILED,
        [QRN_E_OPTIMIZE] = QNN_GRAPH_ERROR_OPTIMIZATION_FAILED,
        [QRN_E_FINALIZE] = QNN_GRAPH_ERROR_FINALIZE_FAILED,
        [QRN_E_NOT_FINALIZED] = QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
        [QRN_E_FINALIZED] = QNN_GRAPH_ERROR_GRAPH_FINALIZED,
        [QRN_E_IN_USE] = QNN_GRAPH_ERROR_SIGNAL_IN_USE,
        [QRN_E_ALREADY] = QNN_GRAPH_ERROR_PROFILE_IN_USE,
        [QRN_E_FULL] = QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL,
        [QRN_E_ABORTED] = QNN_GRAPH_ERROR_ABORTED,
        [QRN_E_TIMED_OUT] = QNN_GRAPH_ERROR_TIMED_OUT,
        [QRN_E_SUBGRAPH] = QNN_GRAPH_ERROR_SUBGRAPH,
        [QRN_E_DISABLED] = QNN_GRAPH_ERROR_DISABLED,
        [QRN_E_DYNAMIC_SHAPE] = QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE,
        [QRN_E_SPARSITY] = QNN_GRAPH_ERROR_TENSOR_SPARSITY,
        [QRN_E_EARLY] = QNN_GRAPH_ERROR_EARLY_TERMINATION,
        [QRN_E_WRONG_CONTEXT] = QNN_GRAPH_ERROR_INVALID_CONTEXT,
        [QRN_E_CYCLE] = QNN_GRAPH_ERROR_CYCLE_DETECTED,
    },
    [QRN_COMP_TENSOR] = {
        [QRN_E_HANDLE] = QNN_TENSOR_ERROR_INVALID_HANDLE,
        [QRN_E_NOT_FOUND] = QNN_TENSOR_ERROR_DOES_NOT_EXIST,
        [QRN_E_ARGUMENT] = QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
        [QRN_E_NAME] = QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
        [QRN_E_TENSOR] = QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
        [QRN_E_SHAPE] = QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
        [QRN_E_DTYPE] = QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
        [QRN_E_TENSOR_UNSUPPORTED] = QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM,
        [QRN_E_TENSOR_UPDATE] = QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE,
        [QRN_E_NOT_FINALIZED] = QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
    },
    [QRN_COMP_OP_PACKAGE] = {
        [QRN_E_ARGUMENT] = QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_OP_PACKAGE_ERROR_INVALID_HANDLE,
        [QRN_E_OP_CONFIG] = QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE,
    },
    [QRN_COMP_MEM] = {
        [QRN_E_ARGUMENT] = QNN_MEM_ERROR_INVALID_ARGUMENT,
        [QRN_E_CONFIG] = QNN_MEM_ERROR_INVALID_ARGUMENT,
        [QRN_E_DTYPE] = QNN_MEM_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_MEM_ERROR_INVALID_HANDLE,
        [QRN_E_ALREADY] = QNN_MEM_ERROR_ALREADY_REGISTERED,
        [QRN_E_MAPPING] = QNN_MEM_ERROR_MAPPING,
        [QRN_E_SHAPE] = QNN_MEM_ERROR_INVALID_SHAPE,
        [QRN_E_MEMTYPE] = QNN_MEM_ERROR_UNSUPPORTED_MEMTYPE,
    },
    [QRN_COMP_SIGNAL] = {
        [QRN_E_IN_USE] = QNN_SIGNAL_ERROR_SIGNAL_IN_USE,
        [QRN_E_IDLE] = QNN_SIGNAL_ERROR_SIGNAL_IDLE,
        [QRN_E_ARGUMENT] = QNN_SIGNAL_ERROR_INVALID_ARGUMENT,
        [QRN_E_CONFIG] = QNN_SIGNAL_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_SIGNAL_ERROR_INVALID_HANDLE,
        [QRN_E_TIMED_OUT] = QNN_SIGNAL_ERROR_TIMEOUT,
        [QRN_E_INCOMPATIBLE] = QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE,
    },
    [QRN_COMP_LOG] = {
        [QRN_E_INIT] = QNN_LOG_ERROR_INITIALIZATION,
        [QRN_E_ARGUMENT] = QNN_LOG_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_LOG_ERROR_INVALID_HANDLE,
    },
    [QRN_COMP_PROFILE] = {
        [QRN_E_HANDLE] = QNN_PROFILE_ERROR_INVALID_HANDLE,
        [QRN_E_IN_USE] = QNN_PROFILE_ERROR_HANDLE_IN_USE,
        [QRN_E_INCOMPATIBLE] = QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT,
    },
    [QRN_COMP_ERROR] = {
        [QRN_E_ARGUMENT] = QNN_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_ERROR_INVALID_ERROR_HANDLE,
    },
    [QRN_COMP_GLOBAL_CONFIG] = {
        [QRN_E_ARGUMENT] = QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG,
        [QRN_E_CONFIG] = QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG,
        [QRN_E_INCONSISTENT] = QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG,
        [QRN_E_UNSUPPORTED] = QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG,
    },
    [QRN_COMP_PERF] = {
        [QRN_E_ARGUMENT] = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_INVALID_INPUT,
        [QRN_E_CONFIG] = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED_CONFIG,
        [QRN_E_UNSUPPORTED] = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_UNSUPPORTED,
        [QRN_E_MEM] = QNN_HTP_PERF_INFRASTRUCTURE_ERROR_MEM_ALLOC,
    },
    [QRN_COMP_SYSTEM_CONTEXT] = {
        [QRN_E_ARGUMENT] = QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE,
        [QRN_E_BINARY] = QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY,
        [QRN_E_BINARY_VERSION] = QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY,
    },
    [QRN_COMP_SYSTEM_DLC] = {
        [QRN_E_ARGUMENT] = QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
        [QRN_E_NOT_FOUND] = QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
        [QRN_E_BINARY] = QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY,
        [QRN_E_BINARY_VERSION] = QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY,
        [QRN_E_SYSTEM] = QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED,
        [QRN_E_NOT_PERMITTED] = QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED,
        [QRN_E_GENERAL] = QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED,
    },
    [QRN_COMP_SYSTEM_TENSOR] = {
        [QRN_E_ARGUMENT] = QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT,
        [QRN_E_TENSOR] = QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR,
    },
    [QRN_COMP_SYSTEM_PROFILE] = {
        [QRN_E_MEM] = QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC,
        [QRN_E_ARGUMENT] = QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT,
        [QRN_E_HANDLE] = QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE,
    },
};
// clang-format on

// The last failures of this thread, newest at `newest`.
#define N_KEPT 4
typedef struct failure {
    Qnn_ErrorHandle_t code;
    char text[QRN_MESSAGE_MAX];
} failure;
static _Thread_local failure kept[N_KEPT];
static _Thread_local unsigned newest;

Qnn_ErrorHandle_t qrn_error_code(qrn_component comp, qrn_status s) {
    if (s == QRN_OK)
        return QNN_SUCCESS;
    if ((unsigned)comp >= QRN_COMP_COUNT || (unsigned)s >= QRN_STATUS_COUNT)
        return QNN_COMMON_ERROR_GENERAL;
    if (codes[comp][s])
        return codes[comp][s];
    return codes[QRN_COMP_COMMON][s] ? codes[QRN_COMP_COMMON][s] : QNN_COMMON_ERROR_GENERAL;
}

// Row of a code in errors[]; -1 when unknown. Only the low 16 bits of an error handle are the code.
static int find(Qnn_ErrorHandle_t error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == QNN_GET_ERROR_CODE(error))
            return (int)i;
    return -1;
}

static Qnn_ErrorHandle_t end_call(Qnn_ErrorHandle_t code, qrn_status s, QnnLog_Level_t level,
                                  qrn_api_log *log) {
    if (s == QRN_OK) {
        qrn_message_clear();
        return QNN_SUCCESS;
    }
    newest = (newest + 1) % N_KEPT;
    failure *f = &kept[newest];
    f->code = code;
    const char *m = qrn_message();
    snprintf(f->text, sizeof f->text, "%s", *m ? m : qrn_status_text(s));
    qrn_message_clear();
    int row = find(code);
    qrn_log(log, level, "%s%s (%s)", level > QNN_LOG_LEVEL_ERROR ? "trial: " : "", f->text,
            row < 0 ? "?" : errors[row].name);
    return code;
}

Qnn_ErrorHandle_t qrn_api_end_as(Qnn_ErrorHandle_t code, qrn_status s, qrn_api_log *log) {
    return end_call(code, s, QNN_LOG_LEVEL_ERROR, log);
}

Qnn_ErrorHandle_t qrn_api_end_trial(qrn_component comp, qrn_status s, bool is_trial,
                                    qrn_api_log *log) {
    return end_call(qrn_error_code(comp, s), s,
                    is_trial ? QNN_LOG_LEVEL_VERBOSE : QNN_LOG_LEVEL_ERROR, log);
}

Qnn_ErrorHandle_t qrn_api_end(qrn_component comp, qrn_status s, qrn_api_log *log) {
    return qrn_api_end_as(qrn_error_code(comp, s), s, log);
}

const char *qrn_error_text(Qnn_ErrorHandle_t error) {
    int row = find(error);
    return row < 0 ? NULL : errors[row].text;
}

bool qrn_error_kept(Qnn_ErrorHandle_t error, char *line, size_t size) {
    int row = find(error);
    for (unsigned i = 0; row >= 0 && i < N_KEPT; i++) {
        const failure *f = &kept[(newest + N_KEPT - i) % N_KEPT];
        if (f->code && f->code == QNN_GET_ERROR_CODE(error)) {
            snprintf(line, size, "%s: %s", errors[row].name, f->text);
            return true;
        }
    }
    return false;
}
