// SPDX-License-Identifier: MIT
//
// Permuting constants. The dimension that is last in the result is done in blocks, so that the
// lines of the source that a block touches stay in the cache while its neighbours are visited.
#include "frontend/onnx/emit/permute.h"

#include <string.h>

#define MAX_RANK 8
#define BLOCK 64
#define TILE 64

#define COPY_RUN(type)                                                                             \
    do {                                                                                           \
        type *d = (type *)dst;                                                                     \
        const char *s = src;                                                                       \
        for (size_t i = 0; i < n; i++, s += stride * sizeof(type))                                 \
            memcpy(&d[i], s, sizeof(type));                                                        \
    } while (0)

// n elements that lie `stride` elements apart, perhaps unaligned.
static void copy_run(void *dst, const void *src, size_t stride, size_t n, unsigned bits) {
    switch (bits) {
    case 8:
        COPY_RUN(uint8_t);
        break;
    case 16:
        COPY_RUN(uint16_t);
        break;
    case 32:
        COPY_RUN(uint32_t);
        break;
    default:
        COPY_RUN(uint64_t);
        break;
    }
}

#define TURN(type)                                                                                 \
    do {                                                                                           \
        type tile[TILE][TILE], *to;                                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            memcpy(tile[i], src + ((row + i) * cols + col) * sizeof(type), m * sizeof(type));      \
        for (size_t j = 0; j < m; j++) {                                                           \
            to = (type *)(void *)dst + (col + j) * rows + row;                                     \
            for (size_t i = 0; i < n; i++)                                                         \
                to[i] = tile[i][j];                                                                \
        }                                                                                          \
    } while (0)

// A matrix turned, tile by tile: whole lines are read and written, however far apart rows lie.
static void turn(char *dst, const char *src, unsigned bits, size_t rows, size_t cols) {
    for (size_t row = 0; row < rows; row += TILE)
        for (size_t col = 0; col < cols; col += TILE) {
            size_t n = rows - row < TILE ? rows - row : TILE;
            size_t m = cols - col < TILE ? cols - col : TILE;
            switch (bits) {
            case 8:
                TURN(uint8_t);
                break;
            case 16:
                TURN(uint16_t);
                break;
            case 32:
                TURN(uint32_t);
                break;
            default:
                TURN(uint64_t);
                break;
            }
        }
}

// Every index of the dimensions but `inner`, in the order of the source.
static void copy_block(char *dst, const char *src, unsigned bits, uint32_t rank,
                       const uint32_t *dims, const size_t *from, const size_t *to, uint32_t inner,
                       size_t n) {
    uint32_t index[MAX_RANK] = {0};
    size_t elem = bits / 8, s = 0, d = 0;
    for (;;) {
        copy_run(dst + d * elem, src + s * elem, from[inner], n, bits);
        uint32_t axis = rank;
        while (axis-- > 0) {
            if (axis == inner)
                continue;
            s += from[axis];
            d += to[axis];
            if (++index[axis] < dims[axis])
                break;
            s -= from[axis] * dims[axis];
            d -= to[axis] * dims[axis];
            index[axis] = 0;
        }
        if (axis == UINT32_MAX)
            return;
    }
}

void ox_permute(void *dst, const void *src, unsigned bits, uint32_t rank, const uint32_t *dims,
                const uint32_t *perm) {
    size_t from[MAX_RANK], to[MAX_RANK], at = 1; // strides of the source's dimensions
    for (uint32_t i = rank; i-- > 0; at *= dims[i])
        from[i] = at;
    if (at == 0)
        return; // no elements: the walk below copies a run before it looks at the other dimensions
    if (rank == 0) {
        memcpy(dst, src, bits / 8);
        return;
    }
    if (rank == 2 && perm[0] == 1) {
        turn(dst, src, bits, dims[0], dims[1]);
        return;
    }
    at = 1;
    for (uint32_t i = rank; i-- > 0; at *= dims[perm[i]])
        to[perm[i]] = at;
    uint32_t inner = perm[rank - 1];
    size_t elem = bits / 8;
    for (uint32_t done = 0; done < dims[inner]; done += BLOCK) {
        uint32_t n = dims[inner] - done < BLOCK ? dims[inner] - done : BLOCK;
        copy_block((char *)dst + done * elem, (const char *)src + done * from[inner] * elem, bits,
                   rank, dims, from, to, inner, n);
    }
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
