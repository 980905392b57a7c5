// SPDX-License-Identifier: MIT
//
// qnn-onnx-converter: from an ONNX model to the source of a model library, its data and a view of
// it in JSON. The model is imported as by every tool, into a library that checks each op, while
// what is built is recorded. A model with quantizers is imported for the HTP, as is one with
// float16; a float32 one for the CPU.
#include "base/report_text.h"
#include "tools/converter/dlc_write.h"
#include "tools/converter/overrides.h"
#include "tools/converter/quantize.h"
#include "tools/onnx_converter/conv_flags.h"
#include "tools/onnx_converter/convert.h"
#include "tools/quern/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// One conversion.
typedef struct job {
    const mc_options *opt;
    cv_model model;
    cv_ios ios;
    cv_retype retype;
    bool quantized; // before types of inputs and outputs change
    char *base;     // of the files to write, without an ending
    mc_record record;
} job;

// --- files

static const char *const endings[] = {".cpp", ".onnx", ".bin", ".so", NULL};
static const char *const no_endings[] = {NULL};

static char *joined(const job *j, const char *ending) {
    return cv_path_with(j->model.arena, j->base, no_endings, ending);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool write_text(const char *path, const mc_model *m) {
    qrn_text t = {0};
    FILE *f = qrn_text_open(&t);
    if (f)
        mc_write_cpp(f, m);
    if (!f || !qrn_text_close(f, &t)) {
        cv_no_memory();
        return false;
    }
    bool done = qt_write_file(path, &(qt_part){t.data, t.n}, 1);
    free(t.data);
    return done;
}

static bool write_json(const char *path, const mc_model *m) {
    json_t *o = mc_make_json(m);
    if (!o) {
        cv_no_memory();
        return false;
    }
    char *text = qt_json_dump(o, JSON_INDENT(1));
    bool done = text && qt_write_file(path, &(qt_part){text, strlen(text)}, 1);
    free(text);
    return done;
}

// The data file is complete; it stays only when the others can be written.
static int write_files(job *j) {
    const char *cpp = joined(j, ".cpp");
    const char *json = joined(j, "_net.json");
    const char *name = cv_identifier(j->model.arena, last_part(j->base));
    mc_model m = {.record = &j->record,
                  .graph_name = name,
                  .prefix = j->opt->prefix ? name : "QnnModel",
                  .command = j->opt->command,
                  .cpp_name = cpp ? last_part(cpp) : NULL,
                  .bin_name = j->record.has_data ? last_part(j->record.data_path) : NULL};
    int code = cpp && json && name
                   ? cv_read_text(j->model.arena, j->opt->copyright_file, &m.copyright)
                   : cv_no_memory();
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
                     j->model.path, r->outputs[i].name);
            return QT_EXIT_REFUSED;
        }
    return QT_EXIT_OK;
}

static int import(job *j, qc_client *c) {
    ox_result result = {0};
    bool retypes = cv_retype_needed(&j->retype);
    mc_record_begin(&j->record, c);
    if (retypes)
        cv_retype_begin(&j->retype, c);
    qrn_status s = ox_import_model(j->model.model, c, &j->model.import, &result);
    int code = s == QRN_OK ? check_outputs(j, &result) : cv_failed(&j->model, QT_EXIT_REFUSED);
    if (code == QT_EXIT_OK && retypes &&
        cv_retype_end(&j->retype, c, result.graph->handle) != QRN_OK)
        code = cv_failed(&j->model, QT_EXIT_REFUSED);
    if (!mc_record_end(&j->record))
        code = QT_EXIT_FAILURE;
    if (code != QT_EXIT_OK && j->record.has_data)
        qt_file_end(false);
    if (s == QRN_OK)
        qc_graph_destroy(result.graph);
    return code;
}

static int open_library(const job *j, qc_client **c) {
    const qc_options options = {0};
    bool htp = cv_retype_needed(&j->retype) || j->quantized;
    if (qc_open(htp ? "htp" : "cpu", &options, c) == QRN_OK)
        return cv_register(&j->opt->op_libs, *c, j->model.arena);
    qt_error("%s", qrn_message());
    return QT_EXIT_FAILURE;
}

// Which constants are biases: by building the graph once.
static int scout(job *j) {
    qc_client *c = NULL;
    ox_result result = {0};
    int code = open_library(j, &c);
    if (code == QT_EXIT_OK) {
        cv_retype_scout(&j->retype, c);
        if (ox_import_model(j->model.model, c, &j->model.import, &result) == QRN_OK)
            qc_graph_destroy(result.graph);
        else
            code = cv_failed(&j->model, QT_EXIT_REFUSED);
    }
    qc_close(c);
    return code;
}

static int with_library(job *j) {
    qc_client *c = NULL;
    int code = cv_retype_needed(&j->retype) && !j->opt->dry_run ? scout(j) : QT_EXIT_OK;
    if (code == QT_EXIT_OK)
        code = open_library(j, &c);
    if (code == QT_EXIT_OK && j->opt->dry_run)
        code = cv_dry_run(&j->model, c, j->opt->dry_run);
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

// What flags and the file of --custom_io want of inputs and outputs.
static int read_ios(job *j) {
    const mc_options *o = j->opt;
    int code = cv_io_flags(&j->model, &j->ios, "--input_layout", &o->layouts,
                           offsetof(cv_io, model_layout));
    if (code == QT_EXIT_OK)
        code = cv_io_colors(&j->model, &j->ios, "--input_encoding", &o->colors);
    if (code == QT_EXIT_OK && o->custom_io)
        code = cv_io_read(o->custom_io, false, j->model.arena, &j->ios);
    return code == QT_EXIT_OK ? cv_io_check(&j->model, &j->ios) : code;
}

static int edit(job *j) {
    cv_model *m = &j->model;
    const mc_options *o = j->opt;
    int code = cv_set_shapes(m, &o->dims, o->batch);
    if (code == QT_EXIT_OK)
        code = cv_check_types(m, &o->dtypes);
    if (code == QT_EXIT_OK)
        code = cv_set_symbols(m, &o->symbols);
    if (code == QT_EXIT_OK)
        code = cv_check_shapes(m);
    if (code == QT_EXIT_OK)
        code = cv_set_packages(m, &o->op_configs);
    if (code == QT_EXIT_OK)
        code = cv_set_outputs(m, &o->outputs, o->keep_nodes);
    if (code == QT_EXIT_OK)
        code = read_ios(j);
    return code;
}

static int quantize(job *j) {
    const mc_options *o = j->opt;
    const char *scheme = cv_quantize_scheme(o->act_bits, o->weight_bits);
    bool enhanced = o->act_method && strcmp(o->act_method, "enhanced") == 0;
    cv_quantizing q = {.fallback = o->fallback};
    cv_overrides overrides = {0};
    int code = QT_EXIT_OK;
    const char *repairs = cv_quantize_repairs("--algorithms", o->algorithms);
    if (!scheme || !repairs)
        return QT_EXIT_USAGE;
    cv_quantize_word(&q, "--repair", repairs);
    if (o->input_list)
        cv_quantize_word(&q, "--calibration", o->input_list);
    cv_quantize_word(&q, "--scheme", scheme);
    cv_quantize_word(&q, "--method", enhanced ? "mse" : "minmax");
    if (o->overrides)
        code = cv_overrides_read(&j->model, o->overrides, &overrides);
    q.overrides = overrides.text;
    q.n_overrides = overrides.bytes;
    if (code == QT_EXIT_OK)
        code = cv_quantize(&j->model, &q);
    cv_overrides_free(&overrides);
    return code;
}

static int convert_model(job *j) {
    int code = cv_open(&j->model);
    if (code == QT_EXIT_OK && j->opt->template)
        return cv_io_template(&j->model, j->opt->template, false);
    if (code == QT_EXIT_OK)
        code = edit(j);
    if (code == QT_EXIT_OK)
        code = cv_io_layouts(&j->model, &j->ios);
    if (code == QT_EXIT_OK && (j->opt->input_list || j->opt->fallback))
        code = quantize(j);
    if (code == QT_EXIT_OK) {
        j->quantized = cv_has_quantizers(j->model.model->graph) && !j->opt->ignore_encodings;
        code = cv_io_types(&j->model, &j->ios);
    }
    if (code == QT_EXIT_OK)
        code = with_library(j);
    if (code != QT_EXIT_OK || j->opt->dry_run)
        return code;
    list_nodes(j);
    qt_print("%s.cpp: %u tensors, %u nodes\n", j->base, j->record.n_tensors, j->record.n_nodes);
    return qt_close_stdout();
}

static unsigned bits_of(const char *text, unsigned otherwise) {
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

int mc_convert(const mc_options *o, qrn_arena *a) {
    job j = {.opt = o, .model = {.path = o->input, .words = &mc_words, .arena = a}};
    j.model.import.as_float = o->ignore_encodings;
    j.retype.bits = bits_of(o->float_bits, 32);
    j.retype.bias_bits = bits_of(o->bias_float_bits, j.retype.bits);
    int code = mc_kept_types(o, &j.retype.keep);
    if (code != QT_EXIT_OK)
        return code;
    j.base = cv_path_with(a, o->output ? o->output : o->input, endings, "");
    j.model.import.graph_name = j.base ? cv_identifier(a, last_part(j.base)) : NULL;
    j.record = (mc_record){.arena = a,
                           .data_path = j.base ? joined(&j, ".bin") : NULL,
                           .package = o->package,
                           .count_names = o->counters};
    code = j.model.import.graph_name && j.record.data_path ? convert_model(&j) : cv_no_memory();
    cv_retype_free(&j.retype);
    cv_close(&j.model);
    return code;
}
