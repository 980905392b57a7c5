// SPDX-License-Identifier: MIT
//
// Shared by the files of the System library, and by nobody else.
#ifndef QRN_SYSTEM_SYSTEM_H
#define QRN_SYSTEM_SYSTEM_H

#include "binary/binary.h"
#include "core/errors.h"
#include "core/handle.h"

#include "System/QnnSystemInterface.h"

#include <pthread.h>
#include <stdio.h>

// The log that the library's lines go to: the newest living one, as no function but those of the
// log itself takes a handle. NULL: none.
qrn_api_log *qrn_system_log(void);

// Describes an open binary of size_bytes bytes. The description lives in the arena and shares
// nothing with the binary (describe.c).
qrn_status qrn_system_describe(const qrn_bin *b, uint64_t size_bytes, qrn_arena *a,
                               QnnSystemContext_BinaryInfo_t **out);

// One line of JSON for the events of a call, with its newline, in memory of malloc
// (profile_text.c).
qrn_status qrn_system_profile_text(const QnnSystemProfile_ProfileData_t *data, char **text,
                                   size_t *size_bytes);

#endif
