// SPDX-License-Identifier: MIT
//
// quern compile: ONNX models to a context binary, or to a DLC file, whose graphs are not compiled
// yet. Several models become the graphs of one context, whose equal weights are stored once.
#include "tools/quern/adapter.h"
#include "tools/quern/binary.h"
#include "tools/quern/commands.h"
#include "tools/quern/compile.h"
#include "tools/quern/context_node.h"
#include "tools/quern/data_format.h"
#include "tools/quern/dlc.h"
#include "tools/quern/dlc_source.h"
#include "tools/quern/quantize_overrides.h"
#include "tools/quern/report.h"
#include "tools/quern/soc.h"

#include "base/soc.h"

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpGraph.h"
#include "IR/QnnIrGraph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_CONFIGS 6
#define FIRST_SHARING_ARCH 73u // of the HTP, whose graphs share weights

#define AT(field) offsetof(qt_compile_options, field)

static const qt_flag flags[] = {
    {"output", 'o', QT_FILE, "FILE", AT(output), NULL, "output file"},
    {"graph-name", 'g', QT_LIST, "NAME", AT(names), NULL,
     "name of the graph; repeat for each model (default: the file's name)"},
    QT_DIM_FLAG(qt_compile_options, in),
    {"encodings", 'e', QT_FILE, "FILE", AT(encodings), NULL,
     "quantize a float model with encodings of AIMET or a converter's overrides (JSON)"},
    {"updatable", 'u', QT_LIST, "NAME", AT(updatable), NULL,
     "constants that adapters may replace, e.g. 'lora_*'"},
    {"adapter", 'a', QT_LIST, "FILE", AT(adapters), NULL,
     "values of an adapter (.npz, .safetensors or a tuned .onnx model); written beside the output"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {0},
};
static const qt_flag htp_flags[] = {
    {"vtcm-mb", 0, QT_COUNT1, "N", AT(vtcm_mb), NULL,
     "VTCM to use, in MB (default: 4, or all if the SoC has less)"},
    {"opt-level", 'O', QT_COUNT1, "N", AT(level), NULL,
     "1, 2 (default) or 3; only stored and reported: all levels compile the same graph"},
    {"hvx-threads", 0, QT_COUNT1, "N", AT(hvx_threads), NULL, "vector threads"},
    {"cores", 0, QT_COUNT1, "N", AT(cores), NULL,
     "number of NPU cores (default 1; 'quern socs' lists them)"},
    {"data-format-config", 0, QT_FILE, "FILE", AT(formats), NULL,
     "JSON file that lists inputs and outputs in the native KV cache layout"},
    {"dlbc", 0, QT_BOOL, NULL, AT(dlbc), NULL, "use data link bandwidth compression (DLBC)"},
    {0},
};

// One model of the context.
typedef struct part {
    const char *path;
    char *name;
    ox_model *model;
    ox_writer bytes; // of a model that encodings were put on
    qt_inputs in;
    ox_result result; // of a model
    uint32_t n_ops;
    double import_ms, finalize_ms;
} part;

typedef struct job {
    const qt_compile_options *opt;
    part *parts;
    size_t n;
    qc_client *client;
    qt_data_formats *formats; // or NULL
    qt_sources sources;       // of the ops of a DLC file
    void *bytes;
    uint64_t n_bytes;
} job;

// "some/net.onnx" to "net".
static char *stem_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

static int name_parts(job *j, const qt_list *args) {
    const qt_list *names = &j->opt->names;
    if (names->n > args->n) {
        qt_error("--graph-name is given %zu times for %zu model%s", names->n, args->n,
                 args->n == 1 ? "" : "s");
        return QT_EXIT_USAGE;
    }
    for (size_t i = 0; i < args->n; i++) {
        part *p = &j->parts[i];
        p->path = args->items[i];
        p->name = i < names->n ? strdup(names->items[i]) : stem_of(p->path);
        if (!p->name)
            return qt_no_memory();
        for (size_t k = 0; k < i; k++)
            if (strcmp(j->parts[k].name, p->name) == 0) {
                qt_error("%s: a second graph '%s'; --graph-name gives another name", p->path,
                         p->name);
                return QT_EXIT_USAGE;
            }
    }
    return QT_EXIT_OK;
}

// Do graphs on the SoC share weights? Whoever does not know it says so later.
static bool can_share(const qt_compile_options *o) {
    uint32_t model = 0;
    const qrn_soc *soc =
        o->backend.soc && qt_soc_find(o->backend.soc, &model) ? qrn_soc_by_id(model) : NULL;
    return !soc || soc->arch >= FIRST_SHARING_ARCH;
}

static int open_client(job *j) {
    qt_backend_options b = j->opt->backend;
    if (!b.backend)
        b.backend = qt_compile_to_dlc(j->opt) ? "ir" : "htp";
    QnnHtpContext_CustomConfig_t share = {.option =
                                              QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                          .weightSharingEnabled = true};
    const QnnContext_Config_t custom = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                        .customConfig = &share};
    const QnnContext_Config_t *configs[] = {&custom, NULL};
    const qt_backend_extras extras = {
        .context_configs =
            j->n > 1 && qt_compile_to_htp(j->opt) && can_share(j->opt) ? configs : NULL,
        .precisions = qt_compile_to_htp(j->opt),
    };
    int code = qt_open_backend(&b, &extras, &j->client);
    if (code == QT_EXIT_OK && b.precision && strcmp(b.precision, "fp32") == 0 &&
        j->client->floats == QC_FLOAT16)
        qt_warn("--precision fp32 has no effect: the target SoC computes floats in float16");
    return code;
}

// The options of a graph as the API has them.
typedef struct graph_configs {
    QnnHtpGraph_CustomConfig_t custom[MAX_CONFIGS];
    QnnIrGraph_CustomConfig_t no_file;
    QnnGraph_Config_t list[MAX_CONFIGS];
    const QnnGraph_Config_t *pointers[MAX_CONFIGS + 1];
    size_t n;
} graph_configs;

static void add_config(graph_configs *c, QnnHtpGraph_CustomConfig_t custom) {
    c->custom[c->n] = custom;
    c->list[c->n] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                        .customConfig = &c->custom[c->n]};
    c->pointers[c->n] = &c->list[c->n];
    c->n++;
}

static void make_configs(const qt_compile_options *o, graph_configs *c) {
    *c = (graph_configs){.n = 0, .no_file = QNN_IR_GRAPH_CUSTOM_CONFIG_INIT};
    if (qt_compile_to_dlc(o)) { // the whole context is taken when all graphs are in it
        c->list[0] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                         .customConfig = &c->no_file};
        c->pointers[c->n++] = &c->list[0];
    }
    if (o->level)
        add_config(c, (QnnHtpGraph_CustomConfig_t){
                          .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
                          .optimizationOption = {
                              QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG,
                              (float)o->level}});
    if (o->dlbc)
        add_config(c, (QnnHtpGraph_CustomConfig_t){
                          .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
                          .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, 1}});
    if (o->vtcm_mb)
        add_config(
            c, (QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB,
                                            .vtcmSizeInMB = (uint32_t)o->vtcm_mb});
    if (o->hvx_threads)
        add_config(
            c, (QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_HVX_THREADS,
                                            .numHvxThreads = o->hvx_threads});
    if (o->cores)
        add_config(c, (QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES,
                                                   .numCores = (uint32_t)o->cores});
    if (o->backend.precision && qt_compile_to_htp(o))
        add_config(
            c, (QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
                                            .precision = strcmp(o->backend.precision, "fp16") == 0
                                                             ? QNN_PRECISION_FLOAT16
                                                             : QNN_PRECISION_FLOAT32});
}

static int refused(const part *p) {
    qt_error("%s: %s", p->path, qrn_message());
    return QT_EXIT_REFUSED;
}

static int compile_part(job *j, part *p, const qt_input_options *in) {
    static const qt_list no_files;
    int code = qt_open_model(p->path, &p->model);
    if (code == QT_EXIT_OK)
        code = qt_reject_context(p->path, p->model);
    if (code == QT_EXIT_OK && j->opt->encodings)
        code = qt_overrides_encode(j->opt->encodings, p->path, &p->model, &p->bytes);
    if (code == QT_EXIT_OK)
        code = qt_set_shapes(in, p->model);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(p->model, in, &no_files, 0, &p->in);
    if (code != QT_EXIT_OK)
        return code;
    graph_configs configs;
    make_configs(j->opt, &configs);
    ox_options import = {.graph_name = p->name,
                         .graph_configs = configs.n ? configs.pointers : NULL,
                         .updatable = (const char *const *)j->opt->updatable.items,
                         .n_updatable = (uint32_t)j->opt->updatable.n};
    qt_import_flags(&j->opt->backend, &import);
    double t0 = qt_now_ms();
    if (ox_import_model(p->model, j->client, &import, &p->result) != QRN_OK)
        return refused(p);
    double t1 = qt_now_ms();
    p->import_ms = t1 - t0;
    if (p->result.graph->n_nodes == 0) {
        qt_error("%s: every output is constant; there is nothing to compile", p->path);
        return QT_EXIT_REFUSED;
    }
    for (uint32_t i = 0; i < p->result.n_outputs; i++)
        if (p->result.outputs[i].data)
            qt_warn("%s: output '%s' is constant and left out", p->path, p->result.outputs[i].name);
    if (qc_graph_finalize(p->result.graph) != QRN_OK)
        return refused(p);
    p->finalize_ms = qt_now_ms() - t1;
    p->n_ops = p->result.graph->n_nodes;
    return QT_EXIT_OK;
}

// All graphs of a DLC file, which keep their names.
static int compile_dlc(job *j, part *p) {
    graph_configs configs;
    make_configs(j->opt, &configs);
    const qc_dlc_source from = {.path = p->path, .configs = configs.n ? configs.pointers : NULL};
    qc_composed graphs;
    double t0 = qt_now_ms();
    if (qc_compose(j->client, &from, &graphs) != QRN_OK)
        return refused(p);
    double t1 = qt_now_ms();
    qrn_status s = QRN_OK;
    for (uint32_t i = 0; i < graphs.n && s == QRN_OK; i++) {
        const QnnSystemContext_GraphInfoV3_t *info = &graphs.graphs[i].graphInfoV3;
        qc_graph *g = NULL;
        s = qc_composed_graph(j->client, &graphs, info->graphName, &g);
        p->n_ops = info->endOpIndex + 1;
        qc_graph_destroy(g);
    }
    p->import_ms = t1 - t0;
    p->finalize_ms = qt_now_ms() - t1;
    qc_composed_free(&graphs);
    return s == QRN_OK ? QT_EXIT_OK : refused(p);
}

static int take_bytes(job *j) {
    if (qt_context_bytes(j->client, &j->bytes, &j->n_bytes) == QRN_OK)
        return QT_EXIT_OK;
    qt_error("%s: %s", j->opt->output, qrn_message());
    return QT_EXIT_REFUSED;
}

// "out/model.bin" and "some/math.npz" to "out/model.math.bin".
static char *adapter_path(const char *output, const char *npz) {
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    size_t n = dot && (!slash || dot > slash + 1) ? (size_t)(dot - output) : strlen(output);
    char *stem = stem_of(npz);
    size_t size = stem ? n + strlen(stem) + sizeof "..bin" : 0;
    char *path = stem ? malloc(size) : NULL;
    if (path)
        snprintf(path, size, "%.*s.%s.bin", (int)n, output, stem);
    free(stem);
    return path;
}

static int write_adapters(const job *j) {
    const ox_result **graphs = calloc(j->n, sizeof *graphs);
    int code = graphs ? QT_EXIT_OK : qt_no_memory();
    for (size_t i = 0; graphs && i < j->n; i++)
        graphs[i] = &j->parts[i].result;
    for (size_t i = 0; i < j->opt->adapters.n && code == QT_EXIT_OK; i++) {
        const char *npz = j->opt->adapters.items[i];
        char *path = adapter_path(j->opt->output, npz);
        code = path ? qt_adapter_write(j->client, graphs, j->n, npz, path) : qt_no_memory();
        if (code == QT_EXIT_OK && !j->opt->json)
            qt_print("%s  adapter of %s\n", path, npz);
        free(path);
    }
    free(graphs);
    return code;
}

static int report(const job *j) {
    char size[32];
    if (j->opt->json) {
        json_t *list = json_array();
        for (size_t i = 0; i < j->n; i++) {
            const part *p = &j->parts[i];
            json_array_append_new(
                list, json_pack("{s:o,s:o,s:I,s:f,s:f}", "model", qt_json_text(p->path), "graph",
                                qt_json_text(p->name), "ops", (json_int_t)p->n_ops, "import_ms",
                                p->import_ms, "finalize_ms", p->finalize_ms));
        }
        return qt_print_json(json_pack("{s:o,s:I,s:o}", "output", qt_json_text(j->opt->output),
                                       "bytes", (json_int_t)j->n_bytes, "graphs", list));
    }
    qt_print("%s%s%s  %s\n", qt_style_on(QT_BOLD), j->opt->output, qt_style_off(),
             qt_bytes_text((double)j->n_bytes, size, sizeof size));
    for (size_t i = 0; i < j->n; i++) {
        const part *p = &j->parts[i];
        qt_print("  graph %s  %u ops, imported in %.1f ms, compiled in %.1f ms\n", p->name,
                 p->n_ops, p->import_ms, p->finalize_ms);
    }
    return qt_close_stdout();
}

static int compile(job *j, const qt_list *args) {
    qt_input_options in = j->opt->in;
    in.random = true; // no input is needed
    int code = qt_compile_usage(j->opt, args);
    if (code == QT_EXIT_OK)
        code = name_parts(j, args);
    if (code == QT_EXIT_OK)
        code = open_client(j);
    if (code == QT_EXIT_OK && j->opt->formats)
        code = qt_data_formats_open(j->opt->formats, &j->formats);
    if (j->formats)
        qt_data_formats_use(j->formats, j->client);
    if (code == QT_EXIT_OK && qt_compile_to_dlc(j->opt)) {
        j->client->node = qt_sources_note;
        j->client->node_ctx = &j->sources;
    }
    for (size_t i = 0; i < j->n && code == QT_EXIT_OK; i++) {
        qt_progress("compiling", i, j->n);
        part *p = &j->parts[i];
        code = qt_is_dlc(p->path) ? compile_dlc(j, p) : compile_part(j, p, &in);
    }
    qt_progress(NULL, 0, 0);
    if (code == QT_EXIT_OK && j->formats)
        code = qt_data_formats_check(j->formats);
    if (code == QT_EXIT_OK)
        code = take_bytes(j);
    if (code == QT_EXIT_OK)
        code = qt_sources_add(&j->sources, j->opt->output, &j->bytes, &j->n_bytes);
    const qt_part whole = {j->bytes, (size_t)j->n_bytes};
    if (code == QT_EXIT_OK && !qt_write_file(j->opt->output, &whole, 1))
        code = QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = write_adapters(j);
    return code == QT_EXIT_OK && !j->opt->silent ? report(j) : code;
}

int qt_compile_models(const qt_compile_options *options, const qt_list *args) {
    job j = {.opt = options, .n = args->n};
    j.parts = calloc(args->n, sizeof *j.parts);
    int code = j.parts ? compile(&j, args) : qt_no_memory();
    for (size_t i = 0; j.parts && i < j.n; i++) {
        if (j.parts[i].result.graph)
            qc_graph_destroy(j.parts[i].result.graph);
        qt_inputs_close(&j.parts[i].in);
        ox_model_close(j.parts[i].model);
        ox_writer_free(&j.parts[i].bytes);
        free(j.parts[i].name);
    }
    qc_close(j.client);
    qt_data_formats_close(j.formats);
    qt_sources_free(&j.sources);
    free(j.parts);
    free(j.bytes);
    return code;
}

static int run(const void *options, const qt_list *args) {
    return qt_compile_models(options, args);
}

const qt_command qt_compile = {
    .name = "compile",
    .summary = "compile models to a context binary",
    .args = "MODEL... -o FILE [--soc SOC]",
    .min_args = 1,
    .max_args = 64,
    .about = "Compiles ONNX, .tflite and DLC models for a SoC and writes a context binary. 'quern "
             "run', 'quern bench', 'quern show' and every QNN client can load it.\nIf the output "
             "ends in .dlc, a DLC file is written: graphs and weights that are not compiled yet; "
             "--soc then selects the SoC that nodes are checked for.\nSeveral models become graphs "
             "of one context and share equal weights.\nLoRA adapters are files with other values "
             "for some constants of all graphs, applied to the loaded context: model.bin and "
             "math.npz make model.math.bin.\nFloat models run in fp16 if the SoC supports it, "
             "quantized ones (QuantizeLinear, DequantizeLinear) in integers. Inputs and outputs "
             "keep the model's names, types and layouts.",
    .groups = {{"options", flags}, {"HTP", htp_flags}, {"backend", qt_backend_flags}},
    .examples = {{"quern compile model.onnx -o model.bin --soc SM8650", "Compile for one SoC."},
                 {"quern compile small.onnx large.onnx -o both.bin --soc SM8750 -O 3",
                  "Two graphs that share weights."},
                 {"quern compile net.onnx -o net.bin --soc SM8750 -u 'lora_*' -a math.npz",
                  "With an adapter, net.math.bin."},
                 {"quern compile net.onnx -o net.dlc", "Write a DLC file, to be compiled later."}},
    .options_size = sizeof(qt_compile_options),
    .run = run,
};
