// SPDX-License-Identifier: MIT
//
// Memory of a fuzz client, freed all at once. Each piece is a heap block of exactly its size, so
// that a sanitizer sees every byte that the library reads or writes too much.
#ifndef TESTS_FUZZ_SCRAP_H
#define TESTS_FUZZ_SCRAP_H

#include <stdlib.h>
#include <string.h>

typedef struct scrap {
    void **pieces;
    size_t n, cap;
} scrap;

// A new piece, filled with `fill`. Ends the program when there is no memory: the fuzz client is no
// subject of the test.
static inline void *scrap_new(scrap *s, size_t size_bytes, int fill) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->pieces = realloc(s->pieces, s->cap * sizeof *s->pieces);
    }
    void *p = malloc(size_bytes ? size_bytes : 1);
    if (!s->pieces || !p)
        abort();
    memset(p, fill, size_bytes ? size_bytes : 1);
    return s->pieces[s->n++] = p;
}

static inline void scrap_free(scrap *s) {
    while (s->n)
        free(s->pieces[--s->n]);
    free(s->pieces);
    *s = (scrap){0};
}

#endif
