// SPDX-License-Identifier: MIT
//
// Files mapped read-only.
#ifndef QRN_BASE_FILE_H
#define QRN_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct qrn_file {
    const void *data; // never NULL after success, even for an empty file
    size_t size;
} qrn_file;

// Maps a regular file; the message names it and what the system said.
qrn_status qrn_file_map(const char *path, qrn_file *out);
void qrn_file_unmap(qrn_file *f); // a zeroed struct is fine

// Is the address in a mapping of a file that has a place on a disk (not of a memory file)? Asks the
// system, slowly.
bool qrn_file_holds(const void *address);

#endif
