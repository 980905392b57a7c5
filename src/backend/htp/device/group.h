// SPDX-License-Identifier: MIT
//
// Groups of contexts that share buffers: REGISTER_MULTI_CONTEXTS (one spill-fill buffer for
// contexts that run one after the other), REGISTER_CONCURRENT_RESOURCE_SHARING (that and one VTCM
// backup, all of one priority), and SHARE_RESOURCES of a list of contexts. The host has no such
// buffers: a group is the account of them and the keeper of its rules. State of the library: the
// list of groups, with its lock, which is taken last.
#ifndef QRN_BACKEND_HTP_GROUP_H
#define QRN_BACKEND_HTP_GROUP_H

#include "backend/htp/htp.h"

typedef enum qrn_htp_group_kind {
    QRN_HTP_GROUP_SEQUENTIAL, // REGISTER_MULTI_CONTEXTS
    QRN_HTP_GROUP_CONCURRENT, // REGISTER_CONCURRENT_RESOURCE_SHARING
    QRN_HTP_GROUP_LIST        // SHARE_RESOURCES
} qrn_htp_group_kind;

typedef struct qrn_htp_group {
    qrn_htp_group_kind kind;
    const void *first;     // handle of its first context
    uint32_t list;         // LIST: number of the list
    uint64_t spill_bytes;  // of the shared buffer; LIST: the largest need of a member
    uint64_t backup_bytes; // of the shared VTCM backup, 0: none
    int priority;          // CONCURRENT: of all members
    uint32_t n_members;
    struct qrn_htp_group *next;
} qrn_htp_group;

// Enters a context: `first` is NULL for the first of a group, whose size counts, else the handle of
// that first one. QRN_E_CONFIG when the group is unknown or does not fit.
qrn_status qrn_htp_group_join(qrn_api_context *c, qrn_htp_group_kind kind, const void *first,
                              uint64_t spill_bytes);
// Takes it out; the last one ends the group. Nothing to do for a context without a group.
void qrn_htp_group_leave(qrn_api_context *c);

// May the context or one of its graphs have this priority? (HTP-CTX-25, HTP-PRI-05)
qrn_status qrn_htp_group_check_priority(const qrn_api_context *c, int priority);
// Do the graphs of a context that was just loaded fit its group? (HTP-CTX-23, -25, HTP-DLBC-06)
qrn_status qrn_htp_group_check_graphs(qrn_api_context *c);
// Bytes of the buffers that a context brings into the session: those of its group when nobody else
// has brought them yet.
uint64_t qrn_htp_group_bytes(const qrn_api_context *c);
// Tells of an execution with a multiple of the batch.
void qrn_htp_group_batch(const qrn_api_context *c, uint32_t multiple);

#endif
