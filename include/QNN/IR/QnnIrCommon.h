// SPDX-License-Identifier: MIT
//
// IR backend (writes graphs to a file instead of running them): identity and version.

#ifndef QNN_IR_COMMON_H
#define QNN_IR_COMMON_H

#include "QnnCommon.h"

// Number, name and version of the backend.
#define QNN_BACKEND_ID_IR 9
#define QNN_IR_INTERFACE_PROVIDER_NAME "IR_QTI_AISW"
#define QNN_IR_API_VERSION_MAJOR 0
#define QNN_IR_API_VERSION_MINOR 1
#define QNN_IR_API_VERSION_PATCH 0

// Initial values: everything unset.
// clang-format off
#define QNN_IR_API_VERSION_INIT \
    {{QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH}, \
    {QNN_IR_API_VERSION_MAJOR, QNN_IR_API_VERSION_MINOR, QNN_IR_API_VERSION_PATCH}}
// clang-format on

#endif // QNN_IR_COMMON_H
