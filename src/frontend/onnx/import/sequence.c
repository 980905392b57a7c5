// SPDX-License-Identifier: MIT
//
// Importers: sequences of tensors and optional values. They exist while importing only: positions
// must be constant, and what goes in or out of the graph must be tensors.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/driver/nested.h"

#include <string.h>

static qrn_status give_sequence(ox_import *im, const ox_node *n, ox_val **items, uint32_t count) {
    const ox_val v = {.kind = OX_SEQUENCE, .items = items, .n_items = count, .known = true};
    return ox_give(im, n, 0, &v);
}

// Room for `count` items of which those of v come first.
static qrn_status copy_items(ox_import *im, const ox_val *v, uint32_t count, ox_val ***out) {
    *out = ox_alloc(im, ((size_t)count + 1) * sizeof **out);
    if (!*out)
        return ox_no_memory(im);
    if (v && v->n_items)
        memcpy(*out, v->items, (v->n_items < count ? v->n_items : count) * sizeof **out);
    return QRN_OK;
}

static qrn_status sequence_of(ox_import *im, const ox_node *n, const ox_val **out) {
    *out = ox_input(im, n, 0);
    if (*out && (*out)->kind == OX_SEQUENCE)
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "input 0 is not a sequence");
}

// Position input i, at most `last`, `fallback` when it is absent. Negative ones count from the end
// of v.
static qrn_status position_of(ox_import *im, const ox_node *n, uint32_t i, const ox_val *v,
                              int64_t last, int64_t fallback, uint32_t *out) {
    int64_t at = fallback;
    uint32_t numbers = 1;
    if (ox_input(im, n, i) && (!ox_const_ints(im, n, i, &at, 1, &numbers) || numbers != 1))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "position '%s' must be constant: sequences exist while importing only",
                       n->in[i]);
    at = at < 0 ? at + v->n_items : at;
    if (at < 0 || at > last)
        return ox_fail(im, n, QRN_E_SHAPE, "position %lld in a sequence of %u", (long long)at,
                       v->n_items);
    *out = (uint32_t)at;
    return QRN_OK;
}

static qrn_status import_empty(ox_import *im, const ox_node *n) {
    return give_sequence(im, n, NULL, 0);
}

static qrn_status import_construct(ox_import *im, const ox_node *n) {
    ox_val **items;
    QRN_TRY(copy_items(im, NULL, n->n_in, &items));
    for (uint32_t i = 0; i < n->n_in; i++) {
        items[i] = ox_scope_find(im->scope, n->in[i]);
        if (!items[i])
            return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    }
    return give_sequence(im, n, items, n->n_in);
}

static qrn_status import_insert(ox_import *im, const ox_node *n) {
    const ox_val *v;
    ox_val **items, *x = ox_scope_find(im->scope, n->in[1]);
    uint32_t at;
    QRN_TRY(sequence_of(im, n, &v));
    QRN_TRY(position_of(im, n, 2, v, v->n_items, v->n_items, &at));
    QRN_TRY(copy_items(im, v, v->n_items + 1, &items));
    memmove(items + at + 1, items + at, (v->n_items - at) * sizeof(ox_val *));
    items[at] = x;
    return give_sequence(im, n, items, v->n_items + 1);
}

static qrn_status import_erase(ox_import *im, const ox_node *n) {
    const ox_val *v;
    ox_val **items;
    uint32_t at;
    QRN_TRY(sequence_of(im, n, &v));
    QRN_TRY(position_of(im, n, 1, v, (int64_t)v->n_items - 1, (int64_t)v->n_items - 1, &at));
    QRN_TRY(copy_items(im, v, v->n_items, &items));
    memmove(items + at, items + at + 1, (v->n_items - at - 1) * sizeof(ox_val *));
    return give_sequence(im, n, items, v->n_items - 1);
}

static qrn_status import_at(ox_import *im, const ox_node *n) {
    const ox_val *v;
    uint32_t at;
    QRN_TRY(sequence_of(im, n, &v));
    QRN_TRY(position_of(im, n, 1, v, (int64_t)v->n_items - 1, 0, &at));
    return ox_give(im, n, 0, v->items[at]);
}

static qrn_status import_length(ox_import *im, const ox_node *n) {
    const ox_val *v;
    QRN_TRY(sequence_of(im, n, &v));
    int64_t length = v->n_items;
    return ox_set_const(im, n, 0, OX_I64, 0, NULL, &length);
}

static qrn_status import_concat(ox_import *im, const ox_node *n) {
    const ox_val *v;
    QRN_TRY(sequence_of(im, n, &v));
    bool fresh = ox_attr_int(n, "new_axis", 0) != 0;
    const char **names = ox_alloc(im, ((size_t)v->n_items + 1) * sizeof *names), *joined;
    uint32_t axis;
    if (!names)
        return ox_no_memory(im);
    if (v->n_items == 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "its sequence is empty");
    for (uint32_t i = 0; i < v->n_items; i++) {
        if (!(names[i] = ox_new_name(im)))
            return ox_no_memory(im);
        QRN_TRY(ox_bind(im, names[i], v->items[i]));
    }
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), v->items[0]->rank + (fresh ? 1 : 0), &axis));
    QRN_TRY((fresh ? ox_stack : ox_join)(im, names, v->n_items, axis, &joined));
    return ox_give(im, n, 0, ox_scope_find(im->scope, joined));
}

// --- SplitToSequence

typedef struct cut {
    uint32_t axis, count;
    int64_t *ends; // of the parts
    bool drop;     // parts of length 1 lose the axis
} cut;

static qrn_status read_cut(ox_import *im, const ox_node *n, const ox_val *x, cut *c) {
    const ox_val *split = ox_input(im, n, 1);
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), x->rank, &c->axis));
    uint32_t length = x->dims[c->axis], given = 1;
    int64_t *sizes = ox_alloc(im, ((size_t)length + 1) * sizeof *sizes);
    c->ends = ox_alloc(im, ((size_t)length + 1) * sizeof *c->ends);
    if (!sizes || !c->ends)
        return ox_no_memory(im);
    sizes[0] = 1;
    if (split && !ox_const_ints(im, n, 1, sizes, length, &given))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "split ('%s') must be constant", split->name);
    bool equal = !split || split->rank == 0;
    c->drop = !split && ox_attr_int(n, "keepdims", 1) == 0;
    for (int64_t at = 0; at < length; c->count++) {
        int64_t size = equal ? sizes[0] : c->count < given ? sizes[c->count] : 0;
        if (size <= 0 || (!equal && size > length - at))
            return ox_fail(im, n, QRN_E_SHAPE, "its parts do not make up the axis");
        at = at + size < length ? at + size : length;
        c->ends[c->count] = at;
    }
    return QRN_OK;
}

// Elements [from, to) of the axis, by a Gather: its form is the same in every opset.
static qrn_status cut_part(ox_import *im, const ox_node *n, const cut *c, int64_t from, int64_t to,
                           const char **out) {
    const ox_attr attr = OX_INT_ATTR("axis", c->axis);
    const char *in[] = {n->in[0], NULL};
    uint32_t count = (uint32_t)(to - from);
    int64_t *index = ox_alloc(im, count * sizeof *index);
    if (!index)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < count; i++)
        index[i] = from + i;
    QRN_TRY(ox_bind_ints(im, c->drop ? 0 : 1, index, count, &in[1]));
    *out = NULL;
    return ox_make(im, "Gather", in, 2, &attr, 1, out);
}

static qrn_status import_split(ox_import *im, const ox_node *n) {
    cut c = {0};
    ox_val **items;
    QRN_TRY(read_cut(im, n, ox_input(im, n, 0), &c));
    QRN_TRY(copy_items(im, NULL, c.count, &items));
    for (uint32_t i = 0; i < c.count; i++) {
        const char *part;
        QRN_TRY(cut_part(im, n, &c, i ? c.ends[i - 1] : 0, c.ends[i], &part));
        items[i] = ox_scope_find(im->scope, part);
    }
    return give_sequence(im, n, items, c.count);
}

// --- SequenceMap

// The body for position k: further sequences give their item k, tensors are the same for all.
static qrn_status map_one(ox_import *im, const ox_node *n, const ox_graph *g, uint32_t k,
                          ox_val ***lists) {
    ox_nest saved;
    ox_scope *outer = im->scope;
    qrn_status s = ox_nest_begin(im, n, outer, &saved);
    if (s == QRN_OK)
        s = ox_enter_constants(im, g);
    for (uint32_t i = 0; s == QRN_OK && i < n->n_in; i++) {
        const ox_val *v = ox_scope_find(outer, n->in[i]);
        if (!v)
            s = ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
        else if (v->kind == OX_SEQUENCE && k >= v->n_items)
            s = ox_fail(im, n, QRN_E_SHAPE, "its sequences have different lengths");
        else
            s = ox_bind(im, g->inputs[i].name, v->kind == OX_SEQUENCE ? v->items[k] : v);
    }
    if (s == QRN_OK)
        s = ox_import_body(im, g);
    for (uint32_t i = 0; s == QRN_OK && i < n->n_out; i++)
        lists[i][k] = ox_scope_find(im->scope, g->outputs[i].name);
    ox_nest_end(im, &saved);
    return s;
}

static qrn_status import_map(ox_import *im, const ox_node *n) {
    const ox_attr *body = ox_attr_find(n, "body");
    const ox_val *v;
    QRN_TRY(sequence_of(im, n, &v));
    if (!body || !body->g || body->g->n_inputs != n->n_in || body->g->n_outputs < n->n_out)
        return ox_fail(im, n, QRN_E_SHAPE, "its body has not the inputs and outputs that it needs");
    ox_val ***lists = ox_alloc(im, (n->n_out + 1) * sizeof *lists);
    if (!lists)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < n->n_out; i++)
        QRN_TRY(copy_items(im, NULL, v->n_items, &lists[i]));
    for (uint32_t k = 0; k < v->n_items; k++)
        QRN_TRY(map_one(im, n, body->g, k, lists));
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_val y = {
            .kind = OX_SEQUENCE, .items = lists[i], .n_items = v->n_items, .known = true};
        QRN_TRY(ox_give(im, n, i, &y));
    }
    return QRN_OK;
}

// --- optional values

static qrn_status import_optional(ox_import *im, const ox_node *n) {
    const ox_val none = {.kind = OX_EMPTY_OPTIONAL, .known = true}, *v = ox_input(im, n, 0);
    return ox_give(im, n, 0, v ? v : &none);
}

static qrn_status import_get(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    if (v->kind == OX_EMPTY_OPTIONAL)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the optional value has no element");
    return ox_give(im, n, 0, v);
}

static qrn_status import_has(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    uint8_t has = v && v->kind != OX_EMPTY_OPTIONAL;
    return ox_set_const(im, n, 0, OX_BOOL, 0, NULL, &has);
}

const ox_importer ox_import_sequence[] = {
    {"SequenceEmpty", "", import_empty},
    {"SequenceConstruct", "", import_construct},
    {"SequenceInsert", "", import_insert},
    {"SequenceErase", "", import_erase},
    {"SequenceAt", "", import_at},
    {"SequenceLength", "", import_length},
    {"ConcatFromSequence", "", import_concat},
    {"SplitToSequence", "", import_split},
    {"SequenceMap", "", import_map},
    {"Optional", "", import_optional},
    {"OptionalGetElement", "", import_get},
    {"OptionalHasElement", "", import_has},
    {0},
};
