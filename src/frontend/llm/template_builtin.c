// SPDX-License-Identifier: MIT
//
// Values of templates, and the filters, tests, methods and functions that they have.
#include "frontend/llm/template_eval.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qrn_status ql_jwrong(const ql_jstate *s, unsigned line, const char *fmt, ...) {
    char what[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: %s", s->name, line, what);
}

qrn_status ql_jno_memory(const ql_jstate *s) {
    return QRN_FAIL(qrn_arena_limited(s->arena) ? QRN_E_UNSUPPORTED : QRN_E_MEM,
                    "%s: the template needs too much memory", s->name);
}

// --- values

ql_jvalue ql_jtext(const char *text, size_t n) {
    return (ql_jvalue){.kind = QL_J_TEXT, .text = {text, n}};
}
ql_jvalue ql_jint(int64_t i) { return (ql_jvalue){.kind = QL_J_INT, .i = i}; }
ql_jvalue ql_jbool(bool b) { return (ql_jvalue){.kind = QL_J_BOOL, .i = b}; }

ql_jvalue ql_jnew(ql_jstate *s, ql_jkind kind) {
    return (ql_jvalue){.kind = kind, .items = qrn_arena_alloc(s->arena, sizeof(ql_jitems))};
}

static bool is_text(ql_slice a, const char *word) {
    return a.n == strlen(word) && memcmp(a.text, word, a.n) == 0;
}

static bool is_same(ql_slice a, ql_slice b) {
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

const ql_jvalue *ql_jget(const ql_jitems *from, ql_slice key) {
    for (size_t i = 0; i < from->n; i++)
        if (is_same(from->list[i].key, key))
            return &from->list[i].value;
    return NULL;
}

bool ql_jput(ql_jstate *s, ql_jitems *to, ql_slice key, ql_jvalue v) {
    ql_jvalue *had = key.n ? (ql_jvalue *)(uintptr_t)ql_jget(to, key) : NULL;
    if (had) {
        *had = v;
        return true;
    }
    if (to->n == to->cap) {
        size_t want = to->cap ? 2 * to->cap : 4;
        ql_jitem *grown = qrn_arena_alloc(s->arena, want * sizeof *grown);
        if (!grown)
            return false;
        if (to->n)
            memcpy(grown, to->list, to->n * sizeof *grown);
        to->list = grown;
        to->cap = want;
    }
    to->list[to->n++] = (ql_jitem){key, v};
    return true;
}

bool ql_jtrue(const ql_jvalue *v) {
    return v->kind == QL_J_BOOL || v->kind == QL_J_INT ? v->i != 0
           : v->kind == QL_J_TEXT                      ? v->text.n > 0
           : v->kind == QL_J_LIST || v->kind == QL_J_DICT
               ? v->items->n > 0 || v->items->is_namespace
               : false;
}

static bool is_number(const ql_jvalue *v) { return v->kind == QL_J_INT || v->kind == QL_J_BOOL; }

bool ql_jequal(const ql_jvalue *a, const ql_jvalue *b) {
    if (is_number(a) && is_number(b))
        return a->i == b->i;
    if (a->kind != b->kind)
        return false;
    if (a->kind == QL_J_TEXT)
        return is_same(a->text, b->text);
    if (a->kind != QL_J_LIST && a->kind != QL_J_DICT)
        return true;
    if (a->items == b->items)
        return true;
    if (a->items->n != b->items->n || a->kind == QL_J_DICT)
        return a->items->n == 0 && b->items->n == 0;
    for (size_t i = 0; i < a->items->n; i++)
        if (!ql_jequal(&a->items->list[i].value, &b->items->list[i].value))
            return false;
    return true;
}

const char *ql_jkind_text(ql_jkind kind) {
    static const char *const words[] = {"undefined", "none",   "a boolean", "a number",
                                        "a text",    "a list", "a dict"};
    return words[kind];
}

qrn_status ql_jprint(ql_jstate *s, unsigned line, const ql_jvalue *v, ql_bytes *out) {
    char number[32];
    switch (v->kind) {
    case QL_J_TEXT:
        return ql_bytes_add(out, v->text.text, v->text.n);
    case QL_J_INT:
        return ql_bytes_add(out, number,
                            (size_t)snprintf(number, sizeof number, "%lld", (long long)v->i));
    case QL_J_BOOL:
        return ql_bytes_add(out, v->i ? "True" : "False", v->i ? 4 : 5);
    case QL_J_NONE:
        return ql_bytes_add(out, "None", 4);
    case QL_J_UNDEFINED:
        return QRN_OK;
    default:
        return ql_jwrong(s, line, "%s cannot be printed", ql_jkind_text(v->kind));
    }
}

qrn_status ql_jjoin(ql_jstate *s, ql_slice a, ql_slice b, ql_jvalue *out) {
    char *to = qrn_arena_reserve(s->arena, a.n + b.n + 1);
    if (!to)
        return ql_jno_memory(s);
    if (a.n)
        memcpy(to, a.text, a.n);
    if (b.n)
        memcpy(to + a.n, b.text, b.n);
    *out = ql_jtext(to, a.n + b.n);
    return QRN_OK;
}

// --- texts

size_t ql_jlength(ql_slice s) {
    size_t n = 0, bytes;
    for (size_t at = 0; at < s.n; at += bytes, n++)
        ql_utf8_read(s.text, s.n, at, &bytes);
    return n;
}

static bool has_char(ql_slice set, char c) { return set.n && memchr(set.text, c, set.n); }

// Without characters of the set at its begin, its end.
static ql_jvalue strip(ql_slice s, ql_slice set, bool left, bool right) {
    while (left && s.n && has_char(set, s.text[0])) {
        s.text++;
        s.n--;
    }
    while (right && s.n && has_char(set, s.text[s.n - 1]))
        s.n--;
    return ql_jtext(s.text, s.n);
}

static size_t find_text(ql_slice s, ql_slice what, size_t from) {
    for (size_t i = from; i + what.n <= s.n; i++)
        if (memcmp(s.text + i, what.text, what.n) == 0)
            return i;
    return SIZE_MAX;
}

static qrn_status split(ql_jstate *s, unsigned line, ql_slice text, const ql_jargs *args,
                        ql_jvalue *out) {
    ql_slice by = args->n ? args->values[0].text : (ql_slice){0};
    if (args->n != 1 || args->values[0].kind != QL_J_TEXT || by.n == 0)
        return ql_jwrong(s, line, "split wants the text to split at");
    *out = ql_jnew(s, QL_J_LIST);
    for (size_t at = 0, next; out->items; at = next + by.n) {
        next = find_text(text, by, at);
        size_t end = next == SIZE_MAX ? text.n : next;
        if (!ql_jput(s, out->items, (ql_slice){0}, ql_jtext(text.text + at, end - at)))
            break;
        if (next == SIZE_MAX)
            return QRN_OK;
    }
    return ql_jno_memory(s);
}

static qrn_status change_case(ql_jstate *s, ql_slice text, bool upper, ql_jvalue *out) {
    char *to = qrn_arena_reserve(s->arena, text.n + 1);
    if (!to)
        return ql_jno_memory(s);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.text[i];
        bool change = upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
        to[i] = (char)(change ? c ^ 32 : c);
    }
    *out = ql_jtext(to, text.n);
    return QRN_OK;
}

static qrn_status replace(ql_jstate *s, unsigned line, ql_slice text, const ql_jargs *args,
                          ql_jvalue *out) {
    if (args->n != 2 || args->values[0].kind != QL_J_TEXT || args->values[1].kind != QL_J_TEXT ||
        args->values[0].text.n == 0)
        return ql_jwrong(s, line, "replace wants two texts");
    *out = ql_jtext("", 0);
    for (size_t at = 0;;) {
        size_t next = find_text(text, args->values[0].text, at);
        size_t end = next == SIZE_MAX ? text.n : next;
        QRN_TRY(ql_jjoin(s, out->text, (ql_slice){text.text + at, end - at}, out));
        if (next == SIZE_MAX)
            return QRN_OK;
        QRN_TRY(ql_jjoin(s, out->text, args->values[1].text, out));
        at = next + args->values[0].text.n;
    }
}

// What is the same as a filter and as a method of texts.
static qrn_status change_text(ql_jstate *s, const ql_jexpr *e, ql_slice name, ql_slice text,
                              const ql_jargs *args, bool *known, ql_jvalue *out) {
    ql_slice set = {" \t\n\r\v\f", 6};
    if (args->n && args->values[0].kind == QL_J_TEXT)
        set = args->values[0].text;
    *known = true;
    if (is_text(name, "trim") || is_text(name, "strip"))
        return *out = strip(text, set, true, true), QRN_OK;
    if (is_text(name, "lstrip") || is_text(name, "rstrip"))
        return *out = strip(text, set, name.text[0] == 'l', name.text[0] == 'r'), QRN_OK;
    if (is_text(name, "upper") || is_text(name, "lower"))
        return change_case(s, text, name.text[0] == 'u', out);
    if (is_text(name, "replace"))
        return replace(s, e->line, text, args, out);
    if (is_text(name, "split"))
        return split(s, e->line, text, args, out);
    *known = false;
    return QRN_OK;
}

// --- JSON, as Python's json.dumps(ensure_ascii=False) writes it

#define JSON_DEPTH 64

static qrn_status json_text(ql_slice text, ql_bytes *out) {
    static const char marks[] = "\"\\\n\r\t\f\b", letters[] = "\"\\nrtfb";
    QRN_TRY(ql_bytes_add(out, "\"", 1));
    for (size_t i = 0; i < text.n; i++) {
        char c = text.text[i], code[8] = {'\\', 0};
        const char *mark = c ? strchr(marks, c) : NULL;
        size_t n = 1;
        if (mark)
            code[n++] = letters[mark - marks];
        else if ((unsigned char)c < 32)
            n = (size_t)snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
        else
            code[0] = c;
        QRN_TRY(ql_bytes_add(out, code, n));
    }
    return ql_bytes_add(out, "\"", 1);
}

static qrn_status json_value(ql_jstate *s, unsigned line, const ql_jvalue *v, unsigned depth,
                             ql_bytes *out) {
    bool dict = v->kind == QL_J_DICT;
    if (v->kind == QL_J_TEXT)
        return json_text(v->text, out);
    if (v->kind == QL_J_NONE || v->kind == QL_J_BOOL) {
        const char *word = v->kind == QL_J_NONE ? "null" : v->i ? "true" : "false";
        return ql_bytes_add(out, word, strlen(word));
    }
    if (v->kind == QL_J_INT)
        return ql_jprint(s, line, v, out);
    if (v->kind == QL_J_UNDEFINED || depth == JSON_DEPTH)
        return ql_jwrong(s, line, "tojson of %s",
                         depth == JSON_DEPTH ? "what is nested too deeply" : "what is undefined");
    QRN_TRY(ql_bytes_add(out, dict ? "{" : "[", 1));
    for (size_t i = 0; i < v->items->n; i++) {
        const ql_jitem *item = &v->items->list[i];
        if (i)
            QRN_TRY(ql_bytes_add(out, ", ", 2));
        if (dict) {
            QRN_TRY(json_text(item->key, out));
            QRN_TRY(ql_bytes_add(out, ": ", 2));
        }
        QRN_TRY(json_value(s, line, &item->value, depth + 1, out));
    }
    return ql_bytes_add(out, dict ? "}" : "]", 1);
}

// --- filters and methods

// What a value prints as, or its JSON, as a text in the arena.
static qrn_status as_text(ql_jstate *s, unsigned line, const ql_jvalue *v, bool json,
                          ql_jvalue *out) {
    ql_bytes text = {0};
    qrn_status status = json ? json_value(s, line, v, 0, &text) : ql_jprint(s, line, v, &text);
    char *copy =
        status == QRN_OK ? qrn_arena_copy(s->arena, text.data ? text.data : "", text.n + 1) : NULL;
    *out = ql_jtext(copy, text.n);
    ql_bytes_free(&text);
    return copy || status != QRN_OK ? status : ql_jno_memory(s);
}

qrn_status ql_jfilter(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *v, const ql_jargs *args,
                      ql_jvalue *out) {
    bool known = false, list = v->kind == QL_J_LIST || v->kind == QL_J_DICT;
    ql_slice name = e->text;
    if ((is_text(name, "length") || is_text(name, "count")) && (list || v->kind == QL_J_TEXT)) {
        *out = ql_jint((int64_t)(list ? v->items->n : ql_jlength(v->text)));
        return QRN_OK;
    }
    if (is_text(name, "string") || (is_text(name, "tojson") && args->n == 0))
        return as_text(s, e->line, v, name.text[0] == 't', out);
    if (is_text(name, "default") && args->n >= 1) {
        *out = v->kind == QL_J_UNDEFINED ? args->values[0] : *v;
        return QRN_OK;
    }
    if ((is_text(name, "first") || is_text(name, "last")) && v->kind == QL_J_LIST) {
        *out = v->items->n ? v->items->list[name.text[0] == 'f' ? 0 : v->items->n - 1].value
                           : (ql_jvalue){0};
        return QRN_OK;
    }
    if (is_text(name, "list") && v->kind == QL_J_LIST)
        return *out = *v, QRN_OK;
    if (v->kind == QL_J_TEXT && !is_text(name, "split") && !is_text(name, "strip"))
        QRN_TRY(change_text(s, e, name, v->text, args, &known, out));
    return known ? QRN_OK
                 : ql_jwrong(s, e->line, "the filter '%.*s' is not supported for %s",
                             (int)(name.n < 40 ? name.n : 40), name.text, ql_jkind_text(v->kind));
}

qrn_status ql_jtest(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *v, bool *out) {
    const struct {
        const char *name;
        bool is;
    } tests[] = {
        {"defined", v->kind != QL_J_UNDEFINED},
        {"undefined", v->kind == QL_J_UNDEFINED},
        {"none", v->kind == QL_J_NONE},
        {"string", v->kind == QL_J_TEXT},
        {"number", is_number(v)},
        {"integer", v->kind == QL_J_INT},
        {"boolean", v->kind == QL_J_BOOL},
        {"true", v->kind == QL_J_BOOL && v->i},
        {"false", v->kind == QL_J_BOOL && !v->i},
        {"mapping", v->kind == QL_J_DICT},
        {"sequence", v->kind == QL_J_LIST || v->kind == QL_J_DICT || v->kind == QL_J_TEXT},
        {"iterable", v->kind == QL_J_LIST || v->kind == QL_J_DICT || v->kind == QL_J_TEXT},
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0] && !e->args; i++)
        if (is_text(e->text, tests[i].name)) {
            *out = tests[i].is;
            return QRN_OK;
        }
    return ql_jwrong(s, e->line, "the test '%.*s' is not supported",
                     (int)(e->text.n < 40 ? e->text.n : 40), e->text.text);
}

static bool ends(ql_slice text, ql_slice with, bool begin) {
    return text.n >= with.n &&
           memcmp(begin ? text.text : text.text + (text.n - with.n), with.text, with.n) == 0;
}

static qrn_status items_of(ql_jstate *s, const ql_jvalue *v, ql_jvalue *out) {
    *out = ql_jnew(s, QL_J_LIST);
    for (size_t i = 0; out->items && i < v->items->n; i++) {
        ql_jvalue pair = ql_jnew(s, QL_J_LIST);
        ql_slice key = v->items->list[i].key;
        if (!pair.items || !ql_jput(s, pair.items, (ql_slice){0}, ql_jtext(key.text, key.n)) ||
            !ql_jput(s, pair.items, (ql_slice){0}, v->items->list[i].value) ||
            !ql_jput(s, out->items, (ql_slice){0}, pair))
            return ql_jno_memory(s);
    }
    return out->items ? QRN_OK : ql_jno_memory(s);
}

qrn_status ql_jmethod(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *v, const ql_jargs *args,
                      ql_jvalue *out) {
    bool known = false, one = args->n >= 1 && args->values[0].kind == QL_J_TEXT;
    ql_slice name = e->a->text;
    if (v->kind == QL_J_TEXT && one && (is_text(name, "startswith") || is_text(name, "endswith"))) {
        *out = ql_jbool(ends(v->text, args->values[0].text, name.text[0] == 's'));
        return QRN_OK;
    }
    if (v->kind == QL_J_DICT && is_text(name, "items"))
        return items_of(s, v, out);
    if (v->kind == QL_J_DICT && one && is_text(name, "get")) {
        const ql_jvalue *found = ql_jget(v->items, args->values[0].text);
        *out = found ? *found : args->n > 1 ? args->values[1] : (ql_jvalue){.kind = QL_J_NONE};
        return QRN_OK;
    }
    if (v->kind == QL_J_TEXT && !is_text(name, "trim"))
        QRN_TRY(change_text(s, e, name, v->text, args, &known, out));
    return known ? QRN_OK
                 : ql_jwrong(s, e->line, "the method '%.*s' of %s is not supported",
                             (int)(name.n < 40 ? name.n : 40), name.text, ql_jkind_text(v->kind));
}

qrn_status ql_jfunction(ql_jstate *s, const ql_jexpr *e, const ql_jargs *args, ql_jvalue *out) {
    ql_slice name = e->a->text;
    if (is_text(name, "raise_exception"))
        return ql_jwrong(s, e->line, "the template rejects the conversation: %.*s",
                         args->n ? (int)args->values[0].text.n : 0,
                         args->n && args->values[0].text.n ? args->values[0].text.text : "");
    if (is_text(name, "namespace")) {
        *out = ql_jnew(s, QL_J_DICT);
        if (!out->items)
            return ql_jno_memory(s);
        out->items->is_namespace = true;
        for (unsigned i = 0; i < args->n; i++)
            if (!ql_jput(s, out->items, args->names[i], args->values[i]))
                return ql_jno_memory(s);
        return QRN_OK;
    }
    if (is_text(name, "range") && args->n >= 1 && args->n <= 2) {
        int64_t from = args->n > 1 ? args->values[0].i : 0, to = args->values[args->n - 1].i;
        *out = ql_jnew(s, QL_J_LIST);
        for (int64_t i = from; out->items && i < to; i++)
            if (s->steps_left-- == 0 || !ql_jput(s, out->items, (ql_slice){0}, ql_jint(i)))
                return ql_jno_memory(s);
        return out->items ? QRN_OK : ql_jno_memory(s);
    }
    return ql_jwrong(s, e->line, "the function '%.*s' is not supported",
                     (int)(name.n < 40 ? name.n : 40), name.text);
}
