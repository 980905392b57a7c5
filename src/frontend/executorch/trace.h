// SPDX-License-Identifier: MIT
//
// What happened while a method was loaded and executed: named events with times, events that a
// delegate's library reported, and tensors that delegates gave. Written as an etdump file, which
// ExecuTorch's Inspector reads, and a buffer of the tensors' bytes. Not thread-safe.
//
// Recording does not fail: when memory runs out the trace remembers it and writing is refused.
#ifndef QRN_FRONTEND_EXECUTORCH_TRACE_H
#define QRN_FRONTEND_EXECUTORCH_TRACE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct et_trace et_trace;

#define ET_TRACE_NO_TEXT UINT32_MAX

// A tensor whose bytes lie in the buffer.
typedef struct et_trace_tensor {
    uint8_t type; // of et_type_name
    uint8_t rank;
    uint32_t dims[8];
    uint64_t offset;
} et_trace_tensor;

typedef struct et_trace_event {
    uint32_t name, delegate_text; // indices of texts, or ET_TRACE_NO_TEXT
    int32_t chain, instruction;   // -1: of the whole method
    int32_t delegate_id;          // -1: none
    uint64_t start, end;          // nanoseconds; or 0 and the value that a library reported
    uint32_t tensor;              // index of a tensor + 1; 0: no tensor
} et_trace_event;

typedef struct et_trace_block {
    const char *name; // static
    uint32_t first;   // event; the block ends where the next one begins
} et_trace_block;

// tensor_bytes: size of the buffer for tensors, 0: they are not wanted. NULL when out of memory.
et_trace *et_trace_create(size_t tensor_bytes);
void et_trace_destroy(et_trace *t); // NULL is fine
bool et_trace_wants_tensors(const et_trace *t);

uint64_t et_trace_now(void); // nanoseconds

// Events from now on belong to a new block.
void et_trace_begin(et_trace *t, const char *static_name);
// Events from now on belong to this instruction; -1, -1: to the method.
void et_trace_at(et_trace *t, int32_t chain, int32_t instruction);
// Something that began at `start` and ends now.
void et_trace_end(et_trace *t, const char *name, uint64_t start);
// What a delegate's library measured.
void et_trace_value(et_trace *t, const char *delegate_text, uint64_t value);
// A tensor that a delegate gave, under a number or, where that is -1, under a name. Fails when the
// buffer is full; the message says how large it is.
qrn_status et_trace_output(et_trace *t, int32_t delegate_id, const char *name, uint8_t type,
                           uint32_t rank, const uint32_t *dims, const void *data, size_t bytes);

// What was recorded.
typedef struct et_trace_view {
    const et_trace_block *blocks;
    const et_trace_event *events;
    const et_trace_tensor *tensors;
    const char *const *texts;
    uint32_t n_blocks, n_events, n_texts;
    bool complete; // false: memory ran out
} et_trace_view;
et_trace_view et_trace_look(const et_trace *t);

// Writes the file; `size` is its bytes.
qrn_status et_trace_write(const et_trace *t, const char *path, size_t *size);
// Writes the whole buffer of the tensors, the unused end too.
qrn_status et_trace_write_tensors(const et_trace *t, const char *path, size_t *size);

#endif
