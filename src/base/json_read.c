// SPDX-License-Identifier: MIT
//
// A JSON reader by recursive descent. It relies on nothing but the arena and reads each byte once;
// depth is bounded, so that hostile texts end in a failure and not in the stack.
#include "base/json_read.h"

#include "base/file.h"
#include "base/strmap.h"

#include <stdbool.h>
#include <string.h>

#define MAX_DEPTH 64
#define FEW_KEYS 16 // of an object: more are found by a map, not by comparing each with all others

typedef struct reader {
    const char *name, *at, *end;
    unsigned line;
    qrn_arena *arena;
} reader;

static qrn_status wrong(const reader *r, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: %s", r->name, r->line, what);
}

static qrn_status no_memory(const reader *r) {
    return QRN_FAIL(QRN_E_MEM, "%s: no memory", r->name);
}

static bool starts(const reader *r, const char *word) {
    size_t n = strlen(word);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
}

static void step(reader *r) {
    if (*r->at == '\n')
        r->line++;
    r->at++;
}

// Passes spaces and comments.
static qrn_status skip(reader *r) {
    while (r->at < r->end) {
        if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n') {
            step(r);
        } else if (starts(r, "//")) {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (starts(r, "/*")) {
            for (r->at += 2; r->at < r->end && !starts(r, "*/");)
                step(r);
            if (r->at == r->end)
                return wrong(r, "a comment has no end");
            r->at += 2;
        } else {
            break;
        }
    }
    return QRN_OK;
}

// --- strings

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The four digits behind "\u"; -1 when they are none.
static int32_t read_unit(reader *r) {
    int32_t v = 0;
    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int d = hex(*r->at++);
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static char *put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

// Behind "\u": one unit, or two that stand for one character.
static qrn_status read_escaped(reader *r, char **to) {
    int32_t c = read_unit(r);
    if (c <= 0)
        return wrong(r, "\\u wants four hexadecimal digits that are not all zero");
    if (c >= 0xd800 && c < 0xdc00) {
        int32_t low = -1;
        if (starts(r, "\\u")) {
            r->at += 2;
            low = read_unit(r);
        }
        if (low < 0xdc00 || low > 0xdfff)
            return wrong(r, "half of a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c <= 0xdfff) {
        return wrong(r, "half of a surrogate pair");
    }
    *to = put_utf8(*to, (uint32_t)c);
    return QRN_OK;
}

static qrn_status read_escape(reader *r, char **to) {
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    if (c == 'u')
        return read_escaped(r, to);
    const char *found = c ? strchr(letters, c) : NULL;
    if (!found)
        return wrong(r, "an unknown escape in a string");
    *(*to)++ = meant[found - letters];
    return QRN_OK;
}

// Behind the opening quote.
static qrn_status read_string(reader *r, const char **out) {
    size_t n = 0; // what is read is never shorter than what it stands for
    while (r->at + n < r->end && r->at[n] != '"')
        n += r->at[n] == '\\' && r->at + n + 1 < r->end ? 2 : 1;
    char *text = qrn_arena_reserve(r->arena, n + 1), *to = text;
    if (!text)
        return no_memory(r);
    while (r->at < r->end && *r->at != '"') {
        unsigned char c = (unsigned char)*r->at++;
        if (c < 0x20)
            return wrong(r, "a string has no end on its line, or a control character");
        if (c == '\\')
            QRN_TRY(read_escape(r, &to));
        else
            *to++ = (char)c;
    }
    if (r->at == r->end)
        return wrong(r, "a string has no end");
    r->at++;
    *to = '\0';
    *out = text;
    return QRN_OK;
}

// --- values

static const char *digits(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

static qrn_status read_number(reader *r, qrn_json *v) {
    const char *start = r->at, *at = start + (*start == '-'), *whole = at;
    at = digits(at, r->end);
    bool ok = at > whole && (*whole != '0' || at == whole + 1);
    if (ok && at < r->end && *at == '.') {
        const char *part = ++at;
        at = digits(at, r->end);
        ok = at > part;
    }
    if (ok && at < r->end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < r->end && (*at == '+' || *at == '-');
        const char *power = at;
        at = digits(at, r->end);
        ok = at > power;
    }
    if (!ok)
        return wrong(r, "not a number");
    size_t n = (size_t)(at - start);
    char *text = qrn_arena_reserve(r->arena, n + 1);
    if (!text)
        return no_memory(r);
    memcpy(text, start, n);
    text[n] = '\0';
    v->kind = QRN_JSON_NUMBER;
    v->text = text;
    r->at = at;
    return QRN_OK;
}

static qrn_status read_value(reader *r, unsigned depth, qrn_json *v);

// An object while it is read. Vocabularies have hundred thousands of keys: `keys` holds all of them
// once there are more than a few.
typedef struct keyed {
    qrn_json *list;
    qrn_strmap keys;
} keyed;

// The member that has the key already, or NULL.
static const qrn_json *find_key(const keyed *k, const char *key) {
    if (k->keys.n)
        return qrn_strmap_get(&k->keys, key);
    for (const qrn_json *o = k->list->first; o; o = o->next)
        if (strcmp(o->key, key) == 0)
            return o;
    return NULL;
}

static bool keep_key(keyed *k, qrn_json *v) {
    if (k->list->n < FEW_KEYS)
        return true;
    for (qrn_json *o = k->keys.n ? NULL : k->list->first; o; o = o->next)
        if (!qrn_strmap_put(&k->keys, o->key, o))
            return false;
    return qrn_strmap_put(&k->keys, v->key, v);
}

static qrn_status read_key(reader *r, keyed *k, qrn_json *v) {
    if (r->at == r->end || *r->at != '"')
        return wrong(r, "expected a key in quotes");
    r->at++;
    v->line = r->line;
    QRN_TRY(read_string(r, &v->key));
    const qrn_json *o = find_key(k, v->key);
    if (o)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: the key \"%s\" stands on line %u already", r->name,
                        r->line, v->key, o->line);
    if (!keep_key(k, v))
        return no_memory(r);
    QRN_TRY(skip(r));
    if (r->at == r->end || *r->at != ':')
        return wrong(r, "expected ':' behind a key");
    r->at++;
    return skip(r);
}

// Behind the opening bracket.
static qrn_status read_members(reader *r, unsigned depth, keyed *k) {
    qrn_json *list = k->list;
    char close = list->kind == QRN_JSON_OBJECT ? '}' : ']';
    qrn_json **end = &list->first;
    QRN_TRY(skip(r));
    if (r->at < r->end && *r->at == close) {
        r->at++;
        return QRN_OK;
    }
    for (;;) {
        qrn_json *v = qrn_arena_alloc(r->arena, sizeof *v);
        if (!v)
            return no_memory(r);
        v->line = r->line;
        if (list->kind == QRN_JSON_OBJECT)
            QRN_TRY(read_key(r, k, v));
        QRN_TRY(read_value(r, depth + 1, v));
        *end = v;
        end = &v->next;
        list->n++;
        QRN_TRY(skip(r));
        char c = r->at < r->end ? *r->at : '\0';
        if (c != ',' && c != close)
            return wrong(r, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
        r->at++;
        if (c == close)
            return QRN_OK;
        QRN_TRY(skip(r));
    }
}

static qrn_status read_list(reader *r, unsigned depth, qrn_json *list) {
    if (depth == MAX_DEPTH)
        return wrong(r, "too deeply nested");
    keyed k = {.list = list};
    qrn_status s = read_members(r, depth, &k);
    qrn_strmap_clear(&k.keys);
    return s;
}

static qrn_status read_value(reader *r, unsigned depth, qrn_json *v) {
    static const struct {
        const char *word;
        qrn_json_kind kind;
    } words[] = {{"null", QRN_JSON_NULL}, {"false", QRN_JSON_FALSE}, {"true", QRN_JSON_TRUE}};
    char c = r->at < r->end ? *r->at : '\0';
    if (c == '"') {
        r->at++;
        v->kind = QRN_JSON_STRING;
        return read_string(r, &v->text);
    }
    if (c == '{' || c == '[') {
        r->at++;
        v->kind = c == '{' ? QRN_JSON_OBJECT : QRN_JSON_ARRAY;
        return read_list(r, depth, v);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r, v);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (starts(r, words[i].word)) {
            v->kind = words[i].kind;
            r->at += strlen(words[i].word);
            return QRN_OK;
        }
    return wrong(r, r->at == r->end ? "the text ends where a value is expected"
                                    : "expected a JSON value");
}

qrn_status qrn_json_read(const char *name, const char *text, size_t n, qrn_arena *arena,
                         qrn_json **out) {
    reader r = {.name = name, .at = text, .end = text + n, .line = 1, .arena = arena};
    qrn_json *v = qrn_arena_alloc(arena, sizeof *v);
    if (!v)
        return no_memory(&r);
    if (starts(&r, "\xef\xbb\xbf")) // byte order mark
        r.at += 3;
    QRN_TRY(skip(&r));
    v->line = r.line;
    QRN_TRY(read_value(&r, 0, v));
    QRN_TRY(skip(&r));
    if (r.at < r.end)
        return wrong(&r, "something stands behind the value");
    *out = v;
    return QRN_OK;
}

qrn_status qrn_json_read_file(const char *path, qrn_arena *arena, qrn_json **out) {
    qrn_file f;
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s = qrn_json_read(path, f.data, f.size, arena, out);
    qrn_file_unmap(&f);
    return s;
}

const qrn_json *qrn_json_member(const qrn_json *object, const char *key) {
    for (const qrn_json *v = object && object->kind == QRN_JSON_OBJECT ? object->first : NULL; v;
         v = v->next)
        if (strcmp(v->key, key) == 0)
            return v->kind == QRN_JSON_NULL ? NULL : v;
    return NULL;
}

const char *qrn_json_kind_text(qrn_json_kind kind) {
    static const char *const words[] = {"null",     "false",    "true",     "a number",
                                        "a string", "an array", "an object"};
    return words[kind];
}
