// SPDX-License-Identifier: MIT
//
// The tiles of each thread and what instructions do with them. Linked with the wrapper of
// qrn_cpu_isa, so that kernels for AMX are chosen where vectors for their epilogues are there.
#include "amx_emulated.h"

#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILES 8
#define ROWS 16
#define BYTES 64

// As the instructions read and write it.
typedef struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration;

_Static_assert(sizeof(configuration) == 64, "the configuration has 64 bytes");

static _Thread_local configuration now;
static _Thread_local uint8_t tiles[TILES][ROWS][BYTES];
_Thread_local amx_emulated_counts amx_emulated;

static void end_process(const char *what) {
    fprintf(stderr, "AMX: %s\n", what);
    abort();
}

void (*amx_emulated_fault)(const char *what) = end_process;

static void need(bool fine, const char *otherwise) {
    if (!fine)
        amx_emulated_fault(otherwise);
}

bool amx_emulated_is_configured(void) { return now.palette != 0; }

static void need_tile(unsigned tile) {
    need(now.palette == 1, "a tile is used, but none is configured");
    need(tile < TILES, "there are only 8 tiles");
    need(now.rows[tile] > 0 && now.row_bytes[tile] > 0, "a tile is used that has no rows");
}

void amx_emulated_loadconfig(const void *from) {
    configuration c;
    memcpy(&c, from, sizeof c);
    static const uint8_t zeros[14];
    need(c.palette <= 1, "the palette is neither 0 nor 1");
    need(c.palette == 0 || memcmp(c.reserved, zeros, sizeof zeros) == 0,
         "reserved bytes of a configuration are not 0");
    need(c.palette == 0 || c.start_row == 0, "a configuration begins within a tile");
    for (unsigned i = 0; c.palette == 1 && i < 16; i++) {
        need(c.rows[i] <= ROWS, "a tile has more than 16 rows");
        need(c.row_bytes[i] <= BYTES, "a tile has rows of more than 64 bytes");
        need((c.rows[i] == 0) == (c.row_bytes[i] == 0), "a tile has rows without bytes");
        need(i < TILES || c.rows[i] == 0, "there are only 8 tiles to configure");
    }
    if (c.palette == 0)
        memset(&c, 0, sizeof c);
    now = c;
    memset(tiles, 0, sizeof tiles);
    amx_emulated.configurations++;
}

void amx_emulated_storeconfig(void *to) { memcpy(to, &now, sizeof now); }

void amx_emulated_release(void) {
    memset(&now, 0, sizeof now);
    memset(tiles, 0, sizeof tiles);
}

void amx_emulated_zero(unsigned tile) {
    need_tile(tile);
    memset(tiles[tile], 0, sizeof tiles[tile]);
}

void amx_emulated_load(unsigned tile, const void *base, ptrdiff_t stride) {
    need_tile(tile);
    memset(tiles[tile], 0, sizeof tiles[tile]);
    for (unsigned i = 0; i < now.rows[tile]; i++)
        memcpy(tiles[tile][i], (const char *)base + (ptrdiff_t)i * stride, now.row_bytes[tile]);
    amx_emulated.loads++;
}

void amx_emulated_store(unsigned tile, void *base, ptrdiff_t stride) {
    need_tile(tile);
    for (unsigned i = 0; i < now.rows[tile]; i++)
        memcpy((char *)base + (ptrdiff_t)i * stride, tiles[tile][i], now.row_bytes[tile]);
    amx_emulated.stores++;
}

static void need_product(unsigned sums, unsigned a, unsigned b) {
    need_tile(sums);
    need_tile(a);
    need_tile(b);
    need(sums != a && sums != b && a != b, "two operands of a product are one tile");
    need(now.row_bytes[sums] % 4 == 0 && now.row_bytes[a] % 4 == 0 && now.row_bytes[b] % 4 == 0,
         "rows of an operand of a product are no multiple of 4 bytes");
    need(now.rows[sums] == now.rows[a], "a product has other rows than its first factor");
    need(now.row_bytes[sums] == now.row_bytes[b],
         "a product has other columns than its second factor");
    need(now.row_bytes[a] / 4 == now.rows[b], "the factors of a product differ in depth");
}

static int32_t value(uint8_t byte, bool is_signed) { return is_signed ? (int8_t)byte : byte; }

// What is beyond the rows and bytes of a tile stays 0.
void amx_emulated_product(unsigned sums, unsigned a, unsigned b, bool a_signed, bool b_signed) {
    need_product(sums, a, b);
    int32_t b_values[ROWS][BYTES];
    for (unsigned k = 0; k < now.rows[b]; k++)
        for (unsigned i = 0; i < BYTES; i++)
            b_values[k][i] = value(tiles[b][k][i], b_signed);
    for (unsigned m = 0; m < now.rows[a]; m++) {
        uint32_t acc[BYTES / 4]; // unsigned: may wrap
        memcpy(acc, tiles[sums][m], sizeof acc);
        for (unsigned k = 0; k < now.rows[b]; k++)
            for (unsigned n = 0; n < now.row_bytes[sums] / 4u; n++)
                for (unsigned i = 0; i < 4; i++)
                    acc[n] += (uint32_t)(value(tiles[a][m][4 * k + i], a_signed) *
                                         b_values[k][4 * n + i]);
        memcpy(tiles[sums][m], acc, now.row_bytes[sums]);
    }
    amx_emulated.products++;
}

uint32_t __real_qrn_cpu_isa(void);
uint32_t __wrap_qrn_cpu_isa(void);

// What the CPU has, and AMX where QUERN_ISA and the CPU leave everything that its kernels need.
uint32_t __wrap_qrn_cpu_isa(void) {
    uint32_t isa = __real_qrn_cpu_isa();
    return isa & QRN_ISA_AVX512VNNI ? isa | QRN_ISA_AMX : isa;
}
