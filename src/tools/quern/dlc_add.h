// SPDX-License-Identifier: MIT
//
// Records that programs add to a DLC file in memory (Quern/SystemDlc.h).
#ifndef QRN_TOOLS_QUERN_DLC_ADD_H
#define QRN_TOOLS_QUERN_DLC_ADD_H

#include <stdint.h>

typedef struct qt_dlc_new {
    const char *name;
    uint32_t type;    // QnnSystemDlc_RecordType_t
    const void *data; // NULL: none, and nothing is added
    uint64_t n_bytes;
} qt_dlc_new;

// Replaces the bytes (from malloc) of a DLC file by those of one with the records. QT_EXIT_OK or
// another code after a message; `path` is what it calls the file.
int qt_dlc_add(const char *path, const qt_dlc_new *list, uint32_t n, void **bytes,
               uint64_t *n_bytes);

#endif
