// SPDX-License-Identifier: MIT
//
// The file of op_affinity and what follows from it. It has the public provider's form:
//   { "op_type": { "Softmax": "cpu", "Conv": ["HTP"] }, "op_name": { "node_7": "cpu" } }
// A node's own name counts for more than its type.
#include "frontend/ort/affinity.h"

#include "base/json_read.h"
#include "base/strmap.h"
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const backends[] = {"cpu", "gpu", "dsp", "htp"};
#define N_BACKENDS (sizeof backends / sizeof backends[0])
#define CPU 0

typedef struct pin {
    struct pin *next;
    const char *of; // op type or name of a node
    size_t backend; // index into backends
    unsigned line;
    bool is_type;
} pin;

struct qe_affinity {
    const char *path;
    pin *pins;
};

static const char *kind_of(const pin *p) { return p->is_type ? "op type" : "node"; }

// --- the file

static qrn_status read_backend(const char *path, const qrn_json *v, const char *group,
                               size_t *out) {
    const qrn_json *word = v;
    if (v->kind == QRN_JSON_ARRAY) {
        if (v->n != 1)
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "op_affinity %s:%u: %s \"%s\": expected one backend, there are %u",
                            path, v->line, group, v->key, v->n);
        word = v->first;
    }
    if (word->kind != QRN_JSON_STRING)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "op_affinity %s:%u: %s \"%s\": expected the name of a backend, this is %s",
                        path, word->line, group, v->key, qrn_json_kind_text(word->kind));
    for (size_t i = 0; i < N_BACKENDS; i++)
        if (strcasecmp(backends[i], word->text) == 0) {
            *out = i;
            return QRN_OK;
        }
    const char *near = qrn_suggest(word->text, backends, N_BACKENDS);
    return near ? QRN_FAIL(QRN_E_ARGUMENT,
                           "op_affinity %s:%u: %s \"%s\": there is no backend '%s'; did you mean "
                           "'%s'?",
                           path, word->line, group, v->key, word->text, near)
                : QRN_FAIL(QRN_E_ARGUMENT,
                           "op_affinity %s:%u: %s \"%s\": there is no backend '%s'; expected cpu, "
                           "gpu, dsp or htp",
                           path, word->line, group, v->key, word->text);
}

static qrn_status read_group(qe_ep *ep, const char *path, const qrn_json *group, pin ***end) {
    if (group->kind != QRN_JSON_OBJECT)
        return QRN_FAIL(QRN_E_ARGUMENT, "op_affinity %s:%u: \"%s\": expected an object, this is %s",
                        path, group->line, group->key, qrn_json_kind_text(group->kind));
    for (const qrn_json *v = group->first; v; v = v->next) {
        pin *p = qrn_arena_alloc(ep->arena, sizeof *p);
        if (!p)
            return QRN_FAIL(QRN_E_MEM, "op_affinity: no memory");
        QRN_TRY(read_backend(path, v, group->key, &p->backend));
        p->of = v->key;
        p->line = v->line;
        p->is_type = strcmp(group->key, "op_type") == 0;
        **end = p;
        *end = &p->next;
    }
    return QRN_OK;
}

qrn_status qe_affinity_read(qe_ep *ep) {
    static const char *const groups[] = {"op_type", "op_name"};
    const char *path = ep->opt.affinity_path;
    qrn_json *top = NULL;
    if (!path || !path[0])
        return QRN_OK;
    if (qrn_json_read_file(path, ep->arena, &top) != QRN_OK) {
        char words[QRN_MESSAGE_MAX];
        snprintf(words, sizeof words, "%s", qrn_message());
        return QRN_FAIL(QRN_E_ARGUMENT, "op_affinity %s", words);
    }
    if (top->kind != QRN_JSON_OBJECT || top->n == 0)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "op_affinity %s:%u: expected an object with \"op_type\" or \"op_name\"",
                        path, top->line);
    struct qe_affinity *a = qrn_arena_alloc(ep->arena, sizeof *a);
    if (!a)
        return QRN_FAIL(QRN_E_MEM, "op_affinity: no memory");
    a->path = path;
    pin **end = &a->pins;
    for (const qrn_json *v = top->first; v; v = v->next) {
        if (strcmp(v->key, groups[0]) != 0 && strcmp(v->key, groups[1]) != 0) {
            const char *near = qrn_suggest(v->key, groups, 2);
            return QRN_FAIL(QRN_E_ARGUMENT,
                            "op_affinity %s:%u: there is no key \"%s\"; %s \"%s\"%s", path, v->line,
                            v->key, near ? "did you mean" : "expected", near ? near : groups[0],
                            near ? "?" : " or \"op_name\"");
        }
        QRN_TRY(read_group(ep, path, v, &end));
    }
    ep->affinity = a;
    return QRN_OK;
}

// --- what follows

// The session's backend as an index into backends; none of them for a serializer.
static size_t own_backend(const qe_ep *ep) {
    return ep->backend == QE_BACKEND_CPU   ? CPU
           : ep->backend == QE_BACKEND_GPU ? 1
           : ep->backend == QE_BACKEND_HTP ? 3
                                           : N_BACKENDS;
}

qrn_status qe_affinity_check(const qe_ep *ep) {
    size_t own = own_backend(ep);
    for (const pin *p = ep->affinity ? ep->affinity->pins : NULL; p; p = p->next)
        if (p->backend != CPU && p->backend != own)
            return QRN_FAIL(QRN_E_CONFIG,
                            "op_affinity %s:%u: %s '%s' is pinned to %s, and the backend of the "
                            "session is %s; pin it to that one or to cpu",
                            ep->affinity->path, p->line, kind_of(p), p->of, backends[p->backend],
                            own < N_BACKENDS ? backends[own] : "a serializer");
    return QRN_OK;
}

typedef struct pins {
    qrn_strmap types, names;
} pins;

static const pin *pin_of(const pins *all, const ox_node *n) {
    const pin *p = n->name && n->name[0] ? qrn_strmap_get(&all->names, n->name) : NULL;
    return p ? p : qrn_strmap_get(&all->types, n->op);
}

// The pin that keeps a node away: its own, or that of a node in one of its bodies.
static const pin *refusal(const pins *all, const ox_node *n) {
    const pin *p = pin_of(all, n);
    if (p && p->backend == CPU)
        return p;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const ox_graph *body = n->attrs[i].g;
        for (uint32_t k = 0; body && k < body->n_nodes; k++)
            if ((p = refusal(all, &body->nodes[k])))
                return p;
    }
    return NULL;
}

static bool has_node(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        if (n->name && strcmp(n->name, name) == 0)
            return true;
        for (uint32_t k = 0; k < n->n_attrs; k++)
            if (n->attrs[k].g && has_node(n->attrs[k].g, name))
                return true;
    }
    return false;
}

static qrn_status index_pins(const qe_ep *ep, pins *all) {
    for (pin *p = ep->affinity->pins; p; p = p->next)
        if (!qrn_strmap_put(p->is_type ? &all->types : &all->names, p->of, p))
            return QRN_FAIL(QRN_E_MEM, "op_affinity: no memory");
    return QRN_OK;
}

static qrn_status refuse_all(const qe_ep *ep, const pins *all, const ox_graph *g, qrn_arena *arena,
                             const char **why) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const pin *p = refusal(all, &g->nodes[i]);
        if (!p)
            continue;
        char text[QRN_MESSAGE_MAX];
        snprintf(text, sizeof text, "op_affinity pins %s '%s' to cpu (%s:%u)", kind_of(p), p->of,
                 ep->affinity->path, p->line);
        why[i] = qrn_arena_strdup(arena, text);
        if (!why[i])
            return QRN_FAIL(QRN_E_MEM, "op_affinity: no memory");
    }
    return QRN_OK;
}

qrn_status qe_affinity_refuse(const qe_ep *ep, const ox_graph *g, qrn_arena *arena,
                              const char **why) {
    pins all = {0};
    if (!ep->affinity)
        return QRN_OK;
    for (const pin *p = ep->affinity->pins; p; p = p->next)
        if (!p->is_type && !has_node(g, p->of))
            qe_say(ep->log, ORT_LOG_WARNING, "op_affinity %s:%u: the graph has no node '%s'",
                   ep->affinity->path, p->line, p->of);
    if (own_backend(ep) == CPU)
        return QRN_OK; // the pins name the session's own backend
    qrn_status s = index_pins(ep, &all);
    if (s == QRN_OK)
        s = refuse_all(ep, &all, g, arena, why);
    qrn_strmap_clear(&all.types);
    qrn_strmap_clear(&all.names);
    return s;
}
