// SPDX-License-Identifier: MIT
//
// EPContext nodes: where their binary is, and which of its graphs they stand for.
#include "tools/quern/context_node.h"

#include "base/mem.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_context(const ox_node *n) { return strcmp(n->op, "EPContext") == 0; }

static const char *graph_of(const ox_node *n) {
    return ox_attr_string(n, "partition_name", n->name);
}

bool qt_has_context(const ox_model *m) {
    for (uint32_t i = 0; i < m->graph->n_nodes; i++)
        if (is_context(&m->graph->nodes[i]))
            return true;
    return false;
}

int qt_reject_context(const char *path, const ox_model *m) {
    if (!qt_has_context(m))
        return QT_EXIT_OK;
    qt_error("%s: an EPContext model, which is compiled already; this command needs the model that "
             "it was made from",
             path);
    return QT_EXIT_REFUSED;
}

int qt_open_nodes(const char *path, const qt_input_options *opt, ox_model **out) {
    int code = qt_open_shaped(path, opt, out);
    if (code == QT_EXIT_OK && (code = qt_reject_context(path, *out)) != QT_EXIT_OK) {
        ox_model_close(*out);
        *out = NULL;
    }
    return code;
}

// The node of a graph, by name or because there is no other.
static int choose(const char *path, const ox_graph *g, const char *name, const ox_node **out) {
    char names[512] = "";
    *out = NULL;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        if (!is_context(n)) {
            qt_error("%s: node '%s' (%s) beside EPContext nodes: run the model with ONNX Runtime, "
                     "which has the CPU's ops",
                     path, n->name, n->op);
            return QT_EXIT_REFUSED;
        }
        if (name ? strcmp(graph_of(n), name) == 0 : g->n_nodes == 1)
            *out = n;
        size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", graph_of(n));
    }
    if (*out)
        return QT_EXIT_OK;
    if (name)
        qt_error("%s: no graph '%s'; it has %s", path, name, names);
    else
        qt_error("%s: %u graphs; choose one with --graph: %s", path, g->n_nodes, names);
    return QT_EXIT_USAGE;
}

// The node that has the binary of `n`: itself, or the first main one before it.
static const ox_node *main_node(const ox_graph *g, const ox_node *n) {
    if (ox_attr_int(n, "main_context", 1))
        return n;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (ox_attr_int(&g->nodes[i], "main_context", 1))
            return &g->nodes[i];
    return NULL;
}

// A file beside the model, whose name must not lead elsewhere.
static int open_beside(const char *path, const ox_node *n, const char *name, qt_binary *out) {
    char file[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int len = slash ? snprintf(file, sizeof file, "%.*s/%s", (int)(slash - path), path, name)
                    : snprintf(file, sizeof file, "%s", name);
    if (!*name || *name == '/' || strstr(name, "..") || len < 0 || (size_t)len >= sizeof file) {
        qt_error("%s: node '%s': ep_cache_context '%s' is not the name of a file beside the model",
                 path, n->name, name);
        return QT_EXIT_REFUSED;
    }
    if (access(file, R_OK) != 0) {
        qt_error("%s: node '%s' names %s: %s", path, n->name, file, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    return qt_binary_open(file, out);
}

static int open_bytes(const char *path, const ox_node *n, qt_binary *out) {
    const ox_attr *cache = n ? ox_attr_find(n, "ep_cache_context") : NULL;
    if (!cache || !cache->s) {
        qt_error("%s: %s", path,
                 n ? "its EPContext node has no ep_cache_context"
                   : "no EPContext node has main_context = 1");
        return QT_EXIT_REFUSED;
    }
    if (ox_attr_int(n, "embed_mode", 1))
        return qt_binary_copy(path, cache->s, cache->s_len, out);
    return open_beside(path, n, cache->s, out);
}

// Tensors of the graph in the order of the node's names; false: one is not there.
static bool order(qrn_arena *a, const Qnn_Tensor_t *from, uint32_t n_from, const char **names,
                  uint32_t n, Qnn_Tensor_t **out) {
    Qnn_Tensor_t *list = n == n_from ? qrn_arena_alloc(a, (n + 1u) * sizeof *list) : NULL;
    for (uint32_t i = 0; list && i < n; i++) {
        uint32_t k = 0;
        while (k < n_from && strcmp(from[k].v1.name, names[i]) != 0)
            k++;
        if (k == n_from)
            return false;
        list[i] = from[k];
    }
    *out = list;
    return list != NULL;
}

int qt_context_open(const char *path, const ox_model *m, const char *name, qrn_arena *arena,
                    qt_binary *out, const QnnSystemContext_GraphInfoV3_t **graph) {
    const ox_node *n = NULL;
    const QnnSystemContext_GraphInfoV3_t *found = NULL;
    int code = choose(path, m->graph, name, &n);
    if (code == QT_EXIT_OK)
        code = open_bytes(path, main_node(m->graph, n), out);
    // Providers name the only graph of a binary differently at times.
    if (code == QT_EXIT_OK)
        code = qt_binary_graph(out, path, out->info->numGraphs == 1 ? NULL : graph_of(n), &found);
    if (code != QT_EXIT_OK)
        return code;
    QnnSystemContext_GraphInfoV3_t *own = qrn_arena_alloc(arena, sizeof *own);
    if (!own) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    *own = *found;
    if (!order(arena, found->graphInputs, found->numGraphInputs, n->in, n->n_in,
               &own->graphInputs) ||
        !order(arena, found->graphOutputs, found->numGraphOutputs, n->out, n->n_out,
               &own->graphOutputs)) {
        qt_error("%s: node '%s' does not have the %u inputs and %u outputs of graph '%s' in its "
                 "context binary",
                 path, n->name, found->numGraphInputs, found->numGraphOutputs, found->graphName);
        return QT_EXIT_REFUSED;
    }
    *graph = own;
    return QT_EXIT_OK;
}
