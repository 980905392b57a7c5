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
