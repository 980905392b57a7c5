// SPDX-License-Identifier: MIT
//
// Built programs as files, one a key, in one folder. A file is
//
//   bytes 0-7    "QRNCLP01"
//   bytes 8-39   the key
//   bytes 40-47  length of what follows the header, little-endian
//   bytes 48-79  SHA-256 of it
//   from 80 on   what the driver returned as the program's binary
//
// Files are not trusted: one that is cut short, changed, of another key or of another user is as
// good as none. They are written under another name and renamed, so that processes can share a
// folder.
#ifndef QRN_OPENCL_STORE_H
#define QRN_OPENCL_STORE_H

#include "base/sha256.h"
#include "base/status.h"

#include <stdatomic.h>

#define QRN_CL_STORE_HEADER 80
#define QRN_CL_STORE_FILES 4096 // a folder that the client did not name has at most about as many

typedef struct qrn_cl_store {
    char *folder; // NULL: nothing is stored
    bool fresh;   // what is there does not count: it is replaced
    bool named;   // the client named the folder: every program that it uses is to be there
    uint32_t serial;
    atomic_bool failed; // a file could not be written: a warning was given, nothing follows
    atomic_bool looked; // for files that are too many
    // (optional) Receives lines for people.
    void (*say)(void *ctx, bool is_warning, const char *line);
    void *ctx;
} qrn_cl_store;

// The folder: `folder`, else QUERN_GPU_CACHE (0: none), else $XDG_CACHE_HOME/quern/gpu, else
// ~/.cache/quern/gpu. It is made when the first program is stored.
qrn_status qrn_cl_store_open(qrn_cl_store *s, const char *folder);
void qrn_cl_store_close(qrn_cl_store *s); // a zeroed one is fine

// The binary of a key in a file's bytes; false: they are not such a file. Reads nothing else.
bool qrn_cl_store_parse(const void *data, size_t size, const uint8_t key[QRN_SHA256_BYTES],
                        const void **binary, size_t *binary_bytes);
// The bytes of a key's file, to be freed, and the binary in it. False: there is none.
bool qrn_cl_store_load(const qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES], void **data,
                       const void **binary, size_t *binary_bytes);
// Is there a file of that key?
bool qrn_cl_store_has(const qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES]);
// Writes a file. A failure is said once and is no more than that.
void qrn_cl_store_save(qrn_cl_store *s, const uint8_t key[QRN_SHA256_BYTES], const void *binary,
                       size_t binary_bytes);

#endif
