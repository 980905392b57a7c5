// SPDX-License-Identifier: MIT
//
// Handles of the public API, who is using the objects behind them, and what one call uses. A handle
// is index + serial + kind, never a raw pointer: stale, foreign, NULL and freed handles are found
// out.
//
// Every entry point begins with QRN_API_CALL and gets its objects with qrn_pin. An object that is
// pinned stays until the call ends: who wants to free it, or to change what others are using, pins
// it alone and waits for them. So a pin is a shared lock, and a pin alone an exclusive one.
//
// Who waits while holding pins takes them in this order: log, backend, device, context, graphs in
// the order of creation, profile, signal. Memory handles come last and are never waited for by a
// call that uses them. A call made from inside a callback of the library never waits at all: the
// call that it came from may be what it would wait for. What is in use then counts as no handle.
#ifndef QRN_CORE_HANDLE_H
#define QRN_CORE_HANDLE_H

#include "base/status.h"
#include "core/kind.h"

#include <stdbool.h>
#include <stdint.h>

// --- The table

// A new handle for obj; NULL when out of memory.
void *qrn_handle_new(qrn_kind kind, void *obj);
// Ends a handle; others are left alone. Its place is used again when nobody is in there any more.
void qrn_handle_free(const void *handle);
// Position of a handle in the table, below QRN_HANDLE_SLOTS, and a handle for the object at a
// position, if there is one and it is of this kind.
#define QRN_HANDLE_SLOT_BITS 20
#define QRN_HANDLE_SLOTS (1u << QRN_HANDLE_SLOT_BITS)
uint32_t qrn_handle_slot(const void *handle);
void *qrn_handle_at(qrn_kind kind, uint32_t slot);

typedef enum qrn_entrance {
    QRN_ENTER_SHARED = 0,
    QRN_ENTER_ALONE = 1, // when nobody else uses the object
    QRN_ENTER_WAIT = 2   // wait until it can be entered, else QRN_E_IN_USE
} qrn_entrance;

// Becomes a user of the object behind a handle of a kind; QRN_E_HANDLE when there is none. obj may
// be NULL.
qrn_status qrn_handle_enter(qrn_kind kind, const void *handle, qrn_entrance how, void **obj);
// One user more of an object that the caller uses already.
void qrn_handle_again(const void *handle);
void qrn_handle_leave(const void *handle, bool alone);
// In the child of a fork: enters again what the thread that forked was using.
void qrn_handle_restore(const void *handle, bool alone);

// --- What one call uses

struct qrn_api_log;
struct qrn_api_context;

#define QRN_ENTRY_PINS 6

typedef struct qrn_entry {
    struct qrn_entry *outer;        // the call whose callback made this one; NULL: none
    struct qrn_api_log *log;        // kept for the last words of a call that frees; or NULL
    struct qrn_api_context *graphs; // whose graphs are pinned, all of them; or NULL
    bool graphs_alone, refused;     // refused: something was in use, and the call may not wait
    uint32_t n;
    struct {
        const void *handle;
        bool alone;
    } pins[QRN_ENTRY_PINS];
} qrn_entry;

void qrn_entry_begin(qrn_entry *u);
void qrn_entry_end(qrn_entry *u);
// In the child of a fork, which has none of the other threads: locks that they may have held are
// made anew, and what this thread was using is entered again.
void qrn_object_after_fork(qrn_kind kind, void *obj);
void qrn_entries_after_fork(void);

// Opens an entry point, or a thread of the library that calls clients back. All pins of the call
// end with the block.
#define QRN_API_CALL                                                                               \
    __attribute__((cleanup(qrn_entry_end))) qrn_entry qrn_this_entry;                              \
    qrn_entry_begin(&qrn_this_entry)

// The object, which stays until the call ends; NULL when the handle is not a living one of this
// kind.
void *qrn_pin(qrn_kind kind, const void *handle);
// The same, and nobody else uses it; waits for those who do.
void *qrn_pin_alone(qrn_kind kind, const void *handle);
// The same for a call that frees: QRN_E_HANDLE, or QRN_E_IN_USE when it cannot or may not wait.
qrn_status qrn_pin_last(qrn_kind kind, const void *handle, bool wait, void **obj);
// Ends a pin of this call before the call ends.
void qrn_unpin(const void *handle);
// Why the last pin of this call failed, behind "not a ... handle": "" for a wrong handle.
const char *qrn_pin_reason(void);
// May this call wait? Not from inside a callback.
bool qrn_may_wait(void);

// Pins a memory handle for longer than the call: qrn_handle_leave ends it. Does not wait.
void *qrn_pin_memory(const void *handle);
// Pins all graphs of a context that the call has alone. QRN_E_IN_USE from inside a callback.
qrn_status qrn_pin_graphs(struct qrn_api_context *c, bool alone);
// Ends the handles of all graphs of a context that goes, and the pins of them.
void qrn_end_graphs(struct qrn_api_context *c);
// The graph alone, together with those it is nested in: nothing of it is changed or executed.
void *qrn_pin_graph_alone(const void *handle);

// Keeps a log until the call ends; NULL is fine.
struct qrn_api_log *qrn_keep_log(struct qrn_api_log *log);
// Pins the log behind a handle and keeps it.
struct qrn_api_log *qrn_pin_log(const void *handle);

#endif
