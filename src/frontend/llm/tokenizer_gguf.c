// SPDX-License-Identifier: MIT
//
// The tokenizer of a GGUF file: byte-level BPE ("gpt2"), by way of the tokenizer.json that stands
// for it, and SentencePiece's BPE ("llama"), whose tokens have scores instead of merges.
#include "frontend/llm/folder.h"
#include "frontend/llm/tokenizer_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Kinds of tokens.
enum { UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4 };

static const char mark[] = "\xe2\x96\x81"; // U+2581, which stands for a space

static bool is(ql_text t, const char *word) {
    return t.n == strlen(word) && memcmp(t.data, word, t.n) == 0;
}

// A key that may be missing.
static qrn_status bool_of(const ql_gguf *g, const char *key, bool *value) {
    return ql_gguf_find(g, key) ? ql_gguf_bool(g, key, value) : QRN_OK;
}

static qrn_status copy(ql_tokenizer *t, ql_text from, ql_slice *out) {
    char *to = qrn_arena_copy(t->arena, from.n ? from.data : "", from.n ? from.n : 1);
    if (!to)
        return QRN_FAIL(QRN_E_MEM, "%s: no memory for tokens", t->name);
    *out = (ql_slice){to, from.n};
    return QRN_OK;
}

static qrn_status read_words(const ql_gguf *g, ql_tokenizer *t, qrn_arena *arena) {
    const ql_gguf_value *scores = ql_gguf_find(g, "tokenizer.ggml.scores");
    ql_text *texts;
    int64_t *kinds;
    uint32_t n, n_kinds;
    size_t bad;
    QRN_TRY(ql_gguf_texts(g, "tokenizer.ggml.tokens", arena, &texts, &n));
    QRN_TRY(ql_gguf_ints(g, "tokenizer.ggml.token_type", arena, &kinds, &n_kinds));
    if (!scores || scores->kind != QL_GGUF_ARRAY || scores->element != QL_GGUF_F32 ||
        scores->n != n || n_kinds != n || n == 0)
        return QRN_FAIL(QRN_E_BINARY,
                        "%s: %u tokens and %u kinds; expected as many of each, and as many scores "
                        "of type float32",
                        t->name, n, n_kinds);
    QRN_TRY(ql_words_reserve(t, n, 0));
    float *kept = qrn_arena_alloc(t->arena, n * sizeof *kept);
    t->added = qrn_arena_alloc(t->arena, n * sizeof *t->added);
    if (!kept || !t->added)
        return QRN_FAIL(QRN_E_MEM, "%s: no memory for tokens", t->name);
    ql_gguf_value rest = *scores, one;
    for (uint32_t i = 0; i < n && ql_gguf_next(&rest, &one); i++) {
        ql_slice word;
        kept[i] = (float)ql_gguf_number(&one);
        if (isnan(kept[i]))
            return QRN_FAIL(QRN_E_BINARY, "%s: the score of token %u is NaN", t->name, i);
        if (!ql_utf8_valid(texts[i].data, texts[i].n, &bad) || texts[i].n == 0)
            return QRN_FAIL(QRN_E_BINARY, "%s: token %u is empty or not UTF-8", t->name, i);
        QRN_TRY(copy(t, texts[i], &word));
        QRN_TRY(ql_word_set(t, i, word));
        t->words[i].special = kinds[i] == CONTROL || kinds[i] == UNKNOWN;
        if (kinds[i] == CONTROL || kinds[i] == USER_DEFINED)
            t->added[t->n_added++] = (ql_added){.text = word, .id = i};
    }
    t->scores = kept;
    return QRN_OK;
}

// A token around a text, where the file wants one.
static qrn_status read_around(const ql_gguf *g, const ql_tokenizer *t, const char *wanted,
                              bool usual, const char *key, ql_ids *to) {
    uint64_t id;
    QRN_TRY(bool_of(g, wanted, &usual));
    if (!usual)
        return QRN_OK;
    QRN_TRY(ql_gguf_uint(g, key, t->n_words - 1, &id));
    return ql_ids_add(to, (uint32_t)id);
}

static qrn_status read_pieces(const ql_gguf *g, ql_tokenizer *t, qrn_arena *arena) {
    bool prefix = true;
    uint64_t unknown = 0;
    const ql_slice space = {mark, sizeof mark - 1};
    QRN_TRY(read_words(g, t, arena));
    QRN_TRY(bool_of(g, "tokenizer.ggml.add_space_prefix", &prefix));
    if (ql_gguf_find(g, "tokenizer.ggml.unknown_token_id"))
        QRN_TRY(ql_gguf_uint(g, "tokenizer.ggml.unknown_token_id", t->n_words - 1, &unknown));
    t->unknown = (uint32_t)unknown;
    if (prefix)
        t->normal.items[t->normal.n++] = (ql_stage){.kind = QL_STAGE_PREPEND, .text = space};
    t->normal.items[t->normal.n++] =
        (ql_stage){.kind = QL_STAGE_REPLACE, .text = {" ", 1}, .with = space};
    t->byte_fallback = t->byte_words = true;
    t->space = space;
    t->strip_spaces = prefix;
    QRN_TRY(read_around(g, t, "tokenizer.ggml.add_bos_token", true, "tokenizer.ggml.bos_token_id",
                        &t->before));
    QRN_TRY(read_around(g, t, "tokenizer.ggml.add_eos_token", false, "tokenizer.ggml.eos_token_id",
                        &t->behind));
    ql_tokenizer_finish(t);
    return QRN_OK;
}

static qrn_status open_pieces(const ql_gguf *g, ql_tokenizer **out) {
    ql_tokenizer *t = ql_tokenizer_make(g->path);
    qrn_arena *arena = qrn_arena_create();
    qrn_status s = t && arena ? read_pieces(g, t, arena)
                              : QRN_FAIL(QRN_E_MEM, "%s: no memory for tokens", g->path);
    qrn_arena_destroy(arena);
    if (s == QRN_OK)
        *out = t;
    else
        ql_tokenizer_close(t);
    return s;
}

qrn_status ql_tokenizer_of_gguf(const ql_gguf *g, ql_tokenizer **out) {
    ql_text model;
    QRN_TRY(ql_gguf_text(g, "tokenizer.ggml.model", &model));
    if (is(model, "llama"))
        return open_pieces(g, out);
    const ql_gguf_value *tokens = ql_gguf_find(g, "tokenizer.ggml.tokens");
    const ql_llama about = {.file = g, .vocab = tokens ? (uint32_t)tokens->n : 0};
    qrn_text json = {0};
    qrn_status s = ql_tokenizer_json(&about, &json);
    if (s == QRN_OK)
        s = ql_tokenizer_parse(g->path, json.data, json.n, out);
    free(json.data);
    return s;
}
