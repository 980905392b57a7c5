// SPDX-License-Identifier: MIT
//
// Operators of a graph as nodes. Options become attributes: which, the table of ops says.
#include "frontend/tflite/internal.h"
#include "frontend/tflite/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPERANDS 4096

// Tensors of an op by name; -1: absent.
static qrn_status read_operands(tl_reader *r, const qc_table *op, uint32_t index, bool outputs,
                                const char ***out, uint32_t *n) {
    qc_vector v;
    const char **list;
    qc_flat_vector(op, outputs ? TL_OP_OUTPUTS : TL_OP_INPUTS, 4, &v);
    if (v.n > MOST_OPERANDS)
        return tl_broken(r, "op %u has %u operands", index, v.n);
    QRN_TRY(tl_room(r, v.n, sizeof *list, &list));
    for (uint32_t i = 0; i < v.n; i++) {
        int32_t tensor = qc_vector_i32(&v, i);
        list[i] = "";
        if (tensor == -1)
            continue;
        if (tensor < 0 || (uint32_t)tensor >= r->n_tensors)
            return tl_broken(r, "op %u: %s %u is tensor %d, of %u", index,
                             outputs ? "output" : "input", i, tensor, r->n_tensors);
        tl_tensor *t = &r->tensors[tensor];
        if (outputs && (t->written || t->data))
            return tl_broken(r, "op %u: output '%s' is written twice, or constant", index, t->name);
        t->written |= outputs;
        list[i] = t->name;
    }
    *out = list;
    *n = v.n;
    return tl_flat_status(r);
}

// --- options

static qrn_status read_ints(tl_reader *r, const qc_table *t, unsigned field, ox_attr *a) {
    qc_vector v;
    int64_t *ints;
    qc_flat_vector(t, field, 4, &v);
    QRN_TRY(tl_room(r, v.n, sizeof *ints, &ints));
    for (uint32_t i = 0; i < v.n; i++)
        ints[i] = qc_vector_i32(&v, i);
    a->type = OX_ATTR_INTS;
    a->ints = ints;
    a->n = v.n;
    return QRN_OK;
}

// One option, "i:stride_w=1": its kind, its name, its default.
static qrn_status read_option(tl_reader *r, const qc_table *t, unsigned field, const char *text,
                              size_t length, ox_attr *a) {
    char kind = text[0];
    const char *name = text + 2, *equals = memchr(text, '=', length);
    size_t n = (size_t)((equals ? equals : text + length) - name);
    int32_t absent = equals ? (int32_t)strtol(equals + 1, NULL, 10) : 0;
    char *copy;
    QRN_TRY(tl_room(r, n + 1, 1, &copy));
    memcpy(copy, name, n);
    a->name = copy;
    a->type = OX_ATTR_INT;
    if (kind == 'I')
        return read_ints(r, t, field, a);
    if (kind == 'b')
        a->i = (int8_t)qc_flat_u8(t, field, (uint8_t)absent);
    else if (kind == 'i')
        a->i = qc_flat_i32(t, field, absent);
    if (kind == 'f') {
        a->type = OX_ATTR_FLOAT;
        a->f = qc_flat_f32(t, field, (float)absent);
    }
    return QRN_OK;
}

static qrn_status read_options(tl_reader *r, const qc_table *op, const char *options,
                               const ox_attr **out, uint32_t *n_out) {
    qc_table t;
    ox_attr *list;
    uint32_t n = 1;
    if (!options[0] || !qc_flat_table(op, TL_OP_OPTIONS, &t))
        return tl_flat_status(r);
    for (const char *c = options; *c; c++)
        n += *c == ' ';
    QRN_TRY(tl_room(r, n, sizeof *list, &list));
    unsigned field = 0;
    n = 0;
    for (const char *c = options; *c; field++) {
        size_t length = strcspn(c, " ");
        if (*c != '-') // a field of the past
            QRN_TRY(read_option(r, &t, field, c, length, &list[n++]));
        c += length + (c[length] == ' ');
    }
    *out = list;
    *n_out = n;
    return tl_flat_status(r);
}

// Options that are a C struct: padding (1 is SAME, 2 VALID), width and height of the stride.
static qrn_status read_raw_options(tl_reader *r, const qc_vector *v, uint32_t index, ox_node *n) {
    static const char *const names[] = {"padding", "stride_w", "stride_h"};
    ox_attr *list;
    if (v->n < 12)
        return tl_broken(r, "op %u (%s): %u bytes of options, expected 12", index, n->op, v->n);
    QRN_TRY(tl_room(r, 3, sizeof *list, &list));
    for (uint32_t i = 0; i < 3; i++) {
        int32_t value;
        memcpy(&value, r->data + v->at + 4 * (size_t)i, sizeof value);
        list[i] = (ox_attr){.name = names[i], .type = OX_ATTR_INT, .i = value - (i == 0)};
    }
    n->attrs = list;
    n->n_attrs = 3;
    return QRN_OK;
}

static qrn_status name_node(tl_reader *r, uint32_t index, ox_node *n) {
    char name[320];
    const char *made = n->n_out ? n->out[0] : "";
    size_t length = strlen(made);
    snprintf(name, sizeof name, "%.60s/%u:%s%s", r->graph, index, length > 200 ? "..." : "",
             length > 200 ? made + length - 200 : made);
    n->name = qrn_arena_strdup(r->m->arena, name);
    return n->name ? QRN_OK : QRN_FAIL(QRN_E_MEM, "%.500s: out of memory", r->m->path);
}

static qrn_status read_op(tl_reader *r, const qc_table *t, uint32_t index, ox_node *n) {
    uint32_t code = qc_flat_u32(t, TL_OP_CODE, 0);
    if (code >= r->n_codes)
        return tl_broken(r, "op %u has code %u of %u", index, code, r->n_codes);
    n->op = r->codes[code].name;
    n->domain = tl_domain;
    n->overload = "";
    QRN_TRY(read_operands(r, t, index, false, &n->in, &n->n_in));
    QRN_TRY(read_operands(r, t, index, true, &n->out, &n->n_out));
    QRN_TRY(name_node(r, index, n));
    if (!r->codes[code].custom)
        return read_options(r, t, tl_op_options(n->op), &n->attrs, &n->n_attrs);
    qc_vector custom;
    if (!qc_flat_vector(t, TL_OP_CUSTOM_OPTIONS, 1, &custom))
        return tl_flat_status(r);
    if (strcmp(n->op, TL_TRANSPOSE_CONV_BIAS) == 0)
        return read_raw_options(r, &custom, index, n);
    if (strcmp(n->op, tl_dispatch) != 0)
        return QRN_OK;
    return tl_read_dispatch(r, index, r->data + custom.at, custom.n, &n->attrs, &n->n_attrs);
}

qrn_status tl_read_ops(tl_reader *r, const qc_table *graph, ox_graph *out) {
    qc_vector v;
    ox_node *nodes;
    qc_flat_vector(graph, TL_GRAPH_OPS, 4, &v);
    QRN_TRY(tl_room(r, v.n, sizeof *nodes, &nodes));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            return tl_flat_status(r);
        QRN_TRY(read_op(r, &t, i, &nodes[i]));
    }
    out->nodes = nodes;
    out->n_nodes = v.n;
    return tl_flat_status(r);
}
