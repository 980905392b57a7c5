// SPDX-License-Identifier: MIT
//
// Estimates of a language model's graphs. ONNX files are estimated for the target SoC; of context
// binaries the stored schedule is reported.
#include "tools/quern/generate_estimate.h"

#include "tools/quern/binary.h"
#include "tools/quern/estimate.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include <string.h>

typedef struct row {
    const char *file, *graph;
    const char *chip, *precision;
    uint32_t tokens, past;
    double us;
    bool stored; // in a binary
    const qd_doubt *doubts;
    uint32_t n_doubts;
} row;

typedef struct reporting {
    json_t *list; // NULL: text
    unsigned n;
} reporting;

static int report_row(reporting *t, const row *r) {
    bool doubted = r->stored || r->n_doubts;
    double rate = 1e6 * r->tokens / r->us;
    double low = rate / QT_HIGH(doubted), high = rate / QT_LOW(doubted);
    t->n++;
    if (t->list) {
        json_t *doubts = json_array();
        for (uint32_t i = 0; i < r->n_doubts; i++)
            json_array_append_new(doubts, qt_json_text(r->doubts[i].text));
        json_t *o = json_pack("{s:o,s:o,s:o,s:s,s:I,s:I,s:f,s:f,s:f,s:f,s:b,s:o}", "model",
                              qt_json_text(r->file), "graph", qt_json_text(r->graph), "soc",
                              qt_json_text(r->chip), "precision", r->precision, "tokens",
                              (json_int_t)r->tokens, "past", (json_int_t)r->past, "ms", r->us / 1e3,
                              "tokens_per_s", rate, "low_tokens_per_s", low, "high_tokens_per_s",
                              high, "stored", r->stored, "uncalibrated", doubts);
        json_array_append_new(t->list, o);
        return QT_EXIT_OK;
    }
    qt_print("%s%s%s  %s of %u token%s behind up to %u: %.3f ms, %.1f tokens/s (%.1f to %.1f) on "
             "%s in %s, modelled\n",
             qt_style_on(QT_BOLD), r->graph, qt_style_off(), r->tokens > 1 ? "prefill" : "decode",
             r->tokens, r->tokens > 1 ? "s" : "", r->past, r->us / 1e3, rate, low, high, r->chip,
             r->precision);
    for (uint32_t i = 0; i < r->n_doubts; i++)
        qt_print("  uncalibrated: %s\n", r->doubts[i].text);
    return QT_EXIT_OK;
}

// The last dimension of an input: tokens of "ids", length of the past plus tokens of "mask".
static uint32_t find_size(const char *const *names, const int64_t *sizes, uint32_t n,
                          const char *name, const char *other) {
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0 || strcmp(names[i], other) == 0)
            return sizes[i] > 0 && sizes[i] < UINT32_MAX ? (uint32_t)sizes[i] : 0;
    return 0;
}

#define MOST_PORTS 4096

static int set_sizes(row *r, const char *const *names, const int64_t *sizes, uint32_t n) {
    r->tokens = find_size(names, sizes, n, "ids", "input_ids");
    uint32_t all = find_size(names, sizes, n, "mask", "attention_mask");
    r->past = all > r->tokens ? all - r->tokens : 0;
    if (r->tokens)
        return QT_EXIT_OK;
    qt_error("%s: graph '%s' is not one of a language model: it has no input 'ids'", r->file,
             r->graph);
    return QT_EXIT_INPUT;
}

static int estimate_model(reporting *t, const char *file, const ox_model *m, const char *soc,
                          bool allow_fp16) {
    static const char *names[MOST_PORTS];
    static int64_t sizes[MOST_PORTS];
    const char *slash = strrchr(file, '/');
    row r = {.file = file, .graph = slash ? slash + 1 : file};
    uint32_t n = m->graph->n_inputs < MOST_PORTS ? m->graph->n_inputs : MOST_PORTS;
    for (uint32_t i = 0; i < n; i++) {
        const ox_info *v = &m->graph->inputs[i];
        names[i] = v->name;
        sizes[i] = v->rank ? v->dims[v->rank - 1] : 0;
    }
    qt_target at;
    qt_network net;
    int code = set_sizes(&r, names, sizes, n);
    if (code == QT_EXIT_OK)
        code = qt_find_target(soc, 0, &at);
    if (code != QT_EXIT_OK)
        return code;
    if (qt_network_of(m, &at, allow_fp16, &net) != QRN_OK) {
        qt_error("%s on %s: %s", file, at.chip->name, qrn_message());
        return QT_EXIT_REFUSED;
    }
    qt_estimate e;
    qd_precision p = qd_precision_of(&net.graph, &net.steps);
    code = qt_estimate_of(&net, &at, p, &e);
    if (code == QT_EXIT_OK && !e.known) {
        qt_error("%s on %s: nobody published measurements of this precision on this SoC",
                 qd_precision_names[p], at.chip->name);
        code = QT_EXIT_REFUSED;
    }
    r.chip = at.lent_to ? at.lent_to : at.chip->name;
    r.precision = qd_precision_names[p];
    r.us = e.e.us;
    r.doubts = e.doubts;
    r.n_doubts = e.n_doubts;
    if (code == QT_EXIT_OK)
        code = report_row(t, &r);
    qt_network_close(&net);
    return code;
}

static int report_stored(reporting *t, const char *file, const QnnSystemContext_GraphInfoV3_t *g,
                         qrn_arena *arena) {
    static const char *names[MOST_PORTS];
    static int64_t sizes[MOST_PORTS];
    row r = {.file = file, .graph = g->graphName, .stored = true};
    qd_schedule s;
    bool known;
    uint32_t n = g->numGraphInputs < MOST_PORTS ? g->numGraphInputs : MOST_PORTS;
    for (uint32_t i = 0; i < n; i++) {
        const Qnn_TensorV1_t *v = &g->graphInputs[i].v1;
        names[i] = v->name;
        sizes[i] = v->rank ? v->dimensions[v->rank - 1] : 0;
    }
    int code = set_sizes(&r, names, sizes, n);
    if (code != QT_EXIT_OK || !qt_binary_schedule(g, arena, &s, &known))
        return code == QT_EXIT_OK ? QT_EXIT_FAILURE : code;
    if (!known) {
        qt_error("%s: graph '%s' has no stored schedule: compile it with --soc, or estimate the "
                 "ONNX files",
                 file, g->graphName);
        return QT_EXIT_REFUSED;
    }
    r.chip = "the SoC that it was compiled for";
    r.precision = qd_precision_names[s.precision];
    r.us = s.us;
    return report_row(t, &r);
}

static int estimate_file(reporting *t, const char *file, const char *soc, bool allow_fp16) {
    if (!qt_is_binary(file)) {
        ox_model *m = NULL;
        int code = qt_open_model(file, &m);
        if (code == QT_EXIT_OK)
            code = estimate_model(t, file, m, soc, allow_fp16);
        ox_model_close(m);
        return code;
    }
    qt_binary b = {0};
    qrn_arena *arena = qrn_arena_create();
    int code = qt_binary_open(file, &b);
    for (uint32_t i = 0; code == QT_EXIT_OK && i < b.info->numGraphs; i++)
        code =
            arena ? report_stored(t, file, &b.info->graphs[i].graphInfoV3, arena) : QT_EXIT_FAILURE;
    qt_binary_close(&b);
    qrn_arena_destroy(arena);
    return code;
}

int qt_generate_estimate(const qt_list *files, const char *soc, bool allow_fp16, bool json) {
    reporting t = {.list = json ? json_array() : NULL};
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < files->n && code == QT_EXIT_OK; i++)
        code = estimate_file(&t, files->items[i], soc, allow_fp16);
    if (code != QT_EXIT_OK || !json) {
        json_decref(t.list);
        return code == QT_EXIT_OK ? qt_close_stdout() : code;
    }
    return qt_print_json(json_pack("{s:o}", "graphs", t.list));
}
