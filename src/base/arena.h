// SPDX-License-Identifier: MIT
//
// Arena: objects that live and die together. Not thread-safe; the owner serialises.
#ifndef QRN_BASE_ARENA_H
#define QRN_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct qrn_arena qrn_arena;

qrn_arena *qrn_arena_create(void);    // NULL when out of memory
void qrn_arena_destroy(qrn_arena *a); // NULL is fine
// Cleared memory, 64-byte aligned for sizes of 64 bytes and more, 16-byte aligned below, with
// readable bytes behind it; NULL when out of memory. Size 0 gives a valid pointer.
void *qrn_arena_alloc(qrn_arena *a, size_t size_bytes);
// The same, not cleared: large blocks take memory only as they are written.
void *qrn_arena_reserve(qrn_arena *a, size_t size_bytes);
void *qrn_arena_copy(qrn_arena *a, const void *src, size_t size_bytes);
char *qrn_arena_strdup(qrn_arena *a, const char *s);
// Bytes handed out so far.
size_t qrn_arena_used(const qrn_arena *a);
// From now on the arena hands out at most so many bytes in all; what is more gets NULL.
void qrn_arena_limit(qrn_arena *a, size_t most_bytes);
// Was there something too large for the limit?
bool qrn_arena_limited(const qrn_arena *a);

#endif
