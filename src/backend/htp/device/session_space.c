// SPDX-License-Identifier: MIT
//
// First-fit placement in the accelerator's sessions.
#include "backend/htp/device/session_space.h"

#include <stdbool.h>

uint64_t qrn_htp_space_used(const qrn_htp_space *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->n_open; i++)
        sum += s->used_bytes[i];
    return sum;
}

static bool session_has_room(const qrn_htp_space *s, uint32_t session, uint64_t bytes) {
    return bytes <= QRN_HTP_SESSION_BYTES - s->used_bytes[session];
}

qrn_status qrn_htp_space_place(qrn_htp_space *s, uint64_t bytes, uint32_t *session) {
    if (bytes > QRN_HTP_SESSION_BYTES)
        return QRN_FAIL(QRN_E_MEM,
                        "the context needs %llu bytes of the accelerator's address space; it is "
                        "never split, and a session has %llu",
                        (unsigned long long)bytes, (unsigned long long)QRN_HTP_SESSION_BYTES);
    uint32_t i = 0;
    while (i < QRN_HTP_SESSIONS && !session_has_room(s, i, bytes))
        i++;
    if (i == QRN_HTP_SESSIONS)
        return QRN_FAIL(QRN_E_MEM,
                        "the context needs %llu bytes of the accelerator's address space; %llu in "
                        "%u sessions of %llu are in use and no session has room",
                        (unsigned long long)bytes, (unsigned long long)qrn_htp_space_used(s),
                        QRN_HTP_SESSIONS, (unsigned long long)QRN_HTP_SESSION_BYTES);
    if (i >= s->n_open)
        s->n_open = i + 1;
    s->used_bytes[i] += bytes;
    *session = i;
    return QRN_OK;
}

qrn_status qrn_htp_space_map(qrn_htp_space *s, uint32_t session, uint64_t bytes) {
    if (session >= s->n_open || !session_has_room(s, session, bytes))
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
