// SPDX-License-Identifier: MIT
//
// Drawing ops that hold graphs (If, Loop, Scan, SequenceMap), sequences and optionals, and calls of
// functions of the model.
#include "onnx_draw.h"

enum { F32 = 1, I64 = 7, BOOL = 9 };

static m_node *add(draft *d, const char *op, const char *a, const char *b) {
    m_node *n = m_add_node(d->mem, d->g, op, "");
    static m_node lost;
    if (!n)
        return lost = (m_node){0}, &lost;
    if (a)
        m_node_in(n, a);
    if (b)
        m_node_in(n, b);
    return n;
}

// The node's next output, as a value or (type 0) as something else.
static const char *out(draft *d, m_node *n, int type, int32_t rank, const int64_t *dims) {
    const char *name = draft_name(d, "v");
    m_node_out(n, name);
    if (type)
        draft_value(d, name, type, rank, dims);
    return name;
}

static d_value *parameter(draft *d, const char *prefix, int type, int32_t rank,
                          const int64_t *dims) {
    const char *name = draft_name(d, prefix);
    bool declared = !draw_chance(d->s, 20);
    m_add_info(d->g->inputs, &d->g->n_inputs, M_IO, name, type, declared ? rank : -1, dims);
    return draft_value(d, name, type, rank, dims);
}

static void some_nodes(draft *d, uint32_t most) {
    for (uint32_t i = draw_below(d->s, most + 1); i > 0; i--)
        if (draw_chance(d->s, 60))
            draw_simple(d);
        else
            draw_node(d);
}

// The last step of a body: a value of the same shape as x.
static void finish(draft *body, const char *x, int32_t rank, const int64_t *dims) {
    static const char *const ops[] = {"Tanh", "Neg", "Identity", "Abs"};
    m_node *n = add(body, DRAW_FROM(body->s, ops), x, NULL);
    const char *y = out(body, n, F32, rank, dims);
    m_add_info(body->g->outputs, &body->g->n_outputs, M_IO, y, F32,
               draw_chance(body->s, 50) ? rank : -1, dims);
}

static d_value *condition(draft *d) {
    if (d->outer || draw_chance(d->s, 40))
        return draft_constant(d, BOOL, 0, NULL, &(double){draw_below(d->s, 2)}, 1);
    return draft_input(d, BOOL, 0, NULL);
}

static void draw_if(draft *d) {
    d_value x = *draft_some(d);
    d_value *c = condition(d);
    m_node *n = add(d, "If", c ? c->name : "", NULL);
    static const char *const names[] = {"then_branch", "else_branch"};
    for (int i = 0; i < 2; i++) {
        draft *body = draft_inner(d, names[i]);
        some_nodes(body, 2);
        finish(body, x.name, x.rank, x.dims);
        m_node_attr(n, names[i], 5)->g = body->g;
    }
    out(d, n, F32, x.rank, x.dims);
}

static void draw_loop(draft *d) {
    d_value x = *draft_some(d);
    int64_t times = draw_below(d->s, 4);
    d_value *count = draft_integer(d, times);
    d_value *go = draw_chance(d->s, 50)
                      ? draft_constant(d, BOOL, 0, NULL, &(double){!draw_chance(d->s, 10)}, 1)
                      : NULL;
    m_node *n = add(d, "Loop", count ? count->name : "", go ? go->name : "");
    m_node_in(n, x.name);
    draft *body = draft_inner(d, "body");
    parameter(body, "i", I64, 0, NULL);
    const char *on = parameter(body, "b", BOOL, 0, NULL)->name;
    d_value *state = parameter(body, "s", F32, x.rank, x.dims);
    some_nodes(body, 2);
    const char *stays = out(body, add(body, "Identity", on, NULL), BOOL, 0, NULL);
    m_add_info(body->g->outputs, &body->g->n_outputs, M_IO, stays, BOOL, 0, NULL);
    finish(body, state->name, x.rank, x.dims);
    out(d, n, F32, x.rank, x.dims);
    if (draw_chance(d->s, 50)) { // what every turn makes, stacked
        finish(body, state->name, x.rank, x.dims);
        out(d, n, F32, -1, NULL);
    }
    m_node_attr(n, "body", 5)->g = body->g;
}

static void draw_scan(draft *d) {
    d_value x = *draft_some(d);
    d_value state = *draft_input(d, F32, x.rank - 1, x.dims + 1);
    m_node *n = add(d, "Scan", state.name, x.name);
    draft *body = draft_inner(d, "body");
    const char *s = parameter(body, "s", F32, x.rank - 1, x.dims + 1)->name;
    const char *part = parameter(body, "e", F32, x.rank - 1, x.dims + 1)->name;
    const char *sum = out(body, add(body, "Add", s, part), F32, x.rank - 1, x.dims + 1);
    m_add_info(body->g->outputs, &body->g->n_outputs, M_IO, sum, F32, -1, NULL);
    some_nodes(body, 1);
    finish(body, sum, x.rank - 1, x.dims + 1);
    m_node_attr(n, "body", 5)->g = body->g;
    m_node_attr(n, "num_scan_inputs", 2)->i = 1;
    if (draw_chance(d->s, 40)) {
        int64_t *way = scrap_new(d->mem, sizeof *way, 0);
        way[0] = draw_below(d->s, 2);
        m_attr *a = m_node_attr(
            n, draw_chance(d->s, 50) ? "scan_input_directions" : "scan_output_directions", 7);
        a->ints = way;
        a->n = 1;
    }
    out(d, n, F32, x.rank - 1, x.dims + 1);
    out(d, n, F32, x.rank, x.dims);
}

// --- sequences

static const char *draw_map(draft *d, const char *sequence) {
    m_node *n = add(d, "SequenceMap", sequence, NULL);
    draft *body = draft_inner(d, "body");
    d_value *x = parameter(body, "e", F32, -1, NULL);
    x->rank = -1;
    finish(body, x->name, -1, NULL);
    m_node_attr(n, "body", 5)->g = body->g;
    return out(d, n, 0, 0, NULL);
}

static const char *make_sequence(draft *d, const d_value *x) {
    switch (draw_below(d->s, 4)) {
    case 0: {
        const char *empty = out(d, add(d, "SequenceEmpty", NULL, NULL), 0, 0, NULL);
        return out(d, add(d, "SequenceInsert", empty, x->name), 0, 0, NULL);
    }
    case 1: {
        m_node *n = add(d, "SplitToSequence", x->name, NULL);
        if (draw_chance(d->s, 50))
            m_node_attr(n, "keepdims", 2)->i = draw_below(d->s, 2);
        return out(d, n, 0, 0, NULL);
    }
    default: {
        m_node *n = add(d, "SequenceConstruct", x->name, NULL);
        for (uint32_t i = draw_below(d->s, 3); i > 0; i--)
            m_node_in(n, x->name);
        return out(d, n, 0, 0, NULL);
    }
    }
}

static const char *change_sequence(draft *d, const char *q, const d_value *x) {
    d_value *at = draw_chance(d->s, 50) ? draft_integer(d, (int64_t)draw_below(d->s, 3) - 1) : NULL;
    switch (draw_below(d->s, 3)) {
    case 0: {
        m_node *n = add(d, "SequenceInsert", q, x->name);
        if (at)
            m_node_in(n, at->name);
        return out(d, n, 0, 0, NULL);
    }
    case 1:
        return out(d, add(d, "SequenceErase", q, at ? at->name : NULL), 0, 0, NULL);
    default:
        return draw_map(d, q);
    }
}

static void read_sequence(draft *d, const char *q) {
    m_node *n;
    switch (draw_below(d->s, 4)) {
    case 0:
        out(d, add(d, "SequenceLength", q, NULL), I64, 0, NULL);
        break;
    case 1:
        n = add(d, "ConcatFromSequence", q, NULL);
        m_node_attr(n, "axis", 2)->i = draw_below(d->s, 2);
        if (draw_chance(d->s, 40))
            m_node_attr(n, "new_axis", 2)->i = draw_below(d->s, 2);
        out(d, n, F32, -1, NULL);
        break;
    default: {
        d_value *at = draft_integer(d, (int64_t)draw_below(d->s, 3) - 1);
        n = add(d, "SequenceAt", q, at ? at->name : "");
        const char *item = out(d, n, F32, -1, NULL);
        out(d, add(d, "Relu", item, NULL), F32, -1, NULL);
    }
    }
}

static void draw_sequence(draft *d) {
    d_value x = *draft_some(d);
    const char *q = make_sequence(d, &x);
    for (uint32_t i = draw_below(d->s, 3); i > 0; i--)
        q = change_sequence(d, q, &x);
    read_sequence(d, q);
}

static void draw_optional(draft *d) {
    d_value x = *draft_some(d);
    const char *o = out(d, add(d, "Optional", x.name, NULL), 0, 0, NULL);
    if (draw_chance(d->s, 50)) {
        const char *has = out(d, add(d, "OptionalHasElement", o, NULL), BOOL, 0, NULL);
        m_node *n = add(d, "Where", has, x.name);
        m_node_in(n, x.name);
        out(d, n, F32, x.rank, x.dims);
        return;
    }
    const char *y = out(d, add(d, "OptionalGetElement", o, NULL), F32, x.rank, x.dims);
    out(d, add(d, "Neg", y, NULL), F32, x.rank, x.dims);
}

// --- functions

static void draw_function(draft *d) {
    m_model *m = d->m;
    if (m->n_functions == sizeof m->functions / sizeof m->functions[0])
        return;
    d_value x = *draft_some(d);
    draft *body = draft_inner(d, draft_name(d, "f"));
    body->outer = NULL; // a function sees nothing but its inputs
    body->function = true;
    body->g->domain = "local";
    const char *p = parameter(body, "p", F32, x.rank, x.dims)->name;
    some_nodes(body, 3);
    if (m->n_functions && draw_chance(d->s, 40)) { // calls another one
        m_node *call = add(body, m->functions[0]->name, p, NULL);
        call->domain = "local";
        p = out(body, call, F32, x.rank, x.dims);
    }
    finish(body, p, x.rank, x.dims);
    m->functions[m->n_functions++] = body->g;
    m_node *n = add(d, body->g->name, x.name, NULL);
    n->domain = "local";
    out(d, n, F32, x.rank, x.dims);
}

void draw_nested(draft *d) {
    static void (*const kinds[])(draft *) = {draw_if,       draw_loop,     draw_scan,
                                             draw_sequence, draw_optional, draw_function};
    if (!d->m->opset)
        d->m->opset = 17;
    DRAW_FROM(d->s, kinds)(d);
}
