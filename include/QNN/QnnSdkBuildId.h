// SPDX-License-Identifier: MIT
//
// Build identifier of these headers.

#ifndef QNN_SDK_BUILD_ID_H
#define QNN_SDK_BUILD_ID_H

#define QNN_SDK_BUILD_ID "v2.37.0.0_quern" // same form as QnnBackend_getBuildId gives

#endif // QNN_SDK_BUILD_ID_H
