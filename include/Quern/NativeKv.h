// SPDX-License-Identifier: MIT
//
// The layout of native KV cache tensors, data format QNN_TENSOR_DATA_FORMAT_HMX_WEIGHT_LAYOUT: for
// clients that bring rows of a flat output into a native cache, or look into one. Each head is a
// matrix [rows, cols] of bytes: keys are [head size, context], values [context, head size]. It is
// stored in tiles of `tile` columns, each in blocks of 32 rows by 32 columns, in each of which four
// rows of a column are neighbours.

#ifndef QUERN_NATIVE_KV_H
#define QUERN_NATIVE_KV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUERN_NATIVE_K_TILE 256u // columns of a tile of keys
#define QUERN_NATIVE_V_TILE 64u  // columns of a tile of values

// Place of element (row, col) in a head of `rows` rows; rows are a multiple of 32, columns of the
// tile.
static inline size_t QuernNativeKv_offset(size_t rows, size_t tile, size_t row, size_t col) {
    size_t in_tile = col % tile, block = row / 32 * (tile / 32) + in_tile / 32;
    return col / tile * rows * tile + block * 1024 + (row % 32 / 4 * 32 + in_tile % 32) * 4 +
           row % 4;
}

// Copies `heads` flat matrices [rows, cols] into places (row + to_row, col + to_col) of native
// heads of native_rows rows and native_cols columns.
static inline void QuernNativeKv_write(uint8_t *native, size_t native_rows, size_t native_cols,
                                       size_t tile, size_t to_row, size_t to_col,
                                       const uint8_t *flat, size_t heads, size_t rows,
                                       size_t cols) {
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < rows; i++)
            for (size_t o = 0; o < cols; o++)
                native[h * native_rows * native_cols +
                       QuernNativeKv_offset(native_rows, tile, i + to_row, o + to_col)] =
                    flat[(h * rows + i) * cols + o];
}

#ifdef __cplusplus
}
#endif
#endif
