// SPDX-License-Identifier: MIT
//
// Reading context models, of this provider and of the public one: nodes with main_context bring a
// binary, the others are graphs of one of them. Files are mapped and used where they lie.
#include "frontend/ort/context.h"

#include "base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static qe_loaded **list_of(const qe_ep *ep) {
    return ep->shares ? qe_share_loaded() : (qe_loaded **)(uintptr_t)&ep->loaded;
}

bool qe_is_context(const qe_ep *ep, const ox_node *n) {
    if (strcmp(n->op, "EPContext") != 0)
        return false;
    const char *source = ox_attr_string(n, "source", "");
    return strcasecmp(source, "qnnexecutionprovider") == 0 || strcasecmp(source, "qnn") == 0 ||
           strcasecmp(source, ep->factory->name) == 0;
}

// --- finding the bytes

static bool leaves_folder(const char *name) {
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return true;
    }
    return name[0] == '/';
}

static qrn_status file_path(const qe_ep *ep, const ox_model *m, const ox_node *n,
                            const ox_attr *cache, char *out, size_t size) {
    const char *name = cache->s;
    if (!name[0] || leaves_folder(name) || memchr(name, 0, cache->s_len))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "node '%s': ep_cache_context '%s' is not the name of a file beside the "
                        "model",
                        n->name, name);
    const char *given = ep->opt.context_path;
    const char *base = given && given[0] ? given : m->path;
    const char *slash = base ? strrchr(base, '/') : NULL;
    int len = slash ? snprintf(out, size, "%.*s/%s", (int)(slash - base), base, name)
                    : snprintf(out, size, "%s", name);
    return len > 0 && (size_t)len < size
               ? QRN_OK
               : QRN_FAIL(QRN_E_ARGUMENT, "node '%s': the path of its file is too long", n->name);
}

static qrn_status find_bytes(const qe_ep *ep, const ox_model *m, const ox_node *n, qe_loaded *l) {
    const ox_attr *cache = ox_attr_find(n, "ep_cache_context");
    if (!cache || !cache->s)
        return QRN_FAIL(QRN_E_BINARY, "node '%s' has no ep_cache_context", n->name);
    if (ox_attr_int(n, "embed_mode", 1)) {
        l->bytes = cache->s;
        l->size = cache->s_len;
        return QRN_OK;
    }
    char path[PATH_MAX];
    QRN_TRY(file_path(ep, m, n, cache, path, sizeof path));
    QRN_TRY(qrn_file_map(path, &l->file));
    l->path = realpath(path, NULL);
    if (stat(path, &l->was) != 0)
        l->was = (struct stat){0};
    l->bytes = l->file.data;
    l->size = l->file.size;
    return QRN_OK;
}

// --- contexts

static qrn_status open_binary(const qe_ep *ep, const ox_model *m, const ox_node *n, qe_loaded *l) {
    int64_t spill = ox_attr_int(n, "max_size", 0);
    l->node = n->name;
    l->spill_bytes = spill > 0 ? (uint64_t)spill : 0;
    QRN_TRY(find_bytes(ep, m, n, l));
    QRN_TRY(qc_system_open(ep->client->path, &l->system));
    return qc_system_describe(l->system, l->bytes, l->size, &l->info);
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// The binary of a node's file that a session of the pool loaded before; NULL: none did.
static qe_loaded *loaded_before(const qe_ep *ep, const ox_model *m, const ox_node *n) {
    char path[PATH_MAX];
    struct stat now;
    const ox_attr *cache = ox_attr_find(n, "ep_cache_context");
    if (!ep->shares || !cache || !cache->s || ox_attr_int(n, "embed_mode", 1) ||
        file_path(ep, m, n, cache, path, sizeof path) != QRN_OK)
        return NULL;
    char *real = realpath(path, NULL);
    qe_loaded *l = real ? *list_of(ep) : NULL;
    while (l && !(l->path && strcmp(l->path, real) == 0))
        l = l->next;
    if (l && (stat(path, &now) != 0 || !same_file(&now, &l->was)))
        qe_say(ep->log, ORT_LOG_WARNING,
               "%s has changed since a session that shares its context loaded it; the session goes "
               "on with what was loaded",
               path);
    free(real);
    return l;
}

// Opens the binaries that are not there yet: *out lists them in the model's order; own[i] is the
// one that node i brings, or NULL.
static qrn_status open_all(const qe_ep *ep, const qe_graph *graphs, size_t n, qe_loaded **own,
                           qe_loaded **out) {
    qe_loaded **end = out;
    for (size_t i = 0; i < n; i++) {
        const ox_graph *g = graphs[i].model->graph;
        if (g->n_nodes != 1 || !qe_is_context(ep, &g->nodes[0]))
            return QRN_FAIL(QRN_E_BINARY, "a partition of a context model must be one EPContext "
                                          "node");
        if (!ox_attr_int(&g->nodes[0], "main_context", 1))
            continue;
        own[i] = loaded_before(ep, graphs[i].model, &g->nodes[0]);
        if (own[i])
            continue;
        qe_loaded *l = own[i] = *end = qrn_calloc(sizeof *l);
        if (!l)
            return QRN_FAIL(QRN_E_MEM, "context model: no memory");
        QRN_TRY(open_binary(ep, graphs[i].model, &g->nodes[0], l));
        end = &l->next;
    }
    return QRN_OK;
}

// Bytes that no context needs any more.
static void drop_bytes(const qe_ep *ep, qe_loaded *list) {
    for (qe_loaded *l = list; l; l = l->next) {
        l->bytes = NULL;
        l->node = NULL;
        if (!ep->opt.no_mapping)
            continue;
        qrn_file_unmap(&l->file);
        l->file = (qrn_file){0};
    }
}

static qrn_status load_all(qe_ep *ep, const qe_graph *graphs, size_t n, qe_loaded **own) {
    qe_loaded *fresh = NULL, **end = &fresh;
    qrn_status s = open_all(ep, graphs, n, own, &fresh);
    if (s == QRN_OK)
        s = qe_contexts_make(ep, fresh);
    if (s != QRN_OK) {
        qe_loaded_free(ep->client, fresh);
        return s;
    }
    drop_bytes(ep, fresh);
    while (*end)
        end = &(*end)->next;
    *end = *list_of(ep);
    *list_of(ep) = fresh;
    if (!*list_of(ep))
        return QRN_FAIL(QRN_E_BINARY, "no EPContext node has main_context = 1");
    return QRN_OK;
}

// --- graphs

// The graph that a node stands for, and the binary that has it.
typedef struct choice {
    const qe_loaded *in;
    const QnnSystemContext_GraphInfoV3_t *graph;
    bool twice; // several binaries have one of that name
} choice;

static const QnnSystemContext_GraphInfoV3_t *graph_called(const qe_loaded *l, const char *name) {
    for (uint32_t i = 0; i < l->info->numGraphs; i++)
        if (strcmp(l->info->graphs[i].graphInfoV3.graphName, name) == 0)
            return &l->info->graphs[i].graphInfoV3;
    return NULL;
}

static void search(const qe_loaded *l, const char *name, choice *c) {
    const QnnSystemContext_GraphInfoV3_t *g = graph_called(l, name);
    c->twice |= g && c->graph;
    if (g && !c->graph)
        *c = (choice){l, g, false};
}

// By its partition's name, its own, or because there is only one. A node that brings a binary means
// a graph of that one, whatever others have.
static choice find_graph(const qe_ep *ep, const ox_node *n, const qe_loaded *own) {
    const char *names[] = {ox_attr_string(n, "partition_name", ""), n->name};
    const qe_loaded *first = own ? own : *list_of(ep);
    choice c = {0};
    for (size_t k = 0; k < 2 && !c.graph; k++)
        for (const qe_loaded *l = first; l; l = own ? NULL : l->next)
            search(l, names[k], &c);
    if (!c.graph && (own || !first->next) && first->info->numGraphs == 1)
        c.graph = &first->info->graphs[0].graphInfoV3;
    if (!c.in)
        c.in = first;
    return c;
}

static qrn_status make_part(qe_ep *ep, const qe_graph *g, const ox_node *fused,
                            const qe_loaded *own, qe_part **out) {
    const ox_node *n = &g->model->graph->nodes[0];
    choice c = find_graph(ep, n, own);
    const char *name = ox_attr_string(n, "partition_name", n->name);
    if (!c.graph)
        return QRN_FAIL(QRN_E_BINARY,
                        "node '%s': none of the context's graphs is called '%s' (the first is "
                        "'%s')",
                        n->name, name,
                        c.in->info->numGraphs ? c.in->info->graphs[0].graphInfoV3.graphName : "");
    if (c.twice)
        return QRN_FAIL(QRN_E_BINARY, "node '%s': several binaries have a graph '%s'", n->name,
                        c.graph->graphName);
    Qnn_ContextHandle_t kept = ep->client->context;
    ep->client->context = c.in->context;
    qrn_status s = qe_part_load(ep, g, fused, c.graph, out);
    ep->client->context = kept;
    return s;
}

static qrn_status make_parts(qe_ep *ep, const qe_graph *graphs, const ox_node *fused, size_t n,
                             qe_loaded **own, OrtNodeComputeInfo **out) {
    QRN_TRY(load_all(ep, graphs, n, own));
    for (size_t i = 0; i < n; i++) {
        qe_part *part = NULL;
        QRN_TRY(make_part(ep, &graphs[i], &fused[i], own[i], &part));
        out[i] = qe_part_info(part);
    }
    return QRN_OK;
}

static qrn_status read_all(qe_ep *ep, const qe_graph *graphs, const ox_node *fused, size_t n,
                           OrtNodeComputeInfo **out) {
    qe_loaded **own = qrn_calloc((n + 1) * sizeof *own);
    qrn_status s = own ? make_parts(ep, graphs, fused, n, own, out)
                       : QRN_FAIL(QRN_E_MEM, "context model: no memory");
    qrn_free(own);
    return s;
}

qrn_status qe_context_read(qe_ep *ep, const qe_graph *graphs, const ox_node *fused, size_t n,
                           OrtNodeComputeInfo **out) {
    qrn_status s = read_all(ep, graphs, fused, n, out);
    for (qe_loaded *l = ep->loaded; l && !ep->shares; l = l->next) { // descriptions have served
        qc_system_close(l->system);
        l->system = NULL;
        l->info = NULL;
    }
    if (s == QRN_OK)
        return QRN_OK;
    char words[QRN_MESSAGE_MAX];
    snprintf(words, sizeof words, "%s", qrn_message());
    return QRN_FAIL(s, "the context model cannot be used: %s; make it anew from the original model",
                    words);
}

Qnn_ContextHandle_t qe_context_at(const qe_ep *ep, uint32_t i) {
    const qe_loaded *l = *list_of(ep);
    while (l && i--)
        l = l->next;
    return l ? l->context : NULL;
}

void qe_loaded_free(const qc_client *c, qe_loaded *list) {
    while (list) {
        qe_loaded *next = list->next;
        if (list->context)
            c->qnn.contextFree(list->context, NULL);
        qc_system_close(list->system);
        qrn_file_unmap(&list->file);
        free(list->path);
        qrn_free(list);
        list = next;
    }
}
