// SPDX-License-Identifier: MIT
//
// Nodes at the inputs and outputs of a model. An input keeps its name; a node makes the value that
// the model's nodes read, under a new name. An output keeps its name, too: what the model makes is
// renamed, and a node makes the output of it.
#include "tools/converter/io.h"

#include "tools/quern/output.h"
#include "tools/sdk/spelling.h"

#include <stdio.h>
#include <string.h>

int cv_io_type(const char *name) {
    static const struct {
        const char *name;
        int type;
    } types[] = {{"float32", OX_F32}, {"float16", OX_F16}, {"uint8", OX_U8}, {"int8", OX_I8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return OX_NONE;
}

// --- the list

cv_io *cv_io_find(cv_ios *list, qrn_arena *a, const char *name, const char *where) {
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    if (list->n == list->cap) {
        uint32_t cap = list->cap ? 2 * list->cap : 8;
        cv_io *items = qrn_arena_alloc(a, cap * sizeof *items);
        if (!items) {
            cv_no_memory();
            return NULL;
        }
        if (list->n)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n] = (cv_io){.name = name, .where = where};
    return &list->items[list->n++];
}

int cv_io_flags(const cv_model *m, cv_ios *list, const char *flag, const qt_list *values,
                size_t field) {
    for (size_t i = 0; i < values->n; i++) {
        char *name, *value = cv_pair(m, flag, values->items[i], "a value", &name);
        cv_io *io = value ? cv_io_find(list, m->arena, name, flag) : NULL;
        if (!io)
            return QT_EXIT_USAGE;
        memcpy((char *)io + field, &value, sizeof value);
    }
    return QT_EXIT_OK;
}

int cv_io_colors(const cv_model *m, cv_ios *list, const char *flag, const qt_list *values) {
    for (size_t i = 0; i < values->n; i++) {
        char *name, *in, *words = cv_pair(m, flag, values->items[i], "a colour encoding", &name);
        cv_io *io = words ? cv_io_find(list, m->arena, name, flag) : NULL;
        if (!io)
            return QT_EXIT_USAGE;
        const char *out = qs_second_word(m->arena, words, &in);
        io->color_in = in;
        io->color_out = out ? out : "bgr";
    }
    return QT_EXIT_OK;
}

// --- checks

static const ox_info *info_of(const ox_graph *g, const char *name, bool *is_output) {
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (strcmp(g->inputs[i].name, name) == 0) {
            *is_output = false;
            return &g->inputs[i];
        }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        if (strcmp(g->outputs[i].name, name) == 0) {
            *is_output = true;
            return &g->outputs[i];
        }
    return NULL;
}

static bool is_layout(const char *name) {
    size_t n = strlen(name);
    for (const char *at = CV_LAYOUTS; *at;) {
        size_t k = strcspn(at, " ");
        if (k == n && strncmp(at, name, n) == 0)
            return true;
        at += k + (at[k] == ' ');
    }
    return false;
}

static int check_layout(const cv_model *m, const cv_io *io, const char *layout,
                        const ox_info *info) {
    bool any = strcmp(layout, "NONTRIVIAL") == 0, fits = !info->has_shape;
    fits = fits || any || strlen(layout) == info->rank;
    if (is_layout(layout) && fits)
        return QT_EXIT_OK;
    qt_error("%s %s %s: no layout of %u dimensions; known are " CV_LAYOUTS, io->where, io->name,
             layout, info->rank);
    (void)m;
    return QT_EXIT_USAGE;
}

// The layout that ONNX has where nothing is said.
static const char *usual_layout(uint32_t rank) {
    return rank == 3 ? "NCF" : rank == 4 ? "NCHW" : rank == 5 ? "NCDHW" : "NONTRIVIAL";
}

static const char *layout_of(const cv_io *io, uint32_t rank) {
    return io->model_layout ? io->model_layout : usual_layout(rank);
}

static int check_exchange(const cv_io *io, uint32_t rank) {
    static const char *const pairs[][2] = {
        {"NCDHW", "NDHWC"}, {"NCHW", "NHWC"}, {"NCF", "NFC"}, {"NTF", "TNF"}};
    const char *from = layout_of(io, rank);
    if (!io->layout || strcmp(from, io->layout) == 0)
        return QT_EXIT_OK;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if ((strcmp(pairs[i][0], from) == 0 && strcmp(pairs[i][1], io->layout) == 0) ||
            (strcmp(pairs[i][1], from) == 0 && strcmp(pairs[i][0], io->layout) == 0))
            return QT_EXIT_OK;
    qt_error("%s %s: layout %s cannot become %s; allowed are NCDHW and NDHWC, NCHW and NHWC, NCF "
             "and NFC, NTF and TNF",
             io->where, io->name, from, io->layout);
    return QT_EXIT_USAGE;
}

static int check_type(const cv_io *io, const ox_info *info) {
    bool floats = info->type == OX_F32 || info->type == OX_F16;
    if (io->model_type != OX_NONE && io->model_type != info->type) {
        qt_error("%s %s: the model has %s, not %s", io->where, io->name, ox_type_name(info->type),
                 ox_type_name(io->model_type));
        return QT_EXIT_USAGE;
    }
    if (io->type == OX_NONE || io->type == info->type)
        return QT_EXIT_OK;
    if (!floats) {
        qt_error("%s %s: the model has %s, which stays; only float32 and float16 can become %s",
                 io->where, io->name, ox_type_name(info->type), ox_type_name(io->type));
        return QT_EXIT_USAGE;
    }
    bool integers = io->type == OX_U8 || io->type == OX_I8;
    if (integers && !io->scaled && !io->undefined) {
        qt_error("%s %s: %s needs a scale and an offset", io->where, io->name,
                 ox_type_name(io->type));
        return QT_EXIT_USAGE;
    }
    int32_t low = io->type == OX_I8 ? -128 : 0;
    if (integers && io->scaled &&
        (!(io->scale > 0) || -io->offset < low || -io->offset > low + 255)) {
        qt_error("%s %s: scale %g and offset %d; expected a scale above 0 and an offset from %d to "
                 "%d",
                 io->where, io->name, (double)io->scale, io->offset, -(low + 255), -low);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int check_color(const cv_io *io, bool is_output) {
    static const char *const known[] = {"bgr",  "rgb",  "rgba",        "argb32",
                                        "nv21", "nv12", "time_series", "other"};
    const char *both[] = {io->color_in, io->color_out};
    for (int k = 0; io->color_in && k < 2; k++) {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || strcmp(known[i], both[k]) == 0;
        if (!found || is_output) {
            qt_error("%s %s %s: expected an input and one of bgr rgb rgba argb32 nv21 nv12 "
                     "time_series other",
                     io->where, io->name, both[k]);
            return QT_EXIT_USAGE;
        }
    }
    if (!io->color_in || strcmp(io->color_in, io->color_out) == 0)
        return QT_EXIT_OK;
    bool in = strcmp(io->color_in, "rgb") == 0 || strcmp(io->color_in, "bgr") == 0;
    bool out = strcmp(io->color_out, "rgb") == 0 || strcmp(io->color_out, "bgr") == 0;
    if (in && out)
        return QT_EXIT_OK;
    qt_error("%s %s %s %s is not supported: colours can only change between rgb and bgr; convert "
             "pictures before",
             io->where, io->name, io->color_in, io->color_out);
    return QT_EXIT_USAGE;
}

int cv_io_check(const cv_model *m, const cv_ios *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        const cv_io *io = &list->items[i];
        bool is_output = false;
        const ox_info *info = info_of(m->model->graph, io->name, &is_output);
        if (!info) {
            qt_error("%s %s: %s has no such input or output", io->where, io->name, m->path);
            return QT_EXIT_USAGE;
        }
        int code = io->model_layout ? check_layout(m, io, io->model_layout, info) : QT_EXIT_OK;
        if (code == QT_EXIT_OK && io->layout)
            code = check_layout(m, io, io->layout, info);
        if (code == QT_EXIT_OK)
            code = check_exchange(io, info->rank);
        if (code == QT_EXIT_OK)
            code = check_type(io, info);
        if (code == QT_EXIT_OK)
            code = check_color(io, is_output);
        if (code != QT_EXIT_OK)
            return code;
    }
    return QT_EXIT_OK;
}
