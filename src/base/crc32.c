// SPDX-License-Identifier: MIT
//
// CRC-32, eight bytes at a time: table k holds the CRC of a byte that k zero bytes follow. The
// tables are made by the loader and only read afterwards.
#include "base/crc32.h"

#define POLYNOMIAL 0xEDB88320u

static uint32_t table[8][256];

__attribute__((constructor)) static void make_tables(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? POLYNOMIAL ^ (c >> 1) : c >> 1;
        table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[0][table[k - 1][i] & 0xFF] ^ (table[k - 1][i] >> 8);
}

static uint32_t word_at(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t qrn_crc32(uint32_t crc, const void *data, size_t size_bytes) {
    const unsigned char *p = data;
    uint32_t c = ~crc;
    for (; size_bytes >= 8; p += 8, size_bytes -= 8) {
        uint32_t lo = c ^ word_at(p), hi = word_at(p + 4);
        c = table[7][lo & 0xFF] ^ table[6][lo >> 8 & 0xFF] ^ table[5][lo >> 16 & 0xFF] ^
            table[4][lo >> 24] ^ table[3][hi & 0xFF] ^ table[2][hi >> 8 & 0xFF] ^
            table[1][hi >> 16 & 0xFF] ^ table[0][hi >> 24];
    }
    for (; size_bytes; p++, size_bytes--)
        c = table[0][(c ^ *p) & 0xFF] ^ (c >> 8);
    return ~c;
}
