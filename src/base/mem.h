// SPDX-License-Identifier: MIT
//
// Heap memory: every allocation of the core goes through here, so that tests can make any one fail.
#ifndef QRN_BASE_MEM_H
#define QRN_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#define QRN_ALIGN 64 // alignment of every buffer a kernel touches
#define QRN_TAIL 64  // readable bytes behind such a buffer

// 64-byte aligned, not cleared, with QRN_TAIL spare bytes behind it; NULL when out of memory.
void *qrn_alloc(size_t size_bytes);
// The same, cleared.
void *qrn_calloc(size_t size_bytes);
// Grows an array that was made by qrn_alloc; keeps old_bytes; NULL leaves the old one untouched.
void *qrn_realloc(void *p, size_t old_bytes, size_t new_bytes);
// The same for a table that stays until the library is unloaded: it does not count as living.
void *qrn_calloc_kept(size_t size_bytes);
void qrn_free_kept(void *p);
char *qrn_strdup(const char *s);
void qrn_free(void *p); // NULL is fine

// Between the two calls, which may nest, the last large blocks that were freed stay for the next
// allocations of about their size: the system clears what it gives, which takes as long as using it
// once.
void qrn_spares_keep(void);
void qrn_spares_drop(void);

// Gives the whole pages in a part of a block back to the system; what it holds is undefined then.
void qrn_leave_pages(void *part, size_t size_bytes);

// a*b and a+b; false on overflow.
bool qrn_mul_size(size_t a, size_t b, size_t *out);
bool qrn_add_size(size_t a, size_t b, size_t *out);

// Tests: the n-th allocation from now fails (1 = the next one), and all after it when `forever`;
// n = 0 switches it off. Not thread-safe; not reachable from outside the library.
void qrn_alloc_fail_at(unsigned n, bool forever);
// Tests: allocations made and not yet freed.
size_t qrn_alloc_live(void);

#endif
