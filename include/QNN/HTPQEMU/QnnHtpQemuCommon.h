// SPDX-License-Identifier: MIT
//
// HTP emulator backend: its number. For clients that include it; Quern has no such library.

#ifndef QNN_HTP_QEMU_COMMON_H
#define QNN_HTP_QEMU_COMMON_H

// Number of the backend.
#define QNN_BACKEND_ID_HTP_QEMU 13

#endif // QNN_HTP_QEMU_COMMON_H
