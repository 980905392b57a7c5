// SPDX-License-Identifier: MIT
//
// Configuration files of a model.
#include "frontend/llm/config.h"

#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

typedef struct source {
    const char *path;
    qrn_arena *arena;
} source;

static qrn_status wrong(const source *s, const qrn_json *at, const char *key, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: %s: %s", s->path, at->line, key, what);
}

// A number that must be above 0; left alone where the key is not there.
static qrn_status read_number(const source *s, const qrn_json *object, const char *key,
                              double *out) {
    const qrn_json *v = qrn_json_member(object, key);
    if (!v)
        return QRN_OK;
    double d = v->kind == QRN_JSON_NUMBER ? strtod(v->text, NULL) : 0;
    if (!(d > 0 && d < 1e15))
        return wrong(s, v, key, "expected a number above 0");
    *out = d;
    return QRN_OK;
}

static qrn_status read_count(const source *s, const qrn_json *object, const char *key,
                             uint32_t *out) {
    double d = 0;
    QRN_TRY(read_number(s, object, key, &d));
    if (d >= UINT32_MAX)
        return wrong(s, qrn_json_member(object, key), key, "the number is too large");
    if (d > 0)
        *out = (uint32_t)d;
    return QRN_OK;
}

// What YaRN has beyond a factor. Parts of it that models rarely have are rejected by name.
static qrn_status read_yarn(const source *s, const qrn_json *v, uint32_t positions, ql_rope *r) {
    static const char *const others[] = {"mscale", "mscale_all_dim"};
    for (size_t i = 0; i < 2; i++)
        if (qrn_json_member(v, others[i]))
            return wrong(s, qrn_json_member(v, others[i]), others[i], "is not supported");
    const qrn_json *whole = qrn_json_member(v, "truncate");
    if (whole && whole->kind != QRN_JSON_TRUE)
        return wrong(s, whole, "truncate", "only true is supported");
    r->beta_fast = 32;
    r->beta_slow = 1;
    r->original_positions = positions;
    QRN_TRY(read_number(s, v, "beta_fast", &r->beta_fast));
    QRN_TRY(read_number(s, v, "beta_slow", &r->beta_slow));
    return read_number(s, v, "attention_factor", &r->amplitude);
}

// positions: of config.json, 0: not known.
static qrn_status read_scaling(const source *s, const qrn_json *v, uint32_t positions, ql_rope *r) {
    const qrn_json *type = qrn_json_member(v, "rope_type");
    type = type ? type : qrn_json_member(v, "type");
    const char *name = type && type->kind == QRN_JSON_STRING ? type->text : "default";
    QRN_TRY(read_number(s, v, "rope_theta", &r->theta));
    if (strcmp(name, "default") == 0)
        return QRN_OK;
    r->scaling = strcmp(name, "llama3") == 0   ? QL_ROPE_LLAMA3
                 : strcmp(name, "linear") == 0 ? QL_ROPE_LINEAR
                 : strcmp(name, "yarn") == 0   ? QL_ROPE_YARN
                                               : QL_ROPE_PLAIN;
    if (r->scaling == QL_ROPE_PLAIN)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%s:%u: rope_scaling of the type '%.40s' is not supported: default, "
                        "linear, llama3 and yarn are",
                        s->path, v->line, name);
    if (r->scaling == QL_ROPE_YARN)
        QRN_TRY(read_yarn(s, v, positions, r));
    QRN_TRY(read_number(s, v, "factor", &r->factor));
    QRN_TRY(read_number(s, v, "low_freq_factor", &r->low_freq));
    QRN_TRY(read_number(s, v, "high_freq_factor", &r->high_freq));
    QRN_TRY(read_number(s, v, "original_max_position_embeddings", &r->original_positions));
    bool lengths = r->scaling == QL_ROPE_LINEAR ||
                   (r->scaling == QL_ROPE_YARN && r->original_positions > 0) ||
                   (r->low_freq > 0 && r->high_freq > r->low_freq && r->original_positions > 0);
    return lengths && r->factor > 0 ? QRN_OK
                                    : wrong(s, v, "rope_scaling", "a number of it is missing");
}

static qrn_status add_end(const source *s, const qrn_json *v, ql_config *to) {
    double id = v->kind == QRN_JSON_NUMBER ? strtod(v->text, NULL) : -1;
    if (!(id >= 0 && id < UINT32_MAX))
        return wrong(s, v, "eos_token_id", "expected the number of a token, or a list of them");
    for (uint32_t i = 0; i < to->n_ends; i++)
        if (to->ends[i] == (uint32_t)id)
            return QRN_OK;
    if (to->n_ends == QL_MAX_ENDS)
        return wrong(s, v, "eos_token_id", "too many");
    to->ends[to->n_ends++] = (uint32_t)id;
    return QRN_OK;
}

static qrn_status read_config(const source *s, ql_config *to) {
    qrn_json *root;
    QRN_TRY(qrn_json_read_file(s->path, s->arena, &root));
    if (root->kind != QRN_JSON_OBJECT)
        return wrong(s, root, "the file", "expected an object");
    double part = 1;
    QRN_TRY(read_number(s, root, "rope_theta", &to->rope.theta));
    QRN_TRY(read_count(s, root, "vocab_size", &to->vocab));
    QRN_TRY(read_count(s, root, "max_position_embeddings", &to->positions));
    QRN_TRY(read_number(s, root, "partial_rotary_factor", &part));
    if (part != 1)
        return wrong(s, qrn_json_member(root, "partial_rotary_factor"), "partial_rotary_factor",
                     "only 1 is supported");
    static const char *const scalings[] = {"rope_scaling", "rope_parameters"};
    for (size_t i = 0; i < 2; i++)
        if (qrn_json_member(root, scalings[i]))
            QRN_TRY(read_scaling(s, qrn_json_member(root, scalings[i]), to->positions, &to->rope));
    const qrn_json *end = qrn_json_member(root, "eos_token_id");
    if (!end || end->kind != QRN_JSON_ARRAY)
        return end ? add_end(s, end, to) : QRN_OK;
    for (const qrn_json *v = end->first; v; v = v->next)
        QRN_TRY(add_end(s, v, to));
    return QRN_OK;
}

qrn_status ql_config_read(const char *path, ql_config *to) {
    source s = {path, qrn_arena_create()};
    if (!s.arena)
        return QRN_FAIL(QRN_E_MEM, "%s: no memory", path);
    ql_config read = *to;
    qrn_status status = read_config(&s, &read);
    qrn_arena_destroy(s.arena);
    if (status == QRN_OK)
        *to = read;
    return status;
}

// A token as a text, or as an object with its content.
static const char *token_of(const qrn_json *root, const char *key) {
    const qrn_json *v = qrn_json_member(root, key);
    if (v && v->kind == QRN_JSON_OBJECT)
        v = qrn_json_member(v, "content");
    return v && v->kind == QRN_JSON_STRING ? v->text : NULL;
}

qrn_status ql_chat_read(const char *path, qrn_arena *arena, ql_chat *out) {
    const source s = {path, arena};
    qrn_json *root;
    QRN_TRY(qrn_json_read_file(path, arena, &root));
    if (root->kind != QRN_JSON_OBJECT)
        return wrong(&s, root, "the file", "expected an object");
    *out = (ql_chat){.bos = token_of(root, "bos_token"), .eos = token_of(root, "eos_token")};
    const qrn_json *v = qrn_json_member(root, "chat_template");
    if (v && v->kind == QRN_JSON_ARRAY) { // several, by name: the default one
        const qrn_json *found = NULL;
        for (const qrn_json *i = v->first; i; i = i->next) {
            const char *name = token_of(i, "name");
            if (!found || (name && strcmp(name, "default") == 0))
                found = qrn_json_member(i, "template");
        }
        v = found;
    }
    if (v && v->kind != QRN_JSON_STRING)
        return wrong(&s, v, "chat_template", "expected a text");
    out->chat_template = v ? v->text : NULL;
    return QRN_OK;
}
