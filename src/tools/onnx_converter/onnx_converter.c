// SPDX-License-Identifier: MIT
//
// qnn-onnx-converter: from an ONNX model to the source of a model library, its data and a view of
// it in JSON. The model is imported as by every tool, into a library that checks each op, while
// what is built is recorded. A model with quantizers is imported for the HTP, a float one for the
// CPU.
#include "base/file.h"
#include "base/report_text.h"
#include "frontend/onnx/import.h"
#include "tools/onnx_converter/conv_flags.h"
#include "tools/onnx_converter/convert.h"
#include "tools/onnx_converter/prune.h"
#include "tools/onnx_converter/quantize.h"
#include "tools/op_package_generator/opdef.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// One conversion.
typedef struct job {
    const mc_options *opt;
    qrn_arena *arena;
    ox_model *model;
    ox_options import;
    char *base;          // of the files to write, without an ending
    const char *command; // line
    uint32_t n_rejected; // nodes, of a dry run
    mc_record record;
} job;

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int report(const job *j, int code) {
    qt_error("%s: %s", j->opt->input, qrn_message());
    return code;
}

// --- what is asked for

// Splits a flag of two words.
static char *second_word(qrn_arena *a, const char *pair, char **first) {
    *first = qrn_arena_strdup(a, pair);
    char *at = *first ? strchr(*first, MC_PAIR) : NULL;
    if (at)
        *at++ = 0;
    return at;
}

static int find_input(const job *j, const char *flag, const char *name, uint32_t *at) {
    const ox_graph *g = j->model->graph;
    for (*at = 0; *at < g->n_inputs; ++*at)
        if (strcmp(g->inputs[*at].name, name) == 0)
            return QT_EXIT_OK;
    qt_error("%s %s: the model has no such input", flag, name);
    return QT_EXIT_USAGE;
}

static bool read_dims(const char *text, ox_info *to) {
    uint32_t n = 0;
    for (const char *at = text; *at;) {
        char *end = NULL;
        long long v = strtoll(at, &end, 10);
        if (end == at || v <= 0 || v > UINT32_MAX || n == OX_MAX_RANK || (*end && *end != ','))
            return false;
        to->dims[n++] = v;
        at = end + (*end == ',');
    }
    to->rank = n;
    to->has_shape = true;
    return n > 0;
}

// Shapes of the inputs, where flags change them.
static int set_shapes(job *j) {
    ox_graph *g = qrn_arena_copy(j->arena, j->model->graph, sizeof *g);
    ox_info *inputs = g ? qrn_arena_copy(j->arena, g->inputs, g->n_inputs * sizeof *inputs) : NULL;
    if (!inputs)
        return no_memory();
    for (uint32_t i = 0; j->opt->batch && i < g->n_inputs; i++)
        if (inputs[i].rank)
            inputs[i].dims[0] = (int64_t)j->opt->batch;
    for (size_t i = 0; i < j->opt->dims.n; i++) {
        uint32_t at;
        char *name, *dims = second_word(j->arena, j->opt->dims.items[i], &name);
        if (!dims)
            return no_memory();
        int code = find_input(j, "--input_dim", name, &at);
        if (code != QT_EXIT_OK)
            return code;
        if (!read_dims(dims, &inputs[at])) {
            qt_error("--input_dim %s %s: expected positive numbers and commas, at most %d", name,
                     dims, OX_MAX_RANK);
            return QT_EXIT_USAGE;
        }
    }
    g->inputs = inputs;
    j->model->graph = g;
    return QT_EXIT_OK;
}

static int set_symbols(job *j) {
    const qt_list *l = &j->opt->symbols;
    const char **names = qrn_arena_alloc(j->arena, (l->n + 1) * sizeof *names);
    int64_t *values = qrn_arena_alloc(j->arena, (l->n + 1) * sizeof *values);
    for (size_t i = 0; names && values && i < l->n; i++) {
        char *name, *end = NULL, *value = second_word(j->arena, l->items[i], &name);
        values[i] = value ? strtoll(value, &end, 10) : 0;
        names[i] = name;
        if (!value || *end || values[i] <= 0 || values[i] > UINT32_MAX) {
            qt_error("--define_symbol %s: expected a positive number", name ? name : "");
            return QT_EXIT_USAGE;
        }
    }
    if (!names || !values)
        return no_memory();
    j->import.dim_names = names;
    j->import.dim_values = values;
    j->import.n_dims = (uint32_t)l->n;
    return QT_EXIT_OK;
}

static bool is_constant(const ox_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (strcmp(g->constants[i].name, name) == 0)
            return true;
    return false;
}

static bool is_bound(const job *j, const char *symbol) {
    for (uint32_t i = 0; symbol && i < j->import.n_dims; i++)
        if (strcmp(j->import.dim_names[i], symbol) == 0)
            return true;
    return false;
}

// A graph has fixed shapes.
static int check_shapes(const job *j) {
    const ox_graph *g = j->model->graph;
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const ox_info *in = &g->inputs[i];
        if (is_constant(g, in->name))
            continue;
        if (!in->has_shape) {
            qt_error("%s: input '%s' has no shape; give one with --input_dim %s DIMS",
                     j->opt->input, in->name, in->name);
            return QT_EXIT_USAGE;
        }
        for (uint32_t d = 0; d < in->rank; d++)
            if (in->dims[d] < 0 && !is_bound(j, in->symbols[d])) {
                qt_error("%s: input '%s' dimension %u (%s) has no value; set it with --input_dim, "
                         "--define_symbol%s",
                         j->opt->input, in->name, d, in->symbols[d] ? in->symbols[d] : "no name",
                         d ? "" : " or --batch");
                return QT_EXIT_USAGE;
            }
    }
    return QT_EXIT_OK;
}

// Types and layouts only describe the model: they must fit it.
static int check_described(job *j) {
    static const char *const layouts[] = {"NCDHW", "NDHWC", "NCHW", "NHWC", "NFC", "NCF",
                                          "NTF",   "TNF",   "NF",   "NC",   "F",   "NONTRIVIAL"};
    for (size_t i = 0; i < j->opt->dtypes.n; i++) {
        uint32_t at;
        char *name, *type = second_word(j->arena, j->opt->dtypes.items[i], &name);
        int code = type ? find_input(j, "--input_dtype", name, &at) : no_memory();
        if (code != QT_EXIT_OK)
            return code;
        const char *has = ox_type_name(j->model->graph->inputs[at].type);
        if (strcmp(has, type) != 0) {
            qt_error("--input_dtype %s %s: the model has %s, and inputs keep their type", name,
                     type, has);
            return QT_EXIT_USAGE;
        }
    }
    for (size_t i = 0; i < j->opt->layouts.n; i++) {
        uint32_t at;
        char *name, *layout = second_word(j->arena, j->opt->layouts.items[i], &name);
        int code = layout ? find_input(j, "--input_layout", name, &at) : no_memory();
        if (code != QT_EXIT_OK)
            return code;
        bool known = false;
        for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; k++)
            known = known || strcmp(layouts[k], layout) == 0;
        bool any = strcmp(layout, "NONTRIVIAL") == 0;
        if (!known || (!any && strlen(layout) != j->model->graph->inputs[at].rank)) {
            qt_error("--input_layout %s %s: no layout of %u dimensions; known are NCDHW NDHWC NCHW "
                     "NHWC NFC NCF NTF TNF NF NC F NONTRIVIAL",
                     name, layout, j->model->graph->inputs[at].rank);
            return QT_EXIT_USAGE;
        }
    }
    return QT_EXIT_OK;
}

// Custom ops: their packages by the definitions.
static int set_packages(job *j) {
    qg_packages all;
    const qt_list *l = &j->opt->op_configs;
    uint32_t n = 0;
    if (!l->n)
        return QT_EXIT_OK;
    if (qg_opdef_read(l->items, l->n, j->arena, &all) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    for (uint32_t i = 0; i < all.n; i++)
        n += all.items[i].n_ops;
    ox_package *list = qrn_arena_alloc(j->arena, (n + 1u) * sizeof *list);
    if (!list)
        return no_memory();
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t k = 0; k < all.items[i].n_ops; k++)
            list[j->import.n_packages++] =
                (ox_package){all.items[i].ops[k].name, all.items[i].name};
    j->import.packages = list;
    return QT_EXIT_OK;
}

static int register_libraries(const job *j, const qc_client *c) {
    for (size_t i = 0; i < j->opt->op_libs.n; i++) {
        char *path = qrn_arena_strdup(j->arena, j->opt->op_libs.items[i]);
        char *provider = path ? strchr(path, ':') : NULL;
        if (!provider) {
            qt_error("--op_package_lib %s: expected LIBRARY:PROVIDER", j->opt->op_libs.items[i]);
            return QT_EXIT_USAGE;
        }
        *provider++ = 0;
        qrn_status s = qc_check(
            c, c->qnn.backendRegisterOpPackage(c->backend, path, provider, NULL), "registration");
        if (s != QRN_OK) {
            qt_error("--op_package_lib %s: %s", j->opt->op_libs.items[i], qrn_message());
            return QT_EXIT_INPUT;
        }
    }
    return QT_EXIT_OK;
}

static bool has_quantizers(const ox_graph *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (strstr(g->nodes[i].op, "QuantizeLinear") || strncmp(g->nodes[i].op, "QLinear", 7) == 0)
            return true;
    return false;
}

// --- files

static char *joined(qrn_arena *a, const char *base, const char *ending) {
    size_t n = strlen(base) + strlen(ending) + 1;
    char *path = qrn_arena_alloc(a, n);
    if (path)
        snprintf(path, n, "%s%s", base, ending);
    return path;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// NAME of NAME.cpp, or of the model's NAME.onnx.
static char *base_of(qrn_arena *a, const mc_options *o) {
    static const char *const endings[] = {".cpp", ".onnx", ".bin", ".so"};
    char *base = qrn_arena_strdup(a, o->output ? o->output : o->input);
    for (size_t i = 0; base && i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(base), k = strlen(endings[i]);
        if (n > k && strcmp(base + n - k, endings[i]) == 0) {
            base[n - k] = 0;
            break;
        }
    }
    return base;
}

static bool write_text(const char *path, const mc_model *m) {
    qrn_text t = {0};
    FILE *f = qrn_text_open(&t);
    if (f)
        mc_write_cpp(f, m);
    if (!f || !qrn_text_close(f, &t)) {
        no_memory();
        return false;
    }
    bool done = qt_write_file(path, &(qt_part){t.data, t.n}, 1);
    free(t.data);
    return done;
}

static bool write_json(const char *path, const mc_model *m) {
    json_t *o = mc_make_json(m);
    if (!o) {
        no_memory();
        return false;
    }
    char *text = qt_json_dump(o, JSON_INDENT(1));
    bool done = text && qt_write_file(path, &(qt_part){text, strlen(text)}, 1);
    free(text);
    return done;
}

static int read_copyright(const job *j, const char **out) {
    qrn_file f = {0};
    if (!j->opt->copyright_file)
        return QT_EXIT_OK;
    if (qrn_file_map(j->opt->copyright_file, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    bool text = f.size < 1u << 20 && !memchr(f.data, 0, f.size);
    char *copy = text ? qrn_arena_alloc(j->arena, f.size + 1) : NULL;
    if (copy)
        memcpy(copy, f.data, f.size);
    qrn_file_unmap(&f);
    if (!text)
        qt_error("%s: expected a text of less than 1 MiB", j->opt->copyright_file);
    *out = copy;
    return copy ? QT_EXIT_OK : text ? no_memory() : QT_EXIT_INPUT;
}

// The data file is complete; it stays only when the others can be written.
static int write_files(job *j) {
    const char *cpp = joined(j->arena, j->base, ".cpp");
    const char *json = joined(j->arena, j->base, "_net.json");
    const char *name = mc_identifier(j->arena, last_part(j->base));
    mc_model m = {.record = &j->record,
                  .graph_name = name,
                  .prefix = j->opt->prefix ? name : "QnnModel",
                  .command = j->command,
                  .cpp_name = cpp ? last_part(cpp) : NULL,
                  .bin_name = j->record.has_data ? last_part(j->record.data_path) : NULL};
    int code = cpp && json && name ? read_copyright(j, &m.copyright) : no_memory();
    bool done = code == QT_EXIT_OK;
    if (j->record.has_data)
        done = qt_file_end(done) && done;
    if (!done)
        return code != QT_EXIT_OK ? code : QT_EXIT_FAILURE;
    if (write_text(cpp, &m) && write_json(json, &m))
        return QT_EXIT_OK;
    unlink(cpp);
    if (j->record.has_data)
        unlink(j->record.data_path);
    return QT_EXIT_FAILURE;
}

// --- the conversion

static int check_outputs(const job *j, const ox_result *r) {
    for (uint32_t i = 0; i < r->n_outputs; i++)
        if (!r->outputs[i].tensor) {
            qt_error("%s: output '%s' is constant, which a graph cannot have; leave it out with "
                     "--out_node",
                     j->opt->input, r->outputs[i].name);
            return QT_EXIT_REFUSED;
        }
    return QT_EXIT_OK;
}

static int import(job *j, qc_client *c) {
    ox_result result = {0};
    mc_record_begin(&j->record, c);
    qrn_status s = ox_import_model(j->model, c, &j->import, &result);
    int code = s == QRN_OK ? check_outputs(j, &result) : report(j, QT_EXIT_REFUSED);
    if (!mc_record_end(&j->record))
        code = QT_EXIT_FAILURE;
    if (code != QT_EXIT_OK && j->record.has_data)
        qt_file_end(false);
    if (s == QRN_OK)
        qc_graph_destroy(result.graph);
    return code;
}

static void list_node(void *ctx, const ox_node *n, qrn_status s, const char *why) {
    job *j = ctx;
    j->n_rejected += s != QRN_OK;
    if (s != QRN_OK)
        qt_print("%-24s %-32s %s\n", n->op, n->name, why);
    else if (strcmp(j->opt->dry_run, "debug") == 0)
        qt_print("%-24s %-32s supported\n", n->op, n->name);
}

static int dry_run(job *j, qc_client *c) {
    ox_result result = {0};
    j->import.report = list_node;
    j->import.report_ctx = j;
    qrn_status s = ox_import_model(j->model, c, &j->import, &result);
    if (s == QRN_OK)
        qc_graph_destroy(result.graph);
    if (s != QRN_OK && !j->n_rejected)
        return report(j, QT_EXIT_REFUSED);
    qt_print("%u of %u nodes are not supported\n", j->n_rejected, j->model->graph->n_nodes);
    int code = qt_close_stdout();
    return code == QT_EXIT_OK && j->n_rejected ? QT_EXIT_REFUSED : code;
}

static int with_library(job *j) {
    qc_client *c = NULL;
    const qc_options options = {0};
    const char *name = has_quantizers(j->model->graph) ? "htp" : "cpu";
    if (qc_open(name, &options, &c) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_FAILURE;
    }
    int code = register_libraries(j, c);
    if (code == QT_EXIT_OK && j->opt->dry_run)
        code = dry_run(j, c);
    else if (code == QT_EXIT_OK) {
        code = import(j, c);
        if (code == QT_EXIT_OK)
            code = write_files(j);
    }
    qc_close(c);
    return code;
}

static void list_nodes(const job *j) {
    for (uint32_t i = 0; j->opt->debug && i < j->record.n_nodes; i++)
        qt_inform("%s (%s)", j->record.nodes[i].name, j->record.nodes[i].type);
}

static int convert_model(job *j) {
    int code = set_shapes(j);
    if (code == QT_EXIT_OK)
        code = check_described(j);
    if (code == QT_EXIT_OK)
        code = set_symbols(j);
    if (code == QT_EXIT_OK)
        code = check_shapes(j);
    if (code == QT_EXIT_OK)
        code = set_packages(j);
    if (code == QT_EXIT_OK &&
        mc_prune(j->model, &j->opt->outputs, j->opt->keep_nodes, j->arena) != QRN_OK)
        return report(j, QT_EXIT_INPUT);
    if (code == QT_EXIT_OK)
        code = with_library(j);
    if (code != QT_EXIT_OK || j->opt->dry_run)
        return code;
    list_nodes(j);
    qt_print("%s.cpp: %u tensors, %u nodes\n", j->base, j->record.n_tensors, j->record.n_nodes);
    return qt_close_stdout();
}

static int open_and_convert(job *j, const char *path) {
    if (ox_model_open(path, &j->model) != QRN_OK) {
        qt_error("%s", qrn_message());
        return QT_EXIT_INPUT;
    }
    const ox_graph *own = j->model->graph;
    int code = ox_model_check(j->model) == QRN_OK ? convert_model(j) : report(j, QT_EXIT_INPUT);
    j->model->graph = (ox_graph *)(uintptr_t)own;
    ox_model_close(j->model);
    return code;
}

static int reject_framework(const char *path) {
    static const struct {
        const char *ending, *what;
    } others[] = {{".tflite", "TensorFlow Lite"},
                  {".pb", "TensorFlow"},
                  {".meta", "TensorFlow"},
                  {".pt", "PyTorch"},
                  {".pth", "PyTorch"}};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t k = strlen(others[i].ending);
        if (n > k && strcmp(path + n - k, others[i].ending) == 0) {
            qt_error("%s: %s models are not converted; give an ONNX model", path, others[i].what);
            return QT_EXIT_INPUT;
        }
    }
    return QT_EXIT_OK;
}

int mc_convert(const mc_options *o, qrn_arena *a, const char *command) {
    job j = {.opt = o, .arena = a, .command = command};
    char *quantized = NULL;
    int code = reject_framework(o->input);
    if (code != QT_EXIT_OK)
        return code;
    j.base = base_of(a, o);
    j.import.graph_name = j.base ? mc_identifier(a, last_part(j.base)) : NULL;
    j.record = (mc_record){.arena = a,
                           .data_path = j.base ? joined(a, j.base, ".bin") : NULL,
                           .package = o->package,
                           .count_names = o->counters};
    if (!j.import.graph_name || !j.record.data_path)
        return no_memory();
    if (o->input_list)
        code = mc_quantize(o, a, &quantized);
    if (code == QT_EXIT_OK)
        code = open_and_convert(&j, quantized ? quantized : o->input);
    mc_quantize_end(quantized);
    return code;
}
