// SPDX-License-Identifier: MIT
//
// HTA backend: its number. For clients that include it; Quern has no such library.

#ifndef QNN_HTA_COMMON_H
#define QNN_HTA_COMMON_H

// Number of the backend.
#define QNN_BACKEND_ID_HTA 7

#endif // QNN_HTA_COMMON_H
