// SPDX-License-Identifier: MIT
//
// qnn-net-run: its options.
#ifndef QRN_TOOLS_NET_RUN_H
#define QRN_TOOLS_NET_RUN_H

#include "tools/quern/flags.h"

typedef struct nr_options {
    bool version; // first: see tools/sdk/program.h
    const char *model, *backend, *input_list, *retrieve_context, *model_prefix, *dlc_path;
    const char *output_dir, *native_input_tensor_names, *input_data_type, *output_data_type;
    const char *op_packages, *profiling_level, *profiling_option, *perf_profile, *config_file;
    const char *log_level, *set_output_tensors, *platform_options, *device_options;
    const char *mem_handle_type, *binary_updates;
    bool debug, native_outputs, native_inputs, shared_buffer, synchronous, use_mmap,
        validate_binary;
    uint64_t num_inferences, batch_multiplier, timeout, retrieve_timeout, cache_mb;
    double duration, keep_outputs, cache_sets, profiling_delay, profiling_runs;
} nr_options;

// What the flags hold where they are not given: 0 has a meaning of its own there.
#define NR_UNSET (-2.0)

extern const qt_command nr_command;

// Flags that exclude or need each other, and numbers out of range. QT_EXIT_OK or another code
// after a message.
int nr_check(const nr_options *o);
int nr_run(const nr_options *o);

#endif
