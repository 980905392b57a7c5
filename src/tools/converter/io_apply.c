// SPDX-License-Identifier: MIT
//
// The wishes as nodes: Transpose, Gather, Cast, QuantizeLinear and DequantizeLinear.
#include "tools/converter/graph_edit.h"
#include "tools/converter/io.h"
#include "tools/quern/output.h"
#include "tools/sdk/spelling.h"

#include <string.h>

static const ox_info *find(const ox_graph *g, const char *name, bool *is_output) {
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        *is_output = i >= g->n_inputs;
        const ox_info *info = *is_output ? &g->outputs[i - g->n_inputs] : &g->inputs[i];
        if (strcmp(info->name, name) == 0)
            return info;
    }
    return NULL;
}

// --- layouts

static const ox_attr *attr_ints(const cv_model *m, const char *name, const int64_t *v, uint32_t n) {
    ox_attr *a = qrn_arena_alloc(m->arena, sizeof *a);
    int64_t *copy = qrn_arena_copy(m->arena, v, n * sizeof *v);
    if (!a || !copy)
        return NULL;
    *a = (ox_attr){.name = name, .type = OX_ATTR_INTS, .ints = copy, .n = n};
    return a;
}

static const ox_attr *attr_int(const cv_model *m, const char *name, int64_t v) {
    ox_attr *a = qrn_arena_alloc(m->arena, sizeof *a);
    if (a)
        *a = (ox_attr){.name = name, .type = OX_ATTR_INT, .i = v};
    return a;
}

// Dimensions of `info` in another order: dimension i is that of the letter to[i].
static ox_info permuted(const ox_info *info, const char *from, const char *to) {
    ox_info p = *info;
    for (uint32_t i = 0; i < info->rank && to[i]; i++) {
        size_t at = (size_t)(strchr(from, to[i]) - from);
        p.dims[i] = info->dims[at];
        p.symbols[i] = info->symbols[at];
    }
    return p;
}

static int transpose(cv_model *m, const cv_io *io, const char *from, const char *to) {
    bool is_output = false;
    const ox_info *info = find(m->model->graph, io->name, &is_output);
    const char *node_from = is_output ? from : to, *node_to = is_output ? to : from;
    int64_t perm[OX_MAX_RANK];
    uint32_t rank = (uint32_t)strlen(from);
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = strchr(node_from, node_to[i]) - node_from;
    const ox_info changed = permuted(info, from, to);
    const cv_node node = {"Transpose", {io->name}, attr_ints(m, "perm", perm, rank), 1};
    if (!node.attrs)
        return cv_no_memory();
    return is_output ? cv_before_output(m, io->name, &changed, &node)
                     : cv_behind_input(m, io->name, &changed, &node);
}

// rgb to bgr and back are the same.
static int swap_colors(cv_model *m, const cv_io *io, const char *layout) {
    static const int64_t order[] = {2, 1, 0};
    bool is_output = false;
    const ox_info *info = find(m->model->graph, io->name, &is_output);
    const char *channel = strchr(layout, 'C');
    if (!channel || info->dims[channel - layout] != 3) {
        qt_error("%s %s: a change of colours needs 3 channels; layout %s says where they are",
                 io->where, io->name, layout);
        return QT_EXIT_USAGE;
    }
    const char *indices = cv_constant(m, io->name, OX_I64, 3, order, sizeof order);
    const cv_node node = {"Gather", {io->name, indices}, attr_int(m, "axis", channel - layout), 1};
    if (!indices || !node.attrs)
        return QT_EXIT_FAILURE;
    const ox_info same = *info;
    return cv_behind_input(m, io->name, &same, &node);
}

int cv_io_layouts(cv_model *m, const cv_ios *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        const cv_io *io = &list->items[i];
        bool is_output = false;
        const ox_info *info = find(m->model->graph, io->name, &is_output);
        const char *from = io->model_layout  ? io->model_layout
                           : info->rank == 3 ? "NCF"
                           : info->rank == 5 ? "NCDHW"
                                             : "NCHW";
        const char *to = io->layout ? io->layout : from;
        int code = QT_EXIT_OK;
        if (io->color_in && strcmp(io->color_in, io->color_out) != 0)
            code = swap_colors(m, io, from);
        if (code == QT_EXIT_OK && strcmp(from, to) != 0)
            code = transpose(m, io, from, to);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

// --- types

static int cast(cv_model *m, const char *name, bool is_output, int io_type, int model_type) {
    bool found;
    ox_info changed = *find(m->model->graph, name, &found);
    changed.type = io_type;
    const ox_attr *to = attr_int(m, "to", is_output ? io_type : model_type);
    const cv_node node = {"Cast", {name}, to, 1};
    if (!to)
        return cv_no_memory();
    return is_output ? cv_before_output(m, name, &changed, &node)
                     : cv_behind_input(m, name, &changed, &node);
}

static int scale(cv_model *m, const cv_io *io, bool is_output) {
    const int8_t zero = (int8_t)(uint8_t)-io->offset; // the bits of either type
    bool found;
    ox_info changed = *find(m->model->graph, io->name, &found);
    const char *s = cv_constant(m, io->name, OX_F32, 1, &io->scale, sizeof io->scale);
    const char *z = s ? cv_constant(m, io->name, io->type, 1, &zero, sizeof zero) : NULL;
    if (!z)
        return QT_EXIT_FAILURE;
    changed.type = io->type;
    const cv_node node = {
        is_output ? "QuantizeLinear" : "DequantizeLinear", {io->name, s, z}, NULL, 0};
    return is_output ? cv_before_output(m, io->name, &changed, &node)
                     : cv_behind_input(m, io->name, &changed, &node);
}

// float16 inputs of the model get there by float32, which every scale has.
int cv_io_types(cv_model *m, const cv_ios *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        const cv_io *io = &list->items[i];
        bool is_output = false;
        const int has = find(m->model->graph, io->name, &is_output)->type;
        int code = QT_EXIT_OK;
        if (io->type == OX_NONE || io->type == has)
            continue;
        if (has == OX_F16 && io->type != OX_F32)
            code = cast(m, io->name, is_output, OX_F32, OX_F16);
        if (code == QT_EXIT_OK)
            code = io->scaled ? scale(m, io, is_output)
                              : cast(m, io->name, is_output, io->type,
                                     has == OX_F16 && io->type == OX_F32 ? OX_F16 : OX_F32);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}

// --- quantized models

bool cv_io_is_kept(const char *keep, const char *name) {
    size_t n = strlen(name);
    if (!keep || strcmp(keep, "all") == 0)
        return keep != NULL;
    for (const char *at = keep; *at;) {
        size_t k = strcspn(at, (char[]){QS_PAIR, 0});
        if (k == n && strncmp(at, name, n) == 0)
            return true;
        at += k + (at[k] == QS_PAIR);
    }
    return false;
}

static int constant_type(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return g->constants[i].type;
    return OX_NONE;
}

// The only node that reads a value; its number, or -1.
static int64_t only_reader(const ox_graph *g, const char *name) {
    int64_t found = -1;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++)
            if (strcmp(g->nodes[i].in[k], name) == 0) {
                if (found >= 0)
                    return -1;
                found = i;
            }
    return found;
}

static int64_t maker(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].out[0], name) == 0)
            return i;
    return -1;
}

static bool is_read(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_in; k++)
            if (strcmp(g->nodes[i].in[k], name) == 0)
                return true;
    return false;
}

static int bare(cv_model *m, const ox_info *info, bool is_output) {
    const ox_graph *g = m->model->graph;
    int64_t at = is_output ? maker(g, info->name) : only_reader(g, info->name);
    const ox_node *n = at >= 0 ? &g->nodes[at] : NULL;
    const char *op = is_output ? "DequantizeLinear" : "QuantizeLinear";
    if (!n || strcmp(n->op, op) != 0 || n->n_in < 3 || (is_output && is_read(g, info->name)))
        return QT_EXIT_OK;
    ox_info changed = *info;
    changed.type = constant_type(g, n->in[2]);
    const char *inner = is_output ? n->in[0] : n->out[0];
    bool plain = maker(g, inner) >= 0; // not a constant or an input
    if (changed.type == OX_NONE || !plain)
        return QT_EXIT_OK;
    int code = cv_bypass(m, (uint32_t)at, inner, info->name);
    return code == QT_EXIT_OK ? cv_declare(m, is_output, &changed) : code;
}

int cv_io_native(cv_model *m, const char *keep) {
    const ox_graph *g = m->model->graph;
    for (uint32_t i = 0; i < g->n_inputs + g->n_outputs; i++) {
        bool is_output = i >= g->n_inputs;
        const ox_info *info = is_output ? &g->outputs[i - g->n_inputs] : &g->inputs[i];
        int code = cv_io_is_kept(keep, info->name) ? QT_EXIT_OK : bare(m, info, is_output);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}
