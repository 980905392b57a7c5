// SPDX-License-Identifier: MIT
//
// Takes a context binary apart and puts it together again with right places and checksums, so that
// what is changed in between reaches the checks behind the checksums. Written from
// docs/context-binary.md, not with the library's own writer.
#ifndef TESTS_BINARY_REFILE_H
#define TESTS_BINARY_REFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFILE_SECTIONS = 64 };

typedef struct refile_section {
    uint32_t type, index;
    uint8_t *data; // heap
    size_t size;
} refile_section;

typedef struct refile {
    uint8_t header[64];
    refile_section sections[REFILE_SECTIONS];
    uint32_t n;
} refile;

// The file must be a good one.
bool refile_split(const uint8_t *file, size_t size, refile *r);
// A heap block of exactly its size.
uint8_t *refile_join(const refile *r, size_t *size);
// Takes out `drop` bytes at a place of a section and puts `add` zero bytes there.
void refile_splice(refile_section *s, size_t at, size_t drop, size_t add);
void refile_free(refile *r);

uint32_t refile_crc(const uint8_t *data, size_t size);
uint32_t refile_get(const uint8_t *p);
void refile_put(uint8_t *p, uint32_t v);

#endif
