// SPDX-License-Identifier: MIT
//
// The part of a model between a node whose channels can be scaled and the layers that read them.
#ifndef QRN_QUANTIZER_TREE_H
#define QRN_QUANTIZER_TREE_H

#include "quantizer/graph.h"
#include "quantizer/layer.h"

#define QZ_MOST_READERS 8
#define QZ_MOST_STEPS 32

typedef struct qz_tree {
    const qz_edit *e;
    const qz_graph *g;
    uint32_t channels;
    qz_layer readers[QZ_MOST_READERS];
    const ox_node *steps[QZ_MOST_STEPS]; // nodes between
    ox_node *terms[QZ_MOST_STEPS];       // sums with a constant of each channel
    const qz_value *values[QZ_MOST_STEPS];
    uint32_t n_readers, n_steps, n_terms, n_values;
    bool only_relu; // nothing but Relu is between
} qz_tree;

// All that reads a value, directly or through other nodes. False: something reads it that needs the
// numbers as they are.
bool qz_tree_grow(qz_tree *t, const char *name, bool last);

#endif
