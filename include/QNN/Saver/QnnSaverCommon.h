// SPDX-License-Identifier: MIT
//
// Saver backend: identity and version.

#ifndef QNN_SAVER_COMMON_H
#define QNN_SAVER_COMMON_H

#include "QnnCommon.h"

// Number, name and version of the backend.
#define QNN_BACKEND_ID_SAVER 2
#define QNN_SAVER_INTERFACE_PROVIDER_NAME "SAVER_QTI_AISW"
#define QNN_SAVER_API_VERSION_MAJOR 1
#define QNN_SAVER_API_VERSION_MINOR 1
#define QNN_SAVER_API_VERSION_PATCH 0

// Initial values: everything unset.
// clang-format off
#define QNN_SAVER_API_VERSION_INIT \
    {{QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH}, \
    {QNN_SAVER_API_VERSION_MAJOR, QNN_SAVER_API_VERSION_MINOR, QNN_SAVER_API_VERSION_PATCH}}
// clang-format on

#endif // QNN_SAVER_COMMON_H
