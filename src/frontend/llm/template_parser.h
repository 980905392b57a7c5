// SPDX-License-Identifier: MIT
//
// The parser of templates, for its two files: statements, and the expressions in them.
#ifndef QRN_FRONTEND_LLM_TEMPLATE_PARSER_H
#define QRN_FRONTEND_LLM_TEMPLATE_PARSER_H

#include "frontend/llm/template_parts.h"

#include <string.h>

#define QL_J_MAX_DEPTH 100

typedef struct ql_jparser {
    const char *name, *begin, *at, *end;
    unsigned line, depth;
    bool trim_next; // the text that follows loses all white space at its begin
    bool trim_line; // ... loses one newline
    qrn_arena *arena;
    char tag[32]; // the word of the block that ended a list of nodes: "endif", "else", ...
} ql_jparser;

// Fails with the line.
qrn_status ql_jp_wrong(const ql_jparser *p, const char *what);
qrn_status ql_jp_no_memory(const ql_jparser *p);

static inline bool ql_jp_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Does a word stand here?
static inline bool ql_jp_starts(const ql_jparser *p, const char *word) {
    size_t n = strlen(word);
    return (size_t)(p->end - p->at) >= n && memcmp(p->at, word, n) == 0;
}

void ql_jp_skip(ql_jparser *p);                        // white space
bool ql_jp_take(ql_jparser *p, const char *sign);      // passes it where it stands next
bool ql_jp_take_word(ql_jparser *p, const char *word); // the same for a whole word
qrn_status ql_jp_name(ql_jparser *p, ql_slice *out);
qrn_status ql_jp_expr(ql_jparser *p, const ql_jexpr **out);
// One without "a if b else c": in a for, the "if" belongs to the loop.
qrn_status ql_jp_simple_expr(ql_jparser *p, const ql_jexpr **out);

#endif
