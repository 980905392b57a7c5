// SPDX-License-Identifier: MIT
//
// The flags of qnn_executor_runner, in the style of its model: one or two dashes, the value behind
// "=" or a blank, --noname for bools.
#ifndef QRN_TOOLS_EXECUTOR_RUNNER_RUNNER_FLAGS_H
#define QRN_TOOLS_EXECUTOR_RUNNER_RUNNER_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct runner_flags {
    const char *model_path, *input_list_path, *output_folder_path;
    const char *etdump_path, *debug_output_path, *performance_output_path;
    const char *input_shape_path, *output_shape_path, *heap_profiling_path;
    int64_t iteration, warm_up, method_index, debug_buffer_size;
    int64_t log_level, htp_performance_mode, profile_level;
    int64_t lpai_fps, lpai_ftrt_ratio, lpai_client_perf_type, lpai_affinity, lpai_core_selection;
    bool shared_buffer, dump_intermediate_outputs, help;
} runner_flags;

// Defaults, then what the words say; false after a line on stderr.
bool runner_flags_parse(int argc, char **argv, runner_flags *out);
// Was the flag among the words?
bool runner_flag_given(const char *name, int argc, char **argv);
void runner_flags_help(void);

#endif
