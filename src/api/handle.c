// SPDX-License-Identifier: MIT
//
// Handle table, the one place where a client's `void *` becomes an object. A handle packs kind,
// slot and serial number and is never dereferenced. Serial numbers are drawn from one counter for
// the life of the library, so a handle that was freed is never valid again, even after the table
// was released.
//
// State of the library: this table. `lock` guards all of it, is held for a few instructions only,
// and no other lock is taken inside.
#include "api/objects.h"

#include "base/mem.h"

#include <stdint.h>

// From the low end: 4 bits kind, 20 bits slot, 40 bits serial (from 1, so no handle is NULL).
#define KIND_BITS 4
#define SERIAL_SHIFT (KIND_BITS + QRN_HANDLE_SLOT_BITS)
#define NO_SLOT UINT32_MAX

_Static_assert(QRN_KIND_SYSTEM_TARGET < 1 << KIND_BITS, "kinds must fit the handle");
_Static_assert(sizeof(void *) == 8, "handles need 64 bits");

typedef struct slot {
    uintptr_t handle; // 0: free
    void *obj;
    uint32_t next_free; // while free
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static slot *slots;
static uint32_t n_slots, n_used;
static uint32_t first_free = NO_SLOT;
static uint64_t last_serial;

static bool grow(void) {
    uint32_t n = n_slots ? n_slots * 2 : 64;
    if (n > QRN_HANDLE_SLOTS)
        return false;
    slot *s = qrn_realloc(slots, n_slots * sizeof *s, n * sizeof *s);
    if (!s)
        return false;
    for (uint32_t i = n; i-- > n_slots;) {
        s[i] = (slot){.next_free = first_free};
        first_free = i;
    }
    slots = s;
    n_slots = n;
    return true;
}

void *qrn_handle_new(qrn_kind kind, void *obj) {
    uintptr_t h = 0;
    pthread_mutex_lock(&lock);
    if (first_free != NO_SLOT || grow()) {
        uint32_t i = first_free;
        first_free = slots[i].next_free;
        n_used++;
        h = (uintptr_t)++last_serial << SERIAL_SHIFT | (uintptr_t)i << KIND_BITS | (uintptr_t)kind;
        slots[i] = (slot){.handle = h, .obj = obj, .next_free = NO_SLOT};
    }
    pthread_mutex_unlock(&lock);
    return (void *)h;
}

uint32_t qrn_handle_slot(const void *handle) {
    return (uint32_t)((uintptr_t)handle >> KIND_BITS) & (QRN_HANDLE_SLOTS - 1);
}

static qrn_kind kind_of(uintptr_t h) { return (qrn_kind)(h & ((1u << KIND_BITS) - 1)); }

void *qrn_handle_get(qrn_kind kind, const void *handle) {
    if (!handle || kind_of((uintptr_t)handle) != kind)
        return NULL;
    uint32_t i = qrn_handle_slot(handle);
    pthread_mutex_lock(&lock);
    void *obj = i < n_slots && slots[i].handle == (uintptr_t)handle ? slots[i].obj : NULL;
    pthread_mutex_unlock(&lock);
    return obj;
}

void *qrn_handle_at(qrn_kind kind, uint32_t i) {
    pthread_mutex_lock(&lock);
    bool found = i < n_slots && slots[i].handle && kind_of(slots[i].handle) == kind;
    void *obj = found ? slots[i].obj : NULL;
    pthread_mutex_unlock(&lock);
    return obj;
}

void qrn_handle_free(const void *handle) {
    uint32_t i = qrn_handle_slot(handle);
    pthread_mutex_lock(&lock);
    if (handle && i < n_slots && slots[i].handle == (uintptr_t)handle) {
        slots[i] = (slot){.next_free = first_free};
        first_free = i;
        if (--n_used == 0) {
            qrn_free(slots);
            slots = NULL;
            n_slots = 0;
            first_free = NO_SLOT;
        }
    }
    pthread_mutex_unlock(&lock);
}
