// SPDX-License-Identifier: MIT
//
// Rules of the ONNX standard that a whole model has to meet before anything is made of it: each
// value has one maker (single static assignment), functions have one definition, and the versions
// that it names exist. Without them an import could only guess which of two makers is meant.
#include "frontend/onnx/reader/reader.h"

#include "base/mem.h"
#include "base/strmap.h"

#include <string.h>

// Where a name comes from.
typedef struct origin {
    const void *graph;   // ox_graph or ox_function
    const ox_node *node; // NULL: an input or initializer
    const char *name;
    const struct origin *hidden; // what the name meant outside of the graph; NULL: nothing
    struct origin *before;       // the name entered before it
} origin;

// The names that can be seen, and the order in which they came.
typedef struct names {
    qrn_strmap map; // to origins; NULL: out of sight again
    origin *last;
    qrn_arena *arena;
} names;

static qrn_status enter(names *s, const void *graph, const ox_node *node, const char *name) {
    origin *o = qrn_arena_alloc(s->arena, sizeof *o);
    if (!o)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    *o = (origin){graph, node, name, qrn_strmap_get(&s->map, name), s->last};
    if (!qrn_strmap_put(&s->map, name, o))
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    s->last = o;
    return QRN_OK;
}

// Names entered after `mark` mean again what they meant before.
static void leave(names *s, origin *mark) {
    for (; s->last != mark; s->last = s->last->before)
        qrn_strmap_put(&s->map, s->last->name, (void *)(uintptr_t)s->last->hidden);
}

static qrn_status enter_input(names *s, const void *graph, const char *graph_name,
                              const char *name) {
    const origin *o = qrn_strmap_get(&s->map, name);
    if (o && o->graph == graph)
        return QRN_FAIL(QRN_E_NAME, "graph '%s': two inputs are named '%s'; ONNX forbids it",
                        graph_name, name);
    return enter(s, graph, NULL, name);
}

static qrn_status check_graph(names *s, const ox_graph *g);

static qrn_status check_nodes(names *s, const void *graph, const ox_node *nodes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < nodes[i].n_attrs; j++)
            if (nodes[i].attrs[j].g)
                QRN_TRY(check_graph(s, nodes[i].attrs[j].g));
        for (uint32_t j = 0; j < nodes[i].n_out; j++) {
            const char *name = nodes[i].out[j];
            const origin *o = name[0] ? qrn_strmap_get(&s->map, name) : NULL;
            if (o)
                return QRN_FAIL(
                    QRN_E_NAME,
                    "node '%s' (%s): its output '%s' is %s%s%s already; in ONNX a value is made "
                    "once: rename one of them",
                    nodes[i].name, nodes[i].op, name,
                    o->node ? "an output of node '" : "an input or initializer",
                    o->node ? o->node->name : "", o->node ? "'" : "");
            if (name[0])
                QRN_TRY(enter(s, graph, &nodes[i], name));
        }
    }
    return QRN_OK;
}

static qrn_status check_graph(names *s, const ox_graph *g) {
    origin *mark = s->last;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        QRN_TRY(enter_input(s, g, g->name, g->inputs[i].name));
    for (uint32_t i = 0; i < g->n_constants; i++) {
        const origin *o = qrn_strmap_get(&s->map, g->constants[i].name);
        if (!o || o->graph != g) // else the default of an input, or one that replaces another
            QRN_TRY(enter(s, g, NULL, g->constants[i].name));
    }
    QRN_TRY(check_nodes(s, g, g->nodes, g->n_nodes));
    leave(s, mark);
    return QRN_OK;
}

static qrn_status check_function(names *s, const ox_model *m, const ox_function *f) {
    origin *mark = s->last;
    if (ox_model_function(m, f->domain, f->name, f->overload) != f)
        return QRN_FAIL(QRN_E_NAME, "two functions are named '%s' in domain '%s'; ONNX forbids it",
                        f->name, f->domain);
    for (uint32_t i = 0; i < f->n_in; i++)
        QRN_TRY(enter_input(s, f, f->name, f->in[i]));
    QRN_TRY(check_nodes(s, f, f->nodes, f->n_nodes));
    leave(s, mark);
    return QRN_OK;
}

static qrn_status check_versions(const ox_model *m) {
    if (m->ir_version > INT32_MAX)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "IR version %lld is not one of ONNX's",
                        (long long)m->ir_version);
    if (m->ir_version >= 3 && m->n_opsets == 0)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "it imports no operator set; ONNX needs opset_import since IR version 3");
    for (uint32_t i = 0; i < m->n_opsets; i++) {
        const ox_opset *o = &m->opsets[i];
        if (o->version > INT32_MAX || (!o->domain[0] && o->version < 1))
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "it imports version %lld of the operator set '%s'; "
                            "versions are 1 to 2147483647",
                            (long long)o->version, o->domain[0] ? o->domain : "ai.onnx");
    }
    return QRN_OK;
}

qrn_status ox_check_standard(const ox_model *m) {
    names s = {.arena = qrn_arena_create()};
    if (!s.arena)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    qrn_status r = check_versions(m);
    if (r == QRN_OK)
        r = check_graph(&s, m->graph);
    for (uint32_t i = 0; r == QRN_OK && i < m->n_functions; i++)
        r = check_function(&s, m, &m->functions[i]);
    qrn_strmap_clear(&s.map);
    qrn_arena_destroy(s.arena);
    return r;
}
