// SPDX-License-Identifier: MIT
//
// Calibration data of a language model from a text: windows of as many tokens as its graph computes
// at once, with the angles and the mask that go with them (frontend/llm/signature.h has the names).
#include "tools/quern/samples.h"
#include "tools/quern/report.h"

#include "base/file.h"
#include "frontend/llm/config.h"
#include "frontend/llm/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WINDOWS 32
#define MASKED (-1e4f)

typedef struct windows {
    const qt_text_options *opt;
    const ox_info *ids, *cos, *sin, *mask;
    const ox_info *last; // or NULL: rows whose logits are given, one or all
    uint32_t tokens;     // of a window
    ql_ids text;
    size_t n;
    ql_rope rope;
} windows;

static const ox_info *port(const qt_inputs *in, const char *name) {
    for (uint32_t i = 0; i < in->n_ports; i++)
        if (strcmp(in->ports[i]->name, name) == 0)
            return in->ports[i];
    return NULL;
}

static const ox_info *named(const ox_info *list, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static const ox_info *input_of(const ox_model *m, const char *name) {
    return named(m->graph->inputs, m->graph->n_inputs, name);
}

bool qt_text_one_row(const ox_model *m) {
    const ox_info *last = input_of(m, "last"), *ids = input_of(m, "ids");
    return last && last->rank == 1 && last->dims[0] == 1 && ids && ids->rank == 2 &&
           ids->dims[1] > 1;
}

// A copy that may be changed in place of a list; NULL: no memory.
static ox_info *own(ox_model *m, const ox_info **list, uint32_t n) {
    ox_info *copy = qrn_arena_alloc(m->arena, n * sizeof *copy);
    if (copy) {
        memcpy(copy, *list, n * sizeof *copy);
        *list = copy;
    }
    return copy;
}

bool qt_text_all_rows(ox_model *m) {
    ox_graph *g = m->graph;
    ox_info *inputs = own(m, &g->inputs, g->n_inputs), *outputs = own(m, &g->outputs, g->n_outputs);
    if (!inputs || !outputs)
        return false;
    inputs[input_of(m, "last") - g->inputs].dims[0] = input_of(m, "ids")->dims[1];
    const ox_info *logits = named(g->outputs, g->n_outputs, "logits");
    if (logits)
        outputs[logits - g->outputs].has_shape = false; // which was that of one row
    return true;
}

static int find_ports(const qt_inputs *in, windows *w) {
    w->ids = port(in, "ids");
    w->cos = port(in, "cos");
    w->sin = port(in, "sin");
    w->mask = port(in, "mask");
    w->last = port(in, "last");
    bool ok = w->ids && w->cos && w->sin && w->mask && in->n_ports == 4 + (w->last ? 1 : 0) &&
              w->ids->rank == 2 && w->cos->rank == 4 && w->sin->rank == 4 && w->mask->rank >= 2;
    int64_t t = ok ? w->ids->dims[1] : 0;
    ok = ok && t > 0 && w->cos->dims[2] == t && w->sin->dims[2] == t && w->cos->dims[3] > 1 &&
         w->sin->dims[3] == w->cos->dims[3] && w->mask->dims[w->mask->rank - 1] == t &&
         w->mask->dims[w->mask->rank - 2] == t;
    if (w->last)
        ok = ok && w->last->rank == 1 && (w->last->dims[0] == 1 || w->last->dims[0] == t);
    if (!ok) {
        qt_error(
            "--text needs a language model's graph without a past first: inputs ids [1,T], "
            "cos and sin [1,1,T,D], mask [1,..,T,T] and, where logits are of one token, last [1]");
        return QT_EXIT_INPUT;
    }
    w->tokens = (uint32_t)t;
    return QT_EXIT_OK;
}

static int read_text(windows *w, const char *tokenizer) {
    ql_tokenizer *t = NULL;
    qrn_file file;
    if (ql_tokenizer_open(tokenizer, &t) != QRN_OK)
        return qt_failed(NULL, QT_EXIT_INPUT);
    qrn_status s = qrn_file_map(w->opt->text, &file);
    if (s == QRN_OK) {
        s = ql_encode(t, (ql_slice){(const char *)file.data, file.size}, false, &w->text);
        qrn_file_unmap(&file);
    }
    ql_tokenizer_close(t);
    if (s != QRN_OK)
        return qt_failed(NULL, QT_EXIT_INPUT);
    w->n = w->text.n / w->tokens;
    w->n = w->n > MOST_WINDOWS ? MOST_WINDOWS : w->n;
    if (w->n)
        return QT_EXIT_OK;
    qt_error("%s: %zu tokens, a sample needs %u", w->opt->text, w->text.n, w->tokens);
    return QT_EXIT_INPUT;
}

static bool make(qt_npz *z, const ox_info *p, size_t n, qt_array **out) {
    uint64_t dims[OX_MAX_RANK];
    for (uint32_t d = 0; d < p->rank; d++)
        dims[d] = (uint64_t)p->dims[d] * (d ? 1 : n);
    *out = &z->arrays[z->n];
    if (!(z->names[z->n] = strdup(p->name)))
        return false;
    if (qt_array_create(p->name, p->type, p->rank, dims, *out) != QRN_OK) {
        free(z->names[z->n]);
        return false;
    }
    z->n++;
    return true;
}

static void store(qt_array *a, size_t i, uint32_t v) {
    if (a->type == OX_I64)
        ((int64_t *)a->data)[i] = v;
    else
        ((int32_t *)a->data)[i] = (int32_t)v;
}

// All rows, or the last one.
static bool fill_last(const windows *w, qt_npz *z) {
    qt_array *last;
    if (!w->last)
        return true;
    if (!make(z, w->last, 1, &last))
        return false;
    uint32_t n = (uint32_t)w->last->dims[0];
    for (uint32_t i = 0; i < n; i++)
        store(last, i, w->tokens - n + i);
    return true;
}

static bool fill(const windows *w, qt_npz *z) {
    qt_array *ids, *cosines, *sines, *mask;
    uint32_t depth = (uint32_t)w->cos->dims[3], t = w->tokens;
    float *frequencies = calloc(depth, sizeof *frequencies);
    bool ok = frequencies && make(z, w->ids, w->n, &ids) && make(z, w->cos, 1, &cosines) &&
              make(z, w->sin, 1, &sines) && make(z, w->mask, 1, &mask) && fill_last(w, z);
    for (size_t i = 0; ok && i < w->n * t; i++)
        store(ids, i, w->text.items[i]);
    if (ok)
        ql_rope_frequencies(&w->rope, depth / 2, frequencies);
    for (uint32_t i = 0; ok && i < t; i++) {
        ql_rope_row(frequencies, depth / 2, ql_rope_amplitude(&w->rope), i, depth,
                    (float *)cosines->data + (size_t)i * depth,
                    (float *)sines->data + (size_t)i * depth);
        for (uint32_t k = 0; k < t; k++)
            ((float *)mask->data)[(size_t)i * t + k] = k <= i ? 0 : MASKED;
    }
    free(frequencies);
    if (!ok)
        qt_error("out of memory");
    return ok;
}

static int add_windows(qt_samples *s, const windows *w) {
    bool typed = (w->ids->type == OX_I32 || w->ids->type == OX_I64) && w->cos->type == OX_F32 &&
                 w->sin->type == OX_F32 && w->mask->type == OX_F32 &&
                 (!w->last || w->last->type == OX_I32 || w->last->type == OX_I64);
    if (!typed) {
        qt_error("--text needs integer ids and last, and float32 cos, sin and mask");
        return QT_EXIT_INPUT;
    }
    qt_npz z = {.names = calloc(5, sizeof *z.names), .arrays = calloc(5, sizeof *z.arrays)};
    if (z.names && z.arrays && fill(w, &z))
        return qt_samples_add(s, w->opt->text, &z);
    qt_npz_free(&z);
    return QT_EXIT_FAILURE;
}

// FILE beside the model, where none is given.
static void beside(const char *model, const char *name, char *out, size_t size) {
    const char *slash = strrchr(model, '/');
    snprintf(out, size, "%.*s%s", slash ? (int)(slash - model + 1) : 0, model, name);
}

int qt_samples_of_text(const ox_model *m, const char *model, const qt_input_options *opt,
                       const qt_text_options *text, qt_samples *out) {
    char tokenizer[4096], config[4096];
    windows w = {.opt = text};
    ql_config facts = {0};
    beside(model, "tokenizer.json", tokenizer, sizeof tokenizer);
    beside(model, "config.json", config, sizeof config);
    if (text->rope_theta > 0)
        facts.rope.theta = text->rope_theta;
    else if (ql_config_read(config, &facts) != QRN_OK) {
        qt_error("%s; --text is for language models, with their config.json beside the model",
                 qrn_message());
        return QT_EXIT_INPUT;
    }
    w.rope = facts.rope;
    if (!(w.rope.theta > 0)) {
        qt_error("%s does not say rope_theta; give it with --rope-theta", config);
        return QT_EXIT_INPUT;
    }
    int code = qt_samples_begin(m, opt, out);
    if (code == QT_EXIT_OK)
        code = find_ports(&out->in, &w);
    if (code == QT_EXIT_OK)
        code = read_text(&w, text->tokenizer ? text->tokenizer : tokenizer);
    if (code == QT_EXIT_OK)
        code = add_windows(out, &w);
    ql_ids_free(&w.text);
    if (code != QT_EXIT_OK)
        qt_samples_close(out);
    return code;
}
