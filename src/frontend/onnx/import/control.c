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

// Output i of either branch, by the condition.
static qrn_status choose_output(ox_import *im, const ox_node *n, uint32_t i,
                                const ox_graph *const g[2], ox_scope *const scope[2]) {
    const ox_info *declared = &g[0]->outputs[i];
    const char *in[] = {n->in[0], NULL, NULL}, *out = n->out[i];
    const ox_val *v[2];
    for (int k = 0; k < 2; k++) {
        v[k] = branch_output(g[k], scope[k], i);
        uint32_t rank = declared->has_shape ? declared->rank : v[0]->rank;
        QRN_TRY(ox_bind_ranked(im, v[k], rank, &in[1 + k]));
        v[k] = ox_scope_find(im->scope, in[1 + k]);
    }
    char form[2][OX_FORM_BYTES];
    if (!ox_same_form(v[0], v[1]))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its condition '%s' comes at run time, and output '%s' is %s from the then "
                       "branch ('%s') but %s from the else branch ('%s'); make the condition "
                       "constant, or give both branches one shape",
                       n->in[0], n->out[i], ox_form_text(v[0], form[0]), g[0]->outputs[i].name,
                       ox_form_text(v[1], form[1]), g[1]->outputs[i].name);
    return ox_make(im, "Where", in, 3, NULL, 0, &out);
}

static qrn_status choose(ox_import *im, const ox_node *n, const ox_graph *yes, const ox_graph *no) {
    ox_scope *scope[2];
    const ox_graph *only;
    QRN_TRY(run_both(im, n, (const ox_graph *const[]){yes, no}, scope, &only));
    if (only)
        return give_all(im, n, only, scope[only == no]);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i][0])
            QRN_TRY(choose_output(im, n, i, (const ox_graph *const[]){yes, no}, scope));
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
