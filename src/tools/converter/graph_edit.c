// SPDX-License-Identifier: MIT
#include "tools/converter/graph_edit.h"

#include "tools/quern/output.h"

#include <stdio.h>
#include <string.h>

bool cv_has_value(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            if (strcmp(g->nodes[i].out[k], name) == 0)
                return true;
    }
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return true;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (strcmp(g->inputs[i].name, name) == 0)
            return true;
    return false;
}

// A name that no value has: "<base>_<what>", with _ behind it while it is taken.
static const char *new_name(const cv_model *m, const char *base, const char *what) {
    size_t n = strlen(base) + strlen(what) + 40;
    char *name = qrn_arena_alloc(m->arena, n);
    if (!name)
        return NULL;
    snprintf(name, n, "%s_%s", base, what);
    for (int i = 2; i < 1000 && cv_has_value(m->model->graph, name); i++)
        snprintf(name, n, "%s_%s_%d", base, what, i);
    return name;
}

// Nodes may hold graphs that read values of this one; names cannot be changed there.
static int check_flat(const cv_model *m) {
    const ox_graph *g = m->model->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_attrs; k++)
            if (g->nodes[i].attrs[k].g) {
                qt_error("%s: node '%s' (%s) holds a graph; layout and type of inputs and outputs "
                         "of such models cannot be changed",
                         m->path, g->nodes[i].name, g->nodes[i].op);
                return QT_EXIT_REFUSED;
            }
    return QT_EXIT_OK;
}

// A copy of the nodes with room for one more, and of all lists of names.
static ox_node *copy_nodes(const cv_model *m) {
    const ox_graph *g = m->model->graph;
    ox_node *nodes = qrn_arena_alloc(m->arena, (g->n_nodes + 1u) * sizeof *nodes);
    for (uint32_t i = 0; nodes && i < g->n_nodes; i++) {
        ox_node *n = &nodes[i + 1];
        *n = g->nodes[i];
        const char **in = qrn_arena_alloc(m->arena, (n->n_in + 1u) * sizeof *in);
        const char **out = qrn_arena_alloc(m->arena, (n->n_out + 1u) * sizeof *out);
        if (!in || !out)
            return NULL;
        memcpy(in, n->in, n->n_in * sizeof *in);
        memcpy(out, n->out, n->n_out * sizeof *out);
        n->in = in;
        n->out = out;
    }
    return nodes; // the first is free
}

static void rename_all(const char **list, uint32_t n, const char *from, const char *to) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i], from) == 0)
            list[i] = to;
}

static bool fill_node(const cv_model *m, ox_node *to, const cv_node *from, const char *out) {
    const char **in = qrn_arena_alloc(m->arena, 3 * sizeof *in);
    const char **made = qrn_arena_alloc(m->arena, sizeof *made);
    if (!in || !made)
        return false;
    made[0] = out;
    *to = (ox_node){.name = out,
                    .op = from->op,
                    .domain = "",
                    .in = in,
                    .out = made,
                    .n_out = 1,
                    .attrs = from->attrs,
                    .n_attrs = from->n_attrs};
    while (to->n_in < 3 && from->in[to->n_in]) {
        in[to->n_in] = from->in[to->n_in];
        to->n_in++;
    }
    return true;
}

int cv_declare(cv_model *m, bool is_output, const ox_info *info) {
    ox_graph *g = m->model->graph;
    uint32_t n = is_output ? g->n_outputs : g->n_inputs;
    ox_info *list = qrn_arena_copy(m->arena, is_output ? g->outputs : g->inputs, n * sizeof *list);
    if (!list)
        return cv_no_memory();
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, info->name) == 0)
            list[i] = *info;
    *(is_output ? &g->outputs : &g->inputs) = list;
    return QT_EXIT_OK;
}

int cv_behind_input(cv_model *m, const char *name, const ox_info *info, const cv_node *node) {
    int code = check_flat(m);
    if (code != QT_EXIT_OK)
        return code;
    ox_graph *g = m->model->graph;
    const char *inner = new_name(m, name, "inner");
    ox_node *nodes = inner ? copy_nodes(m) : NULL;
    if (!nodes || !fill_node(m, &nodes[0], node, inner))
        return cv_no_memory();
    for (uint32_t i = 0; i < g->n_nodes; i++)
        rename_all(nodes[i + 1].in, nodes[i + 1].n_in, name, inner);
    g->nodes = nodes;
    g->n_nodes++;
    return cv_declare(m, false, info);
}

int cv_before_output(cv_model *m, const char *name, const ox_info *info, const cv_node *node) {
    int code = check_flat(m);
    if (code != QT_EXIT_OK)
        return code;
    ox_graph *g = m->model->graph;
    cv_node last = *node;
    const char *inner = new_name(m, name, "inner");
    ox_node *nodes = inner ? copy_nodes(m) : NULL, first;
    last.in[0] = inner;
    if (!nodes || !fill_node(m, &first, &last, name))
        return cv_no_memory();
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        nodes[i] = nodes[i + 1];
        rename_all(nodes[i].in, nodes[i].n_in, name, inner);
        rename_all(nodes[i].out, nodes[i].n_out, name, inner);
    }
    nodes[g->n_nodes] = first;
    g->nodes = nodes;
    g->n_nodes++;
    return cv_declare(m, true, info);
}

const char *cv_constant(cv_model *m, const char *base, int type, uint32_t n, const void *data,
                        size_t bytes) {
    ox_graph *g = m->model->graph;
    const char *name = new_name(m, base, "constant");
    ox_tensor *list = qrn_arena_alloc(m->arena, (g->n_constants + 1u) * sizeof *list);
    void *copy = qrn_arena_copy(m->arena, data, bytes);
    if (!name || !list || !copy) {
        cv_no_memory();
        return NULL;
    }
    if (g->n_constants)
        memcpy(list, g->constants, g->n_constants * sizeof *list);
    list[g->n_constants] = (ox_tensor){.name = name,
                                       .type = type,
                                       .rank = n > 1 ? 1 : 0,
                                       .dims = {n},
                                       .data = copy,
                                       .bytes = bytes};
    g->constants = list;
    g->n_constants++;
    return name;
}

int cv_bypass(cv_model *m, uint32_t i, const char *from, const char *to) {
    ox_graph *g = m->model->graph;
    ox_node *nodes = copy_nodes(m);
    uint32_t n = 0;
    if (!nodes)
        return cv_no_memory();
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        if (k == i)
            continue;
        ox_node next = nodes[k + 1];
        rename_all(next.in, next.n_in, from, to);
        rename_all(next.out, next.n_out, from, to);
        nodes[n++] = next;
    }
    g->nodes = nodes;
    g->n_nodes = n;
    return QT_EXIT_OK;
}
