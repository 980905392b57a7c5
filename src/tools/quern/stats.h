// SPDX-License-Identifier: MIT
//
// Summaries of measured times, and the memory of this process.
#ifndef QRN_TOOLS_QUERN_STATS_H
#define QRN_TOOLS_QUERN_STATS_H

#include <stddef.h>

void qt_sort(double *v, size_t n); // ascending
double qt_mean(const double *v, size_t n);
// Of sorted values, n > 0: the smallest one that at least a share q of them does not exceed.
double qt_quantile(const double *v, size_t n, double q);
// The middle one, or the mean of the middle two.
double qt_median(const double *v, size_t n);

// Most memory this program had at once, in MiB; NAN when it is not known.
double qt_peak_rss_mb(void);

#endif
