// SPDX-License-Identifier: MIT
//
// Small constants.
#include "quantizer/epsilon.h"

#include "quantizer/edit.h"

#include <math.h>
#include <string.h>

#define LEAST_HALF 0x1p-24 // of float16

static bool is(const ox_node *n, const char *op) {
    return n && n->op && n->domain[0] == '\0' && strcmp(n->op, op) == 0;
}

// The input with a small number of x + c and max(x, c); 0: there is none.
static uint32_t small_input(const qz_edit *e, const ox_node *n, double *c) {
    bool sum = is(n, "Add") || is(n, "Max");
    if (!sum && !is(n, "Clip"))
        return UINT32_MAX;
    for (uint32_t i = sum ? 0 : 1; i < n->n_in && i < 2; i++)
        if (qz_edit_number(e, n->in[i], c) && *c > 0 && *c < LEAST_HALF)
            return i;
    return UINT32_MAX;
}

static void note(qz_epsilons *out, double c) {
    if (!(out->n_raised + out->n_logs) || c < out->smallest)
        out->smallest = c;
}

// --- Logs

// The only reader of a value, if it is a Log.
static ox_node *log_of(const qz_edit *e, const ox_node *n) {
    const qz_wire *w = n->n_out == 1 ? qz_edit_wire(e, n->out[0]) : NULL;
    return w && w->n_uses == 1 && !w->is_output && is(w->reader, "Log") ? w->reader : NULL;
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for a Clip"); }

// A Clip, to be put behind the Log: it makes the Log's result under its name.
static qrn_status clip_behind(qz_edit *e, ox_node *log, double low, ox_node *clip) {
    qrn_arena *arena = e->model->arena;
    qz_wire *made;
    const char *raw = qz_edit_name(e, log->out[0], &made);
    const char **in = qrn_arena_alloc(arena, 2 * sizeof *in);
    const char **out = qrn_arena_alloc(arena, sizeof *out);
    float *number = qrn_arena_alloc(arena, sizeof *number);
    if (!raw || !in || !out || !number)
        return no_memory();
    *number = (float)low;
    *clip = (ox_node){.name = log->out[0], .op = "Clip", .domain = "", .in = in, .out = log->out};
    in[0] = raw;
    in[1] = "";
    clip->n_in = 2;
    clip->n_out = 1;
    out[0] = raw;
    log->out = out;
    return qz_edit_put(e, clip, 1, 0, NULL, number);
}

// All nodes, each Clip behind its Log.
static qrn_status join(ox_model *m, const ox_node *clips) {
    ox_graph *g = m->graph;
    ox_node *nodes = qrn_arena_alloc(m->arena, 2 * (size_t)g->n_nodes * sizeof *nodes);
    uint32_t n = 0, k = 0;
    if (!nodes)
        return no_memory();
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        nodes[n++] = g->nodes[i];
        if (is(&g->nodes[i], "Log") && clips[k].op &&
            strcmp(g->nodes[i].out[0], clips[k].in[0]) == 0)
            nodes[n++] = clips[k++];
    }
    g->nodes = nodes;
    g->n_nodes = n;
    return QRN_OK;
}

// Notes a Clip for each Log of a small number, in the order of the Logs.
static qrn_status find_logs(qz_edit *e, ox_node *clips, qz_epsilons *out) {
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        ox_node *log = &e->nodes[i];
        const qz_wire *w = is(log, "Log") ? qz_edit_wire(e, log->in[0]) : NULL;
        const ox_node *n = w ? w->maker : NULL;
        double c;
        if (!n || small_input(e, n, &c) == UINT32_MAX || log_of(e, n) != log)
            continue;
        QRN_TRY(clip_behind(e, log, log1p(c - 1), &clips[out->n_logs]));
        note(out, c);
        out->n_logs++;
    }
    return QRN_OK;
}

// --- the rest

static qrn_status raise(qz_edit *e, qz_epsilons *out) {
    for (uint32_t i = 0; i < e->n_nodes; i++) {
        ox_node *n = &e->nodes[i];
        double c;
        uint32_t k = small_input(e, n, &c);
        if (k == UINT32_MAX || log_of(e, n))
            continue;
        const ox_tensor *t = qz_edit_floats(e, n->in[k]);
        float *number = qz_edit_alloc(e, t->rank, t->dims);
        if (!number)
            return no_memory();
        *number = (float)LEAST_HALF;
        QRN_TRY(qz_edit_put(e, n, k, t->rank, t->dims, number));
        note(out, c);
        out->n_raised++;
    }
    return QRN_OK;
}

qrn_status qz_raise_epsilons(ox_model *m, qz_epsilons *out) {
    qz_edit e;
    *out = (qz_epsilons){0};
    ox_node *clips = qrn_arena_alloc(m->arena, ((size_t)m->graph->n_nodes + 1) * sizeof *clips);
    if (!clips)
        return no_memory();
    QRN_TRY(qz_edit_begin(&e, m));
    qrn_status s = raise(&e, out);
    if (s == QRN_OK)
        s = find_logs(&e, clips, out);
    qz_edit_end(&e);
    return s == QRN_OK && out->n_logs ? join(m, clips) : s;
}

bool qz_feeds_log(const qz_graph *g, const qz_value *v, double step) {
    for (int hop = 0; v && hop < 2 && v->n_uses == 1 && !v->is_output; hop++) {
        const ox_node *n = v->reader;
        if (is(n, "Log"))
            return v->stats.n && v->stats.min < step;
        if (!is(n, "Add") && !is(n, "Max") && !is(n, "Clip"))
            return false;
        v = qz_find(g, n->out[0]);
    }
    return false;
}
