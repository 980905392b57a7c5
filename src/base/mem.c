// SPDX-License-Identifier: MIT
//
// Heap memory over aligned_alloc; large blocks are mapped, so that their memory goes back to the
// system when they are freed, wherever they lie, and begin where a large page does: weights that
// are read once a run cost a third less time then. A line before each block says which it is.
// Sanitizers want to see every block, so there all come from the heap. The counters are atomics
// that only tests read or set.
#include "base/mem.h"

#include "base/sanitized.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES ((size_t)1 << 20)
#define HUGE_BYTES ((size_t)2 << 20) // a large page of the usual machines

#if defined(QRN_ASAN) || defined(QRN_TSAN)
#define HEADER_BYTES 0
#else
#define HEADER_BYTES QRN_ALIGN // holds the bytes mapped, 0 for the heap
#endif

static atomic_uint fail_countdown; // 0 = off; the allocation that brings it to 0 fails
static atomic_bool fail_forever;
static atomic_size_t live;

void qrn_alloc_fail_at(unsigned n, bool forever) {
    atomic_store(&fail_forever, forever);
    atomic_store(&fail_countdown, n);
}

size_t qrn_alloc_live(void) { return atomic_load(&live); }

static bool should_fail(void) {
    unsigned n = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    if (n == 0)
        return false;
    if (n > 1) {
        atomic_store(&fail_countdown, n - 1);
        return false;
    }
    if (!atomic_load(&fail_forever))
        atomic_store(&fail_countdown, 0);
    return true;
}

// Maps memory; NULL when there is none. From two large pages on there is room to begin at one: the
// rest goes back at once.
static char *map(size_t total) {
    bool huge = total >= HUGE_BYTES;
    size_t spare = huge ? HUGE_BYTES : 0;
    char *p = total > SIZE_MAX - spare ? MAP_FAILED
                                       : mmap(NULL, total + spare, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || !huge)
        return p == MAP_FAILED ? NULL : p;
    size_t before = (HUGE_BYTES - (uintptr_t)p % HUGE_BYTES) % HUGE_BYTES;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = (before + total + page - 1) / page * page;
    if (before)
        munmap(p, before);
    if (end < total + spare)
        munmap(p + end, total + spare - end);
    madvise(p + before, total, MADV_HUGEPAGE); // a wish: it may be refused
    return p + before;
}

// --- spares: mapped blocks nobody uses, while somebody keeps them

#define N_SPARES 2
#define SPARE_BYTES ((size_t)32 << 20) // larger ones go back to the system

static atomic_uint spare_keepers;
static _Atomic(char *) spares[N_SPARES];

static size_t mapped_bytes(char *block) { return *(size_t *)(void *)block; }

static void unmap_spares(void) {
    for (int i = 0; i < N_SPARES; i++) {
        char *block = atomic_exchange(&spares[i], NULL);
        if (block)
            munmap(block, mapped_bytes(block));
    }
}

static void put_spare(char *block) {
    bool kept = atomic_load(&spare_keepers) && mapped_bytes(block) <= SPARE_BYTES;
    for (int i = 0; i < N_SPARES && kept && block; i++)
        block = atomic_exchange(&spares[i], block); // the newest first, the oldest falls out
    if (block)
        munmap(block, mapped_bytes(block));
    if (kept && !atomic_load(&spare_keepers))
        unmap_spares(); // the last keeper has gone meanwhile
}

// A spare with room for `total` bytes, of which it wastes at most a quarter; NULL: there is none.
static char *take_spare(size_t total) {
    for (int i = 0; i < N_SPARES && atomic_load(&spare_keepers); i++) {
        char *block = atomic_exchange(&spares[i], NULL);
        if (block && mapped_bytes(block) >= total && mapped_bytes(block) / 4 * 3 <= total)
            return block;
        if (block && (block = atomic_exchange(&spares[i], block)))
            munmap(block, mapped_bytes(block)); // another thread's, put there meanwhile
    }
    return NULL;
}

void qrn_spares_keep(void) { atomic_fetch_add(&spare_keepers, 1); }

void qrn_spares_drop(void) {
    if (atomic_fetch_sub(&spare_keepers, 1) == 1)
        unmap_spares();
}

static void *take(size_t total) {
    bool mapped = HEADER_BYTES && total >= LARGE_BYTES;
    char *p = mapped ? take_spare(total) : NULL;
    if (p)
        return p + HEADER_BYTES;
    p = mapped ? map(total) : aligned_alloc(QRN_ALIGN, total);
    if (!p)
        return NULL;
    if (HEADER_BYTES)
        *(size_t *)(void *)p = mapped ? total : 0;
    return p + HEADER_BYTES;
}

void qrn_leave_pages(void *part, size_t size_bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)part;
    uintptr_t first = (at + page - 1) / page * page, end = (at + size_bytes) / page * page;
    if (HEADER_BYTES && first < end)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

void *qrn_alloc(size_t size_bytes) {
    size_t total;
    if (should_fail() || !qrn_add_size(size_bytes, HEADER_BYTES + QRN_TAIL + QRN_ALIGN - 1, &total))
        return NULL;
    void *p = take(total / QRN_ALIGN * QRN_ALIGN);
    if (p)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return p;
}

void *qrn_calloc(size_t size_bytes) {
    void *p = qrn_alloc(size_bytes);
    if (p)
        memset(p, 0, size_bytes + QRN_TAIL);
    return p;
}

void *qrn_calloc_kept(size_t size_bytes) {
    void *p = qrn_calloc(size_bytes);
    if (p)
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    return p;
}

void qrn_free_kept(void *p) {
    if (p)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    qrn_free(p);
}

void *qrn_realloc(void *p, size_t old_bytes, size_t new_bytes) {
    void *q = qrn_alloc(new_bytes);
    if (q && p) {
        memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
        qrn_free(p);
    }
    return q;
}

char *qrn_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *p = qrn_alloc(n);
    if (p)
        memcpy(p, s, n);
    return p;
}

void qrn_free(void *p) {
    if (!p)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    char *block = (char *)p - HEADER_BYTES;
    if (HEADER_BYTES && mapped_bytes(block))
        put_spare(block);
    else
        free(block);
}

bool qrn_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool qrn_add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
