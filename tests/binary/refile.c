// SPDX-License-Identifier: MIT
//
// Header of 64 bytes, entries of 32 bytes, sections at multiples of 4096 with zeros between them.
#include "refile.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 64, ENTRY = 32, PAGE = 4096 };

// Bit by bit: slow, and hard to get wrong.
uint32_t refile_crc(const uint8_t *data, size_t size) {
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        c ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            c = (c >> 1) ^ (c & 1 ? 0xEDB88320u : 0);
    }
    return ~c;
}

uint32_t refile_get(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void refile_put(uint8_t *p, uint32_t v) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static size_t rounded(size_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

bool refile_split(const uint8_t *file, size_t size, refile *r) {
    *r = (refile){.n = 0};
    if (size < HEADER || refile_get(file + 24) > REFILE_SECTIONS)
        return false;
    memcpy(r->header, file, HEADER);
    r->n = refile_get(file + 24);
    for (uint32_t i = 0; i < r->n; i++) {
        const uint8_t *e = file + HEADER + (size_t)ENTRY * i;
        refile_section *s = &r->sections[i];
        size_t offset = refile_get(e + 8);
        s->type = refile_get(e);
        s->index = refile_get(e + 4);
        s->size = refile_get(e + 16);
        s->data = malloc(s->size + 1);
        if (!s->data || offset > size || s->size > size - offset)
            return false;
        memcpy(s->data, file + offset, s->size);
    }
    return true;
}

uint8_t *refile_join(const refile *r, size_t *size) {
    size_t end = HEADER + (size_t)ENTRY * r->n;
    for (uint32_t i = 0; i < r->n; i++)
        end = rounded(end) + r->sections[i].size;
    uint8_t *file = calloc(1, end);
    if (!file)
        abort();
    memcpy(file, r->header, HEADER);
    refile_put(file + 16, (uint32_t)end);
    refile_put(file + 20, 0);
    refile_put(file + 24, r->n);
    refile_put(file + 28, 0);
    size_t at = HEADER + (size_t)ENTRY * r->n;
    for (uint32_t i = 0; i < r->n; i++) {
        const refile_section *s = &r->sections[i];
        uint8_t *e = file + HEADER + (size_t)ENTRY * i;
        at = rounded(at);
        refile_put(e, s->type);
        refile_put(e + 4, s->index);
        refile_put(e + 8, (uint32_t)at);
        refile_put(e + 16, (uint32_t)s->size);
        refile_put(e + 24, refile_crc(s->data, s->size));
        memcpy(file + at, s->data, s->size);
        at += s->size;
    }
    refile_put(file + 28, refile_crc(file, HEADER + (size_t)ENTRY * r->n));
    *size = end;
    return file;
}

void refile_splice(refile_section *s, size_t at, size_t drop, size_t add) {
    if (at > s->size || drop > s->size - at)
        return;
    uint8_t *data = calloc(1, s->size - drop + add + 1);
    if (!data)
        abort();
    memcpy(data, s->data, at);
    memcpy(data + at + add, s->data + at + drop, s->size - at - drop);
    free(s->data);
    s->data = data;
    s->size = s->size - drop + add;
}

void refile_free(refile *r) {
    for (uint32_t i = 0; i < r->n; i++)
        free(r->sections[i].data);
    *r = (refile){.n = 0};
}
