// SPDX-License-Identifier: MIT
//
// Expressions of templates, by recursive descent over the text.
#include "frontend/llm/template_parser.h"

qrn_status ql_jp_wrong(const ql_jparser *p, const char *what) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: %s", p->name, p->line, what);
}

qrn_status ql_jp_no_memory(const ql_jparser *p) {
    return QRN_FAIL(qrn_arena_limited(p->arena) ? QRN_E_UNSUPPORTED : QRN_E_MEM,
                    "%s: the template needs too much memory", p->name);
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

void ql_jp_skip(ql_jparser *p) {
    for (; p->at < p->end && ql_jp_is_space(*p->at); p->at++)
        p->line += *p->at == '\n';
}

// A sign at this place; passes it.
bool ql_jp_take(ql_jparser *p, const char *sign) {
    ql_jp_skip(p);
    if (!ql_jp_starts(p, sign))
        return false;
    p->at += strlen(sign);
    return true;
}

static bool at_word(ql_jparser *p, const char *word) {
    ql_jp_skip(p);
    size_t n = strlen(word);
    return ql_jp_starts(p, word) &&
           (p->at + n == p->end || !(is_letter(p->at[n]) || is_digit(p->at[n])));
}

bool ql_jp_take_word(ql_jparser *p, const char *word) {
    if (!at_word(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

qrn_status ql_jp_name(ql_jparser *p, ql_slice *out) {
    ql_jp_skip(p);
    const char *start = p->at;
    if (p->at == p->end || !is_letter(*p->at))
        return ql_jp_wrong(p, "expected a name");
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    *out = (ql_slice){start, (size_t)(p->at - start)};
    return QRN_OK;
}

// --- expressions

static qrn_status read_unary(ql_jparser *p, const ql_jexpr **out);

static qrn_status make(ql_jparser *p, ql_jexpr e, const ql_jexpr **out) {
    e.line = p->line;
    *out = qrn_arena_copy(p->arena, &e, sizeof e);
    return *out ? QRN_OK : ql_jp_no_memory(p);
}

static qrn_status read_string(ql_jparser *p, const ql_jexpr **out) {
    static const char letters[] = "nrt\\'\"", meant[] = "\n\r\t\\'\"";
    char quote = *p->at++;
    size_t n = 0, most = 0;
    while (p->at + most < p->end && p->at[most] != quote)
        most += p->at[most] == '\\' && p->at + most + 1 < p->end ? 2 : 1;
    char *to = qrn_arena_reserve(p->arena, most + 1);
    if (!to)
        return ql_jp_no_memory(p);
    for (; p->at < p->end && *p->at != quote; p->at++) {
        p->line += *p->at == '\n';
        const char *known =
            *p->at == '\\' && p->at + 1 < p->end && p->at[1] ? strchr(letters, p->at[1]) : NULL;
        if (*p->at == '\\' && p->at + 1 < p->end && !known && p->at[1] != '\n')
            return ql_jp_wrong(p, "this escape in a string is not supported");
        to[n++] = known ? meant[known - letters] : *p->at;
        p->at += known != NULL;
    }
    if (p->at == p->end)
        return ql_jp_wrong(p, "a string has no end");
    p->at++;
    return make(p, (ql_jexpr){.op = QL_J_CONST, .value = {.kind = QL_J_TEXT, .text = {to, n}}},
                out);
}

static qrn_status read_number(ql_jparser *p, const ql_jexpr **out) {
    int64_t v = 0;
    for (; p->at < p->end && is_digit(*p->at); p->at++) {
        if (v > INT32_MAX)
            return ql_jp_wrong(p, "the number is too large");
        v = v * 10 + (*p->at - '0');
    }
    if (p->at < p->end && *p->at == '.' && p->at + 1 < p->end && is_digit(p->at[1]))
        return ql_jp_wrong(p, "numbers with a point are not supported");
    return make(p, (ql_jexpr){.op = QL_J_CONST, .value = {.kind = QL_J_INT, .i = v}}, out);
}

// Behind the opening sign: values by position or name=value (call), "key": value (dict).
static qrn_status read_args(ql_jparser *p, const char *close, bool call, bool dict,
                            const ql_jarg **out) {
    const ql_jarg **end = out;
    *out = NULL;
    while (!ql_jp_take(p, close)) {
        ql_jarg arg = {0};
        const char *before = p->at;
        unsigned line = p->line;
        if (call && is_letter(*p->at)) { // a name with "=" but not "=="
            QRN_TRY(ql_jp_name(p, &arg.name));
            if (!ql_jp_take(p, "=") || ql_jp_starts(p, "=")) {
                p->at = before;
                p->line = line;
                arg.name.n = 0;
            }
        }
        QRN_TRY(ql_jp_expr(p, &arg.value));
        if (dict) {
            if (!ql_jp_take(p, ":") || arg.value->op != QL_J_CONST ||
                arg.value->value.kind != QL_J_TEXT)
                return ql_jp_wrong(p, "expected \"key\": value");
            arg.name = arg.value->value.text;
            QRN_TRY(ql_jp_expr(p, &arg.value));
        }
        ql_jarg *kept = qrn_arena_copy(p->arena, &arg, sizeof arg);
        if (!kept)
            return ql_jp_no_memory(p);
        *end = kept;
        end = &kept->next;
        if (!ql_jp_take(p, ",")) {
            if (ql_jp_take(p, close))
                break;
            return ql_jp_wrong(p, "expected ',' or the end of a list");
        }
    }
    return QRN_OK;
}

static qrn_status read_word(ql_jparser *p, const ql_jexpr **out) {
    static const struct {
        const char *word;
        ql_jvalue value;
    } words[] = {{"true", {.kind = QL_J_BOOL, .i = 1}},  {"True", {.kind = QL_J_BOOL, .i = 1}},
                 {"false", {.kind = QL_J_BOOL, .i = 0}}, {"False", {.kind = QL_J_BOOL, .i = 0}},
                 {"none", {.kind = QL_J_NONE}},          {"None", {.kind = QL_J_NONE}}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (ql_jp_take_word(p, words[i].word))
            return make(p, (ql_jexpr){.op = QL_J_CONST, .value = words[i].value}, out);
    ql_jexpr e = {.op = QL_J_NAME};
    QRN_TRY(ql_jp_name(p, &e.text));
    return make(p, e, out);
}

static qrn_status read_primary(ql_jparser *p, const ql_jexpr **out) {
    ql_jp_skip(p);
    char c = p->at < p->end ? *p->at : '\0';
    if (c == '\'' || c == '"')
        return read_string(p, out);
    if (is_digit(c))
        return read_number(p, out);
    if (c == '(') {
        p->at++;
        QRN_TRY(ql_jp_expr(p, out));
        return ql_jp_take(p, ")") ? QRN_OK : ql_jp_wrong(p, "expected ')'");
    }
    if (c == '[' || c == '{') {
        ql_jexpr e = {.op = QL_J_ITEMS, .flag = c == '{'};
        p->at++;
        QRN_TRY(read_args(p, c == '{' ? "}" : "]", false, c == '{', &e.args));
        return make(p, e, out);
    }
    return is_letter(c) ? read_word(p, out) : ql_jp_wrong(p, "expected an expression");
}

// Behind "[".
static qrn_status read_index(ql_jparser *p, const ql_jexpr *of, const ql_jexpr **out) {
    const ql_jexpr *parts[3] = {NULL, NULL, NULL};
    unsigned n = 0;
    for (;;) {
        ql_jp_skip(p);
        if (p->at < p->end && *p->at != ':' && *p->at != ']')
            QRN_TRY(ql_jp_expr(p, &parts[n]));
        if (n == 2 || !ql_jp_take(p, ":"))
            break;
        n++;
    }
    if (!ql_jp_take(p, "]"))
        return ql_jp_wrong(p, "expected ']'");
    if (n == 0 && !parts[0])
        return ql_jp_wrong(p, "an index is empty");
    ql_jexpr e = {.op = n ? QL_J_SLICE : QL_J_INDEX, .a = of};
    e.b = parts[0];
    e.c = parts[1];
    e.d = parts[2];
    return make(p, e, out);
}

// Behind "is".
static qrn_status read_test(ql_jparser *p, const ql_jexpr *of, const ql_jexpr **out) {
    ql_jexpr e = {.op = QL_J_TEST, .a = of, .flag = ql_jp_take_word(p, "not")};
    QRN_TRY(ql_jp_name(p, &e.text));
    if (ql_jp_take(p, "("))
        QRN_TRY(read_args(p, ")", true, false, &e.args));
    return make(p, e, out);
}

// What stands behind a value: .name [..] (..) | filter, is test.
static qrn_status read_postfix(ql_jparser *p, const ql_jexpr **out) {
    QRN_TRY(read_primary(p, out));
    for (unsigned n = 0;; n++) {
        ql_jexpr e = {.a = *out};
        if (n > QL_J_MAX_DEPTH)
            return ql_jp_wrong(p, "an expression is nested too deeply");
        ql_jp_skip(p);
        if (ql_jp_take(p, ".")) {
            e.op = QL_J_ATTR;
            QRN_TRY(ql_jp_name(p, &e.text));
            QRN_TRY(make(p, e, out));
        } else if (ql_jp_take(p, "[")) {
            QRN_TRY(read_index(p, *out, out));
        } else if (ql_jp_take(p, "(")) {
            e.op = QL_J_CALL;
            QRN_TRY(read_args(p, ")", true, false, &e.args));
            QRN_TRY(make(p, e, out));
        } else if (ql_jp_take(p, "|")) {
            e.op = QL_J_FILTER;
            QRN_TRY(ql_jp_name(p, &e.text));
            if (ql_jp_take(p, "("))
                QRN_TRY(read_args(p, ")", true, false, &e.args));
            QRN_TRY(make(p, e, out));
        } else if (ql_jp_take_word(p, "is")) {
            QRN_TRY(read_test(p, *out, out));
        } else {
            return QRN_OK;
        }
    }
}

static qrn_status read_unary(ql_jparser *p, const ql_jexpr **out) {
    ql_jp_skip(p);
    if (!ql_jp_starts(p, "-") || ql_jp_starts(p, "-%}") || ql_jp_starts(p, "-}}"))
        return read_postfix(p, out);
    ql_jexpr e = {.op = QL_J_MINUS};
    p->at++;
    if (++p->depth > QL_J_MAX_DEPTH)
        return ql_jp_wrong(p, "an expression is nested too deeply");
    QRN_TRY(read_unary(p, &e.a));
    p->depth--;
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
static const char *take_sign(ql_jparser *p, unsigned level) {
    ql_jp_skip(p);
    if (ql_jp_starts(p, "%}") || ql_jp_starts(p, "-%}") || ql_jp_starts(p, "-}}"))
        return NULL;
    for (const char *const *s = signs[level]; *s; s++) {
        if (strcmp(*s, "not in") == 0) {
            const char *before = p->at;
            unsigned line = p->line;
            if (ql_jp_take_word(p, "not") && ql_jp_take_word(p, "in"))
                return *s;
            p->at = before;
            p->line = line;
        } else if (is_letter(**s) ? ql_jp_take_word(p, *s) : ql_jp_take(p, *s)) {
            return *s;
        }
    }
    return NULL;
}

static qrn_status read_binary(ql_jparser *p, unsigned level, const ql_jexpr **out) {
    QRN_TRY(level ? read_binary(p, level - 1, out) : read_unary(p, out));
    const char *sign;
    for (unsigned n = 0; (sign = take_sign(p, level)) != NULL; n++) {
        ql_jexpr e = {.op = QL_J_BINARY, .a = *out, .text = {sign, strlen(sign)}};
        if (n > QL_J_MAX_DEPTH)
            return ql_jp_wrong(p, "an expression is too long");
        QRN_TRY(level ? read_binary(p, level - 1, &e.b) : read_unary(p, &e.b));
        QRN_TRY(make(p, e, out));
    }
    return QRN_OK;
}

static qrn_status read_not(ql_jparser *p, const ql_jexpr **out) {
    if (!ql_jp_take_word(p, "not"))
        return read_binary(p, LEVELS - 1, out);
    ql_jexpr e = {.op = QL_J_NOT};
    if (++p->depth > QL_J_MAX_DEPTH)
        return ql_jp_wrong(p, "an expression is nested too deeply");
    QRN_TRY(read_not(p, &e.a));
    p->depth--;
    return make(p, e, out);
}

static qrn_status read_and(ql_jparser *p, const ql_jexpr **out) {
    QRN_TRY(read_not(p, out));
    for (unsigned n = 0; ql_jp_take_word(p, "and"); n++) {
        ql_jexpr e = {.op = QL_J_BINARY, .a = *out, .text = {"and", 3}};
        if (n > QL_J_MAX_DEPTH)
            return ql_jp_wrong(p, "an expression is too long");
        QRN_TRY(read_not(p, &e.b));
        QRN_TRY(make(p, e, out));
    }
    return QRN_OK;
}

qrn_status ql_jp_simple_expr(ql_jparser *p, const ql_jexpr **out) {
    QRN_TRY(read_and(p, out));
    for (unsigned n = 0; ql_jp_take_word(p, "or"); n++) {
        ql_jexpr e = {.op = QL_J_BINARY, .a = *out, .text = {"or", 2}};
        if (n > QL_J_MAX_DEPTH)
            return ql_jp_wrong(p, "an expression is too long");
        QRN_TRY(read_and(p, &e.b));
        QRN_TRY(make(p, e, out));
    }
    return QRN_OK;
}

qrn_status ql_jp_expr(ql_jparser *p, const ql_jexpr **out) {
    if (++p->depth > QL_J_MAX_DEPTH)
        return ql_jp_wrong(p, "an expression is nested too deeply");
    QRN_TRY(ql_jp_simple_expr(p, out));
    while (ql_jp_take_word(p, "if")) {
        ql_jexpr e = {.op = QL_J_IF, .a = *out};
        QRN_TRY(ql_jp_simple_expr(p, &e.b));
        if (ql_jp_take_word(p, "else"))
            QRN_TRY(ql_jp_expr(p, &e.c));
        QRN_TRY(make(p, e, out));
    }
    p->depth--;
    return QRN_OK;
}
