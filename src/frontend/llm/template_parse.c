// SPDX-License-Identifier: MIT
//
// Templates to nodes and expressions, by recursive descent over the text.
#include "frontend/llm/template_parts.h"

#include <string.h>

#define MAX_DEPTH 100

typedef struct parser {
    const char *name, *begin, *at, *end;
    unsigned line, depth;
    bool trim_next; // the text that follows loses all white space at its begin
    bool trim_line; // ... loses one newline
    qrn_arena *arena;
    char tag[32]; // the word of the block that ended a list of nodes: "endif", "else", ...
} parser;

static qrn_status wrong(const parser *p, const char *what) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: %s", p->name, p->line, what);
}

static qrn_status no_memory(const parser *p) {
    return QRN_FAIL(qrn_arena_limited(p->arena) ? QRN_E_UNSUPPORTED : QRN_E_MEM,
                    "%s: the template needs too much memory", p->name);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool starts(const parser *p, const char *word) {
    size_t n = strlen(word);
    return (size_t)(p->end - p->at) >= n && memcmp(p->at, word, n) == 0;
}

static void skip(parser *p) {
    for (; p->at < p->end && is_space(*p->at); p->at++)
        p->line += *p->at == '\n';
}

// A sign at this place; passes it.
static bool take(parser *p, const char *sign) {
    skip(p);
    if (!starts(p, sign))
        return false;
    p->at += strlen(sign);
    return true;
}

static bool at_word(parser *p, const char *word) {
    skip(p);
    size_t n = strlen(word);
    return starts(p, word) && (p->at + n == p->end || !(is_letter(p->at[n]) || is_digit(p->at[n])));
}

static bool take_word(parser *p, const char *word) {
    if (!at_word(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

static qrn_status read_name(parser *p, ql_slice *out) {
    skip(p);
    const char *start = p->at;
    if (p->at == p->end || !is_letter(*p->at))
        return wrong(p, "expected a name");
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    *out = (ql_slice){start, (size_t)(p->at - start)};
    return QRN_OK;
}

// --- expressions

static qrn_status read_expr(parser *p, const ql_jexpr **out);
static qrn_status read_or(parser *p, const ql_jexpr **out);
static qrn_status read_unary(parser *p, const ql_jexpr **out);

static qrn_status make(parser *p, ql_jexpr e, const ql_jexpr **out) {
    e.line = p->line;
    *out = qrn_arena_copy(p->arena, &e, sizeof e);
    return *out ? QRN_OK : no_memory(p);
}

static qrn_status read_string(parser *p, const ql_jexpr **out) {
    static const char letters[] = "nrt\\'\"", meant[] = "\n\r\t\\'\"";
    char quote = *p->at++;
    size_t n = 0, most = 0;
    while (p->at + most < p->end && p->at[most] != quote)
        most += p->at[most] == '\\' && p->at + most + 1 < p->end ? 2 : 1;
    char *to = qrn_arena_reserve(p->arena, most + 1);
    if (!to)
        return no_memory(p);
    for (; p->at < p->end && *p->at != quote; p->at++) {
        p->line += *p->at == '\n';
        const char *known =
            *p->at == '\\' && p->at + 1 < p->end && p->at[1] ? strchr(letters, p->at[1]) : NULL;
        if (*p->at == '\\' && p->at + 1 < p->end && !known && p->at[1] != '\n')
            return wrong(p, "this escape in a string is not supported");
        to[n++] = known ? meant[known - letters] : *p->at;
        p->at += known != NULL;
    }
    if (p->at == p->end)
        return wrong(p, "a string has no end");
    p->at++;
    return make(p, (ql_jexpr){.op = QL_J_CONST, .value = {.kind = QL_J_TEXT, .text = {to, n}}},
                out);
}

static qrn_status read_number(parser *p, const ql_jexpr **out) {
    int64_t v = 0;
    for (; p->at < p->end && is_digit(*p->at); p->at++) {
        if (v > INT32_MAX)
            return wrong(p, "the number is too large");
        v = v * 10 + (*p->at - '0');
    }
    if (p->at < p->end && *p->at == '.' && p->at + 1 < p->end && is_digit(p->at[1]))
        return wrong(p, "numbers with a point are not supported");
    return make(p, (ql_jexpr){.op = QL_J_CONST, .value = {.kind = QL_J_INT, .i = v}}, out);
}

// Behind the opening sign: values by position or name=value (call), "key": value (dict).
static qrn_status read_args(parser *p, const char *close, bool call, bool dict,
                            const ql_jarg **out) {
    const ql_jarg **end = out;
    *out = NULL;
    while (!take(p, close)) {
        ql_jarg arg = {0};
        const char *before = p->at;
        unsigned line = p->line;
        if (call && is_letter(*p->at)) { // a name with "=" but not "=="
            QRN_TRY(read_name(p, &arg.name));
            if (!take(p, "=") || starts(p, "=")) {
                p->at = before;
                p->line = line;
                arg.name.n = 0;
            }
        }
        QRN_TRY(read_expr(p, &arg.value));
        if (dict) {
            if (!take(p, ":") || arg.value->op != QL_J_CONST || arg.value->value.kind != QL_J_TEXT)
                return wrong(p, "expected \"key\": value");
            arg.name = arg.value->value.text;
            QRN_TRY(read_expr(p, &arg.value));
        }
        ql_jarg *kept = qrn_arena_copy(p->arena, &arg, sizeof arg);
        if (!kept)
            return no_memory(p);
        *end = kept;
        end = &kept->next;
        if (!take(p, ",")) {
            if (take(p, close))
                break;
            return wrong(p, "expected ',' or the end of a list");
        }
    }
    return QRN_OK;
}

static qrn_status read_word(parser *p, const ql_jexpr **out) {
    static const struct {
        const char *word;
        ql_jvalue value;
    } words[] = {{"true", {.kind = QL_J_BOOL, .i = 1}},  {"True", {.kind = QL_J_BOOL, .i = 1}},
                 {"false", {.kind = QL_J_BOOL, .i = 0}}, {"False", {.kind = QL_J_BOOL, .i = 0}},
                 {"none", {.kind = QL_J_NONE}},          {"None", {.kind = QL_J_NONE}}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (take_word(p, words[i].word))
            return make(p, (ql_jexpr){.op = QL_J_CONST, .value = words[i].value}, out);
    ql_jexpr e = {.op = QL_J_NAME};
    QRN_TRY(read_name(p, &e.text));
    return make(p, e, out);
}

static qrn_status read_primary(parser *p, const ql_jexpr **out) {
    skip(p);
    char c = p->at < p->end ? *p->at : '\0';
    if (c == '\'' || c == '"')
        return read_string(p, out);
    if (is_digit(c))
        return read_number(p, out);
    if (c == '(') {
        p->at++;
        QRN_TRY(read_expr(p, out));
        return take(p, ")") ? QRN_OK : wrong(p, "expected ')'");
    }
    if (c == '[' || c == '{') {
        ql_jexpr e = {.op = QL_J_ITEMS, .flag = c == '{'};
        p->at++;
        QRN_TRY(read_args(p, c == '{' ? "}" : "]", false, c == '{', &e.args));
        return make(p, e, out);
    }
    return is_letter(c) ? read_word(p, out) : wrong(p, "expected an expression");
}

// Behind "[".
static qrn_status read_index(parser *p, const ql_jexpr *of, const ql_jexpr **out) {
    const ql_jexpr *parts[3] = {NULL, NULL, NULL};
    unsigned n = 0;
    for (;;) {
        skip(p);
        if (p->at < p->end && *p->at != ':' && *p->at != ']')
            QRN_TRY(read_expr(p, &parts[n]));
        if (n == 2 || !take(p, ":"))
            break;
        n++;
    }
    if (!take(p, "]"))
        return wrong(p, "expected ']'");
    if (n == 0 && !parts[0])
        return wrong(p, "an index is empty");
    ql_jexpr e = {.op = n ? QL_J_SLICE : QL_J_INDEX, .a = of};
    e.b = parts[0];
    e.c = parts[1];
    e.d = parts[2];
    return make(p, e, out);
}

// Behind "is".
static qrn_status read_test(parser *p, const ql_jexpr *of, const ql_jexpr **out) {
    ql_jexpr e = {.op = QL_J_TEST, .a = of, .flag = take_word(p, "not")};
    QRN_TRY(read_name(p, &e.text));
    if (take(p, "("))
        QRN_TRY(read_args(p, ")", true, false, &e.args));
    return make(p, e, out);
}

// What stands behind a value: .name [..] (..) | filter, is test.
static qrn_status read_postfix(parser *p, const ql_jexpr **out) {
    QRN_TRY(read_primary(p, out));
    for (unsigned n = 0;; n++) {
        ql_jexpr e = {.a = *out};
        if (n > MAX_DEPTH)
            return wrong(p, "an expression is nested too deeply");
        skip(p);
        if (take(p, ".")) {
            e.op = QL_J_ATTR;
            QRN_TRY(read_name(p, &e.text));
            QRN_TRY(make(p, e, out));
        } else if (take(p, "[")) {
            QRN_TRY(read_index(p, *out, out));
        } else if (take(p, "(")) {
            e.op = QL_J_CALL;
            QRN_TRY(read_args(p, ")", true, false, &e.args));
            QRN_TRY(make(p, e, out));
        } else if (take(p, "|")) {
            e.op = QL_J_FILTER;
            QRN_TRY(read_name(p, &e.text));
            if (take(p, "("))
                QRN_TRY(read_args(p, ")", true, false, &e.args));
            QRN_TRY(make(p, e, out));
        } else if (take_word(p, "is")) {
            QRN_TRY(read_test(p, *out, out));
        } else {
            return QRN_OK;
        }
    }
}

static qrn_status read_unary(parser *p, const ql_jexpr **out) {
    skip(p);
    if (!starts(p, "-") || starts(p, "-%}") || starts(p, "-}}"))
        return read_postfix(p, out);
    ql_jexpr e = {.op = QL_J_MINUS};
    p->at++;
    QRN_TRY(read_unary(p, &e.a));
    return make(p, e, out);
}

// Operators of two operands, the loosest last.
#define LEVELS 4
static const char *const signs[LEVELS][9] = {
    {"//", "*", "/", "%", NULL},
    {"~", NULL},
    {"+", "-", NULL},
    {"==", "!=", "<=", ">=", "<", ">", "in", "not in", NULL},
};

// The sign of this level that stands here, or NULL; passes it.
static const char *take_sign(parser *p, unsigned level) {
    skip(p);
    if (starts(p, "%}") || starts(p, "-%}") || starts(p, "-}}"))
        return NULL;
    for (const char *const *s = signs[level]; *s; s++) {
        if (strcmp(*s, "not in") == 0) {
            const char *before = p->at;
            unsigned line = p->line;
            if (take_word(p, "not") && take_word(p, "in"))
                return *s;
            p->at = before;
            p->line = line;
        } else if (is_letter(**s) ? take_word(p, *s) : take(p, *s)) {
            return *s;
        }
    }
    return NULL;
}

static qrn_status read_binary(parser *p, unsigned level, const ql_jexpr **out) {
    QRN_TRY(level ? read_binary(p, level - 1, out) : read_unary(p, out));
    const char *sign;
    for (unsigned n = 0; (sign = take_sign(p, level)) != NULL; n++) {
        ql_jexpr e = {.op = QL_J_BINARY, .a = *out, .text = {sign, strlen(sign)}};
        if (n > MAX_DEPTH)
            return wrong(p, "an expression is too long");
        QRN_TRY(level ? read_binary(p, level - 1, &e.b) : read_unary(p, &e.b));
        QRN_TRY(make(p, e, out));
    }
    return QRN_OK;
}

static qrn_status read_not(parser *p, const ql_jexpr **out) {
    if (!take_word(p, "not"))
        return read_binary(p, LEVELS - 1, out);
    ql_jexpr e = {.op = QL_J_NOT};
    if (++p->depth > MAX_DEPTH)
        return wrong(p, "an expression is nested too deeply");
    QRN_TRY(read_not(p, &e.a));
    p->depth--;
    return make(p, e, out);
}

static qrn_status read_and(parser *p, const ql_jexpr **out) {
    QRN_TRY(read_not(p, out));
    for (unsigned n = 0; take_word(p, "and"); n++) {
        ql_jexpr e = {.op = QL_J_BINARY, .a = *out, .text = {"and", 3}};
        if (n > MAX_DEPTH)
            return wrong(p, "an expression is too long");
        QRN_TRY(read_not(p, &e.b));
        QRN_TRY(make(p, e, out));
    }
    return QRN_OK;
}

static qrn_status read_or(parser *p, const ql_jexpr **out) {
    QRN_TRY(read_and(p, out));
    for (unsigned n = 0; take_word(p, "or"); n++) {
        ql_jexpr e = {.op = QL_J_BINARY, .a = *out, .text = {"or", 2}};
        if (n > MAX_DEPTH)
            return wrong(p, "an expression is too long");
        QRN_TRY(read_and(p, &e.b));
        QRN_TRY(make(p, e, out));
    }
    return QRN_OK;
}

static qrn_status read_expr(parser *p, const ql_jexpr **out) {
    if (++p->depth > MAX_DEPTH)
        return wrong(p, "an expression is nested too deeply");
    QRN_TRY(read_or(p, out));
    while (take_word(p, "if")) {
        ql_jexpr e = {.op = QL_J_IF, .a = *out};
        QRN_TRY(read_or(p, &e.b));
        if (take_word(p, "else"))
            QRN_TRY(read_expr(p, &e.c));
        QRN_TRY(make(p, e, out));
    }
    p->depth--;
    return QRN_OK;
}

// --- statements

static qrn_status read_nodes(parser *p, ql_jnode **out);

// The end of a tag: "%}" or "-%}"; what follows is trimmed.
static qrn_status end_tag(parser *p, const char *close) {
    skip(p);
    p->trim_next = take(p, "-");
    bool plus = !p->trim_next && take(p, "+");
    if (!starts(p, close)) {
        char what[64];
        size_t n = 0;
        while (n < 20 && p->at + n < p->end && p->at[n] != '\n')
            n++;
        memcpy(what, p->at, n);
        what[n] = '\0';
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: expected '%s', found '%s'", p->name, p->line,
                        close, what);
    }
    p->at += strlen(close);
    p->trim_line = close[0] == '%' && !plus;
    return QRN_OK;
}

static bool is_tag(const parser *p, const char *tag) { return strcmp(p->tag, tag) == 0; }

static qrn_status read_if(parser *p, ql_jnode *n) {
    QRN_TRY(read_expr(p, &n->a));
    QRN_TRY(end_tag(p, "%}"));
    QRN_TRY(read_nodes(p, &n->body));
    if (is_tag(p, "elif")) {
        ql_jnode *more = qrn_arena_alloc(p->arena, sizeof *more);
        if (!more)
            return no_memory(p);
        *more = (ql_jnode){.kind = QL_J_IF_NODE, .line = p->line};
        n->otherwise = more;
        if (++p->depth > MAX_DEPTH)
            return wrong(p, "blocks are nested too deeply");
        QRN_TRY(read_if(p, more)); // ends at the same endif
        p->depth--;
        return QRN_OK;
    }
    if (is_tag(p, "else")) {
        QRN_TRY(end_tag(p, "%}"));
        QRN_TRY(read_nodes(p, &n->otherwise));
    }
    return is_tag(p, "endif") ? end_tag(p, "%}") : wrong(p, "an if has no endif");
}

static qrn_status read_for(parser *p, ql_jnode *n) {
    QRN_TRY(read_name(p, &n->text));
    if (take(p, ","))
        QRN_TRY(read_name(p, &n->second));
    if (!take_word(p, "in"))
        return wrong(p, "expected 'in'");
    QRN_TRY(read_or(p, &n->a)); // no condition: that "if" belongs to the loop
    if (take_word(p, "if"))
        QRN_TRY(read_expr(p, &n->when));
    QRN_TRY(end_tag(p, "%}"));
    QRN_TRY(read_nodes(p, &n->body));
    if (is_tag(p, "else")) {
        QRN_TRY(end_tag(p, "%}"));
        QRN_TRY(read_nodes(p, &n->otherwise));
    }
    return is_tag(p, "endfor") ? end_tag(p, "%}") : wrong(p, "a for has no endfor");
}

static qrn_status read_set(parser *p, ql_jnode *n) {
    QRN_TRY(read_name(p, &n->text));
    if (take(p, "."))
        QRN_TRY(read_name(p, &n->second));
    if (!take(p, "="))
        return wrong(p, "expected '=': a set of a block is not supported");
    QRN_TRY(read_expr(p, &n->a));
    return end_tag(p, "%}");
}

// Behind "{%" and its word.
static qrn_status read_statement(parser *p, ql_slice word, ql_jnode *n) {
    static const struct {
        const char *word;
        ql_jnode_kind kind;
    } kinds[] = {{"if", QL_J_IF_NODE},
                 {"for", QL_J_FOR},
                 {"set", QL_J_SET},
                 {"break", QL_J_BREAK},
                 {"continue", QL_J_CONTINUE}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].word) == word.n && memcmp(kinds[i].word, word.text, word.n) == 0) {
            n->kind = kinds[i].kind;
            return n->kind == QL_J_IF_NODE ? read_if(p, n)
                   : n->kind == QL_J_FOR   ? read_for(p, n)
                   : n->kind == QL_J_SET   ? read_set(p, n)
                                           : end_tag(p, "%}");
        }
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: the statement '%.*s' is not supported", p->name,
                    p->line, (int)(word.n < 40 ? word.n : 40), word.text);
}

// Text up to the next tag, trimmed on both sides as the tags ask for.
static ql_slice read_text(parser *p) {
    const char *start = p->at, *stop;
    while (p->at < p->end && !starts(p, "{{") && !starts(p, "{%") && !starts(p, "{#")) {
        p->line += *p->at == '\n';
        p->at++;
    }
    stop = p->at;
    if (p->trim_next)
        while (start < stop && is_space(*start))
            start++;
    else if (p->trim_line && start < stop && *start == '\n')
        start++;
    p->trim_next = p->trim_line = false;
    bool tag = p->at < p->end, block = tag && p->at[1] != '{';
    if (tag && p->end - p->at > 2 && p->at[2] == '-') {
        while (stop > start && is_space(stop[-1]))
            stop--;
    } else if (block && !(p->end - p->at > 2 && p->at[2] == '+')) { // white space before it
        const char *line = stop;
        while (line > start && (line[-1] == ' ' || line[-1] == '\t'))
            line--;
        if (line == p->begin || line[-1] == '\n')
            stop = line;
    }
    return (ql_slice){start, (size_t)(stop - start)};
}

static qrn_status skip_comment(parser *p) {
    p->at += 2;
    while (p->at < p->end && !starts(p, "#}")) {
        p->line += *p->at == '\n';
        p->at++;
    }
    if (p->at == p->end)
        return wrong(p, "a comment has no end");
    p->trim_next = p->at[-1] == '-';
    p->trim_line = p->at[-1] != '+';
    p->at += 2;
    return QRN_OK;
}

// Is the block that begins here one that ends a list of nodes? Its word goes to p->tag.
static bool ends_list(parser *p, ql_slice word) {
    static const char *const words[] = {"elif", "else", "endif", "endfor"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == word.n && memcmp(words[i], word.text, word.n) == 0) {
            strcpy(p->tag, words[i]);
            return true;
        }
    return false;
}

// One tag. *over: it ends the list.
static qrn_status read_tag(parser *p, ql_jnode *n, bool *over) {
    bool output = p->at[1] == '{';
    *over = false;
    p->at += 2;
    p->at += p->at < p->end && (*p->at == '-' || *p->at == '+');
    skip(p);
    n->line = p->line;
    n->kind = QL_J_OUTPUT;
    if (output) {
        QRN_TRY(read_expr(p, &n->a));
        return end_tag(p, "}}");
    }
    ql_slice word;
    QRN_TRY(read_name(p, &word));
    *over = ends_list(p, word);
    return *over ? QRN_OK : read_statement(p, word, n);
}

// Nodes up to a tag that ends them (p->tag), or to the end of the template ("").
static qrn_status read_nodes(parser *p, ql_jnode **out) {
    if (++p->depth > MAX_DEPTH)
        return wrong(p, "blocks are nested too deeply");
    for (bool over = false; !over;) {
        ql_jnode *n = qrn_arena_alloc(p->arena, 2 * sizeof *n), *tag = n + 1;
        if (!n)
            return no_memory(p);
        n->text = read_text(p);
        p->tag[0] = '\0';
        *out = n->text.n ? n : NULL;
        if (*out)
            out = &n->next;
        if (p->at == p->end)
            break;
        if (starts(p, "{#")) {
            QRN_TRY(skip_comment(p));
            continue;
        }
        QRN_TRY(read_tag(p, tag, &over));
        *out = over ? NULL : tag;
        if (!over)
            out = &tag->next;
    }
    p->depth--;
    return QRN_OK;
}

qrn_status ql_template_parse(const char *name, const char *source, qrn_arena *arena,
                             ql_jnode **out) {
    size_t n = strlen(source);
    parser p = {.name = name, .begin = source, .at = source, .line = 1, .arena = arena};
    p.end = source + n - (n && source[n - 1] == '\n'); // Jinja drops the last newline
    *out = NULL;
    QRN_TRY(read_nodes(&p, out));
    return p.tag[0] ? wrong(&p, "an end without its begin") : QRN_OK;
}
