// SPDX-License-Identifier: MIT
//
// Accepted nodes become groups, each of which can be one graph of a backend: no path leaves a group
// and returns.
#include "frontend/onnx/partition/plan_groups.h"

#include "base/mem.h"
#include "base/strmap.h"

#include <string.h>

static bool is_op(const ox_node *n, const char *op) { return strcmp(n->op, op) == 0; }

static bool is_quantizer(const ox_node *n) {
    return is_op(n, "QuantizeLinear") || is_op(n, "DequantizeLinear");
}

// --- depths

// Depth of a value: how many changes from refused to accepted nodes lie before it.
typedef struct depths {
    qrn_strmap of; // value's name to its maker's index + 1
    const ox_plan *plan;
    const uint32_t *depth;
} depths;

static uint32_t depth_behind(const depths *d, const char *name, bool taken) {
    uintptr_t maker = (uintptr_t)qrn_strmap_get(&d->of, name);
    if (!maker)
        return 0;
    bool other = d->plan->group[maker - 1] < 0;
    return d->depth[maker - 1] + (taken && other);
}

static uint32_t deepest_input(const depths *d, const ox_node *n, bool taken);

// What a body reads from outside counts as the node's inputs.
static uint32_t deepest_in_body(const depths *d, const ox_graph *g, bool taken) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t n = deepest_input(d, &g->nodes[i], taken);
        most = n > most ? n : most;
    }
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        uint32_t n = depth_behind(d, g->outputs[i].name, taken);
        most = n > most ? n : most;
    }
    return most;
}

static uint32_t deepest_input(const depths *d, const ox_node *n, bool taken) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t k = depth_behind(d, n->in[i], taken);
        most = k > most ? k : most;
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].g) {
            uint32_t k = deepest_in_body(d, n->attrs[i].g, taken);
            most = k > most ? k : most;
        }
    return most;
}

// --- sinking

// Readers of what a node makes.
typedef struct readers {
    uint32_t least; // depth among them; UINT32_MAX: nobody reads it
    bool refused;   // one of them is
} readers;

static void note_reader(const depths *d, readers *list, const char *name, uint32_t i) {
    uintptr_t maker = (uintptr_t)qrn_strmap_get(&d->of, name);
    if (!maker || maker - 1 == i)
        return;
    readers *r = &list[maker - 1];
    r->refused |= d->plan->group[i] < 0;
    if (d->depth[i] < r->least)
        r->least = d->depth[i];
}

static void note_node(const depths *d, readers *list, const ox_node *n, uint32_t i) {
    for (uint32_t k = 0; k < n->n_in; k++)
        note_reader(d, list, n->in[k], i);
    for (uint32_t k = 0; k < n->n_attrs; k++) {
        const ox_graph *body = n->attrs[k].g;
        for (uint32_t j = 0; body && j < body->n_nodes; j++)
            note_node(d, list, &body->nodes[j], i);
        for (uint32_t j = 0; body && j < body->n_outputs; j++)
            note_reader(d, list, body->outputs[j].name, i);
    }
}

// Moves accepted nodes to the group of their first reader, where all readers are accepted: the
// DequantizeLinear of a weight belongs to the convolution that reads it, however deep that lies.
static qrn_status sink(const ox_graph *g, const depths *d, uint32_t *depth) {
    readers *list = qrn_alloc((g->n_nodes + 1) * sizeof *list);
    if (!list)
        return QRN_E_MEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        list[i] = (readers){UINT32_MAX, false};
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        bool moves = d->plan->group[i] >= 0 && !list[i].refused && list[i].least != UINT32_MAX;
        if (moves && list[i].least > depth[i])
            depth[i] = list[i].least;
        note_node(d, list, &g->nodes[i], i);
    }
    qrn_free(list);
    return QRN_OK;
}

// Accepted nodes of one depth are a group. A path from a group to a refused node and on to an
// accepted one arrives deeper, so no path returns.
qrn_status ox_group_nodes(const ox_graph *g, ox_plan *plan) {
    uint32_t *depth = qrn_calloc((g->n_nodes + 1) * sizeof *depth);
    depths d = {.plan = plan, .depth = depth};
    qrn_status s = depth ? QRN_OK : QRN_E_MEM;
    for (uint32_t i = 0; i < g->n_nodes && s == QRN_OK; i++) {
        const ox_node *n = &g->nodes[i];
        depth[i] = deepest_input(&d, n, plan->group[i] >= 0);
        for (uint32_t j = 0; j < n->n_out && s == QRN_OK; j++)
            if (n->out[j][0] && !qrn_strmap_put(&d.of, n->out[j], (void *)(uintptr_t)(i + 1)))
                s = QRN_E_MEM;
    }
    if (s == QRN_OK)
        s = sink(g, &d, depth);
    for (uint32_t i = 0; i < g->n_nodes && s == QRN_OK; i++) {
        if (plan->group[i] < 0)
            continue;
        plan->group[i] = (int32_t)depth[i];
        if (depth[i] >= plan->n_groups)
            plan->n_groups = depth[i] + 1;
    }
    qrn_strmap_clear(&d.of);
    qrn_free(depth);
    return s == QRN_OK ? s : QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
}

static bool nothing_refused(const ox_graph *g, const ox_plan *plan) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (plan->why[i])
            return false;
    return true;
}

static bool is_constant(const ox_plan *plan, uint32_t i) {
    return plan->constant && plan->constant[i];
}

// Groups that compute nothing are not worth a graph; the others are counted from 0.
qrn_status ox_drop_idle_groups(const ox_graph *g, ox_plan *plan) {
    uint32_t n = plan->n_groups, kept = 0;
    int32_t *number = qrn_alloc((n + 1) * sizeof *number);
    if (!number)
        return QRN_FAIL(QRN_E_MEM, "no memory for the partitions");
    for (uint32_t k = 0; k < n; k++)
        number[k] = -1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (plan->group[i] >= 0 && !is_quantizer(&g->nodes[i]) && !is_constant(plan, i))
            number[plan->group[i]] = 0;
    for (uint32_t k = 0; k < n; k++)
        if (number[k] == 0)
            number[k] = (int32_t)kept++;
    // A model of nothing else keeps what it asks for.
    bool alone = kept == 0 && nothing_refused(g, plan);
    for (uint32_t k = 0; k < n && alone; k++)
        number[k] = (int32_t)k;
    plan->n_groups = alone ? n : kept;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (plan->group[i] >= 0) {
            plan->group[i] = number[plan->group[i]];
            if (plan->group[i] < 0 && is_constant(plan, i) && plan->n_groups)
                plan->group[i] = 0; // it costs nothing anywhere
            plan->n_taken += plan->group[i] >= 0;
        }
    qrn_free(number);
    return QRN_OK;
}
