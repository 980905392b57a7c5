// SPDX-License-Identifier: MIT
//
// Scopes inside of nodes, and nodes made up while importing.
#include "frontend/onnx/driver/nested.h"

#include <stdio.h>
#include <string.h>

qrn_status ox_nest_begin(ox_import *im, const ox_node *n, ox_scope *outer, ox_nest *saved) {
    *saved = (ox_nest){im->scope, im->node, im->quantized};
    if (im->depth >= OX_MAX_DEPTH)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "graphs or functions nested deeper than %d",
                       OX_MAX_DEPTH);
    ox_scope *inner;
    QRN_TRY(ox_scope_new(im, outer, &inner));
    im->scope = inner;
    im->quantized = false;
    im->depth++;
    return QRN_OK;
}

void ox_nest_end(ox_import *im, const ox_nest *saved) {
    if (im->scope != saved->scope)
        im->depth--;
    im->scope = saved->scope;
    im->node = saved->node;
    im->quantized = saved->quantized;
}

qrn_status ox_bind(ox_import *im, const char *name, const ox_val *x) {
    ox_val *v;
    QRN_TRY(ox_scope_add(im, im->scope, name, &v));
    ox_val before = *v;
    *v = *x;
    v->name = before.name;
    v->is_output = before.is_output;
    v->n_uses = before.n_uses;
    v->consumer = before.consumer;
    return QRN_OK;
}

qrn_status ox_give(ox_import *im, const ox_node *n, uint32_t i, const ox_val *x) {
    return i < n->n_out && n->out[i][0] ? ox_bind(im, n->out[i], x) : QRN_OK;
}

bool ox_same_form(const ox_val *a, const ox_val *b) {
    return a->kind == OX_TENSOR && b->kind == OX_TENSOR && a->type == b->type &&
           a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

const char *ox_form_text(const ox_val *v, char text[OX_FORM_BYTES]) {
    int n = snprintf(text, OX_FORM_BYTES, "%s[",
                     v->kind == OX_TENSOR ? ox_type_name(v->type) : "sequence");
    for (uint32_t i = 0; i < v->rank && n < OX_FORM_BYTES; i++)
        n += snprintf(text + n, (size_t)(OX_FORM_BYTES - n), "%s%u", i ? "," : "", v->dims[i]);
    if (n < OX_FORM_BYTES)
        snprintf(text + n, (size_t)(OX_FORM_BYTES - n), "]");
    return text;
}

qrn_status ox_bind_ranked(ox_import *im, const ox_val *x, uint32_t rank, const char **name) {
    static const int64_t ones[OX_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (!(*name = ox_new_name(im)))
        return ox_no_memory(im);
    QRN_TRY(ox_bind(im, *name, x));
    if (x->kind != OX_TENSOR || x->rank == rank || ox_count(x) != 1)
        return QRN_OK;
    const char *in[] = {*name, NULL}, *out = NULL;
    QRN_TRY(ox_bind_ints(im, 1, ones, rank, &in[1]));
    QRN_TRY(ox_make(im, "Reshape", in, 2, NULL, 0, &out));
    *name = out;
    return QRN_OK;
}

const char *ox_new_name(ox_import *im) {
    char text[32];
    snprintf(text, sizeof text, "<%u>", im->n_made++);
    return qrn_arena_strdup(im->arena, text);
}

qrn_status ox_bind_const(ox_import *im, int type, uint32_t rank, const uint32_t *dims,
                         const void *data, const char **name) {
    *name = ox_new_name(im);
    if (!*name)
        return ox_no_memory(im);
    const ox_node n = {.name = *name, .op = "Constant", .domain = "", .out = name, .n_out = 1};
    return ox_set_const(im, &n, 0, type, rank, dims, data);
}

qrn_status ox_bind_ints(ox_import *im, uint32_t rank, const int64_t *values, uint32_t count,
                        const char **name) {
    return ox_bind_const(im, OX_I64, rank, &count, values, name);
}

qrn_status ox_make(ox_import *im, const char *op, const char *const *in, uint32_t n_in,
                   const ox_attr *attrs, uint32_t n_attrs, const char **out) {
    if (!*out && !(*out = ox_new_name(im)))
        return ox_no_memory(im);
    ox_node *n = qrn_arena_alloc(im->arena, sizeof *n);
    const char **names = qrn_arena_alloc(im->arena, (n_in + 1) * sizeof *names);
    if (!n || !names)
        return ox_no_memory(im);
    memcpy(names, in, n_in * sizeof *names);
    names[n_in] = *out;
    *n = (ox_node){.name = im->node ? im->node->name : op,
                   .op = op,
                   .domain = "",
                   .in = names,
                   .out = names + n_in,
                   .n_in = n_in,
                   .n_out = 1,
                   .n_attrs = n_attrs};
    n->attrs = qrn_arena_copy(im->arena, attrs, n_attrs * sizeof *attrs);
    if (n_attrs && !n->attrs)
        return ox_no_memory(im);
    const ox_node *node = im->node;
    bool quantized = im->quantized;
    qrn_status s = ox_import_one(im, n);
    im->node = node;
    im->quantized = quantized;
    return s;
}

qrn_status ox_import_list(ox_import *im, const ox_node *nodes, uint32_t n_nodes,
                          const char *const *outputs, uint32_t n_outputs) {
    QRN_TRY(ox_enter_nodes(im, nodes, n_nodes));
    for (uint32_t i = 0; i < n_outputs; i++) {
        ox_val *v = outputs[i][0] ? ox_scope_find(im->scope, outputs[i]) : NULL;
        if (v) { // a reader that is not a node
            v->n_uses += 2;
            v->consumer = NULL;
        }
    }
    return ox_import_nodes(im, nodes, n_nodes);
}

qrn_status ox_import_body(ox_import *im, const ox_graph *g) {
    const char **outputs = qrn_arena_alloc(im->arena, (g->n_outputs + 1) * sizeof *outputs);
    if (!outputs)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        outputs[i] = g->outputs[i].name;
    QRN_TRY(ox_import_list(im, g->nodes, g->n_nodes, outputs, g->n_outputs));
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const ox_val *v = ox_scope_find(im->scope, outputs[i]);
        if (!v || !v->known)
            return QRN_FAIL(QRN_E_UNCONNECTED, "output '%s' of graph '%s' is not computed",
                            outputs[i], g->name);
    }
    return QRN_OK;
}

// --- functions
// -------------------------------------------------------------------------------------------

// The function's nodes with attribute references replaced by the call's attributes.
static qrn_status bind_attrs(ox_import *im, const ox_function *f, const ox_node *call,
                             ox_node **out) {
    ox_node *nodes = qrn_arena_copy(im->arena, f->nodes, f->n_nodes * sizeof *nodes);
    if (!nodes)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        ox_attr *attrs =
            qrn_arena_copy(im->arena, nodes[i].attrs, nodes[i].n_attrs * sizeof *attrs);
        uint32_t kept = 0;
        if (!attrs)
            return ox_no_memory(im);
        for (uint32_t j = 0; j < nodes[i].n_attrs; j++) {
            ox_attr a = attrs[j];
            if (a.ref) {
                const ox_attr *given = ox_attr_find(call, a.ref);
                for (uint32_t k = 0; !given && k < f->n_defaults; k++)
                    if (strcmp(f->defaults[k].name, a.ref) == 0)
                        given = &f->defaults[k];
                if (!given)
                    continue; // absent: the op's own default holds
                const char *name = a.name;
                a = *given;
                a.name = name;
            }
            attrs[kept++] = a;
        }
        nodes[i].attrs = attrs;
        nodes[i].n_attrs = kept;
    }
    *out = nodes;
    return QRN_OK;
}

qrn_status ox_call_function(ox_import *im, const ox_function *f, const ox_node *n) {
    ox_scope *outer = im->scope, *inner;
    ox_node *nodes = NULL;
    ox_nest saved;
    QRN_TRY(bind_attrs(im, f, n, &nodes));
    qrn_status s = ox_nest_begin(im, n, NULL, &saved);
    for (uint32_t i = 0; s == QRN_OK && i < f->n_in && i < n->n_in; i++) {
        const ox_val *x = n->in[i][0] ? ox_scope_find(outer, n->in[i]) : NULL;
        if (x)
            s = ox_bind(im, f->in[i], x);
    }
    if (s == QRN_OK)
        s = ox_import_list(im, nodes, f->n_nodes, f->out, f->n_out);
    inner = im->scope;
    ox_nest_end(im, &saved);
    for (uint32_t i = 0; s == QRN_OK && i < f->n_out && i < n->n_out; i++) {
        const ox_val *y = ox_scope_find(inner, f->out[i]);
        if (y)
            s = ox_give(im, n, i, y);
    }
    return s;
}

// --- joining

qrn_status ox_join(ox_import *im, const char **names, uint32_t n, uint32_t axis, const char **out) {
    const ox_attr attr = OX_INT_ATTR("axis", axis);
    while (n > 1) { // an op takes so many operands only
        uint32_t m = 0;
        for (uint32_t i = 0; i < n; i += QC_MAX_OPERANDS) {
            uint32_t count = n - i < QC_MAX_OPERANDS ? n - i : QC_MAX_OPERANDS;
            const char *part = NULL;
            if (count == 1)
                part = names[i];
            else
                QRN_TRY(ox_make(im, "Concat", names + i, count, &attr, 1, &part));
            names[m++] = part;
        }
        n = m;
    }
    *out = names[0];
    return QRN_OK;
}

qrn_status ox_stack(ox_import *im, const char **names, uint32_t n, uint32_t axis,
                    const char **out) {
    if (n == 0)
        return ox_fail(im, im->node, QRN_E_UNSUPPORTED, "there are no values to stack");
    const ox_val *first = ox_scope_find(im->scope, names[0]);
    if (first->rank >= OX_MAX_RANK || axis > first->rank)
        return ox_fail(im, im->node, QRN_E_UNSUPPORTED, "values of rank %u on a new axis %u",
                       first->rank, axis);
    for (uint32_t i = 0; i < n; i++) {
        const ox_val *v = ox_scope_find(im->scope, names[i]);
        int64_t shape[OX_MAX_RANK];
        if (v->rank != first->rank || memcmp(v->dims, first->dims, v->rank * sizeof *v->dims) != 0)
            return ox_fail(im, im->node, QRN_E_UNSUPPORTED,
                           "values of different shapes cannot be stacked");
        for (uint32_t d = 0; d <= v->rank; d++)
            shape[d] = d < axis ? v->dims[d] : d == axis ? 1 : v->dims[d - 1];
        const char *in[] = {names[i], NULL};
        names[i] = NULL;
        QRN_TRY(ox_bind_ints(im, 1, shape, v->rank + 1, &in[1]));
        QRN_TRY(ox_make(im, "Reshape", in, 2, NULL, 0, &names[i]));
    }
    return ox_join(im, names, n, axis, out);
}

bool ox_takes_sequences(const ox_node *n) {
    static const char *const ops[] = {"Identity", "If", "Loop", "ConcatFromSequence", "Optional"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(n->op, ops[i]) == 0)
            return true;
    return strncmp(n->op, "Sequence", 8) == 0 || strncmp(n->op, "Optional", 8) == 0;
}
