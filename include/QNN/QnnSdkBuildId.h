// SPDX-License-Identifier: MIT
//
// Build identifier of these headers: the SDK release whose core API version is announced (2.51 goes
// with core 2.40). Clients choose by it what they ask for; they read "v<major>.<minor>.<patch>".

#ifndef QNN_SDK_BUILD_ID_H
#define QNN_SDK_BUILD_ID_H

#define QNN_SDK_BUILD_ID "v2.51.0.0_quern"

#endif // QNN_SDK_BUILD_ID_H
