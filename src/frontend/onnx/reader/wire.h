// SPDX-License-Identifier: MIT
//
// Protocol-buffer wire format, read in place. A cursor walks the fields of one message; nothing is
// copied and nothing is allocated. Every read is bounded by the message's own length, so a hostile
// file can only end in an error that names the offset.
#ifndef QRN_FRONTEND_ONNX_WIRE_H
#define QRN_FRONTEND_ONNX_WIRE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ox_bytes {
    const uint8_t *p;
    size_t n;
} ox_bytes;

// Wire types; the numbers are those of protocol buffers.
typedef enum ox_wire_kind {
    OX_VARINT = 0,
    OX_FIXED64 = 1,
    OX_BYTES = 2, // texts, messages, packed numbers
    OX_FIXED32 = 5
} ox_wire_kind;

typedef struct ox_wire {
    const uint8_t *base;     // start of the file, for offsets in messages
    const uint8_t *at, *end; // what is left of the message
    // The current field, set by ox_wire_next.
    uint32_t field; // its number
    uint32_t kind;  // an ox_wire_kind
    uint64_t value; // varint and fixed kinds
    ox_bytes bytes; // OX_BYTES
} ox_wire;

// A cursor over a whole message.
ox_wire ox_wire_of(const uint8_t *base, ox_bytes message);
// Goes to the next field: *more is false at the end of the message.
qrn_status ox_wire_next(ox_wire *w, bool *more);

// The current field as what the schema expects; a wrong wire type is an error.
qrn_status ox_wire_int(const ox_wire *w, int64_t *out);
qrn_status ox_wire_float(const ox_wire *w, float *out);
qrn_status ox_wire_bytes(const ox_wire *w, ox_bytes *out);
// Repeated numbers, packed or single: calls `add` once per element.
qrn_status ox_wire_ints(const ox_wire *w, qrn_status (*add)(void *ctx, int64_t v), void *ctx);
// Number of elements that the current field (packed or not) adds to a repeated number field.
qrn_status ox_wire_count(const ox_wire *w, uint32_t element_kind, size_t *count);

// Offset of the cursor in the file, for messages.
size_t ox_wire_offset(const ox_wire *w);

#endif
