// SPDX-License-Identifier: MIT
//
// What calibration remembers of a tensor: range, counts and a histogram, in bounded memory for any
// number of samples. Histograms have bins of 2^e that begin at multiples of 2^e, so adding values
// in any order and merging two statistics gives the same bins to the count.
#ifndef QRN_QUANTIZER_STATS_H
#define QRN_QUANTIZER_STATS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Values at or below this are taken for "masked" where they go into a Softmax.
#define QZ_MASKED (-1e3)

#define QZ_BINS 2048 // half of them below 0

#define QZ_SIZES 64      // powers of two from 2^-40 on
#define QZ_SIZES_STEP 17 // of large tensors, the values whose sizes are counted

typedef struct qz_stats {
    double min, max;   // of finite values; valid where n > 0
    double above;      // smallest finite value above QZ_MASKED; +infinity: none
    double peak;       // least maximum of a row that is not masked; +infinity: none was looked at
    uint64_t n;        // finite values
    uint64_t n_masked; // those at or below QZ_MASKED, and -infinity
    // How many values are in [2^(i-40), 2^(i-39)), signs apart; zeros in none. Of large tensors
    // every 17th value is counted.
    uint64_t sizes[QZ_SIZES];
    uint64_t n_nan; // NaN and +infinity: no range holds them
    int exponent;   // of the bins' width
    uint64_t *bins; // [QZ_BINS], NULL: no histogram is kept
} qz_stats;

// An empty one; with a histogram where `bins` is set. QRN_E_MEM.
qrn_status qz_stats_init(qz_stats *s, bool bins);
void qz_stats_clear(qz_stats *s); // empty again
void qz_stats_free(qz_stats *s);
void qz_stats_add(qz_stats *s, const float *x, size_t n);
// Notes the largest value of each row of values that were added; rows of masked values are none.
void qz_stats_add_rows(qz_stats *s, const float *x, size_t n, size_t row);
// As if all values of `from` had been added too. A histogram is lost where `from` has none.
void qz_stats_merge(qz_stats *s, const qz_stats *from);

// A middle value: as many numbers other than 0 are larger as are smaller, signs apart, to a factor
// of two. 0 where there are none.
double qz_stats_middle(const qz_stats *s);

// The range that holds all but a share of `tail` of the values at each end; by the histogram.
void qz_stats_percentile(const qz_stats *s, double tail, double *low, double *high);
// By the histogram, for 8 bits and less, whose steps are wider than bins: the range with the least
// squared error; the same where clipped values count three times; and that whose distribution is
// nearest to the values' own.
void qz_stats_least_error(const qz_stats *s, unsigned bits, double *low, double *high);
void qz_stats_best_sqnr(const qz_stats *s, unsigned bits, double *low, double *high);
void qz_stats_entropy(const qz_stats *s, unsigned bits, double *low, double *high);

#endif
