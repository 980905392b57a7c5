// SPDX-License-Identifier: MIT
//
// Templates to nodes: text, tags and the statements in them.
#include "frontend/llm/template_parser.h"

// --- statements

static qrn_status read_nodes(ql_jparser *p, ql_jnode **out);

// The end of a tag: "%}" or "-%}"; what follows is trimmed.
static qrn_status end_tag(ql_jparser *p, const char *close) {
    ql_jp_skip(p);
    p->trim_next = ql_jp_take(p, "-");
    bool plus = !p->trim_next && ql_jp_take(p, "+");
    if (!ql_jp_starts(p, close)) {
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

static bool is_tag(const ql_jparser *p, const char *tag) { return strcmp(p->tag, tag) == 0; }

static qrn_status read_if(ql_jparser *p, ql_jnode *n) {
    QRN_TRY(ql_jp_expr(p, &n->a));
    QRN_TRY(end_tag(p, "%}"));
    QRN_TRY(read_nodes(p, &n->body));
    if (is_tag(p, "elif")) {
        ql_jnode *more = qrn_arena_alloc(p->arena, sizeof *more);
        if (!more)
            return ql_jp_no_memory(p);
        *more = (ql_jnode){.kind = QL_J_IF_NODE, .line = p->line};
        n->otherwise = more;
        if (++p->depth > QL_J_MAX_DEPTH)
            return ql_jp_wrong(p, "blocks are nested too deeply");
        QRN_TRY(read_if(p, more)); // ends at the same endif
        p->depth--;
        return QRN_OK;
    }
    if (is_tag(p, "else")) {
        QRN_TRY(end_tag(p, "%}"));
        QRN_TRY(read_nodes(p, &n->otherwise));
    }
    return is_tag(p, "endif") ? end_tag(p, "%}") : ql_jp_wrong(p, "an if has no endif");
}

static qrn_status read_for(ql_jparser *p, ql_jnode *n) {
    QRN_TRY(ql_jp_name(p, &n->text));
    if (ql_jp_take(p, ","))
        QRN_TRY(ql_jp_name(p, &n->second));
    if (!ql_jp_take_word(p, "in"))
        return ql_jp_wrong(p, "expected 'in'");
    QRN_TRY(ql_jp_simple_expr(p, &n->a)); // no condition: that "if" belongs to the loop
    if (ql_jp_take_word(p, "if"))
        QRN_TRY(ql_jp_expr(p, &n->when));
    QRN_TRY(end_tag(p, "%}"));
    QRN_TRY(read_nodes(p, &n->body));
    if (is_tag(p, "else")) {
        QRN_TRY(end_tag(p, "%}"));
        QRN_TRY(read_nodes(p, &n->otherwise));
    }
    return is_tag(p, "endfor") ? end_tag(p, "%}") : ql_jp_wrong(p, "a for has no endfor");
}

static qrn_status read_set(ql_jparser *p, ql_jnode *n) {
    QRN_TRY(ql_jp_name(p, &n->text));
    if (ql_jp_take(p, "."))
        QRN_TRY(ql_jp_name(p, &n->second));
    if (!ql_jp_take(p, "="))
        return ql_jp_wrong(p, "expected '=': a set of a block is not supported");
    QRN_TRY(ql_jp_expr(p, &n->a));
    return end_tag(p, "%}");
}

// Behind "{%" and its word.
static qrn_status read_statement(ql_jparser *p, ql_slice word, ql_jnode *n) {
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
static ql_slice read_text(ql_jparser *p) {
    const char *start = p->at, *stop;
    while (p->at < p->end && !ql_jp_starts(p, "{{") && !ql_jp_starts(p, "{%") &&
           !ql_jp_starts(p, "{#")) {
        p->line += *p->at == '\n';
        p->at++;
    }
    stop = p->at;
    if (p->trim_next)
        while (start < stop && ql_jp_is_space(*start))
            start++;
    else if (p->trim_line && start < stop && *start == '\n')
        start++;
    p->trim_next = p->trim_line = false;
    bool tag = p->at < p->end, block = tag && p->at[1] != '{';
    if (tag && p->end - p->at > 2 && p->at[2] == '-') {
        while (stop > start && ql_jp_is_space(stop[-1]))
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

static qrn_status skip_comment(ql_jparser *p) {
    p->at += 2;
    while (p->at < p->end && !ql_jp_starts(p, "#}")) {
        p->line += *p->at == '\n';
        p->at++;
    }
    if (p->at == p->end)
        return ql_jp_wrong(p, "a comment has no end");
    p->trim_next = p->at[-1] == '-';
    p->trim_line = p->at[-1] != '+';
    p->at += 2;
    return QRN_OK;
}

// Is the block that begins here one that ends a list of nodes? Its word goes to p->tag.
static bool ends_list(ql_jparser *p, ql_slice word) {
    static const char *const words[] = {"elif", "else", "endif", "endfor"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == word.n && memcmp(words[i], word.text, word.n) == 0) {
            strcpy(p->tag, words[i]);
            return true;
        }
    return false;
}

// One tag. *over: it ends the list.
static qrn_status read_tag(ql_jparser *p, ql_jnode *n, bool *over) {
    bool output = p->at[1] == '{';
    *over = false;
    p->at += 2;
    p->at += p->at < p->end && (*p->at == '-' || *p->at == '+');
    ql_jp_skip(p);
    n->line = p->line;
    n->kind = QL_J_OUTPUT;
    if (output) {
        QRN_TRY(ql_jp_expr(p, &n->a));
        return end_tag(p, "}}");
    }
    ql_slice word;
    QRN_TRY(ql_jp_name(p, &word));
    *over = ends_list(p, word);
    return *over ? QRN_OK : read_statement(p, word, n);
}

// Nodes up to a tag that ends them (p->tag), or to the end of the template ("").
static qrn_status read_nodes(ql_jparser *p, ql_jnode **out) {
    if (++p->depth > QL_J_MAX_DEPTH)
        return ql_jp_wrong(p, "blocks are nested too deeply");
    for (bool over = false; !over;) {
        ql_jnode *n = qrn_arena_alloc(p->arena, 2 * sizeof *n), *tag = n + 1;
        if (!n)
            return ql_jp_no_memory(p);
        n->text = read_text(p);
        p->tag[0] = '\0';
        *out = n->text.n ? n : NULL;
        if (*out)
            out = &n->next;
        if (p->at == p->end)
            break;
        if (ql_jp_starts(p, "{#")) {
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
    ql_jparser p = {.name = name, .begin = source, .at = source, .line = 1, .arena = arena};
    p.end = source + n - (n && source[n - 1] == '\n'); // Jinja drops the last newline
    *out = NULL;
    QRN_TRY(read_nodes(&p, out));
    return p.tag[0] ? ql_jp_wrong(&p, "an end without its begin") : QRN_OK;
}
