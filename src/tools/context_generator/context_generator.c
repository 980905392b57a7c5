// SPDX-License-Identifier: MIT
//
// qnn-context-binary-generator: models to a context binary, or one for each of several chips.
#include "tools/quern/binary.h"
#include "tools/quern/output.h"
#include "tools/quern/soc.h"
#include "tools/sdk/backend.h"
#include "tools/sdk/prepare.h"
#include "tools/sdk/program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct cg_options {
    bool version; // first: see tools/sdk/program.h
    const char *model, *backend, *binary_file, *model_prefix, *output_dir, *op_packages;
    const char *profiling_level, *profiling_option, *config_file, *set_output_tensors;
    const char *backend_binary, *log_level, *dlc_path, *mem_type, *platform_options;
    const char *data_format_config, *adapter_config, *htp_socs;
    bool all_outputs, op_mapping;
} cg_options;

#define AT(field) offsetof(cg_options, field)

static const qt_flag flags[] = {
    {"model", 0, QT_TEXT, "FILE[,FILE]", AT(model), NULL,
     "model libraries, .onnx or .tflite files; several are graphs of one context"},
    {"backend", 0, QT_TEXT, "FILE", AT(backend), NULL, "backend library, such as libQnnHtp.so"},
    {"binary_file", 0, QT_TEXT, "NAME", AT(binary_file), NULL,
     "binary to write, in --output_dir unless it is an absolute path; .bin is added; without it "
     "nothing is written"},
    {"model_prefix", 0, QT_TEXT, "NAME", AT(model_prefix), NULL,
     "prefix of the functions in a model library (QnnModel)"},
    {"dlc_path", 0, QT_TEXT, "FILE[,FILE]", AT(dlc_path), NULL,
     "DLC files, with --model libQnnModelDlc.so"},
    {"output_dir", 0, QT_DIR, "DIR", AT(output_dir), NULL, "folder of the results (./output)"},
    {"op_packages", 0, QT_TEXT, "PATH:PROVIDER[:TARGET],..", AT(op_packages), NULL,
     "op packages to register"},
    {"enable_intermediate_outputs", 0, QT_BOOL, NULL, AT(all_outputs), NULL,
     "every intermediate tensor becomes an output of the saved graph"},
    {"set_output_tensors", 0, QT_TEXT, "G0:T0,T1;G1:T0", AT(set_output_tensors), NULL,
     "these intermediate tensors become outputs"},
    {"input_output_tensor_mem_type", 0, QT_CHOICE, "TYPE", AT(mem_type), "raw|memhandle",
     "memory that inputs and outputs are declared with"},
    {"data_format_config", 0, QT_FILE, "FILE", AT(data_format_config), NULL,
     "JSON with data formats of inputs and outputs (native KV caches)"},
    {"htp_socs", 0, QT_TEXT, "SOC[,SOC]", AT(htp_socs), NULL, "one binary per SoC, NAME_<soc>.bin"},
    {"backend_binary", 0, QT_TEXT, "NAME", AT(backend_binary), NULL,
     "rejected: the backends have one form of binary, that of --binary_file"},
    {"adapter_weight_config", 0, QT_FILE, "FILE", AT(adapter_config), NULL,
     "rejected: 'quern compile --updatable --adapter' makes adapters"},
    {"save_backend_op_mapping", 0, QT_BOOL, NULL, AT(op_mapping), NULL,
     "rejected: 'quern show --compiled' lists what became of each op"},
    {0},
};

static const qt_flag run_flags[] = {
    {"config_file", 0, QT_FILE, "FILE", AT(config_file), NULL,
     "JSON with options of contexts and graphs, and the backend's extension"},
    {"profiling_level", 0, QT_CHOICE, "LEVEL", AT(profiling_level), "basic|detailed|backend",
     "write qnn-profiling-data_0.log"},
    {"profiling_option", 0, QT_CHOICE, "WHAT", AT(profiling_option), "optrace",
     "with --profiling_level detailed: write GRAPH_schematic.bin to the current folder"},
    {"platform_options", 0, QT_TEXT, "K0:V0;K1:V1", AT(platform_options), NULL,
     "options of the backend's platform"},
    {"log_level", 0, QT_CHOICE, "LEVEL", AT(log_level), QS_LOG_LEVELS,
     "lines of the log that are printed"},
    QS_COMMON_FLAGS(cg_options),
    {0},
};

typedef struct job {
    const cg_options *o;
    qs_words models, dlcs, socs;
    qs_selections outputs;
    qs_run_config config;
} job;

static int check_flags(const cg_options *o) {
    bool dlc_alone = o->dlc_path && !o->model;
    const char *missing = dlc_alone     ? "model libQnnModelDlc.so"
                          : !o->model   ? "model"
                          : !o->backend ? "backend"
                                        : NULL;
    if (missing) {
        qt_error(dlc_alone ? "--dlc_path needs --%s" : "--%s is needed", missing);
        return QT_EXIT_USAGE;
    }
    bool names_dlc = strstr(o->model, "libQnnModelDlc.so");
    if (names_dlc != (o->dlc_path != NULL)) {
        qt_error(names_dlc ? "--model libQnnModelDlc.so needs --dlc_path"
                           : "--dlc_path needs --model libQnnModelDlc.so");
        return QT_EXIT_USAGE;
    }
    int code = qs_exclusive(o->all_outputs, "enable_intermediate_outputs", o->set_output_tensors,
                            "set_output_tensors");
    return code == QT_EXIT_OK ? qs_needs(o->profiling_option, "profiling_option",
                                         o->profiling_level, "profiling_level")
                              : code;
}

static int read_flags(job *j) {
    const cg_options *o = j->o;
    int code = qs_words_split("model", o->model, ',', &j->models);
    if (code == QT_EXIT_OK)
        code = qs_words_split("dlc_path", o->dlc_path, ',', &j->dlcs);
    if (code == QT_EXIT_OK)
        code = qs_words_split("htp_socs", o->htp_socs, ',', &j->socs);
    for (size_t i = 0; i < j->socs.n && code == QT_EXIT_OK; i++) {
        uint32_t id;
        if (!qt_soc_find(j->socs.items[i], &id))
            code = qt_soc_unknown("--htp_socs", j->socs.items[i]);
    }
    if (code == QT_EXIT_OK)
        code = qs_selections_read("set_output_tensors", o->set_output_tensors, &j->outputs);
    return code == QT_EXIT_OK ? qs_run_config_open(o->config_file, &j->config) : code;
}

static const char *dir_of(const cg_options *o) {
    return o->output_dir ? o->output_dir : "./output";
}

// DIR/NAME[_SOC].bin
static bool path_of(const cg_options *o, const char *soc, char *path, size_t size) {
    size_t n = strlen(o->binary_file);
    if (n > 4 && strcmp(o->binary_file + n - 4, ".bin") == 0)
        n -= 4;
    bool absolute = o->binary_file[0] == '/';
    int len = snprintf(path, size, "%s%s%.*s%s%s.bin", absolute ? "" : dir_of(o),
                       absolute ? "" : "/", (int)n, o->binary_file, soc ? "_" : "", soc ? soc : "");
    return len > 0 && (size_t)len < size;
}

static int write_binary(const job *j, const qc_client *c, const char *soc) {
    char path[PATH_MAX], size[32];
    void *bytes = NULL;
    uint64_t n = 0;
    if (!j->o->binary_file)
        return QT_EXIT_OK;
    if (!path_of(j->o, soc, path, sizeof path)) {
        qt_error("--binary_file: the path is too long");
        return QT_EXIT_USAGE;
    }
    if (qt_context_bytes(c, &bytes, &n) != QRN_OK) {
        qt_error("%s: %s", path, qrn_message());
        return QT_EXIT_REFUSED;
    }
    const qt_part whole = {bytes, (size_t)n};
    bool ok = (j->o->binary_file[0] == '/' || qt_make_dir(dir_of(j->o))) &&
              qt_write_file(path, &whole, 1);
    free(bytes);
    if (ok)
        printf("%s  %s\n", path, qt_bytes_text((double)n, size, sizeof size));
    return ok ? QT_EXIT_OK : QT_EXIT_FAILURE;
}

// One context, its objects owned here.
typedef struct product {
    qs_extension extension;
    qc_client *client;
    qs_profile profile;
    qs_model model;
    qt_data_formats *formats;
} product;

static int open_product(const job *j, const char *soc, product *p) {
    const cg_options *o = j->o;
    uint32_t id = 0;
    int code = qs_extension_open(j->config.extensions.library, j->config.extensions.file, NULL,
                                 &p->extension);
    const qs_backend_request request = {.library = o->backend,
                                        .log_level = o->log_level,
                                        .platform_options = o->platform_options,
                                        .op_packages = o->op_packages,
                                        .extension = &p->extension,
                                        .soc = soc && qt_soc_find(soc, &id) ? id : 0};
    const qs_profile_options profile = {.level = o->profiling_level,
                                        .option = o->profiling_option,
                                        .backend_level = p->extension.facts.profilingLevel,
                                        .max_events = (uint64_t)j->config.profile.max_events.v,
                                        .dir = dir_of(o),
                                        .program = "qnn-context-binary-generator"};
    if (code == QT_EXIT_OK)
        code = qs_backend_open(&request, &p->client);
    if (code == QT_EXIT_OK)
        code = qs_profile_open(p->client, &profile, &p->profile);
    if (code == QT_EXIT_OK && o->data_format_config)
        code = qt_data_formats_open(o->data_format_config, &p->formats);
    if (code == QT_EXIT_OK && p->formats)
        qt_data_formats_use(p->formats, p->client);
    return code;
}

static int make_one(const job *j, const char *soc) {
    const cg_options *o = j->o;
    product p = {0};
    int code = open_product(j, soc, &p);
    const qs_sources from = {&j->models, o->model_prefix, &j->dlcs};
    const qs_rules rules = {.config = &j->config,
                            .extension = &p.extension,
                            .outputs = &j->outputs,
                            .all_outputs = o->all_outputs,
                            .mem_handles = o->mem_type && strcmp(o->mem_type, "memhandle") == 0,
                            .formats = p.formats,
                            .profile = p.profile.level};
    if (code == QT_EXIT_OK)
        code = qs_prepare(p.client, &from, &rules, &p.profile, &p.model);
    if (code == QT_EXIT_OK)
        code = write_binary(j, p.client, soc);
    qs_model_close(&p.model);
    qs_profile_close(&p.profile);
    qs_extension_close(&p.extension);
    qc_close(p.client);
    qt_data_formats_close(p.formats);
    return code;
}

static int run(const void *options, const qt_list *args) {
    job j = {.o = options};
    (void)args;
    int code = check_flags(options);
    if (code == QT_EXIT_OK)
        code = read_flags(&j);
    for (size_t i = 0; i < (j.socs.n ? j.socs.n : 1) && code == QT_EXIT_OK; i++)
        code = make_one(&j, j.socs.n ? j.socs.items[i] : NULL);
    qs_run_config_close(&j.config);
    qs_selections_free(&j.outputs);
    qs_words_free(&j.models);
    qs_words_free(&j.dlcs);
    qs_words_free(&j.socs);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static const qt_command command = {
    .name = "qnn-context-binary-generator",
    .summary = "prepare models on a QNN backend and write a context binary",
    .args = "--model FILE --backend FILE --binary_file NAME [OPTIONS]",
    .alone = true,
    .about = "Composes and finalizes the graphs of model libraries, DLC, ONNX or .tflite files and "
             "writes the context to one file, which qnn-net-run loads with --retrieve_context.",
    .groups = {{"binary", flags}, {"running", run_flags}},
    .examples = {{"qnn-context-binary-generator --model libnet.so --backend libQnnHtp.so "
                  "--binary_file net",
                  "Writes ./output/net.bin."},
                 {"qnn-context-binary-generator --model net.onnx --backend libQnnHtp.so "
                  "--binary_file net --htp_socs sm8650,sm8750",
                  "For two SoCs."}},
    .options_size = sizeof(cg_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

int main(int argc, char **argv) { return qs_program(&command, NULL, argc, argv); }
