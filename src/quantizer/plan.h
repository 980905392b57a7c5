// SPDX-License-Identifier: MIT
//
// Choosing encodings: which values share one, which ranges are fixed by their op, what the HTP asks
// for, and the range of everything else from its statistics.
#ifndef QRN_QUANTIZER_PLAN_H
#define QRN_QUANTIZER_PLAN_H

#include "quantizer/graph.h"

typedef enum qz_method { QZ_MINMAX, QZ_PERCENTILE, QZ_LEAST_ERROR, QZ_SQNR, QZ_ENTROPY } qz_method;

typedef struct qz_scheme {
    unsigned act_bits;    // 8 or 16; 0: activations stay float
    unsigned weight_bits; // 4, 8 or 16; 32: they stay float
    uint32_t block;       // of weights along the dimension that is summed; 0: one scale per channel
    qz_method method;     // for activations
    double float_below_db; // 16-bit values that lose more than this stay float; 0: none does
    double tail;           // QZ_PERCENTILE: share of the values cut off at each end
    bool symmetric;        // ranges of activations have 0 in the middle
    bool per_tensor;       // one scale for each weight
    bool only_given;       // constants that no file of encodings lists stay float
    bool narrow_states;    // caches have 8 bits (qz_plan_narrow_states)
    bool useful_ranges;    // ranges end where the op that reads a value is flat
    bool adaround;         // weights of layers with patches are rounded by them
    bool correct_bias;     // biases make up for what rounding does to the mean of a layer's results
} qz_scheme;

// Marks values inside of quantized ops, which need no range. Before calibration.
void qz_plan_fused(qz_graph *g);
// Joins values that share an encoding and applies the rules of ops. After calibration; before
// statistics of several graphs are joined (qz_plan_alike).
qrn_status qz_plan_shares(qz_graph *g, const qz_scheme *scheme);
// Gives every value of a graph the range of the one in the same place of another graph, which
// computes the same in another shape (prefill and decode of a language model): nodes that only move
// data are left out, the rest must be the same ops in the same order. States (past_X and new_X)
// then share one encoding across both graphs. Both need qz_plan_shares.
qrn_status qz_plan_alike(qz_graph *to, qz_graph *from);
// Finds the states of a graph, inputs past_X with outputs new_X, and the outputs of another one
// (or the same) that fill them. They are passed on as quantized values.
void qz_plan_states(qz_graph *g, const qz_graph *other);
// Those of them that grow, row by row, get 8 bits where nobody has set others: what fills them is
// computed in the bits of the scheme and rounded once. Before qz_plan_shares.
void qz_plan_narrow_states(qz_graph *g, const qz_graph *other);
// A node that has no integer form: its results stay float from the next qz_plan_encodings on.
void qz_plan_float(qz_graph *g, const char *node);
// Chooses the ranges and encodings. May be called again.
qrn_status qz_plan_encodings(qz_graph *g, const qz_scheme *scheme);

// The encoding of a value's chosen range in that many bits.
qz_enc qz_encode(const qz_value *v, unsigned bits, bool symmetric);

// Cuts a range to what the op that reads a value can tell apart.
void qz_useful_range(const qz_graph *g, const qz_value *v, unsigned bits, double *low,
                     double *high);

// Makes sums of values and one constant number exact where that has the smaller error. After all
// encodings were chosen, before they are copied to the values that share them.
void qz_align_sums(qz_graph *g, const qz_scheme *scheme);

// How input i of a node is held, if it is constant.
typedef enum qz_role {
    QZ_ROLE_FLOAT,  // a parameter that stays float
    QZ_ROLE_WEIGHT, // multiplied: weight bits, signed, by channel or block
    QZ_ROLE_BIAS,   // int32 with the product of the scales
    QZ_ROLE_OPERAND // like an activation
} qz_role;
qz_role qz_role_of(const qz_graph *g, const ox_node *n, uint32_t input);
// Does a node only move the numbers of input i to its outputs?
bool qz_moves(const ox_node *n, uint32_t input);
// The channel axis of a weight and the axis that is summed; false: one scale for the tensor.
bool qz_weight_axes(const ox_node *n, const qz_value *w, int32_t *channel, int32_t *summed);

#endif
