// SPDX-License-Identifier: MIT
//
// Handle table, the one place where a client's `void *` becomes an object. A handle packs kind,
// slot and serial number and is never dereferenced. Serial numbers are drawn from one counter for
// the life of the library, so a handle that was freed is never valid again. As long as a handle
// lives the library holds itself: a client that closes it without freeing leaves threads behind.
//
// Each slot has one word: serial, two marks and the number of users. Getting in and out is one
// compare-and-swap on it, so calls on different objects never meet. Slots do not move: the table
// grows by chunks, each as large as all before it, which stay until the library is unloaded.
//
// State of the library: this table. `lock` guards the list of free slots and growing; waiting for a
// slot happens under it, and whoever leaves a marked slot takes it to wake the waiting. No other
// lock is taken inside.
#include "core/handle.h"

#include "base/library.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

// A handle, from the low end: 4 bits kind, 20 bits slot, 40 bits serial (from 1, so none is NULL).
#define KIND_BITS 4
#define SERIAL_SHIFT (KIND_BITS + QRN_HANDLE_SLOT_BITS)
#define NO_SLOT UINT32_MAX

// The word of a slot, from the low end: 22 bits users, the marks, 40 bits serial (0: free).
#define USERS (((uint64_t)1 << 22) - 1)
#define ALONE ((uint64_t)1 << 22) // somebody has the object alone, or waits for the others to leave
#define DEAD ((uint64_t)1 << 23)  // freed; the slot goes back when the last user has left

#define FIRST_CHUNK 256u
#define N_CHUNKS 13

_Static_assert(QRN_KIND_DLC_PART < 1 << KIND_BITS, "kinds must fit the handle");
_Static_assert(sizeof(void *) == 8, "handles need 64 bits");
_Static_assert(SERIAL_SHIFT == 24, "the word of a slot has its serial where the handle has it");
_Static_assert((FIRST_CHUNK << N_CHUNKS) - FIRST_CHUNK >= QRN_HANDLE_SLOTS,
               "chunks hold all slots");

typedef struct slot {
    _Atomic uint64_t word;
    void *obj; // constant from the word's publication to its end, as is the kind
    qrn_kind kind;
    uint32_t next_free;
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER; // somebody has left a marked slot
static slot first_chunk[FIRST_CHUNK];
static _Atomic(slot *) chunks[N_CHUNKS] = {first_chunk};
static uint32_t n_slots; // in chunks so far
static uint32_t n_used;
static uint32_t first_free = NO_SLOT;
static uint64_t last_serial;
static pthread_once_t forks = PTHREAD_ONCE_INIT;

// Chunk k begins at slot FIRST_CHUNK * (2^k - 1).
static slot *slot_at(uint32_t i) {
    uint32_t k = 31u - (uint32_t)__builtin_clz(i / FIRST_CHUNK + 1);
    slot *chunk = k < N_CHUNKS ? atomic_load_explicit(&chunks[k], memory_order_acquire) : NULL;
    return chunk ? &chunk[i - FIRST_CHUNK * ((1u << k) - 1)] : NULL;
}

static bool grow(void) {
    uint32_t k = 31u - (uint32_t)__builtin_clz(n_slots / FIRST_CHUNK + 1), n = FIRST_CHUNK << k;
    if (n_slots >= QRN_HANDLE_SLOTS)
        return false;
    slot *chunk = k ? qrn_calloc_kept(n * sizeof *chunk) : first_chunk;
    if (!chunk)
        return false;
    atomic_store_explicit(&chunks[k], chunk, memory_order_release);
    for (uint32_t i = n; i-- > 0;) {
        chunk[i].next_free = first_free;
        first_free = n_slots + i;
    }
    n_slots += n;
    return true;
}

// At unloading, when no handle is left, or at the end of the process, which may be in the middle of
// something: then all stays.
__attribute__((destructor)) static void free_chunks(void) {
    pthread_mutex_lock(&lock);
    for (uint32_t k = 1; k < N_CHUNKS && n_used == 0; k++) {
        qrn_free_kept(atomic_load(&chunks[k]));
        atomic_store(&chunks[k], NULL);
    }
    pthread_mutex_unlock(&lock);
}

// The lock is held, and nobody is in the slot.
static void recycle(slot *s, uint32_t i) {
    s->obj = NULL;
    s->next_free = first_free;
    first_free = i;
    atomic_store_explicit(&s->word, 0, memory_order_release);
}

// --- Forks: the child has the thread that forked and none of the others

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void after_fork_in_child(void) {
    left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    for (uint32_t i = 0; i < n_slots; i++) {
        slot *s = slot_at(i);
        uint64_t w = atomic_load(&s->word);
        atomic_store(&s->word, w & ~(USERS | ALONE));
        if (w & DEAD)
            recycle(s, i);
        else if (w)
            qrn_object_after_fork(s->kind, s->obj);
    }
    pthread_mutex_unlock(&lock);
    qrn_entries_after_fork();
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork_in_child); }

// --- Life

void *qrn_handle_new(qrn_kind kind, void *obj) {
    uint64_t h = 0;
    pthread_once(&forks, watch_forks);
    pthread_mutex_lock(&lock);
    bool room = first_free != NO_SLOT || grow(), first = room && n_used++ == 0;
    if (room) {
        uint32_t i = first_free;
        slot *s = slot_at(i);
        first_free = s->next_free;
        s->obj = obj;
        s->kind = kind;
        h = ++last_serial << SERIAL_SHIFT | (uint64_t)i << KIND_BITS | (uint64_t)kind;
        atomic_store_explicit(&s->word, last_serial << SERIAL_SHIFT, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (first) // not under the lock: the loader has locks of its own
        qrn_library_hold();
    return (void *)(uintptr_t)h;
}

uint32_t qrn_handle_slot(const void *handle) {
    return (uint32_t)((uintptr_t)handle >> KIND_BITS) & (QRN_HANDLE_SLOTS - 1);
}

static uint64_t serial_of(const void *handle) { return (uintptr_t)handle >> SERIAL_SHIFT; }

static bool lives(uint64_t word, uint64_t serial) {
    return word >> SERIAL_SHIFT == serial && !(word & DEAD);
}

void qrn_handle_free(const void *handle) {
    uint32_t i = qrn_handle_slot(handle);
    slot *s = handle ? slot_at(i) : NULL;
    if (!s)
        return;
    uint64_t w = atomic_load(&s->word);
    do
        if (!lives(w, serial_of(handle)))
            return;
    while (!atomic_compare_exchange_weak(&s->word, &w, w | DEAD));
    pthread_mutex_lock(&lock);
    if (!(w & USERS))
        recycle(s, i);
    bool last = --n_used == 0;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
    if (last)
        qrn_library_release();
}

// --- Users

// One more user; QRN_E_IN_USE when somebody has the object alone.
static qrn_status enter(slot *s, uint64_t serial) {
    uint64_t w = atomic_load_explicit(&s->word, memory_order_relaxed);
    do {
        if (!lives(w, serial) || (w & USERS) == USERS)
            return QRN_E_HANDLE;
        if (w & ALONE)
            return QRN_E_IN_USE;
    } while (!atomic_compare_exchange_weak_explicit(&s->word, &w, w + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    return QRN_OK;
}

// One more user who wants to be alone: from now on nobody comes in. Unless he may wait there must
// be nobody in there, either.
static qrn_status claim(slot *s, uint64_t serial, bool may_wait) {
    uint64_t w = atomic_load_explicit(&s->word, memory_order_relaxed);
    do {
        if (!lives(w, serial))
            return QRN_E_HANDLE;
        if (w & ALONE || (!may_wait && w & USERS))
            return QRN_E_IN_USE;
    } while (!atomic_compare_exchange_weak_explicit(&s->word, &w, (w | ALONE) + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    return QRN_OK;
}

static void leave(slot *s, uint32_t i, bool alone) {
    uint64_t w = atomic_load_explicit(&s->word, memory_order_relaxed), next;
    do {
        if (!(w & USERS)) // entered before a fork
            return;
        next = (w - 1) & ~(alone ? ALONE : 0);
    } while (!atomic_compare_exchange_weak_explicit(&s->word, &w, next, memory_order_acq_rel,
                                                    memory_order_relaxed));
    if (!(w & (ALONE | DEAD)))
        return;
    pthread_mutex_lock(&lock);
    if (next & DEAD && !(next & USERS))
        recycle(s, i);
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&lock);
}

static qrn_status wait_alone(slot *s, uint64_t serial) {
    qrn_status st;
    while ((st = claim(s, serial, true)) == QRN_E_IN_USE)
        pthread_cond_wait(&left, &lock);
    while (st == QRN_OK && (atomic_load_explicit(&s->word, memory_order_acquire) & USERS) > 1)
        pthread_cond_wait(&left, &lock);
    return st;
}

static qrn_status wait_shared(slot *s, uint64_t serial) {
    qrn_status st;
    while ((st = enter(s, serial)) == QRN_E_IN_USE)
        pthread_cond_wait(&left, &lock);
    return st;
}

static qrn_kind kind_of(const void *handle) {
    return (qrn_kind)((uintptr_t)handle & ((1u << KIND_BITS) - 1));
}

qrn_status qrn_handle_enter(qrn_kind kind, const void *handle, qrn_entrance how, void **obj) {
    uint32_t i = qrn_handle_slot(handle);
    slot *s = kind_of(handle) == kind ? slot_at(i) : NULL;
    uint64_t serial = serial_of(handle);
    bool alone = how & QRN_ENTER_ALONE;
    if (!s || serial == 0)
        return QRN_E_HANDLE;
    qrn_status st = alone ? claim(s, serial, false) : enter(s, serial);
    if (st == QRN_E_IN_USE && how & QRN_ENTER_WAIT) {
        pthread_mutex_lock(&lock);
        st = alone ? wait_alone(s, serial) : wait_shared(s, serial);
        pthread_mutex_unlock(&lock);
    }
    if (st != QRN_OK)
        return st;
    if (s->kind != kind || atomic_load_explicit(&s->word, memory_order_relaxed) & DEAD) {
        leave(s, i, alone);
        return QRN_E_HANDLE;
    }
    if (obj)
        *obj = s->obj;
    return QRN_OK;
}

void qrn_handle_again(const void *handle) {
    atomic_fetch_add_explicit(&slot_at(qrn_handle_slot(handle))->word, 1, memory_order_relaxed);
}

void qrn_handle_leave(const void *handle, bool alone) {
    uint32_t i = qrn_handle_slot(handle);
    leave(slot_at(i), i, alone);
}

void qrn_handle_restore(const void *handle, bool alone) {
    slot *s = slot_at(qrn_handle_slot(handle));
    if (atomic_load(&s->word) >> SERIAL_SHIFT == serial_of(handle))
        atomic_fetch_add(&s->word, 1 + (alone ? ALONE : 0));
}

void *qrn_handle_get(qrn_kind kind, const void *handle) {
    const slot *s = kind_of(handle) == kind ? slot_at(qrn_handle_slot(handle)) : NULL;
    if (!s || !serial_of(handle))
        return NULL;
    uint64_t w = atomic_load_explicit(&s->word, memory_order_acquire);
    return lives(w, serial_of(handle)) && s->kind == kind ? s->obj : NULL;
}

void *qrn_handle_at(qrn_kind kind, uint32_t i) {
    const slot *s = i < QRN_HANDLE_SLOTS ? slot_at(i) : NULL;
    uint64_t serial = s ? atomic_load(&s->word) >> SERIAL_SHIFT : 0;
    if (!serial)
        return NULL;
    return (void *)(uintptr_t)(serial << SERIAL_SHIFT | (uint64_t)i << KIND_BITS | (uint64_t)kind);
}
