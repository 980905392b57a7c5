// SPDX-License-Identifier: MIT
//
// What is fixed for single values.
#include "quantizer/override.h"

#include "base/suggest.h"

#include <stdlib.h>
#include <string.h>

typedef void (*setting)(qz_value *v, unsigned bits);

static void set_float(qz_value *v, unsigned bits) {
    (void)bits;
    v->must_float = true;
}

static void set_bits(qz_value *v, unsigned bits) { v->set_bits = bits; }

// Sets the tensor of that name, or the results of the node.
static qrn_status for_name(qz_graph *g, const char *name, setting set, unsigned bits) {
    qz_value *v = qz_find(g, name);
    const ox_graph *og = g->model->graph;
    bool found = v != NULL;
    if (v)
        set(v, bits);
    for (uint32_t i = 0; !v && i < og->n_nodes; i++)
        for (uint32_t k = 0; strcmp(og->nodes[i].name, name) == 0 && k < og->nodes[i].n_out; k++) {
            qz_value *out = qz_find(g, og->nodes[i].out[k]);
            if (out)
                set(out, bits);
            found = true;
        }
    if (found)
        return QRN_OK;
    const char **names = calloc((size_t)g->n_values + og->n_nodes + 1, sizeof *names);
    size_t n = 0;
    for (uint32_t i = 0; names && i < g->n_values; i++)
        names[n++] = g->values[i]->name;
    for (uint32_t i = 0; names && i < og->n_nodes; i++)
        names[n++] = og->nodes[i].name;
    const char *near = names ? qrn_suggest(name, names, n) : NULL;
    qrn_status s = QRN_FAIL(QRN_E_NOT_FOUND, "the model has no node or tensor '%s'%s%s%s", name,
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    free(names);
    return s;
}

qrn_status qz_override_float(qz_graph *g, const char *name) {
    return for_name(g, name, set_float, 0);
}

qrn_status qz_override_bits(qz_graph *g, const char *name, unsigned bits) {
    const qz_value *v = qz_find(g, name);
    bool weight = v && qz_is_float_constant(v);
    if (bits != 8 && bits != 16 && !(weight && bits == 4))
        return QRN_FAIL(QRN_E_ARGUMENT, "%u bits for '%s'; expected %s", bits, name,
                        weight ? "4, 8 or 16" : "8 or 16");
    return for_name(g, name, set_bits, bits);
}

// --- encodings

static qrn_status wrong(const qz_encodings *e, const qz_encoding *q, const char *what) {
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s:%u: tensor '%s': %s", e->path, q->line, q->name, what);
}

static qrn_status apply(qz_value *v, const qz_encodings *e, const qz_encoding *q) {
    bool constant = qz_is_float_constant(v);
    if (q->is_float) {
        v->must_float = true;
        return QRN_OK;
    }
    if (constant && q->bits == 32)
        return QRN_OK; // a bias
    if (!constant && v->type != OX_F32 && v->type != OX_NONE)
        return wrong(e, q, "an encoding for a tensor that is not a float");
    if (!constant && q->n != 1)
        return wrong(e, q, "several scales for an activation; it has one");
    if (q->bits != 8 && q->bits != 16 && !(constant && q->bits == 4))
        return wrong(e, q,
                     constant ? "constants have 4, 8 or 16 bits" : "activations have 8 or 16 bits");
    if (q->n != 1 && !q->symmetric)
        return wrong(e, q, "scales per channel or block must be symmetric");
    v->given = q;
    v->set_bits = q->bits;
    v->must_float = false;
    return QRN_OK;
}

qrn_status qz_override_encodings(qz_graph *g, const qz_encodings *e, qz_overridden *report) {
    *report = (qz_overridden){0};
    for (uint32_t i = 0; i < e->n; i++) {
        const qz_encoding *q = &e->items[i];
        qz_value *v = qz_find(g, q->name);
        if (v) {
            QRN_TRY(apply(v, e, q));
            report->n_used++;
            continue;
        }
        report->unknown = report->unknown ? report->unknown : q;
        report->n_unknown++;
    }
    return QRN_OK;
}
