// SPDX-License-Identifier: MIT
//
// FlatBuffers as they lie in a file, read in place. Nothing about the bytes is trusted: every
// offset, vtable, vector and string is checked when it is reached. The first fault is kept in
// `error`, and from then on everything reads as absent, so that a reader checks once per object.
#ifndef QRN_FRONTEND_CLIENT_FLAT_H
#define QRN_FRONTEND_CLIENT_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qc_flat {
    const uint8_t *data;
    size_t size;       // of the buffer; positions are 32 bits wide
    size_t budget;     // elements that may still be visited: shared ones count each time
    const char *error; // what is wrong; NULL: nothing so far
} qc_flat;

typedef struct qc_table {
    qc_flat *flat;
    size_t at, vtable;        // positions
    uint32_t n_fields, bytes; // entries of the vtable; bytes of the table
} qc_table;

typedef struct qc_vector {
    qc_flat *flat;
    size_t at; // of the first element
    uint32_t n;
} qc_vector;

// The root table of a buffer; false with flat->error.
bool qc_flat_root(qc_flat *flat, const void *data, size_t size, qc_table *out);

// Scalar fields; `absent` is what an absent one means.
uint64_t qc_flat_u64(const qc_table *t, unsigned field, uint64_t absent);
int64_t qc_flat_i64(const qc_table *t, unsigned field, int64_t absent);
uint32_t qc_flat_u32(const qc_table *t, unsigned field, uint32_t absent);
int32_t qc_flat_i32(const qc_table *t, unsigned field, int32_t absent);
uint8_t qc_flat_u8(const qc_table *t, unsigned field, uint8_t absent);
double qc_flat_f64(const qc_table *t, unsigned field, double absent);
float qc_flat_f32(const qc_table *t, unsigned field, float absent);

// References; false: absent, or broken (flat->error).
bool qc_flat_table(const qc_table *t, unsigned field, qc_table *out);
// Vector of elements of `bytes` bytes each; absent: n is 0.
bool qc_flat_vector(const qc_table *t, unsigned field, size_t bytes, qc_vector *out);
// Text that ends with a zero inside the buffer; `absent` where there is none.
const char *qc_flat_text(const qc_table *t, unsigned field, const char *absent);

// Elements; i is below v->n.
bool qc_vector_table(const qc_vector *v, uint32_t i, qc_table *out);
uint8_t qc_vector_u8(const qc_vector *v, uint32_t i);
int32_t qc_vector_i32(const qc_vector *v, uint32_t i);
uint64_t qc_vector_u64(const qc_vector *v, uint32_t i);
double qc_vector_f64(const qc_vector *v, uint32_t i);
float qc_vector_f32(const qc_vector *v, uint32_t i);

#endif
