// SPDX-License-Identifier: MIT
//
// What is fixed for single values, over the scheme: by a user, by a file of encodings, or by a
// search that tries one precision after the other. Call these before qz_plan_shares. Values that
// share an encoding share what is fixed for one of them; of different bits the most count.
//
// Nodes have one width: where a value is read in other bits than it has, the writer puts a
// conversion in between (write.c), as the HTP demands.
#ifndef QRN_QUANTIZER_OVERRIDE_H
#define QRN_QUANTIZER_OVERRIDE_H

#include "quantizer/encodings_json.h"
#include "quantizer/graph.h"

// `name` is a tensor, or a node, which stands for its results. QRN_E_NOT_FOUND in words.
qrn_status qz_override_float(qz_graph *g, const char *name);
// 8 or 16 bits; 4, 8 or 16 of a constant that is multiplied. QRN_E_ARGUMENT in words.
qrn_status qz_override_bits(qz_graph *g, const char *name, unsigned bits);

typedef struct qz_overridden {
    uint32_t n_used, n_unknown;
    const qz_encoding *unknown; // the first whose tensor the model does not have, or NULL
} qz_overridden;

// Encodings of a file win over everything else. The list must stay until the model is written.
// Those of biases are passed over: a bias has the scales of its node's operands. Fails for what no
// backend has: activations per channel or of other bits than 8 and 16.
qrn_status qz_override_encodings(qz_graph *g, const qz_encodings *e, qz_overridden *report);

// Bits of a value: its own, or those of the scheme.
static inline unsigned qz_bits_of(const qz_value *v, unsigned scheme_bits) {
    return v->set_bits ? v->set_bits : scheme_bits;
}

#endif
