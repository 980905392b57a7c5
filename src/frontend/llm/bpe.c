// SPDX-License-Identifier: MIT
//
// Byte-pair encoding of one piece of text: its characters are symbols, and the two neighbours that
// merge first by the table are merged until none do. Candidates wait in a heap, so a piece of n
// characters takes n log n steps: SentencePiece models have one piece for a whole text.
#include "frontend/llm/tokenizer_parts.h"

#include "base/mem.h"

#include <string.h>

#define NONE UINT32_MAX

typedef struct symbol {
    uint32_t id; // or QL_NO_TOKEN
    uint32_t at, n;
    uint32_t before, behind; // NONE: none; n is 0 once it was merged into the one before
} symbol;

// Two neighbours that would become a token.
typedef struct candidate {
    double order; // the smallest is merged first; then the leftmost
    uint32_t left, right;
    uint32_t n; // bytes of both, by which a stale one is known
    uint32_t id;
} candidate;

typedef struct encoding {
    const ql_tokenizer *t;
    ql_slice text;
    symbol *symbols;
    candidate *heap;
    uint32_t n_symbols, n_heap, cap_heap;
} encoding;

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "no memory to encode a text"); }

static bool is_before(const candidate *a, const candidate *b) {
    return a->order != b->order ? a->order < b->order : a->left < b->left;
}

static qrn_status heap_push(encoding *e, candidate c) {
    if (e->n_heap == e->cap_heap) {
        uint32_t want = e->cap_heap ? 2 * e->cap_heap : 64;
        candidate *grown = qrn_realloc(e->heap, e->cap_heap * sizeof *grown, want * sizeof *grown);
        if (!grown)
            return no_memory();
        e->heap = grown;
        e->cap_heap = want;
    }
    uint32_t i = e->n_heap++;
    for (; i > 0 && is_before(&c, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = c;
    return QRN_OK;
}

static candidate heap_pop(encoding *e) {
    candidate top = e->heap[0], last = e->heap[--e->n_heap];
    uint32_t i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= e->n_heap)
            break;
        if (child + 1 < e->n_heap && is_before(&e->heap[child + 1], &e->heap[child]))
            child++;
        if (!is_before(&e->heap[child], &last))
            break;
        e->heap[i] = e->heap[child];
        i = child;
    }
    e->heap[i] = last;
    return top;
}

// Makes a candidate of two neighbours where they merge.
static qrn_status consider(encoding *e, uint32_t left, uint32_t right) {
    if (left == NONE || right == NONE)
        return QRN_OK;
    const symbol *a = &e->symbols[left], *b = &e->symbols[right];
    candidate c = {.left = left, .right = right, .n = a->n + b->n};
    if (e->t->scores) {
        c.id = ql_word_find(e->t, (ql_slice){e->text.text + a->at, c.n});
        if (c.id == QL_NO_TOKEN)
            return QRN_OK;
        c.order = -(double)e->t->scores[c.id];
    } else {
        const ql_merge *m = ql_merge_find(e->t, a->id, b->id);
        if (!m)
            return QRN_OK;
        c.id = m->id;
        c.order = m->rank;
    }
    return heap_push(e, c);
}

static void add_symbol(encoding *e, uint32_t id, size_t at, size_t n) {
    uint32_t i = e->n_symbols++;
    e->symbols[i] = (symbol){id, (uint32_t)at, (uint32_t)n, i ? i - 1 : NONE, NONE};
    if (i)
        e->symbols[i - 1].behind = i;
}

static bool has_bytes(const encoding *e, size_t at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (e->t->byte_ids[(unsigned char)e->text.text[at + i]] == QL_NO_TOKEN)
            return false;
    return e->t->byte_fallback;
}

// A character that is not in the vocabulary.
static qrn_status add_unknown(encoding *e, size_t at, size_t n) {
    const ql_tokenizer *t = e->t;
    if (has_bytes(e, at, n)) {
        for (size_t i = 0; i < n; i++)
            add_symbol(e, t->byte_ids[(unsigned char)e->text.text[at + i]], at + i, 1);
        return QRN_OK;
    }
    if (t->unknown == QL_NO_TOKEN)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%s: '%.*s' is not in the vocabulary, which has neither an unknown token "
                        "nor tokens of bytes",
                        t->name, (int)n, e->text.text + at);
    symbol *last = e->n_symbols ? &e->symbols[e->n_symbols - 1] : NULL;
    if (t->fuse_unknown && last && last->id == t->unknown)
        last->n += (uint32_t)n;
    else
        add_symbol(e, t->unknown, at, n);
    return QRN_OK;
}

static qrn_status add_symbols(encoding *e) {
    size_t bytes;
    for (size_t at = 0; at < e->text.n; at += bytes) {
        ql_utf8_read(e->text.text, e->text.n, at, &bytes);
        uint32_t id = ql_word_find(e->t, (ql_slice){e->text.text + at, bytes});
        if (id != QL_NO_TOKEN || e->t->scores)
            add_symbol(e, id, at, bytes);
        else
            QRN_TRY(add_unknown(e, at, bytes));
    }
    return QRN_OK;
}

static qrn_status merge_all(encoding *e) {
    for (uint32_t i = 0; i + 1 < e->n_symbols; i++)
        QRN_TRY(consider(e, i, i + 1));
    while (e->n_heap) {
        candidate c = heap_pop(e);
        symbol *a = &e->symbols[c.left], *b = &e->symbols[c.right];
        if (a->n == 0 || b->n == 0 || a->behind != c.right || a->n + b->n != c.n)
            continue;
        a->n = c.n;
        a->id = c.id;
        a->behind = b->behind;
        b->n = 0;
        if (a->behind != NONE)
            e->symbols[a->behind].before = c.left;
        QRN_TRY(consider(e, a->before, c.left));
        QRN_TRY(consider(e, c.left, a->behind));
    }
    return QRN_OK;
}

// With scores, symbols without a token are left: each becomes its bytes, or the unknown token.
static qrn_status add_ids(encoding *e, ql_ids *out) {
    for (uint32_t i = e->n_symbols ? 0 : NONE; i != NONE; i = e->symbols[i].behind) {
        const symbol *s = &e->symbols[i];
        if (s->id != QL_NO_TOKEN) {
            QRN_TRY(ql_ids_add(out, s->id));
        } else if (has_bytes(e, s->at, s->n)) {
            for (uint32_t k = 0; k < s->n; k++)
                QRN_TRY(ql_ids_add(out, e->t->byte_ids[(unsigned char)e->text.text[s->at + k]]));
        } else if (e->t->unknown != QL_NO_TOKEN) {
            QRN_TRY(ql_ids_add(out, e->t->unknown));
        } else {
            return QRN_FAIL(QRN_E_ARGUMENT, "%s: '%.*s' is not in the vocabulary", e->t->name,
                            (int)s->n, e->text.text + s->at);
        }
    }
    return QRN_OK;
}

qrn_status ql_bpe(const ql_tokenizer *t, ql_slice piece, ql_ids *out) {
    if (t->ignore_merges) {
        uint32_t id = ql_word_find(t, piece);
        if (id != QL_NO_TOKEN)
            return ql_ids_add(out, id);
    }
    if (piece.n >= UINT32_MAX)
        return QRN_FAIL(QRN_E_ARGUMENT, "a text of %zu bytes is too long", piece.n);
    encoding e = {.t = t, .text = piece};
    e.symbols = qrn_alloc(piece.n * sizeof *e.symbols);
    qrn_status s = e.symbols ? add_symbols(&e) : no_memory();
    if (s == QRN_OK)
        s = merge_all(&e);
    if (s == QRN_OK)
        s = add_ids(&e, out);
    qrn_free(e.symbols);
    qrn_free(e.heap);
    return s;
}
