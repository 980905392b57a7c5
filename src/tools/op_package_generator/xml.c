// SPDX-License-Identifier: MIT
//
// XML reader: one pass, recursion of at most QG_XML_DEPTH. Everything is in the arena, which never
// holds more than a small multiple of the file: names and text are in the file once, and the text
// of an element, which is joined anew for each of its pieces, has a few.
#include "tools/op_package_generator/xml.h"

#include <stdbool.h>
#include <string.h>

typedef struct reader {
    const char *name; // of the file
    const char *at, *end;
    uint32_t line;
    qrn_arena *arena;
} reader;

static qrn_status fail(const reader *r, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: %s", r->name, r->line, what);
}

static qrn_status no_memory(const reader *r) {
    return QRN_FAIL(QRN_E_MEM, "%s:%u: out of memory", r->name, r->line);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

static bool starts(const reader *r, const char *text) {
    size_t n = strlen(text);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

static void skip(reader *r, size_t n) {
    for (; n; n--)
        r->line += *r->at++ == '\n';
}

static void skip_space(reader *r) {
    while (r->at < r->end && is_space(*r->at))
        skip(r, 1);
}

// Goes behind the next `text`.
static qrn_status skip_behind(reader *r, const char *text, const char *what) {
    uint32_t line = r->line;
    while (r->at < r->end && !starts(r, text))
        skip(r, 1);
    if (r->at == r->end) {
        r->line = line;
        return fail(r, what);
    }
    skip(r, strlen(text));
    return QRN_OK;
}

static qrn_status read_name(reader *r, const char **out) {
    const char *from = r->at;
    while (r->at < r->end && is_name(*r->at))
        r->at++;
    size_t n = (size_t)(r->at - from);
    if (!n || (*from >= '0' && *from <= '9') || *from == '-' || *from == '.')
        return fail(r, "expected a name here");
    char *name = qrn_arena_alloc(r->arena, n + 1);
    if (!name)
        return no_memory(r);
    memcpy(name, from, n);
    *out = name;
    return QRN_OK;
}

// --- text with entities

static char *put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)((0xf00u >> more & 0xf0u) | c >> 6 * more);
    while (more--)
        *to++ = (char)(0x80u | (c >> 6 * more & 0x3fu));
    return to;
}

static bool digit_of(char c, uint32_t base, uint32_t *out) {
    uint32_t v = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                        : base;
    *out = v;
    return v < base;
}

// At "&#": the character of a number.
static qrn_status read_number(reader *r, char **to) {
    uint32_t base = starts(r, "&#x") ? 16 : 10, c = 0, digit;
    const char *first = r->at + (base == 16 ? 3 : 2), *p = first;
    for (; p < r->end && digit_of(*p, base, &digit) && c < 0x110000; p++)
        c = c * base + digit;
    bool allowed = c == '\t' || c == '\n' || c == '\r' ||
                   (c >= 0x20 && c < 0x110000 && (c < 0xd800 || c > 0xdfff));
    if (p == first || p == r->end || *p != ';' || !allowed)
        return fail(r, "a numbered entity that is not a character");
    *to = put_utf8(*to, c);
    r->at = p + 1;
    return QRN_OK;
}

static qrn_status read_entity(reader *r, char **to) {
    static const struct {
        const char *text;
        char c;
    } known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    if (starts(r, "&#"))
        return read_number(r, to);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (starts(r, known[i].text)) {
            *(*to)++ = known[i].c;
            r->at += strlen(known[i].text);
            return QRN_OK;
        }
    return fail(r, "an unknown entity; allowed are &lt; &gt; &amp; &quot; &apos; and numbers");
}

// Text up to a character of `stop`, which stays.
static qrn_status read_text(reader *r, const char *stop, const char **out) {
    const char *p = r->at;
    while (p < r->end && !strchr(stop, *p))
        p++;
    char *text = qrn_arena_alloc(r->arena, (size_t)(p - r->at) + 1), *to = text;
    if (!text)
        return no_memory(r);
    while (r->at < p) {
        if (*r->at == '&') {
            QRN_TRY(read_entity(r, &to)); // never longer than what it stands for
            continue;
        }
        *to++ = *r->at;
        skip(r, 1);
    }
    *out = text;
    return QRN_OK;
}

// --- elements

static qrn_status read_attribute(reader *r, qg_element *e) {
    qg_attribute *a = qrn_arena_alloc(r->arena, sizeof *a);
    if (!a)
        return no_memory(r);
    QRN_TRY(read_name(r, &a->name));
    skip_space(r);
    if (r->at == r->end || *r->at != '=')
        return fail(r, "an attribute without '='");
    skip(r, 1);
    skip_space(r);
    if (r->at == r->end || (*r->at != '"' && *r->at != '\''))
        return fail(r, "an attribute whose value has no quotes");
    const char quote[] = {*r->at, '<', 0};
    skip(r, 1);
    QRN_TRY(read_text(r, quote, &a->value));
    if (r->at == r->end || *r->at != quote[0])
        return fail(r, "an attribute whose value does not end");
    skip(r, 1);
    if (qg_attribute_of(e, a->name))
        return fail(r, "an attribute that is there twice");
    a->next = e->attributes;
    e->attributes = a;
    return QRN_OK;
}

#define PIECES 16 // of text in an element, between comments

static qrn_status add_text(reader *r, qg_element *e, const char *text, size_t n) {
    while (n && is_space(*text))
        text++, n--;
    while (n && is_space(text[n - 1]))
        n--;
    if (!n)
        return QRN_OK;
    size_t before = strlen(e->text);
    if (e->first || e->pieces++ == PIECES)
        return fail(r, "text beside elements, or in more than 16 pieces");
    char *joined = qrn_arena_alloc(r->arena, before + n + 2);
    if (!joined)
        return no_memory(r);
    memcpy(joined, e->text, before);
    joined[before] = ' ';
    memcpy(joined + before + (before > 0), text, n);
    joined[before + (before > 0) + n] = 0;
    e->text = joined;
    return QRN_OK;
}

static qrn_status read_cdata(reader *r, qg_element *e) {
    skip(r, strlen("<![CDATA["));
    const char *from = r->at;
    QRN_TRY(skip_behind(r, "]]>", "character data that do not end"));
    return add_text(r, e, from, (size_t)(r->at - from) - strlen("]]>"));
}

// Comments and instructions, wherever they may stand.
static qrn_status skip_other(reader *r, bool *was) {
    *was = true;
    if (starts(r, "<!--")) {
        skip(r, strlen("<!--"));
        return skip_behind(r, "-->", "a comment that does not end");
    }
    if (starts(r, "<?"))
        return skip_behind(r, "?>", "an instruction that does not end");
    *was = false;
    return QRN_OK;
}

static qrn_status read_element(reader *r, unsigned depth, qg_element **out);

static qrn_status read_end(reader *r, const qg_element *e) {
    const char *name;
    skip(r, strlen("</"));
    QRN_TRY(read_name(r, &name));
    skip_space(r);
    if (strcmp(name, e->name) != 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: </%s> ends <%s> of line %u", r->name, r->line, name,
                        e->name, e->line);
    if (r->at == r->end || *r->at != '>')
        return fail(r, "an end of an element without '>'");
    skip(r, 1);
    return QRN_OK;
}

static qrn_status read_content(reader *r, unsigned depth, qg_element *e) {
    qg_element **last = &e->first;
    for (;;) {
        const char *text;
        bool other;
        QRN_TRY(read_text(r, "<", &text));
        QRN_TRY(add_text(r, e, text, strlen(text)));
        if (r->at == r->end)
            return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: <%s> does not end", r->name, e->line, e->name);
        if (starts(r, "</"))
            return read_end(r, e);
        if (starts(r, "<![CDATA[")) {
            QRN_TRY(read_cdata(r, e));
            continue;
        }
        QRN_TRY(skip_other(r, &other));
        if (other)
            continue;
        QRN_TRY(read_element(r, depth + 1, last));
        last = &(*last)->next;
    }
}

static qrn_status read_element(reader *r, unsigned depth, qg_element **out) {
    if (depth > QG_XML_DEPTH)
        return fail(r, "elements inside of each other, more than 32 deep");
    if (starts(r, "<!"))
        return fail(r, "document types are not supported: leave out what <! begins");
    qg_element *e = qrn_arena_alloc(r->arena, sizeof *e);
    if (!e)
        return no_memory(r);
    e->line = r->line;
    e->text = "";
    skip(r, 1);
    QRN_TRY(read_name(r, &e->name));
    for (;;) {
        skip_space(r);
        if (r->at == r->end)
            return fail(r, "the file ends inside of an element's name");
        if (*r->at == '>') {
            skip(r, 1);
            *out = e;
            return read_content(r, depth, e);
        }
        if (starts(r, "/>")) {
            skip(r, 2);
            *out = e;
            return QRN_OK;
        }
        QRN_TRY(read_attribute(r, e));
    }
}

// The declaration, if there is one, must say UTF-8 or nothing.
static qrn_status check_encoding(reader *r) {
    if (!starts(r, "<?xml"))
        return QRN_OK;
    reader d = *r;
    QRN_TRY(skip_behind(r, "?>", "a declaration that does not end"));
    for (d.end = r->at; d.at < d.end; d.at++)
        if (starts(&d, "encoding")) {
            d.at += strlen("encoding");
            while (d.at < d.end && (is_space(*d.at) || strchr("='\"", *d.at)))
                d.at++;
            if (!starts(&d, "UTF-8") && !starts(&d, "utf-8") && !starts(&d, "US-ASCII"))
                return fail(&d, "an encoding other than UTF-8");
        }
    return QRN_OK;
}

static qrn_status read_around(reader *r) {
    for (bool other = true; other;) {
        skip_space(r);
        if (r->at == r->end)
            return QRN_OK;
        QRN_TRY(skip_other(r, &other));
    }
    return QRN_OK;
}

qrn_status qg_xml_read(const char *name, const void *data, size_t size, qrn_arena *a,
                       qg_element **root) {
    reader r = {.name = name, .at = data, .end = (const char *)data + size, .line = 1, .arena = a};
    if (size > QG_XML_BYTES)
        return fail(&r, "more than 4 MiB");
    if (memchr(data, 0, size))
        return fail(&r, "zero bytes: it is not a text");
    if (starts(&r, "\xef\xbb\xbf"))
        skip(&r, 3);
    QRN_TRY(check_encoding(&r));
    QRN_TRY(read_around(&r));
    if (r.at == r.end || *r.at != '<')
        return fail(&r, "expected an element");
    QRN_TRY(read_element(&r, 1, root));
    QRN_TRY(read_around(&r));
    return r.at == r.end ? QRN_OK : fail(&r, "something behind the last element");
}

const char *qg_attribute_of(const qg_element *e, const char *name) {
    for (const qg_attribute *a = e->attributes; a; a = a->next)
        if (strcmp(a->name, name) == 0)
            return a->value;
    return NULL;
}
