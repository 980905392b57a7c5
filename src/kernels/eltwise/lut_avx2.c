// SPDX-License-Identifier: MIT
//
// Look-up for AVX2. For bytes, a shuffle looks up in 16 entries and gives 0 for a negative index.
// Indices go down by 16 from one part of the table to the next, and the parts are kept as
// differences (exclusive or) to the part before: the differences up to the index's own part give
// the entry, and later shuffles give 0.
#include "kernels/eltwise/lut_rows.h"

#include <immintrin.h>
#include <string.h>

#define PARTS 16
#define TABLE 65536 // words of a table
#define MANY 16384  // look-ups that use most lines of such a table

typedef struct parts {
    __m256i p[PARTS];
} parts;

static parts split(const uint8_t *table) {
    parts t;
    __m128i before = _mm_setzero_si128();
    for (int i = 0; i < PARTS; i++) {
        __m128i here = _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i));
        if (i == PARTS / 2) // the second half starts again
            before = _mm_setzero_si128();
        t.p[i] = _mm256_broadcastsi128_si256(_mm_xor_si128(here, before));
        before = here;
    }
    return t;
}

// Indices into one half of the table, 0 to 127; negative ones give 0.
static inline __attribute__((always_inline)) __m256i half(const __m256i *p, __m256i c) {
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i v = _mm256_shuffle_epi8(p[0], c);
    for (int i = 1; i < PARTS / 2; i++) {
        c = _mm256_subs_epi8(c, sixteen); // what is negative stays so
        v = _mm256_xor_si256(v, _mm256_shuffle_epi8(p[i], c));
    }
    return v;
}

static inline __attribute__((always_inline)) __m256i look_up(const parts *t, __m256i c) {
    __m256i low = half(t->p, c);
    __m256i high = half(t->p + PARTS / 2, _mm256_xor_si256(c, _mm256_set1_epi8(-128)));
    return _mm256_or_si256(low, high);
}

void qrn_lut_bytes_avx2(const uint8_t *table, const uint8_t *q, uint8_t *y, size_t n) {
    parts t = split(table);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(q + i));
        _mm256_storeu_si256((__m256i *)(void *)(y + i), look_up(&t, c));
    }
    for (; i < n; i++)
        y[i] = table[q[i]];
}

// Entries are put together to vectors, because one store an entry would be the bottleneck; indices
// are taken apart from larger numbers, to leave the loads to the table.
static inline __attribute__((always_inline)) __m128i eight(const uint16_t *t, const uint16_t *q) {
    uint64_t a, b;
    memcpy(&a, q, sizeof a);
    memcpy(&b, q + 4, sizeof b);
    __m128i v = _mm_cvtsi32_si128(t[(uint16_t)a]);
    v = _mm_insert_epi16(v, t[(uint16_t)(a >> 16)], 1);
    v = _mm_insert_epi16(v, t[(uint16_t)(a >> 32)], 2);
    v = _mm_insert_epi16(v, t[a >> 48], 3);
    v = _mm_insert_epi16(v, t[(uint16_t)b], 4);
    v = _mm_insert_epi16(v, t[(uint16_t)(b >> 16)], 5);
    v = _mm_insert_epi16(v, t[(uint16_t)(b >> 32)], 6);
    return _mm_insert_epi16(v, t[b >> 48], 7);
}

// Between two runs of a network other data takes the table's place in the caches. Reading it line
// by line is what hardware prefetches; look-ups would miss line after line: with a table in DRAM,
// 56448 of them take 1.06 ns each without this and 0.60 ns with it, with one in a cache 0.35 and
// 0.37 ns.
static void read_table(const uint16_t *table) {
    const size_t line = 64 / sizeof *table;
    uint32_t all = 0;
    for (size_t i = 0; i < TABLE; i += line)
        all |= table[i];
    __asm__ volatile("" : : "r"(all)); // is wanted
}

void qrn_lut_words_avx2(const uint16_t *table, const uint16_t *q, uint16_t *y, size_t n) {
    size_t i = 0;
    if (n >= MANY)
        read_table(table);
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(y + i), eight(table, q + i));
    for (; i < n; i++)
        y[i] = table[q[i]];
}
