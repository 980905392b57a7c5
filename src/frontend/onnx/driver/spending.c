// SPDX-License-Identifier: MIT
//
// What an import may cost. Nodes and ops are counted where they are made (ox_import_one, ox_op),
// memory by the arena, which everything that an import keeps comes from; computing constants has to
// stay within both, and what does not is left to the backend.
#include "frontend/onnx/driver/internal.h"

#include <stdio.h>

// Nodes and bytes of constants that a graph holds, those inside of its nodes included.
static void count_nodes(const ox_node *nodes, uint32_t n, uint64_t *n_nodes, uint64_t *n_bytes);

static void count_graph(const ox_graph *g, uint64_t *n_nodes, uint64_t *n_bytes) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        *n_bytes += g->constants[i].bytes;
    count_nodes(g->nodes, g->n_nodes, n_nodes, n_bytes);
}

static void count_nodes(const ox_node *nodes, uint32_t n, uint64_t *n_nodes, uint64_t *n_bytes) {
    *n_nodes += n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < nodes[i].n_attrs; j++) {
            const ox_attr *a = &nodes[i].attrs[j];
            if (a->t)
                *n_bytes += a->t->bytes;
            if (a->g)
                count_graph(a->g, n_nodes, n_bytes);
        }
}

qrn_status ox_begin_budget(ox_import *im) {
    const ox_model *m = im->model;
    uint64_t n_nodes = 0, n_bytes = 0;
    count_graph(m->graph, &n_nodes, &n_bytes);
    for (uint32_t i = 0; i < m->n_functions; i++)
        count_nodes(m->functions[i].nodes, m->functions[i].n_nodes, &n_nodes, &n_bytes);
    QRN_TRY(qrn_budget_begin(&im->budget, n_nodes, n_bytes));
    qrn_arena_limit(im->arena, im->budget.most[QRN_COST_MEMORY]);
    im->memory_failed = qrn_failed_for_memory();
    return QRN_OK;
}

qrn_status ox_end_budget(ox_import *im, qrn_status s) {
    bool limited = qrn_arena_limited(im->arena);
    qrn_arena_limit(im->arena, SIZE_MAX);
    if (s == QRN_E_MEM && limited) {
        qrn_restore_failed_for_memory(im->memory_failed);
        return qrn_budget_spend(&im->budget, QRN_COST_MEMORY, UINT64_MAX);
    }
    if (s == QRN_OK || s == QRN_E_MEM || !im->n_unfolded)
        return s;
    char why[QRN_MESSAGE_MAX];
    snprintf(why, sizeof why, "%s", qrn_message());
    return QRN_FAIL(s,
                    "%.800s (%u constants were not computed while importing, which limits forbid: "
                    "QUERN_LIMITS raises them)",
                    why, im->n_unfolded);
}

// A quarter of what is left, so that names have room.
size_t ox_fold_bytes(const ox_import *im, size_t limit) {
    size_t used = qrn_arena_used(im->arena) + im->large_bytes,
           most = im->budget.most[QRN_COST_MEMORY];
    size_t left = most > used ? (most - used) / 4 : 0;
    return left < limit ? left : limit;
}

bool ox_spend_work(ox_import *im, const ox_node *n, const ox_val *const *in) {
    uint64_t work = 1;
    for (uint32_t i = 0; in && i < n->n_in; i++)
        work += in[i] ? ox_count(in[i]) : 0;
    if (work <= qrn_budget_left(&im->budget, QRN_COST_WORK)) {
        im->budget.spent[QRN_COST_WORK] += work;
        return true;
    }
    im->n_unfolded++;
    return false;
}
