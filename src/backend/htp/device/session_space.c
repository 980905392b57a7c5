// SPDX-License-Identifier: MIT
//
// First-fit placement in the accelerator's sessions.
#include "backend/htp/device/session_space.h"

#include <stdbool.h>

void qrn_htp_space_init(qrn_htp_space *s, uint32_t n_sessions, uint64_t ram_bytes) {
    uint32_t n = n_sessions ? n_sessions : QRN_HTP_SESSIONS_DEFAULT;
    *s = (qrn_htp_space){.limit = n < QRN_HTP_SESSIONS_MAX ? n : QRN_HTP_SESSIONS_MAX,
                         .ram_bytes = ram_bytes};
}

uint64_t qrn_htp_space_capacity(const qrn_htp_space *s) {
    uint64_t sessions = s->limit * QRN_HTP_SESSION_BYTES;
    return s->ram_bytes && s->ram_bytes < sessions ? s->ram_bytes : sessions;
}

uint64_t qrn_htp_space_used(const qrn_htp_space *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->n_open; i++)
        sum += s->used_bytes[i];
    return sum;
}

static bool process_has_room(const qrn_htp_space *s, uint64_t bytes) {
    return bytes <= qrn_htp_space_capacity(s) - qrn_htp_space_used(s);
}

static bool session_has_room(const qrn_htp_space *s, uint32_t session, uint64_t bytes) {
    return bytes <= QRN_HTP_SESSION_BYTES - s->used_bytes[session];
}

qrn_status qrn_htp_space_place(qrn_htp_space *s, uint64_t bytes, qrn_htp_place *out) {
    if (bytes > QRN_HTP_SESSION_BYTES)
        return QRN_FAIL(QRN_E_MEM,
                        "the context needs %llu bytes of the accelerator's address space; it is "
                        "never split, and a session has %llu",
                        (unsigned long long)bytes, (unsigned long long)QRN_HTP_SESSION_BYTES);
    uint32_t i = 0;
    while (i < s->limit && !session_has_room(s, i, bytes))
        i++;
    if (i == s->limit || !process_has_room(s, bytes))
        return QRN_FAIL(QRN_E_MEM,
                        "the context needs %llu bytes of the accelerator's address space; %llu of "
                        "%llu in %u sessions are in use and no session has room",
                        (unsigned long long)bytes, (unsigned long long)qrn_htp_space_used(s),
                        (unsigned long long)qrn_htp_space_capacity(s), s->limit);
    if (i >= s->n_open)
        s->n_open = i + 1;
    s->used_bytes[i] += bytes;
    *out = (qrn_htp_place){.session = i, .n_tried = i};
    return QRN_OK;
}

qrn_status qrn_htp_space_map(qrn_htp_space *s, uint32_t session, uint64_t bytes) {
    if (session >= s->n_open || !session_has_room(s, session, bytes) || !process_has_room(s, bytes))
        return QRN_FAIL(QRN_E_MAPPING,
                        "a buffer of %llu bytes does not fit beside its context in session %u; "
                        "create contexts with IO_MEM_ESTIMATION, or register earlier",
                        (unsigned long long)bytes, session);
    s->used_bytes[session] += bytes;
    return QRN_OK;
}

void qrn_htp_space_release(qrn_htp_space *s, uint32_t session, uint64_t bytes) {
    if (session < s->n_open)
        s->used_bytes[session] -= bytes < s->used_bytes[session] ? bytes : s->used_bytes[session];
}
