// SPDX-License-Identifier: MIT
//
// Compares one output buffer with its expectation, in the modes that qcase.py describes.

#ifndef QRN_CASE_COMPARE_H
#define QRN_CASE_COMPARE_H

#include "case_file.h"

// Codes compared in quant mode with the default ratio; they are added up over a whole file.
typedef struct {
    uint64_t n_codes, n_unequal;
} qrn_code_count;

// The share of codes that must equal the oracle's, in a case and in a file.
#define QRN_CODE_RATIO 0.9999

// True when n_unequal of n_codes is tolerable: one code always is, since a small case could not
// otherwise hold a single value on a rounding boundary.
bool qrn_codes_ok(uint64_t n_codes, uint64_t n_unequal, double ratio);

// What a mode of arithmetic adds to the tolerances of the cases.
typedef struct {
    double tolerance; // of floats, relative to the largest magnitude of the output
    bool fp16;        // floats may be stored in 16 bits, also where elements only move
} qrn_leeway;

// Do all floats fit the range of 16 bits: none above 65504, the largest not below 2^-14?
bool qrn_fits_fp16(Qnn_DataType_t dtype, const uint8_t *data, uint64_t count);

// True when got (of the tensor's type, dense, w->shape) is as wanted. On failure writes one line
// to why. Adds to count in quant mode.
bool qrn_compare(const qrn_case_tensor *t, const qrn_want *w, const uint8_t *got,
                 const qrn_leeway *leeway, qrn_code_count *count, char *why, size_t why_size);

#endif
