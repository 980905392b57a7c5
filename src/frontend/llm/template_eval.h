// SPDX-License-Identifier: MIT
//
// Shared by the files that evaluate templates, and by nobody else.
#ifndef QRN_FRONTEND_LLM_TEMPLATE_EVAL_H
#define QRN_FRONTEND_LLM_TEMPLATE_EVAL_H

#include "frontend/llm/template_parts.h"

// Variables of a block; those of the blocks around it follow.
typedef struct ql_jscope {
    ql_jitems *names;
    const struct ql_jscope *outer;
} ql_jscope;

typedef struct ql_jstate {
    const char *name; // of the template
    qrn_arena *arena;
    ql_jscope *scope;
    ql_bytes *out;
    uint64_t steps_left;
    unsigned depth;
} ql_jstate;

qrn_status ql_jwrong(const ql_jstate *s, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
qrn_status ql_jno_memory(const ql_jstate *s);

ql_jvalue ql_jtext(const char *text, size_t n);
ql_jvalue ql_jint(int64_t i);
ql_jvalue ql_jbool(bool b);
// A list or dict without items; NULL in items: no memory.
ql_jvalue ql_jnew(ql_jstate *s, ql_jkind kind);
// Adds, or with a key replaces; false: no memory.
bool ql_jput(ql_jstate *s, ql_jitems *to, ql_slice key, ql_jvalue v);
const ql_jvalue *ql_jget(const ql_jitems *from, ql_slice key); // NULL: none

size_t ql_jlength(ql_slice text); // in characters, which may have several bytes
bool ql_jtrue(const ql_jvalue *v);
bool ql_jequal(const ql_jvalue *a, const ql_jvalue *b);
const char *ql_jkind_text(ql_jkind kind);
// What {{ }} prints.
qrn_status ql_jprint(ql_jstate *s, unsigned line, const ql_jvalue *v, ql_bytes *out);
// Two texts as one.
qrn_status ql_jjoin(ql_jstate *s, ql_slice a, ql_slice b, ql_jvalue *out);

// The value of a JSON text, which must stay as long as the value.
qrn_status ql_jfrom_json(ql_jstate *s, const qrn_json *j, ql_jvalue *out);

// Arguments that were evaluated.
#define QL_J_MAX_ARGS 8
typedef struct ql_jargs {
    ql_slice names[QL_J_MAX_ARGS];
    ql_jvalue values[QL_J_MAX_ARGS];
    unsigned n;
} ql_jargs;

// value | name(args), value is name, value.name(args), name(args).
qrn_status ql_jfilter(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *v, const ql_jargs *args,
                      ql_jvalue *out);
qrn_status ql_jtest(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *v, bool *out);
qrn_status ql_jmethod(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *v, const ql_jargs *args,
                      ql_jvalue *out);
qrn_status ql_jfunction(ql_jstate *s, const ql_jexpr *e, const ql_jargs *args, ql_jvalue *out);

#endif
