// SPDX-License-Identifier: MIT
//
// The onnxruntime that loaded the plugin: its tables and its log. There is one per process, known
// from the first registration on; QNN's log callbacks carry no pointer of their own, so the logger
// is found here too.
#ifndef QRN_FRONTEND_ORT_HOST_H
#define QRN_FRONTEND_ORT_HOST_H

#include "base/status.h"
#include "frontend/ort/ort_api.h"

#include <stdarg.h>

typedef struct qe_host {
    const OrtTable *api, *ep, *editor;
    uint32_t version;        // 24 for 1.24.x
    const OrtLogger *logger; // default one; lives as long as the library is registered
} qe_host;

extern qe_host qe_the_host;

// ORT(Graph_GetName)(graph, &name): a function of the host.
#define X(table, at, name, result, args)                                                           \
    static inline ort_##name##_fn ort_##name(void) {                                               \
        return (ort_##name##_fn)qe_the_host.table->slot[ORT_SLOT_##name];                          \
    }
#include "frontend/ort/ort_slots.def"
#undef X
#define ORT(name) ort_##name()

// Older hosts do not give to a partition what only the bodies of its nodes read.
static inline bool qe_host_hides_inputs(void) { return qe_the_host.version < 27; }

// Takes the tables. NULL, or the status that the registration fails with: the host is too old.
OrtStatus *qe_host_take(const OrtApiBase *base, const OrtLogger *logger);

// What the host answered, as a failure of ours with the host's words; frees it.
qrn_status qe_heard(OrtStatus *s, const char *call);
#define QE_TRY(name, ...) QRN_TRY(qe_heard(ORT(name)(__VA_ARGS__), #name))

// A status of ours for the host, with this thread's message; NULL for QRN_OK.
OrtStatus *qe_status(qrn_status s);
OrtStatus *qe_status_as(OrtErrorCode code, qrn_status s);

// One line to a logger (NULL: the default one).
void qe_say(const OrtLogger *l, OrtLoggingLevel level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void qe_say_list(const OrtLogger *l, OrtLoggingLevel level, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
