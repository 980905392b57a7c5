// SPDX-License-Identifier: MIT
//
// SHA-256 (FIPS 180-4).
#ifndef QRN_BASE_SHA256_H
#define QRN_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define QRN_SHA256_BYTES 32

typedef struct qrn_sha256 {
    uint32_t state[8];
    uint64_t n_bytes; // that were added
    uint8_t block[64];
} qrn_sha256;

void qrn_sha256_begin(qrn_sha256 *s);
void qrn_sha256_add(qrn_sha256 *s, const void *data, size_t size_bytes);
void qrn_sha256_end(qrn_sha256 *s, uint8_t digest[QRN_SHA256_BYTES]);

#endif
