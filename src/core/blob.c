// SPDX-License-Identifier: MIT
//
// Content-addressed constants. The hash, of a sample, only finds candidates: bytes are always
// compared. Of a set that is large, blobs of medium size lie in chunks, which begin at large pages
// (mem.c): a page fault for every 4 KiB takes longer than copying them.
#include "core/blob.h"

#include "base/mem.h"
#include "base/sanitized.h"

#include <stdbool.h>
#include <string.h>

// Bytes of a chunk by those that a set holds; blobs of more than a quarter of it have memory of
// their own.
static size_t chunk_bytes(const qrn_blobs *s) {
    return s->size_bytes < (size_t)2 << 20    ? 0
           : s->size_bytes < (size_t)32 << 20 ? (size_t)4 << 20
                                              : (size_t)16 << 20;
}

#ifdef QRN_ASAN
#define ALL_OWN true // every block is watched
#else
#define ALL_OWN false
#endif

// Goes with the last of its blobs.
struct qrn_blob_chunk {
    size_t used, cap; // bytes of data[]
    uint32_t n_blobs;
    _Alignas(QRN_ALIGN) unsigned char data[];
};

struct qrn_blob {
    uint64_t hash;
    size_t size_bytes;
    qrn_blob_chunk *chunk; // NULL: it has memory of its own
    uint32_t users;
    _Alignas(QRN_ALIGN) unsigned char data[];
};

static uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

// Large data is sampled: a line of every so many. Weights that are alike in 4 KiB spread over them
// are compared, which costs no more than reading them once.
#define LINE_BYTES 64u
#define MOST_LINES 64u

static uint64_t hash_bytes(const unsigned char *p, size_t n) {
    uint64_t lane[8] = {n, ~(uint64_t)n, 0x243f6a8885a308d3u, 0x13198a2e03707344u, 1, 2, 3, 4};
    size_t lines = n / LINE_BYTES, step = lines / MOST_LINES + 1;
    for (size_t at = 0; at < lines; at += step) {
        uint64_t w[8];
        memcpy(w, p + at * LINE_BYTES, sizeof w);
        for (int i = 0; i < 8; i++)
            lane[i] = mix(lane[i], w[i]);
    }
    uint64_t tail[8] = {0};
    if (n % LINE_BYTES)
        memcpy(tail, p + lines * LINE_BYTES, n % LINE_BYTES);
    uint64_t h = 0;
    for (int i = 0; i < 8; i++)
        h = mix(h, mix(lane[i], tail[i]));
    return h;
}

static bool grow(qrn_blobs *s) {
    uint32_t cap = s->cap ? 2 * s->cap : 16;
    qrn_blob **slots = qrn_calloc(cap * sizeof(void *));
    if (!slots)
        return false;
    for (uint32_t i = 0; i < s->cap; i++) {
        if (!s->slots[i])
            continue;
        uint32_t at = (uint32_t)s->slots[i]->hash & (cap - 1);
        while (slots[at])
            at = (at + 1) & (cap - 1);
        slots[at] = s->slots[i];
    }
    qrn_free(s->slots);
    s->slots = slots;
    s->cap = cap;
    return true;
}

static size_t blob_bytes(size_t size_bytes) {
    size_t all = sizeof(qrn_blob) + size_bytes + QRN_TAIL;
    return (all + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN;
}

// The chunk that is being filled, with room for so many bytes more; NULL: there is no memory.
static qrn_blob_chunk *chunk_for(qrn_blobs *s, size_t bytes) {
    size_t cap = chunk_bytes(s);
    if (s->open && s->open->cap - s->open->used >= bytes)
        return s->open;
    qrn_blob_chunk *c = qrn_alloc(sizeof *c + cap);
    if (c) {
        c->used = c->n_blobs = 0;
        c->cap = cap;
        s->open = c; // the one before belongs to its blobs
    }
    return c;
}

static qrn_blob *new_blob(qrn_blobs *s, size_t size_bytes) {
    size_t total;
    qrn_blob *b;
    if (ALL_OWN || size_bytes >= chunk_bytes(s) / 4) {
        b = qrn_add_size(sizeof *b, size_bytes, &total) ? qrn_alloc(total) : NULL;
        if (b)
            b->chunk = NULL;
        return b;
    }
    qrn_blob_chunk *c = chunk_for(s, blob_bytes(size_bytes));
    if (!c)
        return NULL;
    b = (void *)(c->data + c->used);
    b->chunk = c;
    c->used += blob_bytes(size_bytes);
    c->n_blobs++;
    return b;
}

static void free_blob(qrn_blobs *s, qrn_blob *b) {
    qrn_blob_chunk *c = b ? b->chunk : NULL;
    if (!c) {
        qrn_free(b);
    } else if (--c->n_blobs == 0) {
        s->open = s->open == c ? NULL : s->open;
        qrn_free(c);
    } else {
        qrn_leave_pages(b, blob_bytes(b->size_bytes));
    }
}

const void *qrn_blobs_add(qrn_blobs *s, const void *data, size_t size_bytes) {
    if (s->n >= s->cap / 2 && !grow(s))
        return NULL;
    uint64_t hash = hash_bytes(data, size_bytes);
    uint32_t at = (uint32_t)hash & (s->cap - 1);
    for (; s->slots[at]; at = (at + 1) & (s->cap - 1)) {
        qrn_blob *b = s->slots[at];
        if (b->hash == hash && b->size_bytes == size_bytes &&
            memcmp(b->data, data, size_bytes) == 0) {
            b->users++;
            return b->data;
        }
    }
    qrn_blob *b = new_blob(s, size_bytes);
    if (!b)
        return NULL;
    b->hash = hash;
    b->size_bytes = size_bytes;
    b->users = 1;
    memcpy(b->data, data, size_bytes);
    memset(b->data + size_bytes, 0, QRN_TAIL); // kernels may read it: keep it defined
    s->slots[at] = b;
    s->n++;
    s->size_bytes += size_bytes;
    return b->data;
}

// Removing from open addressing: blobs behind the hole move up unless they sit at or after their
// home.
static void close_hole(qrn_blobs *s, uint32_t hole) {
    uint32_t mask = s->cap - 1;
    for (uint32_t i = (hole + 1) & mask; s->slots[i]; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)s->slots[i]->hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            s->slots[hole] = s->slots[i];
            hole = i;
        }
    }
    s->slots[hole] = NULL;
}

void qrn_blobs_drop(qrn_blobs *s, const void *data) {
    if (!data)
        return;
    const unsigned char *bytes = data;
    const qrn_blob *want = (const void *)(bytes - offsetof(qrn_blob, data));
    uint32_t at = (uint32_t)want->hash & (s->cap - 1);
    while (s->slots[at] != want)
        at = (at + 1) & (s->cap - 1);
    qrn_blob *b = s->slots[at];
    if (--b->users)
        return;
    s->size_bytes -= b->size_bytes;
    s->n--;
    close_hole(s, at);
    free_blob(s, b);
}

void qrn_blobs_clear(qrn_blobs *s) {
    for (uint32_t i = 0; i < s->cap; i++)
        free_blob(s, s->slots[i]);
    qrn_free(s->slots);
    *s = (qrn_blobs){0};
}
