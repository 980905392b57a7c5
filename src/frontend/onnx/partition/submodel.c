// SPDX-License-Identifier: MIT
//
// A group of nodes as a model of its own, with the borders that it has in the whole graph.
#include "frontend/onnx/partition/plan.h"

#include "base/mem.h"

#include <string.h>

typedef struct border_scan {
    const ox_graph *g;
    const ox_plan *plan;
    int32_t group;
    bool *member; // nodes that are in the group, by themselves or as a copy
    qrn_arena *arena;
    qrn_strmap made;      // values of the group's own nodes
    qrn_strmap known;     // constants, and inputs that are listed already
    qrn_strmap read;      // by others: nodes of other groups, and the graph's end
    qrn_strmap needed;    // names that members read
    qrn_strmap described; // ox_info of values
    ox_info *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
    bool hides_inputs;
    bool no_memory;
} border_scan;

static bool in_group(const border_scan *s, uint32_t i) { return s->member[i]; }

static void note(border_scan *s, qrn_strmap *map, const char *name) {
    static const char mark;
    if (name[0] && !qrn_strmap_put(map, name, (void *)(uintptr_t)&mark))
        s->no_memory = true;
}

// Names that a node reads, those of its bodies where they are asked for.
static void for_inputs(border_scan *s, const ox_node *n, bool bodies,
                       void (*fn)(border_scan *, const char *name)) {
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i][0])
            fn(s, n->in[i]);
    for (uint32_t i = 0; bodies && i < n->n_attrs; i++) {
        const ox_graph *body = n->attrs[i].g;
        for (uint32_t k = 0; body && k < body->n_nodes; k++)
            for_inputs(s, &body->nodes[k], true, fn);
        for (uint32_t k = 0; body && k < body->n_outputs; k++)
            fn(s, body->outputs[k].name);
    }
}

static void note_read(border_scan *s, const char *name) { note(s, &s->read, name); }

static void note_infos(border_scan *s, const ox_info *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!qrn_strmap_get(&s->described, list[i].name) &&
            !qrn_strmap_put(&s->described, list[i].name, (void *)(uintptr_t)&list[i]))
            s->no_memory = true;
}

// What the trial found counts for more than what the model says, which may have symbols.
static void note_descriptions(border_scan *s) {
    note_infos(s, s->g->inputs, s->g->n_inputs);
    note_infos(s, s->plan->shapes, s->plan->n_shapes);
    note_infos(s, s->g->infos, s->g->n_infos);
}

static const ox_info *describe(const border_scan *s, const char *name) {
    return qrn_strmap_get(&s->described, name);
}

// What comes from outside. Names that only a body makes have no description and are left out.
static void note_input(border_scan *s, const char *name) {
    if (qrn_strmap_get(&s->made, name) || qrn_strmap_get(&s->known, name))
        return;
    const ox_info *info = describe(s, name);
    note(s, &s->known, name);
    if (info)
        s->inputs[s->n_inputs++] = *info;
}

static void note_needed(border_scan *s, const char *name) { note(s, &s->needed, name); }

static bool any_output(const ox_node *n, const qrn_strmap *map) {
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i][0] && qrn_strmap_get(map, n->out[i]))
            return true;
    return false;
}

// The group's own nodes, and copies of those that go with everybody who reads them.
static void find_members(border_scan *s) {
    const ox_graph *g = s->g;
    const bool *copied = s->plan->copied;
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        s->member[i] = s->plan->group[i] == s->group ||
                       (copied && copied[i] && any_output(&g->nodes[i], &s->needed));
        if (s->member[i])
            for_inputs(s, &g->nodes[i], true, note_needed);
    }
}

// What copies in other groups read, besides.
static void note_copies(border_scan *s) {
    const ox_graph *g = s->g;
    for (uint32_t i = 0; s->plan->copied && i < g->n_nodes; i++)
        if (s->member[i] && s->plan->copied[i] && any_output(&g->nodes[i], &s->read))
            for_inputs(s, &g->nodes[i], true, note_read);
}

static void scan(border_scan *s) {
    const ox_graph *g = s->g;
    find_members(s);
    note_descriptions(s);
    for (uint32_t i = 0; i < g->n_constants; i++)
        note(s, &s->known, g->constants[i].name);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!in_group(s, i)) {
            for_inputs(s, &g->nodes[i], true, note_read);
            continue;
        }
        for (uint32_t j = 0; j < g->nodes[i].n_out; j++)
            note(s, &s->made, g->nodes[i].out[j]);
    }
    note_copies(s);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        note_read(s, g->outputs[i].name);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!in_group(s, i))
            continue;
        for_inputs(s, &g->nodes[i], !s->hides_inputs, note_input);
        if (s->plan->group[i] != s->group)
            continue; // a copy: its own group gives the value to others
        for (uint32_t j = 0; j < g->nodes[i].n_out; j++) {
            const char *name = g->nodes[i].out[j];
            const ox_info *info = describe(s, name);
            if (name[0] && qrn_strmap_get(&s->read, name))
                s->outputs[s->n_outputs++] = info ? *info : (ox_info){.name = name};
        }
    }
}

// Room for every name that could be a border.
static uint32_t count_names(const ox_graph *g) {
    uint32_t n = g->n_inputs + g->n_infos + 1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].n_out;
    return n;
}

qrn_status ox_submodel(const ox_model *m, const ox_plan *plan, uint32_t group, bool hides_inputs,
                       ox_model *out, uint32_t **index) {
    const ox_graph *g = m->graph;
    qrn_arena *arena = m->arena;
    uint32_t room = count_names(g), n = 0;
    ox_node *nodes = qrn_arena_alloc(arena, (g->n_nodes + 1) * sizeof *nodes);
    ox_graph *sub = qrn_arena_alloc(arena, sizeof *sub);
    *index = qrn_arena_alloc(arena, (g->n_nodes + 1) * sizeof **index);
    border_scan s = {.g = g,
                     .plan = plan,
                     .group = (int32_t)group,
                     .hides_inputs = hides_inputs,
                     .member = qrn_arena_alloc(arena, (g->n_nodes + 1) * sizeof *s.member),
                     .inputs = qrn_arena_alloc(arena, room * sizeof *s.inputs),
                     .outputs = qrn_arena_alloc(arena, room * sizeof *s.outputs)};
    if (nodes && sub && *index && s.member && s.inputs && s.outputs)
        scan(&s);
    else
        s.no_memory = true;
    qrn_strmap_clear(&s.made);
    qrn_strmap_clear(&s.known);
    qrn_strmap_clear(&s.read);
    qrn_strmap_clear(&s.described);
    qrn_strmap_clear(&s.needed);
    if (s.no_memory)
        return QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (in_group(&s, i)) {
            (*index)[n] = i;
            nodes[n++] = g->nodes[i];
        }
    *sub = *g;
    sub->nodes = nodes;
    sub->n_nodes = n;
    sub->inputs = s.inputs;
    sub->n_inputs = s.n_inputs;
    sub->outputs = s.outputs;
    sub->n_outputs = s.n_outputs;
    *out = *m;
    out->graph = sub;
    return QRN_OK;
}
