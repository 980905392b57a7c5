// SPDX-License-Identifier: MIT
//
// bench_peak [threads]: the limits of this machine as one line of JSON.
#include "tools/quern/bench_peak.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    if (threads < 1 || threads > 64) {
        fprintf(stderr, "usage: bench_peak [threads, 1 to 64]\n");
        return 2;
    }
    qt_peaks p;
    qt_peaks_measure((unsigned)threads, &p);
    printf("{\"threads\": %u", p.threads);
    for (int i = 0; i < QT_N_PEAKS; i++)
        printf(", \"%s_gops\": %.3f", qt_peak_names[i], p.gops[i]);
    printf(", \"l2_gbs\": %.3f, \"l3_gbs\": %.3f, \"dram_gbs\": %.3f}\n", p.l2_gbs, p.l3_gbs,
           p.dram_gbs);
    return 0;
}
