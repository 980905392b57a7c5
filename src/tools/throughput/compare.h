// SPDX-License-Identifier: MIT
//
// The mean squared error of a graph's outputs, against files or against the first execution.
#ifndef QRN_TOOLS_THROUGHPUT_COMPARE_H
#define QRN_TOOLS_THROUGHPUT_COMPARE_H

#include "tools/sdk/inference.h"

typedef enum tp_post {
    TP_POST_NONE,
    TP_POST_MSE,
    TP_POST_FLOAT32,
    TP_POST_INT8,
    TP_POST_INT16
} tp_post;

typedef struct tp_compare {
    tp_post post;
    qs_list truth; // (optional) expected outputs
    float **first; // outputs of the first execution of each line; made when they are there
    uint64_t n_lines;
    uint32_t n_outputs;
    double sum;   // of squared errors
    double count; // of elements
} tp_compare;

// `path` names a list of expected outputs, or is NULL: then each line of the inputs, of which there
// are n_lines, is compared with its first execution. QT_EXIT_OK or another code after a message.
int tp_compare_open(const char *post, const char *path, const qc_graph *g, uint64_t n_lines,
                    tp_compare *out);
void tp_compare_close(tp_compare *c);
// Adds the outputs of an execution of a line.
int tp_compare_add(tp_compare *c, const qs_set *s, uint64_t line);
double tp_compare_mse(const tp_compare *c); // 0 when nothing was compared

#endif
