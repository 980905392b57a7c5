// SPDX-License-Identifier: MIT
//
// CRC-32 of IEEE 802.3 (zlib's crc32): reflected polynomial 0xEDB88320, initial value and final
// XOR 0xFFFFFFFF. The CRC of "123456789" is 0xCBF43926.
#ifndef QRN_BASE_CRC32_H
#define QRN_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

// Continues `crc`, the value of the bytes before (0: none).
uint32_t qrn_crc32(uint32_t crc, const void *data, size_t size_bytes);

#endif
