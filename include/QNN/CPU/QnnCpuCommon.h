// SPDX-License-Identifier: MIT
//
// CPU backend: identity and version.

#ifndef QNN_CPU_COMMON_H
#define QNN_CPU_COMMON_H

#include "QnnCommon.h"

// Number, name and version of the backend.
#define QNN_BACKEND_ID_CPU 3
#define QNN_CPU_INTERFACE_PROVIDER_NAME "CPU_QTI_AISW"
#define QNN_CPU_API_VERSION_MAJOR 1
#define QNN_CPU_API_VERSION_MINOR 1
#define QNN_CPU_API_VERSION_PATCH 0

// Initial values: everything unset.
// clang-format off
#define QNN_CPU_API_VERSION_INIT \
    {{QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH}, \
    {QNN_CPU_API_VERSION_MAJOR, QNN_CPU_API_VERSION_MINOR, QNN_CPU_API_VERSION_PATCH}}
// clang-format on

#endif // QNN_CPU_COMMON_H
