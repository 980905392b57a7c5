// SPDX-License-Identifier: MIT
//
// Arena over a chain of blocks; large objects get a block of their own. Under AddressSanitizer all
// objects do, and what lies behind one is forbidden.
#include "base/arena.h"

#include "base/mem.h"
#include "base/sanitized.h"

#include <stdint.h>
#include <string.h>

// Bytes of a block: the more an arena holds, the larger are its blocks. What is not used of one
// costs no memory, except in large pages, which the largest blocks have (mem.c): those are for
// arenas beside which such a page is small.
static const struct {
    size_t below; // bytes that an arena holds
    size_t bytes; // of its next block
} blocks[] = {
    {(size_t)1 << 20, (size_t)16 << 10},
    {(size_t)16 << 20, (size_t)1 << 20},
    {SIZE_MAX, (size_t)8 << 20},
};
#ifdef QRN_ASAN
#define ALL_OWN true
#else
#define ALL_OWN false
#endif

typedef struct block {
    struct block *next;
    size_t used, cap; // bytes of data[]
    _Alignas(QRN_ALIGN) unsigned char data[];
} block;

struct qrn_arena {
    block *head; // the block that is being filled
    size_t used; // bytes handed out
    size_t left; // that may be handed out yet
    bool limited;
};

qrn_arena *qrn_arena_create(void) {
    qrn_arena *a = qrn_calloc(sizeof *a);
    if (a)
        a->left = SIZE_MAX;
    return a;
}

void qrn_arena_destroy(qrn_arena *a) {
    if (!a)
        return;
    for (block *b = a->head; b;) {
        block *next = b->next;
        qrn_free(b);
        b = next;
    }
    qrn_free(a);
}

static size_t block_bytes(const qrn_arena *a) {
    uint32_t i = 0;
    while (a->used >= blocks[i].below && i + 1 < sizeof blocks / sizeof *blocks)
        i++;
    return blocks[i].bytes;
}

static block *new_block(size_t cap) {
    size_t total;
    if (!qrn_add_size(sizeof(block), cap, &total))
        return NULL;
    block *b = qrn_alloc(total);
    if (b) {
        b->next = NULL;
        b->used = 0;
        b->cap = cap;
    }
    return b;
}

void *qrn_arena_reserve(qrn_arena *a, size_t size_bytes) {
    size_t align = size_bytes >= QRN_ALIGN ? QRN_ALIGN : 16;
    size_t need;
    if (!qrn_add_size(size_bytes ? size_bytes : 1, QRN_TAIL, &need))
        return NULL;
    if (size_bytes > a->left) {
        a->limited = true;
        return NULL;
    }
    block *b = a->head;
    size_t at = b ? (b->used + align - 1) / align * align : 0;
    if (ALL_OWN || !b || at > b->cap || b->cap - at < need) {
        size_t cap = block_bytes(a);
        bool own = ALL_OWN || need > cap / 4; // keep filling the current block after a large object
        block *n = new_block(own ? need : cap);
        if (!n)
            return NULL;
        if (own && a->head) {
            n->next = a->head->next;
            a->head->next = n;
        } else {
            n->next = a->head;
            a->head = n;
        }
        b = n;
        at = 0;
        if (ALL_OWN)
            QRN_FORBID(b->data + size_bytes, need + QRN_TAIL - size_bytes);
    }
    b->used = at + (size_bytes ? size_bytes : 1);
    a->used += size_bytes;
    a->left -= a->left == SIZE_MAX ? 0 : size_bytes;
    return b->data + at;
}

void *qrn_arena_alloc(qrn_arena *a, size_t size_bytes) {
    void *p = qrn_arena_reserve(a, size_bytes);
    if (p)
        memset(p, 0, size_bytes);
    return p;
}

void *qrn_arena_copy(qrn_arena *a, const void *src, size_t size_bytes) {
    void *p = qrn_arena_reserve(a, size_bytes);
    if (p && size_bytes)
        memcpy(p, src, size_bytes);
    return p;
}

char *qrn_arena_strdup(qrn_arena *a, const char *s) { return qrn_arena_copy(a, s, strlen(s) + 1); }

size_t qrn_arena_used(const qrn_arena *a) { return a->used; }

void qrn_arena_limit(qrn_arena *a, size_t most_bytes) {
    a->left = most_bytes == SIZE_MAX ? SIZE_MAX : most_bytes > a->used ? most_bytes - a->used : 0;
    a->limited = false;
}

bool qrn_arena_limited(const qrn_arena *a) { return a->limited; }
