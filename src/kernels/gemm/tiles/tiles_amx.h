// SPDX-License-Identifier: MIT
//
// Setting up the tiles of AMX as the GEMMs use them: 0 to 3 hold sums, 4 and 5 rows of activations,
// 6 and 7 the two halves of 16 steps of a panel, as the packing dense8 holds them. Configuring them
// waits for all products before and takes longer than a block of a short depth, so a thread does it
// once for many calls: tiles have 16 rows each, and where fewer are left, a tile begins above them.
#ifndef QRN_KERNELS_GEMM_TILES_AMX_H
#define QRN_KERNELS_GEMM_TILES_AMX_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define QRN_AMX_ROWS 16  // of a tile
#define QRN_AMX_STEPS 16 // of 4 in depth
#define QRN_AMX_BYTES 64 // of a row of a tile

// As the instruction wants it.
typedef struct qrn_amx_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} qrn_amx_configuration;

// rows: of tiles of activations and of sums; QRN_AMX_ROWS except where there are not as many.
static inline void qrn_amx_set_up(uint32_t rows) {
    qrn_amx_configuration c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.rows[i] = (uint8_t)(i < 6 ? rows : QRN_AMX_STEPS);
        c.row_bytes[i] = QRN_AMX_BYTES;
    }
    __asm__ volatile("" : : "r"(&c) : "memory"); // the instruction reads all of it
    _tile_loadconfig(&c);
}

// Asks for `lines` cache lines from `at` on, for the second cache. Returns their end.
static inline const int8_t *qrn_amx_ask(const int8_t *at, size_t lines) {
    for (; lines > 0; lines--, at += 64)
        _mm_prefetch((const char *)at, _MM_HINT_T1);
    return at;
}

// The last 16 of so many steps of a panel, with zeros in place of those that are in whole tiles.
static inline void qrn_amx_copy_end(const int8_t *panel, size_t steps, size_t step_bytes,
                                    int8_t *end) {
    size_t left = steps % QRN_AMX_STEPS, before = (QRN_AMX_STEPS - left) * step_bytes;
    memset(end, 0, before);
    memcpy(end + before, panel + (steps - left) * step_bytes, left * step_bytes);
    __asm__ volatile("" : : "r"(end) : "memory"); // tiles are loaded from it
}

#endif
