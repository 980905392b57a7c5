// SPDX-License-Identifier: MIT
//
// qairt-quantizer: from a float DLC file to a quantized one. The float model that qairt-converter
// has kept in the DLC is calibrated and quantized, then converted as before.
#include "tools/converter/dlc_write.h"
#include "tools/converter/source.h"
#include "tools/qairt_quantizer/qq_options.h"
#include "tools/quern/dlc.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {".dlc", NULL};

static const cv_words words = {.shape = "--source_model_input_shape of qairt-converter",
                               .batch = "--onnx_override_batch of qairt-converter",
                               .symbol = "--onnx_define_symbol of qairt-converter",
                               .type = "--source_model_input_datatype of qairt-converter",
                               .layout = "--source_model_input_layout of qairt-converter",
                               .output = "--out_tensor_node of qairt-converter",
                               .io = "--config of qairt-converter"};

typedef struct job {
    const qq_options *opt;
    qt_dlc dlc;
    cv_model model;
    cv_conversion said;
    cv_quantizing quantizing;
    cv_retype retype;
    const char *path; // to write
} job;

// --- the float model

static int no_source(const job *j) {
    if (j->said.no_source)
        qt_error("%s: it cannot be quantized: %s", j->opt->input, j->said.no_source);
    else
        qt_error("%s: it has no record " CV_SOURCE
                 ": quantizing needs a DLC that qairt-converter made of a float model",
                 j->opt->input);
    return QT_EXIT_REFUSED;
}

// The bytes of a record; *data stays NULL where there is none.
static int find_record(const job *j, const char *name, const uint8_t **data, uint64_t *n) {
    const qc_system *s = j->dlc.system;
    QnnSystemDlc_RecordHandle_t record = NULL;
    Qnn_ErrorHandle_t e = s->fn.systemDlcGetRecordByName(j->dlc.handle, name, &record);
    if (e == QNN_SUCCESS)
        e = s->fn.systemDlcReadRecordDataMemoryMapped(record, data, n);
    return QNN_GET_ERROR_CODE(e) == QNN_COMMON_ERROR_MEM_ALLOC ? cv_no_memory() : QT_EXIT_OK;
}

static int open_source(job *j) {
    uint64_t n_said = 0, n = 0;
    int code = qt_dlc_open_records(j->opt->input, &j->dlc);
    if (code != QT_EXIT_OK)
        return code;
    const uint8_t *said = NULL, *source = NULL;
    code = find_record(j, CV_CONVERSION, &said, &n_said);
    if (code == QT_EXIT_OK)
        code = find_record(j, CV_SOURCE, &source, &n);
    if (code == QT_EXIT_OK && said)
        code = cv_conversion_read(j->opt->input, said, (size_t)n_said, j->model.arena, &j->said);
    if (code != QT_EXIT_OK)
        return code;
    return source ? cv_parse(&j->model, source, (size_t)n) : no_source(j);
}

// Overrides are applied unless they are ignored.
static int take_overrides(job *j) {
    uint64_t n = 0;
    const uint8_t *text = NULL;
    int code = j->opt->ignore_overrides ? QT_EXIT_OK : find_record(j, CV_OVERRIDES, &text, &n);
    j->quantizing.overrides = text;
    j->quantizing.n_overrides = (size_t)n;
    return code;
}

// Calibration needs one sample an execution.
static int check_batch(const job *j) {
    const ox_graph *g = j->model.model->graph;
    for (uint32_t i = 0; j->opt->input_list && i < g->n_inputs; i++)
        if (g->inputs[i].rank == 4 && g->inputs[i].dims[0] > 1) {
            qt_error("%s: input '%s' has a batch of %lld; calibration needs 1: convert it with "
                     "--onnx_override_batch 1",
                     j->opt->input, g->inputs[i].name, (long long)g->inputs[i].dims[0]);
            return QT_EXIT_REFUSED;
        }
    return QT_EXIT_OK;
}

// --- the quantized one

// Inputs and outputs that do not become integers: those that stay float, and those of which the
// converter was told a type. Their list as converter/io.h has it; NULL when out of memory.
static const char *kept_names(const job *j) {
    size_t n = (j->opt->preserve ? strlen(j->opt->preserve) : 0) + 2;
    for (uint32_t i = 0; i < j->said.types.n; i++)
        n += strlen(j->said.types.items[i].name) + 1;
    char *list = qrn_arena_alloc(j->model.arena, n), *at = list;
    if (!list)
        return NULL;
    if (j->opt->preserve)
        at += snprintf(at, n, "%s", j->opt->preserve);
    for (uint32_t i = 0; i < j->said.types.n && strcmp(list, "all") != 0; i++)
        at += snprintf(at, n - (size_t)(at - list), "%s%s", at > list ? (char[]){QS_PAIR, 0} : "",
                       j->said.types.items[i].name);
    return list;
}

static int write_dlc(job *j) {
    const qq_options *o = j->opt;
    static const qt_list none;
    char *conversion =
        cv_conversion_write(&(cv_conversion){.command = o->command,
                                             .version = j->said.version,
                                             .copyright = j->said.copyright,
                                             .no_source = "the DLC is quantized already"});
    if (!conversion)
        return QT_EXIT_FAILURE;
    const qt_dlc_new record = {CV_CONVERSION, QNN_SYSTEM_DLC_RECORD_NAME_UNKNOWN, conversion,
                               strlen(conversion)};
    j->retype.bits = o->float_bits ? (unsigned)strtoul(o->float_bits, NULL, 10) : 32;
    j->retype.bias_bits =
        o->float_bias_bits ? (unsigned)strtoul(o->float_bias_bits, NULL, 10) : j->retype.bits;
    j->retype.keep = o->preserve;
    cv_dlc d = {.path = j->path,
                .graph_name = cv_graph_name(j->model.arena, j->path),
                .like_htp = !o->pack,
                .op_libs = &none,
                .retype = &j->retype,
                .debug = o->debug,
                .records = &record,
                .n_records = 1};
    int code = d.graph_name ? cv_dlc_target(&d, o->target, o->soc) : cv_no_memory();
    if (code == QT_EXIT_OK)
        code = cv_dlc_write(&j->model, &d);
    free(conversion);
    if (code != QT_EXIT_OK)
        return code;
    qt_print("%s: %u nodes\n", j->path, d.n_nodes);
    return qt_close_stdout();
}

static int quantize(job *j) {
    int code = qq_words(j->opt, j->model.arena, j->path, &j->quantizing);
    if (code == QT_EXIT_OK)
        code = open_source(j);
    if (code == QT_EXIT_OK)
        code = check_batch(j);
    if (code == QT_EXIT_OK)
        code = take_overrides(j);
    if (code == QT_EXIT_OK)
        code = cv_quantize(&j->model, &j->quantizing);
    const char *keep = code == QT_EXIT_OK ? kept_names(j) : NULL;
    if (code == QT_EXIT_OK && !keep)
        code = cv_no_memory();
    if (code == QT_EXIT_OK && !j->opt->keep_weights)
        code = cv_io_native(&j->model, keep);
    if (code == QT_EXIT_OK)
        code = cv_io_check(&j->model, &j->said.types);
    if (code == QT_EXIT_OK)
        code = cv_io_types(&j->model, &j->said.types);
    return code == QT_EXIT_OK ? write_dlc(j) : code;
}

static int run(const void *options, const qt_list *args) {
    job j = {.opt = options};
    (void)args;
    int code = qq_check(j.opt);
    if (code != QT_EXIT_OK)
        return code;
    qt_set_inputs(&j.opt->input, 1);
    j.model = (cv_model){.path = j.opt->input, .words = &words, .arena = qrn_arena_create()};
    if (!j.model.arena)
        return cv_no_memory();
    j.path = j.opt->output ? j.opt->output
                           : cv_path_with(j.model.arena, j.opt->input, endings, "_quantized.dlc");
    code = j.path ? quantize(&j) : cv_no_memory();
    cv_retype_free(&j.retype);
    cv_close(&j.model);
    qt_dlc_close(&j.dlc);
    qrn_arena_destroy(j.model.arena);
    return code;
}

static const qt_command quantizer = {
    .name = "qairt-quantizer",
    .summary = "quantize a DLC file",
    .args = "--input_dlc FILE --input_list FILE [--output_dlc FILE]",
    .alone = true,
    .about = "Quantizes the float model in a DLC file of qairt-converter: runs it on calibration "
             "data, chooses encodings, and writes a DLC file with integers. Inputs and outputs "
             "become integers, too.\n",
    .groups = {{"options", qq_flags}, {"ranges", qq_range_flags}, {"rejected", qq_rejected_flags}},
    .examples = {{"qairt-quantizer -i model.dlc -l list.txt -o model_a8w8.dlc", "8 bits."},
                 {"qairt-quantizer -i model.dlc -l list.txt --act_bitwidth 16", "A16W8."}},
    .options_size = sizeof(qq_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&quantizer, NULL};

int main(int argc, char **argv) {
    return qs_spelled_program(&quantizer, qq_spelling, offsetof(qq_options, command), argc, argv);
}
