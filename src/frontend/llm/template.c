// SPDX-License-Identifier: MIT
//
// Evaluation of chat templates. Steps and memory are bounded, for templates come with models.
#include "frontend/llm/template_eval.h"

#include <string.h>

#define MOST_STEPS 2000000
#define MOST_BYTES (64u << 20)
#define MAX_DEPTH 400

typedef enum flow { GO_ON, BREAK, CONTINUE } flow;

static qrn_status eval(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out);

static bool is_text(ql_slice a, const char *word) {
    return a.n == strlen(word) && memcmp(a.text, word, a.n) == 0;
}

static qrn_status step(ql_jstate *s, unsigned line) {
    return s->steps_left-- ? QRN_OK : (s->steps_left = 0, ql_jwrong(s, line, "takes too long"));
}

static const ql_jvalue *find_name(const ql_jstate *s, ql_slice name) {
    for (const ql_jscope *scope = s->scope; scope; scope = scope->outer) {
        const ql_jvalue *v = ql_jget(scope->names, name);
        if (v)
            return v;
    }
    return NULL;
}

// --- access

static qrn_status get_attr(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *of, ql_slice name,
                           ql_jvalue *out) {
    *out = (ql_jvalue){0};
    if (of->kind == QL_J_UNDEFINED || of->kind == QL_J_NONE)
        return ql_jwrong(s, e->line, "'%.*s' of %s", (int)(name.n < 40 ? name.n : 40), name.text,
                         ql_jkind_text(of->kind));
    const ql_jvalue *v = of->kind == QL_J_DICT ? ql_jget(of->items, name) : NULL;
    if (v)
        *out = *v;
    return QRN_OK;
}

// By characters.
static ql_slice text_part(ql_slice s, size_t from, size_t to) {
    size_t at = 0, bytes, start = s.n, end = s.n;
    for (size_t i = 0; at < s.n; i++, at += bytes) {
        start = i == from ? at : start;
        end = i == to ? at : end;
        ql_utf8_read(s.text, s.n, at, &bytes);
    }
    return (ql_slice){s.text + start, end > start ? end - start : 0};
}

static qrn_status get_index(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *of,
                            const ql_jvalue *at, ql_jvalue *out) {
    if (at->kind == QL_J_TEXT)
        return get_attr(s, e, of, at->text, out);
    if (at->kind != QL_J_INT || (of->kind != QL_J_LIST && of->kind != QL_J_TEXT))
        return ql_jwrong(s, e->line, "%s cannot be an index of %s", ql_jkind_text(at->kind),
                         ql_jkind_text(of->kind));
    int64_t n = (int64_t)(of->kind == QL_J_LIST ? of->items->n : ql_jlength(of->text));
    int64_t i = at->i < 0 ? at->i + n : at->i;
    *out = (ql_jvalue){0};
    if (i < 0 || i >= n)
        return QRN_OK; // undefined, as in Jinja
    if (of->kind == QL_J_LIST) {
        *out = of->items->list[i].value;
    } else {
        ql_slice part = text_part(of->text, (size_t)i, (size_t)i + 1);
        *out = ql_jtext(part.text, part.n);
    }
    return QRN_OK;
}

// A bound of a slice, brought into 0..n.
static qrn_status eval_bound(ql_jstate *s, const ql_jexpr *e, int64_t n, int64_t otherwise,
                             int64_t *out) {
    ql_jvalue v;
    *out = otherwise;
    if (!e)
        return QRN_OK;
    QRN_TRY(eval(s, e, &v));
    if (v.kind != QL_J_INT)
        return ql_jwrong(s, e->line, "a slice wants numbers, found %s", ql_jkind_text(v.kind));
    *out = v.i < 0 ? v.i + n : v.i;
    *out = *out < 0 ? 0 : *out > n ? n : *out;
    return QRN_OK;
}

static qrn_status get_slice(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *of, ql_jvalue *out) {
    ql_jvalue by = ql_jint(1);
    int64_t from, to;
    if (of->kind != QL_J_LIST && of->kind != QL_J_TEXT)
        return ql_jwrong(s, e->line, "a slice of %s", ql_jkind_text(of->kind));
    int64_t n = (int64_t)(of->kind == QL_J_LIST ? of->items->n : ql_jlength(of->text));
    if (e->d)
        QRN_TRY(eval(s, e->d, &by));
    bool back = by.kind == QL_J_INT && by.i == -1 && !e->b && !e->c && of->kind == QL_J_LIST;
    if (!back && (by.kind != QL_J_INT || by.i != 1))
        return ql_jwrong(s, e->line, "slices have the step 1, or are [::-1] of a list");
    QRN_TRY(eval_bound(s, e->b, n, 0, &from));
    QRN_TRY(eval_bound(s, e->c, n, n, &to));
    if (of->kind == QL_J_TEXT) {
        ql_slice part = text_part(of->text, (size_t)from, (size_t)to);
        *out = ql_jtext(part.text, part.n);
        return QRN_OK;
    }
    *out = ql_jnew(s, QL_J_LIST);
    for (int64_t i = from; out->items && i < to; i++)
        if (!ql_jput(s, out->items, (ql_slice){0}, of->items->list[back ? n - 1 - i : i].value))
            return ql_jno_memory(s);
    return out->items ? QRN_OK : ql_jno_memory(s);
}

// --- operators

static qrn_status is_in(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *a, const ql_jvalue *b,
                        bool *out) {
    *out = false;
    if (b->kind == QL_J_TEXT && a->kind == QL_J_TEXT) {
        for (size_t i = 0; !*out && i + a->text.n <= b->text.n; i++)
            *out = memcmp(b->text.text + i, a->text.text, a->text.n) == 0;
        return QRN_OK;
    }
    if (b->kind == QL_J_DICT && a->kind == QL_J_TEXT) {
        *out = ql_jget(b->items, a->text);
        return QRN_OK;
    }
    if (b->kind != QL_J_LIST)
        return ql_jwrong(s, e->line, "'in' of %s and %s", ql_jkind_text(a->kind),
                         ql_jkind_text(b->kind));
    for (size_t i = 0; !*out && i < b->items->n; i++)
        *out = ql_jequal(a, &b->items->list[i].value);
    return QRN_OK;
}

static qrn_status compare(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *a, const ql_jvalue *b,
                          ql_jvalue *out) {
    if (is_text(e->text, "==") || is_text(e->text, "!=")) {
        *out = ql_jbool(ql_jequal(a, b) == (e->text.text[0] == '='));
        return QRN_OK;
    }
    if (is_text(e->text, "in") || is_text(e->text, "not in")) {
        bool in;
        QRN_TRY(is_in(s, e, a, b, &in));
        *out = ql_jbool(in == (e->text.text[0] == 'i'));
        return QRN_OK;
    }
    if (a->kind != QL_J_INT || b->kind != QL_J_INT)
        return ql_jwrong(s, e->line, "'%.*s' of %s and %s", (int)e->text.n, e->text.text,
                         ql_jkind_text(a->kind), ql_jkind_text(b->kind));
    bool less = e->text.text[0] == '<', equal = e->text.n == 2;
    *out = ql_jbool((less ? a->i < b->i : a->i > b->i) || (equal && a->i == b->i));
    return QRN_OK;
}

static qrn_status concat(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *a, const ql_jvalue *b,
                         ql_jvalue *out) {
    ql_bytes text = {0};
    qrn_status status = ql_jprint(s, e->line, a, &text);
    if (status == QRN_OK)
        status = ql_jprint(s, e->line, b, &text);
    if (status == QRN_OK)
        status = ql_jjoin(s, (ql_slice){text.data, text.n}, (ql_slice){0}, out);
    ql_bytes_free(&text);
    return status;
}

static qrn_status calculate(ql_jstate *s, const ql_jexpr *e, const ql_jvalue *a, const ql_jvalue *b,
                            ql_jvalue *out) {
    char sign = e->text.text[0];
    if (sign == '~')
        return concat(s, e, a, b, out);
    if (sign == '+' && a->kind == QL_J_TEXT && b->kind == QL_J_TEXT)
        return ql_jjoin(s, a->text, b->text, out);
    const int64_t most = INT32_MAX;
    bool small = a->i <= most && a->i >= -most && b->i <= most && b->i >= -most;
    bool divides = sign == '%' || sign == '/';
    if (a->kind != QL_J_INT || b->kind != QL_J_INT || !small || (divides && b->i <= 0) ||
        is_text(e->text, "/"))
        return ql_jwrong(s, e->line, "'%.*s' of %s and %s is not supported", (int)e->text.n,
                         e->text.text, ql_jkind_text(a->kind), ql_jkind_text(b->kind));
    int64_t rest = divides ? ((a->i % b->i) + b->i) % b->i : 0; // as Python rounds
    *out = ql_jint(sign == '+'   ? a->i + b->i
                   : sign == '-' ? a->i - b->i
                   : sign == '*' ? a->i * b->i
                   : sign == '%' ? rest
                                 : (a->i - rest) / b->i);
    return QRN_OK;
}

static qrn_status eval_binary(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out) {
    ql_jvalue a, b;
    QRN_TRY(eval(s, e->a, &a));
    bool is_or = is_text(e->text, "or");
    if (is_or || is_text(e->text, "and")) {
        if (ql_jtrue(&a) == is_or)
            return *out = a, QRN_OK;
        return eval(s, e->b, out);
    }
    QRN_TRY(eval(s, e->b, &b));
    return strchr("=!<>in", e->text.text[0]) ? compare(s, e, &a, &b, out)
                                             : calculate(s, e, &a, &b, out);
}

// --- calls

static qrn_status eval_args(ql_jstate *s, const ql_jexpr *e, ql_jargs *out) {
    *out = (ql_jargs){.n = 0};
    for (const ql_jarg *a = e->args; a; a = a->next) {
        if (out->n == QL_J_MAX_ARGS)
            return ql_jwrong(s, e->line, "too many arguments");
        out->names[out->n] = a->name;
        QRN_TRY(eval(s, a->value, &out->values[out->n++]));
    }
    return QRN_OK;
}

static qrn_status eval_call(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out) {
    ql_jargs args;
    ql_jvalue of;
    if (e->a->op != QL_J_NAME && e->a->op != QL_J_ATTR)
        return ql_jwrong(s, e->line, "this cannot be called");
    if (e->a->op == QL_J_ATTR)
        QRN_TRY(eval(s, e->a->a, &of));
    QRN_TRY(eval_args(s, e, &args));
    return e->a->op == QL_J_NAME ? ql_jfunction(s, e, &args, out)
                                 : ql_jmethod(s, e, &of, &args, out);
}

static qrn_status eval_items(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out) {
    *out = ql_jnew(s, e->flag ? QL_J_DICT : QL_J_LIST);
    if (!out->items)
        return ql_jno_memory(s);
    for (const ql_jarg *a = e->args; a; a = a->next) {
        ql_jvalue v;
        QRN_TRY(eval(s, a->value, &v));
        if (!ql_jput(s, out->items, a->name, v))
            return ql_jno_memory(s);
    }
    return QRN_OK;
}

static qrn_status eval_of(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out) {
    ql_jvalue a, b;
    ql_jargs args;
    bool is;
    QRN_TRY(eval(s, e->a, &a));
    switch (e->op) {
    case QL_J_ATTR:
        return get_attr(s, e, &a, e->text, out);
    case QL_J_INDEX:
        QRN_TRY(eval(s, e->b, &b));
        return get_index(s, e, &a, &b, out);
    case QL_J_SLICE:
        return get_slice(s, e, &a, out);
    case QL_J_FILTER:
        QRN_TRY(eval_args(s, e, &args));
        return ql_jfilter(s, e, &a, &args, out);
    case QL_J_TEST:
        QRN_TRY(ql_jtest(s, e, &a, &is));
        *out = ql_jbool(is != e->flag);
        return QRN_OK;
    case QL_J_NOT:
        *out = ql_jbool(!ql_jtrue(&a));
        return QRN_OK;
    default: // QL_J_MINUS
        *out = ql_jint(-a.i);
        return a.kind == QL_J_INT ? QRN_OK
                                  : ql_jwrong(s, e->line, "'-' of %s", ql_jkind_text(a.kind));
    }
}

static qrn_status eval_any(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out) {
    const ql_jvalue *found;
    ql_jvalue is;
    switch (e->op) {
    case QL_J_CONST:
        *out = e->value;
        return QRN_OK;
    case QL_J_NAME:
        found = find_name(s, e->text);
        *out = found ? *found : (ql_jvalue){0};
        return QRN_OK;
    case QL_J_CALL:
        return eval_call(s, e, out);
    case QL_J_BINARY:
        return eval_binary(s, e, out);
    case QL_J_ITEMS:
        return eval_items(s, e, out);
    case QL_J_IF:
        QRN_TRY(eval(s, e->b, &is));
        if (ql_jtrue(&is))
            return eval(s, e->a, out);
        *out = (ql_jvalue){0};
        return e->c ? eval(s, e->c, out) : QRN_OK;
    default:
        return eval_of(s, e, out);
    }
}

static qrn_status eval(ql_jstate *s, const ql_jexpr *e, ql_jvalue *out) {
    QRN_TRY(step(s, e->line));
    if (++s->depth > MAX_DEPTH)
        return ql_jwrong(s, e->line, "an expression is nested too deeply");
    qrn_status status = eval_any(s, e, out);
    s->depth--;
    return status;
}

// --- statements

static qrn_status run_nodes(ql_jstate *s, const ql_jnode *n, flow *how);

// The variable `loop`.
static qrn_status make_loop(ql_jstate *s, int64_t i, int64_t n, ql_jvalue *out) {
    const struct {
        const char *name;
        ql_jvalue value;
    } fields[] = {{"index0", ql_jint(i)},           {"index", ql_jint(i + 1)},
                  {"first", ql_jbool(i == 0)},      {"last", ql_jbool(i + 1 == n)},
                  {"length", ql_jint(n)},           {"revindex", ql_jint(n - i)},
                  {"revindex0", ql_jint(n - i - 1)}};
    *out = ql_jnew(s, QL_J_DICT);
    for (size_t k = 0; out->items && k < sizeof fields / sizeof fields[0]; k++)
        if (!ql_jput(s, out->items, (ql_slice){fields[k].name, strlen(fields[k].name)},
                     fields[k].value))
            return ql_jno_memory(s);
    return out->items ? QRN_OK : ql_jno_memory(s);
}

// Names of one turn of a loop.
static qrn_status bind(ql_jstate *s, const ql_jnode *n, const ql_jvalue *item) {
    bool ok;
    if (n->second.n == 0) {
        ok = ql_jput(s, s->scope->names, n->text, *item);
    } else {
        if (item->kind != QL_J_LIST || item->items->n != 2)
            return ql_jwrong(s, n->line, "two names for an item that is not a pair");
        ok = ql_jput(s, s->scope->names, n->text, item->items->list[0].value) &&
             ql_jput(s, s->scope->names, n->second, item->items->list[1].value);
    }
    return ok ? QRN_OK : ql_jno_memory(s);
}

static qrn_status run_turn(ql_jstate *s, const ql_jnode *n, const ql_jvalue *item, int64_t i,
                           int64_t count, flow *how) {
    ql_jvalue loop;
    QRN_TRY(bind(s, n, item));
    QRN_TRY(make_loop(s, i, count, &loop));
    if (!ql_jput(s, s->scope->names, (ql_slice){"loop", 4}, loop))
        return ql_jno_memory(s);
    return run_nodes(s, n->body, how);
}

// The items that the loop's condition leaves.
static qrn_status choose_items(ql_jstate *s, const ql_jnode *n, const ql_jvalue *all,
                               ql_jvalue *out) {
    *out = ql_jnew(s, QL_J_LIST);
    for (size_t i = 0; out->items && i < all->items->n; i++) {
        ql_jvalue item = all->items->list[i].value, is = ql_jbool(true);
        if (all->kind == QL_J_DICT)
            item = ql_jtext(all->items->list[i].key.text, all->items->list[i].key.n);
        QRN_TRY(bind(s, n, &item));
        if (n->when)
            QRN_TRY(eval(s, n->when, &is));
        if (ql_jtrue(&is) && !ql_jput(s, out->items, (ql_slice){0}, item))
            return ql_jno_memory(s);
    }
    return out->items ? QRN_OK : ql_jno_memory(s);
}

static qrn_status run_for(ql_jstate *s, const ql_jnode *n, flow *how) {
    ql_jvalue all, items;
    ql_jscope *outer = s->scope;
    QRN_TRY(eval(s, n->a, &all));
    if (all.kind == QL_J_UNDEFINED)
        return run_nodes(s, n->otherwise, how); // an empty list, as in Jinja
    if (all.kind != QL_J_LIST && all.kind != QL_J_DICT)
        return ql_jwrong(s, n->line, "for over %s", ql_jkind_text(all.kind));
    ql_jscope scope = {.names = ql_jnew(s, QL_J_DICT).items, .outer = outer};
    if (!scope.names)
        return ql_jno_memory(s);
    s->scope = &scope;
    qrn_status status = choose_items(s, n, &all, &items);
    flow inside = GO_ON;
    for (size_t i = 0; status == QRN_OK && i < items.items->n && inside != BREAK; i++) {
        scope.names->n = 0; // each turn begins anew
        inside = GO_ON;
        status = run_turn(s, n, &items.items->list[i].value, (int64_t)i, (int64_t)items.items->n,
                          &inside);
    }
    s->scope = outer;
    if (status == QRN_OK && items.items->n == 0)
        status = run_nodes(s, n->otherwise, how);
    return status;
}

static qrn_status run_set(ql_jstate *s, const ql_jnode *n) {
    ql_jvalue v;
    QRN_TRY(eval(s, n->a, &v));
    ql_jitems *to = s->scope->names;
    ql_slice name = n->text;
    if (n->second.n) {
        const ql_jvalue *of = find_name(s, n->text);
        if (!of || of->kind != QL_J_DICT || !of->items->is_namespace)
            return ql_jwrong(s, n->line, "'%.*s' is no namespace", (int)(name.n < 40 ? name.n : 40),
                             name.text);
        to = of->items;
        name = n->second;
    }
    return ql_jput(s, to, name, v) ? QRN_OK : ql_jno_memory(s);
}

static qrn_status run_node(ql_jstate *s, const ql_jnode *n, flow *how) {
    ql_jvalue v;
    switch (n->kind) {
    case QL_J_TEXT_NODE:
        return ql_bytes_add(s->out, n->text.text, n->text.n);
    case QL_J_OUTPUT:
        QRN_TRY(eval(s, n->a, &v));
        return ql_jprint(s, n->line, &v, s->out);
    case QL_J_IF_NODE:
        QRN_TRY(eval(s, n->a, &v));
        return run_nodes(s, ql_jtrue(&v) ? n->body : n->otherwise, how);
    case QL_J_FOR:
        return run_for(s, n, how);
    case QL_J_SET:
        return run_set(s, n);
    default:
        *how = n->kind == QL_J_BREAK ? BREAK : CONTINUE;
        return QRN_OK;
    }
}

static qrn_status run_nodes(ql_jstate *s, const ql_jnode *n, flow *how) {
    for (; n && *how == GO_ON; n = n->next) {
        QRN_TRY(step(s, n->line));
        if (s->out->n > MOST_BYTES)
            return ql_jwrong(s, n->line, "the text is too long");
        QRN_TRY(run_node(s, n, how));
    }
    return QRN_OK;
}

// --- what a template sees

static bool put_word(ql_jstate *s, ql_jitems *to, const char *key, const char *text) {
    return !text || ql_jput(s, to, (ql_slice){key, strlen(key)}, ql_jtext(text, strlen(text)));
}

static qrn_status set_names(ql_jstate *s, const ql_conversation *c) {
    ql_jitems *names = s->scope->names;
    ql_jvalue messages = ql_jnew(s, QL_J_LIST), tools = {.kind = QL_J_NONE};
    if (c->tools)
        QRN_TRY(ql_jfrom_json(s, c->tools, &tools));
    bool ok = messages.items && put_word(s, names, "bos_token", c->bos) &&
              put_word(s, names, "eos_token", c->eos) &&
              ql_jput(s, names, (ql_slice){"add_generation_prompt", 21}, ql_jbool(c->answer)) &&
              ql_jput(s, names, (ql_slice){"tools", 5}, tools) &&
              ql_jput(s, names, (ql_slice){"documents", 9}, (ql_jvalue){.kind = QL_J_NONE});
    for (uint32_t i = 0; ok && i < c->n; i++) {
        ql_jvalue m = ql_jnew(s, QL_J_DICT);
        ok = m.items && put_word(s, m.items, "role", c->messages[i].role) &&
             put_word(s, m.items, "content", c->messages[i].content) &&
             ql_jput(s, messages.items, (ql_slice){0}, m);
    }
    return ok && ql_jput(s, names, (ql_slice){"messages", 8}, messages) ? QRN_OK : ql_jno_memory(s);
}

qrn_status ql_template_render(const char *name, const char *source, const ql_conversation *about,
                              ql_bytes *out) {
    qrn_arena *arena = qrn_arena_create();
    if (!arena)
        return QRN_FAIL(QRN_E_MEM, "%s: no memory", name);
    qrn_arena_limit(arena, MOST_BYTES);
    ql_jscope scope = {0};
    ql_jstate s = {.name = name, .arena = arena, .scope = &scope, .out = out};
    s.steps_left = MOST_STEPS;
    ql_jnode *nodes;
    flow how = GO_ON;
    scope.names = ql_jnew(&s, QL_J_DICT).items;
    qrn_status status = scope.names ? set_names(&s, about) : ql_jno_memory(&s);
    if (status == QRN_OK)
        status = ql_template_parse(name, source, arena, &nodes);
    if (status == QRN_OK)
        status = run_nodes(&s, nodes, &how);
    qrn_arena_destroy(arena);
    return status;
}
