// SPDX-License-Identifier: MIT
//
// Folding: batch norms and constant factors and terms become part of the layer before or behind
// them, and hard swishes that are written out become one op. Every node less is a tensor less that
// is rounded. The model computes the same.
#ifndef QRN_QUANTIZER_FOLD_H
#define QRN_QUANTIZER_FOLD_H

#include "quantizer/edit.h"

typedef struct qz_folded {
    uint32_t n_norms;   // BatchNormalization
    uint32_t n_factors; // Mul, Div, Add, Sub
    uint32_t n_swishes; // HardSwish and HardSigmoid
    uint32_t n_moved;   // Transposes that cut a layer norm into pieces
} qz_folded;

qrn_status qz_fold(ox_model *m, qz_folded *out);
// Gives a bias of zeros to layers that have none and can have one: something to correct.
qrn_status qz_add_biases(ox_model *m);

#endif
