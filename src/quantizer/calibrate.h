// SPDX-License-Identifier: MIT
//
// Calibration: the float model runs on the CPU backend and every tensor's range is noted while it
// is computed. Tensors are looked at one by one, so memory is that of one execution and one
// statistics a tensor, for any number of samples.
#ifndef QRN_QUANTIZER_CALIBRATE_H
#define QRN_QUANTIZER_CALIBRATE_H

#include "quantizer/graph.h"

typedef struct qz_run qz_run;

typedef struct qz_run_options {
    uint32_t n_threads; // 0: the library's choice
    bool histograms;    // of all tensors, for methods that need them
    bool grams;         // sums of products of the inputs of weights, for rounding them
    bool patches;       // the same for all layers, convolutions too (patches.h)
    uint32_t n_samples; // how many will be run, about
    // (optional) Called when shapes are known and before anything runs.
    qrn_status (*prepared)(void *ctx, qz_graph *g);
    void *prepared_ctx;
    bool shapes_only; // nothing will be run: no kernels are chosen, no weights packed
} qz_run_options;

// Imports the model, which settles shapes and constants of the graph's values.
qrn_status qz_run_open(qz_graph *g, const qz_run_options *opt, qz_run **out);
void qz_run_close(qz_run *r); // NULL is fine

// Inputs of the model that have no initializer, in its order. The buffer is to be filled before
// each sample; NULL: nobody reads that input.
uint32_t qz_run_inputs(const qz_run *r);
const ox_port *qz_run_input(const qz_run *r, uint32_t i);
void *qz_run_buffer(const qz_run *r, uint32_t i);
// Runs one sample. Fails where a tensor has NaN or +infinity: no encoding could hold it.
qrn_status qz_run_sample(qz_run *r);

#endif
