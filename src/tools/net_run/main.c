// SPDX-License-Identifier: MIT
#include "tools/net_run/net_run.h"
#include "tools/sdk/program.h"

const qt_command *const qt_commands[] = {&nr_command, NULL};

int main(int argc, char **argv) {
    const nr_options defaults = {.duration = NR_UNSET,
                                 .keep_outputs = NR_UNSET,
                                 .cache_sets = NR_UNSET,
                                 .profiling_delay = NR_UNSET,
                                 .profiling_runs = NR_UNSET};
    return qs_program(&nr_command, &defaults, argc, argv);
}
