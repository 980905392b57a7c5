// SPDX-License-Identifier: MIT
//
// Shared by the files of the reader, and by nobody else.
#ifndef QRN_FRONTEND_EXECUTORCH_INTERNAL_H
#define QRN_FRONTEND_EXECUTORCH_INTERNAL_H

#include "frontend/client/flat.h"
#include "frontend/executorch/program.h"

// Where a program's data lies.
typedef struct et_range {
    const uint8_t *data;
    size_t bytes;
} et_range;

// A program while it is read.
typedef struct et_reader {
    et_program *p;
    qc_flat flat;
    qc_table root;
    et_range *segments;
    et_range *constants; // by the index that tensors use
    uint32_t n_constants;
    et_method_def *method; // that is being read
} et_reader;

// Fails with the path and, inside a method, its name.
qrn_status et_broken(const et_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
// flat.error as a status.
qrn_status et_flat_status(const et_reader *r);
// Cleared memory of the program for n elements.
qrn_status et_room(const et_reader *r, size_t n, size_t bytes, void *out);
// A vector field with elements of elem_bytes, and room for one item of `bytes` per element.
qrn_status et_vector_items(et_reader *r, const qc_table *t, unsigned field, size_t elem_bytes,
                           qc_vector *v, size_t bytes, void *out);

// The values of the method that is being read.
qrn_status et_read_values(et_reader *r, const qc_table *plan);
// Its chains, operators and delegates.
qrn_status et_read_code(et_reader *r, const qc_table *plan);
// Copies of a vector of indices that must lie below `limit`; `what` is for the message.
qrn_status et_read_indices(et_reader *r, const qc_table *t, unsigned field, uint32_t limit,
                           const char *what, const int32_t **out, uint32_t *n);

#endif
