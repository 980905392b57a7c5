// SPDX-License-Identifier: MIT
//
// Protocol-buffer wire format, written to memory. A message inside a message is written to a buffer
// of its own and then added. A failure to get memory is kept and reported at the end, so that
// writers check once.
#ifndef QRN_FRONTEND_ONNX_WIRE_WRITE_H
#define QRN_FRONTEND_ONNX_WIRE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed means empty.
typedef struct ox_writer {
    uint8_t *data;
    size_t n, cap;
    bool no_memory;
} ox_writer;

void ox_put_int(ox_writer *w, uint32_t field, int64_t value);
void ox_put_float(ox_writer *w, uint32_t field, float value);
void ox_put_bytes(ox_writer *w, uint32_t field, const void *data, size_t n);
void ox_put_text(ox_writer *w, uint32_t field, const char *text);
// Adds what `message` holds as a field and frees it.
void ox_put_message(ox_writer *w, uint32_t field, ox_writer *message);
// Adds the fields that `part` holds and frees it: parts of one message that were written apart.
void ox_put_fields(ox_writer *w, ox_writer *part);
void ox_writer_free(ox_writer *w);

#endif
