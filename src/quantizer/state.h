// SPDX-License-Identifier: MIT
//
// What calibration has seen, as a file: to go on after a stop, and to add up what several processes
// found on parts of the data. Ranges, counts and histograms add exactly, in any order; sums of
// products (gram.h) are floats, which add to the bit in the same order only.
#ifndef QRN_QUANTIZER_STATE_H
#define QRN_QUANTIZER_STATE_H

#include "quantizer/graph.h"

typedef struct qz_state {
    uint64_t n_done;   // samples that are in it
    uint64_t first, n; // samples that were asked for: from `first` on
    bool histograms, grams;
} qz_state;

// Writes the statistics of all activations, a whole file or nothing.
qrn_status qz_state_save(const qz_graph *g, const qz_state *s, const char *path);
// Adds those of a file to the graph's, whose run is open (its histograms are there, if any). Fails
// for damaged files and those of other models, and where the graph wants what the file has not.
qrn_status qz_state_add(qz_graph *g, const char *path, qz_state *out);

#endif
