// SPDX-License-Identifier: MIT
//
// Reading the records of a section. The first thing that is wrong is remembered with its place, and
// every read after it gives 0; so whoever reads checks at the end of a record, and before a number
// of the file is used as a count.
#ifndef QRN_BINARY_IN_H
#define QRN_BINARY_IN_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qrn_in {
    const unsigned char *data;
    uint64_t n, at;
    uint64_t offset;   // of the section in the file, for messages
    qrn_arena *arena;  // of texts and arrays
    qrn_status status; // QRN_OK while all is well
} qrn_in;

uint32_t qrn_in_u32(qrn_in *in);
uint64_t qrn_in_u64(qrn_in *in);
float qrn_in_f32(qrn_in *in);
// A copy in the arena; NULL on failure.
const char *qrn_in_text(qrn_in *in);
// A count of records, each of at least `record_bytes` in what is left of the section; else 0 and a
// failure.
uint32_t qrn_in_count(qrn_in *in, uint64_t record_bytes);
// Cleared memory for n things; NULL on failure.
void *qrn_in_array(qrn_in *in, uint64_t n, uint64_t elem_bytes);
// Array of n words in the arena; NULL on failure.
uint32_t *qrn_in_words(qrn_in *in, uint32_t n);
// Remembers a failure; the first one stays. Gives the status.
qrn_status qrn_in_fail(qrn_in *in, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
