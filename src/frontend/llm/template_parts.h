// SPDX-License-Identifier: MIT
//
// Inside of a template: what the parser makes and the evaluation reads. Everything lies in one
// arena with a limit, since a template may come from anywhere.
#ifndef QRN_FRONTEND_LLM_TEMPLATE_PARTS_H
#define QRN_FRONTEND_LLM_TEMPLATE_PARTS_H

#include "frontend/llm/template.h"

typedef enum ql_jkind {
    QL_J_UNDEFINED,
    QL_J_NONE,
    QL_J_BOOL,
    QL_J_INT,
    QL_J_TEXT,
    QL_J_LIST,
    QL_J_DICT // also a namespace, which `set` changes
} ql_jkind;

typedef struct ql_jvalue {
    ql_jkind kind;
    int64_t i;               // BOOL, INT
    ql_slice text;           // TEXT
    struct ql_jitems *items; // LIST, DICT
} ql_jvalue;

typedef struct ql_jitem {
    ql_slice key; // DICT
    ql_jvalue value;
} ql_jitem;

typedef struct ql_jitems {
    ql_jitem *list;
    size_t n, cap;
    bool is_namespace;
} ql_jitems;

typedef enum ql_jop {
    QL_J_CONST,  // value
    QL_J_NAME,   // text
    QL_J_ATTR,   // a . text
    QL_J_INDEX,  // a [ b ]
    QL_J_SLICE,  // a [ b : c : d ]; NULL: left out
    QL_J_CALL,   // a ( args )
    QL_J_FILTER, // a | text ( args )
    QL_J_TEST,   // a is text; negated by `flag`
    QL_J_NOT,
    QL_J_MINUS,
    QL_J_BINARY, // a text b
    QL_J_IF,     // a if b else c
    QL_J_ITEMS   // a list of args; `flag`: a dict, keys are texts of the names
} ql_jop;

typedef struct ql_jexpr {
    ql_jop op;
    unsigned line;
    bool flag;
    ql_slice text;
    ql_jvalue value;
    const struct ql_jexpr *a, *b, *c, *d;
    const struct ql_jarg *args;
} ql_jexpr;

typedef struct ql_jarg {
    ql_slice name; // n 0: by position
    const ql_jexpr *value;
    const struct ql_jarg *next;
} ql_jarg;

typedef enum ql_jnode_kind {
    QL_J_TEXT_NODE,
    QL_J_OUTPUT,
    QL_J_IF_NODE,
    QL_J_FOR,
    QL_J_SET,
    QL_J_BREAK,
    QL_J_CONTINUE
} ql_jnode_kind;

typedef struct ql_jnode {
    ql_jnode_kind kind;
    unsigned line;
    ql_slice text;                     // TEXT; FOR, SET: the name
    ql_slice second;                   // FOR: a second name; SET: the attribute of a namespace
    const ql_jexpr *a;                 // OUTPUT, IF: the condition; FOR: the list; SET: the value
    const ql_jexpr *when;              // FOR: (optional) which items
    struct ql_jnode *body, *otherwise; // IF, FOR
    struct ql_jnode *next;
} ql_jnode;

// Parses a template, which must stay. Fails with "name:line: ...".
qrn_status ql_template_parse(const char *name, const char *source, qrn_arena *arena,
                             ql_jnode **out);

#endif
