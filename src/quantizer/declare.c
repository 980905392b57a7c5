// SPDX-License-Identifier: MIT
//
// Declaring shapes, by an import of the model that looks at nothing else.
#include "quantizer/declare.h"

#include "quantizer/calibrate.h"

#include <string.h>

// Has the model ops of a pattern that is found by shapes (pattern.h)?
static bool has_patterns(const ox_graph *g) {
    static const char *const ops[] = {"ReduceMean", "ReduceSum", "Tanh", "Erf"};
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
            if (qz_is(&g->nodes[i], ops[k]))
                return true;
    return false;
}

static qrn_status note_declared(qrn_strmap *known, const ox_info *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i].has_shape && !qrn_strmap_put(known, list[i].name, (void *)(uintptr_t)&list[i]))
            return QRN_FAIL(QRN_E_MEM, "out of memory for shapes");
    return QRN_OK;
}

// What the import has found, behind what is declared.
static qrn_status add_shapes(ox_model *m, const qz_graph *q, const qrn_strmap *known) {
    ox_graph *g = m->graph;
    ox_info *all = qrn_arena_alloc(m->arena, (g->n_infos + q->n_values) * sizeof *all);
    uint32_t n = g->n_infos;
    if (!all)
        return QRN_FAIL(QRN_E_MEM, "out of memory for shapes");
    if (n)
        memcpy(all, g->infos, n * sizeof *all);
    for (uint32_t i = 0; i < q->n_values; i++) {
        const qz_value *v = q->values[i];
        if (!v->seen || v->is_input || v->is_output || qrn_strmap_get(known, v->name))
            continue;
        ox_info *info = &all[n++];
        *info = (ox_info){.name = v->name, .type = v->type, .has_shape = true, .rank = v->rank};
        for (uint32_t k = 0; k < v->rank; k++)
            info->dims[k] = v->dims[k];
    }
    g->infos = all;
    g->n_infos = n;
    return QRN_OK;
}

static qrn_status declare(ox_model *m, const qrn_strmap *known) {
    const qz_run_options shapes = {.shapes_only = true};
    qz_graph *q = NULL;
    qz_run *r = NULL;
    if (qz_graph_create(m, &q) != QRN_OK)
        return QRN_OK; // what comes next says why
    qrn_status s = QRN_OK;
    if (qz_run_open(q, &shapes, &r) == QRN_OK)
        s = add_shapes(m, q, known);
    qz_run_close(r);
    qz_graph_destroy(q);
    return s;
}

qrn_status qz_declare(ox_model *m) {
    const ox_graph *g = m->graph;
    qrn_strmap known = {0};
    bool all = true;
    if (!has_patterns(g))
        return QRN_OK;
    qrn_status s = note_declared(&known, g->infos, g->n_infos);
    if (s == QRN_OK)
        s = note_declared(&known, g->outputs, g->n_outputs);
    for (uint32_t i = 0; s == QRN_OK && all && i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_out; k++)
            all &= !g->nodes[i].out[k][0] || qrn_strmap_get(&known, g->nodes[i].out[k]);
    if (s == QRN_OK && !all)
        s = declare(m, &known);
    qrn_strmap_clear(&known);
    return s;
}
