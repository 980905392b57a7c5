// SPDX-License-Identifier: MIT
//
// GPU backend: identity and version.

#ifndef QNN_GPU_COMMON_H
#define QNN_GPU_COMMON_H

#include "QnnCommon.h"

// Number, name and version of the backend.
#define QNN_BACKEND_ID_GPU 4
#define QNN_GPU_INTERFACE_PROVIDER_NAME "GPU_QTI_AISW"
#define QNN_GPU_API_VERSION_MAJOR 3
#define QNN_GPU_API_VERSION_MINOR 15
#define QNN_GPU_API_VERSION_PATCH 0

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_API_VERSION_INIT \
    {{QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR, QNN_API_VERSION_PATCH}, \
    {QNN_GPU_API_VERSION_MAJOR, QNN_GPU_API_VERSION_MINOR, QNN_GPU_API_VERSION_PATCH}}
// clang-format on

#endif // QNN_GPU_COMMON_H
