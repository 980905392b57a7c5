// SPDX-License-Identifier: MIT
//
// Where the choices of a fuzz program come from: the bytes of an input, or a seeded generator.
// Choices from bytes end with the bytes: everything after that is 0, the tamest choice.
#ifndef TESTS_FUZZ_SOURCE_H
#define TESTS_FUZZ_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct source {
    const uint8_t *data; // NULL: choices come from `state`
    size_t size, pos;
    uint64_t state;
} source;

static inline source source_from_bytes(const uint8_t *data, size_t size) {
    static const uint8_t nothing;
    return (source){.data = data ? data : &nothing, .size = data ? size : 0};
}

static inline source source_from_seed(uint64_t seed) { return (source){.state = seed}; }

static inline bool source_is_empty(const source *s) { return s->data && s->pos >= s->size; }

static inline uint64_t source_next(source *s) { // splitmix64
    uint64_t z = s->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint8_t draw_u8(source *s) {
    if (!s->data)
        return (uint8_t)source_next(s);
    return s->pos < s->size ? s->data[s->pos++] : 0;
}

static inline uint32_t draw_u32(source *s) {
    if (!s->data)
        return (uint32_t)source_next(s);
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 8 | draw_u8(s);
    return v;
}

// 0 to n - 1; n is at least 1.
static inline uint32_t draw_below(source *s, uint32_t n) {
    return (n <= 256 ? draw_u8(s) : draw_u32(s)) % n;
}

// True in `percent` of 100 draws; false when the bytes have ended.
static inline bool draw_chance(source *s, uint32_t percent) {
    return draw_below(s, 100) >= 100 - percent;
}

// A generator for long stretches of choices, seeded by this source.
static inline source source_split(source *s) {
    uint64_t seed = draw_u32(s);
    return source_from_seed(s->data ? seed : seed << 32 | draw_u32(s));
}

#define DRAW_FROM(s, list) ((list)[draw_below((s), (uint32_t)(sizeof(list) / sizeof((list)[0])))])

#endif
