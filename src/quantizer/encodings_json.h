// SPDX-License-Identifier: MIT
//
// Encodings as JSON: AIMET's files (0.6.1, 1.0.0, 2.0.0) and the converters'
// quantization_overrides, which are of the same forms. A list of what the file says, apart from any
// model: whoever applies it checks names, shapes and what a backend supports.
//
// Files differ in what an offset is. Here there is one form: real = scale * (q + offset) with q
// from 0 to 2^bits - 1. Signed integers with zero point z have the offset -z - 2^(bits - 1).
#ifndef QRN_QUANTIZER_ENCODINGS_JSON_H
#define QRN_QUANTIZER_ENCODINGS_JSON_H

#include "base/arena.h"
#include "base/status.h"
#include "base/strmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define QZ_NO_AXIS INT32_MIN // per tensor, or the file does not say

typedef enum qz_encoding_place {
    QZ_OF_ACTIVATION,
    QZ_OF_PARAM,
    QZ_OF_TENSOR // 2.0.0 has one list for both
} qz_encoding_place;

typedef struct qz_encoding {
    const char *name; // of the tensor
    qz_encoding_place place;
    unsigned line;          // of the file, 0: none
    bool is_float;          // 16 or 32 bits; the rest does not count
    unsigned bits;          // 2 to 32
    bool symmetric;         // every offset is -2^(bits - 1)
    uint32_t n;             // 1: per tensor, unless there is an axis
    const float *scales;    // [n]; of blocks in row-major order of the tensor
    const int32_t *offsets; // [n]
    int32_t axis;           // of the channels, or with a block of the blocks; may be negative
    uint32_t block;         // values that share a scale along the axis, 0: no blocks
    // Blocks with whole multiples of a scale per channel (LPBQ). `scales` are the products, of
    // [channels][blocks] where the file has no axis; a matrix [blocks][channels] has others.
    const float *channel_scales; // [n_channels], or NULL
    const float *multiples;      // [n], or NULL
    uint32_t n_channels;
} qz_encoding;

typedef struct qz_encodings {
    qrn_arena *arena;
    const char *path; // for messages
    qz_encoding *items;
    uint32_t n, cap;
    qrn_strmap by_name;
} qz_encodings;

typedef enum qz_encodings_version {
    QZ_ENCODINGS_0_6_1,
    QZ_ENCODINGS_1_0_0,
    QZ_ENCODINGS_2_0_0
} qz_encodings_version;

// Reads a file; failures name file, line and tensor. Names that are there twice are failures. A
// file without a version is of the form that it looks like.
qrn_status qz_encodings_read(const char *path, qz_encodings **out);
// The same of a text; `path` is what failures call it.
qrn_status qz_encodings_parse(const char *path, const char *text, size_t n, qz_encodings **out);
void qz_encodings_free(qz_encodings *e); // NULL is fine

const qz_encoding *qz_encodings_find(const qz_encodings *e, const char *name); // NULL: none

// For writing: an empty list, and adding to it. Everything is copied.
qrn_status qz_encodings_create(qz_encodings **out);
qrn_status qz_encodings_add(qz_encodings *e, const qz_encoding *item);

// Writes the list, a whole file or nothing. 0.6.1 has no blocks: QRN_E_UNSUPPORTED.
qrn_status qz_encodings_write(const qz_encodings *e, qz_encodings_version version,
                              const char *path);
// The same into a stream, whose errors are the caller's.
qrn_status qz_encodings_print(const qz_encodings *e, qz_encodings_version version, FILE *to);

// Smallest and largest number of an encoding's group.
static inline double qz_encoding_min(const qz_encoding *e, uint32_t i) {
    return (double)e->scales[i] * e->offsets[i];
}
static inline double qz_encoding_max(const qz_encoding *e, uint32_t i) {
    return (double)e->scales[i] * ((double)((UINT64_C(1) << e->bits) - 1) + e->offsets[i]);
}

#endif
