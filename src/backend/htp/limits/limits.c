// SPDX-License-Identifier: MIT
//
// Applies the limits of the support table to a call: finds the rows whose types fit, splits their
// words into clauses and asks each clause's rules. The call is good if one row lets it pass; if
// none does, the first one gives the reason.
#include "backend/htp/limits/limits.h"

#include "ir/type_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES(...) .rules = {__VA_ARGS__}
#define LIMIT(words, ...) {.text = words, __VA_ARGS__},
#define NOTHING(words, reason) {.text = words, .why = reason},
static const qrn_htp_limit limits[] = {
#include "backend/htp/limits/limits.def"
};

const qrn_htp_limit *qrn_htp_limit_at(size_t i) {
    return i < sizeof limits / sizeof limits[0] ? &limits[i] : NULL;
}

static bool same(const char *words, const char *text, size_t n) {
    return strlen(words) == n && memcmp(words, text, n) == 0;
}

const qrn_htp_limit *qrn_htp_limit_find(const char *text, size_t n) {
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        size_t length = strlen(limits[i].text);
        if (limits[i].text[length - 1] == '*' && n >= length - 1 &&
            memcmp(limits[i].text, text, length - 1) == 0)
            return &limits[i];
        if (same(limits[i].text, text, n))
            return &limits[i];
    }
    return NULL;
}

qrn_status qrn_htp_refuse(const qrn_htp_site *s, qrn_status status, const char *fmt, ...) {
    char what[QRN_MESSAGE_MAX / 2], where[96] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (s->tensor)
        snprintf(where, sizeof where, "%s %u: ", s->is_output ? "output" : "input", s->index);
    else if (s->param)
        snprintf(where, sizeof where, "parameter '%s': ", s->param);
    // A long list of types by operation would bury the reason.
    bool brief = s->text_length < 120;
    return qrn_op_fail(s->call, status, "%s%s (HTP support table, %s%s%.*s)", where, what,
                       s->row->config, brief ? ": " : "", brief ? (int)s->text_length : 0, s->text);
}

const char *qrn_htp_enumerator(const qrn_op_call *c, const char *param) {
    uint32_t i = qrn_op_param_index(c->op, param);
    const qrn_enumerator *e = c->op->params[i].enums;
    const qrn_param *p = &c->params[i];
    uint64_t value = p->present ? p->value.u : strtoull(c->op->params[i].default_text, NULL, 10);
    for (; e && e->name; e++)
        if (e->value == value)
            return e->name;
    return "";
}

static qrn_status ask(const qrn_htp_site *s) {
    for (size_t i = 0; i < QRN_HTP_RULES && s->limit->rules[i]; i++)
        QRN_TRY(s->limit->rules[i](s));
    return QRN_OK;
}

// Subject and text of a clause.
typedef struct clause {
    const char *subject, *text;
    size_t n_subject, n_text;
} clause;

static clause split_clause(const char *words, size_t n) {
    clause c = {.subject = words, .text = words, .n_text = n};
    size_t i = 0;
    while (i < n && words[i] != ':' && words[i] != ' ')
        i++;
    if (i + 1 < n && words[i] == ':' && words[i + 1] == ' ') {
        c.n_subject = i;
        c.text += i + 2;
        c.n_text -= i + 2;
    }
    return c;
}

// "in[0]", "in[0..m]", "out[0]": asks the rules about each operand that is given.
static qrn_status ask_operands(qrn_htp_site *s, const char *subject) {
    char side[4];
    uint32_t first = 0;
    if (sscanf(subject, "%3[a-z][%u", side, &first) != 2)
        return QRN_E_GENERAL;
    s->is_output = strcmp(side, "out") == 0;
    const char *end_of_index = strchr(subject, ']');
    bool run = end_of_index && end_of_index > subject + 3 && end_of_index[-2] == '.';
    uint32_t n = s->is_output ? s->call->n_out : s->call->n_in;
    uint32_t end = run || first + 1 > n ? n : first + 1;
    for (s->index = first; s->index < end; s->index++) {
        s->tensor = (s->is_output ? s->call->out : s->call->in)[s->index];
        if (s->tensor)
            QRN_TRY(ask(s));
    }
    return QRN_OK;
}

static qrn_status check_clause(qrn_htp_site s, const char *words, size_t n, bool ranks_alone) {
    clause c = split_clause(words, n);
    s.text = c.text;
    s.text_length = c.n_text;
    s.limit = qrn_htp_limit_find(c.text, c.n_text);
    if (!s.limit || (ranks_alone && s.limit->rules[0] != qrn_htp_rank_within))
        return QRN_OK; // test_htp_limits proves that every text has a limit
    if (c.n_subject >= 4 && (memcmp(c.subject, "in[", 3) == 0 || memcmp(c.subject, "out[", 4) == 0))
        return ask_operands(&s, c.subject);
    char name[32];
    s.param = s.limit->param;
    if (c.n_subject) {
        snprintf(name, sizeof name, "%.*s", (int)c.n_subject, c.subject);
        s.param = name;
    } else if (s.limit->input) {
        s.index = s.limit->input - 1;
        s.tensor = s.index < s.call->n_in ? s.call->in[s.index] : NULL;
        if (!s.tensor)
            return QRN_OK;
    }
    return ask(&s);
}

// All clauses, or those about ranks alone.
static qrn_status check_words(const qrn_htp_site *s, const char *words, bool ranks_alone) {
    while (*words) {
        const char *end = strstr(words, " ; ");
        size_t n = end ? (size_t)(end - words) : strlen(words);
        QRN_TRY(check_clause(*s, words, n, ranks_alone));
        words += end ? n + 3 : n;
    }
    return QRN_OK;
}

static uint32_t rank_limit(const char *op) {
    uint32_t rank = 0;
    for (size_t i = 0; i < qrn_htp_support.n_rows; i++) {
        const qrn_support_row *r = &qrn_htp_support.rows[i];
        bool widens = r->answer == QRN_ANSWER_DELTA || r->answer == QRN_ANSWER_OBSERVED;
        if (!widens || strcmp(r->op, op) != 0)
            continue;
        const qrn_htp_limit *words[] = {qrn_htp_limit_find(r->constraints, strlen(r->constraints)),
                                        qrn_htp_limit_find(r->note, strlen(r->note))};
        for (int k = 0; k < 2; k++)
            if (words[k] && words[k]->rank > rank)
                rank = words[k]->rank;
    }
    return rank;
}

// The first published row of the op and, unless NULL, of the configuration.
static const char *published_words(const char *op, const char *config) {
    for (size_t i = 0; i < qrn_htp_support.n_rows; i++) {
        const qrn_support_row *r = &qrn_htp_support.rows[i];
        if (r->answer == QRN_ANSWER_YES && strcmp(r->op, op) == 0 &&
            (!config || strcmp(r->config, config) == 0))
            return r->constraints;
    }
    return "";
}

// A row of a later release says what was added, not what holds on: ranks are those of the op.
static qrn_status check_row(const qrn_htp_site *s) {
    const qrn_support_row *r = s->row;
    bool refers = r->answer == QRN_ANSWER_OBSERVED && strcmp(r->constraints, "as published") == 0;
    QRN_TRY(check_words(s, refers ? published_words(r->op, r->config) : r->constraints, false));
    if (r->answer != QRN_ANSWER_DELTA)
        return QRN_OK;
    QRN_TRY(check_words(s, r->note, false));
    return check_words(s, published_words(r->op, NULL), true);
}

qrn_status qrn_htp_limits_check(const qrn_htp_device *d, const qrn_op_call *call) {
    qrn_htp_site s = {.device = d, .call = call, .rank_limit = rank_limit(call->op->name)};
    const qrn_support_row *first = NULL;
    for (size_t i = 0; i < qrn_htp_support.n_rows; i++) {
        s.row = &qrn_htp_support.rows[i];
        if (!qrn_support_row_fits(s.row, call))
            continue;
        if (check_row(&s) == QRN_OK)
            return QRN_OK;
        if (!first)
            first = s.row;
    }
    s.row = first;
    return first ? check_row(&s) : QRN_OK; // once more, for its message
}
