// SPDX-License-Identifier: MIT
//
// The flags of qnn-net-run. A help text that begins with "rejected:" or "modelled:" says so in
// docs/tools.md as well.
#include "tools/net_run/net_run.h"

#include "tools/quern/output.h"
#include "tools/sdk/model_source.h"
#include "tools/sdk/program.h"

#include <math.h>
#include <string.h>

#define AT(field) offsetof(nr_options, field)

static const qt_flag model_flags[] = {
    {"model", 0, QT_TEXT, "FILE[,FILE]", AT(model), NULL,
     "model libraries, .onnx or .tflite files; several are composed into one context"},
    {"backend", 0, QT_TEXT, "FILE", AT(backend), NULL,
     "backend library: libQnnCpu.so, libQnnHtp.so, libQnnGpu.so"},
    {"input_list", 0, QT_TEXT, "FILE[,FILE]", AT(input_list), NULL,
     "file with one inference per line, one file for each graph; __ skips a graph"},
    {"retrieve_context", 0, QT_TEXT, "FILE[,FILE]", AT(retrieve_context), NULL,
     "context binaries instead of --model"},
    {"model_prefix", 0, QT_TEXT, "NAME", AT(model_prefix), NULL,
     "prefix of the functions in a model library (QnnModel)"},
    {"dlc_path", 0, QT_TEXT, "FILE[,FILE]", AT(dlc_path), NULL,
     "DLC files, with --model libQnnModelDlc.so"},
    {"op_packages", 0, QT_TEXT, "PATH:PROVIDER[:TARGET],..", AT(op_packages), NULL,
     "op packages to register"},
    {"set_output_tensors", 0, QT_TEXT, "G0:T0,T1;G1:T0", AT(set_output_tensors), NULL,
     "intermediate tensors to write as well"},
    {"debug", 0, QT_BOOL, NULL, AT(debug), NULL, "write every intermediate tensor"},
    {"binary_updates", 0, QT_FILE, "FILE", AT(binary_updates), NULL,
     "file with one binary section per line, [GRAPH;]PATH, to apply to loaded contexts before "
     "they run"},
    {0},
};

static const qt_flag data_flags[] = {
    {"output_dir", 0, QT_DIR, "DIR", AT(output_dir), NULL, "folder of the results (./output)"},
    {"use_native_output_files", 0, QT_BOOL, NULL, AT(native_outputs), NULL,
     "outputs in the graph's own types, NAME_native.raw"},
    {"use_native_input_files", 0, QT_BOOL, NULL, AT(native_inputs), NULL,
     "input files are in the graph's own types, not float32"},
    {"native_input_tensor_names", 0, QT_TEXT, "G0:T0,T1;G1:T0", AT(native_input_tensor_names), NULL,
     "the same, only for these inputs"},
    {"input_data_type", 0, QT_CHOICE, "TYPE", AT(input_data_type), "float|native",
     "older form of --use_native_input_files"},
    {"output_data_type", 0, QT_CHOICE, "TYPE", AT(output_data_type),
     "float_only|native_only|float_and_native", "older form of --use_native_output_files"},
    {"num_inferences", 0, QT_COUNT, "N", AT(num_inferences), NULL,
     "number of executions of each graph, repeating the list"},
    {"duration", 0, QT_NUMBER, "SECONDS", AT(duration), NULL,
     "run each graph for this long, repeating the list"},
    {"keep_num_outputs", 0, QT_NUMBER, "N", AT(keep_outputs), NULL, "results that are written"},
    {"batch_multiplier", 0, QT_COUNT, "N", AT(batch_multiplier), NULL,
     "times the first dimension of all inputs and outputs when executing"},
    {"max_input_cache_tensor_sets", 0, QT_NUMBER, "N", AT(cache_sets), NULL,
     "inputs that are kept in memory; -1: all"},
    {"max_input_cache_size_mb", 0, QT_COUNT, "MB", AT(cache_mb), NULL,
     "inputs that are kept in memory, in MB"},
    {"shared_buffer", 0, QT_BOOL, NULL, AT(shared_buffer), NULL,
     "inputs and outputs in registered shared memory (libcdsprpc.so)"},
    {"io_tensor_mem_handle_type", 0, QT_CHOICE, "TYPE", AT(mem_handle_type), "ion|dma_buf",
     "how that memory is registered"},
    {0},
};

static const qt_flag run_flags[] = {
    {"config_file", 0, QT_FILE, "FILE", AT(config_file), NULL,
     "JSON with options of contexts and graphs, and the backend's extension"},
    {"perf_profile", 0, QT_TEXT, "NAME", AT(perf_profile), NULL,
     "modelled: votes for clocks, instead of the backend file's profile"},
    {"profiling_level", 0, QT_CHOICE, "LEVEL", AT(profiling_level), "basic|detailed|client|backend",
     "write qnn-profiling-data_0.log"},
    {"profiling_option", 0, QT_CHOICE, "WHAT", AT(profiling_option), "optrace",
     "with --profiling_level detailed: trace every op"},
    {"graph_profiling_start_delay", 0, QT_NUMBER, "SECONDS", AT(profiling_delay), NULL,
     "profile handles of graphs collect from then on"},
    {"graph_profiling_num_executions", 0, QT_NUMBER, "N", AT(profiling_runs), NULL,
     "profile handles of graphs collect this many executions"},
    {"synchronous", 0, QT_BOOL, NULL, AT(synchronous), NULL,
     "one execution after the other, where the backend could queue them"},
    {"timeout", 0, QT_COUNT, "US", AT(timeout), NULL,
     "time limit of each execution; the backend must support signals"},
    {"retrieve_context_timeout", 0, QT_COUNT, "US", AT(retrieve_timeout), NULL,
     "time limit for loading a binary; the backend must support signals"},
    {"use_mmap", 0, QT_BOOL, NULL, AT(use_mmap), NULL, "map the binary instead of reading it"},
    {"validate_binary", 0, QT_BOOL, NULL, AT(validate_binary), NULL,
     "validate the binary before it is loaded"},
    {"platform_options", 0, QT_TEXT, "K0:V0;K1:V1", AT(platform_options), NULL,
     "options of the backend's platform"},
    {"device_options", 0, QT_TEXT, "K0:V0;K1:V1", AT(device_options), NULL,
     "device_id:0 and core_id:0, which is all that a host has"},
    {"log_level", 0, QT_CHOICE, "LEVEL", AT(log_level), QS_LOG_LEVELS,
     "lines of the log that are printed"},
    QS_COMMON_FLAGS(nr_options),
    {0},
};

static int check_pairs(const nr_options *o) {
    const struct {
        bool a;
        const char *name_a;
        bool b;
        const char *name_b;
    } pairs[] =
        {
            {o->model, "model", o->retrieve_context, "retrieve_context"},
            {o->debug, "debug", o->retrieve_context, "retrieve_context"},
            {o->debug, "debug", o->set_output_tensors, "set_output_tensors"},
            {o->set_output_tensors, "set_output_tensors", o->retrieve_context, "retrieve_context"},
            {o->native_inputs, "use_native_input_files", o->native_input_tensor_names,
             "native_input_tensor_names"},
            {o->cache_sets != NR_UNSET, "max_input_cache_tensor_sets", o->cache_mb,
             "max_input_cache_size_mb"},
        },
      needs[] = {
          {o->retrieve_timeout, "retrieve_context_timeout", o->retrieve_context,
           "retrieve_context"},
          {o->validate_binary, "validate_binary", o->retrieve_context, "retrieve_context"},
          {o->use_mmap, "use_mmap", o->retrieve_context, "retrieve_context"},
          {o->binary_updates, "binary_updates", o->retrieve_context, "retrieve_context"},
          {o->mem_handle_type, "io_tensor_mem_handle_type", o->shared_buffer, "shared_buffer"},
          {o->profiling_option, "profiling_option", o->profiling_level, "profiling_level"},
          {o->profiling_delay != NR_UNSET, "graph_profiling_start_delay", o->profiling_level,
           "profiling_level"},
          {o->profiling_runs != NR_UNSET, "graph_profiling_num_executions", o->profiling_level,
           "profiling_level"},
      };
    int code = QT_EXIT_OK;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && code == QT_EXIT_OK; i++)
        code = qs_exclusive(pairs[i].a, pairs[i].name_a, pairs[i].b, pairs[i].name_b);
    for (size_t i = 0; i < sizeof needs / sizeof needs[0] && code == QT_EXIT_OK; i++)
        code = qs_needs(needs[i].a, needs[i].name_a, needs[i].b, needs[i].name_b);
    return code;
}

static int check_number(const char *flag, double v, double least, double most) {
    if (v == NR_UNSET || (v >= least && v <= most && v == floor(v)))
        return QT_EXIT_OK;
    qt_error("--%s %g: expected a whole number from %g to %g", flag, v, least, most);
    return QT_EXIT_USAGE;
}

static int check_numbers(const nr_options *o) {
    int code = check_number("keep_num_outputs", o->keep_outputs, 0, 1e15);
    if (code == QT_EXIT_OK)
        code = check_number("max_input_cache_tensor_sets", o->cache_sets, -1, 1e9);
    if (code == QT_EXIT_OK)
        code = check_number("graph_profiling_num_executions", o->profiling_runs, 1, UINT32_MAX);
    if (code == QT_EXIT_OK && o->duration != NR_UNSET && o->duration <= 0) {
        qt_error("--duration %g: expected seconds above 0", o->duration);
        code = QT_EXIT_USAGE;
    }
    if (code == QT_EXIT_OK && o->profiling_delay != NR_UNSET && o->profiling_delay < 0) {
        qt_error("--graph_profiling_start_delay %g: expected seconds from 0 on",
                 o->profiling_delay);
        code = QT_EXIT_USAGE;
    }
    return code;
}

int nr_check(const nr_options *o) {
    bool dlc_alone = o->dlc_path && !o->model && !o->retrieve_context;
    const char *missing = dlc_alone                           ? "model libQnnModelDlc.so"
                          : !o->model && !o->retrieve_context ? "model or --retrieve_context"
                          : !o->backend                       ? "backend"
                          : !o->input_list                    ? "input_list"
                                                              : NULL;
    if (missing) {
        qt_error(dlc_alone ? "--dlc_path needs --%s" : "--%s is needed", missing);
        return QT_EXIT_USAGE;
    }
    int code = check_pairs(o);
    bool names_dlc = o->model && strstr(o->model, "libQnnModelDlc.so");
    if (code == QT_EXIT_OK && o->dlc_path && !names_dlc) {
        qt_error("--dlc_path needs --model libQnnModelDlc.so");
        return QT_EXIT_USAGE;
    }
    if (code == QT_EXIT_OK && names_dlc && !o->dlc_path) {
        qt_error("--model libQnnModelDlc.so needs --dlc_path");
        return QT_EXIT_USAGE;
    }
    return code == QT_EXIT_OK ? check_numbers(o) : code;
}

static int run(const void *options, const qt_list *args) {
    (void)args;
    int code = nr_check(options);
    return code == QT_EXIT_OK ? nr_run(options) : code;
}

const qt_command nr_command = {
    .name = "qnn-net-run",
    .summary = "run a model on a QNN backend over input lists",
    .args = "--model FILE --backend FILE --input_list FILE [OPTIONS]",
    .alone = true,
    .about = "Composes the graphs of model libraries, DLC, ONNX or .tflite files, or loads context "
             "binaries, runs them over lists of raw files and writes the outputs to "
             "Result_<i>/TENSOR.raw.\n"
             "Files hold float32 and are converted to the graph's types, unless they are native.",
    .groups = {{"model", model_flags}, {"data", data_flags}, {"running", run_flags}},
    .examples = {{"qnn-net-run --model libnet.so --backend libQnnCpu.so --input_list list.txt",
                  "A model library on the CPU."},
                 {"qnn-net-run --retrieve_context net.bin --backend libQnnHtp.so --input_list "
                  "list.txt --profiling_level basic",
                  "A context binary, with a profile."}},
    .options_size = sizeof(nr_options),
    .run = run,
};
