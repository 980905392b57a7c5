// SPDX-License-Identifier: MIT
//
// Changed copies of inputs: bits flipped, bytes set to telling values, stretches copied, removed,
// repeated, or taken from another input.
#include "mutate.h"

#include <string.h>

enum { MOST_CHANGES = 3, LONGEST_PIECE = 64 };

static size_t below(source *s, size_t n) { return n ? draw_u32(s) % n : 0; }

// Puts a piece into buf at `at`; it may overlap buf itself.
static size_t insert(uint8_t *buf, size_t n, size_t cap, size_t at, const uint8_t *src,
                     size_t length) {
    uint8_t piece[LONGEST_PIECE];
    length = length > cap - n ? cap - n : length;
    memcpy(piece, src, length);
    memmove(buf + at + length, buf + at, n - at);
    memcpy(buf + at, piece, length);
    return n + length;
}

static size_t change(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                     size_t n_other) {
    static const uint8_t telling[] = {0, 1, 2, 7, 8, 9, 10, 0x12, 0x1a, 0x7f, 0x80, 0xfe, 0xff};
    size_t at = below(s, n), length = 1 + below(s, LONGEST_PIECE);
    switch (draw_below(s, 8)) {
    case 0:
    case 1:
        buf[at] ^= (uint8_t)(1u << draw_below(s, 8));
        return n;
    case 2:
        buf[at] = DRAW_FROM(s, telling);
        return n;
    case 3:
        buf[at] = draw_u8(s);
        return n;
    case 4: // a number that goes on and on
        memset(buf + at, 0xff, length < n - at ? length % 12 : n - at);
        return n;
    case 5:
        length = length < n - at ? length : n - at;
        memmove(buf + at, buf + at + length, n - at - length);
        return n - length;
    case 6:
        length = length < n - at ? length : n - at;
        return insert(buf, n, cap, below(s, n + 1), buf + at, length);
    default:
        at = below(s, n_other);
        length = length < n_other - at ? length : n_other - at;
        return insert(buf, n, cap, below(s, n + 1), other + at, length);
    }
}

size_t mutate(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other, size_t n_other) {
    for (uint32_t i = 1 + draw_below(s, MOST_CHANGES); i > 0 && n > 0; i--)
        n = change(s, buf, n, cap, other, n_other);
    return n;
}

size_t mutate_flat(source *s, uint8_t *buf, size_t n, size_t cap, const uint8_t *other,
                   size_t n_other) {
    if (n < 64 || draw_chance(s, 40))
        return mutate(s, buf, n, cap, other, n_other);
    for (uint32_t i = draw_chance(s, 70) ? 1 : 3; i > 0; i--) {
        static const uint32_t hostile[] = {
            0,        1,       2, 4, 8, 0xff, INT32_MAX, 1u << 31, UINT32_MAX, UINT32_MAX - 3,
            1u << 30, 1u << 16};
        size_t area = draw_chance(s, 80) && n > 2048 ? 2048 : n; // binaries lie behind the tables
        uint32_t word, at = draw_u32(s) % (uint32_t)(area - 8) & ~(draw_chance(s, 80) ? 3u : 1u);
        memcpy(&word, buf + at, 4);
        uint32_t how = draw_below(s, 5);
        word = how == 0   ? DRAW_FROM(s, hostile)
               : how == 1 ? word + 4
               : how == 2 ? word - 4
               : how == 3 ? draw_below(s, 64)
                          : word ^ 1u << draw_below(s, 32);
        memcpy(buf + at, &word, 4);
    }
    return n;
}
