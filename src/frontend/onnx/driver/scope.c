// SPDX-License-Identifier: MIT
//
// Values by name: a hash table per scope, open addressing, at most three quarters full.
#include "frontend/onnx/driver/internal.h"

#include <string.h>

static uint32_t hash(const char *s) {
    uint32_t h = 2166136261u; // FNV-1a
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h;
}

static ox_val **slot_of(const ox_scope *s, const char *name) {
    uint32_t i = hash(name) & (s->cap - 1);
    while (s->slots[i] && strcmp(s->slots[i]->name, name) != 0)
        i = (i + 1) & (s->cap - 1);
    return &s->slots[i];
}

static qrn_status resize(ox_import *im, ox_scope *s, uint32_t cap) {
    ox_scope next = {.outer = s->outer, .n = s->n, .cap = cap};
    next.slots = qrn_arena_alloc(im->arena, cap * sizeof *next.slots);
    if (!next.slots)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < s->cap; i++)
        if (s->slots[i])
            *slot_of(&next, s->slots[i]->name) = s->slots[i];
    *s = next;
    return QRN_OK;
}

qrn_status ox_scope_new(ox_import *im, ox_scope *outer, ox_scope **out) {
    ox_scope *s = qrn_arena_alloc(im->arena, sizeof *s);
    if (!s)
        return ox_no_memory(im);
    s->outer = outer;
    *out = s;
    return resize(im, s, 64);
}

ox_val *ox_scope_find(const ox_scope *s, const char *name) {
    for (; s; s = s->outer) {
        ox_val *v = *slot_of(s, name);
        if (v)
            return v;
    }
    return NULL;
}

qrn_status ox_scope_add(ox_import *im, ox_scope *s, const char *name, ox_val **out) {
    if ((s->n + 1) * 4 > s->cap * 3)
        QRN_TRY(resize(im, s, s->cap * 2));
    ox_val **slot = slot_of(s, name);
    if (!*slot) {
        *slot = qrn_arena_alloc(im->arena, sizeof **slot);
        if (!*slot)
            return ox_no_memory(im);
        (*slot)->name = name;
        s->n++;
    }
    *out = *slot;
    return QRN_OK;
}
