// SPDX-License-Identifier: MIT
//
// Files that appear whole or not at all. Everything of ours that writes a file does it through
// here: the bytes go into a temporary file in the same folder, which takes the name of the target
// when it is complete. Readers and other writers see the old file or the new one, never a part.
//
// The temporary file is called "NAME.xxxxxxxxxxxx.part"; the x are random, and the file is made
// with O_EXCL, so nobody can plant it. A writer that is killed leaves that file and nothing else.
//
//   target does not exist     mode from the umask
//   regular file              keeps its mode, and its owner and group where the system lets us;
//                             one that may not be written to is an error
//   symbolic link             the file that it leads to is replaced, the link stays
//   device, pipe, /dev/fd/N   written directly: there is nothing that could be replaced
//   folder                    error
//
// In a sticky folder that everybody may write to (/tmp), a target that another user placed is an
// error: it is neither followed, written to nor replaced, as Linux does with protected_symlinks,
// protected_fifos and protected_regular, but whatever those settings say.
#ifndef QRN_BASE_OUTFILE_H
#define QRN_BASE_OUTFILE_H

#include "base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct qrn_outfile {
    int fd;                  // being written, -1: none
    int folder;              // descriptor of the target's folder, -1: none
    int error;               // errno of what failed first, 0: nothing
    bool in_place;           // a device or pipe: no temporary file
    bool unsynced;           // commit does not wait for the disk
    FILE *stream;            // of qrn_outfile_stream, or NULL
    char path[PATH_MAX];     // as the caller gave it, for messages
    char name[NAME_MAX + 1]; // of the target in its folder
    char temp[NAME_MAX + 1]; // of the temporary file, "": none
} qrn_outfile;

// Starts a file. On failure the struct needs no abort. Not safe to copy.
qrn_status qrn_outfile_begin(qrn_outfile *f, const char *path);
// The same for a path relative to a folder's descriptor (AT_FDCWD: the working directory), without
// waiting for the disk in commit: for many files that can be made again (a sync takes some 6 ms).
qrn_status qrn_outfile_begin_unsynced(qrn_outfile *f, int at, const char *path);

// Appends bytes. After the first failure nothing is written; commit reports it.
void qrn_outfile_write(qrn_outfile *f, const void *bytes, size_t n);
// Makes the file as long as that; what no write reached is zero and takes no room on the disk.
void qrn_outfile_extend(qrn_outfile *f, size_t bytes);
// A stream that appends to the file; belongs to the file. NULL when out of memory, which commit
// reports. Do not mix it with qrn_outfile_write.
FILE *qrn_outfile_stream(qrn_outfile *f);

// Ends a file: bytes on the disk, then its name, then the folder's entry. On failure the message
// has the path and what the system said, the target is as before, and nothing is left behind.
qrn_status qrn_outfile_commit(qrn_outfile *f);
// Gives the file its name now and hands over its descriptor, for a recording that must outlive a
// process that dies. On failure as commit.
qrn_status qrn_outfile_publish(qrn_outfile *f, int *fd);
// Ends a file and removes it. For one that begin refused it does nothing.
void qrn_outfile_abort(qrn_outfile *f);
// Removes the temporary file and touches nothing else: for signal handlers.
void qrn_outfile_unlink_temp(const qrn_outfile *f);

// Writes a whole file.
qrn_status qrn_outfile_save(const char *path, const void *bytes, size_t n);

// Opens a file that grows line by line (a log), made where it is missing; a descriptor, or -1 with
// errno. Refuses what begin refuses, and does not wait for the reader of a pipe.
int qrn_outfile_open_append(const char *path);
// Writes all bytes to a descriptor, in one call where the system lets us, so that lines of several
// processes do not mix; 0, or an errno.
int qrn_outfile_append(int fd, const void *bytes, size_t n);

#endif
