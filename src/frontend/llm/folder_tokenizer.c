// SPDX-License-Identifier: MIT
//
// tokenizer.json and tokenizer_config.json. GGUF has tokens, kinds and merges, and a name for how
// text is split before them; what the name means is in a table here. Only byte-level BPE ("gpt2")
// is written: other tokenizers are rejected by name.
#include "frontend/llm/folder.h"

#include "base/mem.h"
#include "base/strmap.h"

#include <stdlib.h>
#include <string.h>

#define CONTROL 3      // kinds of tokens: written as special ones
#define USER_DEFINED 4 // written as added ones

#define BYTE_LEVEL(regex)                                                                          \
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "              \
    "\"use_regex\": " regex "}"
#define DIGITS "{\"type\": \"Digits\", \"individual_digits\": true}"
#define SPLIT(digits)                                                                              \
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": "                                              \
    "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|" digits               \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}, "    \
    "\"behavior\": \"Isolated\", \"invert\": false}"
#define SEQUENCE(a, b) "{\"type\": \"Sequence\", \"pretokenizers\": [" a ", " b "]}"

static const struct {
    const char *name;      // key tokenizer.ggml.pre
    const char *splitting; // as JSON
    bool ignore_merges, nfc;
} splittings[] = {
    {"gpt-2", BYTE_LEVEL("true"), false, false},
    {"smollm", SEQUENCE(DIGITS, BYTE_LEVEL("true")), false, false},
    {"llama-bpe", SEQUENCE(SPLIT("\\\\p{N}{1,3}"), BYTE_LEVEL("false")), true, false},
    {"qwen2", SEQUENCE(SPLIT("\\\\p{N}"), BYTE_LEVEL("false")), false, true},
};
enum { N_SPLITTINGS = sizeof splittings / sizeof splittings[0] };

// What the file has.
typedef struct words {
    const ql_llama *m;
    qrn_arena *arena;
    char **tokens; // with a zero behind each
    uint32_t n_tokens;
    int64_t *kinds; // NULL: all are ordinary
    ql_text *merges;
    uint32_t n_merges;
    unsigned splitting;
} words;

static bool is(ql_text t, const char *word) {
    return t.n == strlen(word) && memcmp(t.data, word, t.n) == 0;
}

static qrn_status find_splitting(words *w) {
    const ql_gguf *g = w->m->file;
    ql_text model, pre = {"gpt-2", 5};
    QRN_TRY(ql_gguf_text(g, "tokenizer.ggml.model", &model));
    if (!is(model, "gpt2"))
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%.500s: tokenizer '%.*s' is not supported; supported: gpt2 (byte-level "
                        "BPE)",
                        g->path, (int)(model.n < 60 ? model.n : 60), model.data);
    if (ql_gguf_find(g, "tokenizer.ggml.pre"))
        QRN_TRY(ql_gguf_text(g, "tokenizer.ggml.pre", &pre));
    char list[128] = "";
    size_t at = 0;
    for (unsigned i = 0; i < N_SPLITTINGS; i++) {
        if (is(pre, splittings[i].name)) {
            w->splitting = i;
            return QRN_OK;
        }
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
                               splittings[i].name);
    }
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "%.500s: key 'tokenizer.ggml.pre' is '%.*s', which is not supported; "
                    "supported: %s",
                    g->path, (int)(pre.n < 60 ? pre.n : 60), pre.data, list);
}

// A text with a zero behind it; NULL when it is not UTF-8, or has a zero byte, or out of memory.
static char *plain_text(qrn_arena *arena, ql_text t) {
    char *s = memchr(t.data, 0, t.n) ? NULL : qrn_arena_alloc(arena, t.n + 1);
    if (!s)
        return NULL;
    memcpy(s, t.data, t.n);
    for (const char *p = s; *p;) {
        unsigned n = qrn_utf8_length(p);
        if (!n)
            return NULL;
        p += n;
    }
    return s;
}

static qrn_status check_unique(const words *w) {
    qrn_strmap seen = {0};
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < w->n_tokens && s == QRN_OK; i++)
        if (qrn_strmap_get(&seen, w->tokens[i]))
            s = QRN_FAIL(QRN_E_BINARY, "%.500s: token %u ('%s') is there twice", w->m->file->path,
                         i, w->tokens[i]);
        else if (!qrn_strmap_put(&seen, w->tokens[i], w->tokens[i]))
            s = QRN_FAIL(QRN_E_MEM, "no memory for tokens");
    qrn_strmap_clear(&seen);
    return s;
}

static qrn_status read_words(words *w) {
    const ql_gguf *g = w->m->file;
    ql_text *texts = NULL;
    uint32_t n = 0;
    QRN_TRY(find_splitting(w));
    QRN_TRY(ql_gguf_texts(g, "tokenizer.ggml.tokens", w->arena, &texts, &w->n_tokens));
    if (w->n_tokens != w->m->vocab)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: %u tokens for an embedding of %u rows", g->path,
                        w->n_tokens, w->m->vocab);
    w->tokens = qrn_arena_alloc(w->arena, w->n_tokens * sizeof *w->tokens);
    for (uint32_t i = 0; w->tokens && i < w->n_tokens; i++) {
        w->tokens[i] = plain_text(w->arena, texts[i]);
        if (!w->tokens[i])
            return QRN_FAIL(QRN_E_BINARY, "%.500s: token %u is not UTF-8", g->path, i);
    }
    if (!w->tokens)
        return QRN_FAIL(QRN_E_MEM, "no memory for tokens");
    if (ql_gguf_find(g, "tokenizer.ggml.token_type")) {
        QRN_TRY(ql_gguf_ints(g, "tokenizer.ggml.token_type", w->arena, &w->kinds, &n));
        if (n != w->n_tokens)
            return QRN_FAIL(QRN_E_BINARY, "%.500s: %u kinds of %u tokens", g->path, n, w->n_tokens);
    }
    QRN_TRY(ql_gguf_texts(g, "tokenizer.ggml.merges", w->arena, &w->merges, &w->n_merges));
    return check_unique(w);
}

static void put_added(const words *w, FILE *f) {
    const char *comma = "";
    fputs("  \"added_tokens\": [", f);
    for (uint32_t i = 0; w->kinds && i < w->n_tokens; i++) {
        if (w->kinds[i] != CONTROL && w->kinds[i] != USER_DEFINED)
            continue;
        fprintf(f, "%s\n    {\"id\": %u, \"content\": ", comma, i);
        qrn_json_text(f, w->tokens[i]);
        fprintf(f,
                ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": "
                "false, \"special\": %s}",
                w->kinds[i] == CONTROL ? "true" : "false");
        comma = ",";
    }
    fputs("\n  ],\n", f);
}

static qrn_status put_merges(const words *w, FILE *f) {
    fputs("    \"merges\": [", f);
    for (uint32_t i = 0; i < w->n_merges; i++) {
        // The first character may be a space itself in no byte-level vocabulary.
        char *s = plain_text(w->arena, w->merges[i]);
        char *space = s ? strchr(s, ' ') : NULL;
        if (!space || space == s || !space[1] || strchr(space + 1, ' '))
            return QRN_FAIL(QRN_E_BINARY, "%.500s: merge %u is not two texts and a space",
                            w->m->file->path, i);
        *space = 0;
        fputs(i ? ",\n      [" : "\n      [", f);
        qrn_json_text(f, s);
        fputs(", ", f);
        qrn_json_text(f, space + 1);
        fputs("]", f);
    }
    fputs("\n    ]\n  }\n}\n", f);
    return QRN_OK;
}

// Is the first token of every text one that the model wants there?
static qrn_status first_token(const words *w, bool *there, uint64_t *id) {
    const ql_gguf *g = w->m->file;
    *there = false;
    if (ql_gguf_find(g, "tokenizer.ggml.add_bos_token"))
        QRN_TRY(ql_gguf_bool(g, "tokenizer.ggml.add_bos_token", there));
    else // llama.cpp's rule for files that do not say
        *there = strcmp(splittings[w->splitting].name, "llama-bpe") == 0;
    return *there ? ql_gguf_uint(g, "tokenizer.ggml.bos_token_id", w->n_tokens - 1, id) : QRN_OK;
}

static qrn_status put_processor(const words *w, FILE *f) {
    bool there = false;
    uint64_t id = 0;
    QRN_TRY(first_token(w, &there, &id));
    if (!there) {
        fputs("  \"post_processor\": null,\n", f);
        return QRN_OK;
    }
    const char *bos = w->tokens[id];
    fputs(
        "  \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": "
        "{\"id\": ",
        f);
    qrn_json_text(f, bos);
    fputs(", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"pair\": "
          "[{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", "
          "\"type_id\": 1}}], \"special_tokens\": {",
          f);
    qrn_json_text(f, bos);
    fputs(": {\"id\": ", f);
    qrn_json_text(f, bos);
    fprintf(f, ", \"ids\": [%llu], \"tokens\": [", (unsigned long long)id);
    qrn_json_text(f, bos);
    fputs("]}}},\n", f);
    return QRN_OK;
}

static qrn_status put_tokenizer(words *w, FILE *f) {
    QRN_TRY(read_words(w));
    fputs("{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n", f);
    put_added(w, f);
    fprintf(f, "  \"normalizer\": %s,\n",
            splittings[w->splitting].nfc ? "{\"type\": \"NFC\"}" : "null");
    fprintf(f, "  \"pre_tokenizer\": %s,\n", splittings[w->splitting].splitting);
    QRN_TRY(put_processor(w, f));
    fprintf(f, "  \"decoder\": %s,\n", BYTE_LEVEL("true"));
    fprintf(f,
            "  \"model\": {\n    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
            "\"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, \"fuse_unk\": "
            "false, \"byte_fallback\": false, \"ignore_merges\": %s,\n    \"vocab\": {",
            splittings[w->splitting].ignore_merges ? "true" : "false");
    for (uint32_t i = 0; i < w->n_tokens; i++) {
        fputs(i ? ",\n      " : "\n      ", f);
        qrn_json_text(f, w->tokens[i]);
        fprintf(f, ": %u", i);
    }
    fputs("\n    },\n", f);
    return put_merges(w, f);
}

static qrn_status put_token(const words *w, const char *key, const char *name, FILE *f) {
    uint64_t id = 0;
    if (!ql_gguf_find(w->m->file, key))
        return QRN_OK;
    QRN_TRY(ql_gguf_uint(w->m->file, key, w->n_tokens - 1, &id));
    fprintf(f, "  \"%s\": ", name);
    qrn_json_text(f, w->tokens[id]);
    fputs(",\n", f);
    return QRN_OK;
}

static qrn_status put_tokenizer_config(words *w, FILE *f) {
    ql_text t;
    bool there = false;
    uint64_t id = 0;
    QRN_TRY(read_words(w));
    QRN_TRY(first_token(w, &there, &id));
    fprintf(f, "{\n  \"add_bos_token\": %s,\n", there ? "true" : "false");
    QRN_TRY(put_token(w, "tokenizer.ggml.bos_token_id", "bos_token", f));
    QRN_TRY(put_token(w, "tokenizer.ggml.eos_token_id", "eos_token", f));
    QRN_TRY(put_token(w, "tokenizer.ggml.unknown_token_id", "unk_token", f));
    QRN_TRY(put_token(w, "tokenizer.ggml.padding_token_id", "pad_token", f));
    if (ql_gguf_find(w->m->file, "tokenizer.chat_template")) {
        QRN_TRY(ql_gguf_text(w->m->file, "tokenizer.chat_template", &t));
        char *s = plain_text(w->arena, t);
        if (!s)
            return QRN_FAIL(QRN_E_BINARY, "%.500s: key 'tokenizer.chat_template' is not UTF-8",
                            w->m->file->path);
        fputs("  \"chat_template\": ", f);
        qrn_json_text(f, s);
        fputs(",\n", f);
    }
    fprintf(f,
            "  \"clean_up_tokenization_spaces\": false,\n  \"model_max_length\": %u,\n  "
            "\"tokenizer_class\": \"PreTrainedTokenizerFast\"\n}\n",
            w->m->context);
    return QRN_OK;
}

static qrn_status make(const ql_llama *m, qrn_status (*how)(words *, FILE *), qrn_text *out) {
    words w = {.m = m, .arena = qrn_arena_create()};
    FILE *f = w.arena ? qrn_text_open(out) : NULL;
    qrn_status s = f ? how(&w, f) : QRN_FAIL(QRN_E_MEM, "no memory for the tokenizer");
    if (f && !qrn_text_close(f, out) && s == QRN_OK)
        s = QRN_FAIL(QRN_E_MEM, "no memory for the tokenizer");
    qrn_arena_destroy(w.arena);
    return s;
}

qrn_status ql_tokenizer_json(const ql_llama *m, qrn_text *out) {
    return make(m, put_tokenizer, out);
}

qrn_status ql_tokenizer_config_json(const ql_llama *m, qrn_text *out) {
    return make(m, put_tokenizer_config, out);
}
