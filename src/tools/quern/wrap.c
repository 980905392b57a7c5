// SPDX-License-Identifier: MIT
//
// quern wrap: a context binary as a model of EPContext nodes, for QNN's execution providers in ONNX
// Runtime, or as a program of delegates, for ExecuTorch.
#include "tools/quern/binary.h"
#include "tools/quern/commands.h"
#include "tools/quern/output.h"
#include "tools/quern/report.h"

#include "base/mem.h"
#include "base/soc.h"
#include "frontend/executorch/program_write.h"
#include "frontend/onnx/writer/context_model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wrap_options {
    const char *output, *provider, *graph;
    bool embed, each, json;
} wrap_options;

#define AT(field) offsetof(wrap_options, field)

static const qt_flag flags[] = {
    {"output", 'o', QT_FILE, "FILE", AT(output), NULL,
     "the model to write; .pte: a program of ExecuTorch"},
    {"embed", 0, QT_BOOL, NULL, AT(embed), NULL,
     "embed the binary in the model, so that no other file is needed"},
    {"each", 0, QT_BOOL, NULL, AT(each), NULL,
     "write one model per graph: FILE with the graph's name before its extension"},
    {"graph", 'g', QT_TEXT, "NAME", AT(graph), NULL, "write a model for this graph only"},
    {"provider", 0, QT_TEXT, "NAME", AT(provider), NULL,
     "provider name stored in the nodes (default: Qnn, which every provider supports)"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {0},
};

// The part of a path before the last slash, as the system knows it; freed by the caller.
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return real;
}

// A model names its binary by the file alone: it has to lie beside it.
static int check_folders(const char *binary, const char *output) {
    char *a = folder_of(binary), *b = folder_of(output);
    bool same = a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    if (same)
        return QT_EXIT_OK;
    qt_error("%s is not beside %s: a model names a binary in its own folder; write it there, or "
             "use --embed",
             binary, output);
    return QT_EXIT_USAGE;
}

// One model: of a graph, or of all when it is NULL. path NULL: only to see whether it can be made.
static int write_model(const wrap_options *o, const char *binary, const qt_binary *b,
                       const char *graph, const char *path) {
    const char *slash = strrchr(binary, '/');
    ox_writer w = {0};
    const ox_context_source source = {.info = b->info,
                                      .file = o->embed && path ? NULL
                                              : slash          ? slash + 1
                                                               : binary,
                                      .bytes = b->bytes,
                                      .n_bytes = b->n_bytes,
                                      .provider = o->provider ? o->provider : "Qnn",
                                      .graph = graph};
    int code = QT_EXIT_OK;
    qrn_status made = ox_context_model(&source, &w);
    if (made != QRN_OK) {
        qt_error("%s: %s%s", binary, qrn_message(), made == QRN_E_INCONSISTENT ? " (--each)" : "");
        code = QT_EXIT_REFUSED;
    }
    const qt_part whole = {w.data, w.n};
    if (code == QT_EXIT_OK && path && !qt_write_file(path, &whole, 1))
        code = QT_EXIT_FAILURE;
    ox_writer_free(&w);
    return code;
}

static bool is_program(const char *path) {
    size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".pte") == 0;
}

// A program of ExecuTorch with a method per graph; the binary is its last part.
static int write_program(const wrap_options *o, const char *binary, const qt_binary *b) {
    const qrn_soc *soc = qrn_soc_by_id(b->info->socModel);
    const et_wrap_source source = {.info = b->info,
                                   .bytes = b->bytes,
                                   .n_bytes = b->n_bytes,
                                   .graph = o->graph,
                                   .soc = b->info->socModel,
                                   .arch = qt_binary_arch(b),
                                   .vtcm_mb = soc ? soc->vtcm_mb : 0};
    void *head;
    size_t n;
    if (et_program_wrap(&source, &head, &n) != QRN_OK) {
        qt_error("%s: %s", binary, qrn_message());
        return QT_EXIT_REFUSED;
    }
    const qt_part parts[] = {{head, n}, {b->bytes, b->n_bytes}};
    bool written = qt_write_file(o->output, parts, 2);
    qrn_free(head);
    return written ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

// What was written: a file with graphs.
typedef struct written {
    const wrap_options *o;
    json_t *models; // with --json
    json_t *graphs; // of the last one
} written;

static void report_model(written *w, const char *path) {
    if (!w->o->json) {
        qt_print("%s%s%s\n", qt_style_on(QT_BOLD), path, qt_style_off());
        return;
    }
    w->graphs = json_array();
    json_array_append_new(w->models,
                          json_pack("{s:o,s:o}", "model", qt_json_text(path), "graphs", w->graphs));
}

static void report_graph(written *w, const QnnSystemContext_GraphInfoV3_t *g) {
    if (w->o->json)
        json_array_append_new(w->graphs,
                              json_pack("{s:o,s:I,s:I}", "name", qt_json_text(g->graphName),
                                        "inputs", (json_int_t)g->numGraphInputs, "outputs",
                                        (json_int_t)g->numGraphOutputs));
    else
        qt_print("  graph %s  %u input%s, %u output%s\n", g->graphName, g->numGraphInputs,
                 g->numGraphInputs == 1 ? "" : "s", g->numGraphOutputs,
                 g->numGraphOutputs == 1 ? "" : "s");
}

static int write_one(written *w, const char *path, const qt_binary *b) {
    const wrap_options *o = w->o;
    int code = is_program(o->output) ? write_program(o, path, b)
                                     : write_model(o, path, b, o->graph, o->output);
    if (code != QT_EXIT_OK)
        return code;
    report_model(w, o->output);
    for (uint32_t i = 0; i < b->info->numGraphs; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &b->info->graphs[i].graphInfoV3;
        if (!o->graph || strcmp(o->graph, g->graphName) == 0)
            report_graph(w, g);
    }
    return QT_EXIT_OK;
}

// net.onnx of graph "a/b": net.a_b.onnx, from malloc; NULL: out of memory.
static char *path_of(const char *output, const char *graph) {
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - output) : strlen(output);
    size_t n = strlen(graph);
    char *path = malloc(strlen(output) + n + 2);
    if (!path)
        return NULL;
    memcpy(path, output, stem);
    path[stem] = '.';
    for (size_t i = 0; i < n; i++)
        path[stem + 1 + i] =
            isalnum((unsigned char)graph[i]) || strchr("-_.", graph[i]) ? graph[i] : '_';
    strcpy(path + stem + 1 + n, output + stem);
    return path;
}

// The files of all graphs, from malloc; names that differ in other characters alone do not do.
static int name_files(const wrap_options *o, const char *path, const qt_binary *b, char **files) {
    for (uint32_t i = 0; i < b->info->numGraphs; i++) {
        const char *name = b->info->graphs[i].graphInfoV3.graphName;
        files[i] = path_of(o->output, name);
        if (!files[i]) {
            qt_error("out of memory");
            return QT_EXIT_FAILURE;
        }
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(files[k], files[i]) == 0) {
                qt_error("%s: graphs '%s' and '%s' would both be in %s; wrap them one by one with "
                         "--graph",
                         path, b->info->graphs[k].graphInfoV3.graphName, name, files[i]);
                return QT_EXIT_REFUSED;
            }
    }
    return QT_EXIT_OK;
}

// All can be made before the first is written.
static int write_each(written *w, const char *path, const qt_binary *b) {
    const wrap_options *o = w->o;
    uint32_t n = b->info->numGraphs;
    char **files = calloc(n, sizeof *files);
    int code = files ? name_files(o, path, b, files) : QT_EXIT_FAILURE;
    for (uint32_t i = 0; i < n && code == QT_EXIT_OK; i++)
        code = write_model(o, path, b, b->info->graphs[i].graphInfoV3.graphName, NULL);
    for (uint32_t i = 0; i < n && code == QT_EXIT_OK; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &b->info->graphs[i].graphInfoV3;
        code = write_model(o, path, b, g->graphName, files[i]);
        if (code == QT_EXIT_OK) {
            report_model(w, files[i]);
            report_graph(w, g);
        }
    }
    for (uint32_t i = 0; files && i < n; i++)
        free(files[i]);
    free(files);
    return code;
}

static int check_options(const wrap_options *o, const char *path) {
    if (!o->output) {
        qt_error("no output: use --output FILE");
        return QT_EXIT_USAGE;
    }
    static const char *const others[] = {".bin", ".dlc", ".tflite", ".npz", NULL};
    if (qt_check_ending(o->output, others,
                        "an ONNX model (.onnx) or an ExecuTorch program (.pte)") != QT_EXIT_OK)
        return QT_EXIT_USAGE;
    if (o->each && o->graph) {
        qt_error("--each and --graph exclude each other");
        return QT_EXIT_USAGE;
    }
    if (is_program(o->output) && (o->each || o->provider)) {
        qt_error("--%s is for ONNX models: a program has all graphs and names no provider",
                 o->each ? "each" : "provider");
        return QT_EXIT_USAGE;
    }
    return o->embed || is_program(o->output) ? QT_EXIT_OK : check_folders(path, o->output);
}

static int run(const void *options, const qt_list *args) {
    const wrap_options *o = options;
    const char *path = args->items[0];
    const QnnSystemContext_GraphInfoV3_t *found;
    qt_binary b = {0};
    written w = {.o = o, .models = o->json ? json_array() : NULL};
    int code = check_options(o, path);
    if (code == QT_EXIT_OK)
        code = qt_binary_open(path, &b);
    if (code == QT_EXIT_OK && o->graph)
        code = qt_binary_graph(&b, path, o->graph, &found);
    if (code == QT_EXIT_OK)
        code = (o->each ? write_each : write_one)(&w, path, &b);
    if (code == QT_EXIT_OK && o->json)
        code =
            qt_print_json(json_pack("{s:o,s:O}", "binary", qt_json_text(path), "models", w.models));
    else if (code == QT_EXIT_OK)
        code = qt_close_stdout();
    json_decref(w.models);
    qt_binary_close(&b);
    return code;
}

const qt_command qt_wrap = {
    .name = "wrap",
    .summary = "wrap a context binary in an ONNX model or an ExecuTorch program",
    .args = "BINARY -o MODEL",
    .min_args = 1,
    .max_args = 1,
    .about =
        "Writes an ONNX model with an EPContext node per graph of a context binary. ONNX "
        "Runtime runs it with Quern's provider or any other QNN provider.\nInputs and outputs "
        "have the names and types of the graphs, quantized ones included. The model refers to "
        "the binary, which must be in the same folder, or embeds it.\nGraphs that have an "
        "output name in common (e.g. prefill and decode of a language model) need separate "
        "models: use --each or --graph.\nWith an output that ends with .pte, writes an ExecuTorch "
        "program with a method per graph, which contains the binary. ExecuTorch's runtime, "
        "'quern run' and 'quern generate' run it.",
    .groups = {{"options", flags}},
    .examples = {{"quern compile net.onnx -o net.bin --soc SM8650 && quern wrap net.bin -o "
                  "net_ctx.onnx",
                  "From a model to one that starts at once."},
                 {"quern wrap net.bin -o net_ctx.onnx --embed", "In one file."},
                 {"quern wrap llm.bin -o llm.onnx --each", "llm.prefill.onnx, llm.decode.onnx."},
                 {"quern wrap llm.bin -o llm.pte", "An ExecuTorch program with all graphs."}},
    .options_size = sizeof(wrap_options),
    .run = run,
};
