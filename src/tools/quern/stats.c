// SPDX-License-Identifier: MIT
//
// Summaries of measured times, and the memory of this process.
#include "tools/quern/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void qt_sort(double *v, size_t n) {
    if (n)
        qsort(v, n, sizeof *v, by_size);
}

double qt_mean(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

double qt_quantile(const double *v, size_t n, double q) {
    size_t i = (size_t)ceil(q * (double)n);
    return v[i ? i - 1 : 0];
}

double qt_median(const double *v, size_t n) {
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// Not getrusage: its maximum begins with that of the program which started this one.
double qt_peak_rss_mb(void) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    double kib = NAN;
    while (f && isnan(kib) && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (f)
        fclose(f);
    return kib / 1024;
}
