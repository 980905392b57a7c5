// SPDX-License-Identifier: MIT
//
// A growing little-endian byte string. Out of memory is remembered and reported at the end, so that
// records can be written without a check after each number.
#ifndef QRN_BINARY_OUT_H
#define QRN_BINARY_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qrn_out {
    unsigned char *data;
    size_t n, cap;
    bool failed; // out of memory: the contents are worthless
} qrn_out;

void qrn_out_u32(qrn_out *o, uint32_t v);
void qrn_out_u64(qrn_out *o, uint64_t v);
void qrn_out_f32(qrn_out *o, float v);
// Length, bytes, a zero byte, zero bytes up to a multiple of 4.
void qrn_out_text(qrn_out *o, const char *s);
void qrn_out_free(qrn_out *o);

// Single numbers in a buffer.
void qrn_store_u32(unsigned char *p, uint32_t v);
void qrn_store_u64(unsigned char *p, uint64_t v);
uint32_t qrn_load_u32(const unsigned char *p);
uint64_t qrn_load_u64(const unsigned char *p);

#endif
