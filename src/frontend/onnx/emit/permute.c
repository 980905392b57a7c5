// SPDX-License-Identifier: MIT
//
// Permuting constants, and 4-bit ones to and from bytes.
#include "frontend/onnx/emit/permute.h"

#include "reference/array.h"

#include <string.h>

#define MAX_RANK 8

void ox_permute(void *dst, const void *src, unsigned bits, uint32_t rank, const uint32_t *dims,
                const uint32_t *perm) {
    qrn_dtype t = bits == 8    ? QRN_DTYPE_U8
                  : bits == 16 ? QRN_DTYPE_U16
                  : bits == 32 ? QRN_DTYPE_U32
                               : QRN_DTYPE_U64;
    size_t from[MAX_RANK], to[MAX_RANK];
    qrn_nd x, y;
    for (uint32_t i = 0; i < rank; i++) {
        from[i] = dims[i];
        to[i] = dims[perm[i]];
    }
    // A shape that cannot be held in memory has no elements.
    if (!qrn_nd_init(&x, t, rank, from, (void *)(uintptr_t)src) ||
        !qrn_nd_init(&y, t, rank, to, dst))
        return;
    qrn_nd_permute(&x, perm);
    qrn_nd_copy(&y, &x);
}

void ox_unpack4(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = src[i / 2] >> (i % 2 * 4) & 15;
}

void ox_pack4(uint8_t *dst, const uint8_t *src, size_t n) {
    memset(dst, 0, (n + 1) / 2);
    for (size_t i = 0; i < n; i++)
        dst[i / 2] |= (uint8_t)(src[i] << (i % 2 * 4));
}
