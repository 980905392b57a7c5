// SPDX-License-Identifier: MIT
//
// The state machine of graph switching; see switch.h.
#include "backend/htp/device/switch.h"

void qrn_switch_retain(qrn_switch *s, const uint32_t *order, uint32_t n) {
    for (uint32_t i = 0; i < s->n_graphs; i++)
        s->graphs[i].rank = QRN_SWITCH_NOT_KEPT;
    for (uint32_t i = n; i-- > 0;) // a graph that is named twice has its first place
        s->graphs[order[i]].rank = i;
}

uint64_t qrn_switch_loaded_bytes(const qrn_switch *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->n_graphs; i++)
        sum += s->graphs[i].loaded ? s->graphs[i].size_bytes : 0;
    return sum;
}

static bool has_room(const qrn_switch *s, uint64_t bytes) {
    uint64_t used = qrn_switch_loaded_bytes(s);
    return used <= s->room_bytes && bytes <= s->room_bytes - used;
}

static qrn_status load(qrn_switch *s, uint32_t i) {
    QRN_TRY(s->load(s->ctx, i));
    s->graphs[i].loaded = true;
    return QRN_OK;
}

static void unload(qrn_switch *s, uint32_t i) {
    s->unload(s->ctx, i);
    s->graphs[i].loaded = false;
}

// Graph at a place of the retention order; n_graphs when there is none.
static uint32_t at_rank(const qrn_switch *s, uint32_t rank) {
    uint32_t i = 0;
    while (i < s->n_graphs && s->graphs[i].rank != rank)
        i++;
    return i;
}

qrn_status qrn_switch_start(qrn_switch *s, uint32_t first) {
    bool any = false;
    for (uint32_t rank = 0; rank < s->n_graphs; rank++) {
        uint32_t i = at_rank(s, rank);
        if (i == s->n_graphs)
            continue;
        any = true;
        if (!has_room(s, s->graphs[i].size_bytes))
            return QRN_FAIL(QRN_E_BINARY,
                            "GRAPH_RETENTION_ORDER: graph '%s' of %llu bytes does not fit beside "
                            "the graphs before it into %llu bytes; shorten the list",
                            s->graphs[i].name, (unsigned long long)s->graphs[i].size_bytes,
                            (unsigned long long)s->room_bytes);
        QRN_TRY(load(s, i));
    }
    return any ? QRN_OK : load(s, first);
}

static void unload_unlisted(qrn_switch *s) {
    for (uint32_t i = 0; i < s->n_graphs; i++)
        if (s->graphs[i].loaded && s->graphs[i].rank == QRN_SWITCH_NOT_KEPT &&
            !s->graphs[i].n_running)
            unload(s, i);
}

// Lets the least important loaded graph of the list go; false when there is none.
static bool unload_listed(qrn_switch *s) {
    uint32_t last = s->n_graphs;
    for (uint32_t i = 0; i < s->n_graphs; i++) {
        const qrn_switch_graph *g = &s->graphs[i];
        if (g->loaded && !g->n_running && g->rank != QRN_SWITCH_NOT_KEPT &&
            (last == s->n_graphs || g->rank > s->graphs[last].rank))
            last = i;
    }
    if (last == s->n_graphs)
        return false;
    unload(s, last);
    return true;
}

qrn_status qrn_switch_enter(qrn_switch *s, uint32_t graph) {
    qrn_switch_graph *g = &s->graphs[graph];
    if (g->disabled)
        return QRN_FAIL(QRN_E_DISABLED, "graph '%s' was left out by ENABLE_GRAPHS", g->name);
    for (uint32_t i = 0; i < s->n_graphs; i++)
        if (i != graph && s->graphs[i].n_running)
            return QRN_FAIL(QRN_E_NOT_PERMITTED,
                            "graph '%s': graph '%s' of the context is running, and graphs that "
                            "are switched run one at a time",
                            g->name, s->graphs[i].name);
    if (!g->loaded) {
        unload_unlisted(s);
        while (!has_room(s, g->size_bytes))
            if (!unload_listed(s))
                return QRN_FAIL(QRN_E_MEM, "graph '%s': %llu bytes do not fit into %llu", g->name,
                                (unsigned long long)g->size_bytes,
                                (unsigned long long)s->room_bytes);
        QRN_TRY(load(s, graph));
    }
    g->n_running++;
    return QRN_OK;
}

void qrn_switch_leave(qrn_switch *s, uint32_t graph) { s->graphs[graph].n_running--; }
