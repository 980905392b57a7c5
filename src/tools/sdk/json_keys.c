// SPDX-License-Identifier: MIT
#include "tools/sdk/json_keys.h"

#include "base/suggest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS 64     // of one table
#define LIST_BYTES 1024 // of the names of all keys in a message

qrn_status qs_json_wrong(const qs_file *f, unsigned line, const char *fmt, ...) {
    char text[QRN_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return QRN_FAIL(QRN_E_CONFIG, "%s:%u: %s", f->path, line, text);
}

static qrn_status no_memory(const qs_file *f) {
    return QRN_FAIL(QRN_E_MEM, "%s: out of memory", f->path);
}

static qrn_status unknown(const qs_file *f, const qrn_json *m, const char *where,
                          const qs_key *keys) {
    const char *names[MAX_KEYS];
    char all[LIST_BYTES] = "";
    size_t n = 0;
    for (; keys[n].name && n < MAX_KEYS; n++) {
        size_t at = strlen(all);
        names[n] = keys[n].name;
        snprintf(all + at, sizeof all - at, "%s%s", n ? ", " : "", names[n]);
    }
    const char *near = qrn_suggest(m->key, names, n);
    return qs_json_wrong(f, m->line, "unknown key '%.64s' in %s%s%s%s; known are %s", m->key, where,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all);
}

static qrn_status wrong_kind(const qs_file *f, const qrn_json *v, const char *name,
                             const char *expected) {
    return qs_json_wrong(f, v->line, "'%s' is %s, expected %s", name, qrn_json_kind_text(v->kind),
                         expected);
}

static qrn_status read_int(const qs_file *f, const qrn_json *v, const qs_key *k, int64_t *out) {
    char range[96];
    if (k->least == k->most - 1)
        snprintf(range, sizeof range, "%lld or %lld", (long long)k->least, (long long)k->most);
    else
        snprintf(range, sizeof range, "an integer from %lld to %lld", (long long)k->least,
                 (long long)k->most);
    if (v->kind != QRN_JSON_NUMBER)
        return wrong_kind(f, v, k->name, range);
    char *end = NULL;
    double d = strtod(v->text, &end);
    long long n = strtoll(v->text, &end, 10);
    if (*end) // written as a real
        n = d >= -0x1p53 && d <= 0x1p53 ? (long long)d : 0;
    bool whole = !*end ? fabs(d) < 0x1p63 : d == (double)n;
    if (!whole || n < k->least || n > k->most)
        return qs_json_wrong(f, v->line, "'%s' is %.40s, expected %s", k->name, v->text, range);
    *out = n;
    return QRN_OK;
}

static qrn_status read_real(const qs_file *f, const qrn_json *v, const qs_key *k, double *out) {
    if (v->kind != QRN_JSON_NUMBER)
        return wrong_kind(f, v, k->name, "a number");
    double d = strtod(v->text, NULL);
    if (!isfinite(d) || d < (double)k->least || d > (double)k->most)
        return qs_json_wrong(f, v->line, "'%s' is %.40s, expected a number from %lld to %lld",
                             k->name, v->text, (long long)k->least, (long long)k->most);
    *out = d;
    return QRN_OK;
}

static qrn_status read_word(const qs_file *f, const qrn_json *v, const qs_key *k, int64_t *out) {
    if (v->kind != QRN_JSON_STRING)
        return wrong_kind(f, v, k->name, k->choices);
    size_t len = strlen(v->text);
    int64_t i = 0;
    for (const char *at = k->choices; *at; i++) {
        size_t n = strcspn(at, "|");
        if (n == len && strncmp(at, v->text, n) == 0) {
            *out = i;
            return QRN_OK;
        }
        at += n + (at[n] == '|');
    }
    return qs_json_wrong(f, v->line, "'%s' is '%.64s', expected one of %s", k->name, v->text,
                         k->choices);
}

static qrn_status read_text(const qs_file *f, const qrn_json *v, const char *name,
                            const char **out) {
    if (v->kind != QRN_JSON_STRING)
        return wrong_kind(f, v, name, "a string");
    if (!*v->text)
        return qs_json_wrong(f, v->line, "'%s' is empty", name);
    *out = v->text;
    return QRN_OK;
}

static qrn_status read_texts(const qs_file *f, const qrn_json *v, const qs_key *k, qs_texts *out) {
    if (v->kind != QRN_JSON_ARRAY)
        return wrong_kind(f, v, k->name, "a list of strings");
    const char **items = qrn_arena_alloc(f->arena, (v->n + 1) * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return no_memory(f);
    for (const qrn_json *x = v->first; x; x = x->next)
        QRN_TRY(read_text(f, x, k->name, &items[n++]));
    *out = (qs_texts){items, n};
    return QRN_OK;
}

static qrn_status read_ints(const qs_file *f, const qrn_json *v, const qs_key *k, qs_ints *out) {
    bool list = v->kind == QRN_JSON_ARRAY;
    int64_t *items = qrn_arena_alloc(f->arena, (v->n + 1) * sizeof *items);
    uint32_t n = 0;
    if (!items)
        return no_memory(f);
    for (const qrn_json *x = list ? v->first : v; x; x = list ? x->next : NULL)
        QRN_TRY(read_int(f, x, k, &items[n++]));
    *out = (qs_ints){items, n};
    return QRN_OK;
}

static qrn_status read_value(const qs_file *f, const qrn_json *v, const qs_key *k, void *target) {
    void *slot = (char *)target + k->offset;
    qs_int number = {.given = true, .line = v->line};
    switch (k->type) {
    case QS_BOOL:
        if (v->kind != QRN_JSON_TRUE && v->kind != QRN_JSON_FALSE)
            return wrong_kind(f, v, k->name, "true or false");
        number.v = v->kind == QRN_JSON_TRUE;
        break;
    case QS_INT:
        QRN_TRY(read_int(f, v, k, &number.v));
        break;
    case QS_WORD:
        QRN_TRY(read_word(f, v, k, &number.v));
        break;
    case QS_REAL:
        ((qs_real *)slot)->given = true;
        return read_real(f, v, k, &((qs_real *)slot)->v);
    case QS_TEXT:
        return read_text(f, v, k->name, slot);
    case QS_TEXTS:
        return read_texts(f, v, k, slot);
    case QS_INTS:
        return read_ints(f, v, k, slot);
    default:
        return k->inner(f, v, slot);
    }
    *(qs_int *)slot = number;
    return QRN_OK;
}

qrn_status qs_keys_read(const qs_file *f, const qrn_json *object, const char *where,
                        const qs_key *keys, void *target) {
    bool seen[MAX_KEYS] = {false};
    if (object->kind != QRN_JSON_OBJECT)
        return qs_json_wrong(f, object->line, "%s is %s, expected an object", where,
                             qrn_json_kind_text(object->kind));
    for (const qrn_json *m = object->first; m; m = m->next) {
        size_t i = 0;
        while (keys[i].name && strcmp(keys[i].name, m->key) != 0)
            i++;
        if (!keys[i].name)
            return unknown(f, m, where, keys);
        seen[i] = true;
        if (keys[i].effect && strncmp(keys[i].effect, "rejected: ", 10) == 0)
            return qs_json_wrong(f, m->line, "'%s' in %s is not supported: %s", m->key, where,
                                 keys[i].effect + 10);
        QRN_TRY(read_value(f, m, &keys[i], target));
    }
    for (size_t i = 0; keys[i].name; i++)
        if (keys[i].required && !seen[i])
            return qs_json_wrong(f, object->line, "%s has no '%s'", where, keys[i].name);
    return QRN_OK;
}

qrn_status qs_keys_list(const qs_file *f, const qrn_json *list, const char *where,
                        const qs_key *keys, size_t size, bool single, void **items, uint32_t *n) {
    bool one = single && list->kind == QRN_JSON_OBJECT;
    if (list->kind != QRN_JSON_ARRAY && !one)
        return qs_json_wrong(f, list->line, "%s is %s, expected a list of objects", where,
                             qrn_json_kind_text(list->kind));
    char *made = qrn_arena_alloc(f->arena, ((size_t)list->n + 1) * size);
    uint32_t count = 0;
    if (!made)
        return no_memory(f);
    for (const qrn_json *x = one ? list : list->first; x; x = one ? NULL : x->next)
        QRN_TRY(qs_keys_read(f, x, where, keys, made + size * count++));
    *items = made;
    *n = count;
    return QRN_OK;
}

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *without_lead(const char *name) {
    return name[0] == '_' && name[1] >= '0' && name[1] <= '9' ? name + 1 : name;
}

bool qs_same_name(const char *name, const char *given) {
    if (strcmp(name, given) == 0)
        return true;
    name = without_lead(name);
    given = without_lead(given);
    for (; *name && *given; name++, given++)
        if ((is_plain(*name) ? *name : '_') != (is_plain(*given) ? *given : '_'))
            return false;
    return *name == *given;
}
