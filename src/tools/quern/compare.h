// SPDX-License-Identifier: MIT
//
// quern compare: pairs of tensors over all executions, and the page that shows them.
#ifndef QRN_TOOLS_QUERN_COMPARE_H
#define QRN_TOOLS_QUERN_COMPARE_H

#include "tools/quern/dump.h"

// A pair of tensors over all executions.
typedef struct qt_layer {
    qt_pair pair;
    qt_comparison c;
    size_t n_differ; // elements that are not equal
} qt_layer;

// One graph of each folder.
typedef struct qt_match {
    const qt_dump *a, *b; // their first executions
    size_t n_runs;        // that both have
    size_t n_a, n_b;
    qt_layer *layers; // in the order of execution of b
    size_t n;
} qt_match;

// Both tensors of a layer in execution r as real numbers. They stay cleared where the execution
// lacks one of them or they differ in size.
qrn_status qt_layer_load(const qt_match *m, size_t r, const qt_layer *l, qt_array *a, qt_array *b);
json_t *qt_layer_json(const qt_layer *l);

// How the values of both tensors are distributed. Bin i is [low + i * width, low + (i + 1) *
// width); the last one includes its end. Where the second tensor has one quantization step, bins
// are whole steps around its values, so that each bin holds the same number of them.
#define QT_BINS 64
typedef struct qt_histogram {
    double low, width;
    size_t n;                      // bins; 0: no value is finite
    size_t counts[2][QT_BINS + 1]; // of the first and of the second tensor
    double min[2], max[2];         // of finite values
    size_t n_values, n_clipped; // of the first: finite ones, and those that the second's encoding
    bool has_range;             // cannot hold, if that is known
} qt_histogram;
qrn_status qt_layer_histogram(const qt_match *m, const qt_layer *l, qt_histogram *out);

// Pictures and best classes of the first execution: inputs and outputs that look like them, as a
// list for the page; NULL after an error.
json_t *qt_compare_pictures(const qt_match *m);

// What the page shows.
typedef struct qt_compare_page {
    const char *first, *second; // folders
    double limit_db;
    const qt_match *matches;
    size_t n;
} qt_compare_page;
int qt_compare_page_write(const qt_compare_page *p, const char *path); // the exit code

#endif
