// SPDX-License-Identifier: MIT
//
// tokenizer.json of Hugging Face's tokenizers. Every part that changes tokens is read or rejected
// by its name; parts that only concern offsets are passed over.
#include "frontend/llm/tokenizer_parts.h"

#include "base/file.h"
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS 4000000u // more than any vocabulary has

// Memory for texts.
typedef struct texts {
    char *at;
    size_t left;
} texts;

typedef struct source {
    const char *name;
    ql_tokenizer *t;
    qrn_arena *arena; // of the JSON tree
    texts *room;
} source;

static qrn_status wrong(const source *s, const qrn_json *at, const char *key, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: %s: %s", s->name, at->line, key, what);
}

static qrn_status unknown(const source *s, const qrn_json *at, const char *key, const char *name) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: %s '%.80s' is not supported", s->name, at->line, key,
                    name);
}

static const char *text_of(const qrn_json *object, const char *key) {
    const qrn_json *v = qrn_json_member(object, key);
    return v && v->kind == QRN_JSON_STRING ? v->text : NULL;
}

static bool flag_of(const qrn_json *object, const char *key, bool otherwise) {
    const qrn_json *v = qrn_json_member(object, key);
    return v ? v->kind == QRN_JSON_TRUE : otherwise;
}

#define TEXT_BYTES 16384 // that are taken at a time

// The strings of the tree die with it: words are copied, side by side.
static qrn_status keep(const source *s, const char *text, ql_slice *out) {
    size_t n = strlen(text), most = n < TEXT_BYTES ? TEXT_BYTES : n + 1;
    if (s->room->left <= n) {
        char *more = qrn_arena_reserve(s->t->arena, most);
        if (!more)
            return QRN_FAIL(QRN_E_MEM, "%s: no memory", s->name);
        *s->room = (texts){more, most};
    }
    memcpy(s->room->at, text, n + 1);
    *out = (ql_slice){s->room->at, n};
    s->room->at += n + 1;
    s->room->left -= n + 1;
    return QRN_OK;
}

static bool id_of(const qrn_json *v, uint32_t *out) {
    char *end;
    if (!v || v->kind != QRN_JSON_NUMBER || v->text[0] == '-')
        return false;
    unsigned long id = strtoul(v->text, &end, 10);
    *out = (uint32_t)id;
    return !*end && id < MOST_TOKENS;
}

// --- stages

typedef qrn_status read_stage(const source *s, const qrn_json *v, ql_stages *to);

static qrn_status add_stage(const source *s, const qrn_json *v, ql_stages *to, ql_stage stage) {
    if (to->n == QL_MAX_STAGES)
        return wrong(s, v, v->key ? v->key : "stages", "too many");
    to->items[to->n++] = stage;
    return QRN_OK;
}

static qrn_status read_nfc(const source *s, const qrn_json *v, ql_stages *to) {
    return add_stage(s, v, to, (ql_stage){.kind = QL_STAGE_NFC});
}

static qrn_status read_prepend(const source *s, const qrn_json *v, ql_stages *to) {
    ql_stage stage = {.kind = QL_STAGE_PREPEND};
    const char *text = text_of(v, "prepend");
    if (!text)
        return wrong(s, v, "prepend", "expected a string");
    QRN_TRY(keep(s, text, &stage.text));
    return add_stage(s, v, to, stage);
}

static qrn_status read_replace(const source *s, const qrn_json *v, ql_stages *to) {
    ql_stage stage = {.kind = QL_STAGE_REPLACE};
    const qrn_json *pattern = qrn_json_member(v, "pattern");
    const char *what = text_of(pattern, "String"), *by = text_of(v, "content");
    if (pattern && text_of(pattern, "Regex"))
        return unknown(s, pattern, "Replace of the pattern", text_of(pattern, "Regex"));
    if (!what || !*what || !by)
        return wrong(s, v, "Replace", "expected pattern.String and content");
    QRN_TRY(keep(s, what, &stage.text));
    QRN_TRY(keep(s, by, &stage.with));
    return add_stage(s, v, to, stage);
}

static qrn_status compile(const source *s, const qrn_json *at, const char *pattern, ql_stage *to) {
    ql_regex *re;
    qrn_status status = ql_regex_compile(pattern, s->t->arena, &re);
    to->re = re;
    if (status == QRN_OK || status == QRN_E_MEM)
        return status;
    char why[QRN_MESSAGE_MAX];
    strcpy(why, qrn_message());
    return QRN_FAIL(status, "%s:%u: %s", s->name, at->line, why);
}

static qrn_status read_split(const source *s, const qrn_json *v, ql_stages *to) {
    const qrn_json *pattern = qrn_json_member(v, "pattern");
    const char *re = text_of(pattern, "Regex"), *behavior = text_of(v, "behavior");
    if (!re)
        return wrong(s, v, "Split", "expected pattern.Regex");
    bool invert = flag_of(v, "invert", false), removed = behavior && !strcmp(behavior, "Removed");
    if (!removed && (!behavior || strcmp(behavior, "Isolated") != 0))
        return unknown(s, v, "Split with the behavior", behavior ? behavior : "(none)");
    if (removed && !invert)
        return unknown(s, v, "Split with the behavior", "Removed without invert");
    ql_stage stage = {.kind = QL_STAGE_SPLIT, .gaps = !removed};
    QRN_TRY(compile(s, v, re, &stage));
    return add_stage(s, v, to, stage);
}

static qrn_status read_digits(const source *s, const qrn_json *v, ql_stages *to) {
    return add_stage(
        s, v, to,
        (ql_stage){.kind = QL_STAGE_DIGITS, .single = flag_of(v, "individual_digits", false)});
}

static qrn_status read_byte_level(const source *s, const qrn_json *v, ql_stages *to) {
    ql_stage stage = {.kind = QL_STAGE_BYTE_LEVEL, .single = flag_of(v, "add_prefix_space", true)};
    if (flag_of(v, "use_regex", true))
        QRN_TRY(compile(s, v, ql_gpt2_pattern, &stage));
    return add_stage(s, v, to, stage);
}

static qrn_status read_metaspace(const source *s, const qrn_json *v, ql_stages *to) {
    const char *by = text_of(v, "replacement"), *scheme = text_of(v, "prepend_scheme");
    if (!by || !*by)
        return wrong(s, v, "Metaspace", "expected replacement");
    if (!scheme)
        scheme = flag_of(v, "add_prefix_space", true) ? "always" : "never";
    ql_stage stage = {.kind = QL_STAGE_METASPACE,
                      .single = flag_of(v, "split", true),
                      .first_only = strcmp(scheme, "first") == 0,
                      .no_prefix = strcmp(scheme, "never") == 0};
    if (!stage.first_only && !stage.no_prefix && strcmp(scheme, "always") != 0)
        return unknown(s, v, "Metaspace with the prepend_scheme", scheme);
    QRN_TRY(keep(s, by, &stage.with));
    return add_stage(s, v, to, stage);
}

typedef struct stage_row {
    const char *type;
    read_stage *read;
} stage_row;
static const stage_row normalizers[] = {
    {"NFC", read_nfc}, {"Prepend", read_prepend}, {"Replace", read_replace}, {0}};
static const stage_row splitters[] = {{"Split", read_split},
                                      {"Digits", read_digits},
                                      {"ByteLevel", read_byte_level},
                                      {"Metaspace", read_metaspace},
                                      {0}};

// One stage, or a Sequence of them under the key `list`.
static qrn_status read_stages(const source *s, const qrn_json *v, const char *key, const char *list,
                              const stage_row *rows, ql_stages *to) {
    if (!v)
        return QRN_OK;
    const char *type = text_of(v, "type");
    if (!type)
        return wrong(s, v, key, "expected an object with a type");
    if (strcmp(type, "Sequence") == 0) {
        const qrn_json *all = qrn_json_member(v, list);
        for (const qrn_json *i = all && all->kind == QRN_JSON_ARRAY ? all->first : NULL; i;
             i = i->next)
            QRN_TRY(read_stages(s, i, key, list, rows, to));
        return QRN_OK;
    }
    for (; rows->type; rows++)
        if (strcmp(rows->type, type) == 0)
            return rows->read(s, v, to);
    return unknown(s, v, key, type);
}

// --- words

// All numbers of the vocabulary and the added tokens are below *size.
static qrn_status count_ids(const source *s, const qrn_json *vocab, const qrn_json *added,
                            uint32_t *size) {
    uint32_t id;
    *size = 0;
    for (const qrn_json *v = vocab->first; v; v = v->next) {
        if (!id_of(v, &id))
            return wrong(s, v, "model.vocab", "expected the number of a token");
        *size = id >= *size ? id + 1 : *size;
    }
    for (const qrn_json *v = added ? added->first : NULL; v; v = v->next) {
        const char *text = text_of(v, "content");
        if (!id_of(qrn_json_member(v, "id"), &id) || !text || !*text)
            return wrong(s, v, "added_tokens", "expected id and content");
        *size = id >= *size ? id + 1 : *size;
    }
    return QRN_OK;
}

static qrn_status read_added(const source *s, const qrn_json *added) {
    ql_tokenizer *t = s->t;
    uint32_t id;
    t->added = qrn_arena_alloc(t->arena, (added ? added->n : 0) * sizeof *t->added);
    if (!t->added)
        return QRN_FAIL(QRN_E_MEM, "%s: no memory", s->name);
    for (const qrn_json *v = added ? added->first : NULL; v; v = v->next) {
        ql_added *a = &t->added[t->n_added++];
        if (flag_of(v, "single_word", false))
            return unknown(s, v, "an added token with", "single_word");
        (void)id_of(qrn_json_member(v, "id"), &id);
        QRN_TRY(keep(s, text_of(v, "content"), &a->text));
        a->id = id;
        a->strip_left = flag_of(v, "lstrip", false);
        a->strip_right = flag_of(v, "rstrip", false);
        a->normalized = flag_of(v, "normalized", true);
        QRN_TRY(ql_word_set(t, id, a->text));
        t->words[id].special = flag_of(v, "special", false);
    }
    return QRN_OK;
}

// "a b", or ["a", "b"].
static qrn_status read_merge(const source *s, const qrn_json *v, uint32_t rank) {
    const qrn_json *a = v->kind == QRN_JSON_ARRAY && v->n == 2 ? v->first : NULL;
    if (a && a->kind == QRN_JSON_STRING && a->next->kind == QRN_JSON_STRING)
        return ql_merge_add(s->t, (ql_slice){a->text, strlen(a->text)},
                            (ql_slice){a->next->text, strlen(a->next->text)}, rank);
    const char *space = v->kind == QRN_JSON_STRING ? strchr(v->text, ' ') : NULL;
    if (!space)
        return wrong(s, v, "model.merges", "expected two tokens");
    return ql_merge_add(s->t, (ql_slice){v->text, (size_t)(space - v->text)},
                        (ql_slice){space + 1, strlen(space + 1)}, rank);
}

static qrn_status check_model(const source *s, const qrn_json *model) {
    const char *type = text_of(model, "type");
    const qrn_json *dropout = qrn_json_member(model, "dropout");
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    if (type && strcmp(type, "BPE") != 0)
        return unknown(s, model, "model", type);
    if (dropout && strtod(dropout->text ? dropout->text : "1", NULL) != 0)
        return unknown(s, dropout, "model with", "dropout");
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++) {
        const char *affix = text_of(model, affixes[i]);
        if (affix && *affix)
            return unknown(s, model, "model with", affixes[i]);
    }
    return QRN_OK;
}

static qrn_status read_model(const source *s, const qrn_json *root) {
    ql_tokenizer *t = s->t;
    const qrn_json *model = qrn_json_member(root, "model"),
                   *added = qrn_json_member(root, "added_tokens");
    const qrn_json *vocab = qrn_json_member(model, "vocab"),
                   *merges = qrn_json_member(model, "merges");
    uint32_t size, rank = 0;
    if (!model)
        return wrong(s, root, "model", "it is missing: this is not a tokenizer.json");
    QRN_TRY(check_model(s, model));
    if (!vocab || vocab->kind != QRN_JSON_OBJECT || !merges || merges->kind != QRN_JSON_ARRAY)
        return wrong(s, model, "model", "expected vocab and merges");
    if (added && added->kind != QRN_JSON_ARRAY)
        return wrong(s, added, "added_tokens", "expected an array");
    QRN_TRY(count_ids(s, vocab, added, &size));
    if (size / 16 > vocab->n + (added ? added->n : 0) + 4096)
        return wrong(s, vocab, "model.vocab", "its numbers are far larger than its size");
    QRN_TRY(ql_words_reserve(t, size, merges->n));
    for (const qrn_json *v = vocab->first; v; v = v->next) {
        ql_slice word;
        uint32_t id;
        (void)id_of(v, &id);
        QRN_TRY(keep(s, v->key, &word));
        QRN_TRY(ql_word_set(t, id, word));
    }
    QRN_TRY(read_added(s, added));
    for (const qrn_json *v = merges->first; v; v = v->next)
        QRN_TRY(read_merge(s, v, rank++));
    t->byte_fallback = flag_of(model, "byte_fallback", false);
    t->fuse_unknown = flag_of(model, "fuse_unk", false);
    t->ignore_merges = flag_of(model, "ignore_merges", false);
    const char *unk = text_of(model, "unk_token");
    t->unknown = unk ? ql_tokenizer_find(t, unk) : QL_NO_TOKEN;
    if (unk && t->unknown == QL_NO_TOKEN)
        return wrong(s, model, "model.unk_token", "it is not in the vocabulary");
    return QRN_OK;
}

// --- around a text

static qrn_status read_special(const source *s, const qrn_json *v, const qrn_json *specials,
                               ql_ids *to) {
    const char *name = text_of(v, "id");
    const qrn_json *ids = name ? qrn_json_member(qrn_json_member(specials, name), "ids") : NULL;
    if (!ids || ids->kind != QRN_JSON_ARRAY)
        return wrong(s, v, "post_processor", "a SpecialToken that special_tokens does not have");
    for (const qrn_json *i = ids->first; i; i = i->next) {
        uint32_t id;
        if (!id_of(i, &id) || id >= s->t->n_words)
            return wrong(s, i, "post_processor", "not the number of a token");
        QRN_TRY(ql_ids_add(to, id));
    }
    return QRN_OK;
}

static qrn_status read_around(const source *s, const qrn_json *v) {
    const char *type = v ? text_of(v, "type") : "ByteLevel";
    const qrn_json *list = v ? qrn_json_member(v, "processors") : NULL,
                   *single = qrn_json_member(v, "single");
    if (!type)
        return wrong(s, v, "post_processor", "expected an object with a type");
    if (strcmp(type, "ByteLevel") == 0) // for offsets alone
        return QRN_OK;
    if (strcmp(type, "Sequence") == 0) {
        for (const qrn_json *i = list ? list->first : NULL; i; i = i->next)
            QRN_TRY(read_around(s, i));
        return QRN_OK;
    }
    if (strcmp(type, "TemplateProcessing") != 0)
        return unknown(s, v, "post_processor", type);
    ql_ids *to = &s->t->before;
    for (const qrn_json *i = single ? single->first : NULL; i; i = i->next) {
        const qrn_json *special = qrn_json_member(i, "SpecialToken");
        if (qrn_json_member(i, "Sequence"))
            to = &s->t->behind;
        else if (special)
            QRN_TRY(read_special(s, special, qrn_json_member(v, "special_tokens"), to));
    }
    return QRN_OK;
}

// --- from tokens to text

static qrn_status read_decoder(const source *s, const qrn_json *v) {
    ql_tokenizer *t = s->t;
    const char *type = text_of(v, "type");
    if (!type)
        return wrong(s, v, "decoder", "expected an object with a type");
    if (strcmp(type, "Sequence") == 0) {
        const qrn_json *list = qrn_json_member(v, "decoders");
        for (const qrn_json *i = list ? list->first : NULL; i; i = i->next)
            QRN_TRY(read_decoder(s, i));
    } else if (strcmp(type, "ByteLevel") == 0) {
        t->byte_level = true;
    } else if (strcmp(type, "ByteFallback") == 0) {
        t->byte_words = true;
    } else if (strcmp(type, "Replace") == 0) {
        const char *what = text_of(qrn_json_member(v, "pattern"), "String"),
                   *by = text_of(v, "content");
        if (!what || !*what || !by || strcmp(by, " ") != 0 || t->space.n)
            return unknown(s, v, "decoder", "Replace of anything but one text by a space");
        return keep(s, what, &t->space);
    } else if (strcmp(type, "Metaspace") == 0) {
        const char *what = text_of(v, "replacement"), *scheme = text_of(v, "prepend_scheme");
        if (!what || !*what)
            return wrong(s, v, "decoder", "Metaspace wants replacement");
        t->strip_spaces = scheme && strcmp(scheme, "never") == 0 ? 0 : 1;
        return keep(s, what, &t->space);
    } else if (strcmp(type, "Strip") == 0) {
        uint32_t start = 0, stop = 0;
        const char *content = text_of(v, "content");
        if (!id_of(qrn_json_member(v, "start"), &start) ||
            !id_of(qrn_json_member(v, "stop"), &stop) || stop || !content ||
            strcmp(content, " ") != 0)
            return unknown(s, v, "decoder", "Strip of anything but spaces at the begin");
        t->strip_spaces = start;
    } else if (strcmp(type, "Fuse") != 0) {
        return unknown(s, v, "decoder", type);
    }
    return QRN_OK;
}

static qrn_status read_tokenizer(source *s, const char *json, size_t n) {
    qrn_json *root;
    QRN_TRY(qrn_json_read(s->name, json, n, s->arena, &root));
    if (root->kind != QRN_JSON_OBJECT)
        return wrong(s, root, "tokenizer", "expected an object");
    QRN_TRY(read_model(s, root));
    QRN_TRY(read_stages(s, qrn_json_member(root, "normalizer"), "normalizer", "normalizers",
                        normalizers, &s->t->normal));
    QRN_TRY(read_stages(s, qrn_json_member(root, "pre_tokenizer"), "pre_tokenizer", "pretokenizers",
                        splitters, &s->t->split));
    QRN_TRY(read_around(s, qrn_json_member(root, "post_processor")));
    const qrn_json *decoder = qrn_json_member(root, "decoder");
    if (!decoder)
        return wrong(s, root, "decoder", "it is missing: tokens have no text without it");
    QRN_TRY(read_decoder(s, decoder));
    ql_tokenizer_finish(s->t);
    return QRN_OK;
}

qrn_status ql_tokenizer_parse(const char *name, const char *json, size_t n, ql_tokenizer **out) {
    texts room = {0};
    source s = {
        .name = name, .t = ql_tokenizer_make(name), .arena = qrn_arena_create(), .room = &room};
    qrn_status status = QRN_E_MEM;
    if (s.t && s.arena)
        status = read_tokenizer(&s, json, n);
    else
        (void)QRN_FAIL(QRN_E_MEM, "%s: no memory", name);
    qrn_arena_destroy(s.arena);
    if (status == QRN_OK)
        *out = s.t;
    else
        ql_tokenizer_close(s.t);
    return status;
}

qrn_status ql_tokenizer_open(const char *path, ql_tokenizer **out) {
    qrn_file f;
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s = ql_tokenizer_parse(path, f.data, f.size, out);
    qrn_file_unmap(&f);
    return s;
}
