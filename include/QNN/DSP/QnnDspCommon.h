// SPDX-License-Identifier: MIT
//
// DSP backend: identity and versions. For clients that include it; Quern has no such library.

#ifndef QNN_DSP_COMMON_H
#define QNN_DSP_COMMON_H

// Number, name and versions of the backend.
#define QNN_BACKEND_ID_DSP 5
#define QNN_DSP_INTERFACE_PROVIDER_NAME "DSP_QTI_AISW"
#define QNN_DSP_API_VERSION_MAJOR 5
#define QNN_DSP_API_VERSION_MINOR 0
#define QNN_DSP_API_VERSION_PATCH 1
#define QNN_DSP_BINARY_VERSION_MAJOR 1
#define QNN_DSP_BINARY_VERSION_MINOR 0
#define QNN_DSP_BINARY_VERSION_PATCH 0
#define QNN_DSP_CONTEXT_BLOB_VERSION_MAJOR 1
#define QNN_DSP_CONTEXT_BLOB_VERSION_MINOR 0
#define QNN_DSP_CONTEXT_BLOB_VERSION_PATCH 0

#endif // QNN_DSP_COMMON_H
