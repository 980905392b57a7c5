// SPDX-License-Identifier: MIT
//
// bench_peak [threads]: the limits of this machine as one line of JSON.
#include "tools/quern/bench_peak.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <stdlib.h>

// The parts of the program that this is made of ask for its commands; there are none here.
const qt_command *const qt_commands[] = {NULL};

int main(int argc, char **argv) {
    long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    if (threads < 1 || threads > 64) {
        fprintf(stderr, "usage: bench_peak [threads, 1 to 64]\n");
        return 2;
    }
    qt_peaks p;
    qt_peaks_measure((unsigned)threads, &p);
    return qt_print_json(qt_json_peaks(&p));
}
