// SPDX-License-Identifier: MIT
//
// Importers: If. A branch that is known to be taken is imported in place. Of others both branches
// are computed, and each result is chosen by a Where.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/driver/nested.h"

#include <string.h>

// Imports a branch; *scope is where its outputs are.
static qrn_status run_branch(ox_import *im, const ox_node *n, const ox_graph *g, ox_scope **scope) {
    ox_nest saved;
    qrn_status s = ox_nest_begin(im, n, im->scope, &saved);
    if (s == QRN_OK)
        s = ox_enter_constants(im, g);
    if (s == QRN_OK)
        s = ox_import_body(im, g);
    *scope = im->scope;
    ox_nest_end(im, &saved);
    return s;
}

static const ox_val *branch_output(const ox_graph *g, const ox_scope *scope, uint32_t i) {
    return ox_scope_find(scope, g->outputs[i].name);
}

static qrn_status give_all(ox_import *im, const ox_node *n, const ox_graph *g,
                           const ox_scope *scope) {
    for (uint32_t i = 0; i < n->n_out; i++)
        QRN_TRY(ox_give(im, n, i, branch_output(g, scope, i)));
    return QRN_OK;
}

static qrn_status take_branch(ox_import *im, const ox_node *n, const ox_graph *g) {
    ox_scope *scope;
    QRN_TRY(run_branch(im, n, g, &scope));
    return give_all(im, n, g, scope);
}

static bool same_form(const ox_val *a, const ox_val *b) {
    return a->kind == OX_TENSOR && b->kind == OX_TENSOR && a->type == b->type &&
           a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

// Both branches at their scopes. A branch that breaks a rule of shapes at these sizes is one that
// the model cannot take: *only is the other one, else NULL.
static qrn_status run_both(ox_import *im, const ox_node *n, const ox_graph *const g[2],
                           ox_scope *scope[2], const ox_graph **only) {
    *only = NULL;
    qrn_status s[2];
    for (int i = 0; i < 2; i++) {
        s[i] = run_branch(im, n, g[i], &scope[i]);
        if (s[i] != QRN_OK && (s[i] != QRN_E_SHAPE || (i && s[0] != QRN_OK)))
            return s[i];
    }
    if (s[0] == QRN_OK && s[1] == QRN_OK)
        return QRN_OK;
    *only = g[s[0] != QRN_OK];
    qrn_message_clear();
    ox_note(im, n, "take one branch whatever the condition is",
            "the other one is invalid for these shapes");
    return QRN_OK;
}

static qrn_status choose(ox_import *im, const ox_node *n, const ox_graph *yes, const ox_graph *no) {
    ox_scope *scope[2];
    const ox_graph *only;
    QRN_TRY(run_both(im, n, (const ox_graph *const[]){yes, no}, scope, &only));
    if (only)
        return give_all(im, n, only, scope[only == no]);
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_val *a = branch_output(yes, scope[0], i), *b = branch_output(no, scope[1], i);
        if (!n->out[i][0])
            continue;
        if (!same_form(a, b))
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "its condition comes at run time and the branches give output %u in "
                           "different types or shapes; make the condition constant",
                           i);
        const char *in[] = {n->in[0], ox_new_name(im), ox_new_name(im)}, *out = n->out[i];
        if (!in[1] || !in[2])
            return ox_no_memory(im);
        QRN_TRY(ox_bind(im, in[1], a));
        QRN_TRY(ox_bind(im, in[2], b));
        QRN_TRY(ox_make(im, "Where", in, 3, NULL, 0, &out));
    }
    return QRN_OK;
}

static qrn_status import_if(ox_import *im, const ox_node *n) {
    const ox_attr *yes = ox_attr_find(n, "then_branch"), *no = ox_attr_find(n, "else_branch");
    const ox_val *cond = ox_input(im, n, 0);
    ox_leave_unit(im);
    if (!yes || !no || !yes->g || !no->g || yes->g->n_outputs < n->n_out ||
        no->g->n_outputs < n->n_out)
        return ox_fail(im, n, QRN_E_SHAPE, "its branches do not give its outputs");
    int64_t taken;
    uint32_t count;
    if (cond->data) {
        if (!ox_const_ints(im, n, 0, &taken, 1, &count) || count != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "its condition is not a single boolean");
        return take_branch(im, n, taken ? yes->g : no->g);
    }
    for (uint32_t d = 0; d < cond->rank; d++)
        if (cond->dims[d] != 1)
            return ox_fail(im, n, QRN_E_SHAPE, "its condition is not a single boolean");
    return choose(im, n, yes->g, no->g);
}

const ox_importer ox_import_control[] = {
    {"If", "", import_if},
    {0},
};
