// SPDX-License-Identifier: MIT
//
// A context that was loaded: its place in the address space of the accelerator's sessions, and
// which of its graphs are there. Contexts that are prepared here have no place: they are on their
// way to a binary. State of the library: the address space with its lock. Order of locks: that of a
// session, of its context, of the address space.
#ifndef QRN_BACKEND_HTP_SESSION_H
#define QRN_BACKEND_HTP_SESSION_H

#include "backend/htp/htp.h"

// Where a context is placed, and which graphs of a switching one are loaded and unloaded, stands in
// the log (VERBOSE).

// After its graphs were made: checks them against the context's group, finds a place, and unloads
// what is not to be there. Nothing is held when it fails.
qrn_status qrn_htp_session_open(qrn_api_context *c);
// Ends it; fine for a context without one.
void qrn_htp_session_close(qrn_api_context *c);

// Takes the context's retention order over; QRN_E_CONFIG when it names an unknown graph.
qrn_status qrn_htp_session_retain(qrn_api_context *c);
// After graphs were compiled again, whether they are loaded or not.
void qrn_htp_session_trim(qrn_api_context *c);
// Tells of option DSP_MEMORY_PROFILING_ENABLED, which was on or not and may have changed.
void qrn_htp_session_profile(qrn_api_context *c, bool was_on);

// Functions of the backend table: bracket an execution (backend.h).
qrn_status qrn_htp_graph_enter(qrn_api_graph *g);
void qrn_htp_graph_leave(qrn_api_graph *g);

// A buffer of a client in the address space of its context; first in what IO_MEM_ESTIMATION set
// aside (HTP-MPD-06, HTP-CTX-27).
qrn_status qrn_htp_session_map(const qrn_api_context *c, uint64_t bytes);
void qrn_htp_session_unmap(const qrn_api_context *c, uint64_t bytes);

// Bytes of the next read of a file of which `left` are to be read: all, or what a budget of
// megabytes allows (HTP-CTX-26; 0: no budget).
uint64_t qrn_htp_read_bytes(uint64_t left, uint64_t budget_mb);

// --- for profiles: the accelerator's heap (HTP-PRF-20). Bytes are those of the address space.

// The events have no published numbers; these are Quern's own.
#define QRN_HTP_EVENT_HEAP_BEFORE 12001u
#define QRN_HTP_EVENT_HEAP_AFTER 12002u

// Was the context the first one with DSP_MEMORY_PROFILING_ENABLED, and what was in use before it?
bool qrn_htp_heap_before(const qrn_api_context *c, uint64_t *bytes);
// Notes in the record of its end what will be in use without it, if it is the last one with the
// option; function of the backend table.
void qrn_htp_context_ending(const qrn_api_context *c, qrn_call_record *r);

#endif
