// SPDX-License-Identifier: MIT
//
// qairt-converter: from an ONNX model to a DLC file. The DLC keeps the float model and the
// overrides, from which qairt-quantizer makes a quantized one.
#include "tools/converter/dlc_write.h"
#include "tools/converter/overrides.h"
#include "tools/converter/source.h"
#include "tools/qairt_converter/qc_options.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {".onnx", NULL};

// One conversion.
typedef struct job {
    const qv_options *opt;
    cv_model model;
    cv_ios ios;
    cv_conversion said;
    ox_writer source;
    cv_retype retype;
    cv_overrides overrides;
    char *conversion; // text
    const char *path; // to write
} job;

// --- inputs and outputs

// Shapes of the YAML file, where the command line says nothing.
static int add_shapes(job *j, qt_list *shapes) {
    for (size_t i = 0; i < j->opt->shapes.n; i++)
        if (!qt_list_add(shapes, j->opt->shapes.items[i]))
            return cv_no_memory();
    for (uint32_t i = 0; i < j->ios.n; i++) {
        const cv_io *io = &j->ios.items[i];
        bool said = false;
        size_t n = strlen(io->name);
        for (size_t k = 0; k < j->opt->shapes.n; k++)
            said = said || (strncmp(j->opt->shapes.items[k], io->name, n) == 0 &&
                            j->opt->shapes.items[k][n] == QS_PAIR);
        size_t room = n + (io->shape ? strlen(io->shape) : 0) + 2;
        char *words = io->shape && !said ? qrn_arena_alloc(j->model.arena, room) : NULL;
        if (!words)
            continue;
        snprintf(words, room, "%s%c%s", io->name, QS_PAIR, io->shape);
        if (!qt_list_add(shapes, words))
            return cv_no_memory();
    }
    return QT_EXIT_OK;
}

static int set_shapes(job *j) {
    qt_list shapes = {0};
    int code = add_shapes(j, &shapes);
    if (code == QT_EXIT_OK)
        code = cv_set_shapes(&j->model, &shapes, j->opt->batch);
    free(shapes.items);
    return code;
}

static int read_ios(job *j) {
    const qv_options *o = j->opt;
    const struct {
        const char *flag;
        const qt_list *values;
        size_t field;
    } flags[] = {
        {"--source_model_input_layout", &o->layouts, offsetof(cv_io, model_layout)},
        {"--desired_input_layout", &o->wanted_layouts, offsetof(cv_io, layout)},
        {"--source_model_output_layout", &o->output_layouts, offsetof(cv_io, model_layout)},
        {"--desired_output_layout", &o->wanted_output_layouts, offsetof(cv_io, layout)},
    };
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && code == QT_EXIT_OK; i++)
        code = cv_io_flags(&j->model, &j->ios, flags[i].flag, flags[i].values, flags[i].field);
    if (code == QT_EXIT_OK)
        code = cv_io_colors(&j->model, &j->ios, "--desired_input_color_encoding", &o->colors);
    if (code == QT_EXIT_OK && o->config)
        code = cv_io_read(o->config, true, j->model.arena, &j->ios);
    return code;
}

static void put_counts(const char *what, const ox_info *list, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        qt_print("%-8s %s %s [", what, list[i].name, ox_type_name(list[i].type));
        for (uint32_t d = 0; d < list[i].rank; d++)
            qt_print("%s%lld", d ? ", " : "", (long long)list[i].dims[d]);
        qt_print("]\n");
    }
}

static void print_summary(const ox_graph *g) {
    put_counts("input", g->inputs, g->n_inputs);
    put_counts("output", g->outputs, g->n_outputs);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t n = 0, before = 0;
        for (uint32_t k = 0; k < g->n_nodes; k++)
            if (strcmp(g->nodes[k].op, g->nodes[i].op) == 0) {
                n++;
                before += k < i;
            }
        if (!before)
            qt_print("nodes    %s %u\n", g->nodes[i].op, n);
    }
}

// The model as it is to be converted.
static int edit(job *j) {
    cv_model *m = &j->model;
    int code = read_ios(j);
    if (code == QT_EXIT_OK)
        code = set_shapes(j);
    if (code == QT_EXIT_OK)
        code = cv_check_types(m, &j->opt->types);
    if (code == QT_EXIT_OK)
        code = cv_set_symbols(m, &j->opt->symbols);
    if (code == QT_EXIT_OK)
        code = cv_check_shapes(m);
    if (code == QT_EXIT_OK)
        code = cv_set_packages(m, &j->opt->op_configs);
    if (code == QT_EXIT_OK)
        code = cv_set_outputs(m, &j->opt->outputs, false);
    if (code == QT_EXIT_OK)
        code = cv_io_check(m, &j->ios);
    return code;
}

// --- results

static int make_source(job *j) {
    j->said.command = j->opt->command;
    j->said.types = j->ios;
    int code = cv_read_text(j->model.arena, j->opt->copyright_file, &j->said.copyright);
    if (code == QT_EXIT_OK && j->opt->model_version) {
        char *kept = qrn_arena_strdup(j->model.arena, j->opt->model_version);
        if (!kept)
            return cv_no_memory();
        if (strlen(kept) > 64)
            kept[64] = 0;
        j->said.version = kept;
    }
    if (code == QT_EXIT_OK)
        code = cv_source_write(&j->model, &j->source, &j->said.no_source);
    return code;
}

static int write_dlc(job *j) {
    const qv_options *o = j->opt;
    bool half = o->float_bits && strcmp(o->float_bits, "16") == 0;
    j->retype.bits = half ? 16 : 32;
    j->retype.bias_bits = o->bias_bits && strcmp(o->bias_bits, "0") != 0
                              ? (unsigned)strtoul(o->bias_bits, NULL, 10)
                              : j->retype.bits;
    j->retype.keep = o->preserve;
    const qt_dlc_new records[] = {
        {CV_SOURCE, QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_TOPOLOGY, j->source.data, j->source.n},
        {CV_CONVERSION, QNN_SYSTEM_DLC_RECORD_NAME_UNKNOWN, j->conversion, strlen(j->conversion)},
        {CV_OVERRIDES, QNN_SYSTEM_DLC_RECORD_NAME_UNKNOWN, j->overrides.text, j->overrides.bytes}};
    cv_dlc d = {.path = j->path,
                .graph_name = cv_graph_name(j->model.arena, j->path),
                .op_libs = &o->op_libs,
                .package = o->package,
                .retype = &j->retype,
                .dry_run = o->dry_run,
                .trace = o->trace,
                .debug = o->debug,
                .records = records,
                .n_records = sizeof records / sizeof records[0]};
    int code = d.graph_name ? cv_dlc_target(&d, o->target, o->soc) : cv_no_memory();
    if (code == QT_EXIT_OK)
        code = cv_dlc_write(&j->model, &d);
    if (code == QT_EXIT_OK && !o->dry_run)
        qt_print("%s: %u nodes\n", j->path, d.n_nodes);
    return code;
}

static int convert(job *j) {
    const qv_options *o = j->opt;
    int code = cv_open(&j->model);
    if (code == QT_EXIT_OK && o->template)
        return cv_io_template(&j->model, o->template, true);
    if (code == QT_EXIT_OK)
        code = edit(j);
    if (code == QT_EXIT_OK && o->overrides)
        code = cv_overrides_read(&j->model, o->overrides, &j->overrides);
    if (code == QT_EXIT_OK && o->summary)
        print_summary(j->model.model->graph);
    if (code == QT_EXIT_OK)
        code = cv_io_layouts(&j->model, &j->ios);
    if (code == QT_EXIT_OK)
        code = make_source(j);
    if (code == QT_EXIT_OK)
        code = cv_io_types(&j->model, &j->ios);
    if (code == QT_EXIT_OK && !(j->conversion = cv_conversion_write(&j->said)))
        code = QT_EXIT_FAILURE;
    if (code == QT_EXIT_OK)
        code = write_dlc(j);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static int run(const void *options, const qt_list *args) {
    job j = {.opt = options};
    (void)args;
    int code = qv_check(j.opt);
    if (code != QT_EXIT_OK)
        return code;
    qt_set_inputs(&j.opt->input, 1);
    j.model = (cv_model){.path = j.opt->input, .words = &qv_words, .arena = qrn_arena_create()};
    j.model.import.as_float =
        j.opt->export_format && strcmp(j.opt->export_format, "DLC_STRIP_QUANT") == 0;
    if (!j.model.arena)
        return cv_no_memory();
    j.path =
        j.opt->output ? j.opt->output : cv_path_with(j.model.arena, j.opt->input, endings, ".dlc");
    code = j.path ? convert(&j) : cv_no_memory();
    cv_retype_free(&j.retype);
    ox_writer_free(&j.source);
    free(j.conversion);
    cv_overrides_free(&j.overrides);
    cv_close(&j.model);
    qrn_arena_destroy(j.model.arena);
    return code;
}

static const qt_command converter = {
    .name = "qairt-converter",
    .summary = "convert an ONNX model to a DLC file",
    .args = "--input_network MODEL.onnx [--output_path FILE.dlc]",
    .alone = true,
    .about = "Converts an ONNX model to a DLC file. Nothing is quantized: qairt-quantizer does it, "
             "with the float model and the overrides that the DLC keeps.\n",
    .groups = {{"model", qv_model_flags},
               {"inputs and outputs", qv_io_flags},
               {"result", qv_result_flags},
               {"rejected", qv_rejected_flags}},
    .examples = {{"qairt-converter -i model.onnx -o model.dlc", "All floats."},
                 {"qairt-converter -i model.onnx --desired_input_layout image NHWC",
                  "Pictures come with channels last."}},
    .options_size = sizeof(qv_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&converter, NULL};

int main(int argc, char **argv) {
    return qs_spelled_program(&converter, qv_spelling, offsetof(qv_options, command), argc, argv);
}
