// SPDX-License-Identifier: MIT
//
// Set of pointers: open addressing, at most two thirds full; see given.h.
//
// State of the library: this set. `lock` guards it, and no other lock is taken inside. Its memory
// goes with the last pointer, so that unloading leaks nothing.
#include "api/given.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdint.h>

typedef struct entry {
    const void *p; // NULL: free
    qrn_given kind;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *entries;
static size_t n_entries, n_places; // places: 0 or a power of two

static size_t home_of(const void *p) {
    return (size_t)((uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15u >> 20) & (n_places - 1);
}

// Where the pointer stands, or the free place where it belongs; there must be places.
static size_t find(const void *p) {
    size_t i = home_of(p);
    while (entries[i].p && entries[i].p != p)
        i = (i + 1) & (n_places - 1);
    return i;
}

static bool grow(void) {
    entry *old = entries;
    size_t n_old = n_places, n = n_old ? 2 * n_old : 16;
    entry *bigger = qrn_calloc(n * sizeof *bigger);
    if (!bigger)
        return false;
    entries = bigger;
    n_places = n;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].p)
            entries[find(old[i].p)] = old[i];
    qrn_free(old);
    return true;
}

bool qrn_given_add(qrn_given kind, const void *p) {
    pthread_mutex_lock(&lock);
    bool room = n_entries * 3 < n_places * 2 || grow();
    if (room) {
        entries[find(p)] = (entry){p, kind};
        n_entries++;
    }
    pthread_mutex_unlock(&lock);
    return room;
}

// Entries behind the gap that belong at or before it move up, so that no search ends too early.
static void remove_at(size_t gap) {
    size_t mask = n_places - 1;
    for (size_t i = (gap + 1) & mask; entries[i].p; i = (i + 1) & mask) {
        if (((i - home_of(entries[i].p)) & mask) < ((i - gap) & mask))
            continue;
        entries[gap] = entries[i];
        gap = i;
    }
    entries[gap] = (entry){0};
    if (--n_entries)
        return;
    qrn_free(entries);
    entries = NULL;
    n_places = 0;
}

bool qrn_given_take(qrn_given kind, const void *p) {
    pthread_mutex_lock(&lock);
    size_t i = n_places && p ? find(p) : 0;
    bool found = n_places && p && entries[i].p && entries[i].kind == kind;
    if (found)
        remove_at(i);
    pthread_mutex_unlock(&lock);
    return found;
}
