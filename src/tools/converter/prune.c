// SPDX-License-Identifier: MIT
//
// Choosing outputs: a walk from the last node to the first, as nodes are in topological order.
// Graphs inside of nodes may read values of the main graph.
#include "tools/converter/prune.h"

#include "base/strmap.h"

#include <string.h>

static char there; // what the map says of a value that is needed

static qrn_status no_memory(void) {
    return QRN_FAIL(QRN_E_MEM, "out of memory for the nodes of the model");
}

static bool need(qrn_strmap *needed, const char *name) {
    return !*name || qrn_strmap_get(needed, name) || qrn_strmap_put(needed, name, &there);
}

static bool need_inputs(qrn_strmap *needed, const ox_node *n) {
    bool ok = true;
    for (uint32_t i = 0; i < n->n_in; i++)
        ok = ok && need(needed, n->in[i]);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const ox_graph *g = n->attrs[i].g;
        for (uint32_t k = 0; g && k < g->n_nodes; k++)
            ok = ok && need_inputs(needed, &g->nodes[k]);
        for (uint32_t k = 0; g && k < g->n_outputs; k++)
            ok = ok && need(needed, g->outputs[k].name);
    }
    return ok;
}

static bool is_needed(const qrn_strmap *needed, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++)
        if (*n->out[i] && qrn_strmap_get(needed, n->out[i]))
            return true;
    return false;
}

static bool has_value(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            if (strcmp(g->nodes[i].out[k], name) == 0)
                return true;
    return false;
}

// The declaration of a value: an output's own, or one that the file has beside.
static ox_info info_of(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (strcmp(g->outputs[i].name, name) == 0)
            return g->outputs[i];
    for (uint32_t i = 0; i < g->n_infos; i++)
        if (strcmp(g->infos[i].name, name) == 0)
            return g->infos[i];
    return (ox_info){.name = name};
}

static qrn_status choose_outputs(ox_graph *g, const char *flag, const qt_list *names,
                                 qrn_arena *a) {
    ox_info *list = qrn_arena_alloc(a, names->n * sizeof *list);
    if (!list)
        return no_memory();
    for (size_t i = 0; i < names->n; i++) {
        if (!has_value(g, names->items[i]))
            return QRN_FAIL(QRN_E_NOT_FOUND, "%s %s: no node of the model makes it", flag,
                            names->items[i]);
        list[i] = info_of(g, names->items[i]);
    }
    g->outputs = list;
    g->n_outputs = (uint32_t)names->n;
    return QRN_OK;
}

static qrn_status drop_nodes(ox_graph *g, qrn_strmap *needed, qrn_arena *a) {
    ox_node *kept = qrn_arena_alloc(a, (g->n_nodes + 1u) * sizeof *kept);
    uint8_t *keep = qrn_arena_alloc(a, g->n_nodes + 1u);
    bool ok = kept && keep;
    uint32_t n = 0;
    for (uint32_t i = 0; ok && i < g->n_outputs; i++)
        ok = need(needed, g->outputs[i].name);
    for (uint32_t i = g->n_nodes; ok && i-- > 0;)
        if (is_needed(needed, &g->nodes[i])) {
            keep[i] = 1;
            ok = need_inputs(needed, &g->nodes[i]);
        }
    if (!ok)
        return no_memory();
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (keep[i])
            kept[n++] = g->nodes[i];
    g->nodes = kept;
    g->n_nodes = n;
    return QRN_OK;
}

qrn_status cv_prune(ox_model *m, const char *flag, const qt_list *outputs, bool keep,
                    qrn_arena *a) {
    ox_graph *g = qrn_arena_copy(a, m->graph, sizeof *g);
    qrn_strmap needed = {0};
    if (!g)
        return no_memory();
    m->graph = g;
    if (outputs->n)
        QRN_TRY(choose_outputs(g, flag, outputs, a));
    if (keep)
        return QRN_OK;
    qrn_status s = drop_nodes(g, &needed, a);
    qrn_strmap_clear(&needed);
    return s;
}
