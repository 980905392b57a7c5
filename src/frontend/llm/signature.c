// SPDX-License-Identifier: MIT
//
// Roles by name and shape.
#include "frontend/llm/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYERS 1024

// Names in use for each role; %u is the layer. The first one is Quern's own.
static const char *const ids_names[] = {"ids", "input_ids", "tokens", NULL};
static const char *const cos_names[] = {"cos", "position_ids_cos", "rope_cos", NULL};
static const char *const sin_names[] = {"sin", "position_ids_sin", "rope_sin", NULL};
static const char *const positions_names[] = {"positions", "position_ids", "input_pos",
                                              "cache_position", NULL};
static const char *const lengths_names[] = {"seqlens_k", "past_seq_len", NULL};
static const char *const total_names[] = {"total_sequence_length", "total_seq_len", NULL};
static const char *const mask_names[] = {"mask", "attention_mask", "atten_mask", NULL};
static const char *const last_names[] = {"last", "last_token_index", NULL};
static const char *const logits_names[] = {"logits", NULL};
static const char *const past_k_names[] = {
    "past_k_%u", "past_key_%u", "past_key_values.%u.key", "past_key_%u_in", "past_keys_%u", NULL};
static const char *const past_v_names[] = {
    "past_v_%u",        "past_value_%u",  "past_key_values.%u.value",
    "past_value_%u_in", "past_values_%u", NULL};
static const char *const new_k_names[] = {"new_k_%u",        "present_key_%u",  "present.%u.key",
                                          "past_key_%u_out", "present_keys_%u", NULL};
static const char *const new_v_names[] = {"new_v_%u",          "present_value_%u",
                                          "present.%u.value",  "past_value_%u_out",
                                          "present_values_%u", NULL};

// A pattern of the tables with the layer in it.
static void name_of(const char *pattern, uint32_t layer, char *to, size_t size) {
    const char *mark = strstr(pattern, "%u");
    if (mark)
        snprintf(to, size, "%.*s%u%s", (int)(mark - pattern), pattern, layer, mark + 2);
    else
        snprintf(to, size, "%s", pattern);
}

static uint32_t find(const ql_tensor *list, uint32_t n, const char *const *names, uint32_t layer) {
    for (; *names; names++) {
        char name[64];
        name_of(*names, layer, name, sizeof name);
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(list[i].name, name) == 0)
                return i;
    }
    return QL_ABSENT;
}

// "x [1,2], y [3]", as much as fits.
static void list_tensors(const ql_tensor *list, uint32_t n, char *to, size_t size) {
    size_t at = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < n && at + 80 < size; i++) {
        at += (size_t)snprintf(to + at, size - at, "%s%.40s [", i ? ", " : "", list[i].name);
        for (uint32_t d = 0; d < list[i].rank && at + 16 < size; d++)
            at += (size_t)snprintf(to + at, size - at, "%s%u", d ? "," : "", list[i].dims[d]);
        at += (size_t)snprintf(to + at, size - at, "]");
    }
    if (at + 80 >= size)
        snprintf(to + at, size - at, ", ...");
}

static qrn_status missing(const ql_graph *g, const char *kind, const char *names) {
    char have[400];
    bool inputs = strcmp(kind, "input") == 0;
    list_tensors(inputs ? g->inputs : g->outputs, inputs ? g->n_inputs : g->n_outputs, have,
                 sizeof have);
    return QRN_FAIL(QRN_E_ARGUMENT,
                    "%s: graph '%s' is not one of a language model: it has no %s '%s'; its %ss are "
                    "%s",
                    g->file, g->name, kind, names, kind, have);
}

static qrn_status misshapen(const ql_graph *g, const ql_tensor *t, const char *expected) {
    char have[160];
    list_tensors(t, 1, have, sizeof have);
    return QRN_FAIL(QRN_E_SHAPE, "%s: graph '%s': %s, expected %s", g->file, g->name, have,
                    expected);
}

// The last two dimensions, all before them being 1.
static bool is_matrix(const ql_tensor *t, uint32_t *rows, uint32_t *columns) {
    if (t->rank < 2 || t->rank > QL_MAX_RANK)
        return false;
    for (uint32_t i = 0; i + 2 < t->rank; i++)
        if (t->dims[i] != 1)
            return false;
    *rows = t->dims[t->rank - 2];
    *columns = t->dims[t->rank - 1];
    return true;
}

static bool is_cache(const ql_tensor *t, uint32_t *heads, uint32_t *rows, uint32_t *columns) {
    if (t->rank < 3 || t->rank > 4 || (t->rank == 4 && t->dims[0] != 1))
        return false;
    *heads = t->dims[t->rank - 3];
    *rows = t->dims[t->rank - 2];
    *columns = t->dims[t->rank - 1];
    return true;
}

// Inputs other than the past.
static qrn_status find_inputs(const ql_graph *g, ql_signature *s) {
    const struct {
        const char *const *names;
        uint32_t *at;
    } wanted[] = {{ids_names, &s->ids},         {positions_names, &s->positions},
                  {cos_names, &s->cos},         {sin_names, &s->sin},
                  {mask_names, &s->mask},       {last_names, &s->last},
                  {lengths_names, &s->lengths}, {total_names, &s->total}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        *wanted[i].at = find(g->inputs, g->n_inputs, wanted[i].names, 0);
    if (s->ids == QL_ABSENT)
        return missing(g, "input", ids_names[0]);
    if (s->mask == QL_ABSENT && s->lengths == QL_ABSENT)
        return missing(g, "input", mask_names[0]);
    s->key_columns = g->key_columns;
    s->logits = find(g->outputs, g->n_outputs, logits_names, 0);
    return s->logits == QL_ABSENT ? missing(g, "output", logits_names[0]) : QRN_OK;
}

// The angles come from outside, or the graph finds the positions of its tokens by itself.
static qrn_status check_rotation(const ql_graph *g, const ql_signature *s) {
    bool by_mask = s->mask != QL_ABSENT && ql_is_integer(g->inputs[s->mask].type) &&
                   (s->past == 0 || s->in_place);
    bool itself = s->positions != QL_ABSENT || s->lengths != QL_ABSENT || by_mask;
    if (s->cos == QL_ABSENT && !itself)
        return missing(g, "input", cos_names[0]);
    if (s->sin == QL_ABSENT && !itself)
        return missing(g, "input", sin_names[0]);
    const uint32_t angles[] = {s->cos, s->sin};
    for (size_t i = 0; i < 2; i++) {
        uint32_t rows, columns;
        if (angles[i] == QL_ABSENT)
            continue;
        const ql_tensor *t = &g->inputs[angles[i]];
        if (!is_matrix(t, &rows, &columns) || rows != s->tokens ||
            (columns != s->head_dim && 2 * columns != s->head_dim))
            return misshapen(g, t, "[.., tokens, numbers of a head]");
    }
    return QRN_OK;
}

// Inputs of one integer, or of one for each token.
static qrn_status check_counts(const ql_graph *g, const ql_signature *s) {
    if (s->last != QL_ABSENT && (ql_tensor_count(&g->inputs[s->last]) != 1 || s->logit_rows != 1))
        return misshapen(g, &g->inputs[s->last], "[1], and 'logits' of one token");
    if (s->positions != QL_ABSENT && ql_tensor_count(&g->inputs[s->positions]) != s->tokens)
        return misshapen(g, &g->inputs[s->positions], "[1, tokens]");
    if (s->lengths != QL_ABSENT && ql_tensor_count(&g->inputs[s->lengths]) != 1)
        return misshapen(g, &g->inputs[s->lengths], "one number");
    if (s->total != QL_ABSENT && ql_tensor_count(&g->inputs[s->total]) != 1)
        return misshapen(g, &g->inputs[s->total], "one number");
    return QRN_OK;
}

static qrn_status check_mask(const ql_graph *g, ql_signature *s) {
    if (s->mask == QL_ABSENT)
        return QRN_OK;
    uint32_t columns, expected = s->in_place ? s->past : s->past + s->tokens;
    const ql_tensor *mask = &g->inputs[s->mask];
    bool one = ql_is_integer(mask->type); // row may do
    if (is_matrix(mask, &s->mask_rows, &columns) && columns == expected &&
        (s->mask_rows == s->tokens || (one && s->mask_rows == 1)))
        return QRN_OK;
    return misshapen(g, mask,
                     s->in_place ? "[.., tokens, past], or integers [1, past]"
                                 : "[.., tokens, past + tokens], or integers [1, past + tokens]");
}

// Do the outputs for the cache replace its inputs? They do if they are as long; where as many
// tokens are computed as the past has, the mask decides.
static bool is_in_place(const ql_graph *g, const ql_signature *s) {
    uint32_t rows, columns;
    if (s->past == 0 || s->new_rows != s->past)
        return false;
    return s->past != s->tokens || s->mask == QL_ABSENT ||
           (is_matrix(&g->inputs[s->mask], &rows, &columns) && columns == s->past);
}

static qrn_status check_in_place(const ql_graph *g, const ql_signature *s) {
    for (uint32_t l = 0; s->in_place && l < s->layers; l++)
        if (!ql_tensor_same_numbers(&g->inputs[s->past_k[l]], &g->outputs[s->new_k[l]]) ||
            !ql_tensor_same_numbers(&g->inputs[s->past_v[l]], &g->outputs[s->new_v[l]]))
            return QRN_FAIL(QRN_E_DTYPE,
                            "%s: graph '%s': a cache updated in place has one type and encoding; "
                            "those of '%s' and '%s', or of the values, differ",
                            g->file, g->name, g->inputs[s->past_k[l]].name,
                            g->outputs[s->new_k[l]].name);
    return QRN_OK;
}

static qrn_status check_shapes(const ql_graph *g, ql_signature *s) {
    uint32_t rows;
    const ql_tensor *ids = &g->inputs[s->ids], *logits = &g->outputs[s->logits];
    if (!is_matrix(ids, &rows, &s->tokens) || rows != 1)
        return misshapen(g, ids, "[1, tokens]");
    if (!is_matrix(logits, &s->logit_rows, &s->vocab) ||
        (s->logit_rows != s->tokens && s->logit_rows != 1))
        return misshapen(g, logits, "a row for each of the tokens of 'ids', or for the last one");
    s->in_place = is_in_place(g, s);
    QRN_TRY(check_counts(g, s));
    QRN_TRY(check_rotation(g, s));
    QRN_TRY(check_mask(g, s));
    return check_in_place(g, s);
}

// One of the four lists of caches; the first tensor of all sets the sizes.
static qrn_status find_caches(const ql_graph *g, bool inputs, const char *const *names,
                              qrn_arena *arena, ql_signature *s, const uint32_t **out) {
    bool columns_first = g->key_columns && (names == past_k_names || names == new_k_names);
    uint32_t heads = 0, rows = 0, columns = 0, *list;
    list = qrn_arena_alloc(arena, s->layers * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "%s: no memory", g->file);
    for (uint32_t i = 0; i < s->layers; i++) {
        const ql_tensor *all = inputs ? g->inputs : g->outputs;
        list[i] = find(all, inputs ? g->n_inputs : g->n_outputs, names, i);
        if (list[i] == QL_ABSENT) {
            char name[64];
            name_of(names[0], i, name, sizeof name);
            return missing(g, inputs ? "input" : "output", name);
        }
        const ql_tensor *t = &all[list[i]];
        if (columns_first ? !is_cache(t, &heads, &columns, &rows)
                          : !is_cache(t, &heads, &rows, &columns))
            return misshapen(g, t, "[1, KV heads, positions, numbers of a head]");
        if (s->kv_heads == 0) {
            s->kv_heads = heads;
            s->head_dim = columns;
        }
        if (inputs && s->past == 0)
            s->past = rows;
        if (!inputs && s->new_rows == 0)
            s->new_rows = rows == s->past + s->tokens || rows == s->past ? rows : s->tokens;
        if (heads != s->kv_heads || columns != s->head_dim ||
            rows != (inputs ? s->past : s->new_rows) || rows == 0 || heads == 0 || columns == 0)
            return misshapen(g, t,
                             inputs ? "the shape of the other inputs of the past"
                                    : "the shape of the other outputs for the cache");
    }
    *out = list;
    return QRN_OK;
}

static bool is_integer_role(const ql_signature *s, uint32_t input) {
    return input == s->ids || input == s->positions || input == s->last || input == s->lengths ||
           input == s->total;
}

static qrn_status check_types(const ql_graph *g, const ql_signature *s) {
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        Qnn_DataType_t type = g->inputs[i].type;
        if (is_integer_role(s, i) && !ql_is_integer(type))
            return QRN_FAIL(QRN_E_DTYPE, "%s: graph '%s': '%s' is of type 0x%04x, expected int32",
                            g->file, g->name, g->inputs[i].name, (unsigned)type);
    }
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        const ql_tensor *t = i < g->n_inputs ? &g->inputs[i] : &g->outputs[i - g->n_inputs];
        bool fixed = t->type >= 0x300 && t->type < 0x500;
        if (i != s->ids && fixed && t->scale == 1 && t->offset == 0)
            return QRN_FAIL(QRN_E_DTYPE,
                            "%s: graph '%s': '%s' holds plain integers: what they stand for, scale "
                            "and offset, is not said",
                            g->file, g->name, t->name);
        if (!(i < g->n_inputs && (is_integer_role(s, i) || i == s->mask)) &&
            (ql_tensor_bytes(t) == 0 || ql_is_integer(t->type)))
            return QRN_FAIL(QRN_E_DTYPE,
                            "%s: graph '%s': '%s' is of type 0x%04x, expected float32, "
                            "float16 or fixed point of 8 or 16 bits with one scale",
                            g->file, g->name, t->name, (unsigned)t->type);
    }
    return QRN_OK;
}

// Every input must have a value.
static qrn_status check_all_used(const ql_graph *g, const ql_signature *s) {
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        bool used = is_integer_role(s, i) || i == s->cos || i == s->sin || i == s->mask;
        for (uint32_t k = 0; s->past && k < s->layers && !used; k++)
            used = i == s->past_k[k] || i == s->past_v[k];
        if (!used)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "%s: graph '%s': nobody knows what input '%s' is for; expected ids, "
                            "cos, sin, mask, last, past_k_0, past_v_0, ...",
                            g->file, g->name, g->inputs[i].name);
    }
    return QRN_OK;
}

qrn_status ql_signature_find(const ql_graph *g, qrn_arena *arena, ql_signature *out) {
    ql_signature s = {0};
    uint32_t rows;
    QRN_TRY(find_inputs(g, &s));
    if (!is_matrix(&g->inputs[s.ids], &rows, &s.tokens) || rows != 1 || s.tokens == 0)
        return misshapen(g, &g->inputs[s.ids], "[1, tokens]");
    while (s.layers < MAX_LAYERS &&
           find(g->outputs, g->n_outputs, new_k_names, s.layers) != QL_ABSENT)
        s.layers++;
    if (s.layers == 0)
        return missing(g, "output", "new_k_0");
    if (find(g->inputs, g->n_inputs, past_k_names, 0) != QL_ABSENT) {
        QRN_TRY(find_caches(g, true, past_k_names, arena, &s, &s.past_k));
        QRN_TRY(find_caches(g, true, past_v_names, arena, &s, &s.past_v));
    }
    QRN_TRY(find_caches(g, false, new_k_names, arena, &s, &s.new_k));
    QRN_TRY(find_caches(g, false, new_v_names, arena, &s, &s.new_v));
    QRN_TRY(check_shapes(g, &s));
    QRN_TRY(check_types(g, &s));
    QRN_TRY(check_all_used(g, &s));
    *out = s;
    return QRN_OK;
}

qrn_status ql_signature_match(const ql_graph *a, const ql_signature *x, const ql_graph *b,
                              const ql_signature *y) {
    const struct {
        const char *what;
        uint32_t x, y;
    } rows[] = {{"layers", x->layers, y->layers},
                {"KV heads", x->kv_heads, y->kv_heads},
                {"numbers of a head", x->head_dim, y->head_dim},
                {"logits of a token", x->vocab, y->vocab},
                {"keys by columns", x->key_columns, y->key_columns}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].x != rows[i].y)
            return QRN_FAIL(QRN_E_SHAPE,
                            "graph '%s' of %s and graph '%s' of %s are of two models: %u and %u %s",
                            a->name, a->file, b->name, b->file, rows[i].x, rows[i].y, rows[i].what);
    return QRN_OK;
}
