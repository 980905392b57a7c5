// SPDX-License-Identifier: MIT
//
// Files that are read: small ones are copied, large ones mapped and guarded. A mapping shows what
// other processes do to the file: one that is cut short ends the process (SIGBUS), one that is
// overwritten changes results. A guard keeps a descriptor and finds such changes with one fstat,
// between the reads; a change during a read can still be seen by it. Replacing a file by renaming
// another over it, or removing it, does no harm.
#ifndef QRN_BASE_FILE_H
#define QRN_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct qrn_file_guard qrn_file_guard;

typedef struct qrn_file {
    const void *data; // never NULL after success, even for an empty file; 64-byte aligned
    size_t size;
    qrn_file_guard *guard; // of a mapping; NULL: a copy
} qrn_file;

// Opens a regular file; the message names it and what the system said. Does not wait for a pipe.
qrn_status qrn_file_map(const char *path, qrn_file *out);
void qrn_file_unmap(qrn_file *f); // a zeroed struct is fine
// Leaves the pages that were read so far to the system; those that are read again come back.
void qrn_file_leave(const qrn_file *f);
// Is the file as it was? Always for a copy. One system call.
qrn_status qrn_file_check(const qrn_file *f);

// Is the address in a mapping of a file that has a place on a disk (not of a memory file)? Asks the
// system.
bool qrn_file_holds(const void *address);

// Guards the file that somebody else mapped at an address; NULL in *out where there is none, or
// none that can be opened under its name any more.
qrn_status qrn_file_guard_of(const void *address, qrn_file_guard **out);
qrn_status qrn_file_guard_check(const qrn_file_guard *g); // NULL is fine
void qrn_file_guard_free(qrn_file_guard *g);              // NULL is fine

// For handlers of SIGBUS: the path of the file that qrn_file_map mapped at an address, or NULL.
const char *qrn_file_at(const void *address);

#endif
