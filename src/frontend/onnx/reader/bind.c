// SPDX-License-Identifier: MIT
//
// Sizes for what a model leaves open: dynamic dimensions of its inputs, by their name or by the
// shape of the whole input, and the words for those that are still missing.
#include "frontend/onnx/reader/model.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

// The inputs, to be changed. Pointers to the model's old ones stay valid and keep what they had.
static ox_info *own_inputs(ox_model *m) {
    ox_graph *g = m->graph;
    ox_info *inputs = qrn_arena_copy(m->arena, g->inputs, g->n_inputs * sizeof *inputs);
    if (inputs)
        g->inputs = inputs;
    return inputs;
}

static uint32_t set_symbol(ox_info *inputs, uint32_t n, const char *symbol, int64_t size) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; inputs[i].has_shape && d < inputs[i].rank; d++)
            if (inputs[i].symbols[d] && strcmp(inputs[i].symbols[d], symbol) == 0) {
                if (!inputs[i].given)
                    inputs[i].dims[d] = size;
                found++;
            }
    return found;
}

qrn_status ox_bind_symbol(ox_model *m, const char *symbol, int64_t size, uint32_t *found) {
    *found = 0;
    if (!m->graph->n_inputs)
        return QRN_OK;
    ox_info *inputs = own_inputs(m);
    if (!inputs)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    *found = set_symbol(inputs, m->graph->n_inputs, symbol, size);
    return QRN_OK;
}

qrn_status ox_bind_dim(ox_model *m, uint32_t input, uint32_t d, int64_t size) {
    ox_info *inputs = own_inputs(m);
    if (!inputs)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    ox_info *x = &inputs[input];
    if (x->dims[d] >= 0 && x->dims[d] != size)
        return QRN_FAIL(QRN_E_SHAPE, "dimension %u of input '%s' is %lld, found %lld", d, x->name,
                        (long long)x->dims[d], (long long)size);
    if (x->symbols[d])
        set_symbol(inputs, m->graph->n_inputs, x->symbols[d], size);
    x->dims[d] = size;
    return QRN_OK;
}

// Some exporters give dimensions of different sizes one name, in one input and in several; so a
// whole shape counts for more than a name.
static bool means_one_size(const ox_info *x, uint32_t d) {
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->symbols[i] && strcmp(x->symbols[i], x->symbols[d]) == 0 && x->dims[i] != x->dims[d])
            return false;
    return true;
}

qrn_status ox_bind_shape(ox_model *m, uint32_t input, uint32_t rank, const int64_t *dims) {
    ox_info *inputs = own_inputs(m);
    if (!inputs)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    ox_info *x = &inputs[input];
    if (!x->has_shape) {
        x->has_shape = true;
        x->rank = rank;
        for (uint32_t d = 0; d < rank; d++)
            x->dims[d] = -1;
    }
    if (x->rank != rank)
        return QRN_FAIL(QRN_E_SHAPE, "input '%s' has %u dimensions, found %u", x->name, x->rank,
                        rank);
    for (uint32_t d = 0; d < rank; d++) {
        if (x->dims[d] >= 0 && x->dims[d] != dims[d] && (!x->symbols[d] || x->given))
            return QRN_FAIL(QRN_E_SHAPE, "dimension %u of input '%s' is %lld, found %lld", d,
                            x->name, (long long)x->dims[d], (long long)dims[d]);
        x->dims[d] = dims[d];
    }
    x->given = true;
    for (uint32_t d = 0; d < rank; d++)
        if (x->symbols[d] && means_one_size(x, d))
            set_symbol(inputs, m->graph->n_inputs, x->symbols[d], dims[d]);
    return QRN_OK;
}

// --- words

typedef struct words {
    char *at;
    size_t left;
} words;

static void say(words *w, const char *fmt, const char *text) {
    int n = snprintf(w->at, w->left, fmt, text);
    size_t step = n < 0 ? 0 : (size_t)n < w->left ? (size_t)n : w->left ? w->left - 1 : 0;
    w->at += step;
    w->left -= step;
}

static bool is_open(const ox_info *x) {
    bool open = !x->has_shape;
    for (uint32_t d = 0; d < x->rank && !open; d++)
        open = x->dims[d] < 0;
    return open;
}

static void say_shape(words *w, const ox_info *x, const char *unnamed, bool names) {
    char number[24];
    for (uint32_t d = 0; d < x->rank; d++) {
        const char *symbol = names && x->symbols[d] ? x->symbols[d] : unnamed;
        snprintf(number, sizeof number, "%lld", (long long)x->dims[d]);
        say(w, d ? ",%s" : "%s", x->dims[d] < 0 ? symbol : number);
    }
}

// Is this the first dimension of that name among the inputs?
static bool is_first(const ox_info *const *inputs, uint32_t i, uint32_t d) {
    for (uint32_t k = 0; k <= i; k++)
        for (uint32_t b = 0; b < (k < i ? inputs[k]->rank : d); b++)
            if (inputs[k]->has_shape && inputs[k]->dims[b] < 0 && inputs[k]->symbols[b] &&
                strcmp(inputs[k]->symbols[b], inputs[i]->symbols[d]) == 0)
                return false;
    return true;
}

// The flags for input i: --dim for each name that no input before it has, or its whole shape.
static void say_flags(words *w, const ox_info *const *inputs, uint32_t i) {
    const ox_info *x = inputs[i];
    bool unnamed = !x->has_shape;
    for (uint32_t d = 0; d < x->rank; d++)
        unnamed |= x->dims[d] < 0 && !x->symbols[d];
    if (unnamed) {
        say(w, " --shape %s=", x->name);
        if (x->has_shape)
            say_shape(w, x, "N", false);
        else
            say(w, "%s", "N,N,...");
    }
    for (uint32_t d = 0; d < x->rank && !unnamed; d++)
        if (x->dims[d] < 0 && is_first(inputs, i, d))
            say(w, " --dim %s=SIZE", x->symbols[d]);
}

uint32_t ox_describe_dynamic(const ox_info *const *inputs, uint32_t n, bool flags, char *buf,
                             size_t size) {
    words w = {buf, size};
    uint32_t found = 0, told = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < n; i++)
        found += is_open(inputs[i]);
    if (!found)
        return 0;
    say(&w, "%s", found > 1 ? "inputs " : "input ");
    for (uint32_t i = 0; i < n; i++) {
        if (!is_open(inputs[i]))
            continue;
        say(&w, told++ ? ", '%s'" : "'%s'", inputs[i]->name);
        if (!inputs[i]->has_shape) {
            say(&w, "%s", " (no shape)");
            continue;
        }
        say(&w, "%s", " [");
        say_shape(&w, inputs[i], "?", true);
        say(&w, "%s", "]");
    }
    say(&w, "%s", found > 1 ? " have dynamic shapes" : " has a dynamic shape");
    if (flags)
        say(&w, "%s", found > 1 ? "; set them with" : "; set it with");
    for (uint32_t i = 0; flags && i < n; i++)
        if (is_open(inputs[i]))
            say_flags(&w, inputs, i);
    return found;
}

static bool is_constant(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return true;
    return false;
}

qrn_status ox_check_static(const ox_model *m, bool flags) {
    const ox_graph *g = m->graph;
    const ox_info **inputs = qrn_arena_alloc(m->arena, (g->n_inputs + 1) * sizeof *inputs);
    uint32_t n = 0;
    char text[QRN_MESSAGE_MAX];
    if (!inputs)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (g->inputs[i].type != OX_NONE && !is_constant(g, g->inputs[i].name))
            inputs[n++] = &g->inputs[i];
    if (!ox_describe_dynamic(inputs, n, flags, text, sizeof text))
        return QRN_OK;
    return QRN_FAIL(QRN_E_DYNAMIC_SHAPE, "%s", text);
}
