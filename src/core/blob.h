// SPDX-License-Identifier: MIT
//
// Constant data of a context, stored once by content: equal bytes of any two static tensors share
// one copy. Counted by its users. The owner (the context) serialises.
#ifndef QRN_CORE_BLOB_H
#define QRN_CORE_BLOB_H

#include <stddef.h>
#include <stdint.h>

typedef struct qrn_blob qrn_blob;
typedef struct qrn_blob_chunk qrn_blob_chunk;

// Zero-initialised = empty.
typedef struct qrn_blobs {
    qrn_blob **slots;     // open addressing by content hash
    uint32_t n, cap;      // blobs, slots (0 or a power of two)
    size_t size_bytes;    // bytes held
    qrn_blob_chunk *open; // that new blobs go to; NULL: none yet
} qrn_blobs;

// The set's copy of the bytes (64-byte aligned) with one more user; NULL when out of memory.
const void *qrn_blobs_add(qrn_blobs *s, const void *data, size_t size_bytes);
// One user less of a pointer that qrn_blobs_add gave; the last one frees it. NULL is fine.
void qrn_blobs_drop(qrn_blobs *s, const void *data);
// Frees everything, used or not.
void qrn_blobs_clear(qrn_blobs *s);

#endif
