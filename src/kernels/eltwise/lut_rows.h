// SPDX-License-Identifier: MIT
//
// The vector rows of the look-up family, one file per ISA: bytes through a table of 256 bytes,
// words through one of 65,536. Each looks up q[0..n) and writes y[0..n); both may be the same
// memory.
#ifndef QRN_KERNELS_ELTWISE_LUT_ROWS_H
#define QRN_KERNELS_ELTWISE_LUT_ROWS_H

#include <stddef.h>
#include <stdint.h>

void qrn_lut_bytes_avx512vbmi(const uint8_t *table, const uint8_t *q, uint8_t *y, size_t n);
void qrn_lut_bytes_avx2(const uint8_t *table, const uint8_t *q, uint8_t *y, size_t n);
void qrn_lut_bytes_neon(const uint8_t *table, const uint8_t *q, uint8_t *y, size_t n);
void qrn_lut_words_avx2(const uint16_t *table, const uint16_t *q, uint16_t *y, size_t n);

#endif
