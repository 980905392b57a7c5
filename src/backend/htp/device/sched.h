// SPDX-License-Identifier: MIT
//
// Who may use the accelerator when: a model of cooperative pre-emption and of sharing VTCM
// (HTP-YLD, HTP-VSH) as a small discrete-event simulation. Pure: the same clients always give the
// same timeline. Times have whatever unit the caller's have.
//
// A client that gets the accelerator holds HVX units, perhaps the HMX, and a part of VTCM, until a
// job ends or until it is asked to leave and reaches a point where it can. Clients that fit run
// side by side; a client of higher priority has others asked; equal and lower ones wait.
#ifndef QRN_BACKEND_HTP_SCHED_H
#define QRN_BACKEND_HTP_SCHED_H

#include "base/soc.h"
#include "base/status.h"

#include <stddef.h>

#define QRN_HTP_SCHED_CLIENTS_MAX 8u
#define QRN_HTP_SCHED_EVENTS_MAX 256u

typedef struct qrn_htp_sched_chip {
    uint32_t vtcm_mb, n_hvx;
    bool shares;    // several clients at a time (HTP-VSH-01)
    bool windowing; // also of several process domains (HTP-VSH-14)
    bool forced;    // clients leave at once; one priority per process domain (HTP-YLD-10)
} qrn_htp_sched_chip;

typedef struct qrn_htp_sched_job {
    uint64_t arrive; // earliest time
    uint64_t work;   // time it takes when it is alone and not interrupted
} qrn_htp_sched_job;

typedef struct qrn_htp_sched_client {
    uint32_t pd;       // process domain
    uint32_t priority; // of its HMX thread: a larger number is less urgent (HTP-PRI-01)
    bool graph;        // a graph of this library: always takes the HMX, never runs beside another
    bool hmx;          // another client that takes the HMX
    bool uncached;     // does not use the cached calls, so shares nothing (HTP-VSH-04)
    uint32_t n_hvx;
    uint32_t vtcm_mb;     // usable
    uint32_t page_mb;     // of the mapping; larger than vtcm_mb: overmap; 0: 1
    uint64_t yield_every; // work between two points where it can leave; 0: only when a job ends
    const qrn_htp_sched_job *jobs;
    uint32_t n_jobs;
} qrn_htp_sched_client;

typedef enum qrn_htp_sched_kind {
    QRN_HTP_SCHED_WAIT,  // a job has arrived
    QRN_HTP_SCHED_ASK,   // the client is asked to leave
    QRN_HTP_SCHED_YIELD, // it leaves; it saves its VTCM, and waits for the rest of its job
    QRN_HTP_SCHED_RUN,   // it gets the accelerator
    QRN_HTP_SCHED_END    // the job is done
} qrn_htp_sched_kind;

typedef struct qrn_htp_sched_event {
    uint64_t time;
    qrn_htp_sched_kind kind;
    uint32_t client;
    uint32_t first_mb; // RUN: its part of VTCM is first_mb to first_mb + vtcm_mb - 1
    bool resumes;      // RUN: after a yield; it restores its VTCM
} qrn_htp_sched_event;

typedef struct qrn_htp_sched_timeline {
    qrn_htp_sched_event events[QRN_HTP_SCHED_EVENTS_MAX];
    uint32_t n_events;
    uint32_t n_yields[QRN_HTP_SCHED_CLIENTS_MAX];
    uint32_t saved_mb[QRN_HTP_SCHED_CLIENTS_MAX]; // over all yields
} qrn_htp_sched_timeline;

// The chip as the scheduler sees it. A few chips of v69 share VTCM, but which ones is not
// published: none does here.
qrn_htp_sched_chip qrn_htp_sched_chip_of(const qrn_soc *soc);

// Runs all jobs. QRN_E_ARGUMENT: too many clients, or one that needs more than the chip has;
// QRN_E_GENERAL: more events than a timeline holds.
qrn_status qrn_htp_sched_run(const qrn_htp_sched_chip *chip, const qrn_htp_sched_client *clients,
                             uint32_t n_clients, qrn_htp_sched_timeline *out);

// Priorities of a graph's threads for a Qnn_Priority_t; unknown values count as the next lower one.
typedef struct qrn_htp_threads {
    uint32_t hmx, hvx;
} qrn_htp_threads;
qrn_htp_threads qrn_htp_thread_priority(uint32_t priority);

// The line of a report that tells how often graphs yielded; returns what snprintf does.
int qrn_htp_yield_line(char *buf, size_t size, uint64_t n_yields);

#endif
