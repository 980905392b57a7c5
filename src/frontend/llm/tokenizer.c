// SPDX-License-Identifier: MIT
//
// The vocabulary of a tokenizer, and encoding: added tokens first, then the stages, then merges.
#include "frontend/llm/tokenizer_parts.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static qrn_status no_memory(const char *what) {
    return QRN_FAIL(QRN_E_MEM, "no memory for %s", what);
}

qrn_status ql_ids_add(ql_ids *ids, uint32_t id) {
    if (ids->n == ids->cap) {
        size_t want = ids->cap ? 2 * ids->cap : 64;
        uint32_t *grown = qrn_realloc(ids->items, ids->cap * sizeof *grown, want * sizeof *grown);
        if (!grown)
            return no_memory("tokens");
        ids->items = grown;
        ids->cap = want;
    }
    ids->items[ids->n++] = id;
    return QRN_OK;
}

void ql_ids_free(ql_ids *ids) {
    qrn_free(ids->items);
    *ids = (ql_ids){0};
}

// --- the vocabulary

ql_tokenizer *ql_tokenizer_make(const char *name) {
    qrn_arena *arena = qrn_arena_create();
    ql_tokenizer *t = arena ? qrn_arena_alloc(arena, sizeof *t) : NULL;
    if (t) {
        t->arena = arena;
        t->name = qrn_arena_strdup(arena, name);
        t->unknown = QL_NO_TOKEN;
    }
    if (t && t->name)
        return t;
    qrn_arena_destroy(arena);
    (void)no_memory("a tokenizer");
    return NULL;
}

void ql_tokenizer_close(ql_tokenizer *t) {
    if (!t)
        return;
    ql_ids_free(&t->before);
    ql_ids_free(&t->behind);
    qrn_arena_destroy(t->arena);
}

#define MOST_BYTES 0x7fffffffu // of a word

// At most three quarters are taken.
static uint32_t slots_for(uint32_t n) {
    uint32_t slots = 64;
    while (slots / 4 * 3 < (uint64_t)n && slots < 1u << 31)
        slots *= 2;
    return slots;
}

qrn_status ql_words_reserve(ql_tokenizer *t, uint32_t n_words, uint32_t n_merges) {
    t->n_words = n_words;
    t->n_slots = slots_for(n_words);
    t->n_merge_slots = slots_for(n_merges);
    t->words = qrn_arena_alloc(t->arena, (size_t)n_words * sizeof *t->words);
    t->slots = qrn_arena_reserve(t->arena, (size_t)t->n_slots * sizeof *t->slots);
    t->merges = qrn_arena_reserve(t->arena, (size_t)t->n_merge_slots * sizeof *t->merges);
    if (!t->words || !t->slots || !t->merges)
        return no_memory("a vocabulary");
    memset(t->slots, 0xff, (size_t)t->n_slots * sizeof *t->slots);
    memset(t->merges, 0xff, (size_t)t->n_merge_slots * sizeof *t->merges);
    return QRN_OK;
}

static uint64_t hash_of(ql_slice s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.text[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static bool is_same(ql_slice a, ql_slice b) {
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

// Where a word is, or the free slot where it belongs.
static uint32_t *slot_of(const ql_tokenizer *t, ql_slice text) {
    for (uint64_t i = hash_of(text);; i++) {
        uint32_t *slot = &t->slots[i & (t->n_slots - 1)];
        if (*slot == QL_NO_TOKEN || is_same(ql_word_text(&t->words[*slot]), text))
            return slot;
    }
}

uint32_t ql_word_find(const ql_tokenizer *t, ql_slice text) { return *slot_of(t, text); }

qrn_status ql_word_set(ql_tokenizer *t, uint32_t id, ql_slice text) {
    ql_word *w = &t->words[id];
    uint32_t *slot = slot_of(t, text);
    if (text.n > MOST_BYTES)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: token %u has %zu bytes", t->name, id, text.n);
    if (w->text && !is_same(ql_word_text(w), text))
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: token %u is '%.*s' and '%.*s'", t->name, id,
                        (int)(w->n < 60 ? w->n : 60), w->text, (int)(text.n < 60 ? text.n : 60),
                        text.text);
    if (*slot != QL_NO_TOKEN && *slot != id)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: '%.*s' is token %u and token %u", t->name,
                        (int)(text.n < 60 ? text.n : 60), text.text, *slot, id);
    w->text = text.text;
    w->n = (uint32_t)text.n & MOST_BYTES;
    *slot = id;
    return QRN_OK;
}

static ql_merge *merge_slot(const ql_tokenizer *t, uint64_t pair) {
    uint64_t h = pair * 0x9e3779b97f4a7c15u;
    for (uint64_t i = h ^ h >> 32;; i++) {
        ql_merge *m = &t->merges[i & (t->n_merge_slots - 1)];
        if (m->id == QL_NO_TOKEN || m->pair == pair)
            return m;
    }
}

const ql_merge *ql_merge_find(const ql_tokenizer *t, uint32_t left, uint32_t right) {
    const ql_merge *m = merge_slot(t, (uint64_t)left << 32 | right);
    return m->id == QL_NO_TOKEN ? NULL : m;
}

static qrn_status no_word(const ql_tokenizer *t, uint32_t rank, ql_slice word) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: merge %u: '%.*s' is not in the vocabulary", t->name, rank,
                    (int)(word.n < 60 ? word.n : 60), word.text);
}

qrn_status ql_merge_add(ql_tokenizer *t, ql_slice left, ql_slice right, uint32_t rank) {
    char text[1024];
    uint32_t a = ql_word_find(t, left), b = ql_word_find(t, right);
    if (a == QL_NO_TOKEN || b == QL_NO_TOKEN)
        return no_word(t, rank, a == QL_NO_TOKEN ? left : right);
    if (left.n + right.n > sizeof text)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: merge %u makes a token of %zu bytes, at most %zu",
                        t->name, rank, left.n + right.n, sizeof text);
    memcpy(text, left.text, left.n);
    memcpy(text + left.n, right.text, right.n);
    const ql_slice whole = {text, left.n + right.n};
    uint32_t id = ql_word_find(t, whole);
    if (id == QL_NO_TOKEN)
        return no_word(t, rank, whole);
    ql_merge *m = merge_slot(t, (uint64_t)a << 32 | b);
    if (m->id == QL_NO_TOKEN) // of two of the same pair the first one counts
        *m = (ql_merge){(uint64_t)a << 32 | b, rank, id};
    return QRN_OK;
}

static int by_length(const void *a, const void *b) {
    const ql_added *x = a, *y = b;
    return (x->text.n < y->text.n) - (x->text.n > y->text.n);
}

void ql_tokenizer_finish(ql_tokenizer *t) {
    for (unsigned b = 0; b < 256; b++) {
        char text[8];
        int n = snprintf(text, sizeof text, "<0x%02X>", b);
        t->byte_ids[b] = ql_word_find(t, (ql_slice){text, (size_t)n});
    }
    if (t->n_added)
        qsort(t->added, t->n_added, sizeof *t->added, by_length);
}

uint32_t ql_tokenizer_size(const ql_tokenizer *t) { return t->n_words; }

uint32_t ql_tokenizer_find(const ql_tokenizer *t, const char *text) {
    return ql_word_find(t, (ql_slice){text, strlen(text)});
}

// --- encoding

typedef struct encoder {
    const ql_tokenizer *t;
    qrn_arena *arena;
    ql_ids *out;
} encoder;

static bool starts_with(ql_slice s, size_t at, ql_slice with) {
    return s.n - at >= with.n && memcmp(s.text + at, with.text, with.n) == 0;
}

// The first added token at or behind `from`, the longest one there; NULL: none.
static const ql_added *find_added(const ql_tokenizer *t, ql_slice s, size_t from, bool normalized,
                                  size_t *at) {
    for (*at = from; *at < s.n; ++*at)
        for (uint32_t i = 0; i < t->n_added; i++)
            if (t->added[i].normalized == normalized && s.text[*at] == t->added[i].text.text[0] &&
                starts_with(s, *at, t->added[i].text))
                return &t->added[i];
    return NULL;
}

static size_t skip_space(ql_slice s, size_t at) {
    size_t bytes;
    while (at < s.n && ql_is_space(ql_utf8_read(s.text, s.n, at, &bytes)))
        at += bytes;
    return at;
}

// The end of the text before `at` without the white space at it.
static size_t trim_space(ql_slice s, size_t from, size_t at) {
    size_t end = from, bytes;
    for (size_t i = from; i < at; i += bytes)
        if (!ql_is_space(ql_utf8_read(s.text, s.n, i, &bytes)))
            end = i + bytes;
    return end;
}

static qrn_status encode_plain(encoder *e, ql_slice s, bool at_begin) {
    ql_pieces pieces = {0};
    qrn_status status = ql_pieces_add(&pieces, s);
    if (status == QRN_OK)
        status = ql_stages_apply(&e->t->split, e->arena, at_begin, &pieces);
    for (size_t i = 0; i < pieces.n && status == QRN_OK; i++)
        status = ql_bpe(e->t, pieces.items[i], e->out);
    ql_pieces_free(&pieces);
    return status;
}

static qrn_status encode_normal(encoder *e, ql_slice s, bool at_begin);

// Cuts a text at its added tokens; what is between them goes to encode_normal, or, in normalized
// text, to encode_plain.
static qrn_status encode_parts(encoder *e, ql_slice s, bool normalized, bool at_begin) {
    size_t from = 0;
    while (from < s.n) {
        size_t at;
        const ql_added *a = find_added(e->t, s, from, normalized, &at);
        size_t end = a && a->strip_left ? trim_space(s, from, at) : at;
        const ql_slice part = {s.text + from, end - from};
        bool first = at_begin && from == 0;
        if (part.n)
            QRN_TRY(normalized ? encode_plain(e, part, first) : encode_normal(e, part, first));
        if (!a)
            break;
        QRN_TRY(ql_ids_add(e->out, a->id));
        from = at + a->text.n;
        if (a->strip_right)
            from = skip_space(s, from);
    }
    return QRN_OK;
}

static qrn_status encode_normal(encoder *e, ql_slice s, bool at_begin) {
    ql_pieces pieces = {0};
    qrn_status status = ql_pieces_add(&pieces, s);
    if (status == QRN_OK)
        status = ql_stages_apply(&e->t->normal, e->arena, at_begin, &pieces);
    if (status == QRN_OK && pieces.n)
        status = encode_parts(e, pieces.items[0], true, at_begin);
    ql_pieces_free(&pieces);
    return status;
}

static qrn_status add_all(const ql_ids *from, bool wanted, ql_ids *out) {
    for (size_t i = 0; wanted && i < from->n; i++)
        QRN_TRY(ql_ids_add(out, from->items[i]));
    return QRN_OK;
}

qrn_status ql_encode(const ql_tokenizer *t, ql_slice text, bool whole, ql_ids *out) {
    size_t bad;
    if (!ql_utf8_valid(text.text, text.n, &bad))
        return QRN_FAIL(QRN_E_ARGUMENT, "the text is not UTF-8: byte 0x%02x at offset %zu",
                        (unsigned char)text.text[bad], bad);
    encoder e = {.t = t, .arena = qrn_arena_create(), .out = out};
    if (!e.arena)
        return no_memory("a text");
    qrn_status s = add_all(&t->before, whole, out);
    if (s == QRN_OK)
        s = encode_parts(&e, text, false, true);
    if (s == QRN_OK)
        s = add_all(&t->behind, whole, out);
    qrn_arena_destroy(e.arena);
    return s;
}
