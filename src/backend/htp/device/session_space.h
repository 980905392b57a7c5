// SPDX-License-Identifier: MIT
//
// Address space of the accelerator's sessions (HTP-MPD): contexts are placed first-fit, a session
// is opened when no open one has room, and I/O buffers follow their context. Bytes are counted, not
// laid out: within a session nothing is fragmented. A pure model without a lock; the caller has
// one.
#ifndef QRN_BACKEND_HTP_SESSION_SPACE_H
#define QRN_BACKEND_HTP_SESSION_SPACE_H

#include "base/status.h"

#include <stdint.h>

#define QRN_HTP_SESSION_BYTES (15ull << 28) // usable part of 4 GB: 3.75 GB (HTP-MPD-01)
#define QRN_HTP_SESSIONS 4u                 // of a process (HTP-MPD-08)

typedef struct qrn_htp_space {
    uint64_t used_bytes[QRN_HTP_SESSIONS]; // by session
    uint32_t n_open;                       // they stay open until the space ends
} qrn_htp_space;                           // all zero: nothing is used

uint64_t qrn_htp_space_used(const qrn_htp_space *s);

// Places a context, which is never split. bytes: its own, and those of its I/O if they are to be
// counted in (option IO_MEM_ESTIMATION). QRN_E_MEM when no session has room for it.
qrn_status qrn_htp_space_place(qrn_htp_space *s, uint64_t bytes, uint32_t *session);
// Maps a buffer into the session of its context. QRN_E_MAPPING when there is no room.
qrn_status qrn_htp_space_map(qrn_htp_space *s, uint32_t session, uint64_t bytes);
// Gives back what one of the two took.
void qrn_htp_space_release(qrn_htp_space *s, uint32_t session, uint64_t bytes);

#endif
