// SPDX-License-Identifier: MIT
//
// FlatBuffers as they lie in a file, read in place. Nothing about the bytes is trusted: every
// offset, vtable, vector and string is checked when it is reached. The first fault is kept in
// `error`, and from then on everything reads as absent, so that a reader checks once per object.
#ifndef QRN_FRONTEND_EXECUTORCH_FLAT_H
#define QRN_FRONTEND_EXECUTORCH_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct et_flat {
    const uint8_t *data;
    size_t size;       // of the buffer; positions are 32 bits wide
    size_t budget;     // elements that may still be visited: shared ones count each time
    const char *error; // what is wrong; NULL: nothing so far
} et_flat;

typedef struct et_table {
    et_flat *flat;
    size_t at, vtable;        // positions
    uint32_t n_fields, bytes; // entries of the vtable; bytes of the table
} et_table;

typedef struct et_vector {
    et_flat *flat;
    size_t at; // of the first element
    uint32_t n;
} et_vector;

// The root table of a buffer; false with flat->error.
bool et_flat_root(et_flat *flat, const void *data, size_t size, et_table *out);

// Scalar fields; `absent` is what an absent one means.
uint64_t et_flat_u64(const et_table *t, unsigned field, uint64_t absent);
int64_t et_flat_i64(const et_table *t, unsigned field, int64_t absent);
uint32_t et_flat_u32(const et_table *t, unsigned field, uint32_t absent);
int32_t et_flat_i32(const et_table *t, unsigned field, int32_t absent);
uint8_t et_flat_u8(const et_table *t, unsigned field, uint8_t absent);
double et_flat_f64(const et_table *t, unsigned field, double absent);

// References; false: absent, or broken (flat->error).
bool et_flat_table(const et_table *t, unsigned field, et_table *out);
// Vector of elements of `bytes` bytes each; absent: n is 0.
bool et_flat_vector(const et_table *t, unsigned field, size_t bytes, et_vector *out);
// Text that ends with a zero inside the buffer; `absent` where there is none.
const char *et_flat_text(const et_table *t, unsigned field, const char *absent);

// Elements; i is below v->n.
bool et_vector_table(const et_vector *v, uint32_t i, et_table *out);
uint8_t et_vector_u8(const et_vector *v, uint32_t i);
int32_t et_vector_i32(const et_vector *v, uint32_t i);
uint64_t et_vector_u64(const et_vector *v, uint32_t i);
double et_vector_f64(const et_vector *v, uint32_t i);

#endif
