// SPDX-License-Identifier: MIT
#include "tools/sdk/yaml.h"

#include "base/file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH 32
#define MOST_KEYS 4096 // of one mapping: doubles are looked for one by one
#define MOST_BYTES (16u << 20)

// A line that says something: without comment and blanks at its ends.
typedef struct line {
    char *text;
    unsigned indent, number;
} line;

typedef struct reader {
    const char *name;
    qrn_arena *arena;
    line *lines;
    size_t n, at;
} reader;

static qrn_status wrong(const reader *r, unsigned number, const char *what) {
    return QRN_FAIL(QRN_E_CONFIG, "%s:%u: %s", r->name, number, what);
}

static qrn_status no_memory(const reader *r) {
    return QRN_FAIL(QRN_E_MEM, "%s: out of memory", r->name);
}

static qrn_json *make(const reader *r, qrn_json_kind kind, unsigned number) {
    qrn_json *v = qrn_arena_alloc(r->arena, sizeof *v);
    if (v)
        *v = (qrn_json){.kind = kind, .line = number};
    return v;
}

// --- lines

// Where a comment begins, or the end: '#' counts at the start and behind a blank, outside quotes.
static size_t content_bytes(const char *s, size_t n) {
    char quote = 0;
    for (size_t i = 0; i < n; i++) {
        if (quote) {
            quote = s[i] == quote ? 0 : quote;
            continue;
        }
        bool begins = i == 0 || strchr(" :[,-", s[i - 1]);
        if ((s[i] == '"' || s[i] == '\'') && begins)
            quote = s[i];
        else if (s[i] == '#' && (i == 0 || s[i - 1] == ' '))
            return i;
    }
    return n;
}

static qrn_status split(reader *r, const char *text, size_t size) {
    size_t room = 1;
    for (size_t i = 0; i < size; i++)
        room += text[i] == '\n';
    r->lines = qrn_arena_alloc(r->arena, room * sizeof *r->lines);
    if (!r->lines)
        return no_memory(r);
    unsigned number = 0;
    for (const char *at = text, *end = text + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        const char *begin = at;
        at = stop ? stop + 1 : end;
        number++;
        n -= n && begin[n - 1] == '\r';
        unsigned indent = 0;
        while (indent < n && begin[indent] == ' ')
            indent++;
        size_t keep = content_bytes(begin + indent, n - indent);
        while (keep && (begin[indent + keep - 1] == ' ' || begin[indent + keep - 1] == '\t'))
            keep--;
        bool mark = indent == 0 && keep == 3 && memcmp(begin, "---", 3) == 0;
        if (!keep || mark)
            continue;
        if (begin[indent] == '\t')
            return wrong(r, number, "a tab in front; YAML is indented with spaces");
        char *copy = qrn_arena_alloc(r->arena, keep + 1);
        if (!copy)
            return no_memory(r);
        memcpy(copy, begin + indent, keep);
        r->lines[r->n++] = (line){copy, indent, number};
    }
    return QRN_OK;
}

// --- scalars

static bool is_number(const char *s) {
    char *end = NULL;
    if (!*s || strspn(s, "+-.0123456789eE") != strlen(s))
        return false;
    strtod(s, &end);
    return end != s && !*end;
}

// A text in quotes, without them; *end is what follows.
static qrn_status quoted(const reader *r, char *s, unsigned number, char **end) {
    char quote = *s, *to = s;
    for (char *from = s + 1; *from; from++) {
        if (*from == '\\' && quote == '"')
            return wrong(r, number, "a backslash in a quoted text is not supported");
        if (*from != quote) {
            *to++ = *from;
        } else if (quote == '\'' && from[1] == '\'') {
            *to++ = *from++;
        } else {
            *end = from + 1;
            *to = 0;
            return QRN_OK;
        }
    }
    return wrong(r, number, "a text without its closing quote");
}

static qrn_status scalar(const reader *r, char *s, unsigned number, qrn_json **out) {
    char *end = NULL;
    bool in_quotes = *s == '"' || *s == '\'';
    if (!in_quotes && strchr("{|>&*!%@`", *s))
        return wrong(r, number,
                     "expected a plain value: anchors, tags, block texts and braces are not "
                     "supported");
    if (in_quotes) {
        QRN_TRY(quoted(r, s, number, &end));
        if (*end)
            return wrong(r, number, "something behind a quoted text");
    }
    qrn_json_kind kind = in_quotes                                              ? QRN_JSON_STRING
                         : strcmp(s, "true") == 0 || strcmp(s, "True") == 0     ? QRN_JSON_TRUE
                         : strcmp(s, "false") == 0 || strcmp(s, "False") == 0   ? QRN_JSON_FALSE
                         : !*s || strcmp(s, "null") == 0 || strcmp(s, "~") == 0 ? QRN_JSON_NULL
                         : is_number(s)                                         ? QRN_JSON_NUMBER
                                                                                : QRN_JSON_STRING;
    if (!(*out = make(r, kind, number)))
        return no_memory(r);
    if (kind == QRN_JSON_STRING || kind == QRN_JSON_NUMBER)
        (*out)->text = s;
    return QRN_OK;
}

// "[a, b]" of scalars.
static qrn_status bracketed(const reader *r, char *s, unsigned number, qrn_json **out) {
    size_t n = strlen(s);
    if (s[n - 1] != ']' || strchr(s + 1, '[') || strpbrk(s, "{}\"'"))
        return wrong(r, number, "expected a list of plain values on one line: [a, b]");
    s[n - 1] = 0;
    qrn_json *list = make(r, QRN_JSON_ARRAY, number), *last = NULL;
    if (!list)
        return no_memory(r);
    for (char *at = s + 1; *at;) {
        at += strspn(at, " ");
        size_t len = strcspn(at, ",");
        char *next = at + len + (at[len] == ',');
        at[len] = 0;
        while (len && at[len - 1] == ' ')
            at[--len] = 0;
        qrn_json *v = NULL;
        if (!len)
            return wrong(r, number, "an empty value in a list");
        QRN_TRY(scalar(r, at, number, &v));
        *(last ? &last->next : &list->first) = v;
        last = v;
        list->n++;
        at = next;
    }
    *out = list;
    return QRN_OK;
}

static qrn_status value_of(const reader *r, char *s, unsigned number, qrn_json **out) {
    return *s == '[' ? bracketed(r, s, number, out) : scalar(r, s, number, out);
}

// --- blocks

static qrn_status block(reader *r, unsigned depth, qrn_json **out);

static bool is_item(const char *s) { return s[0] == '-' && (!s[1] || s[1] == ' '); }

// The key at the front of a mapping's line; *rest is what follows the colon. NULL: there is none.
static char *key_of(const reader *r, line *l, char **rest) {
    char *s = l->text, *colon = NULL, *end = NULL;
    if (*s == '"' || *s == '\'') {
        if (quoted(r, s, l->number, &end) != QRN_OK || *end != ':' || (end[1] && end[1] != ' '))
            return NULL;
        colon = end;
    } else {
        for (colon = strchr(s, ':'); colon && colon[1] && colon[1] != ' ';)
            colon = strchr(colon + 1, ':');
        if (!colon || colon == s)
            return NULL;
        *colon = 0;
    }
    *rest = colon + 1 + strspn(colon + 1, " ");
    return s;
}

// What stands under the line before: a block that is further in (or, for a key, a list that is
// not), or nothing.
static qrn_status below(reader *r, unsigned indent, bool key, unsigned depth, unsigned number,
                        qrn_json **out) {
    const line *l = r->at < r->n ? &r->lines[r->at] : NULL;
    if (l && (l->indent > indent || (key && l->indent == indent && is_item(l->text))))
        return block(r, depth + 1, out);
    return (*out = make(r, QRN_JSON_NULL, number)) ? QRN_OK : no_memory(r);
}

static qrn_status item(reader *r, unsigned depth, qrn_json **out) {
    line *l = &r->lines[r->at];
    unsigned skipped = 1 + (unsigned)strspn(l->text + 1, " ");
    char *rest = l->text + skipped, *value = NULL;
    if (!*rest) {
        r->at++;
        return below(r, l->indent, false, depth, l->number, out);
    }
    // "- key: value" begins a mapping at the place of the key.
    char *copy = qrn_arena_strdup(r->arena, rest);
    if (!copy)
        return no_memory(r);
    line probe = {copy, l->indent + skipped, l->number};
    if (is_item(rest) || (*rest != '[' && key_of(r, &probe, &value))) {
        l->text = rest;
        l->indent = probe.indent;
        return block(r, depth + 1, out);
    }
    r->at++;
    return value_of(r, rest, l->number, out);
}

static qrn_status list(reader *r, unsigned depth, qrn_json **out) {
    unsigned indent = r->lines[r->at].indent;
    qrn_json *all = make(r, QRN_JSON_ARRAY, r->lines[r->at].number), *last = NULL, *v = NULL;
    if (!all)
        return no_memory(r);
    while (r->at < r->n && r->lines[r->at].indent == indent && is_item(r->lines[r->at].text)) {
        QRN_TRY(item(r, depth, &v));
        *(last ? &last->next : &all->first) = v;
        last = v;
        all->n++;
    }
    *out = all;
    return QRN_OK;
}

static qrn_status mapping(reader *r, unsigned depth, qrn_json **out) {
    unsigned indent = r->lines[r->at].indent;
    qrn_json *all = make(r, QRN_JSON_OBJECT, r->lines[r->at].number), *last = NULL, *v = NULL;
    if (!all)
        return no_memory(r);
    while (r->at < r->n && r->lines[r->at].indent == indent && !is_item(r->lines[r->at].text)) {
        line *l = &r->lines[r->at++];
        char *rest = NULL, *key = key_of(r, l, &rest);
        if (!key)
            return wrong(r, l->number, "expected 'key: value'");
        if (all->n == MOST_KEYS)
            return wrong(r, l->number, "more than 4096 keys in one mapping");
        for (const qrn_json *m = all->first; m; m = m->next)
            if (strcmp(m->key, key) == 0)
                return wrong(r, l->number, "a key for the second time");
        if (*rest)
            QRN_TRY(value_of(r, rest, l->number, &v));
        else
            QRN_TRY(below(r, indent, true, depth, l->number, &v));
        if (v->kind == QRN_JSON_NULL)
            continue;
        v->key = key;
        v->line = l->number;
        *(last ? &last->next : &all->first) = v;
        last = v;
        all->n++;
    }
    *out = all;
    return QRN_OK;
}

static qrn_status block(reader *r, unsigned depth, qrn_json **out) {
    const line *l = &r->lines[r->at];
    unsigned indent = l->indent;
    if (depth > MOST_DEPTH)
        return wrong(r, l->number, "nested too deeply");
    QRN_TRY(is_item(l->text) ? list(r, depth, out) : mapping(r, depth, out));
    l = r->at < r->n ? &r->lines[r->at] : NULL;
    bool stays = l && l->indent == indent; // the other kind of block in the same place
    if (l && (l->indent > indent || (stays && depth == 0)))
        return wrong(r, l->number, "this line does not fit the indentation of those before it");
    return QRN_OK;
}

qrn_status qs_yaml_read(const char *name, const char *text, size_t n, qrn_arena *arena,
                        qrn_json **out) {
    reader r = {.name = name, .arena = arena};
    if (n > MOST_BYTES || memchr(text, 0, n))
        return QRN_FAIL(QRN_E_CONFIG, "%s: expected a YAML text of at most 16 MiB", name);
    QRN_TRY(split(&r, text, n));
    if (!r.n)
        return (*out = make(&r, QRN_JSON_NULL, 1)) ? QRN_OK : no_memory(&r);
    QRN_TRY(block(&r, 0, out));
    return r.at == r.n ? QRN_OK
                       : wrong(&r, r.lines[r.at].number,
                               "this line does not fit the indentation of those before it");
}

qrn_status qs_yaml_read_file(const char *path, qrn_arena *arena, qrn_json **out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s = qs_yaml_read(path, f.size ? f.data : "", f.size, arena, out);
    qrn_file_unmap(&f);
    return s;
}
