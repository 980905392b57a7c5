// SPDX-License-Identifier: MIT
//
// Adaptive rounding: weights are rounded up or down such that a layer's results, not its weights,
// come out nearest to the float ones. With the sums of products H of what the layer reads, the
// squared error of a result is d' H d for its rounding errors d; a descent over single weights
// finds a minimum of it that starts from the rounding of gram.h.
#ifndef QRN_QUANTIZER_ADAROUND_H
#define QRN_QUANTIZER_ADAROUND_H

#include "quantizer/gram.h"

// The matrix as in qz_round. `means` [depth], or NULL: the mean of each input, whose error a bias
// takes away, so that only the deviations from it count. *before and *after: the squared error of a
// row of results by plain rounding and now, summed over columns; NULL is fine.
qrn_status qz_adaround(const qz_rounding *r, const qz_gram *g, const double *means, double *before,
                       double *after);

#endif
