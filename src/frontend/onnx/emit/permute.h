// SPDX-License-Identifier: MIT
//
// Constants in another order of dimensions.
#ifndef QRN_FRONTEND_ONNX_PERMUTE_H
#define QRN_FRONTEND_ONNX_PERMUTE_H

#include <stddef.h>
#include <stdint.h>

// dst = src with dimension perm[i] of src at position i. Elements of 8, 16, 32 or 64 bits. dims are
// those of src; rank at most 8.
void ox_permute(void *dst, const void *src, unsigned bits, uint32_t rank, const uint32_t *dims,
                const uint32_t *perm);

// 4-bit elements, low nibble first, to and from bytes.
void ox_unpack4(uint8_t *dst, const uint8_t *src, size_t n);
void ox_pack4(uint8_t *dst, const uint8_t *src, size_t n);

#endif
