// SPDX-License-Identifier: MIT
//
// Kinds of handles, and the object behind one.
#ifndef QRN_CORE_KIND_H
#define QRN_CORE_KIND_H

typedef enum qrn_kind {
    QRN_KIND_LOG = 1,
    QRN_KIND_BACKEND,
    QRN_KIND_DEVICE,
    QRN_KIND_CONTEXT,
    QRN_KIND_GRAPH,
    QRN_KIND_PROFILE,
    QRN_KIND_SIGNAL,
    QRN_KIND_MEM,
    // Of the System library.
    QRN_KIND_SYSTEM_CONTEXT,
    QRN_KIND_SYSTEM_TARGET, // profile log
    QRN_KIND_DLC,
    QRN_KIND_DLC_PART // a record, graph or tensor of one
} qrn_kind;

// The object, without pinning it; NULL when the handle is not a living one of this kind. For tests,
// and where something else keeps the object.
void *qrn_handle_get(qrn_kind kind, const void *handle);

#endif
