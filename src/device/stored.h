// SPDX-License-Identifier: MIT
//
// Schedules as bytes, for context binaries (docs/context-binary.md, "Schedule section"). Times
// become single precision, bytes and multiplications whole numbers.
#ifndef QRN_DEVICE_STORED_H
#define QRN_DEVICE_STORED_H

#include "device/schedule.h"

#include <stddef.h>

// The bytes live in the arena.
qrn_status qd_store(const qd_schedule *s, qrn_arena *arena, unsigned char **bytes, size_t *n);

// Trusts nothing: counts, places, times and their order are checked. Fails with QRN_E_BINARY and a
// sentence, QRN_E_MEM. Everything is copied into the arena.
qrn_status qd_stored_read(const void *bytes, size_t n, qrn_arena *arena, qd_schedule *out);

#endif
