// SPDX-License-Identifier: MIT
//
// The frame of functions that answer one question about a part of a DLC file.
#ifndef QRN_SYSTEM_DLC_ASK_H
#define QRN_SYSTEM_DLC_ASK_H

#include "system/dlc.h"

// A handle of its kind and a place for the answer (dlc_info.c).
qrn_status qrn_dlc_ask(const char *call, qrn_part_kind kind, const void *handle, const void *place,
                       qrn_part **out);
// A further part of the same file: the handle for `what`.
qrn_status qrn_dlc_answer_part(qrn_part *of, qrn_part_kind kind, const void *what, void **handle);

// Defines QnnSystemDlc_<name>(handle, place). `answer` is a statement on `it`, a pointer to `type`;
// it may set the status `s`.
#define QRN_DLC_GETTER(name, kind, type, place_type, ...)                                          \
    Qnn_ErrorHandle_t QnnSystemDlc_##name(void *handle, place_type place) {                        \
        QRN_API_CALL;                                                                              \
        qrn_part *part = NULL;                                                                     \
        qrn_status s = qrn_dlc_ask(#name, kind, handle, place, &part);                             \
        if (s == QRN_OK) {                                                                         \
            const type *it = part->what;                                                           \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        return qrn_dlc_end(s);                                                                     \
    }

// The same for the i-th of something: QnnSystemDlc_<name>(handle, index, place).
#define QRN_DLC_GETTER_AT(name, kind, type, count, place_type, ...)                                \
    Qnn_ErrorHandle_t QnnSystemDlc_##name(void *handle, uint32_t index, place_type place) {        \
        QRN_API_CALL;                                                                              \
        qrn_part *part = NULL;                                                                     \
        qrn_status s = qrn_dlc_ask(#name, kind, handle, place, &part);                             \
        if (s == QRN_OK) {                                                                         \
            const type *it = part->what;                                                           \
            uint32_t n = (count);                                                                  \
            if (index >= n)                                                                        \
                s = QRN_FAIL(QRN_E_ARGUMENT, #name ": index %u, there are %u", index, n);          \
            else {                                                                                 \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
        return qrn_dlc_end(s);                                                                     \
    }

#endif
