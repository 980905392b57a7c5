// SPDX-License-Identifier: MIT
//
// String map over FNV-1a and linear probing, at most two thirds full.
#include "base/strmap.h"

#include "base/mem.h"

#include <string.h>

static uint64_t hash_text(const char *s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

// The slot that holds the key, or the free one where it belongs; cap must not be 0.
static qrn_strmap_slot *find(const qrn_strmap *m, const char *key, uint64_t hash) {
    uint32_t mask = m->cap - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        qrn_strmap_slot *s = &m->slots[i];
        if (!s->key || (s->hash == hash && strcmp(s->key, key) == 0))
            return s;
    }
}

void *qrn_strmap_get(const qrn_strmap *m, const char *key) {
    if (m->cap == 0)
        return NULL;
    return find(m, key, hash_text(key))->value;
}

static bool grow(qrn_strmap *m) {
    if (m->cap > UINT32_MAX / 2)
        return false;
    qrn_strmap bigger = {.cap = m->cap ? 2 * m->cap : 16, .n = m->n};
    bigger.slots = qrn_calloc((size_t)bigger.cap * sizeof(qrn_strmap_slot));
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->slots[i].key)
            *find(&bigger, m->slots[i].key, m->slots[i].hash) = m->slots[i];
    qrn_free(m->slots);
    *m = bigger;
    return true;
}

bool qrn_strmap_put(qrn_strmap *m, const char *key, void *value) {
    if ((uint64_t)m->n * 3 >= (uint64_t)m->cap * 2 && !grow(m))
        return false;
    uint64_t hash = hash_text(key);
    qrn_strmap_slot *s = find(m, key, hash);
    if (!s->key)
        m->n++;
    *s = (qrn_strmap_slot){.key = key, .value = value, .hash = hash};
    return true;
}

// Entries behind the gap that belong at or before it move up, so that no search ends too early.
void qrn_strmap_remove(qrn_strmap *m, const char *key) {
    if (m->cap == 0)
        return;
    uint32_t mask = m->cap - 1;
    qrn_strmap_slot *gone = find(m, key, hash_text(key));
    if (!gone->key)
        return;
    uint32_t gap = (uint32_t)(gone - m->slots);
    for (uint32_t i = (gap + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)m->slots[i].hash & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        m->slots[gap] = m->slots[i];
        gap = i;
    }
    m->slots[gap] = (qrn_strmap_slot){0};
    m->n--;
}

void qrn_strmap_clear(qrn_strmap *m) {
    qrn_free(m->slots);
    *m = (qrn_strmap){0};
}
