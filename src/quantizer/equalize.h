// SPDX-License-Identifier: MIT
//
// Equalization across layers. A tensor has one scale, so channels with small numbers lose most of
// their bits beside one with large ones. Between a layer (or a norm) and the layers that read it,
// through ops that hand a positive factor on (Relu, LeakyRelu, pooling, products, ...), channels
// can be scaled freely: what the first one divides by, the others multiply with. The model computes
// the same. Factors are chosen by the error that rounding tensor and weights is expected to make.
#ifndef QRN_QUANTIZER_EQUALIZE_H
#define QRN_QUANTIZER_EQUALIZE_H

#include "quantizer/plan.h"

typedef struct qz_equalized {
    uint32_t n_layers, n_norms; // places where channels were scaled, behind layers and norms
    double gain_db;             // by which the expected error is smaller, summed over them
    uint32_t n_absorbed;        // layers whose bias went into the next ones
} qz_equalized;

// Which of them to do.
typedef struct qz_equalizing {
    bool layers;       // cross-layer equalization
    bool norms;        // smoothing: LayerNormalization and the like in front of matmuls
    bool absorb;       // high biases
    unsigned act_bits; // 0: activations stay float
    unsigned weight_bits;
} qz_equalizing;

// Asks for the statistics that qz_equalize needs; a qz_run_options.prepared.
qrn_status qz_equalize_watch(void *unused, qz_graph *g);
// Changes the model of a graph that was calibrated; the graph must be made anew.
qrn_status qz_equalize(ox_model *m, const qz_graph *g, const qz_equalizing *how, qz_equalized *out);

#endif
