// SPDX-License-Identifier: MIT
//
// Writes FlatBuffers: programs, their compile options, etdump files.
//
// Offsets in a FlatBuffer point forward, so tables are written before what they refer to, from the
// root on, and a place that waits for its target is filled in when the target is written.
// Everything is aligned to its size from the beginning of the buffer. After a failure (out of
// memory, or 2 GiB and more) calls do nothing; test `failed` at the end.
#ifndef QRN_FRONTEND_EXECUTORCH_FLAT_WRITE_H
#define QRN_FRONTEND_EXECUTORCH_FLAT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct et_flat {
    uint8_t *data; // of qrn_alloc; the caller frees it
    size_t n, cap;
    bool failed;
} et_flat;

// A field of a table that is being written. Texts and targets that come later are places of 4
// bytes.
typedef struct et_field {
    uint8_t bytes; // 0: absent
    uint64_t value;
    size_t at; // where it was written
} et_field;

et_field et_flat_number(uint8_t bytes, uint64_t value);
et_field et_flat_later(void);

void et_flat_store(et_flat *b, size_t at, uint64_t v, unsigned bytes);
// Appends cleared bytes; where they begin.
size_t et_flat_extend(et_flat *b, size_t bytes);
// Appends so many bytes that the end lies `before` bytes in front of a multiple of `to`.
void et_flat_align(et_flat *b, size_t to, size_t before);
size_t et_flat_put(et_flat *b, uint64_t v, unsigned bytes);
// A waiting place points to what is appended next.
void et_flat_reach(et_flat *b, size_t waiting);
// A vector of places for tables; where the first one is.
size_t et_flat_places(et_flat *b, size_t waiting, uint32_t n);
// A table that a place waits for; its fields learn where they are.
void et_flat_child(et_flat *b, size_t waiting, et_field *f, unsigned n);
// A text that nothing points to yet; where it is.
size_t et_flat_text(et_flat *b, const char *text);

#endif
