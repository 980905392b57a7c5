// SPDX-License-Identifier: MIT
//
// The engine of the process: matrix unit and VTCM. Every graph needs it to run, and only one has it
// at a time (HTP-YLD-04), except two of equal priority that part the VTCM between them
// (HTP-PGE-01). Whoever waits is served by priority, then in order of arrival (HTP-YLD-01); a
// running graph gives way to a higher priority by itself, between two steps (HTP-YLD-02).
#ifndef QRN_BACKEND_HTP_ENGINE_H
#define QRN_BACKEND_HTP_ENGINE_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// One run's claim to the engine; lives as long as the run. Set the first members, clear the rest.
typedef struct qrn_htp_turn {
    int priority;                 // larger goes first
    bool shares;                  // runs beside another graph that does, too
    uint64_t vtcm_from, vtcm_end; // shares: the part of the VTCM that it uses
    // (optional) Asked while it waits; a status other than OK ends the wait.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
    // The engine's own.
    bool holds;                // has the engine; read by its own thread, written under the lock
    bool sleeps;               // `granted` is initialised and somebody waits for it
    uint64_t number;           // order of arrival, kept over yields; 0: has not arrived yet
    uint64_t granted_ns;       // when it got the engine; monotonic clock
    struct qrn_htp_turn *next; // in the list of those that wait, or of those that hold
    pthread_cond_t granted;
} qrn_htp_turn;

// Waits for the engine. Fails with what poll says, then without the engine.
qrn_status qrn_htp_engine_take(qrn_htp_turn *t);
// Gives it back; the next ones get it at once.
void qrn_htp_engine_give(qrn_htp_turn *t);
// Should the holder let somebody else run first? Takes no lock.
bool qrn_htp_engine_wanted(const qrn_htp_turn *t);

// Runs that wait, for tests.
uint32_t qrn_htp_engine_waiting(void);

#endif
