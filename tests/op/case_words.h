// SPDX-License-Identifier: MIT
//
// The words of a case file's index: numbers, shapes, blob references, encodings, comparison modes.
// Every function returns false for a word that is not exactly what it should be. Words may be cut
// in place.

#ifndef QRN_CASE_WORDS_H
#define QRN_CASE_WORDS_H

#include "case_file.h"

bool qrn_read_u64(const char *text, uint64_t *out);
bool qrn_read_i64(const char *text, int64_t *out);
bool qrn_read_hex(const char *text, uint64_t *out);
bool qrn_read_double(const char *text, double *out);
bool qrn_read_shape(const char *text, qrn_shape *out);
bool qrn_read_bytes(const qrn_case_file *f, const char *text, qrn_bytes *out);
bool qrn_read_scalar(const char *dtype, char *text, Qnn_Scalar_t *out);
bool qrn_read_mode(char *text, qrn_want *w);
bool qrn_read_encoding(const qrn_case_file *f, char *text, qrn_case_tensor *t);

#endif
